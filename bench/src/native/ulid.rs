//! ULIDs as the experts write and read them.

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const VALUES: [u8; 256] = {
    let mut values = [0; 256];
    let mut at = 0;
    while at < 32 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};

pub fn ulid(id: u128) -> String {
    (0..26).map(|at| ALPHABET[(id >> (125 - 5 * at)) as usize & 31] as char).collect()
}

pub fn from_ulid(text: &str) -> u128 {
    text.bytes().fold(0, |id, byte| id << 5 | u128::from(VALUES[byte as usize]))
}

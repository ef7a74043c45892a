//! Bytes as digits: hexadecimal, UUID, ULID and base64url.
//!
//! The readers here are lenient about spelling; the caller compares with what the writer makes.
//! They must never panic, whatever text they are given.

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Crockford's digits: no I, L, O or U.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The digit of `value`, whose excess bits do not count.
fn digit<const N: usize>(alphabet: &[u8; N], value: u128) -> char {
    let value = (value % N as u128) as usize;
    alphabet.get(value).map_or('?', |byte| char::from(*byte))
}

fn value_of(alphabet: &[u8], digit: u8) -> Option<u128> {
    alphabet.iter().position(|byte| *byte == digit).map(|value| value as u128)
}

fn hex_value(digit: u8) -> Option<u128> {
    value_of(HEX, digit.to_ascii_lowercase())
}

pub fn hex_pair(byte: u8) -> [char; 2] {
    [digit(HEX, u128::from(byte >> 4)), digit(HEX, u128::from(byte))]
}

pub fn from_hex_pair(high: u8, low: u8) -> Option<u8> {
    let value = hex_value(high)? << 4 | hex_value(low)?;
    u8::try_from(value).ok()
}

/// `digits` hexadecimal digits of `value`, in lower case.
pub fn hex(value: u128, digits: u32) -> String {
    (0..digits).rev().map(|place| digit(HEX, value >> (4 * place))).collect()
}

pub fn from_hex(text: &str, digits: usize) -> Option<u128> {
    if text.len() != digits {
        return None;
    }
    text.bytes().try_fold(0, |value, byte| Some(value << 4 | hex_value(byte)?))
}

pub fn uuid(bytes: [u8; 16]) -> String {
    let mut text = hex(u128::from_be_bytes(bytes), 32);
    for hyphen in [8, 13, 18, 23] {
        text.insert(hyphen, '-');
    }
    text
}

pub fn from_uuid(text: &str) -> Option<[u8; 16]> {
    from_hex(&text.replace('-', ""), 32).map(u128::to_be_bytes)
}

pub fn ulid(bytes: [u8; 16]) -> String {
    let value = u128::from_be_bytes(bytes);
    (0..26).rev().map(|place| digit(CROCKFORD, value >> (5 * place))).collect()
}

/// A first digit above 7 does not fit; the bits it loses show when the text is made again.
pub fn from_ulid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 26 {
        return None;
    }
    let value: Option<u128> =
        text.bytes().try_fold(0, |value, byte| Some(value << 5 | value_of(CROCKFORD, byte)?));
    value.map(u128::to_be_bytes)
}

/// The digit of the lowest six bits.
fn sextet(bits: u32) -> char {
    BASE64_URL.get((bits & 0x3f) as usize).map_or('?', |byte| char::from(*byte))
}

/// Base64 with `-` and `_`, without padding.
pub fn base64_url(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    let (chunks, rest) = bytes.as_chunks::<3>();
    for [first, second, third] in chunks {
        let bits = u32::from_be_bytes([0, *first, *second, *third]);
        [18, 12, 6, 0].into_iter().for_each(|place| text.push(sextet(bits >> place)));
    }
    let last = match *rest {
        [first, second] => (3, [0, first, second, 0]),
        [first] => (2, [0, first, 0, 0]),
        _ => (0, [0; 4]),
    };
    let bits = u32::from_be_bytes(last.1);
    [18, 12, 6].into_iter().take(last.0).for_each(|place| text.push(sextet(bits >> place)));
    text
}

pub fn from_base64_url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in chunk {
            bits = bits << 6 | u32::try_from(value_of(BASE64_URL, *digit)?).ok()?;
        }
        bits <<= 6 * (4 - chunk.len()) + 8;
        let length = chunk.len().checked_sub(1).filter(|length| *length > 0)?;
        bytes.extend(bits.to_be_bytes().iter().take(length));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_url_matches_the_vectors_of_rfc_4648() {
        let vectors = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"];
        for (length, text) in vectors.into_iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(base64_url(bytes), text);
            assert_eq!(from_base64_url(text).as_deref(), Some(bytes));
        }
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
        assert_eq!(from_base64_url("A"), None);
        assert_eq!(from_base64_url("Zg=="), None);
    }

    #[test]
    fn ulid_matches_the_example_of_its_specification() {
        let bytes = 0x0156_3e3a_b5d3_d676_4c61_efb9_9302_bd5b_u128.to_be_bytes();
        assert_eq!(ulid(bytes), "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_string());
        assert_eq!(from_ulid("01ARZ3NDEKTSV4RRFFQ69G5FAV"), Some(bytes));
        assert_eq!(ulid([0xff; 16]), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }
}

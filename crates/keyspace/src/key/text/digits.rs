//! Bytes as digits: hexadecimal, UUID, ULID and base64url.
//!
//! The readers here are lenient about spelling; the caller compares with what the writer makes.
//! They must never panic, whatever text they are given.

use std::ops::Range;

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Crockford's digits: no I, L, O or U.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The value of each byte as a digit of an alphabet; `NONE` of all that are none.
type Values = [u8; 256];
const NONE: u8 = u8::MAX;
const HEX_VALUES: Values = values(HEX);
const CROCKFORD_VALUES: Values = values(CROCKFORD);
const BASE64_URL_VALUES: Values = values(BASE64_URL);

#[expect(clippy::indexing_slicing, reason = "only ever made while the program is compiled")]
const fn values<const N: usize>(alphabet: &[u8; N]) -> Values {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < N {
        values[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    values
}

/// The digit of `value`, whose excess bits do not count.
#[inline]
fn digit<const N: usize>(alphabet: &[u8; N], value: u64) -> u8 {
    alphabet.get((value % N as u64) as usize).copied().unwrap_or(b'?')
}

#[inline]
fn value_of(values: &Values, digit: u8) -> Option<u8> {
    values.get(usize::from(digit)).copied().filter(|value| *value != NONE)
}

#[inline]
fn hex_value(digit: u8) -> Option<u8> {
    value_of(&HEX_VALUES, digit.to_ascii_lowercase())
}

/// Digits are text.
fn text(digits: &[u8]) -> String {
    str::from_utf8(digits).unwrap_or_default().to_string()
}

pub fn hex_pair(byte: u8) -> [char; 2] {
    [byte >> 4, byte].map(|half| char::from(digit(HEX, u64::from(half))))
}

pub fn from_hex_pair(high: u8, low: u8) -> Option<u8> {
    Some(hex_value(high)? << 4 | hex_value(low)?)
}

/// The hexadecimal digits of `value`, in lower case.
pub fn hex(value: u64) -> String {
    let mut digits = [0; 16];
    for (place, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(value.to_be_bytes()) {
        *place = [byte >> 4, byte].map(|half| digit(HEX, u64::from(half)));
    }
    text(&digits)
}

pub fn from_hex(text: &str) -> Option<u64> {
    if text.len() != 16 {
        return None;
    }
    text.bytes().try_fold(0, |value, byte| Some(value << 4 | u64::from(hex_value(byte)?)))
}

/// The letters of a UUID.
pub fn uuid_letters(bytes: [u8; 16]) -> [u8; 36] {
    let mut letters = [b'-'; 36];
    for (place, byte) in UUID_PLACES.into_iter().zip(bytes) {
        if let Some(pair) = letters.get_mut(place..).and_then(|behind| behind.first_chunk_mut()) {
            *pair = HEX_PAIRS.get(usize::from(byte)).copied().unwrap_or(*b"??");
        }
    }
    letters
}

/// Where the two digits of each byte of a UUID stand.
const UUID_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// Where the digits of a UUID stand together.
const UUID_PARTS: [Range<usize>; 5] = [0..8, 9..13, 14..18, 19..23, 24..36];

/// The two digits of each byte.
static HEX_PAIRS: [[u8; 2]; 256] = hex_pairs();

#[expect(clippy::indexing_slicing, reason = "only ever made while the program is compiled")]
const fn hex_pairs() -> [[u8; 2]; 256] {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < pairs.len() {
        pairs[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    pairs
}

pub fn uuid(bytes: [u8; 16]) -> String {
    text(&uuid_letters(bytes))
}

pub fn from_uuid(text: &str) -> Option<[u8; 16]> {
    if let Some(bytes) = from_uuid_letters(text.as_bytes()) {
        return Some(bytes);
    }
    let (mut value, mut digits) = (0_u128, 0);
    for byte in text.bytes().filter(|byte| *byte != b'-') {
        value = value << 4 | u128::from(hex_value(byte)?);
        digits += 1;
    }
    (digits == 32).then(|| value.to_be_bytes())
}

/// The bytes of a UUID whose digits stand where they should, all looked at together.
fn from_uuid_letters(letters: &[u8]) -> Option<[u8; 16]> {
    let letters: &[u8; 36] = letters.try_into().ok()?;
    let mut digits = [0; 32];
    let mut places = digits.as_mut_slice();
    for part in UUID_PARTS {
        let part = letters.get(part)?;
        let (place, rest) = places.split_at_mut_checked(part.len())?;
        place.copy_from_slice(part);
        places = rest;
    }
    // What is no digit is found at the end, all at once.
    let mut wrong = 0;
    for digit in &mut digits {
        let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        *digit = match (number < 10, letter < 6) {
            (true, _) => number,
            (false, true) => letter + 10,
            (false, false) => NONE,
        };
        wrong |= *digit;
    }
    let mut bytes = [0; 16];
    for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
        *byte = high << 4 | (low & 0xf);
    }
    (wrong & 0xf0 == 0).then_some(bytes)
}

/// The letters of a ULID.
pub fn ulid_letters(bytes: [u8; 16]) -> [u8; 26] {
    let value = u128::from_be_bytes(bytes);
    let mut letters = [b'0'; 26];
    let mut places = letters.iter_mut().rev();
    // Twelve digits at a time are what a machine shifts at once.
    for part in [value, value >> 60, value >> 120] {
        let mut part = part as u64;
        for place in places.by_ref().take(12) {
            *place = digit(CROCKFORD, part);
            part >>= 5;
        }
    }
    letters
}

pub fn ulid(bytes: [u8; 16]) -> String {
    text(&ulid_letters(bytes))
}

/// A first digit above 7 does not fit; the bits it loses show when the text is made again.
pub fn from_ulid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 26 {
        return None;
    }
    let value: Option<u128> = text.bytes().try_fold(0, |value, byte| {
        Some(value << 5 | u128::from(value_of(&CROCKFORD_VALUES, byte)?))
    });
    value.map(u128::to_be_bytes)
}

/// Base64 with `-` and `_`, without padding.
pub fn base64_url(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let sextet = |bits: u32| digit(BASE64_URL, u64::from(bits));
    let (chunks, rest) = bytes.as_chunks::<3>();
    for [first, second, third] in chunks {
        let bits = u32::from_be_bytes([0, *first, *second, *third]);
        digits.extend_from_slice(&[bits >> 18, bits >> 12, bits >> 6, bits].map(sextet));
    }
    let (count, last) = match *rest {
        [first, second] => (3, [0, first, second, 0]),
        [first] => (2, [0, first, 0, 0]),
        _ => (0, [0; 4]),
    };
    let bits = u32::from_be_bytes(last);
    digits.extend([18, 12, 6].into_iter().take(count).map(|place| sextet(bits >> place)));
    String::from_utf8(digits).unwrap_or_default()
}

pub fn from_base64_url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in chunk {
            bits = bits << 6 | u32::from(value_of(&BASE64_URL_VALUES, *digit)?);
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
        assert_eq!(from_ulid("01ARZ3NDEKTSV4RRFFQ69G5FAU"), None);
    }

    #[test]
    fn hexadecimal_digits_are_read_and_written() {
        let bytes = 0x0156_3e3a_b5d3_d676_4c61_efb9_9302_bd5b_u128.to_be_bytes();
        assert_eq!(uuid(bytes), "01563e3a-b5d3-d676-4c61-efb99302bd5b");
        assert_eq!(from_uuid("01563E3A-b5d3-d676-4c61-efb99302bd5b"), Some(bytes));
        assert_eq!(from_uuid("01563E3A-b5d3d676-4c61-efb99302bd5b"), Some(bytes));
        assert_eq!(from_uuid("01563e3a-b5d3-d676-4c61-efb99302bd5"), None);
        assert_eq!(from_uuid("01563e3a-b5d3-d676-4c61-efb99302bd5g"), None);
        assert_eq!(hex(0x01ab), "00000000000001ab");
        assert_eq!((from_hex("00000000000001AB"), from_hex("1ab")), (Some(0x01ab), None));
        assert_eq!((hex_pair(0x5f), from_hex_pair(b'5', b'F')), (['5', 'f'], Some(0x5f)));
    }
}

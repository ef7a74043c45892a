//! The 26 characters of a ULID, written and read without the heap. A reader takes the one text of a
//! value and no other.

/// Crockford's digits: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// What each byte is worth as such a digit; nothing else is worth more than 31.
const WORTH: [u8; 256] = worth();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn worth() -> [u8; 256] {
    let mut worth = [255; 256];
    let mut value = 0;
    while value < DIGITS.len() {
        worth[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    worth
}

/// The text of an id.
#[inline]
pub fn text(bytes: &[u8; 16]) -> [u8; 26] {
    let value = u128::from_be_bytes(*bytes);
    let mut text = [b'0'; 26];
    // Words of at most 60 bits, because longer numbers are slow to shift.
    let words = [value as u64, (value >> 60) as u64, (value >> 120) as u64];
    for (digits, mut word) in text.rchunks_mut(12).zip(words) {
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS.get((word & 31) as usize).copied().unwrap_or(b'0');
            word >>= 5;
        }
    }
    text
}

/// The id of a text.
#[inline]
pub fn from_text(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 26] = text.try_into().ok()?;
    let (first, rest) = text.split_first_chunk::<2>()?;
    let (middle, last) = rest.split_first_chunk::<12>()?;
    let mut seen = 0;
    let mut word = |digits: &[u8]| {
        digits.iter().fold(0_u64, |value, byte| {
            let digit = WORTH.get(usize::from(*byte)).copied().unwrap_or(255);
            seen |= digit;
            value << 5 | u64::from(digit)
        })
    };
    let (first, middle, last) = (word(first), word(middle), word(last));
    // The first digit has three bits.
    let is_whole = seen < 32 && first < 1 << 8;
    let value = u128::from(first) << 120 | u128::from(middle) << 60 | u128::from(last);
    is_whole.then(|| value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyspace::key::text::{parse_scalar, scalar_text};
    use keyspace::key::{KeyType, Value};

    #[test]
    fn texts_are_those_of_keys_and_come_back() {
        for number in 0..=128_u32 {
            for value in [0, 1, u128::MAX / 3, u128::MAX] {
                let bytes = value.rotate_left(number).wrapping_add(number.into()).to_be_bytes();
                let text = text(&bytes);
                let known = scalar_text(&Value::Ulid(bytes)).map(|text| text.into_owned());
                assert_eq!(known.ok().as_deref().map(str::as_bytes), Some(text.as_slice()));
                assert_eq!(from_text(&text), Some(bytes));
            }
        }
    }

    /// Texts with a byte changed are taken by both readers or by none.
    #[test]
    fn other_texts_are_refused() {
        let whole = text(&0x0190_1f6b_7c2d_ffff_1234_5678_9abc_def0_u128.to_be_bytes());
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut changed = whole;
                if let Some(place) = changed.get_mut(place) {
                    *place = byte;
                }
                let parsed = std::str::from_utf8(&changed).ok();
                let parsed = parsed.and_then(|text| parse_scalar(KeyType::Ulid, text).ok());
                assert_eq!(from_text(&changed).map(Value::Ulid), parsed, "{changed:?}");
            }
        }
        assert_eq!(from_text(&whole[..25]), None);
        assert_eq!(from_text(b""), None);
    }
}

//! The texts that nearly every row has, written and read without the heap: ids, whole numbers,
//! instants. They are those of the layout, to the letter.
//!
//! ```text
//! 42 ◀─▶ 00000000000000000042    id ◀─▶ 01ARZ3NDEKTSV4RRFFQ69G5FAV    instant ◀─▶ 2026-11-15T10…Z
//! ```
//!
//! A reader takes the one text of a value and no other.

use crate::native::ulid;
use data::clock::Milliseconds;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::ops::RangeInclusive;

/// The instants from the year 0 to the year 9999.
pub(super) const INSTANTS: RangeInclusive<Milliseconds> = -62_167_219_200_000..=253_402_300_799_999;

const DAY_MILLISECONDS: i64 = 86_400_000;
const HEX: &[u8; 16] = b"0123456789abcdef";
/// What each byte is worth as such a digit; nothing else is worth less than 16.
const HEX_WORTH: [u8; 256] = worth();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn worth() -> [u8; 256] {
    let mut worth = [255; 256];
    let mut value = 0;
    while value < HEX.len() {
        worth[HEX[value] as usize] = value as u8;
        value += 1;
    }
    worth
}

/// A short text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    bytes: [u8; 36],
    length: usize,
}

impl Short {
    const EMPTY: Short = Short { bytes: [0; 36], length: 0 };

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// The lowest digits of a number.
    fn push_number(&mut self, number: u64, digits: u32) {
        let mut divisor = 10_u64.pow(digits.saturating_sub(1));
        for _ in 0..digits {
            let digit = u8::try_from(number / divisor % 10).unwrap_or(0);
            self.push(b'0' + digit);
            divisor = (divisor / 10).max(1);
        }
    }

    /// Its bytes, which are ASCII.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }

    /// A text of its own.
    pub(super) fn to_text(self) -> String {
        self.as_bytes().iter().copied().map(char::from).collect()
    }

    /// As a value of SQLite's.
    pub(super) fn output(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(ValueRef::Text(self.as_bytes()))
    }
}

/// A number in 20 digits.
#[inline]
pub(super) fn digits(mut number: u64) -> Short {
    let mut short = Short { length: 20, ..Short::EMPTY };
    let (digits, _) = short.bytes.split_at_mut(20);
    // Two at a time: to divide is what takes the time.
    for pair in digits.rchunks_exact_mut(2) {
        let two = (number % 100) as u8;
        number /= 100;
        pair.copy_from_slice(&[b'0' + two / 10, b'0' + two % 10]);
    }
    short
}

/// The number of such a text.
#[inline]
pub(super) fn digits_of(text: &[u8]) -> Option<u64> {
    let text: &[u8; 20] = text.try_into().ok()?;
    let (last, front) = text.split_last()?;
    let digit = |byte: &u8| byte.wrapping_sub(b'0');
    if !text.iter().all(|byte| digit(byte) < 10) {
        return None;
    }
    // Only the last of 20 digits can be one too many.
    let front = front.iter().fold(0_u64, |number, byte| number * 10 + u64::from(digit(byte)));
    front.checked_mul(10)?.checked_add(u64::from(digit(last)))
}

/// A UUID in lower case with hyphens.
pub(super) fn uuid(bytes: &[u8; 16]) -> Short {
    let mut short = Short::EMPTY;
    let digit = |number: u8| HEX.get(usize::from(number & 15)).copied().unwrap_or(b'0');
    for (number, byte) in bytes.iter().enumerate() {
        if matches!(number, 4 | 6 | 8 | 10) {
            short.push(b'-');
        }
        short.push(digit(byte >> 4));
        short.push(digit(*byte));
    }
    short
}

/// The UUID of such a text.
#[inline]
pub(super) fn uuid_of(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut seen = 0;
    let mut word = |digits: &[u8]| {
        digits.iter().fold(0_u64, |value, byte| {
            let digit = HEX_WORTH.get(usize::from(*byte)).copied().unwrap_or(255);
            seen |= digit;
            value << 4 | u64::from(digit)
        })
    };
    let (first, rest) = text.split_first_chunk::<8>()?;
    let (second, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (third, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (fourth, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let fifth: &[u8; 12] = rest.strip_prefix(b"-")?.try_into().ok()?;
    let high = word(first) << 32 | word(second) << 16 | word(third);
    let low = word(fourth) << 48 | word(fifth);
    (seen < 16).then(|| (u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// The 26 characters of a ULID.
pub(super) fn ulid(bytes: &[u8; 16]) -> Short {
    let mut short = Short { length: 26, ..Short::EMPTY };
    short.bytes.iter_mut().zip(ulid::text(bytes)).for_each(|(place, byte)| *place = byte);
    short
}

/// The ULID of such a text.
pub(super) fn ulid_of(text: &[u8]) -> Option<[u8; 16]> {
    ulid::from_text(text)
}

/// An instant between the years 0 and 9999, in RFC 3339 with milliseconds.
pub(super) fn timestamp(at: Milliseconds) -> Option<Short> {
    if !INSTANTS.contains(&at) {
        return None;
    }
    let (day, rest) = (at.div_euclid(DAY_MILLISECONDS), at.rem_euclid(DAY_MILLISECONDS));
    let (year, month, day) = civil(day);
    let mut short = Short::EMPTY;
    let parts = [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (rest / 3_600_000, 2, b':'),
        (rest / 60_000 % 60, 2, b':'),
        (rest / 1_000 % 60, 2, b'.'),
        (rest % 1_000, 3, b'Z'),
    ];
    for (number, digits, then) in parts {
        short.push_number(number.unsigned_abs(), digits);
        short.push(then);
    }
    Some(short)
}

/// The instant of such a text.
pub(super) fn timestamp_of(text: &[u8]) -> Option<Milliseconds> {
    let number = |from: usize, digits: usize| {
        text.get(from..from + digits)?.iter().try_fold(0_i64, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then_some(number * 10 + i64::from(digit))
        })
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    let is_marked = |(place, mark): &(usize, u8)| text.get(*place) == Some(mark);
    if text.len() != 24 || !marks.iter().all(is_marked) {
        return None;
    }
    let day = days(number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute) = (number(11, 2)?, number(14, 2)?);
    let (second, thousandth) = (number(17, 2)?, number(20, 3)?);
    let at = day * DAY_MILLISECONDS + hour * 3_600_000 + minute * 60_000;
    let at = at + second * 1_000 + thousandth;
    // A 30th of February is another day, and says so.
    timestamp(at).is_some_and(|same| same.as_bytes() == text).then_some(at)
}

/// Year, month and day of a number of days since 1970. Eras of 400 years begin in March, so that a
/// leap day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;
    use data::clock::SeededRandom;
    use keyspace::key::{KeyType, Value, text::parse_scalar};
    use keyspace::layout::sortable;

    fn number(random: &SeededRandom) -> u64 {
        // Of every length.
        random.number() >> (random.number() % 64)
    }

    #[test]
    fn the_texts_are_those_of_the_layout() {
        let random = SeededRandom::new(11);
        for _ in 0..20_000 {
            let number = number(&random);
            let bytes: [u8; 16] =
                [random.number().to_be_bytes(), number.to_be_bytes()].concat().try_into().unwrap();
            let at = INSTANTS.start() + (random.number() % 315_569_520_000_000).cast_signed();
            let cases = [
                (Value::U64(number), digits(number)),
                (Value::Uuid(bytes), uuid(&bytes)),
                (Value::Ulid(bytes), ulid(&bytes)),
                (Value::Timestamp(at), timestamp(at).unwrap()),
            ];
            for (value, short) in cases {
                let text = sortable::text(&value).unwrap();
                assert_eq!(short.as_bytes(), text.as_bytes(), "{value:?}");
            }
            assert_eq!(digits_of(digits(number).as_bytes()), Some(number));
            assert_eq!(uuid_of(uuid(&bytes).as_bytes()), Some(bytes));
            assert_eq!(ulid_of(ulid(&bytes).as_bytes()), Some(bytes));
            assert_eq!(timestamp_of(timestamp(at).unwrap().as_bytes()), Some(at));
        }
        for at in [*INSTANTS.start(), -1, 0, *INSTANTS.end()] {
            assert_eq!(timestamp_of(timestamp(at).unwrap().as_bytes()), Some(at));
        }
        assert!(
            timestamp(INSTANTS.start() - 1).is_none() && timestamp(INSTANTS.end() + 1).is_none()
        );
    }

    /// Texts with a byte changed are taken by both readers or by none.
    #[test]
    fn other_texts_are_refused() {
        let random = SeededRandom::new(12);
        let letters = b"0123456789abcdefABCDEFGILOTUZz-:. \xff";
        for _ in 0..50_000 {
            let bytes: [u8; 16] = [random.number(), random.number()]
                .map(u64::to_be_bytes)
                .concat()
                .try_into()
                .unwrap();
            let at = INSTANTS.start() + (random.number() % 315_569_520_000_000).cast_signed();
            let pick = |length: usize| usize::try_from(random.number()).unwrap() % length;
            let changed = |short: Short| {
                let mut text = short.as_bytes().to_vec();
                let place = pick(text.len() + 1);
                match text.get_mut(place) {
                    Some(byte) => *byte = letters[pick(letters.len())],
                    None => drop(text.pop()),
                }
                text
            };
            let text = changed(ulid(&bytes));
            let taken =
                |kind| std::str::from_utf8(&text).is_ok_and(|t| parse_scalar(kind, t).is_ok());
            assert_eq!(ulid_of(&text).is_some(), taken(KeyType::Ulid), "{text:?}");
            let text = changed(uuid(&bytes));
            let taken =
                |kind| std::str::from_utf8(&text).is_ok_and(|t| parse_scalar(kind, t).is_ok());
            assert_eq!(uuid_of(&text).is_some(), taken(KeyType::Uuid), "{text:?}");
            let text = changed(timestamp(at).unwrap());
            let taken =
                |kind| std::str::from_utf8(&text).is_ok_and(|t| parse_scalar(kind, t).is_ok());
            assert_eq!(timestamp_of(&text).is_some(), taken(KeyType::Timestamp), "{text:?}");
        }
        assert_eq!(digits_of(b"18446744073709551616"), None);
        assert_eq!(digits_of(b"00000000000000000a42"), None);
        assert_eq!(digits_of(b"42"), None);
    }
}

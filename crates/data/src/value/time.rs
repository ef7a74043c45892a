//! Times and lengths of time as people and other programs write them.
//!
//! The canonical text is that of keys; what is accepted beyond it is turned into that first, so
//! that there is one calendar.

use keyspace::key::{self, KeyType};
use keyspace::parse::parse_duration;

const MINUTE: i64 = 60_000;

/// The milliseconds of an RFC 3339 time: with `Z` or an offset, with or without a fraction, of
/// which what is finer than a millisecond is cut off.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let (time, offset) = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => {
            let (time, offset) = rest.split_at_checked(rest.rfind(['+', '-'])?)?;
            (time, offset_minutes(offset)?)
        }
    };
    let (time, fraction) = match time.split_once('.') {
        Some((time, fraction)) => (time, milliseconds(fraction)?),
        None => (time, 0),
    };
    let canonical = format!("{date}T{time}.{fraction:03}Z");
    match key::text::parse_scalar(KeyType::Timestamp, &canonical) {
        Ok(key::Value::Timestamp(at)) => at.checked_sub(offset * MINUTE),
        _ => None,
    }
}

/// `+02:00` → 120
fn offset_minutes(text: &str) -> Option<i64> {
    let [sign, h0, h1, b':', m0, m1] = text.as_bytes() else { return None };
    let (hours, minutes) = (two_digits(*h0, *h1)?, two_digits(*m0, *m1)?);
    let minutes = (hours <= 23 && minutes <= 59).then_some(hours * 60 + minutes)?;
    Some(if *sign == b'-' { -minutes } else { minutes })
}

fn two_digits(high: u8, low: u8) -> Option<i64> {
    let is_number = high.is_ascii_digit() && low.is_ascii_digit();
    is_number.then(|| i64::from(high - b'0') * 10 + i64::from(low - b'0'))
}

/// `5` → 500, `123456` → 123
fn milliseconds(fraction: &str) -> Option<i64> {
    let is_number =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(3);
    is_number.then(|| digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// The milliseconds of `30s`, `15m`, `7d`, or of whole seconds without a unit.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (is_negative, size) = match text.strip_prefix('-') {
        Some(size) => (true, size),
        None => (false, text),
    };
    let number = size.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let milliseconds = match number.parse::<u64>().ok()? {
        // `parse_duration` reads lengths above zero only; the unit of zero must be one too.
        0 if size.len() > number.len() => {
            parse_duration(&size.replacen(number, "1", 1))?;
            0
        }
        seconds if size.len() == number.len() => seconds.checked_mul(1_000)?,
        _ => parse_duration(size)?,
    };
    let milliseconds = i64::try_from(milliseconds).ok()?;
    Some(if is_negative { -milliseconds } else { milliseconds })
}

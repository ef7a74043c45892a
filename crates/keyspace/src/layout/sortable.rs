//! Text that sorts as the key does, for stores that order what people read: members of Redis
//! sorted sets, parts of IndexedDB keys.
//!
//! ```text
//! u64  7                     00000000000000000007      i64  7    p0000000000000000007
//! bytes 0a ff                0aff                      i64 -1    n9223372036854775807
//! timeuuid, time first       11f1e0db-51cc-5000-…      timestamp 2026-11-15T10:00:00.000Z
//! ```
//!
//! Comparing two texts of one type byte by byte compares their values, exactly: no rounding and no
//! limit below the type's own. The direction is the reader's business, never the text's.

use crate::key::Value;
use crate::key::text::scalar_text;
use crate::model::{Function, Part, Segment, Type};
use std::fmt::Write;

/// The most years a date of four digits can say.
const DAYS_MAX: i64 = 2_932_896;
/// The first day of the year 0.
const DAYS_MIN: i64 = -719_528;
const DAY_MILLISECONDS: i64 = 86_400_000;

/// The sortable text of a value; none for a path, which has no single text, and for null.
pub fn text(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::U64(number) => format!("{number:020}"),
        Value::I64(number) => signed(*number),
        Value::F64(number) => {
            // Zero has one text, as it has one key.
            let bits = if *number == 0.0 { 0 } else { number.to_bits() };
            let flipped = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
            format!("{flipped:016x}")
        }
        Value::Bytes(bytes) => hex(bytes),
        Value::TimeUuid(bytes) => time_first(*bytes),
        Value::Timestamp(instant) => {
            let day = instant.div_euclid(DAY_MILLISECONDS);
            in_years(day, *instant, value)?
        }
        Value::Date(day) => in_years(i64::from(*day), i64::from(*day), value)?,
        Value::Null | Value::Path(_) => return None,
        other => scalar_text(other).ok()?.into_owned(),
    })
}

/// Whether no sortable text of this segment is the beginning of another, even with the separator
/// after it: only then may another part follow.
pub fn is_delimited(segment: &Segment, separator: char) -> bool {
    if matches!(segment.function(), Some(Function::Geohash | Function::Month | Function::Cell)) {
        return true;
    }
    match &segment.segment_type {
        Type::Enum(words) => {
            let mut alone: Vec<&String> = words.iter().collect();
            let mut joined = alone.clone();
            alone.sort();
            joined.sort_by_key(|word| format!("{word}{separator}"));
            alone == joined
        }
        Type::Text | Type::Bytes | Type::Path | Type::Json | Type::List(_) => false,
        _ => true,
    }
}

/// Whether these parts, each as sortable text and joined by the separator, sort as the key does,
/// read from either end.
pub fn is_sortable(parts: &[Part], separator: char) -> bool {
    let mut segments = parts.iter().filter_map(Part::segment);
    let first = segments.next().map(|segment| segment.descending);
    let one_direction = segments.all(|segment| Some(segment.descending) == first);
    let last = parts.len().saturating_sub(1);
    let parts_fit = parts.iter().enumerate().all(|(number, part)| match part {
        Part::Literal(_) => true,
        Part::Segment(segment) if number == last => segment.segment_type != Type::Path,
        Part::Segment(segment) => is_delimited(segment, separator),
    });
    one_direction && parts_fit
}

/// `p` and the number, or `n` and how far it lies above the least.
fn signed(number: i64) -> String {
    match u64::try_from(number) {
        Ok(positive) => format!("p{positive:019}"),
        Err(_) => format!("n{:019}", number.abs_diff(i64::MIN)),
    }
}

/// The usual text between the years 0 and 9999; outside them a count that sorts around it.
fn in_years(day: i64, count: i64, value: &Value<'_>) -> Option<String> {
    match day {
        ..DAYS_MIN => Some(format!("!{:020}", count.abs_diff(i64::MIN))),
        DAYS_MIN..=DAYS_MAX => scalar_text(value).ok().map(|text| text.into_owned()),
        _ => Some(format!("~{count:020}")),
    }
}

/// A time UUID with its time from high to low, as UUIDv6 has it; the rest with the top bit of
/// every byte flipped, so that ids of one instant sort as on every other store.
fn time_first(bytes: [u8; 16]) -> String {
    let bits = u128::from_be_bytes(bytes);
    let low = (bits >> 96) & 0xffff_ffff;
    let mid = (bits >> 80) & 0xffff;
    let high = (bits >> 64) & 0xffff;
    let rest = (bits & u128::from(u64::MAX)) ^ 0x8080_8080_8080_8080;
    let (front, back) = (low >> 16, low & 0xffff);
    let (clock, node) = (rest >> 48, rest & 0xffff_ffff_ffff);
    format!("{high:04x}{mid:04x}-{front:04x}-{back:04x}-{clock:04x}-{node:012x}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeyType, Segment as Shape, encode};
    use crate::source::Span;

    fn time_uuid(time: u64, rest: u64) -> Value<'static> {
        let high = (time >> 48) & 0x0fff | 0x1000;
        let front = (time & 0xffff_ffff) << 32 | (time >> 32 & 0xffff) << 16 | high;
        let rest = rest & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
        Value::TimeUuid((u128::from(front) << 64 | u128::from(rest)).to_be_bytes())
    }

    /// Values of every type, the ends of their ranges among them.
    fn samples() -> Vec<(KeyType, Vec<Value<'static>>)> {
        let numbers = [i64::MIN, i64::MIN + 1, -70_000, -256, -1, 0, 1, 9, 10, 255, 256, i64::MAX];
        let floats = [f64::NEG_INFINITY, -2.5, -1e-300, -0.0, 0.0, 1e-300, 1.5, 1e300];
        let instants = [DAYS_MIN, DAYS_MIN - 1, DAYS_MAX, DAYS_MAX + 1, -1, 0, 20_772];
        let instant = |days: &i64| Value::Timestamp(days * DAY_MILLISECONDS - 1);
        let mut timestamps: Vec<Value<'static>> = instants.iter().map(instant).collect();
        timestamps.extend([Value::Timestamp(i64::MIN), Value::Timestamp(i64::MAX)]);
        let date = |days: &i64| Value::Date(i32::try_from(*days).unwrap());
        let mut dates: Vec<Value<'static>> = instants.iter().map(date).collect();
        dates.extend([Value::Date(i32::MIN), Value::Date(i32::MAX)]);
        let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\x7f", b"\xff", b"\xff\0"];
        let texts = ["", "\0", " ", "a", "a!", "a:", "b", "é", "\u{ffff}", "\u{10000}"];
        let times =
            [(0, 0), (1, 0), (1 << 33, 7), (1 << 33, 0x80), (1 << 50, 0x7f00), (1 << 59, 1)];
        vec![
            (KeyType::I64, numbers.map(Value::I64).to_vec()),
            (KeyType::U64, [0, 1, 9, 10, 1 << 53, u64::MAX].map(Value::U64).to_vec()),
            (KeyType::F64, floats.map(Value::F64).to_vec()),
            (KeyType::Bool, [false, true].map(Value::Bool).to_vec()),
            (KeyType::Timestamp, timestamps),
            (KeyType::Date, dates),
            (KeyType::Bytes, bytes.map(Value::bytes).to_vec()),
            (KeyType::Text, texts.map(Value::text).to_vec()),
            (KeyType::Uuid, [0u128, 1, u128::MAX].map(|b| Value::Uuid(b.to_be_bytes())).to_vec()),
            (KeyType::Ulid, [0u128, 1, u128::MAX].map(|b| Value::Ulid(b.to_be_bytes())).to_vec()),
            (KeyType::TimeUuid, times.map(|(time, rest)| time_uuid(time, rest)).to_vec()),
            (KeyType::Cell, [0, 1, u64::MAX].map(Value::Cell).to_vec()),
        ]
    }

    #[test]
    fn texts_sort_as_the_key_encoding_does() {
        for (kind, values) in samples() {
            let shape: [Shape; 1] = [kind.ascending()];
            for left in &values {
                for right in &values {
                    let bytes = |value: &Value<'static>| {
                        encode(0, &shape, std::slice::from_ref(value)).unwrap()
                    };
                    let by_key = bytes(left).cmp(&bytes(right));
                    assert_eq!(text(left).cmp(&text(right)), by_key, "{left:?} {right:?}");
                }
            }
        }
    }

    fn part(segment_type: Type, descending: bool) -> Part {
        Part::Segment(Segment {
            name: "x".to_string(),
            segment_type,
            descending,
            default: None,
            source: None,
            appended: false,
            span: Span::default(),
        })
    }

    #[test]
    fn text_may_only_stand_last_and_directions_must_agree() {
        let words = |words: &[&str]| Type::Enum(words.iter().map(|w| w.to_string()).collect());
        let cases = [
            (vec![part(Type::Text, false)], true),
            (vec![part(Type::Text, true)], true),
            (vec![part(Type::U64, false), part(Type::Text, false)], true),
            (vec![part(Type::Timestamp, true), part(Type::Text, false)], false),
            (vec![part(Type::Timestamp, true), part(Type::Text, true)], true),
            (vec![part(Type::Text, false), part(Type::Uuid, false)], false),
            (vec![part(Type::Text, false), Part::Literal("end".to_string())], false),
            (vec![part(Type::Path, false)], false),
            (vec![part(words(&["kel", "tel"]), false), part(Type::Text, false)], true),
            (vec![part(words(&["a", "a-b"]), false), part(Type::Text, false)], false),
        ];
        for (parts, expected) in cases {
            assert_eq!(is_sortable(&parts, ':'), expected, "{parts:?}");
        }
    }
}

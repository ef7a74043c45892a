//! Text that sorts as the key does, for stores that order what people read: members of Redis
//! sorted sets, parts of IndexedDB keys.
//!
//! ```text
//! u64  7                     00000000000000000007      i64  7    p0000000000000000007
//! bytes 0a ff                0aff                      i64 -1    n9223372036854775807
//! timeuuid, as a UUIDv6      1f1e0db5-1cc5-6000-…      timestamp 2026-11-15T10:00:00.000Z
//! ```
//!
//! Comparing two texts of one type byte by byte compares their values, exactly: no rounding and no
//! limit below the type's own. The direction is the reader's business, never the text's.

use super::engine::segment_shape;
use crate::key::text::{parse_scalar, scalar_text};
use crate::key::{KeyType, Value};
use crate::model::{Function, Part, Segment, Type};
use std::borrow::Cow;
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

/// The values of a member: sortable texts of these parts, joined by the separator. None for what
/// [`text`] does not write.
pub fn values(parts: &[Part], separator: char, member: &str) -> Option<Vec<Value<'static>>> {
    let mut found = Vec::with_capacity(parts.len());
    let mut rest = Some(member);
    for (number, part) in parts.iter().enumerate() {
        let here = rest?;
        let is_last = number + 1 == parts.len();
        let (piece, after) = match part {
            _ if is_last => (here, None),
            Part::Literal(literal) => cut(here, literal.len(), separator)?,
            Part::Segment(segment) => first_text(segment, separator, here)?,
        };
        match part {
            Part::Literal(literal) if literal == piece => {}
            Part::Literal(_) => return None,
            Part::Segment(segment) => found.push(value(segment_shape(segment).kind, piece)?),
        }
        rest = after;
    }
    Some(found)
}

/// The value of a sortable text.
pub fn value(kind: KeyType, text: &str) -> Option<Value<'static>> {
    let found = match kind {
        KeyType::U64 => Value::U64(text.parse().ok()?),
        KeyType::I64 => Value::I64(match text.split_at_checked(1)? {
            ("p", digits) => digits.parse().ok()?,
            ("n", digits) => i64::MIN.checked_add_unsigned(digits.parse().ok()?)?,
            _ => return None,
        }),
        KeyType::F64 => {
            let flipped = u64::from_str_radix(text, 16).ok()?;
            let bits = if flipped >> 63 == 1 { flipped & !(1 << 63) } else { !flipped };
            Value::F64(f64::from_bits(bits))
        }
        KeyType::Bytes => Value::Bytes(Cow::Owned(from_hex(text)?)),
        KeyType::TimeUuid => Value::TimeUuid(from_time_first(text)?),
        KeyType::Timestamp => match counted(text)? {
            Some(count) => Value::Timestamp(count),
            None => parse_scalar(kind, text).ok()?,
        },
        KeyType::Date => match counted(text)? {
            Some(count) => Value::Date(count.try_into().ok()?),
            None => parse_scalar(kind, text).ok()?,
        },
        other => parse_scalar(other, text).ok()?,
    };
    // What would be written otherwise was not written here.
    (self::text(&found)? == text).then_some(found)
}

/// The count in a text outside the usual years; nothing for the usual texts.
fn counted(text: &str) -> Option<Option<i64>> {
    match text.split_at_checked(1)? {
        ("!", digits) => Some(i64::MIN.checked_add_unsigned(digits.parse().ok()?)),
        ("~", digits) => Some(Some(digits.parse().ok()?)),
        _ => Some(None),
    }
}

/// The sortable text that a member begins with, and what follows its separator.
fn first_text<'t>(
    segment: &Segment,
    separator: char,
    member: &'t str,
) -> Option<(&'t str, Option<&'t str>)> {
    if let Type::Enum(words) = segment.segment_type.required() {
        let mut words: Vec<&String> = words.iter().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let mut cuts = words.into_iter().filter(|word| member.starts_with(word.as_str()));
        return cuts.find_map(|word| cut(member, word.len(), separator));
    }
    let length = match segment_shape(segment).kind {
        KeyType::I64 | KeyType::U64 => 20,
        KeyType::F64 | KeyType::Cell => 16,
        KeyType::Uuid | KeyType::TimeUuid => 36,
        KeyType::Ulid => 26,
        KeyType::Timestamp | KeyType::Date if member.starts_with(['!', '~']) => 21,
        KeyType::Timestamp => 24,
        KeyType::Date => 10,
        // Words without a separator in them: truth values, geohashes, months.
        _ => member.find(separator)?,
    };
    cut(member, length, separator)
}

fn cut(member: &str, length: usize, separator: char) -> Option<(&str, Option<&str>)> {
    let (piece, rest) = member.split_at_checked(length)?;
    Some((piece, Some(rest.strip_prefix(separator)?)))
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

/// The bits of a time UUID behind its variant that keys compare as signs.
const SIGNS: u128 = 0x0080_8080_8080_8080;

/// A time UUID as one of version 6, which sorts by time. Behind the variant, which is the same in
/// all of them, the top bit of every byte is flipped, so that ids of one instant sort as on every
/// other store.
fn time_first(bytes: [u8; 16]) -> String {
    let bits = u128::from_be_bytes(bytes);
    let (low, middle, high) = (bits >> 96, (bits >> 80) & 0xffff, (bits >> 64) & 0x0fff);
    let time = (high << 48) | (middle << 32) | low;
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    let (first, second, third) = (time >> 28, (time >> 12) & 0xffff, (time & 0x0fff) | 0x6000);
    let (clock, node) = (rest >> 48, rest & 0xffff_ffff_ffff);
    format!("{first:08x}-{second:04x}-{third:04x}-{clock:04x}-{node:012x}")
}

fn from_time_first(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.split('-').collect();
    let bits = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    time_uuid_of(bits.to_be_bytes())
}

/// The time UUID that stands as one of version 6 in a text; nothing if it does not.
pub fn time_uuid_of(version_6: [u8; 16]) -> Option<[u8; 16]> {
    let bits = u128::from_be_bytes(version_6);
    let is_version_6 = (bits >> 76) & 0xf == 6 && (bits >> 62) & 3 == 2;
    let time = ((bits >> 80) << 12) | ((bits >> 64) & 0x0fff);
    let (low, middle, high) = (time & 0xffff_ffff, (time >> 32) & 0xffff, (time >> 48) | 0x1000);
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    is_version_6.then(|| ((low << 96) | (middle << 80) | (high << 64) | rest).to_be_bytes())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
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
    use crate::key::{Segment as Shape, encode};
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

    #[test]
    fn a_time_uuid_is_one_of_version_6() {
        // RFC 9562, A.1 and A.5, but for the signs behind the variant.
        let version_1 = 0xc232_ab00_9414_11ec_b3c8_9f6b_deca_7a46_u128;
        let version_6 = text(&Value::TimeUuid(version_1.to_be_bytes()));
        assert_eq!(version_6.as_deref(), Some("1ec9414c-232a-6b00-b348-1feb5e4afac6"));
        assert_eq!(value(KeyType::TimeUuid, "1ec9414c-232a-7b00-b348-1feb5e4afac6"), None);
        assert_eq!(value(KeyType::TimeUuid, "1ec9414c-232a-6b00-0348-1feb5e4afac6"), None);
    }

    #[test]
    fn texts_are_read_back_and_nothing_else_is() {
        for (kind, samples) in samples() {
            for sample in &samples {
                let written = text(sample).unwrap();
                let expected = if *sample == Value::F64(0.0) { &Value::F64(0.0) } else { sample };
                assert_eq!(value(kind, &written).as_ref(), Some(expected), "{written}");
            }
        }
        for (kind, wrong) in [
            (KeyType::U64, "7"),
            (KeyType::I64, "7"),
            (KeyType::I64, "p7"),
            (KeyType::F64, "1.5"),
            (KeyType::Bytes, "0A"),
            (KeyType::Bytes, "0"),
            (KeyType::TimeUuid, ""),
            (KeyType::Date, "!7"),
            (KeyType::Timestamp, "2026-11-15"),
        ] {
            assert_eq!(value(kind, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn members_are_taken_apart() {
        let words = Type::Enum(["a", "a-b", "b"].map(str::to_string).to_vec());
        let cases: Vec<(Vec<Part>, Vec<Value<'static>>)> = vec![
            (
                vec![part(Type::Timestamp, false), part(Type::Text, false)],
                vec![Value::Timestamp(-1), Value::text("x:y")],
            ),
            (
                vec![part(Type::Date, true), part(Type::I64, true), part(Type::Bool, true)],
                vec![Value::Date(9_000_000), Value::I64(i64::MIN), Value::Bool(true)],
            ),
            (
                vec![part(Type::Bool, false), part(words, false), part(Type::Ulid, false)],
                vec![Value::Bool(false), Value::text("a-b"), Value::Ulid([7; 16])],
            ),
            (
                vec![
                    part(Type::TimeUuid, false),
                    Part::Literal("by".to_string()),
                    part(Type::Bytes, false),
                ],
                vec![time_uuid(1 << 50, 7), Value::bytes(b"")],
            ),
        ];
        for (parts, expected) in cases {
            let mut sources = expected.iter();
            let texts = parts.iter().map(|part| match part {
                Part::Literal(literal) => literal.clone(),
                Part::Segment(_) => text(sources.next().unwrap()).unwrap(),
            });
            let member = texts.collect::<Vec<_>>().join(":");
            assert_eq!(values(&parts, ':', &member), Some(expected), "{member}");
            assert_eq!(values(&parts, ':', &format!("?{member}")), None, "{member}");
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

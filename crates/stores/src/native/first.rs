//! The first value of a segment at or behind some bytes that need be no value.
//!
//! Strings are read as far as they go; of every other type the values are numbered in their order
//! and searched by halves, so that what a bound holds need not be understood.

use keyspace::key::{KeyType, KeyWriter, Segment, Value};

/// The smallest value whose encoding, as in an ascending segment, is not before these bytes.
pub(super) fn first_from(segment: Segment, bytes: &[u8]) -> Option<Value<'static>> {
    if segment.nullable && is_from(&Value::Null, bytes) {
        return Some(Value::Null);
    }
    match segment.kind {
        KeyType::Bytes => {
            first_string(&Value::bytes(b""), bytes).map(|bytes| Value::Bytes(bytes.into()))
        }
        KeyType::Text => {
            let text = first_string(&Value::text(""), bytes).and_then(first_text)?;
            Some(Value::Text(text.into()))
        }
        KeyType::Path => {
            first_path(bytes).map(|parts| Value::Path(parts.into_iter().map(Into::into).collect()))
        }
        kind => {
            let (most, value) = numbered(kind)?;
            first_number(most, |number| is_from(&value(number), bytes)).map(value)
        }
    }
}

/// The smallest bytes that are behind everything that begins with these.
pub(super) fn successor(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 0xff {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

/// Whether the encoding of a value is not before these bytes.
fn is_from(value: &Value<'_>, bytes: &[u8]) -> bool {
    let mut encoded = Vec::with_capacity(24);
    let mut writer = KeyWriter::new(&mut encoded, 0);
    let kind = value.kind().unwrap_or(KeyType::Bool);
    let written = writer.value(kind.ascending().or_null(), value);
    written.is_ok() && encoded.get(2..).is_some_and(|encoded| encoded >= bytes)
}

/// The first number up to `most` for which this holds, if it holds for all behind it.
fn first_number(most: u128, holds: impl Fn(u128) -> bool) -> Option<u128> {
    if !holds(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(low)
}

/// The value with a number.
type Numbered = fn(u128) -> Value<'static>;

/// The number of the last value of a type, and the value of each number.
fn numbered(kind: KeyType) -> Option<(u128, Numbered)> {
    const WORD: u128 = u64::MAX as u128;
    /// How floats are ordered: from the smallest, minus infinity, to the largest.
    const FLOAT_FIRST: u64 = !f64::NEG_INFINITY.to_bits();
    const FLOAT_LAST: u64 = f64::INFINITY.to_bits() | 1 << 63;
    Some(match kind {
        KeyType::Bool => (1, |number| Value::Bool(number != 0)),
        KeyType::I64 => (WORD, |number| Value::I64(signed(number))),
        KeyType::Timestamp => (WORD, |number| Value::Timestamp(signed(number))),
        KeyType::U64 => (WORD, |number| Value::U64(number as u64)),
        KeyType::Cell => (WORD, |number| Value::Cell(number as u64)),
        KeyType::Date => {
            (u128::from(u32::MAX), |number| Value::Date((number as u32 ^ 1 << 31).cast_signed()))
        }
        KeyType::F64 => (u128::from(FLOAT_LAST - FLOAT_FIRST), |number| {
            let ordered = FLOAT_FIRST.saturating_add(number as u64);
            let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
            // Adding zero turns negative zero into zero.
            Value::F64(f64::from_bits(bits) + 0.0)
        }),
        KeyType::Uuid => (u128::MAX, |number| Value::Uuid(number.to_be_bytes())),
        KeyType::Ulid => (u128::MAX, |number| Value::Ulid(number.to_be_bytes())),
        KeyType::TimeUuid => ((1 << 122) - 1, |number| Value::TimeUuid(time_uuid(number))),
        KeyType::Bytes | KeyType::Text | KeyType::Path => return None,
    })
}

fn signed(number: u128) -> i64 {
    (number as u64 ^ 1 << 63).cast_signed()
}

/// A time UUID by its time, 60 bits, and then its last eight bytes, which are compared as signed
/// ones and begin with the two bits of the variant.
fn time_uuid(number: u128) -> [u8; 16] {
    let time = number >> 62;
    let (low, middle, high) = (time & 0xffff_ffff, time >> 32 & 0xffff, time >> 48);
    let rest = (number & ((1 << 62) - 1)) ^ 0x8080_8080_8080_8080;
    (low << 96 | middle << 80 | (high | 0x1000) << 64 | rest).to_be_bytes()
}

/// The smallest byte string at or behind these bytes, which begin with the tag of `least`.
fn first_string(least: &Value<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
    if is_from(least, bytes) {
        return Some(Vec::new());
    }
    content(least, bytes).map(element)
}

/// What follows the tag; none where the tag is behind that of `least`.
fn content<'b>(least: &Value<'_>, bytes: &'b [u8]) -> Option<&'b [u8]> {
    let (tag, content) = bytes.split_first()?;
    is_from(least, &[*tag]).then_some(content)
}

/// The smallest string at or behind some escaped bytes. A zero byte is `00 ff`, the end `00 01`,
/// and the end of a path `00 00`.
fn element(bytes: &[u8]) -> Vec<u8> {
    let mut string = Vec::new();
    let mut rest = bytes;
    loop {
        match rest {
            [] | [0] | [0, 0, ..] | [0, 1] => return string,
            [0, 0xff, after @ ..] => {
                string.push(0);
                rest = after;
            }
            // Past the end of the string.
            [0, ..] => {
                string.push(0);
                return string;
            }
            [byte, after @ ..] => {
                string.push(*byte);
                rest = after;
            }
        }
    }
}

/// The smallest path at or behind these bytes.
fn first_path(bytes: &[u8]) -> Option<Vec<String>> {
    let least = Value::Path(Vec::new());
    if is_from(&least, bytes) {
        return Some(Vec::new());
    }
    let mut rest = content(&least, bytes)?;
    let mut parts: Vec<String> = Vec::new();
    // Whole parts first.
    while let Some((part, after)) = whole(rest) {
        parts.push(part);
        rest = after;
    }
    let first = match rest {
        [] | [0] | [0, 0] => return Some(parts),
        // Behind the end of the path, and before all that go on.
        [0, 0, ..] => Some(String::new()),
        rest => first_text(element(rest)),
    };
    match (first, parts.pop()) {
        (Some(first), last) => {
            parts.extend(last);
            parts.push(first);
            Some(parts)
        }
        // Nothing lies behind it among the paths that begin so.
        (None, Some(last)) => {
            parts.push(last + "\0");
            Some(parts)
        }
        (None, None) => None,
    }
}

/// A part of a path with its end, and what follows.
fn whole(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut string = Vec::new();
    let mut rest = bytes;
    loop {
        match rest {
            [0, 1, after @ ..] => return Some((String::from_utf8(string).ok()?, after)),
            [0, 0xff, after @ ..] => {
                string.push(0);
                rest = after;
            }
            [] | [0, ..] => return None,
            [byte, after @ ..] => {
                string.push(*byte);
                rest = after;
            }
        }
    }
}

/// The smallest text at or behind a byte string.
fn first_text(bytes: Vec<u8>) -> Option<String> {
    let wrong = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(wrong) => wrong,
    };
    let valid = wrong.utf8_error().valid_up_to();
    let bytes = wrong.into_bytes();
    let (front, rest) = bytes.split_at_checked(valid)?;
    let mut text = String::from_utf8(front.to_vec()).ok()?;
    let is_from = |number: u128| {
        let letter = letter(number as u32);
        letter.is_some_and(|letter| letter.encode_utf8(&mut [0; 4]).as_bytes() >= rest)
    };
    if let Some(next) = first_number(LETTERS - 1, is_from).and_then(|n| letter(n as u32)) {
        text.push(next);
        return Some(text);
    }
    // Behind everything that begins so: the next letter in the place of the last.
    while let Some(last) = text.pop() {
        let number = u32::from(last) - if last > '\u{d7ff}' { SURROGATES } else { 0 };
        if let Some(next) = letter(number + 1) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

/// Numbers between the letters that are none.
const SURROGATES: u32 = 0x800;
/// How many letters there are.
const LETTERS: u128 = 0x11_0000 - SURROGATES as u128;

/// The letter with this number, without a gap.
fn letter(number: u32) -> Option<char> {
    char::from_u32(if number < 0xd800 { number } else { number + SURROGATES })
}

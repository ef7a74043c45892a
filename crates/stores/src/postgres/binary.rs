//! The binary forms of PostgreSQL's types: text with its zero bytes escaped, times, numbers of any
//! length, UUIDs that sort by time, arrays. Whatever the bytes are, reading answers a value or
//! `Corrupt`.

use super::value::Native;
use bytes::{BufMut, BytesMut};
use data::{Error, ErrorKind, Result};
use std::borrow::Cow;
use tokio_postgres::types;

/// Milliseconds from 1970 to 2000.
pub(super) const EPOCH_MILLISECONDS: i64 = 946_684_800_000;
/// Days from 1970 to 2000.
pub(super) const EPOCH_DAYS: i32 = 10_957;
/// The first instant, in 4714 BC, and the first behind the last, in 294277: microseconds since
/// 2000.
pub(super) const INSTANTS: std::ops::Range<i64> =
    -211_813_488_000_000_000..9_223_371_331_200_000_000;
/// The first day, in 4714 BC, and the first behind the last: days since 2000.
pub(super) const DAYS: std::ops::Range<i32> = -2_451_545..2_145_031_949;

/// Text as PostgreSQL takes it.
pub(super) fn escaped(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    if !text.bytes().any(|byte| byte <= 1) {
        return match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
    }
    let mut bytes = Vec::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        match byte {
            0 | 1 => bytes.extend_from_slice(&[1, byte + 1]),
            other => bytes.push(other),
        }
    }
    Cow::Owned(bytes)
}

/// Text as it was given.
#[inline]
pub(super) fn text(raw: &[u8]) -> Result<Cow<'_, str>> {
    let text = utf8(raw)?;
    match has_marks(raw) {
        false => Ok(Cow::Borrowed(text)),
        true => unmarked(text),
    }
}

/// Whether a text has a U+0001 in it; looked for in many letters at a time, because few have one.
#[inline]
fn has_marks(raw: &[u8]) -> bool {
    let Some(last) = raw.last_chunk::<16>() else { return raw.contains(&1) };
    let has = |letters: &[u8; 16]| letters.iter().fold(false, |any, letter| any | (*letter == 1));
    // The last letters may be looked at twice: that takes less than one by one.
    raw.as_chunks().0.iter().any(has) || has(last)
}

#[cold]
fn unmarked(text: &str) -> Result<Cow<'static, str>> {
    let mut given = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        given.push(match character {
            '\u{1}' => match characters.next() {
                Some('\u{1}') => '\0',
                Some('\u{2}') => '\u{1}',
                _ => return Err(unreadable("text with U+0001")),
            },
            other => other,
        });
    }
    Ok(Cow::Owned(given))
}

pub(super) fn utf8(raw: &[u8]) -> Result<&str> {
    std::str::from_utf8(raw).map_err(|error| unreadable("text").caused_by(error))
}

pub(super) fn json(raw: &[u8]) -> Result<serde_json::Value> {
    serde_json::from_slice(raw).map_err(|error| unreadable("json").caused_by(error))
}

pub(super) fn boolean(raw: &[u8]) -> Result<bool> {
    match raw {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(unreadable("boolean")),
    }
}

pub(super) fn milliseconds(raw: &[u8]) -> Result<i64> {
    let micros = i64::from_be_bytes(array(raw)?);
    match INSTANTS.contains(&micros) {
        true => Ok(micros.div_euclid(1_000) + EPOCH_MILLISECONDS),
        false => Err(unreadable("timestamptz that is infinite")),
    }
}

pub(super) fn days(raw: &[u8]) -> Result<i32> {
    let days = i32::from_be_bytes(array(raw)?);
    let moved = days.checked_add(EPOCH_DAYS).filter(|_| DAYS.contains(&days));
    moved.ok_or_else(|| unreadable("date that is infinite"))
}

/// A time UUID of version 1 as one of version 6, which sorts by time. The bytes behind the variant
/// are compared as signed ones in keys.
pub(super) fn to_version_6(bytes: [u8; 16]) -> [u8; 16] {
    let bits = u128::from_be_bytes(bytes);
    let (low, middle, high) = (bits >> 96, (bits >> 80) & 0xffff, (bits >> 64) & 0x0fff);
    let time = (high << 48) | (middle << 32) | low;
    let front = ((time >> 12) << 16) | 0x6000 | (time & 0x0fff);
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    ((front << 64) | rest).to_be_bytes()
}

pub(super) fn from_version_6(bytes: [u8; 16]) -> [u8; 16] {
    let bits = u128::from_be_bytes(bytes);
    let front = bits >> 64;
    let time = ((front >> 16) << 12) | (front & 0x0fff);
    let (low, middle, high) = (time & 0xffff_ffff, (time >> 32) & 0xffff, time >> 48);
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    ((low << 96) | (middle << 80) | ((high | 0x1000) << 64) | rest).to_be_bytes()
}

/// The variant is the same in all of them and stays.
const SIGNS: u128 = 0x0080_8080_8080_8080;

pub(super) fn write_numeric(value: u64, out: &mut BytesMut) {
    let mut digits = [0_u16; 5];
    let (mut count, mut rest) = (0, value);
    for digit in digits.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        *digit = u16::try_from(rest % 10_000).unwrap_or_default();
        rest /= 10_000;
        count += 1;
    }
    // Zeros at the end are not written.
    let kept =
        |digits: &[u16; 5]| digits.iter().rposition(|digit| *digit != 0).map_or(0, |p| p + 1);
    let first = digits.len() - count;
    let written = kept(&digits).saturating_sub(first);
    out.put_i16(i16::try_from(written).unwrap_or_default());
    out.put_i16(i16::try_from(count).unwrap_or_default().saturating_sub(1).max(0));
    // The sign, and digits behind the point.
    out.put_u16(0);
    out.put_u16(0);
    for digit in digits.iter().skip(first).take(written) {
        out.put_u16(*digit);
    }
}

pub(super) fn numeric(raw: &[u8]) -> Result<u64> {
    let wrong = || unreadable("numeric that is no whole number of 64 bits");
    let (pairs, rest) = raw.as_chunks::<2>();
    let mut numbers = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    let (count, weight) = (numbers.next(), numbers.next());
    let (sign, _scale) = (numbers.next(), numbers.next());
    let (Some(count), Some(weight), Some(0), true) = (count, weight, sign, rest.is_empty()) else {
        return Err(wrong());
    };
    let mut value: u64 = 0;
    if count == 0 {
        return Ok(0);
    }
    let places = usize::from(weight) + 1;
    if usize::from(count) > places || places > 5 {
        return Err(wrong());
    }
    for _ in 0..places {
        let digit = numbers.next().unwrap_or(0);
        let next = value.checked_mul(10_000).and_then(|value| value.checked_add(digit.into()));
        value = next.ok_or_else(wrong)?;
    }
    Ok(value)
}

pub(super) fn write_array(element: &types::Type, items: &[Native<'_>], out: &mut BytesMut) {
    out.put_i32(i32::from(!items.is_empty()));
    out.put_i32(i32::from(items.contains(&Native::Null)));
    out.put_u32(element.oid());
    if items.is_empty() {
        return;
    }
    out.put_i32(i32::try_from(items.len()).unwrap_or(i32::MAX));
    out.put_i32(1);
    for item in items {
        if *item == Native::Null {
            out.put_i32(-1);
            continue;
        }
        let place = out.len();
        out.put_i32(0);
        item.write(out);
        let length = i32::try_from(out.len() - place - 4).unwrap_or(i32::MAX);
        if let Some(place) = out.get_mut(place..place + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// The elements of an array of one dimension, none of them null.
pub(super) fn items(raw: &[u8]) -> Result<Vec<&[u8]>> {
    let wrong = || unreadable("array that is no list");
    let take = |raw: &mut &[u8]| -> Result<i32> {
        let (number, rest) = raw.split_first_chunk::<4>().ok_or_else(wrong)?;
        *raw = rest;
        Ok(i32::from_be_bytes(*number))
    };
    let mut rest = raw;
    let (dimensions, _nulls, _element) = (take(&mut rest)?, take(&mut rest)?, take(&mut rest)?);
    if dimensions == 0 {
        return Ok(Vec::new());
    }
    let (count, _first) = (take(&mut rest)?, take(&mut rest)?);
    if dimensions != 1 {
        return Err(wrong());
    }
    let mut items = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(256));
    for _ in 0..count {
        let length = usize::try_from(take(&mut rest)?).map_err(|_| wrong())?;
        let (item, after) = rest.split_at_checked(length).ok_or_else(wrong)?;
        items.push(item);
        rest = after;
    }
    Ok(items)
}

pub(super) fn array<const N: usize>(raw: &[u8]) -> Result<[u8; N]> {
    <[u8; N]>::try_from(raw).map_err(|_| unreadable("column of another length"))
}

/// A column that holds what no version of Keyway wrote.
pub(super) fn unreadable(what: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored value cannot be read").with("what", what)
}

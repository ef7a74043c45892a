//! Values in the binary forms of PostgreSQL's types, and back.
//!
//! ```text
//! key segment │ field ─▶ Native ─▶ parameter        column ─▶ bytes ─▶ key segment │ field
//! ```
//!
//! | type | column | form |
//! |---|---|---|
//! | text | `text` | as it is; U+0000, which no text of PostgreSQL has, is U+0001 U+0001, and U+0001 is U+0001 U+0002: the order stays |
//! | u64, cells | `numeric` | digits in base 10,000 |
//! | timeuuid | `uuid` | version 6; below the variant each byte has its top bit flipped, as the key has it |
//! | timestamp | `timestamptz` | microseconds since 2000; beyond its years an infinity, which is only ever asked for |
//! | ulid | `text` | its 26 characters |
//!
//! Nothing here knows a table, and nothing is rounded on the way.

use bytes::{BufMut, Bytes, BytesMut};
use data::value::Value;
use data::{Error, ErrorKind, Result};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{self, KeyType};
use keyspace::model::Type;
use std::borrow::Cow;
use std::error::Error as StdError;
use tokio_postgres::types::{self, FromSql, IsNull, ToSql};

/// Milliseconds from 1970 to 2000.
const EPOCH_MILLISECONDS: i64 = 946_684_800_000;
/// Days from 1970 to 2000.
const EPOCH_DAYS: i32 = 10_957;
/// The first instant, in 4714 BC, and the first behind the last, in 294277: microseconds since
/// 2000.
const INSTANTS: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;
/// The first day, in 4714 BC, and the first behind the last: days since 2000.
const DAYS: std::ops::Range<i32> = -2_451_545..2_145_031_949;

/// A value in the form of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Native<'v> {
    /// Nothing.
    Null,
    /// `boolean`
    Bool(bool),
    /// `bigint`
    I64(i64),
    /// `numeric`
    Numeric(u64),
    /// `double precision`
    F64(f64),
    /// `uuid`
    Uuid([u8; 16]),
    /// `timestamptz`: microseconds since 2000; the first and the last number are infinities.
    Timestamp(i64),
    /// `date`: days since 2000; the first and the last number are infinities.
    Date(i32),
    /// `bytea`, or the UTF-8 of `text` and `json`.
    Bytes(Cow<'v, [u8]>),
    /// An array of this type.
    Array(types::Type, Vec<Native<'v>>),
}

/// An end that never comes.
pub(super) const NEVER: Native<'static> = Native::Timestamp(i64::MAX);

impl<'v> Native<'v> {
    /// Whether PostgreSQL has the value: not so of instants and days too far away.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self, Native::Timestamp(i64::MIN | i64::MAX) | Native::Date(i32::MIN | i32::MAX))
    }

    /// A key segment's value.
    pub(super) fn of_segment(value: &key::Value<'v>) -> Result<Native<'v>> {
        Ok(match value {
            key::Value::Null => Native::Null,
            key::Value::Bool(value) => Native::Bool(*value),
            key::Value::I64(value) => Native::I64(*value),
            key::Value::U64(value) | key::Value::Cell(value) => Native::Numeric(*value),
            key::Value::F64(value) => Native::F64(*value),
            key::Value::Bytes(bytes) => Native::Bytes(bytes.clone()),
            key::Value::Text(text) => Native::Bytes(escaped(text.clone())),
            key::Value::Path(parts) => {
                let part = |part: &Cow<'v, str>| Native::Bytes(escaped(part.clone()));
                Native::Array(types::Type::TEXT, parts.iter().map(part).collect())
            }
            key::Value::Uuid(bytes) => Native::Uuid(*bytes),
            key::Value::TimeUuid(bytes) => Native::Uuid(to_version_6(*bytes)),
            key::Value::Timestamp(at) => Native::instant(*at),
            key::Value::Date(days) => Native::day(*days),
            ulid @ key::Value::Ulid(_) => {
                Native::Bytes(Cow::Owned(scalar_text(ulid)?.into_owned().into_bytes()))
            }
        })
    }

    /// A field's value; `of` is its type.
    pub(super) fn of_field(value: &'v Value, of: &Type) -> Result<Native<'v>> {
        Ok(match (value, of.required()) {
            (Value::Null, _) => Native::Null,
            (Value::Duration(milliseconds), _) => Native::I64(*milliseconds),
            (Value::Json(json), _) => Native::Bytes(Cow::Owned(json.to_string().into_bytes())),
            (Value::List(items), Type::List(inner)) => match element(inner) {
                Some(element) => {
                    let items = items.iter().map(|item| Native::of_field(item, inner));
                    Native::Array(element, items.collect::<Result<_>>()?)
                }
                None => {
                    let json = value.to_json(of.required());
                    Native::Bytes(Cow::Owned(json.to_string().into_bytes()))
                }
            },
            (plain, _) => match plain.as_segment() {
                Some(segment) => Native::of_segment(&segment)?,
                None => return Err(Error::new(ErrorKind::Internal, "a value has no column")),
            },
        })
    }

    /// An instant in milliseconds since 1970.
    pub(super) fn instant(milliseconds: i64) -> Native<'v> {
        let moved = milliseconds.checked_sub(EPOCH_MILLISECONDS);
        let micros = moved.and_then(|moved| moved.checked_mul(1_000));
        let outside = if milliseconds < 0 { i64::MIN } else { i64::MAX };
        let held = micros.filter(|micros| INSTANTS.contains(micros));
        Native::Timestamp(held.unwrap_or(outside))
    }

    fn day(days: i32) -> Native<'v> {
        let outside = if days < 0 { i32::MIN } else { i32::MAX };
        let held = days.checked_sub(EPOCH_DAYS).filter(|days| DAYS.contains(days));
        Native::Date(held.unwrap_or(outside))
    }

    /// The same value, borrowing nothing.
    pub(super) fn into_owned(self) -> Native<'static> {
        match self {
            Native::Null => Native::Null,
            Native::Bool(value) => Native::Bool(value),
            Native::I64(value) => Native::I64(value),
            Native::Numeric(value) => Native::Numeric(value),
            Native::F64(value) => Native::F64(value),
            Native::Uuid(bytes) => Native::Uuid(bytes),
            Native::Timestamp(at) => Native::Timestamp(at),
            Native::Date(days) => Native::Date(days),
            Native::Bytes(bytes) => Native::Bytes(Cow::Owned(bytes.into_owned())),
            Native::Array(element, items) => {
                Native::Array(element, items.into_iter().map(Native::into_owned).collect())
            }
        }
    }

    fn write(&self, out: &mut BytesMut) {
        match self {
            Native::Null => {}
            Native::Bool(value) => out.put_u8(u8::from(*value)),
            Native::I64(value) | Native::Timestamp(value) => out.put_i64(*value),
            Native::Numeric(value) => write_numeric(*value, out),
            Native::F64(value) => out.put_f64(*value),
            Native::Uuid(bytes) => out.put_slice(bytes),
            Native::Date(days) => out.put_i32(*days),
            Native::Bytes(bytes) => out.put_slice(bytes),
            Native::Array(element, items) => write_array(element, items, out),
        }
    }
}

impl ToSql for Native<'_> {
    fn to_sql(
        &self,
        _: &types::Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        self.write(out);
        Ok(if *self == Native::Null { IsNull::Yes } else { IsNull::No })
    }

    // The statements name their types, and the layout decided about the columns.
    fn accepts(_: &types::Type) -> bool {
        true
    }

    fn to_sql_checked(
        &self,
        of: &types::Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        self.to_sql(of, out)
    }
}

/// The bytes of a column, or nothing where it is null.
pub(super) struct Raw<'r>(pub(super) Option<&'r [u8]>);

impl<'r> FromSql<'r> for Raw<'r> {
    fn from_sql(_: &types::Type, raw: &'r [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(Some(raw)))
    }

    fn from_sql_null(_: &types::Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(None))
    }

    fn accepts(_: &types::Type) -> bool {
        true
    }
}

/// The value of a key column.
pub(super) fn segment<'r>(kind: KeyType, raw: &'r [u8]) -> Result<key::Value<'r>> {
    Ok(match kind {
        KeyType::Bool => key::Value::Bool(boolean(raw)?),
        KeyType::I64 => key::Value::I64(i64::from_be_bytes(array(raw)?)),
        KeyType::U64 => key::Value::U64(numeric(raw)?),
        KeyType::Cell => key::Value::Cell(numeric(raw)?),
        KeyType::F64 => key::Value::F64(f64::from_be_bytes(array(raw)?)),
        KeyType::Bytes => key::Value::bytes(raw),
        KeyType::Text => key::Value::Text(text(raw)?),
        KeyType::Path => {
            key::Value::Path(items(raw)?.into_iter().map(text).collect::<Result<_>>()?)
        }
        KeyType::Uuid => key::Value::Uuid(array(raw)?),
        KeyType::TimeUuid => key::Value::TimeUuid(from_version_6(array(raw)?)),
        KeyType::Timestamp => key::Value::Timestamp(milliseconds(raw)?),
        KeyType::Date => key::Value::Date(days(raw)?),
        KeyType::Ulid => parse_scalar(KeyType::Ulid, utf8(raw)?)
            .map_err(|error| unreadable("ulid").caused_by(error))?,
    })
}

/// The value of a column of a field.
pub(super) fn field(of: &Type, raw: Option<&[u8]>) -> Result<Value> {
    let Some(raw) = raw else { return Ok(Value::Null) };
    Ok(match of.required() {
        Type::Text | Type::Enum(_) => Value::Text(text(raw)?.into_owned()),
        Type::Bytes => Value::Bytes(Bytes::copy_from_slice(raw)),
        Type::Bool => Value::Bool(boolean(raw)?),
        Type::I64 => Value::I64(i64::from_be_bytes(array(raw)?)),
        Type::Duration => Value::Duration(i64::from_be_bytes(array(raw)?)),
        Type::U64 => Value::U64(numeric(raw)?),
        // Somebody else may have written a negative zero, which no record has.
        Type::F64 => Value::F64(f64::from_be_bytes(array(raw)?) + 0.0),
        Type::Uuid => Value::Uuid(array(raw)?),
        Type::TimeUuid => Value::TimeUuid(from_version_6(array(raw)?)),
        Type::Timestamp => Value::Timestamp(milliseconds(raw)?),
        Type::Date => Value::Date(days(raw)?),
        Type::Ulid => Value::from_segment(segment(KeyType::Ulid, raw)?),
        Type::Path => Value::from_segment(segment(KeyType::Path, raw)?),
        Type::Json | Type::Optional(_) => Value::Json(json(raw)?),
        Type::List(inner) => match element(inner) {
            Some(_) => {
                let items = items(raw)?.into_iter().map(|item| field(inner, Some(item)));
                Value::List(items.collect::<Result<_>>()?)
            }
            None => Value::from_json(&json(raw)?, of.required())
                .map_err(|error| unreadable("json").caused_by(error))?,
        },
    })
}

/// The type of an array's elements; none where a list is kept as JSON.
fn element(of: &Type) -> Option<types::Type> {
    Some(match of {
        Type::Text | Type::Enum(_) | Type::Ulid => types::Type::TEXT,
        Type::Bytes => types::Type::BYTEA,
        Type::Bool => types::Type::BOOL,
        Type::I64 | Type::Duration => types::Type::INT8,
        Type::U64 => types::Type::NUMERIC,
        Type::F64 => types::Type::FLOAT8,
        Type::Uuid | Type::TimeUuid => types::Type::UUID,
        Type::Timestamp => types::Type::TIMESTAMPTZ,
        Type::Date => types::Type::DATE,
        Type::Json | Type::List(_) | Type::Optional(_) | Type::Path => return None,
    })
}

/// The type of a key column, for parameters that hold many of its values; none for a path, since
/// there are no arrays of arrays.
pub(super) fn key_element(kind: KeyType) -> Option<types::Type> {
    Some(match kind {
        KeyType::Bool => types::Type::BOOL,
        KeyType::I64 => types::Type::INT8,
        KeyType::U64 | KeyType::Cell => types::Type::NUMERIC,
        KeyType::F64 => types::Type::FLOAT8,
        KeyType::Bytes => types::Type::BYTEA,
        KeyType::Text | KeyType::Ulid => types::Type::TEXT,
        KeyType::Uuid | KeyType::TimeUuid => types::Type::UUID,
        KeyType::Timestamp => types::Type::TIMESTAMPTZ,
        KeyType::Date => types::Type::DATE,
        KeyType::Path => return None,
    })
}

/// The instant in a column that says when a row ends; none where it never does.
pub(super) fn expires(raw: Option<&[u8]>) -> Result<Option<i64>> {
    let Some(raw) = raw else { return Ok(None) };
    match i64::from_be_bytes(array(raw)?) {
        i64::MAX => Ok(None),
        _ => milliseconds(raw).map(Some),
    }
}

/// Text as PostgreSQL takes it.
fn escaped(text: Cow<'_, str>) -> Cow<'_, [u8]> {
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
fn text(raw: &[u8]) -> Result<Cow<'_, str>> {
    let text = utf8(raw)?;
    if !raw.contains(&1) {
        return Ok(Cow::Borrowed(text));
    }
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

fn json(raw: &[u8]) -> Result<serde_json::Value> {
    serde_json::from_slice(raw).map_err(|error| unreadable("json").caused_by(error))
}

fn boolean(raw: &[u8]) -> Result<bool> {
    match raw {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(unreadable("boolean")),
    }
}

fn milliseconds(raw: &[u8]) -> Result<i64> {
    let micros = i64::from_be_bytes(array(raw)?);
    match INSTANTS.contains(&micros) {
        true => Ok(micros.div_euclid(1_000) + EPOCH_MILLISECONDS),
        false => Err(unreadable("timestamptz that is infinite")),
    }
}

fn days(raw: &[u8]) -> Result<i32> {
    let days = i32::from_be_bytes(array(raw)?);
    let moved = days.checked_add(EPOCH_DAYS).filter(|_| DAYS.contains(&days));
    moved.ok_or_else(|| unreadable("date that is infinite"))
}

/// A time UUID of version 1 as one of version 6, which sorts by time. The bytes behind the variant
/// are compared as signed ones in keys.
fn to_version_6(bytes: [u8; 16]) -> [u8; 16] {
    let bits = u128::from_be_bytes(bytes);
    let (low, middle, high) = (bits >> 96, (bits >> 80) & 0xffff, (bits >> 64) & 0x0fff);
    let time = (high << 48) | (middle << 32) | low;
    let front = ((time >> 12) << 16) | 0x6000 | (time & 0x0fff);
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    ((front << 64) | rest).to_be_bytes()
}

fn from_version_6(bytes: [u8; 16]) -> [u8; 16] {
    let bits = u128::from_be_bytes(bytes);
    let front = bits >> 64;
    let time = ((front >> 16) << 12) | (front & 0x0fff);
    let (low, middle, high) = (time & 0xffff_ffff, (time >> 32) & 0xffff, time >> 48);
    let rest = (bits & u128::from(u64::MAX)) ^ SIGNS;
    ((low << 96) | (middle << 80) | ((high | 0x1000) << 64) | rest).to_be_bytes()
}

/// The variant is the same in all of them and stays.
const SIGNS: u128 = 0x0080_8080_8080_8080;

fn write_numeric(value: u64, out: &mut BytesMut) {
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

fn numeric(raw: &[u8]) -> Result<u64> {
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

fn write_array(element: &types::Type, items: &[Native<'_>], out: &mut BytesMut) {
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
fn items(raw: &[u8]) -> Result<Vec<&[u8]>> {
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

fn array<const N: usize>(raw: &[u8]) -> Result<[u8; N]> {
    <[u8; N]>::try_from(raw).map_err(|_| unreadable("column of another length"))
}

/// A column that holds what no version of Keyway wrote.
fn unreadable(what: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored value cannot be read").with("what", what)
}

//! Values in the binary forms of PostgreSQL's types, and back.
//!
//! ```text
//! key segment │ field ─▶ Native ─▶ parameter        column ─▶ bytes ─▶ key segment │ field
//! ```
//!
//! | type | column | form |
//! |---|---|---|
//! | text | `text` | as it is, but for U+0000, which is U+0001 U+0001, and U+0001 |
//! | u64, cells | `numeric` | digits in base 10,000 |
//! | timeuuid | `uuid` | version 6; bytes behind the variant have their top bit flipped |
//! | timestamp | `timestamptz` | microseconds since 2000; beyond its years an infinity |
//! | ulid | `text` | its 26 characters |
//!
//! All sort as keys do: U+0001 becomes U+0001 U+0002, signed bytes of a time UUID become unsigned
//! ones, and an infinity is only ever asked for, never kept. Nothing here knows a table, and
//! nothing is rounded on the way.

use super::binary::{
    DAYS, EPOCH_DAYS, EPOCH_MILLISECONDS, INSTANTS, array, boolean, days, escaped, from_version_6,
    items, json, milliseconds, numeric, text, to_version_6, unreadable, utf8, write_array,
    write_numeric,
};
use crate::native::ulid;
use bytes::{BufMut, Bytes, BytesMut};
use data::record::Scalar;
use data::value::Value;
use data::{Error, ErrorKind, Result};
use keyspace::key::{self, KeyType, KeyWriter};
use keyspace::model::Type;
use std::borrow::Cow;
use std::error::Error as StdError;
use tokio_postgres::types::{self, FromSql, IsNull, ToSql};

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
    /// `text`: the 26 characters of a ULID.
    Ulid([u8; 16]),
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
    pub(super) fn of_segment(value: key::Value<'v>) -> Native<'v> {
        match value {
            key::Value::Null => Native::Null,
            key::Value::Bool(value) => Native::Bool(value),
            key::Value::I64(value) => Native::I64(value),
            key::Value::U64(value) | key::Value::Cell(value) => Native::Numeric(value),
            key::Value::F64(value) => Native::F64(value),
            key::Value::Bytes(bytes) => Native::Bytes(bytes),
            key::Value::Text(text) => Native::Bytes(escaped(text)),
            key::Value::Path(parts) => {
                let parts = parts.into_iter().map(|part| Native::Bytes(escaped(part)));
                Native::Array(types::Type::TEXT, parts.collect())
            }
            key::Value::Uuid(bytes) => Native::Uuid(bytes),
            key::Value::Ulid(bytes) => Native::Ulid(bytes),
            key::Value::TimeUuid(bytes) => Native::Uuid(to_version_6(bytes)),
            key::Value::Timestamp(at) => Native::instant(at),
            key::Value::Date(days) => Native::day(days),
        }
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
                Some(segment) => Native::of_segment(segment),
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
            Native::Ulid(bytes) => Native::Ulid(bytes),
            Native::Timestamp(at) => Native::Timestamp(at),
            Native::Date(days) => Native::Date(days),
            Native::Bytes(bytes) => Native::Bytes(Cow::Owned(bytes.into_owned())),
            Native::Array(element, items) => {
                Native::Array(element, items.into_iter().map(Native::into_owned).collect())
            }
        }
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        match self {
            Native::Null => {}
            Native::Bool(value) => out.put_u8(u8::from(*value)),
            Native::I64(value) | Native::Timestamp(value) => out.put_i64(*value),
            Native::Numeric(value) => write_numeric(*value, out),
            Native::F64(value) => out.put_f64(*value),
            Native::Uuid(bytes) => out.put_slice(bytes),
            Native::Ulid(bytes) => out.put_slice(&ulid::text(bytes)),
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
        KeyType::Ulid => key::Value::Ulid(ulid(raw)?),
    })
}

fn ulid(raw: &[u8]) -> Result<[u8; 16]> {
    ulid::from_text(raw).ok_or_else(|| unreadable("ulid"))
}

/// Adds the value of a key column to its key.
#[inline]
pub(super) fn write_segment(
    writer: &mut KeyWriter<'_>,
    of: key::Segment,
    raw: &[u8],
) -> Result<()> {
    let direction = of.direction;
    let written = match of.kind {
        KeyType::I64 => writer.i64(i64::from_be_bytes(array(raw)?), direction),
        KeyType::U64 => writer.u64(numeric(raw)?, direction),
        KeyType::Text => writer.text(&text(raw)?, direction),
        KeyType::Uuid => writer.uuid(&array(raw)?, direction),
        KeyType::Ulid => writer.ulid(&ulid(raw)?, direction),
        KeyType::Timestamp => writer.timestamp(milliseconds(raw)?, direction),
        kind => writer.value(of, &segment(kind, raw)?),
    };
    written.map_err(Error::from)
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

/// Adds the column of a field as a record writes it; not of lists and paths, which are made anew.
#[inline]
pub(super) fn write_payload(of: &Type, raw: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    match of.required() {
        Type::Text | Type::Enum(_) => return write_text(raw, bytes),
        Type::Json => bytes.extend_from_slice(raw),
        _ => match scalar(of, raw)? {
            Some(scalar) => _ = scalar.put(bytes),
            None => {
                let message = "a column is not as a record has it";
                return Err(Error::new(ErrorKind::Internal, message));
            }
        },
    }
    Ok(())
}

/// The column of a field where it is; nothing of one that must be made anew. Put into whoever reads
/// a row, since its reading is little else.
#[inline(always)]
pub(super) fn scalar<'r>(of: &Type, raw: &'r [u8]) -> Result<Option<Scalar<'r>>> {
    Ok(Some(match of.required() {
        Type::Text => match text(raw)? {
            Cow::Borrowed(text) => Scalar::Text(text),
            Cow::Owned(_) => return Ok(None),
        },
        Type::Enum(words) => match words.iter().any(|word| word.as_bytes() == raw) {
            true => Scalar::Text(utf8(raw)?),
            false => return Err(unreadable("word that its enum does not have")),
        },
        Type::Bytes => Scalar::Bytes(raw),
        Type::Bool => Scalar::Bool(boolean(raw)?),
        Type::I64 => Scalar::I64(i64::from_be_bytes(array(raw)?)),
        Type::Duration => Scalar::Duration(i64::from_be_bytes(array(raw)?)),
        Type::U64 => Scalar::U64(numeric(raw)?),
        // Somebody else may have written a negative zero, which no record has.
        Type::F64 => match f64::from_be_bytes(array(raw)?) {
            number if number.is_finite() => Scalar::F64(number + 0.0),
            _ => return Err(unreadable("number that is not finite")),
        },
        Type::Uuid => Scalar::Uuid(array(raw)?),
        Type::TimeUuid => Scalar::TimeUuid(from_version_6(array(raw)?)),
        Type::Timestamp => Scalar::Timestamp(milliseconds(raw)?),
        Type::Date => Scalar::Date(days(raw)?),
        Type::Ulid => Scalar::Ulid(ulid(raw)?),
        Type::Json | Type::Path | Type::List(_) | Type::Optional(_) => return Ok(None),
    }))
}

/// Adds text as it was given.
#[inline]
pub(super) fn write_text(raw: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    bytes.extend_from_slice(text(raw)?.as_bytes());
    Ok(())
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

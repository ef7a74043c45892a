//! One value to its text and back, before anything is escaped.
//!
//! Reading is lenient and then checked by writing again, so there is one place that decides what
//! canonical means. Nothing may be accepted without that check.

use std::borrow::Cow;

use super::super::write::is_time_uuid;
use super::super::{Error, ErrorKind, KeyType, Value};
use super::{civil, digits, float};

/// The text of one value, not escaped. Null and paths have no text of their own.
pub fn scalar_text<'v>(value: &'v Value<'_>) -> Result<Cow<'v, str>, Error> {
    Ok(Cow::Owned(match value {
        Value::Null => return Err(Error::new(ErrorKind::NullText, 0)),
        Value::Path(_) => return Err(Error::new(ErrorKind::PathPlace, 0)),
        Value::Text(value) => return Ok(Cow::Borrowed(value)),
        Value::F64(value) if value.is_nan() => return Err(Error::new(ErrorKind::NotANumber, 0)),
        Value::TimeUuid(value) if !is_time_uuid(u128::from_be_bytes(*value)) => {
            return Err(Error::new(ErrorKind::NotTimeUuid, 0));
        }
        Value::Bool(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F64(value) => float::float(*value),
        Value::Bytes(value) => digits::base64_url(value),
        Value::Uuid(value) | Value::TimeUuid(value) => digits::uuid(*value),
        Value::Timestamp(value) => civil::timestamp(*value),
        Value::Ulid(value) => digits::ulid(*value),
        Value::Cell(value) => digits::hex(*value),
        Value::Date(value) => civil::date(i64::from(*value)),
    }))
}

/// The value that `raw`, which is not escaped, spells in the one accepted way.
pub fn parse_scalar(kind: KeyType, raw: &str) -> Result<Value<'static>, Error> {
    let value = read(kind, raw).ok_or(Error::new(ErrorKind::BadText, 0))?;
    if is_spelt(&value, raw)? { Ok(value) } else { Err(Error::new(ErrorKind::NotCanonical, 0)) }
}

/// Whether a text is that of a value.
fn is_spelt(value: &Value<'_>, raw: &str) -> Result<bool, Error> {
    match value {
        // Without making a text of it.
        Value::Uuid(value) => Ok(digits::uuid_letters(*value) == raw.as_bytes()),
        Value::TimeUuid(value) if is_time_uuid(u128::from_be_bytes(*value)) => {
            Ok(digits::uuid_letters(*value) == raw.as_bytes())
        }
        Value::Ulid(value) => Ok(digits::ulid_letters(*value) == raw.as_bytes()),
        value => Ok(scalar_text(value)? == raw),
    }
}

fn read(kind: KeyType, raw: &str) -> Option<Value<'static>> {
    Some(match kind {
        KeyType::Bool => Value::Bool(raw.parse().ok()?),
        KeyType::I64 => Value::I64(raw.parse().ok()?),
        KeyType::U64 => Value::U64(raw.parse().ok()?),
        KeyType::F64 => Value::F64(float::from_float(raw)?),
        KeyType::Bytes => Value::Bytes(Cow::Owned(digits::from_base64_url(raw)?)),
        KeyType::Text => Value::Text(Cow::Owned(raw.to_string())),
        KeyType::Path => return None,
        KeyType::Uuid => Value::Uuid(digits::from_uuid(raw)?),
        KeyType::TimeUuid => Value::TimeUuid(digits::from_uuid(raw)?),
        KeyType::Timestamp => Value::Timestamp(civil::from_timestamp(raw)?),
        KeyType::Ulid => Value::Ulid(digits::from_ulid(raw)?),
        KeyType::Cell => Value::Cell(digits::from_hex(raw)?),
        KeyType::Date => Value::Date(i32::try_from(civil::from_date(raw)?).ok()?),
    })
}

//! One value to the bytes of its field.
//!
//! Text and bytes are borrowed until the whole record is put together, so that they are copied
//! once; only lists and JSON are written down before their size is known.

use crate::error::{Error, ErrorKind, Result};
use crate::value::{Value, json};
use keyspace::model::Type;

/// The bytes of one field, until they are copied into their record.
#[derive(Clone, Debug)]
pub enum Payload<'v> {
    /// A number or an id: so many of these bytes.
    Short([u8; 16], usize),
    /// Text or bytes, as they are.
    Borrowed(&'v [u8]),
    /// A list or JSON.
    Written(Vec<u8>),
}

impl AsRef<[u8]> for Payload<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Payload::Short(bytes, length) => bytes.get(..*length).unwrap_or(bytes),
            Payload::Borrowed(bytes) => bytes,
            Payload::Written(bytes) => bytes,
        }
    }
}

impl<'v> Payload<'v> {
    /// The bytes of a value of a required type.
    pub fn of(value: &'v Value, of: &Type) -> Result<Payload<'v>> {
        Ok(match (value, of) {
            (Value::Bool(value), Type::Bool) => short([u8::from(*value)]),
            (Value::I64(value), Type::I64)
            | (Value::Timestamp(value), Type::Timestamp)
            | (Value::Duration(value), Type::Duration) => short(value.to_be_bytes()),
            (Value::U64(value), Type::U64) => short(value.to_be_bytes()),
            // Adding zero turns negative zero into zero.
            (Value::F64(value), Type::F64) if value.is_finite() => {
                short((value + 0.0).to_be_bytes())
            }
            (Value::Date(days), Type::Date) => short(days.to_be_bytes()),
            (Value::Uuid(bytes), Type::Uuid)
            | (Value::TimeUuid(bytes), Type::TimeUuid)
            | (Value::Ulid(bytes), Type::Ulid) => short(*bytes),
            (Value::Text(text), Type::Text) => Payload::Borrowed(text.as_bytes()),
            (Value::Text(word), Type::Enum(words)) if words.contains(word) => {
                Payload::Borrowed(word.as_bytes())
            }
            (Value::Bytes(bytes), Type::Bytes) => Payload::Borrowed(bytes),
            (Value::Json(value), Type::Json) => Payload::Written(json_text(value)?),
            (Value::Path(parts), Type::Path) => {
                let mut written = Vec::new();
                count(parts.len(), &mut written);
                for part in parts {
                    count(part.len() + 1, &mut written);
                    written.extend_from_slice(part.as_bytes());
                }
                Payload::Written(written)
            }
            (Value::List(items), Type::List(item_type)) => {
                Payload::Written(list(items, item_type)?)
            }
            _ => return Err(wrong_kind(of)),
        })
    }
}

impl Payload<'_> {
    /// A number or an id, of at most sixteen bytes.
    pub fn short<const N: usize>(value: [u8; N]) -> Self {
        let mut bytes = [0; 16];
        if let Some(front) = bytes.first_chunk_mut() {
            *front = value;
        }
        Payload::Short(bytes, N)
    }
}

fn short<'v, const N: usize>(value: [u8; N]) -> Payload<'v> {
    Payload::short(value)
}

fn list(items: &[Value], item_type: &Type) -> Result<Vec<u8>> {
    let mut written = Vec::new();
    count(items.len(), &mut written);
    for item in items {
        if item.is_null() && item_type.is_optional() {
            written.push(0);
            continue;
        }
        let payload = Payload::of(item, item_type.required())?;
        count(payload.as_ref().len() + 1, &mut written);
        written.extend_from_slice(payload.as_ref());
    }
    Ok(written)
}

fn json_text(value: &serde_json::Value) -> Result<Vec<u8>> {
    json::check_depth(value)?;
    serde_json::to_vec(value).map_err(|error| {
        Error::new(ErrorKind::Internal, "a JSON value has no text").caused_by(error)
    })
}

/// A count in groups of seven bits, the lowest first; all but the last have the high bit set.
fn count(mut number: usize, written: &mut Vec<u8>) {
    while number >= 0x80 {
        written.push(number as u8 | 0x80);
        number >>= 7;
    }
    written.push(number as u8);
}

/// The error of a value that should not have come so far.
#[cold]
pub(super) fn wrong_kind(of: &Type) -> Error {
    Error::new(ErrorKind::Internal, "a field has a value of another type").with("expected", of)
}

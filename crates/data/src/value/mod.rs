//! Values of the notation's types, as calls give them and rows answer them.
//!
//! ```text
//! JSON, text of a command line ─▶ Value ─▶ key segment │ field of a record
//! ```
//!
//! A value is made with its type at hand; it is never guessed from how something looks.

mod from;
pub(crate) mod json;
#[cfg(test)]
pub(crate) mod sample;
pub mod strict;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use text::scalar_text;
mod time;

use bytes::Bytes;
use keyspace::key;
use std::borrow::Cow;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A float; never NaN.
    F64(f64),
    /// Text, and the word of an enum.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// A UUID.
    Uuid([u8; 16]),
    /// A UUID that holds its time, in the usual order of its bytes.
    TimeUuid([u8; 16]),
    /// A ULID.
    Ulid([u8; 16]),
    /// Milliseconds since 1970, UTC.
    Timestamp(i64),
    /// Days since 1970.
    Date(i32),
    /// A length of time in milliseconds.
    Duration(i64),
    /// The number of an S2 cell.
    Cell(u64),
    /// A path.
    Path(Vec<String>),
    /// Any JSON.
    Json(serde_json::Value),
    /// A list.
    List(Vec<Value>),
}

impl Value {
    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a key segment; lists, JSON and durations have no place in a key.
    pub fn as_segment(&self) -> Option<key::Value<'_>> {
        Some(match self {
            Value::Null => key::Value::Null,
            Value::Bool(value) => key::Value::Bool(*value),
            Value::I64(value) => key::Value::I64(*value),
            Value::U64(value) => key::Value::U64(*value),
            Value::F64(value) => key::Value::F64(*value),
            Value::Text(text) => key::Value::text(text),
            Value::Bytes(bytes) => key::Value::bytes(bytes),
            Value::Uuid(bytes) => key::Value::Uuid(*bytes),
            Value::TimeUuid(bytes) => key::Value::TimeUuid(*bytes),
            Value::Ulid(bytes) => key::Value::Ulid(*bytes),
            Value::Timestamp(at) => key::Value::Timestamp(*at),
            Value::Date(days) => key::Value::Date(*days),
            Value::Cell(number) => key::Value::Cell(*number),
            Value::Path(parts) => {
                key::Value::Path(parts.iter().map(|part| Cow::Borrowed(part.as_str())).collect())
            }
            Value::Duration(_) | Value::Json(_) | Value::List(_) => return None,
        })
    }

    /// The value of a key segment.
    pub fn from_segment(value: key::Value<'_>) -> Value {
        match value {
            key::Value::Null => Value::Null,
            key::Value::Bool(value) => Value::Bool(value),
            key::Value::I64(value) => Value::I64(value),
            key::Value::U64(value) => Value::U64(value),
            key::Value::F64(value) => Value::F64(value),
            key::Value::Bytes(bytes) => Value::Bytes(Bytes::from(bytes.into_owned())),
            key::Value::Text(text) => Value::Text(text.into_owned()),
            key::Value::Path(parts) => {
                Value::Path(parts.into_iter().map(Cow::into_owned).collect())
            }
            key::Value::Uuid(bytes) => Value::Uuid(bytes),
            key::Value::TimeUuid(bytes) => Value::TimeUuid(bytes),
            key::Value::Ulid(bytes) => Value::Ulid(bytes),
            key::Value::Timestamp(at) => Value::Timestamp(at),
            key::Value::Cell(number) => Value::Cell(number),
            key::Value::Date(days) => Value::Date(days),
        }
    }
}

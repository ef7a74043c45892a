//! Types of the notation that Rust has no word for: ids and times, with their text.
//!
//! Their text is that of the key codec, so that an id in an address, in a log and in a key are the
//! same.

mod id;
mod time;

pub use id::{TimeUuid, Ulid, Uuid};
pub use time::{Date, Timestamp};

use data::{Error, ErrorKind, Result};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{KeyType, Value};
use std::fmt;

/// Writes a value as the key codec does.
fn write(formatter: &mut fmt::Formatter<'_>, value: Value<'_>) -> fmt::Result {
    match scalar_text(&value) {
        Ok(text) => formatter.pad(&text),
        // A value outside what its text can say, such as a time UUID without a time.
        Err(_) => write!(formatter, "{value:?}"),
    }
}

/// Reads a value as the key codec does.
fn read(text: &str, of: KeyType, expected: &'static str) -> Result<Value<'static>> {
    parse_scalar(of, text).map_err(|error| {
        Error::new(ErrorKind::Argument, expected)
            .with("given", text.chars().take(64).collect::<String>())
            .caused_by(error)
    })
}

/// What a value is read from, and what it becomes: for each type of this module.
macro_rules! scalar {
    ($name:ident, $inner:ty, $variant:ident, $member:ident, $expected:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                super::write(formatter, keyspace::key::Value::$variant(self.0))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = data::Error;

            fn from_str(text: &str) -> data::Result<Self> {
                match super::read(text, keyspace::key::KeyType::$variant, $expected)? {
                    keyspace::key::Value::$variant(value) => Ok($name(value)),
                    _ => Err(data::Error::new(data::ErrorKind::Internal, $expected)),
                }
            }
        }

        impl From<$inner> for $name {
            fn from(value: $inner) -> Self {
                $name(value)
            }
        }

        impl From<$name> for data::Value {
            fn from(value: $name) -> Self {
                data::Value::$variant(value.0)
            }
        }

        impl $crate::typed::FromValue for $name {
            const IS_PLAIN: bool = true;

            #[inline]
            fn from_value(value: data::Value) -> data::Result<Self> {
                match value {
                    data::Value::$variant(value) => Ok($name(value)),
                    other => Err($crate::typed::unexpected(stringify!($name), &other)),
                }
            }

            #[inline(always)]
            fn from_segment(key: &mut $crate::typed::SegmentReader<'_>) -> Option<Self> {
                key.$member().map($name)
            }

            #[inline(always)]
            fn from_field(fields: &mut impl $crate::typed::FieldReader) -> Option<Self> {
                fields.$member().map($name)
            }
        }
    };
}

use scalar;

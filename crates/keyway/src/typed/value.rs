//! Values of a row, moved into the members of a struct.

use bytes::Bytes;
use data::record::{FieldReader, RecordReader, ScalarReader};
use data::request::{MemberReader, Record, SegmentReader, Shown};
use data::{Error, ErrorKind, Result, Value};

/// A Rust type that a value of the notation becomes.
pub trait FromValue: Sized {
    /// Whether it is stored as Rust has it, and read without a value in between.
    const IS_PLAIN: bool = false;

    /// The value as this type.
    fn from_value(value: Value) -> Result<Self>;

    /// The next segment of a key as this type, if that is plain and nothing is out of the ordinary
    /// about the segment; otherwise nothing is taken.
    #[inline]
    fn from_segment(key: &mut SegmentReader<'_>) -> Option<Self> {
        let _ = key;
        None
    }

    /// The same of the next field of a record.
    #[inline]
    fn from_field(fields: &mut impl FieldReader) -> Option<Self> {
        let _ = fields;
        None
    }
}

/// Where the members of a row come from, one after the other.
pub trait Members {
    /// What comes where a member does not.
    type Error;

    /// The next member, a segment of the row's key.
    fn segment<T: FromValue>(&mut self) -> std::result::Result<T, Self::Error>;

    /// The next member, a field of the row's record.
    fn field<T: FromValue>(&mut self) -> std::result::Result<T, Self::Error>;

    /// The next member, of a row that shows any.
    fn any<T: FromValue>(&mut self) -> std::result::Result<T, Self::Error>;
}

/// The members of a row in which nothing is out of the ordinary, as of most. Where something is,
/// they end, and the row is made of [`Values`] instead.
#[derive(Debug)]
pub struct Plain<'r, F> {
    key: SegmentReader<'r>,
    fields: F,
}

/// Something about a row is out of the ordinary.
#[derive(Clone, Copy, Debug)]
pub struct NotPlain;

impl<'r> Plain<'r, RecordReader<'r>> {
    /// The members of a row where it lies, if that is short.
    #[inline(always)]
    pub(super) fn short(row: &Shown<'r>) -> Option<Self> {
        let (key, fields) = row.short_readers()?;
        Some(Plain { key, fields })
    }
}

impl<'r> Plain<'r, ScalarReader<'r>> {
    /// The members of a row where it lies, if that is in columns.
    #[inline(always)]
    pub(super) fn in_columns(row: &Shown<'r>) -> Option<Self> {
        let (key, fields) = row.column_readers()?;
        Some(Plain { key, fields })
    }
}

impl<F: FieldReader> Members for Plain<'_, F> {
    type Error = NotPlain;

    #[inline(always)]
    fn segment<T: FromValue>(&mut self) -> std::result::Result<T, NotPlain> {
        match T::IS_PLAIN {
            true => T::from_segment(&mut self.key).ok_or(NotPlain),
            false => self.key.next_value().and_then(T::from_value).map_err(|_| NotPlain),
        }
    }

    #[inline(always)]
    fn field<T: FromValue>(&mut self) -> std::result::Result<T, NotPlain> {
        match T::IS_PLAIN {
            true => T::from_field(&mut self.fields).ok_or(NotPlain),
            false => self.fields.next_value().and_then(T::from_value).map_err(|_| NotPlain),
        }
    }

    fn any<T: FromValue>(&mut self) -> std::result::Result<T, NotPlain> {
        Err(NotPlain)
    }
}

/// The values of a record, in the order of its shape.
#[derive(Debug)]
pub struct Values<'r>(MemberReader<'r>);

impl<'r> Values<'r> {
    /// The values of a record.
    pub(super) fn of(record: &'r Record) -> Result<Self> {
        record.reader().map(Values)
    }

    /// The values of a row where it lies.
    pub(super) fn shown(row: &Shown<'r>) -> Result<Self> {
        row.reader().map(Values)
    }
}

impl Members for Values<'_> {
    type Error = Error;

    fn segment<T: FromValue>(&mut self) -> Result<T> {
        let plain = match &mut self.0 {
            MemberReader::Row(key, _) | MemberReader::InColumns(key, _) => T::from_segment(key),
            MemberReader::Values(_) => None,
        };
        plain.map_or_else(|| self.any(), Ok)
    }

    fn field<T: FromValue>(&mut self) -> Result<T> {
        let plain = match &mut self.0 {
            MemberReader::Row(_, fields) => T::from_field(fields),
            MemberReader::InColumns(_, fields) => T::from_field(fields),
            MemberReader::Values(_) => None,
        };
        plain.map_or_else(|| self.any(), Ok)
    }

    fn any<T: FromValue>(&mut self) -> Result<T> {
        T::from_value(self.0.next_value()?)
    }
}

/// The error of a value that has another type than its member.
#[cold]
pub(crate) fn unexpected(expected: &'static str, found: &Value) -> Error {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::I64(_) => "i64",
        Value::U64(_) => "u64",
        Value::F64(_) => "f64",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::Uuid(_) => "uuid",
        Value::TimeUuid(_) => "timeuuid",
        Value::Ulid(_) => "ulid",
        Value::Timestamp(_) => "timestamp",
        Value::Date(_) => "date",
        Value::Duration(_) => "duration",
        Value::Cell(_) => "cell",
        Value::Path(_) => "path",
        Value::Json(_) => "json",
        Value::List(_) => "list",
    };
    Error::new(ErrorKind::Mismatch, "a stored value has another type than its member")
        .with("expected", expected)
        .with("found", found)
}

/// Types that are one variant of a value.
macro_rules! plain {
    ($($rust:ty, $variant:ident, $name:literal $(, $stored:ident)?;)*) => {
        $(impl FromValue for $rust {
            #[inline]
            fn from_value(value: Value) -> Result<Self> {
                match value {
                    Value::$variant(value) => Ok(value),
                    other => Err(unexpected($name, &other)),
                }
            }

            $(const IS_PLAIN: bool = true;

            #[inline(always)]
            fn from_segment(key: &mut SegmentReader<'_>) -> Option<Self> {
                key.$stored()
            }

            #[inline(always)]
            fn from_field(fields: &mut impl FieldReader) -> Option<Self> {
                fields.$stored()
            }
            )?
        })*
    };
}

plain! {
    bool, Bool, "bool", bool;
    i64, I64, "i64", i64;
    u64, U64, "u64", u64;
    f64, F64, "f64", f64;
    Bytes, Bytes, "bytes";
    serde_json::Value, Json, "json";
}

impl FromValue for String {
    const IS_PLAIN: bool = true;

    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text),
            other => Err(unexpected("text", &other)),
        }
    }

    #[inline(always)]
    fn from_segment(key: &mut SegmentReader<'_>) -> Option<Self> {
        key.text(|text| Ok(text.to_string()))
    }

    #[inline(always)]
    fn from_field(fields: &mut impl FieldReader) -> Option<Self> {
        fields.text(|text| Ok(text.to_string()))
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const IS_PLAIN: bool = T::IS_PLAIN;

    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }

    #[inline(always)]
    fn from_segment(key: &mut SegmentReader<'_>) -> Option<Self> {
        T::from_segment(key).map(Some)
    }

    #[inline(always)]
    fn from_field(fields: &mut impl FieldReader) -> Option<Self> {
        match fields.null() {
            true => Some(None),
            false => T::from_field(fields).map(Some),
        }
    }
}

/// A list; a path is a list of texts.
impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::List(items) => items.into_iter().map(T::from_value).collect(),
            Value::Path(parts) => {
                parts.into_iter().map(|part| T::from_value(Value::Text(part))).collect()
            }
            other => Err(unexpected("list", &other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_what_their_member_is() {
        let some: Option<Vec<String>> = FromValue::from_value(Value::from(vec!["a", "b"])).unwrap();
        assert_eq!(some, Some(vec!["a".to_string(), "b".to_string()]));
        let path = Value::Path(vec!["a".to_string()]);
        assert_eq!(Vec::<String>::from_value(path).unwrap(), ["a"]);
        assert_eq!(Option::<i64>::from_value(Value::Null).unwrap(), None);
    }

    #[test]
    fn another_type_is_a_mismatch() {
        let error = i64::from_value(Value::from("1")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!(error.value("found"), Some("text"));
        assert!(String::from_value(Value::Null).is_err());
    }
}

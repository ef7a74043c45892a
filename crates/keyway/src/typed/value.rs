//! Values of a row, moved into the members of a struct.

use bytes::Bytes;
use data::request::{MemberReader, Record, Shown};
use data::{Error, ErrorKind, Result, Value};

/// A Rust type that a value of the notation becomes.
pub trait FromValue: Sized {
    /// The value as this type.
    fn from_value(value: Value) -> Result<Self>;

    /// The next member as this type, where it needs no value in between. Otherwise nothing is
    /// taken.
    #[inline]
    fn from_stored(members: &mut MemberReader<'_>) -> Result<Option<Self>> {
        let _ = members;
        Ok(None)
    }
}

/// The values of a record, in the order of its shape.
#[derive(Debug)]
pub struct Values<'r>(MemberReader<'r>);

impl<'r> Values<'r> {
    /// The values of a record.
    #[inline]
    pub fn of(record: &'r Record) -> Result<Self> {
        record.reader().map(Values)
    }

    /// The values of a row where it lies.
    #[inline]
    pub fn shown(row: &Shown<'r>) -> Result<Self> {
        row.reader().map(Values)
    }

    /// The next value.
    #[inline]
    pub fn take<T: FromValue>(&mut self) -> Result<T> {
        match T::from_stored(&mut self.0)? {
            Some(value) => Ok(value),
            None => T::from_value(self.0.next_value()?),
        }
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
    ($($rust:ty, $variant:ident, $name:literal $(, $stored:expr)?;)*) => {
        $(impl FromValue for $rust {
            #[inline]
            fn from_value(value: Value) -> Result<Self> {
                match value {
                    Value::$variant(value) => Ok(value),
                    other => Err(unexpected($name, &other)),
                }
            }

            $(#[inline]
            fn from_stored(members: &mut MemberReader<'_>) -> Result<Option<Self>> {
                $stored(members)
            })?
        })*
    };
}

plain! {
    bool, Bool, "bool", MemberReader::bool;
    i64, I64, "i64", MemberReader::i64;
    u64, U64, "u64", MemberReader::u64;
    f64, F64, "f64", MemberReader::f64;
    String, Text, "text", |members: &mut MemberReader<'_>| {
        members.text(|text| Ok(text.to_string()))
    };
    Bytes, Bytes, "bytes";
    serde_json::Value, Json, "json";
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }

    #[inline]
    fn from_stored(members: &mut MemberReader<'_>) -> Result<Option<Self>> {
        Ok(T::from_stored(members)?.map(Some))
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

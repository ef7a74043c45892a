//! The value of one key segment, borrowed from the caller or from a decoded key where it can be.
//!
//! A value must never be changed on its way in or out: no folding, no normalising, no trimming.

use std::borrow::Cow;

use super::KeyType;

/// The value of one key segment.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// No value; only where [`Segment::nullable`](super::Segment::nullable) says so.
    Null,
    /// See [`KeyType::Bool`].
    Bool(bool),
    /// See [`KeyType::I64`].
    I64(i64),
    /// See [`KeyType::U64`].
    U64(u64),
    /// See [`KeyType::F64`].
    F64(f64),
    /// See [`KeyType::Bytes`].
    Bytes(Cow<'a, [u8]>),
    /// See [`KeyType::Text`].
    Text(Cow<'a, str>),
    /// See [`KeyType::Path`].
    Path(Vec<Cow<'a, str>>),
    /// See [`KeyType::Uuid`].
    Uuid([u8; 16]),
    /// See [`KeyType::TimeUuid`]; the bytes in the usual order of a UUID.
    TimeUuid([u8; 16]),
    /// See [`KeyType::Timestamp`].
    Timestamp(i64),
    /// See [`KeyType::Ulid`].
    Ulid([u8; 16]),
    /// See [`KeyType::Cell`].
    Cell(u64),
    /// See [`KeyType::Date`].
    Date(i32),
}

impl<'a> Value<'a> {
    /// A text value that borrows.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// A bytes value that borrows.
    #[must_use]
    pub const fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }

    /// A path value whose elements borrow.
    #[must_use]
    pub fn path(elements: &[&'a str]) -> Self {
        Self::Path(elements.iter().map(|element| Cow::Borrowed(*element)).collect())
    }

    /// The type of this value; null has none.
    #[must_use]
    pub const fn kind(&self) -> Option<KeyType> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => KeyType::Bool,
            Self::I64(_) => KeyType::I64,
            Self::U64(_) => KeyType::U64,
            Self::F64(_) => KeyType::F64,
            Self::Bytes(_) => KeyType::Bytes,
            Self::Text(_) => KeyType::Text,
            Self::Path(_) => KeyType::Path,
            Self::Uuid(_) => KeyType::Uuid,
            Self::TimeUuid(_) => KeyType::TimeUuid,
            Self::Timestamp(_) => KeyType::Timestamp,
            Self::Ulid(_) => KeyType::Ulid,
            Self::Cell(_) => KeyType::Cell,
            Self::Date(_) => KeyType::Date,
        })
    }

    /// The same value, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::I64(value) => Value::I64(value),
            Self::U64(value) => Value::U64(value),
            Self::F64(value) => Value::F64(value),
            Self::Bytes(value) => Value::Bytes(Cow::Owned(value.into_owned())),
            Self::Text(value) => Value::Text(Cow::Owned(value.into_owned())),
            Self::Path(elements) => Value::Path(
                elements.into_iter().map(|element| Cow::Owned(element.into_owned())).collect(),
            ),
            Self::Uuid(value) => Value::Uuid(value),
            Self::TimeUuid(value) => Value::TimeUuid(value),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Ulid(value) => Value::Ulid(value),
            Self::Cell(value) => Value::Cell(value),
            Self::Date(value) => Value::Date(value),
        }
    }
}

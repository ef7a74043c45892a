//! The types of segments, fields, values and arguments, and the defaults they may have.
//!
//! Types say how values are written, compared and sorted; none of them holds a value.

use std::fmt;

/// A type of the notation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// UTF-8 text, compared byte by byte.
    Text,
    /// Raw bytes.
    Bytes,
    /// `true` or `false`.
    Bool,
    /// A signed 64-bit integer.
    I64,
    /// An unsigned 64-bit integer.
    U64,
    /// A 64-bit float.
    F64,
    /// A random UUID.
    Uuid,
    /// A UUID that sorts by the time it holds.
    TimeUuid,
    /// A ULID: sorts by the time it holds.
    Ulid,
    /// An instant, in milliseconds, UTC.
    Timestamp,
    /// A calendar day.
    Date,
    /// One of a few words, compared as text.
    Enum(Vec<String>),
    /// A list of text parts, `text..`: the last segment of a key only.
    Path,
    /// Any JSON value; never in a key.
    Json,
    /// A list; never in a key.
    List(Box<Type>),
    /// A value that may be null; in a key only through an index, where it means no entry.
    Optional(Box<Type>),
    /// A length of time: arguments and expressions only.
    Duration,
}

impl Type {
    /// The type without its `?`.
    pub fn required(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner,
            other => other,
        }
    }

    /// Whether null is one of its values.
    pub fn is_optional(&self) -> bool {
        matches!(self, Type::Optional(_))
    }

    /// Whether values of this type hold an instant, so that their order is an order in time.
    pub fn is_time(&self) -> bool {
        matches!(self.required(), Type::TimeUuid | Type::Ulid | Type::Timestamp | Type::Date)
    }

    /// Whether it is an integer.
    pub fn is_integer(&self) -> bool {
        matches!(self.required(), Type::I64 | Type::U64)
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self.required(), Type::I64 | Type::U64 | Type::F64)
    }

    /// Whether it is free text (an enum is not).
    pub fn is_text(&self) -> bool {
        matches!(self.required(), Type::Text)
    }

    /// Whether it may stand in a key.
    pub fn fits_a_key(&self) -> bool {
        !matches!(self, Type::Json | Type::List(_) | Type::Optional(_) | Type::Duration)
    }

    /// The most bytes a value takes, where the type itself sets a limit.
    pub fn bytes_max(&self) -> Option<u64> {
        match self {
            Type::Bool => Some(1),
            Type::I64 | Type::U64 | Type::F64 | Type::Timestamp | Type::Duration => Some(8),
            Type::Uuid | Type::TimeUuid | Type::Ulid => Some(16),
            Type::Date => Some(4),
            Type::Enum(words) => words.iter().map(|word| word.len() as u64).max(),
            Type::Optional(inner) => inner.bytes_max(),
            Type::Text | Type::Bytes | Type::Path | Type::Json | Type::List(_) => None,
        }
    }

    /// The bytes a usual value takes: what is calculated with where nothing better is declared.
    pub fn bytes_usual(&self) -> u64 {
        match self {
            Type::Text | Type::Bytes => 32,
            Type::Path => 48,
            Type::Json => 256,
            Type::List(inner) => 4 * inner.bytes_usual(),
            Type::Optional(inner) => inner.bytes_usual(),
            other => other.bytes_max().unwrap_or(32),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Type::Text => "text",
            Type::Bytes => "bytes",
            Type::Bool => "bool",
            Type::I64 => "i64",
            Type::U64 => "u64",
            Type::F64 => "f64",
            Type::Uuid => "uuid",
            Type::TimeUuid => "timeuuid",
            Type::Ulid => "ulid",
            Type::Timestamp => "timestamp",
            Type::Date => "date",
            Type::Path => "text..",
            Type::Json => "json",
            Type::Duration => "duration",
            Type::Enum(words) => return formatter.write_str(&words.join("|")),
            Type::List(inner) => return write!(formatter, "[{inner}]"),
            Type::Optional(inner) => return write!(formatter, "{inner}?"),
        };
        formatter.write_str(name)
    }
}

/// What fills a segment or a field that a call does not give.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// A number, as written.
    Number(String),
    /// A text or a word of an enum.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// `[]`.
    EmptyList,
    /// `{}`.
    EmptyObject,
    /// A fresh id, made by `insert`; with a prefix, `prefix_01J…`.
    New(Option<String>),
    /// The instant of the insert or put.
    Now,
    /// The instant of every write.
    Touch,
    /// Whoever calls.
    Caller,
}

impl DefaultValue {
    /// Whether a call may give the value all the same: true of constants only.
    pub fn is_constant(&self) -> bool {
        !matches!(
            self,
            DefaultValue::New(_) | DefaultValue::Now | DefaultValue::Touch | DefaultValue::Caller
        )
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::Number(text) => formatter.write_str(text),
            DefaultValue::Text(text) => write!(formatter, "'{}'", text.replace('\'', "''")),
            DefaultValue::Bool(value) => write!(formatter, "{value}"),
            DefaultValue::EmptyList => formatter.write_str("[]"),
            DefaultValue::EmptyObject => formatter.write_str("{}"),
            DefaultValue::New(None) => formatter.write_str("new"),
            DefaultValue::New(Some(prefix)) => write!(formatter, "new('{prefix}')"),
            DefaultValue::Now => formatter.write_str("now"),
            DefaultValue::Touch => formatter.write_str("touch"),
            DefaultValue::Caller => formatter.write_str("caller"),
        }
    }
}

//! The members of an answered row one after the other, without a value in between where one is
//! stored as Rust has it.
//!
//! ```text
//! key │ segment │ segment …  ─▶ u64(), ulid(), text() …  ─▶ members of a struct
//! record │ field │ field …   ─▶ next_value()             ─▶ anything else
//! ```
//!
//! A method of a type takes the next member only if it is of that type and not null; whoever gets
//! nothing asks for the value, and finds out what else it is.

use super::answer::misplaced;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{RecordReader, read};
use crate::schema::KeyShape;
use crate::value::Value;
use keyspace::key::{KeyReader, KeyType, Segment};
use keyspace::model::Type;

/// Reads the members of a record one after the other, as they are stored where that is possible.
#[derive(Debug)]
pub enum MemberReader<'r> {
    /// A whole row: its key, then its fields.
    Row {
        /// What is left of the key.
        key: KeyReader<'r>,
        /// Its segments that were not read.
        segments: std::slice::Iter<'r, Segment>,
        /// The fields behind it.
        fields: RecordReader<'r>,
    },
    /// Anything else.
    Values(std::vec::IntoIter<Value>),
}

impl<'r> MemberReader<'r> {
    /// The members of a whole row.
    #[inline]
    pub(super) fn of_row(
        key: &'r [u8],
        shape: &'r KeyShape,
        fields: RecordReader<'r>,
    ) -> Result<Self> {
        let key = KeyReader::new(key).map_err(unreadable)?;
        Ok(MemberReader::Row { key, segments: shape.segments.iter(), fields })
    }

    /// The next member. To ask for more than the shape has is an error.
    #[inline]
    pub fn next_value(&mut self) -> Result<Value> {
        match self {
            MemberReader::Row { key, segments, fields } => match segments.next() {
                Some(segment) => Ok(Value::from_segment(key.value(*segment).map_err(unreadable)?)),
                None => fields.next_value(),
            },
            MemberReader::Values(values) => values.next().ok_or_else(misplaced),
        }
    }

    /// The next member, read from its text, if it is a text or a word of an enum.
    #[inline]
    pub fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Result<Option<T>> {
        match self {
            MemberReader::Row { key, segments, fields } => match segments.as_slice() {
                [segment, ..] if is_plain(segment, KeyType::Text) => {
                    segments.next();
                    read_text(&key.text(segment.direction).map_err(unreadable)?).map(Some)
                }
                [_, ..] => Ok(None),
                [] => match fields.next_text()? {
                    Some(text) => read_text(text).map(Some),
                    None => Ok(None),
                },
            },
            MemberReader::Values(_) => Ok(None),
        }
    }
}

/// Methods for the types of which a key and a record hold the same, each read in its own way.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident, $kind:ident, $rust:ty, $payload:path;)*) => {
        impl MemberReader<'_> {
            $($(#[$doc])*
            #[inline]
            pub fn $name(&mut self) -> Result<Option<$rust>> {
                match self {
                    MemberReader::Row { key, segments, fields } => match segments.as_slice() {
                        [segment, ..] if is_plain(segment, KeyType::$kind) => {
                            segments.next();
                            key.$name(segment.direction).map(Some).map_err(unreadable)
                        }
                        [_, ..] => Ok(None),
                        [] => fields.next_plain(|of| matches!(of, Type::$kind), $payload),
                    },
                    MemberReader::Values(_) => Ok(None),
                }
            })*
        }
    };
}

plain! {
    /// The next member, if it is `true` or `false`.
    bool, Bool, bool, read::truth;
    /// The next member, if it is a signed integer.
    i64, I64, i64, read::signed;
    /// The next member, if it is an unsigned integer.
    u64, U64, u64, read::unsigned;
    /// The next member, if it is a float.
    f64, F64, f64, read::float;
    /// The next member, if it is a UUID.
    uuid, Uuid, [u8; 16], read::array;
    /// The next member, if it is a UUID that holds its time.
    time_uuid, TimeUuid, [u8; 16], read::array;
    /// The next member, if it is a ULID.
    ulid, Ulid, [u8; 16], read::array;
    /// The next member, if it is an instant.
    timestamp, Timestamp, i64, read::signed;
    /// The next member, if it is a day.
    date, Date, i32, read::days;
}

#[inline]
fn is_plain(segment: &Segment, kind: KeyType) -> bool {
    segment.kind == kind && !segment.nullable
}

#[cold]
fn unreadable(error: keyspace::key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

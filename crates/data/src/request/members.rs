//! The members of an answered row one after the other, without a value in between where one is
//! stored as Rust has it.
//!
//! ```text
//! key │ segment │ segment …  ─▶ u64(), ulid(), text() …  ─▶ members of a struct, letters of JSON
//! record │ field │ field …   ─▶ next_value()             ─▶ anything else
//! ```
//!
//! A method of a type takes the next segment or field only if it is of that type, not null, and can
//! be read; whoever gets nothing asks for the value, and finds out what else it is. These methods
//! are put into whoever calls them, so that a reader of which nothing else is asked stays in
//! registers.

use super::answer::misplaced;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RecordReader;
use crate::schema::KeyShape;
use crate::value::Value;
use keyspace::key::{KeyReader, KeyType, Segment};

/// Reads the members of an answered row one after the other.
#[derive(Debug)]
pub enum MemberReader<'r> {
    /// A whole row: its key, then its fields.
    Row(SegmentReader<'r>, RecordReader<'r>),
    /// Anything else.
    Values(std::vec::IntoIter<Value>),
}

impl MemberReader<'_> {
    /// The next member. To ask for more than the shape has is an error.
    pub fn next_value(&mut self) -> Result<Value> {
        match self {
            MemberReader::Row(key, fields) => match key.is_read() {
                false => key.next_value(),
                true => fields.next_value(),
            },
            MemberReader::Values(values) => values.next().ok_or_else(misplaced),
        }
    }

    /// The next member, read from its text, if it is a text or a word of an enum.
    #[inline]
    pub fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        match self {
            MemberReader::Row(key, _) if !key.is_read() => key.text(read_text),
            MemberReader::Row(_, fields) => fields.text(read_text),
            MemberReader::Values(_) => None,
        }
    }
}

/// Reads the segments of a key one after the other.
#[derive(Debug)]
pub struct SegmentReader<'r> {
    key: KeyReader<'r>,
    segments: &'r [Segment],
}

impl<'r> SegmentReader<'r> {
    /// The segments of a key.
    #[inline(always)]
    pub(super) fn new(key: &'r [u8], shape: &'r KeyShape) -> Result<Self> {
        let key = KeyReader::new(key).map_err(unreadable)?;
        Ok(SegmentReader { key, segments: &shape.segments })
    }

    /// Whether there is none left.
    #[inline(always)]
    fn is_read(&self) -> bool {
        self.segments.is_empty()
    }

    /// The next segment.
    pub fn next_value(&mut self) -> Result<Value> {
        let (segment, behind) = self.segments.split_first().ok_or_else(misplaced)?;
        self.segments = behind;
        Ok(Value::from_segment(self.key.value(*segment).map_err(unreadable)?))
    }

    /// The next segment, read from its text, if it is one.
    #[inline(always)]
    pub fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        let (segment, behind) = self.segments.split_first()?;
        if !is_plain(segment, KeyType::Text) {
            return None;
        }
        let mut key = self.key.clone();
        let value = read_text(&key.text(segment.direction).ok()?).ok()?;
        (self.key, self.segments) = (key, behind);
        Some(value)
    }
}

/// Methods for the types that a key and a record have in common, each reading the other's way.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident, $kind:ident, $rust:ty;)*) => {
        impl SegmentReader<'_> {
            $($(#[$doc])*
            #[inline(always)]
            pub fn $name(&mut self) -> Option<$rust> {
                let (segment, behind) = self.segments.split_first()?;
                if !is_plain(segment, KeyType::$kind) {
                    return None;
                }
                let mut key = self.key.clone();
                let value = key.$name(segment.direction).ok()?;
                (self.key, self.segments) = (key, behind);
                Some(value)
            })*
        }

        impl MemberReader<'_> {
            $($(#[$doc])*
            #[inline]
            pub fn $name(&mut self) -> Option<$rust> {
                match self {
                    MemberReader::Row(key, _) if !key.is_read() => key.$name(),
                    MemberReader::Row(_, fields) => fields.$name(),
                    MemberReader::Values(_) => None,
                }
            })*
        }
    };
}

plain! {
    /// The next one, if it is `true` or `false`.
    bool, Bool, bool;
    /// The next one, if it is a signed integer.
    i64, I64, i64;
    /// The next one, if it is an unsigned integer.
    u64, U64, u64;
    /// The next one, if it is a float.
    f64, F64, f64;
    /// The next one, if it is a UUID.
    uuid, Uuid, [u8; 16];
    /// The next one, if it is a UUID that holds its time.
    time_uuid, TimeUuid, [u8; 16];
    /// The next one, if it is a ULID.
    ulid, Ulid, [u8; 16];
    /// The next one, if it is an instant.
    timestamp, Timestamp, i64;
    /// The next one, if it is a day.
    date, Date, i32;
}

#[inline(always)]
fn is_plain(segment: &Segment, kind: KeyType) -> bool {
    segment.kind == kind && !segment.nullable
}

#[cold]
fn unreadable(error: keyspace::key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

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
use crate::record::{FieldReader, RecordReader, ScalarReader};
use crate::schema::KeyShape;
use crate::value::Value;
use keyspace::key::{KeyReader, KeyType, Segment};

/// Reads the members of an answered row one after the other.
#[derive(Debug)]
pub enum MemberReader<'r> {
    /// A whole row: its key, then its fields.
    Row(SegmentReader<'r>, RecordReader<'r>),
    /// The same of a row whose fields are in columns.
    InColumns(SegmentReader<'r>, ScalarReader<'r>),
    /// Anything else.
    Values(std::vec::IntoIter<Value>),
}

impl MemberReader<'_> {
    /// The next member. To ask for more than the shape has is an error.
    pub fn next_value(&mut self) -> Result<Value> {
        match self {
            MemberReader::Row(key, _) | MemberReader::InColumns(key, _) if !key.is_read() => {
                key.next_value()
            }
            MemberReader::Row(_, fields) => fields.next_value(),
            MemberReader::InColumns(_, fields) => fields.next_value(),
            MemberReader::Values(values) => values.next().ok_or_else(misplaced),
        }
    }

    /// The next member, read from its text, if it is a text or a word of an enum.
    #[inline]
    pub fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        match self {
            MemberReader::Row(key, _) | MemberReader::InColumns(key, _) if !key.is_read() => {
                key.text(read_text)
            }
            MemberReader::Row(_, fields) => fields.text(read_text),
            MemberReader::InColumns(_, fields) => fields.text(read_text),
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

/// Methods for the types that have a form of their own in a key.
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
            }
            )*
        }
    };
}

plain! {
    /// The next segment, if it is `true` or `false`.
    bool, Bool, bool;
    /// The next segment, if it is a signed integer.
    i64, I64, i64;
    /// The next segment, if it is an unsigned integer.
    u64, U64, u64;
    /// The next segment, if it is a float.
    f64, F64, f64;
    /// The next segment, if it is a UUID.
    uuid, Uuid, [u8; 16];
    /// The next segment, if it is a UUID that holds its time.
    time_uuid, TimeUuid, [u8; 16];
    /// The next segment, if it is a ULID.
    ulid, Ulid, [u8; 16];
    /// The next segment, if it is an instant.
    timestamp, Timestamp, i64;
    /// The next segment, if it is a day.
    date, Date, i32;
}

/// Methods for the types that are written as JSON from where they lie.
macro_rules! either {
    ($($(#[$doc:meta])* $name:ident, $rust:ty;)*) => {
        impl MemberReader<'_> {
            $($(#[$doc])*
            #[inline]
            pub fn $name(&mut self) -> Option<$rust> {
                match self {
                    MemberReader::Row(key, _) | MemberReader::InColumns(key, _)
                        if !key.is_read() =>
                    {
                        key.$name()
                    }
                    MemberReader::Row(_, fields) => fields.$name(),
                    MemberReader::InColumns(_, fields) => fields.$name(),
                    MemberReader::Values(_) => None,
                }
            }
            )*
        }
    };
}

either! {
    /// The next member, if it is an unsigned integer.
    u64, u64;
    /// The next member, if it is a float.
    f64, f64;
    /// The next member, if it is a UUID.
    uuid, [u8; 16];
    /// The next member, if it is a ULID.
    ulid, [u8; 16];
}

#[inline(always)]
fn is_plain(segment: &Segment, kind: KeyType) -> bool {
    segment.kind == kind && !segment.nullable
}

#[cold]
fn unreadable(error: keyspace::key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyspace::key::{self, Direction};

    /// The next segment as its kind's own method reads it.
    fn plainly(reader: &mut SegmentReader<'_>, kind: KeyType) -> Option<Value> {
        Some(match kind {
            KeyType::Bool => Value::Bool(reader.bool()?),
            KeyType::I64 => Value::I64(reader.i64()?),
            KeyType::U64 => Value::U64(reader.u64()?),
            KeyType::F64 => Value::F64(reader.f64()?),
            KeyType::Uuid => Value::Uuid(reader.uuid()?),
            KeyType::TimeUuid => Value::TimeUuid(reader.time_uuid()?),
            KeyType::Ulid => Value::Ulid(reader.ulid()?),
            KeyType::Timestamp => Value::Timestamp(reader.timestamp()?),
            KeyType::Date => Value::Date(reader.date()?),
            KeyType::Text => Value::Text(reader.text(|text| Ok(text.to_string()))?),
            _ => return None,
        })
    }

    #[test]
    fn segments_read_plainly_are_what_was_written_and_others_are_left() {
        let time: [u8; 16] = 0x5a6f_1f00_5b0c_11ec_8d3d_0242_ac13_0003_u128.to_be_bytes();
        let written = [
            (KeyType::Bool, Value::Bool(true)),
            (KeyType::I64, Value::I64(-70_000)),
            (KeyType::U64, Value::U64(u64::MAX)),
            (KeyType::F64, Value::F64(-2.5)),
            (KeyType::Uuid, Value::Uuid([7; 16])),
            (KeyType::TimeUuid, Value::TimeUuid(time)),
            (KeyType::Ulid, Value::Ulid([0xf0; 16])),
            (KeyType::Timestamp, Value::Timestamp(-5)),
            (KeyType::Date, Value::Date(20_000)),
            (KeyType::Text, Value::Text("grüße\0".to_string())),
        ];
        for direction in [Direction::Ascending, Direction::Descending] {
            let segments: Vec<Segment> =
                written.iter().map(|(kind, _)| Segment { direction, ..kind.ascending() }).collect();
            let values: Vec<key::Value<'_>> =
                written.iter().map(|(_, value)| value.as_segment().unwrap()).collect();
            let bytes = key::encode_front(9, &segments, &values).unwrap();
            let key = KeyReader::new(&bytes).unwrap();
            let mut reader = SegmentReader { key, segments: &segments };
            for (kind, value) in &written {
                for (other, _) in written.iter().filter(|(other, _)| other != kind) {
                    assert_eq!(plainly(&mut reader, *other), None, "{other:?} of {kind:?}");
                }
                assert_eq!(plainly(&mut reader, *kind).as_ref(), Some(value), "{direction:?}");
            }
            assert!(reader.is_read());
        }
    }
}

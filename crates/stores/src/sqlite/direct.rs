//! Rows straight from columns to the bytes that cross the waist, and keys straight to columns: no
//! value is made in between, because the reads of a store are little else.
//!
//! ```text
//! columns ─ each checked, as it stands ─▶ payloads of a record, segments of a key
//! ```
//!
//! It answers what the way over values answers, and leaves to it whatever is rare: lists, JSON,
//! paths. Nothing is taken that is not in the form of its column.

use super::error::{failed, foreign};
use super::short;
use super::tables::{Table, bind};
use super::value::{self, Column};
use crate::sql::table::Part;
use bytes::Bytes;
use data::record::Payload;
use data::schema::ContentShape;
use data::store::{CommitId, Key, Row, Version};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyReader, KeyType, KeyWriter, Segment};
use keyspace::layout::sqlite::{NEVER, SqliteType};
use rusqlite::Statement;
use rusqlite::types::ValueRef;

/// Bytes of a key for which room is made before its length is known.
const KEY_BYTES_USUAL: usize = 64;

impl Table {
    /// Binds the segments of a key, from the value with this number on.
    pub(super) fn bind_segments(
        &self,
        statement: &mut Statement<'_>,
        first: usize,
        key: &Key,
    ) -> Result<()> {
        let shape = self.shape.shape();
        let mut reader = KeyReader::new(key.as_ref()).map_err(unreadable)?;
        for (number, segment) in shape.segments.iter().enumerate() {
            let value = reader.value(*segment).map_err(unreadable)?;
            self.bind_key_value(statement, first + number, number, value)?;
        }
        if shape.attempt {
            reader.uuid(key::Direction::Ascending).map_err(unreadable)?;
        }
        reader.finish().map_err(unreadable)
    }

    /// Binds the value of one segment.
    pub(super) fn bind_key_value(
        &self,
        statement: &mut Statement<'_>,
        number: usize,
        segment: usize,
        value: key::Value<'_>,
    ) -> Result<()> {
        let column = self.segment_column(segment)?;
        let put = |statement: &mut Statement<'_>, text: short::Short| {
            statement.raw_bind_parameter(number, text.output()).map_err(failed)
        };
        match (value, &column.native, &column.part) {
            (key::Value::Text(text), SqliteType::Text | SqliteType::Word(_), Part::Segment(_)) => {
                let text = text.as_ref();
                statement.raw_bind_parameter(number, text).map_err(failed)
            }
            (
                key::Value::U64(value) | key::Value::Cell(value),
                SqliteType::Digits,
                Part::Segment(_),
            ) => put(statement, short::digits(value)),
            (key::Value::Ulid(bytes), SqliteType::Ulid, Part::Segment(_)) => {
                put(statement, short::ulid(&bytes))
            }
            (key::Value::Uuid(bytes), SqliteType::Uuid, Part::Segment(_)) => {
                put(statement, short::uuid(&bytes))
            }
            (value, ..) => {
                let value = Value::from_segment(value);
                let sorted = self.shape.sorted(segment, &value)?;
                bind(statement, number, column, sorted.as_ref().unwrap_or(&value))
            }
        }
    }

    /// The column by which a segment sorts.
    fn segment_column(&self, segment: usize) -> Result<&Column> {
        let column = self.shape.segments.get(segment).and_then(|p| self.shape.columns.get(*p));
        column.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a table has fewer columns than its key segments")
        })
    }

    /// The key of a row, whose segments it has first.
    pub(super) fn key(&self, row: &rusqlite::Row<'_>) -> Result<Key> {
        let shape = self.shape.shape();
        let mut bytes = Vec::with_capacity(KEY_BYTES_USUAL);
        let mut writer = KeyWriter::new(&mut bytes, shape.space);
        for (number, segment) in shape.segments.iter().enumerate() {
            let column = self.segment_column(number)?;
            let stored = row.get_ref(number).map_err(failed)?;
            self.write_segment(&mut writer, (column, *segment), stored)?;
        }
        Ok(Key::from(bytes))
    }

    fn write_segment(
        &self,
        writer: &mut KeyWriter<'_>,
        (column, segment): (&Column, Segment),
        stored: ValueRef<'_>,
    ) -> Result<()> {
        let direction = segment.direction;
        let is_foreign = || foreign(&self.shape.name, &column.name);
        let written = match (&column.native, stored, segment.kind) {
            (SqliteType::Text, ValueRef::Text(text), KeyType::Text) => {
                let text = std::str::from_utf8(text).map_err(|_| is_foreign())?;
                writer.text(text, direction)
            }
            (SqliteType::Digits, ValueRef::Text(text), KeyType::U64) => {
                writer.u64(short::digits_of(text).ok_or_else(is_foreign)?, direction)
            }
            (SqliteType::Digits, ValueRef::Text(text), KeyType::Cell) => {
                writer.cell(short::digits_of(text).ok_or_else(is_foreign)?, direction)
            }
            (SqliteType::Ulid, ValueRef::Text(text), KeyType::Ulid) => {
                writer.ulid(&short::ulid_of(text).ok_or_else(is_foreign)?, direction)
            }
            (SqliteType::Uuid, ValueRef::Text(text), KeyType::Uuid) => {
                writer.uuid(&short::uuid_of(text).ok_or_else(is_foreign)?, direction)
            }
            _ => {
                let value = value::read(&self.shape.name, column, stored)?;
                return self.write_value(writer, (column, segment), value);
            }
        };
        written.map_err(Error::from)
    }

    fn write_value(
        &self,
        writer: &mut KeyWriter<'_>,
        (column, segment): (&Column, Segment),
        value: Value,
    ) -> Result<()> {
        let value = match (&column.part, value) {
            (Part::SortKey(_), Value::Bytes(bytes)) => {
                crate::native::key::from_sort_bytes(segment, &bytes)?
            }
            (_, Value::U64(cell)) if segment.kind == KeyType::Cell => key::Value::Cell(cell),
            (_, value) => {
                let segment = value.as_segment().map(key::Value::into_owned);
                segment.ok_or_else(|| {
                    Error::new(ErrorKind::Internal, "a value has no place in a key")
                })?
            }
        };
        writer.value(segment, &value).map_err(Error::from)
    }

    /// The row whose content a statement answers from the column `first` on; nothing where its
    /// values must be known.
    pub(super) fn direct_row(&self, row: &rusqlite::Row<'_>, first: usize) -> Result<Option<Row>> {
        let Some(collection) = self.shape.collection() else {
            let bare = Row { value: Bytes::new(), version: None, expires: None, trail: None };
            return Ok(self.shape.is_bare().then_some(bare));
        };
        let stored = |number: usize| row.get_ref(first + number).map_err(failed);
        let value = match &collection.content {
            ContentShape::Record(shape) => shape.encode_payloads(|slot, field| {
                let column = self.content_column(slot)?;
                self.payload(column, field.field_type.required(), stored(slot)?)
            })?,
            ContentShape::Nothing => Bytes::new(),
            ContentShape::Count | ContentShape::Text | ContentShape::Bytes => {
                let column = self.content_column(0)?;
                match (stored(0)?, &column.native) {
                    (ValueRef::Integer(count), SqliteType::Integer) => {
                        Bytes::copy_from_slice(&count.to_be_bytes())
                    }
                    (ValueRef::Text(text), SqliteType::Text)
                        if std::str::from_utf8(text).is_ok() =>
                    {
                        Bytes::copy_from_slice(text)
                    }
                    (ValueRef::Blob(bytes), SqliteType::Blob) => Bytes::copy_from_slice(bytes),
                    _ => return Err(foreign(&self.shape.name, &column.name)),
                }
            }
            ContentShape::Json => return Ok(None),
        };
        let mut found = Row { value, version: None, expires: None, trail: None };
        for (number, place) in self.shape.content.iter().enumerate() {
            // The end of a row may be a field of it.
            if Some(*place) == self.shape.expires {
                found.expires = self.instant(self.content_column(number)?, stored(number)?)?;
            } else if number >= collection.slots.len() {
                found.version = Some(self.version(self.content_column(number)?, stored(number)?)?);
            }
        }
        Ok(Some(found))
    }

    /// The version and the end of the row that a statement answers.
    pub(super) fn direct_state(&self, row: &rusqlite::Row<'_>) -> Result<Row> {
        let mut found = Row { value: Bytes::new(), version: None, expires: None, trail: None };
        for (number, place) in self.shape.state.iter().enumerate() {
            let Some(column) = self.shape.columns.get(*place) else { continue };
            let stored = row.get_ref(number).map_err(failed)?;
            match column.part {
                Part::Version => found.version = Some(self.version(column, stored)?),
                _ => found.expires = self.instant(column, stored)?,
            }
        }
        Ok(found)
    }

    fn version(&self, column: &Column, stored: ValueRef<'_>) -> Result<Version> {
        let bytes = match stored {
            ValueRef::Text(text) => short::uuid_of(text),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| foreign(&self.shape.name, &column.name))?;
        Ok(CommitId::from_stored(bytes))
    }

    fn instant(&self, column: &Column, stored: ValueRef<'_>) -> Result<Option<i64>> {
        match stored {
            ValueRef::Null if column.optional => Ok(None),
            ValueRef::Text(text) if text == NEVER.as_bytes() => Ok(None),
            ValueRef::Text(text) => match short::timestamp_of(text) {
                Some(at) => Ok(Some(at)),
                None => Err(foreign(&self.shape.name, &column.name)),
            },
            _ => Err(foreign(&self.shape.name, &column.name)),
        }
    }

    fn content_column(&self, number: usize) -> Result<&Column> {
        let column = self.shape.content.get(number).and_then(|p| self.shape.columns.get(*p));
        column.ok_or_else(|| Error::new(ErrorKind::Internal, "a table has too few columns"))
    }

    /// What a column holds, as a record has it; none for null.
    fn payload<'r>(
        &self,
        column: &Column,
        of: &keyspace::model::Type,
        stored: ValueRef<'r>,
    ) -> Result<Option<Payload<'r>>> {
        let found = match (&column.native, stored) {
            (_, ValueRef::Null) if column.optional => return Ok(None),
            (SqliteType::Text, ValueRef::Text(text)) => {
                std::str::from_utf8(text).ok().map(|_| Payload::Borrowed(text))
            }
            (SqliteType::Word(words), ValueRef::Text(text)) => {
                let is_known = words.iter().any(|word| word.as_bytes() == text);
                is_known.then_some(Payload::Borrowed(text))
            }
            (SqliteType::Blob, ValueRef::Blob(bytes)) => Some(Payload::Borrowed(bytes)),
            (SqliteType::Integer, ValueRef::Integer(number)) => {
                Some(Payload::short(number.to_be_bytes()))
            }
            // Zero has one form.
            (SqliteType::Real, ValueRef::Real(number)) if number.is_finite() => {
                Some(Payload::short((number + 0.0).to_be_bytes()))
            }
            (SqliteType::Digits, ValueRef::Text(text)) => {
                short::digits_of(text).map(|number| Payload::short(number.to_be_bytes()))
            }
            (SqliteType::Uuid, ValueRef::Text(text)) => short::uuid_of(text).map(Payload::short),
            (SqliteType::Ulid, ValueRef::Text(text)) => short::ulid_of(text).map(Payload::short),
            (SqliteType::Timestamp, ValueRef::Text(text)) => {
                short::timestamp_of(text).map(|at| Payload::short(at.to_be_bytes()))
            }
            _ => {
                let value = value::read(&self.shape.name, column, stored)?;
                Some(match Payload::of(&value, of)? {
                    Payload::Short(bytes, length) => Payload::Short(bytes, length),
                    Payload::Borrowed(bytes) => Payload::Written(bytes.to_vec()),
                    Payload::Written(bytes) => Payload::Written(bytes),
                })
            }
        };
        match found {
            Some(payload) => Ok(Some(payload)),
            None => Err(foreign(&self.shape.name, &column.name)),
        }
    }
}

fn unreadable(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a key cannot be read").caused_by(error)
}

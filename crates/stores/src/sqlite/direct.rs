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
use crate::sql::shown::State;
use crate::sql::table::Part;
use bytes::Bytes;
use data::record::{Payload, RecordShape, Scalar};
use data::schema::ContentShape;
use data::store::{CommitId, Key, Row, Version, Versions};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyReader, KeyType, KeyWriter, Segment};
use keyspace::layout::sqlite::{NEVER, SqliteType};
use keyspace::model::Type;
use rusqlite::Statement;
use rusqlite::types::ValueRef;

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

    /// Adds the key of a row, which has its segments first: all that are not in `front`, where
    /// `known` are.
    #[inline]
    pub(super) fn write_key(
        &self,
        row: &rusqlite::Row<'_>,
        (front, known): (&[u8], usize),
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let mut writer = KeyWriter::with_front(bytes, front);
        let segments = self.shape.shape().segments.iter().enumerate().skip(known);
        for (number, (place, segment)) in segments.enumerate() {
            let column = self.segment_column(place)?;
            let stored = row.get_ref(number).map_err(failed)?;
            self.write_segment(&mut writer, (column, *segment), stored)?;
        }
        Ok(())
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

    /// Adds the content of a row, which a statement answers from the column `first` on; nothing
    /// where its values must be known.
    #[inline]
    pub(super) fn write_content(
        &self,
        (row, first): (&rusqlite::Row<'_>, usize),
        bytes: &mut Vec<u8>,
        versions: Versions,
    ) -> Result<Option<State>> {
        let Some(collection) = self.shape.collection() else {
            return Ok(self.shape.is_bare().then(State::default));
        };
        let stored = |number: usize| row.get_ref(first + number).map_err(failed);
        match &collection.content {
            ContentShape::Record(shape) => shape.encode_behind(bytes, |slot, field, bytes| {
                let column = self.content_column(slot)?;
                self.write_payload((column, field.field_type.required()), stored(slot)?, bytes)
            })?,
            ContentShape::Nothing => {}
            ContentShape::Count | ContentShape::Text | ContentShape::Bytes => {
                let column = self.content_column(0)?;
                match (stored(0)?, &column.native) {
                    (ValueRef::Integer(count), SqliteType::Integer) => {
                        bytes.extend_from_slice(&count.to_be_bytes());
                    }
                    (ValueRef::Text(text), SqliteType::Text)
                        if std::str::from_utf8(text).is_ok() =>
                    {
                        bytes.extend_from_slice(text);
                    }
                    (ValueRef::Blob(blob), SqliteType::Blob) => bytes.extend_from_slice(blob),
                    _ => return Err(foreign(&self.shape.name, &column.name)),
                }
            }
            ContentShape::Json => return Ok(None),
        }
        self.content_state(row, first, versions).map(Some)
    }

    /// The record whose rows may be shown in their columns.
    pub(super) fn shown_record(&self) -> Option<&RecordShape> {
        match &self.shape.collection()?.content {
            ContentShape::Record(shape) if shape.is_of_scalars() => Some(shape),
            _ => None,
        }
    }

    /// Fills in the fields of such a record, which a statement answers from the column `first` on.
    #[inline]
    pub(super) fn read_scalars<'r>(
        &self,
        (row, first): (&'r rusqlite::Row<'_>, usize),
        fields: &mut [Scalar<'r>],
        versions: Versions,
    ) -> Result<State> {
        for (slot, field) in fields.iter_mut().enumerate() {
            let stored = row.get_ref(first + slot).map_err(failed)?;
            *field = self.scalar(self.content_column(slot)?, stored)?;
        }
        self.content_state(row, first, versions)
    }

    /// The version and the end of a row, whose content a statement answers from `first` on.
    #[inline(always)]
    fn content_state(
        &self,
        row: &rusqlite::Row<'_>,
        first: usize,
        versions: Versions,
    ) -> Result<State> {
        // Nothing is read of most rows that are only looked at.
        if versions == Versions::Unwanted && self.shape.expires.is_none() {
            return Ok(State::default());
        }
        self.read_state(row, first, versions)
    }

    fn read_state(
        &self,
        row: &rusqlite::Row<'_>,
        first: usize,
        versions: Versions,
    ) -> Result<State> {
        let mut state = State::default();
        let read = self.shape.content_read(versions).len();
        for (number, place) in self.shape.stateful.iter().filter(|(number, _)| *number < read) {
            let column = self.content_column(*number)?;
            let stored = row.get_ref(first + *number).map_err(failed)?;
            // The end of a row may be a field of it.
            match Some(*place) == self.shape.expires {
                true => state.expires = self.instant(column, stored)?,
                false => state.version = Some(self.version(column, stored)?),
            }
        }
        Ok(state)
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

    /// What a column holds; put into whoever reads a row, since its reading is little else.
    #[inline(always)]
    fn scalar<'r>(&self, column: &Column, stored: ValueRef<'r>) -> Result<Scalar<'r>> {
        let is_foreign = || foreign(&self.shape.name, &column.name);
        let found = match (&column.native, stored) {
            (SqliteType::Text, ValueRef::Text(text)) => {
                std::str::from_utf8(text).ok().map(Scalar::Text)
            }
            (SqliteType::Real, ValueRef::Real(number)) if number.is_finite() => {
                Some(Scalar::F64(number + 0.0))
            }
            (SqliteType::Digits, ValueRef::Text(text)) => short::digits_of(text).map(Scalar::U64),
            (SqliteType::Uuid, ValueRef::Text(text)) => short::uuid_of(text).map(Scalar::Uuid),
            (SqliteType::Ulid, ValueRef::Text(text)) => short::ulid_of(text).map(Scalar::Ulid),
            (SqliteType::Timestamp, ValueRef::Text(text)) => {
                short::timestamp_of(text).map(Scalar::Timestamp)
            }
            (SqliteType::Word(words), ValueRef::Text(text)) => {
                let known = |word: &&String| word.as_bytes() == text;
                let word = words.iter().find(known).and_then(|_| std::str::from_utf8(text).ok());
                word.map(Scalar::Text)
            }
            (SqliteType::Blob, ValueRef::Blob(blob)) => Some(Scalar::Bytes(blob)),
            _ => return self.other_scalar(column, stored),
        };
        found.ok_or_else(is_foreign)
    }

    /// The same of a column whose value has no shorter way.
    fn other_scalar(&self, column: &Column, stored: ValueRef<'_>) -> Result<Scalar<'static>> {
        Ok(match value::read(&self.shape.name, column, stored)? {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(value),
            Value::I64(number) => Scalar::I64(number),
            Value::Duration(length) => Scalar::Duration(length),
            Value::TimeUuid(id) => Scalar::TimeUuid(id),
            Value::Timestamp(at) => Scalar::Timestamp(at),
            Value::Date(day) => Scalar::Date(day),
            _ => return Err(foreign(&self.shape.name, &column.name)),
        })
    }

    /// Adds what a column holds, as a record has it; false for null.
    #[inline]
    fn write_payload(
        &self,
        (column, of): (&Column, &Type),
        stored: ValueRef<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<bool> {
        if Scalar::has(of) {
            return Ok(self.scalar(column, stored)?.put(bytes));
        }
        let value = value::read(&self.shape.name, column, stored)?;
        if value.is_null() {
            return Ok(false);
        }
        bytes.extend_from_slice(Payload::of(&value, of)?.as_ref());
        Ok(true)
    }
}

fn unreadable(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a key cannot be read").caused_by(error)
}

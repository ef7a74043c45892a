//! Rows straight from the columns of an answer to the bytes that cross the waist: no value is made
//! in between, but where a field is a list or a path.
//!
//! ```text
//! columns ─▶ segments of a key │ fields of a record, as they are written
//! ```

use super::tables::Table;
use super::value::{self, Raw};
use crate::sql::pack::{Pack, ROW_BYTES_USUAL, State};
use crate::sql::table::Part;
use bytes::Bytes;
use data::schema::{CollectionSchema, ContentShape};
use data::store::{Key, Keyed, Range, Row, Version};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::KeyWriter;
use tokio_postgres::Row as Found;

impl Table {
    /// Adds a scanned row that has its segments first, but for those in `front`, where `known` are.
    /// Whatever lies outside of the range is left out; says whether it was added.
    #[inline]
    pub(super) fn pack(
        &self,
        found: &Found,
        (front, known): (&[u8], usize),
        range: &Range,
        pack: &mut Pack,
    ) -> Result<bool> {
        let from = self.shape.segments.len() - known;
        let key = |bytes: &mut Vec<u8>| {
            let start = bytes.len();
            self.write_key(found, (front, known), bytes)?;
            Ok(bytes.get(start..).is_some_and(|key| range.contains(key)))
        };
        pack.add(key, |bytes, key| self.write_whole(found, from, bytes, key))
    }

    /// Adds the content of a row, which begins at the column `from`; its key begins at `key`.
    #[inline]
    pub(super) fn write_whole(
        &self,
        found: &Found,
        from: usize,
        bytes: &mut Vec<u8>,
        key: usize,
    ) -> Result<State> {
        if let Some(direct) = &self.direct {
            return self.write_content(found, (direct, from), bytes);
        }
        if self.shape.is_bare() {
            return Ok(State::default());
        }
        let key = Key::from(bytes.get(key..).unwrap_or_default().to_vec());
        let row = self.row_of_values(&key, found, from)?;
        bytes.extend_from_slice(&row.value);
        Ok(State { version: row.version, expires: row.expires })
    }

    /// The parts of a row with all of its segments: its key, and what it is.
    pub(super) fn keyed(&self, found: &Found) -> Result<Keyed> {
        let mut key = Vec::with_capacity(ROW_BYTES_USUAL);
        let space = self.shape.space.to_be_bytes();
        self.write_key(found, (&space, 0), &mut key)?;
        let key = Key::from(key);
        let row = self.row(&key, found, self.shape.segments.len())?;
        Ok(Keyed { key, row })
    }

    /// A row whose key is known; its content begins at the column `from`.
    pub(super) fn row(&self, key: &Key, found: &Found, from: usize) -> Result<Row> {
        let Some(direct) = &self.direct else { return self.row_of_values(key, found, from) };
        let mut bytes = Vec::with_capacity(ROW_BYTES_USUAL);
        let state = self.write_content(found, (direct, from), &mut bytes)?;
        Ok(state.row(Bytes::from(bytes)))
    }

    fn row_of_values(&self, key: &Key, found: &Found, from: usize) -> Result<Row> {
        let segments = self.shape.shape().decode(key)?;
        let content = self.columns(found, from, &self.shape.content)?;
        self.shape.row_of(&segments, content)
    }

    fn write_key(
        &self,
        found: &Found,
        (front, known): (&[u8], usize),
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let mut writer = KeyWriter::with_front(bytes, front);
        let segments = self.shape.shape().segments.iter().skip(known);
        for (place, segment) in segments.enumerate() {
            let Some(raw) = raw(found, place)? else {
                return Err(Error::new(ErrorKind::Corrupt, "a column of a key is null"));
            };
            value::write_segment(&mut writer, *segment, raw)?;
        }
        Ok(())
    }

    /// Adds the content of a row straight from its columns.
    #[inline]
    fn write_content(
        &self,
        found: &Found,
        (direct, from): (&CollectionSchema, usize),
        bytes: &mut Vec<u8>,
    ) -> Result<State> {
        let one = || match raw(found, from)? {
            Some(raw) => Ok(raw),
            None => Err(Error::new(ErrorKind::Corrupt, "a column has no value")),
        };
        match &direct.content {
            ContentShape::Nothing => {}
            ContentShape::Text => value::write_text(one()?, bytes)?,
            ContentShape::Bytes | ContentShape::Json | ContentShape::Count => {
                bytes.extend_from_slice(one()?);
            }
            ContentShape::Record(shape) => {
                shape.encode_behind(bytes, |slot, field, bytes| {
                    match raw(found, from + slot)? {
                        None => Ok(false),
                        Some(raw) => {
                            value::write_payload(&field.field_type, raw, bytes).map(|()| true)
                        }
                    }
                })?;
            }
        }
        let column = |place: Option<usize>| match place {
            Some(place) => raw(found, from + place),
            None => Ok(None),
        };
        let version = column(self.version)?.map(version).transpose()?;
        Ok(State { version, expires: value::expires(column(self.expires)?)? })
    }

    /// What a check or an addition needs of a row: no more than its version, end and count.
    pub(super) fn peeked(&self, found: &Found, from: usize) -> Result<Row> {
        let raw = |number: usize| raw(found, from + number);
        let version = raw(0)?.map(version).transpose()?;
        let expires = value::expires(raw(1)?)?;
        let value = raw(2)?.map(Bytes::copy_from_slice).unwrap_or_default();
        Ok(Row { value, version, expires, trail: None })
    }

    fn columns(&self, found: &Found, from: usize, places: &[usize]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(places.len());
        for (number, place) in places.iter().enumerate() {
            let Some(column) = self.shape.columns.get(*place) else { continue };
            let raw = raw(found, from + number)?;
            values.push(match column.part {
                Part::Expires => value::expires(raw)?.map_or(Value::Null, Value::Timestamp),
                _ => value::field(&column.value_type, raw)
                    .map_err(|error| error.with("column", &column.name))?,
            });
        }
        Ok(values)
    }
}

#[inline]
pub(super) fn raw(found: &Found, place: usize) -> Result<Option<&[u8]>> {
    let Raw(raw) = found.try_get(place).map_err(|error| {
        Error::new(ErrorKind::Internal, "an answer has too few columns").caused_by(error)
    })?;
    Ok(raw)
}

fn version(raw: &[u8]) -> Result<Version> {
    let bytes = <[u8; 16]>::try_from(raw);
    let bytes = bytes.map_err(|_| Error::new(ErrorKind::Corrupt, "a version is no UUID"))?;
    Ok(Version::from_stored(bytes))
}

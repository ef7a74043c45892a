//! Rows straight from the columns of an answer to the bytes that cross the waist: no value is made
//! in between, but where a field is a list or a path.
//!
//! ```text
//! columns ─▶ segments of a key │ fields of a record, as they are written
//! ```

use super::read::Answer;
use super::tables::Table;
use super::value::{self, Raw};
use crate::sql::shown::{ROW_BYTES_USUAL, Shown, State};
use crate::sql::table::Part;
use bytes::Bytes;
use data::record::{RecordShape, SCALARS_MAX, Scalar};
use data::schema::{CollectionSchema, ContentShape};
use data::store::{InColumns, Key, Keyed, Lying, Range, Row, Scan, Seen, Show, Version, Versions};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::KeyWriter;
use tokio_postgres::Row as Found;

impl Table {
    /// Shows the rows of an answer, which have their segments first, but for those in `front`,
    /// where `known` are. Whatever lies outside of the range is left out. Answers the last key.
    pub(super) fn show(
        &self,
        answer: &Answer,
        (front, known): (&[u8], usize),
        (scan, range): (&Scan, &Range),
        shown: &mut Shown,
        show: &mut Show<'_>,
    ) -> Result<Option<Key>> {
        let from = self.shape.segments.len() - known;
        let record = self.shown_record().filter(|_| shown.in_columns);
        let (mut bytes, mut last) = (Vec::with_capacity(ROW_BYTES_USUAL), Vec::new());
        let sieve = range.sieve();
        for found in &answer.rows {
            bytes.clear();
            self.write_key(found, (front, known), &mut bytes)?;
            last.clone_from(&bytes);
            if !sieve.contains(&bytes) {
                continue;
            }
            let mut fields = [Scalar::Null; SCALARS_MAX];
            let record = record.map(|record| (record, &mut fields));
            let seen = self.seen((found, from), &mut bytes, record, shown.versions)?;
            if !shown.goes_on(show(&seen)?, seen.weight(), scan) {
                break;
            }
        }
        Ok((!last.is_empty()).then(|| Key::from(last)))
    }

    /// The record whose rows may be shown in their columns.
    pub(super) fn shown_record(&self) -> Option<&RecordShape> {
        match &self.direct.as_ref()?.content {
            ContentShape::Record(shape) if shape.is_of_scalars() => Some(shape),
            _ => None,
        }
    }

    /// A row whose key is in `bytes` and whose content begins at the column `from`: in its columns
    /// if it is such a record, else put together behind its key.
    #[inline(always)]
    pub(super) fn seen<'r>(
        &self,
        (found, from): (&'r Found, usize),
        bytes: &'r mut Vec<u8>,
        record: Option<(&'r RecordShape, &'r mut [Scalar<'r>; SCALARS_MAX])>,
        versions: Versions,
    ) -> Result<Seen<'r>> {
        if let Some((record, fields)) = record
            && read_scalars((found, from), record, fields)?
        {
            let State { version, expires } = self.content_state(found, from, versions)?;
            let fields = fields.get(..record.fields.len()).unwrap_or_default();
            let content = Lying::InColumns(InColumns::new(record, fields));
            return Ok(Seen { key: bytes, content, version, expires });
        }
        let key = bytes.len();
        let State { version, expires } = self.write_whole((found, from), bytes, versions)?;
        let (key, content) = bytes.split_at_checked(key).unwrap_or_default();
        Ok(Seen { key, content: Lying::Encoded(content, None), version, expires })
    }

    /// Adds the content of a row to its key, which begins at the column `from`.
    fn write_whole(
        &self,
        (found, from): (&Found, usize),
        bytes: &mut Vec<u8>,
        versions: Versions,
    ) -> Result<State> {
        if let Some(direct) = &self.direct {
            return self.write_content((found, from), direct, bytes, versions);
        }
        if self.shape.is_bare() {
            return Ok(State::default());
        }
        let key = Key::from(bytes.clone());
        let row = self.row_of_values(&key, found, from, versions)?;
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
        let versions = Versions::Wanted;
        let Some(direct) = &self.direct else {
            return self.row_of_values(key, found, from, versions);
        };
        let mut bytes = Vec::with_capacity(ROW_BYTES_USUAL);
        let state = self.write_content((found, from), direct, &mut bytes, versions)?;
        Ok(state.row(Bytes::from(bytes)))
    }

    fn row_of_values(
        &self,
        key: &Key,
        found: &Found,
        from: usize,
        versions: Versions,
    ) -> Result<Row> {
        let segments = self.shape.shape().decode(key)?;
        let content = self.columns(found, from, self.shape.content_read(versions))?;
        self.shape.row_of(&segments, content)
    }

    pub(super) fn write_key(
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
        (found, from): (&Found, usize),
        direct: &CollectionSchema,
        bytes: &mut Vec<u8>,
        versions: Versions,
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
        self.content_state(found, from, versions)
    }

    /// The version and the end of a row, whose content begins at the column `from`.
    #[inline(always)]
    fn content_state(&self, found: &Found, from: usize, versions: Versions) -> Result<State> {
        // Nothing is read of most rows that are only looked at.
        if versions == Versions::Unwanted && self.expires.is_none() {
            return Ok(State::default());
        }
        self.read_state(found, from, versions)
    }

    fn read_state(&self, found: &Found, from: usize, versions: Versions) -> Result<State> {
        let read = self.shape.content_read(versions).len();
        let column = |place: Option<usize>| match place.filter(|place| *place < read) {
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

/// Fills in the fields of a record, which begin at the column `from`; says whether all can be read
/// where they are.
#[inline(always)]
fn read_scalars<'r>(
    (found, from): (&'r Found, usize),
    record: &RecordShape,
    fields: &mut [Scalar<'r>],
) -> Result<bool> {
    for (slot, (field, scalar)) in record.fields.iter().zip(fields).enumerate() {
        let Some(raw) = raw(found, from + slot)? else {
            if field.field_type.is_optional() {
                continue;
            }
            return Err(Error::new(ErrorKind::Corrupt, "a column has no value"));
        };
        match value::scalar(&field.field_type, raw)? {
            Some(read) => *scalar = read,
            None => return Ok(false),
        }
    }
    Ok(true)
}

#[inline(always)]
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

//! What lies under a key, by its columns: the way back from `row`, which tells what they hold.

use super::cells::OrderCell;
use super::row::NIL;
use super::value;
use super::view::{Held as Holds, KeyPart, View};
use crate::sql::content::Of;
use crate::sql::table::Part;
use bytes::Bytes;
use data::clock::Milliseconds;
use data::record::{RecordShape, Scalar};
use data::schema::ContentShape;
use data::store::{CommitId, Held, Key, Row, Total, Trail, Version};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{Direction, KeyWriter};

/// Bytes of a record, and of what orders it, for which room is made before they are known.
const RECORD_BYTES_USUAL: usize = 256;
const KEY_BYTES_USUAL: usize = 48;
/// Bytes of an entry that belongs to a row: its place, its space, its hash, its attempt.
const HELD_BYTES: usize = 2 + 2 + 8 + 16;

/// What lies under a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The row, if it is there.
    pub(super) row: Option<Row>,
    /// The commit that last wrote it, there or gone: by it a conditional write is judged.
    pub(super) version: Option<Version>,
    /// The commits before that, newest first.
    pub(super) previous: Vec<CommitId>,
    /// What the last and each of them has brought a counter to.
    pub(super) sums: Vec<Total>,
}

impl Found {
    /// Whether this commit has written the row, as far as it remembers.
    pub(super) fn remembers(&self, id: CommitId) -> bool {
        self.version == Some(id) || self.previous.contains(&id)
    }

    /// What a commit has brought a counter to.
    pub(super) fn total_of(&self, id: CommitId) -> Option<Total> {
        let mut commits = self.version.iter().chain(&self.previous);
        let place = commits.position(|known| *known == id)?;
        self.sums.get(place).copied()
    }

    /// When what lies there goes by itself.
    pub(super) fn expires(&self) -> Option<Milliseconds> {
        self.row.as_ref().and_then(|row| row.expires)
    }
}

impl View {
    /// What lies under a key by its columns: those that order rows and then the others.
    pub(super) fn found(&self, key: &Key, columns: &[Option<&[u8]>]) -> Result<Found> {
        let column = |place: usize| {
            place.checked_sub(self.table.partition).and_then(|n| columns.get(n).copied()).flatten()
        };
        let held = |place: Option<usize>| place.and_then(column);
        let places = &self.places;
        if !self.table.is_conditional && places.previous.is_none() {
            let row = self.row(key, &column, None, (false, None))?;
            return Ok(Found { row: Some(row), ..Found::default() });
        }
        let version = held(self.table.version).map(id).transpose()?;
        let (given, previous) = self.previous(held(places.previous))?;
        let sums = held(places.sums).map(sums).transpose()?.unwrap_or_default();
        let is_there = match (self.table.is_conditional, self.counts(), self.table.leaves_memory) {
            (false, _, _) => true,
            (true, _, false) => version.is_some(),
            (true, true, true) => self.content.first().and_then(|place| column(*place)).is_some(),
            (true, false, true) => held(places.dead).is_some(),
        };
        let mut found = Found { row: None, version, previous, sums };
        if is_there {
            let dead = held(places.dead) == Some(&[1]);
            let trail = match given {
                true => {
                    let held = held_of([held(places.entries), held(places.claims)])?;
                    Some(Box::new(Trail { previous: found.previous.clone(), dead, held }))
                }
                false => None,
            };
            found.row = Some(self.row(key, &column, found.version, (dead, trail))?);
        }
        Ok(found)
    }

    /// Whether somebody gave a trail, and the commits before.
    fn previous(&self, stored: Option<&[u8]>) -> Result<(bool, Vec<CommitId>)> {
        let keeps = self.places.previous.is_some();
        if !self.has_list() {
            let previous: Vec<CommitId> = stored.map(id).transpose()?.into_iter().collect();
            let is_nil = stored == Some(&NIL);
            return Ok((keeps && !is_nil, if is_nil { Vec::new() } else { previous }));
        }
        let Some(stored) = stored else { return Ok((false, Vec::new())) };
        let parts = value::parts(stored).ok_or_else(|| foreign(self, "_prev"))?;
        let given = parts.first().is_none_or(|first| *first != NIL);
        let all: Result<Vec<CommitId>> =
            parts.into_iter().skip(usize::from(!given)).map(id).collect();
        let versioned = self.collection().is_some_and(|of| of.mode.has_version());
        Ok((given && versioned, all?))
    }

    fn row<'c>(
        &self,
        key: &Key,
        column: &dyn Fn(usize) -> Option<&'c [u8]>,
        version: Option<Version>,
        (dead, trail): (bool, Option<Box<Trail>>),
    ) -> Result<Row> {
        let versioned = match (self.collection(), self.table.leaves_memory) {
            (Some(collection), _) => collection.mode.has_version(),
            (None, is_entry) => !is_entry,
        };
        let expires = self.expires_of(key, column)?;
        let value = match &self.of {
            None => Bytes::new(),
            Some(_) if dead => Bytes::new(),
            Some(of) => match self.record(column)? {
                Some(record) => record,
                None => of.value(&self.shape().decode(key)?, &self.contents_of(column)?)?,
            },
        };
        Ok(Row { value, version: version.filter(|_| versioned), expires, trail })
    }

    /// When a row ends.
    fn expires_of<'c>(
        &self,
        key: &Key,
        column: &dyn Fn(usize) -> Option<&'c [u8]>,
    ) -> Result<Option<Milliseconds>> {
        let Some(place) = self.expires else { return Ok(None) };
        if place >= self.table.key() {
            let end = column(place).map(|bytes| bytes.try_into().map(i64::from_be_bytes));
            return end.transpose().map_err(|_| foreign(self, "_exp"));
        }
        let Some(KeyPart::Segment(number)) = self.parts.get(place) else { return Ok(None) };
        Ok(match self.shape().decode(key)?.get(*number) {
            Some(Value::Timestamp(at)) => Some(*at),
            _ => None,
        })
    }

    /// Adds the content of a row of a table that is written plainly, straight from its columns, and
    /// says when the row ends; nothing if that takes more than its columns.
    pub(super) fn add_plain(
        &self,
        columns: &[Option<&[u8]>],
        row: &mut Vec<u8>,
    ) -> Result<Option<Option<Milliseconds>>> {
        let column = |place: usize| self.column(columns, place);
        if !self.is_plain() || self.of.is_some() && !self.add_record(&column, row)? {
            return Ok(None);
        }
        self.plain_end(columns).map(Some)
    }

    /// Fills in the fields of a row of such a table, and says when the row ends; nothing if that
    /// takes more than its columns.
    pub(super) fn read_scalars<'c>(
        &self,
        columns: &[Option<&'c [u8]>],
        scalars: &mut [Scalar<'c>],
    ) -> Result<Option<Option<Milliseconds>>> {
        for (field, scalar) in self.fields.iter().zip(scalars) {
            *scalar = match columns.get(field.place).copied().flatten() {
                None if field.is_optional => Scalar::Null,
                None => return Ok(None),
                Some(cell) => {
                    value::scalar(&field.of, cell).ok_or_else(|| foreign(self, "of a field"))?
                }
            };
        }
        self.plain_end(columns).map(Some)
    }

    /// The record whose rows may be shown in their columns.
    pub(super) fn shown_record(&self) -> Option<&RecordShape> {
        let is_shown = |shape: &&RecordShape| {
            self.is_plain() && shape.is_of_scalars() && shape.fields.len() == self.fields.len()
        };
        self.direct.as_ref().filter(is_shown)
    }

    /// Whether rows are their columns and nothing else.
    fn is_plain(&self) -> bool {
        let in_key = self.expires.is_some_and(|place| place < self.table.key());
        !(self.table.is_conditional || self.places.previous.is_some() || in_key)
    }

    /// When a row of such a table ends.
    fn plain_end(&self, columns: &[Option<&[u8]>]) -> Result<Option<Milliseconds>> {
        let end = self.expires.and_then(|place| self.column(columns, place));
        let end = end.map(|end| end.try_into().map(i64::from_be_bytes));
        end.transpose().map_err(|_| foreign(self, "_exp"))
    }

    /// A column of an answer, which leaves those of the partition out.
    fn column<'c>(&self, columns: &[Option<&'c [u8]>], place: usize) -> Option<&'c [u8]> {
        columns.get(place.checked_sub(self.table.partition)?).copied().flatten()
    }

    /// A record straight from its columns; nothing if it has lists or paths, or was written before
    /// a field was added.
    fn record<'c>(&self, column: &dyn Fn(usize) -> Option<&'c [u8]>) -> Result<Option<Bytes>> {
        let mut record = Vec::with_capacity(RECORD_BYTES_USUAL);
        let is_made = self.add_record(column, &mut record)?;
        Ok(is_made.then(|| Bytes::from(record)))
    }

    /// Adds a record straight from its columns, and says whether that was possible.
    fn add_record<'c>(
        &self,
        column: &dyn Fn(usize) -> Option<&'c [u8]>,
        record: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(shape) = &self.direct else { return Ok(false) };
        let cell = |slot: usize| self.content.get(slot).and_then(|place| column(*place));
        let mut fields = shape.fields.iter().enumerate();
        if fields.any(|(slot, field)| !field.field_type.is_optional() && cell(slot).is_none()) {
            return Ok(false);
        }
        shape.encode_behind(record, |slot, field, record| match cell(slot) {
            None => Ok(false),
            Some(cell) => value::write_payload(&field.field_type, cell, record)
                .map(|()| true)
                .ok_or_else(|| foreign(self, "of a field")),
        })?;
        Ok(true)
    }

    fn contents_of<'c>(&self, column: &dyn Fn(usize) -> Option<&'c [u8]>) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.content.len());
        for place in &self.content {
            let (Some(named), Some((_, value_type, holds))) = (
                self.table.columns.get(*place),
                self.holds.iter().find(|(known, _, _)| known == place),
            ) else {
                return Err(Error::new(ErrorKind::Internal, "a column is not in its table"));
            };
            values.push(match column(*place) {
                Some(bytes) => value::read(&named.native, value_type, bytes)
                    .ok_or_else(|| foreign(self, &named.name))?,
                None => self.missing(holds),
            });
        }
        Ok(values)
    }

    /// What a row that was written before a column was added answers for it; null for others.
    fn missing(&self, holds: &Holds) -> Value {
        let (Holds::Part(Part::Slot(number) | Part::Kept(number)), Some(of)) = (holds, &self.of)
        else {
            return Value::Null;
        };
        let fields = match of {
            Of::Rows(collection) => match &collection.content {
                ContentShape::Record(record) => Some(&record.fields),
                _ => None,
            },
            Of::Entries { collection, index, .. } => {
                collection.indexes.get(*index).map(|index| &index.keep.fields)
            }
        };
        let field = fields.and_then(|fields| fields.get(*number));
        let field = field.filter(|field| !field.field_type.is_optional());
        field.map_or(Value::Null, |field| field.missing.clone())
    }

    /// The key of a row of one partition by what orders it; `front` is the space and the group.
    pub(super) fn key_of(&self, columns: &[Option<&[u8]>], front: &[u8]) -> Result<Key> {
        let mut bytes = Vec::with_capacity(front.len() + KEY_BYTES_USUAL);
        self.write_key(columns, front, &mut bytes)?;
        Ok(Key::from(bytes))
    }

    /// The same into bytes of which nothing is kept.
    pub(super) fn write_key(
        &self,
        columns: &[Option<&[u8]>],
        front: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let mut writer = KeyWriter::with_front(bytes, front);
        let mut cells = columns.iter();
        for order in &self.order {
            let cell = cells.next().copied().flatten().ok_or_else(|| foreign(self, "key"))?;
            let written = match order {
                OrderCell::Segment(segment, native, of) => {
                    value::write_segment(&mut writer, *segment, (native, of), cell)
                }
                OrderCell::Known => Some(()),
                OrderCell::Slice(every) => cell.try_into().ok().and_then(|start| {
                    let number = i64::from_be_bytes(start).div_euclid(*every);
                    writer.i64(number, Direction::Ascending).ok()
                }),
                OrderCell::Rest => {
                    bytes.extend_from_slice(cell);
                    return Ok(());
                }
            };
            written.ok_or_else(|| foreign(self, "key"))?;
        }
        Ok(())
    }
}
fn id(bytes: &[u8]) -> Result<CommitId> {
    let bytes = <[u8; 16]>::try_from(bytes);
    let bytes = bytes.map_err(|_| Error::new(ErrorKind::Corrupt, "a version is no UUID"))?;
    Ok(CommitId::from_stored(bytes))
}
fn sums(stored: &[u8]) -> Result<Vec<Total>> {
    let unreadable = || Error::new(ErrorKind::Corrupt, "the sums of a counter cannot be read");
    let parts = value::parts(stored).ok_or_else(unreadable)?;
    let numbers = parts.into_iter().map(|part| part.try_into().map(i64::from_be_bytes));
    let numbers: Vec<i64> = numbers.collect::<Result<_, _>>().map_err(|_| unreadable())?;
    let (pairs, _) = numbers.as_chunks::<2>();
    let total = |[value, end]: &[i64; 2]| Total {
        value: *value,
        expires: Some(*end).filter(|end| *end != 0),
    };
    Ok(pairs.iter().map(total).collect())
}
/// All that belongs to a row, in its order.
fn held_of(stored: [Option<&[u8]>; 2]) -> Result<Vec<Held>> {
    let mut all = Vec::new();
    for bytes in stored.into_iter().flatten() {
        let (parts, rest) = bytes.as_chunks::<HELD_BYTES>();
        if !rest.is_empty() {
            return Err(Error::new(ErrorKind::Corrupt, "what belongs to a row cannot be read"));
        }
        for part in parts {
            let (place, rest) = part.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
            let (space, rest) = rest.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
            let (entry, attempt) = rest.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
            let (place, space) = (u16::from_be_bytes(*place), u16::from_be_bytes(*space));
            all.push((place, Held { space, entry: *entry, attempt: id(attempt)? }));
        }
    }
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, held)| held).collect())
}
/// Something that Keyway has not written.
fn foreign(view: &View, column: &str) -> Error {
    Error::new(ErrorKind::Corrupt, "a column holds what Keyway does not write")
        .with("table", &view.table.name)
        .with("column", column)
}

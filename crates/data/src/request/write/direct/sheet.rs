//! The rows of a call that goes the direct way, one behind the other in one buffer, and the batch
//! made of them.
//!
//! ```text
//! buffer │ key │ record │ entry │ entry │ key │ record │ …
//!          └──────┴────────┴───────┴─ slices: of checks, of writes, of the answer
//! ```
//!
//! Writes are in the order of their keys, so that two of one key lie side by side; whoever finds
//! such a pair refuses to make the batch.

use super::super::ends::ends;
use crate::clock::Milliseconds;
use crate::entries::{self, Written};
use crate::evaluate::RecordScope;
use crate::request::answer::{AnswerShape, Changed, Record};
use crate::schema::{CollectionSchema, ContentShape};
use crate::store::{Check, CommitId, Expect, Key, Write, front, limits};
use crate::value::Value;
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Bytes for which room is made before the first row is written.
const ROW_BYTES_EXPECTED: usize = 512;
/// Bytes for which room is made at once, after the first row, for all others.
const ROOM_BYTES_MAX: usize = 256 << 10;

/// Rows on their way into a batch.
pub(super) struct Sheet<'a> {
    collection: &'a CollectionSchema,
    buffer: Vec<u8>,
    rows: Vec<RowAt>,
    entries: Vec<Written>,
    /// How many rows there will be.
    count: usize,
}

/// A row in the buffer.
struct RowAt {
    key: Range<usize>,
    content: ContentAt,
    expires: Option<Milliseconds>,
    /// Its entries.
    entries: Range<usize>,
}

/// The content of a row.
enum ContentAt {
    /// A record, in the buffer.
    Buffer(Range<usize>),
    /// A value, as it is.
    Own(Bytes),
}

/// What is sent, and what is answered.
pub(super) struct Unsent {
    pub checks: Vec<Check>,
    pub writes: Vec<Write>,
    pub made: Vec<Changed>,
    /// The row and the index of each claim, in the order of their checks.
    pub claims: Vec<(usize, usize)>,
}

/// A write, by where it comes from: a row, or an entry of one. Small, because many are sorted.
#[derive(Clone, Copy)]
struct Piece {
    row: u32,
    /// No entry has the last of all numbers.
    entry: u32,
}

impl Piece {
    fn of_row(row: usize) -> Self {
        Piece { row: row as u32, entry: u32::MAX }
    }

    fn of_entry(row: usize, entry: usize) -> Self {
        Piece { row: row as u32, entry: entry as u32 }
    }

    fn row(self) -> usize {
        self.row as usize
    }

    fn entry(self) -> Option<usize> {
        (self.entry != u32::MAX).then_some(self.entry as usize)
    }
}

impl<'a> Sheet<'a> {
    /// A sheet for so many rows of a collection.
    pub(super) fn new(collection: &'a CollectionSchema, count: usize) -> Self {
        Sheet {
            collection,
            buffer: Vec::with_capacity(ROW_BYTES_EXPECTED),
            rows: Vec::with_capacity(count),
            entries: Vec::with_capacity(count * collection.indexes.len()),
            count,
        }
    }

    /// Adds a row; nothing if something is wrong with it.
    pub(super) fn add(
        &mut self,
        segments: &[Cow<'_, Value>],
        slots: &[Cow<'_, Value>],
        now: Milliseconds,
    ) -> Option<()> {
        let collection = self.collection;
        let buffer = &mut self.buffer;
        let start = buffer.len();
        collection.key.append_whole(segments.iter().map(AsRef::as_ref), buffer).ok()?;
        let key = start..buffer.len();
        let content = match &collection.content {
            ContentShape::Record(shape) => {
                let value = |slot: usize| slots.get(slot).map(AsRef::as_ref);
                shape.append(value, buffer).ok()?;
                ContentAt::Buffer(key.end..buffer.len())
            }
            _ => {
                let content = collection.encode_value(slots.first().map(AsRef::as_ref)).ok()?;
                collection.check_size(&content).ok()?;
                ContentAt::Own(content)
            }
        };
        let expires = ends(collection, slots, now).ok()?;
        let record = RecordScope { collection, segments, slots };
        let first = self.entries.len();
        entries::write(&record, buffer, &mut self.entries).ok()?;
        self.rows.push(RowAt { key, content, expires, entries: first..self.entries.len() });
        // What is too large is not written out to its end.
        if buffer.len() as u64 > limits::BATCH_BYTES_MAX {
            return None;
        }
        if self.rows.len() == 1 {
            let room = buffer.len().saturating_mul(self.count);
            buffer.reserve(room.min(ROOM_BYTES_MAX));
        }
        Some(())
    }

    /// The parts of a batch, and the answer; nothing if no batch can hold them.
    pub(super) fn finish(
        mut self,
        shape: &Arc<AnswerShape>,
        id: CommitId,
        expects: bool,
    ) -> Option<Unsent> {
        let order = self.order()?;
        let versioned = self.collection.mode.has_version();
        let version = versioned.then_some(id);
        let buffer = Bytes::from(std::mem::take(&mut self.buffer));
        let mut made = Vec::with_capacity(self.rows.len());
        for row in &mut self.rows {
            let key = Key::new(buffer.slice(row.key.clone()));
            let content = match &mut row.content {
                ContentAt::Buffer(range) => buffer.slice(range.clone()),
                ContentAt::Own(content) => std::mem::take(content),
            };
            let record = Record {
                shape: shape.clone(),
                key: key.clone(),
                content,
                version,
                expires: row.expires,
            };
            made.push(Changed { key, version, row: Some(record), existed: false });
        }
        let mut checks = Vec::with_capacity(if expects { made.len() } else { 0 });
        if expects {
            let absent = |row: &Changed| Check { key: row.key.clone(), expect: Expect::Absent };
            checks.extend(made.iter().map(absent));
        }
        let mut claims = Vec::new();
        let is_claimed = self.collection.indexes.iter().any(|index| index.model.unique);
        for (number, row) in self.rows.iter().enumerate().filter(|_| is_claimed) {
            for entry in self.entries.get(row.entries.clone())?.iter().filter(|e| self.is_claim(e))
            {
                let key = Key::new(buffer.slice(entry.key.clone()));
                checks.push(Check { key, expect: Expect::Absent });
                claims.push((number, entry.index));
            }
        }
        let writes = self.writes(&order, &buffer, &made)?;
        Some(Unsent { checks, writes, made, claims })
    }

    fn writes(&self, order: &[Piece], buffer: &Bytes, made: &[Changed]) -> Option<Vec<Write>> {
        let versioned = self.collection.mode.has_version();
        let mut writes = Vec::with_capacity(order.len());
        for piece in order {
            let row = made.get(piece.row())?.row.as_ref()?;
            let expires = row.expires;
            writes.push(match piece.entry() {
                None => {
                    let (key, value) = (row.key.clone(), row.content.clone());
                    Write::Put { key, value, expires, versioned, trail: None }
                }
                Some(entry) => {
                    let entry = self.entries.get(entry)?;
                    let key = Key::new(buffer.slice(entry.key.clone()));
                    let value = buffer.slice(entry.value.clone());
                    let versioned = versioned && self.is_claim(entry);
                    Write::Put { key, value, expires, versioned, trail: None }
                }
            });
        }
        Some(writes)
    }

    /// All writes in the order of their keys; nothing if two have one key, or if they are more than
    /// a batch holds.
    fn order(&self) -> Option<Vec<Piece>> {
        let mut bytes = 0;
        let mut order = Vec::with_capacity(self.rows.len() + self.entries.len());
        for (number, row) in self.rows.iter().enumerate() {
            bytes += row.key.len() + row.content.length();
            order.push((front(self.bytes(&row.key)), Piece::of_row(number)));
            for (at, entry) in row.entries.clone().zip(self.entries.get(row.entries.clone())?) {
                bytes += entry.key.len() + entry.value.len();
                order.push((front(self.bytes(&entry.key)), Piece::of_entry(number, at)));
            }
        }
        let is_too_much = order.len() as u64 > limits::BATCH_WRITES_MAX
            || self.rows.len() as u64 > limits::BATCH_CHECKS_MAX
            || bytes as u64 > limits::BATCH_BYTES_MAX;
        if is_too_much {
            return None;
        }
        order.sort_unstable_by(|(front, piece), (other_front, other)| {
            front.cmp(other_front).then_with(|| self.key(*piece).cmp(self.key(*other)))
        });
        let is_twice = |[(front, one), (other_front, other)]: &[(u128, Piece); 2]| {
            front == other_front && self.key(*one) == self.key(*other)
        };
        let twice = order.array_windows().any(is_twice);
        (!twice).then(|| order.into_iter().map(|(_, piece)| piece).collect())
    }

    fn key(&self, piece: Piece) -> &[u8] {
        let key = match piece.entry() {
            Some(entry) => self.entries.get(entry).map(|entry| &entry.key),
            None => self.rows.get(piece.row()).map(|row| &row.key),
        };
        key.map(|key| self.bytes(key)).unwrap_or_default()
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.buffer.get(range.clone()).unwrap_or_default()
    }

    fn is_claim(&self, entry: &Written) -> bool {
        self.collection.indexes.get(entry.index).is_some_and(|index| index.model.unique)
    }
}

impl ContentAt {
    fn length(&self) -> usize {
        match self {
            ContentAt::Buffer(range) => range.len(),
            ContentAt::Own(content) => content.len(),
        }
    }
}

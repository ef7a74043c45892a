//! From rows and entries to records: what is still true of them, and whose they are.
//!
//! ```text
//! row                          ─▶ owner? ─▶ record
//! entry that holds the answer  ─▶ owner? ─▶ record
//! other entry ─▶ row it names  ─▶ does it still yield this entry? ─▶ owner? ─▶ record
//! ```
//!
//! Another's row and a missing one are the same nothing here.

use super::still::Still;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::Scope;
use crate::protocol;
use crate::request::answer::{AnswerShape, Record};
use crate::request::inputs::{Inputs, Members};
use crate::request::prepare::Prepared;
use crate::request::segments::caller_value;
use crate::schema::{CollectionSchema, IndexSchema, Source};
use crate::session::Session;
use crate::store::{Key, Keyed, Row};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Atomicity;
use std::sync::{Arc, OnceLock};

/// What turns rows and entries of a pattern into records.
pub(super) struct Finder<'a> {
    prepared: &'a Prepared,
    collection: &'a Arc<CollectionSchema>,
    shape: &'a Arc<AnswerShape>,
    /// Fields that must hold the caller's owner or tenant.
    owners: Vec<(String, Value)>,
}

impl<'a> Finder<'a> {
    /// The finder of a call.
    pub fn new(prepared: &'a Prepared, inputs: &dyn Inputs) -> Result<Self> {
        let collection = prepared.collection()?;
        let mut owners = Vec::new();
        for field in prepared.judged() {
            let Some(slot) = collection.slots.iter().find(|slot| slot.name == *field) else {
                continue;
            };
            let value = caller_value(&collection.model, field, &slot.slot_type, inputs)?;
            owners.extend(value.map(|value| (field.to_string(), value)));
        }
        Ok(Finder { prepared, collection, shape: prepared.shape()?, owners })
    }

    /// The records of rows of the collection, or of entries of the pattern's index, in their order,
    /// without those that are another's or no longer true.
    pub async fn records(
        &self,
        session: &mut Session<'_>,
        found: Vec<Keyed>,
    ) -> Result<Vec<Record>> {
        if self.prepared.index().is_none() && self.owners.is_empty() {
            // In the place of the rows, since a record is no larger.
            return Ok(found.into_iter().map(|row| self.made(row)).collect());
        }
        Ok(self.find(session, found).await?.into_iter().flatten().collect())
    }

    /// The record, or none, of each row of the collection, or entry of the pattern's index.
    pub async fn find(
        &self,
        session: &mut Session<'_>,
        found: Vec<Keyed>,
    ) -> Result<Vec<Option<Record>>> {
        match (self.prepared.index(), &self.shape.covering) {
            (None, _) => found.into_iter().map(|keyed| self.of_row(keyed)).collect(),
            (Some(index), Some(_)) => {
                found.into_iter().map(|keyed| self.of_entry(index, keyed)).collect()
            }
            (Some(index), None) => {
                let rows = self.rows(session, index, &found).await?;
                rows.into_iter().map(|row| self.record(row)).collect()
            }
        }
    }

    fn record(&self, row: Option<Keyed>) -> Result<Option<Record>> {
        row.map_or(Ok(None), |row| self.of_row(row))
    }

    /// A row as a record, if it is the caller's.
    pub fn of_row(&self, row: Keyed) -> Result<Option<Record>> {
        if self.owners.is_empty() {
            return Ok(Some(self.made(row)));
        }
        let members = RowMembers::new(self.collection, &row.key, &row.row.value);
        Ok(self.is_own(&members)?.then(|| self.made(row)))
    }

    /// An entry as a record, if it is the caller's.
    pub fn of_entry(&self, index: &IndexSchema, entry: Keyed) -> Result<Option<Record>> {
        let members = EntryMembers { collection: self.collection, index, entry: &entry };
        Ok(self.is_own(&members)?.then(|| self.made(entry)))
    }

    fn made(&self, keyed: Keyed) -> Record {
        let Keyed { key, row } = keyed;
        // An entry has no version of its own: it may outlive many of its row's.
        let version = self.collection.shown_version(row.version);
        let version = version.filter(|_| self.shape.covering.is_none());
        Record { shape: self.shape.clone(), key, content: row.value, version, expires: row.expires }
    }

    /// Whether it must be judged whose something is.
    pub fn judges(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Whether something is the caller's, as far as that must be judged.
    pub fn is_own(&self, members: &dyn Members) -> Result<bool> {
        for (field, value) in &self.owners {
            if members.member(field)? != *value {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that entries name, where they are there and still have the entry.
    pub async fn rows(
        &self,
        session: &mut Session<'_>,
        index: &IndexSchema,
        found: &[Keyed],
    ) -> Result<Vec<Option<Keyed>>> {
        let apart = session.schema().kind().atomicity() == Atomicity::Group;
        if apart && self.collection.kept.has_version() {
            // Boxed, so that a call on the other stores does not carry its room.
            let of = (&**self.collection, index);
            return Box::pin(protocol::rows_through(session, of, found)).await;
        }
        let owner = |entry: &Keyed| entries::owner(self.collection, index, entry);
        let keys = found.iter().map(owner).collect::<Result<Vec<Key>>>()?;
        let rows = session.get(&keys).await?;
        let check = Still::new(self.collection, index);
        let mut still = Vec::with_capacity(rows.len());
        for (entry, (key, row)) in found.iter().zip(keys.into_iter().zip(rows)) {
            let row = row.map(|row| Keyed { key, row });
            let held = match &row {
                Some(row) => check.has(row, entry)?,
                None => false,
            };
            still.push(row.filter(|row| held && row.row.is_live(session.now)));
        }
        Ok(still)
    }

    /// The record of a counter to which nothing was added.
    pub fn zero(&self, key: Key) -> Record {
        let value = Bytes::copy_from_slice(&0i64.to_be_bytes());
        self.made(Keyed { key, row: Row { value, version: None, expires: None, trail: None } })
    }
}

/// The members of a stored row, each decoded when it is asked for.
pub(in crate::request) struct RowMembers<'a> {
    collection: &'a CollectionSchema,
    key: &'a Key,
    content: &'a Bytes,
    segments: OnceLock<Vec<Value>>,
}

impl<'a> RowMembers<'a> {
    /// The members of a row.
    pub fn new(collection: &'a CollectionSchema, key: &'a Key, content: &'a Bytes) -> Self {
        RowMembers { collection, key, content, segments: OnceLock::new() }
    }

    /// A segment of its key.
    fn segment(&self, position: usize) -> Result<Value> {
        if self.segments.get().is_none() {
            let decoded = self.collection.key.decode(self.key)?;
            let _ = self.segments.set(decoded);
        }
        let value = self.segments.get().and_then(|segments| segments.get(position));
        value.cloned().ok_or_else(|| unknown("segment"))
    }
}

impl Members for RowMembers<'_> {
    fn member(&self, name: &str) -> Result<Value> {
        match (self.collection.slot(name), self.collection.segment(name)) {
            (Some(slot), _) => self.collection.read(self.content, slot),
            (None, Some(position)) => self.segment(position),
            (None, None) => Err(unknown(name)),
        }
    }
}

/// The members an entry holds as they are: in its key, or among what it keeps.
pub(super) struct EntryMembers<'a> {
    /// The collection.
    pub collection: &'a CollectionSchema,
    /// The index.
    pub index: &'a IndexSchema,
    /// The entry.
    pub entry: &'a Keyed,
}

impl Members for EntryMembers<'_> {
    fn member(&self, name: &str) -> Result<Value> {
        let slot = self.collection.slot(name);
        if let Some(kept) = self.index.keep_slots.iter().position(|kept| Some(*kept) == slot) {
            let content = entries::kept(self.index, &self.entry.row)?;
            return self.index.keep.read(&content, kept);
        }
        let source = match (slot, self.collection.segment(name)) {
            (Some(slot), _) => Source::Slot(slot),
            (None, Some(position)) => Source::Segment(position),
            (None, None) => return Err(unknown(name)),
        };
        let position = self.index.sources.iter().position(|known| *known == source);
        let values = self.index.key.decode(&self.entry.key)?;
        position.and_then(|at| values.into_iter().nth(at)).ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Internal, "something has no such member").with("member", name)
}

/// Members as the names of an expression.
pub(super) struct Of<'a, M>(pub &'a M);

impl<M: Members> Scope for Of<'_, M> {
    fn member(&self, name: &str) -> Result<Value> {
        self.0.member(name)
    }
}

//! The state of one row while a call changes it: as it was read, as it is after each step, and what
//! the commit must find.
//!
//! ```text
//! unread ──┐
//! read ────┴─▶ insert, put, update, delete, add, one after the other ─▶ RowChange with its entries
//! ```
//!
//! A row that was read is expected as it was read. One that was not is expected as the caller says
//! (absent for an insert, a given version), or not at all.

use crate::change::{After, Entry, RowChange};
use crate::clock::Milliseconds;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Members;
use crate::schema::CollectionSchema;
use crate::store::{Expect, Key, Row, Version};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Mode;
use std::sync::Arc;

/// A row while a call changes it.
pub(super) struct RowState {
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// Its key.
    pub key: Key,
    /// The segments of its key.
    pub segments: Vec<Value>,
    /// What it is now.
    pub current: Current,
    /// Whether this call writes or removes it.
    pub changed: bool,
    /// Whether a check of this call looked at it.
    pub checked: bool,
    /// Whether it is being read.
    pub wanted: bool,
    /// What lies there, be it expired or a tombstone.
    before: Option<Row>,
    /// What the commit must find, because it was read.
    read: Option<Expect>,
    /// What the commit must find, because the caller says so.
    asked: Option<Expect>,
    was_read: bool,
}

/// What a row is after the steps so far.
pub(super) enum Current {
    /// Not known: it was not read.
    Unknown,
    /// There is none.
    Absent,
    /// It is there.
    Present(Content),
}

/// What a row holds.
#[derive(Clone)]
pub(super) struct Content {
    /// Its values, by slot.
    pub slots: Vec<Value>,
    /// The same as bytes.
    pub bytes: Bytes,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

impl RowState {
    /// A row of which only the key is known.
    pub fn unread(collection: &Arc<CollectionSchema>, key: Key, segments: Vec<Value>) -> Self {
        RowState {
            collection: collection.clone(),
            key,
            segments,
            current: Current::Unknown,
            changed: false,
            checked: false,
            wanted: false,
            before: None,
            read: None,
            asked: None,
            was_read: false,
        }
    }

    /// Takes in what was read. What a step has made of the row meanwhile stays.
    pub fn take_in(&mut self, row: Option<Row>, now: Milliseconds) -> Result<()> {
        let live = row.as_ref().filter(|row| row.is_live(now));
        if matches!(self.current, Current::Unknown) {
            self.current = match live {
                None => Current::Absent,
                Some(row) => Current::Present(Content {
                    slots: self.collection.decode(&row.value)?,
                    bytes: row.value.clone(),
                    expires: row.expires,
                }),
            };
        }
        self.read = Some(match live {
            None => Expect::Absent,
            Some(row) => row.version.map_or(Expect::Present, Expect::Version),
        });
        self.before = row;
        self.was_read = true;
        Ok(())
    }

    /// Whether what is there is known, by reading it or by having written it.
    pub fn is_known(&self) -> bool {
        !matches!(self.current, Current::Unknown)
    }

    /// What lies there, as it was read.
    pub fn before(&self) -> Option<&Row> {
        self.before.as_ref()
    }

    /// Whether it was read.
    pub fn was_read(&self) -> bool {
        self.was_read
    }

    /// What it held when it was read, whatever the steps made of it since; nothing if it was not
    /// there.
    pub fn slots_read(&self) -> Result<Option<Vec<Value>>> {
        match (&self.before, self.read) {
            (None, _) | (_, None | Some(Expect::Absent)) => Ok(None),
            (Some(row), Some(_)) => self.collection.decode(&row.value).map(Some),
        }
    }

    /// What it holds, if it is there.
    pub fn content(&self) -> Option<&Content> {
        match &self.current {
            Current::Present(content) => Some(content),
            _ => None,
        }
    }

    /// What the commit expects of the row, where that was read.
    pub fn read_expect(&self) -> Option<Expect> {
        self.read
    }

    /// Whether what the commit expects is what a caller asked for, and nobody has read.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// The version it had when it was read.
    pub fn version_read(&self) -> Option<Version> {
        match self.read {
            Some(Expect::Version(version)) => Some(version),
            _ => None,
        }
    }

    /// Whether the stored row has this version; of a row that was not read, the commit tells.
    pub fn is_version(&mut self, version: Version) -> bool {
        if self.was_read {
            return self.version_read() == Some(version);
        }
        if self.changed {
            return false;
        }
        self.asked = Some(Expect::Version(version));
        true
    }

    /// The commit must find no row.
    pub fn expect_absent(&mut self) {
        if !self.was_read {
            self.asked = Some(Expect::Absent);
        }
    }

    /// It is now this.
    pub fn set(&mut self, slots: Vec<Value>, expires: Option<Milliseconds>) -> Result<()> {
        let bytes = self.collection.encode(&slots)?;
        self.collection.check_size(&bytes)?;
        self.current = Current::Present(Content { slots, bytes, expires });
        self.changed = true;
        Ok(())
    }

    /// There is no row any more.
    pub fn remove(&mut self) {
        self.current = Current::Absent;
        self.changed = true;
    }

    /// What the commit must do about it; nothing for a row that was only looked at.
    pub fn change(&self) -> Result<Option<RowChange>> {
        if !self.changed {
            return Ok(None);
        }
        let after = self.content();
        let expires = after.and_then(|content| content.expires);
        let expiry_changed = self.before.as_ref().map(|row| row.expires) != Some(expires);
        let gained = match after {
            Some(content) => entries::entries(&self.collection, &self.segments, &content.slots)?,
            None => Vec::new(),
        };
        let (gained, lost) = entries::diff(self.entries_before()?, gained, expiry_changed);
        let conditional = self.collection.mode == Mode::Conditional;
        Ok(Some(RowChange {
            collection: self.collection.clone(),
            key: self.key.clone(),
            expect: self.asked.or(self.read).filter(|_| conditional),
            read: self.was_read,
            before: self.before.clone(),
            after: after.map(|content| After { value: content.bytes.clone(), expires }),
            gained,
            lost,
        }))
    }

    /// The entries of what lies there: an expired row may still have them, a tombstone has none.
    fn entries_before(&self) -> Result<Vec<Entry>> {
        let dead = |row: &&Row| row.trail.as_ref().is_some_and(|trail| trail.dead);
        let slots = match (&self.before, &self.current) {
            (Some(row), _) if !dead(&row) => self.collection.decode(&row.value)?,
            // A row removed unread has entries of its key alone.
            (None, Current::Absent) if !self.was_read => {
                vec![Value::Null; self.collection.slots.len()]
            }
            _ => return Ok(Vec::new()),
        };
        match entries::entries(&self.collection, &self.segments, &slots) {
            // A key of which no entry can be made was never stored.
            Err(error) if error.kind() == ErrorKind::Argument && !self.was_read => Ok(Vec::new()),
            entries => entries,
        }
    }
}

impl Members for RowState {
    fn member(&self, name: &str) -> Result<Value> {
        member(&self.collection, &self.segments, self.content().map(|c| c.slots.as_slice()), name)
    }
}

/// A row by its values.
pub(super) struct RowView<'a> {
    /// Its collection.
    pub collection: &'a CollectionSchema,
    /// The segments of its key.
    pub segments: &'a [Value],
    /// What it holds.
    pub slots: &'a [Value],
}

impl Members for RowView<'_> {
    fn member(&self, name: &str) -> Result<Value> {
        member(self.collection, self.segments, Some(self.slots), name)
    }
}

/// A member of a row: a segment of its key, or a slot where its content is known.
pub(super) fn member(
    collection: &CollectionSchema,
    segments: &[Value],
    slots: Option<&[Value]>,
    name: &str,
) -> Result<Value> {
    let segment = collection.segment(name).and_then(|position| segments.get(position));
    let slot = || collection.slot(name).and_then(|position| slots?.get(position));
    segment.or_else(slot).cloned().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "this is not known of a row before it is committed")
            .with("collection", collection.name())
            .with("member", name)
    })
}

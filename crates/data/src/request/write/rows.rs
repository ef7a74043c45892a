//! The rows of one attempt, each once, and what the commit is to do about them.

use super::row::RowState;
use crate::change::{CounterAdd, RowChange, RowCheck, WriteSet};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::CollectionSchema;
use crate::session::Session;
use crate::store::{CommitId, Key, limits};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// So many rows are compared one by one: that is cheaper than to keep where they are.
const FEW_ROWS: usize = 8;

/// The rows of one attempt.
#[derive(Default)]
pub(super) struct RowSet {
    rows: Vec<RowState>,
    /// Where they are, once they are more than a few.
    places: HashMap<Key, usize>,
}

impl RowSet {
    /// The place of a row: the one it has, or a new one.
    pub fn locate(
        &mut self,
        collection: &Arc<CollectionSchema>,
        key: Key,
        segments: Vec<Value>,
    ) -> usize {
        if let Some(place) = self.find(&key) {
            return place;
        }
        let place = self.rows.len();
        self.rows.push(RowState::unread(collection, key, segments));
        if place >= FEW_ROWS {
            let rows = self.rows.iter().enumerate().skip(self.places.len());
            self.places.extend(rows.map(|(place, row)| (row.key.clone(), place)));
        }
        place
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn find(&self, key: &Key) -> Option<usize> {
        match self.places.is_empty() {
            true => self.rows.iter().position(|row| row.key == *key),
            false => self.places.get(key).copied(),
        }
    }

    /// The row at a place.
    pub fn get(&self, place: usize) -> Result<&RowState> {
        self.rows.get(place).ok_or_else(lost)
    }

    /// The row at a place, to be changed.
    pub fn get_mut(&mut self, place: usize) -> Result<&mut RowState> {
        self.rows.get_mut(place).ok_or_else(lost)
    }

    /// The row with a key, to be changed.
    pub fn find_mut(&mut self, key: &Key) -> Option<&mut RowState> {
        let place = self.find(key)?;
        self.rows.get_mut(place)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &RowState> {
        self.rows.iter()
    }

    /// What is to be committed, and the place of each changed row.
    pub fn write_set(
        &self,
        session: &Session<'_>,
        id: CommitId,
        adds: Vec<CounterAdd>,
    ) -> Result<(WriteSet, Vec<usize>)> {
        let mut set = WriteSet {
            id,
            now: session.now,
            deadline: session.deadline,
            checks: Vec::new(),
            changes: Vec::new(),
            adds,
        };
        let mut places = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            match (row.change()?, row.read_expect()) {
                (Some(change), _) => {
                    set.changes.push(change);
                    places.push(place);
                }
                (None, Some(expect)) if row.checked => set.checks.push(RowCheck {
                    collection: row.collection.clone(),
                    key: row.key.clone(),
                    expect,
                }),
                _ => {}
            }
        }
        let counted = set.adds.iter().any(|add| set.changes.iter().any(|c| c.key == add.key));
        if counted {
            return Err(Error::new(
                ErrorKind::Argument,
                "one batch removes a counter and adds to it: make two calls",
            ));
        }
        check_size(&set)?;
        Ok((set, places))
    }
}

/// Refuses what no batch holds, before anything of it is written.
fn check_size(set: &WriteSet) -> Result<()> {
    let of_change = |change: &RowChange| {
        let value = change.after.as_ref().map_or(0, |after| after.value.len());
        let gained = change.gained.iter().map(|entry| entry.key.bytes().len() + entry.value.len());
        let lost = change.lost.iter().map(|entry| entry.key.bytes().len());
        change.key.bytes().len() + value + gained.chain(lost).sum::<usize>()
    };
    let entries = |change: &RowChange| change.gained.len() + change.lost.len();
    let writes = set.changes.iter().map(|change| 1 + entries(change)).sum::<usize>();
    let bytes = set.changes.iter().map(of_change).sum::<usize>();
    let adds = set.adds.iter().map(|add| add.key.bytes().len() + 8).sum::<usize>();
    let checks = set.checks.len() + set.changes.len();
    let sizes = [
        ("a batch has too many writes", writes + set.adds.len(), limits::BATCH_WRITES_MAX),
        ("a batch has too many checks", checks, limits::BATCH_CHECKS_MAX),
        ("a batch is too large", bytes + adds, limits::BATCH_BYTES_MAX),
    ];
    for (message, given, limit) in sizes {
        if given as u64 > limit {
            return Err(Error::new(ErrorKind::TooLarge, message)
                .with("limit", limit)
                .with("given", given));
        }
    }
    Ok(())
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a row of this call is not among its rows")
}

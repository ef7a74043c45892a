//! A write set on a whole-store atomic store: one batch, whatever it touches.
//!
//! ```text
//! checks, expected rows, claims gained ─▶ checks ┐
//! rows, entries, claims, counters      ─▶ writes ┴─▶ one batch ─▶ verdict
//! ```
//!
//! Never reads: what must be known was read by the verb and is in the set.

use super::{Obstacle, Verdict};
use crate::change::{Entry, RowChange, WriteSet};
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::CollectionSchema;
use crate::session::Session;
use crate::store::{Batch, Check, Conflict, Expect, Found, Key, Outcome, Where, Write};
use std::collections::HashSet;

/// Commits a write set in one batch.
pub(super) async fn commit(session: &mut Session<'_>, set: &WriteSet) -> Result<Verdict> {
    let (batch, origins) = match batch(set)? {
        Ok(ready) => ready,
        Err(obstacle) => return Ok(Verdict::Obstacle(obstacle)),
    };
    Ok(match session.commit(&batch).await? {
        Outcome::Committed { totals } => Verdict::Committed { id: set.id, totals },
        Outcome::Indeterminate { id } => Verdict::Indeterminate { id },
        Outcome::Conflict(conflict) => {
            Verdict::Obstacle(obstacle(set, &batch, &origins, conflict)?)
        }
    })
}

/// What a check behind those of the set stands for.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// What the change with this number expects.
    Row(usize),
    /// A claim that a change gains: the change, and the position of the index.
    Claim(usize, usize),
}

/// The batch of a set, or what stands in its way before it is sent.
fn batch(set: &WriteSet) -> Result<Result<(Batch, Vec<Origin>), Obstacle>> {
    let handed_over = match handed_over(set) {
        Ok(handed_over) => handed_over,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    let mut checks = Vec::with_capacity(set.checks.len() + set.changes.len());
    let mut origins = Vec::with_capacity(set.changes.len());
    for check in &set.checks {
        checks.push(Check { key: check.key.clone(), expect: check.expect });
    }
    for (number, change) in set.changes.iter().enumerate() {
        if let Some(expect) = change.expect {
            checks.push(Check { key: change.key.clone(), expect });
            origins.push(Origin::Row(number));
        }
    }
    for (number, change) in set.changes.iter().enumerate() {
        // Worked out for the first claim that is gained, which is rare where a row was there.
        let mut held: Option<Vec<Entry>> = None;
        for claim in change.gained.iter().filter(|entry| is_claim(change, entry)) {
            if handed_over.contains(&claim.key) {
                continue;
            }
            let held = match &mut held {
                Some(held) => held,
                none => none.insert(held_before(set, change)?),
            };
            if !held.iter().any(|before| before.key == claim.key) {
                checks.push(Check { key: claim.key.clone(), expect: Expect::Absent });
                origins.push(Origin::Claim(number, claim.index));
            }
        }
    }
    let writes = writes(set, &handed_over);
    let batch = Batch { id: set.id, now: set.now, checks, writes, deadline: set.deadline };
    Ok(Ok((batch, origins)))
}

/// Claims that one row of the set loses and another gains; no two rows may gain one.
pub(super) fn handed_over(set: &WriteSet) -> Result<HashSet<&Key>, Obstacle> {
    let mut handed = HashSet::new();
    if set.changes.len() < 2 {
        return Ok(handed);
    }
    let mut gained = HashSet::new();
    for (change, row) in set.changes.iter().enumerate() {
        for claim in row.gained.iter().filter(|entry| is_claim(row, entry)) {
            if !gained.insert(&claim.key) {
                return Err(Obstacle::Taken { change, index: claim.index });
            }
        }
    }
    if gained.is_empty() {
        return Ok(handed);
    }
    for row in set.changes.iter().filter(|row| is_live_before(set, row)) {
        let lost = row.lost.iter().filter(|entry| is_claim(row, entry));
        handed.extend(lost.map(|claim| &claim.key).filter(|key| gained.contains(key)));
    }
    Ok(handed)
}

fn writes(set: &WriteSet, handed_over: &HashSet<&Key>) -> Vec<Write> {
    let entries = |change: &RowChange| change.gained.len() + change.lost.len();
    let count: usize = set.changes.iter().map(|change| 1 + entries(change)).sum();
    let mut writes = Vec::with_capacity(count + set.adds.len());
    for change in &set.changes {
        let versioned = change.collection.mode.has_version();
        let expires = change.after.as_ref().and_then(|after| after.expires);
        let put = |key: &Key, value: &bytes::Bytes, versioned: bool| Write::Put {
            key: key.clone(),
            value: value.clone(),
            expires,
            versioned,
            trail: None,
        };
        writes.push(match &change.after {
            Some(after) => put(&change.key, &after.value, versioned),
            None => Write::Delete { key: change.key.clone() },
        });
        for entry in &change.gained {
            writes.push(put(&entry.key, &entry.value, versioned && is_claim(change, entry)));
        }
        for entry in &change.lost {
            // A claim that ended with its row may be another's by now, and goes by itself.
            let theirs = is_claim(change, entry)
                && (handed_over.contains(&entry.key) || !is_live_before(set, change));
            if !theirs {
                writes.push(Write::Delete { key: entry.key.clone() });
            }
        }
    }
    for add in &set.adds {
        writes.push(Write::Add {
            key: add.key.clone(),
            amount: add.amount,
            expires: add.expires,
            window: add.window,
        });
    }
    writes
}

fn obstacle(
    set: &WriteSet,
    batch: &Batch,
    origins: &[Origin],
    conflict: Conflict,
) -> Result<Obstacle> {
    let unknown = || Error::new(ErrorKind::Internal, "a store named a part that no batch has");
    let found = conflict.found;
    match conflict.at {
        Where::Check(check) if check < set.checks.len() => Ok(Obstacle::Check { check, found }),
        Where::Check(check) => match origins.get(check - set.checks.len()) {
            Some(Origin::Row(change)) => {
                let found = match found {
                    Found::Row(version) => version,
                    _ => None,
                };
                Ok(Obstacle::Row { change: *change, found })
            }
            Some(Origin::Claim(change, index)) => {
                Ok(Obstacle::Taken { change: *change, index: *index })
            }
            None => Err(unknown()),
        },
        Where::Write(write) => {
            let add = write.checked_sub(batch.writes.len().saturating_sub(set.adds.len()));
            add.map(|add| Obstacle::Counter { add, found }).ok_or_else(unknown)
        }
    }
}

/// Whether an entry is a claim of a unique value.
pub(super) fn is_claim(change: &RowChange, entry: &Entry) -> bool {
    change.collection.indexes.get(entry.index).is_some_and(|index| index.model.unique)
}

fn is_live_before(set: &WriteSet, change: &RowChange) -> bool {
    change.before.as_ref().is_some_and(|row| row.is_live(set.now))
}

/// The claims of the row as it was read; none of a row that had ended.
fn held_before(set: &WriteSet, change: &RowChange) -> Result<Vec<Entry>> {
    let Some(before) = change.before.as_ref().filter(|row| row.is_live(set.now)) else {
        return Ok(Vec::new());
    };
    let collection: &CollectionSchema = &change.collection;
    let segments = collection.key.decode(&change.key)?;
    let mut held = entries::entries(collection, &segments, &collection.decode(&before.value)?)?;
    held.retain(|entry| is_claim(change, entry));
    Ok(held)
}

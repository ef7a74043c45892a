//! The log of changes, kept only if the options ask for it.
//!
//! ```text
//! table changes   number of a commit 8 ─▶ time 8 │ id 16 │ keys: length 2, bytes each
//! ```
//!
//! A position is the number of a commit. What is older than was asked for goes with each sweep; the
//! last commit that went is noted among the rows, in the same write. A log that does not reach the
//! store's last commit (it was switched off for a while) begins anew: followers then read all.

use super::error::{damaged, opening, reading};
use super::layout;
use super::tables::{self, Tables};
use bytes::{Buf, BufMut, Bytes};
use data::clock::Milliseconds;
use data::store::{Change, Changes, CommitId, Key, Position};
use data::{Error, ErrorKind, Result};
use fjall::{Keyspace, OwnedWriteBatch, Readable, Snapshot};
use std::time::Duration;

const NAME: &str = "changes";

/// The log.
#[derive(Clone)]
pub(super) struct ChangeLog {
    table: Keyspace,
    rows: Keyspace,
    kept: Milliseconds,
}

/// Commits that are old enough to go.
pub(super) struct Trimmed {
    sequences: Vec<u64>,
    /// Whether more may be.
    pub(super) is_full: bool,
}

impl ChangeLog {
    /// Opens the log of a store whose last commit has this number, or drops it if it is not wanted.
    pub(super) fn open(
        tables: &Tables,
        kept: Option<Duration>,
        sequence: u64,
    ) -> Result<Option<ChangeLog>> {
        let exists = tables.database.keyspace_exists(NAME);
        let is_whole = match exists {
            true => last_of(&tables.table(NAME)?)? == Some(sequence),
            false => false,
        };
        if exists && !(is_whole && kept.is_some()) {
            tables.remove(&tables.table(NAME)?)?;
        }
        let Some(kept) = kept else { return Ok(None) };
        match is_whole {
            true => ChangeLog::of(tables, kept).map(Some),
            false => ChangeLog::begin(tables, kept, sequence).map(Some),
        }
    }

    /// A log that begins after the commit with this number.
    pub(super) fn begin(tables: &Tables, kept: Duration, sequence: u64) -> Result<ChangeLog> {
        let log = ChangeLog::of(tables, kept)?;
        let mut written = tables.database.batch();
        written.insert(&log.rows, layout::TRIMMED, sequence.to_be_bytes());
        // The log reaches the last commit, if only by an entry that names no row.
        written.insert(&log.table, sequence.to_be_bytes(), encode(0, None, &[]));
        written.commit().map_err(opening)?;
        Ok(log)
    }

    fn of(tables: &Tables, kept: Duration) -> Result<ChangeLog> {
        let kept = Milliseconds::try_from(kept.as_millis()).unwrap_or(Milliseconds::MAX);
        let table = tables.table(NAME)?;
        Ok(ChangeLog { table, rows: tables.rows.clone(), kept })
    }

    /// Adds a commit, to be written with it.
    pub(super) fn record(
        &self,
        written: &mut OwnedWriteBatch,
        sequence: u64,
        id: CommitId,
        now: Milliseconds,
        keys: &[Key],
    ) {
        written.insert(&self.table, sequence.to_be_bytes(), encode(now, Some(id), keys));
    }

    /// Commits after a position: one at least if there is one, and more up to so many rows.
    pub(super) fn after(
        &self,
        snapshot: &Snapshot,
        since: Position,
        rows: usize,
    ) -> Result<Changes> {
        let number = |key: &[u8]| {
            let stored = tables::get(snapshot, &self.rows, key)?;
            stored.map_or(Ok(0), |stored| layout::decode_number(&stored))
        };
        let (first, last) = (number(&layout::TRIMMED)?, number(&layout::SEQUENCE)?);
        if since.0 < first || since.0 > last {
            return Err(Error::new(ErrorKind::Mismatch, "the log does not reach this position")
                .with("position", since.0)
                .with("first", first)
                .with("last", last));
        }
        let mut changes = Changes { changes: Vec::new(), next: since };
        let start = since.0.saturating_add(1).to_be_bytes();
        for entry in snapshot.range(&self.table, start..) {
            let (sequence, stored) = entry.into_inner().map_err(reading)?;
            let found = decode(Bytes::from(stored))?;
            if !changes.changes.is_empty() && changes.changes.len() + found.len() > rows {
                break;
            }
            changes.changes.extend(found);
            changes.next = Position(layout::decode_number(&sequence)?);
        }
        Ok(changes)
    }

    /// Commits that are older than was asked for, at most so many; never the last one.
    pub(super) fn old(
        &self,
        snapshot: &Snapshot,
        now: Milliseconds,
        commits: usize,
        last: u64,
    ) -> Result<Trimmed> {
        let number = tables::get(snapshot, &self.rows, &layout::TRIMMED)?;
        let first = number.map_or(Ok(0), |stored| layout::decode_number(&stored))?;
        let mut trimmed = Trimmed { sequences: Vec::new(), is_full: false };
        // From the mark on, because the engine would pass over every entry that went before.
        for entry in snapshot.range(&self.table, first.to_be_bytes()..last.to_be_bytes()) {
            let (sequence, stored) = entry.into_inner().map_err(reading)?;
            let mut stored: &[u8] = &stored;
            let time = stored.try_get_i64().map_err(|_| damaged("change"))?;
            if time.saturating_add(self.kept) > now {
                break;
            }
            trimmed.sequences.push(layout::decode_number(&sequence)?);
            if trimmed.sequences.len() >= commits {
                trimmed.is_full = true;
                break;
            }
        }
        Ok(trimmed)
    }

    /// Lets commits go, with a write.
    pub(super) fn trim(&self, written: &mut OwnedWriteBatch, trimmed: &Trimmed) {
        for sequence in &trimmed.sequences {
            written.remove(&self.table, sequence.to_be_bytes());
        }
        if let Some(last) = trimmed.sequences.last() {
            written.insert(&self.rows, layout::TRIMMED, last.to_be_bytes());
        }
    }
}

fn last_of(table: &Keyspace) -> Result<Option<u64>> {
    let Some(entry) = table.last_key_value() else { return Ok(None) };
    let sequence = entry.key().map_err(reading)?;
    layout::decode_number(&sequence).map(Some)
}

fn encode(now: Milliseconds, id: Option<CommitId>, keys: &[Key]) -> Vec<u8> {
    let bytes: usize = keys.iter().map(|key| 2 + key.bytes().len()).sum();
    let mut stored = Vec::with_capacity(24 + bytes);
    stored.put_i64(now);
    stored.extend_from_slice(id.as_ref().map_or(&[0; 16], |id| id.as_bytes()));
    for key in keys {
        // No key passes the door that is longer than this can say.
        stored.put_u16(u16::try_from(key.bytes().len()).unwrap_or(u16::MAX));
        stored.extend_from_slice(key.as_ref());
    }
    stored
}

fn decode(mut stored: Bytes) -> Result<Vec<Change>> {
    let broken = || damaged("change");
    stored.try_get_i64().map_err(|_| broken())?;
    let mut id = [0; 16];
    stored.try_copy_to_slice(&mut id).map_err(|_| broken())?;
    let id = CommitId::from_stored(id);
    let mut changes = Vec::new();
    while stored.has_remaining() {
        let length = usize::from(stored.try_get_u16().map_err(|_| broken())?);
        if length > stored.remaining() {
            return Err(broken());
        }
        changes.push(Change { id, key: Key::new(stored.split_to(length)) });
    }
    Ok(changes)
}

//! A row that changes, as it lies there: what must be written before it, with it and after it.
//!
//! ```text
//! change + P as read ─▶ claims and entries to write before P
//!                    ─▶ P: content, version, what it holds
//!                    ─▶ entries and claims to remove, claims to write anew, after P
//! ```
//!
//! Pure: nothing is read or written here.

use super::ids::{derived, entry_hash, is_about, version_bytes, with_attempt};
use super::{DEAD_KEPT, Rules, plain};
use crate::change::{Entry, RowChange, WriteSet};
use crate::clock::Milliseconds;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::whole::is_claim;
use crate::store::{CommitId, Held, Key, Row, Trail, Version, Write};
use bytes::Bytes;

/// A row that changes.
#[derive(Debug)]
pub(super) struct Target<'s> {
    /// What the verb wants.
    pub change: &'s RowChange,
    /// The row as it lies there, be it expired or dead; nothing of rows without versions.
    pub row: Option<Row>,
    /// Entries to write before it.
    pub enter: Vec<Write>,
    /// Claims to write before it.
    pub claim: Vec<Claiming<'s>>,
    /// What it holds afterwards.
    held: Vec<Held>,
    /// Entries to remove after it, by their exact keys.
    pub remove: Vec<Key>,
    /// Claims to remove after it, each if it is still this attempt's.
    pub release: Vec<(Key, CommitId)>,
    /// Whether the removal of a row that is not there is noted: the call may be made once more, and
    /// must not remove what another has put since.
    pub notes_nothing: bool,
    /// Claims to write anew after it: it keeps them, and their content or end changes.
    pub renew: Vec<Claiming<'s>>,
}

/// A claim to write.
#[derive(Debug)]
pub(super) struct Claiming<'s> {
    /// The claim.
    pub entry: &'s Entry,
    /// The attempt that writes it.
    pub attempt: CommitId,
    /// The attempt that wrote the one its row holds; nothing if the row does not hold it yet.
    pub before: Option<CommitId>,
}

impl<'s> Target<'s> {
    /// A row of a collection without versions.
    pub(super) fn plain(change: &'s RowChange) -> Self {
        let mut target = Target::empty(change, None);
        target.enter = plain::entered(change).collect();
        target.remove = change.lost.iter().map(|entry| entry.key.clone()).collect();
        target
    }

    /// A row of a collection with versions, as it was read by this run of the set.
    pub(super) fn new(
        set: &WriteSet,
        run: &[u8],
        change: &'s RowChange,
        row: Option<Row>,
    ) -> Result<Self> {
        let stored = Stored::of(set.now, change, row.as_ref())?;
        let mut target = Target::empty(change, row);
        if stored.is_live {
            target.held.clone_from(&stored.held);
        }
        for entry in &change.gained {
            target.gain((set.id, run), entry, &stored)?;
        }
        for entry in &change.lost {
            target.lose(entry, &stored)?;
        }
        for entry in &stored.leaving {
            target.lose(entry, &stored)?;
        }
        if change.after.is_none() {
            target.held.clear();
        }
        Ok(target)
    }

    fn empty(change: &'s RowChange, row: Option<Row>) -> Self {
        Target {
            change,
            row,
            enter: Vec::new(),
            claim: Vec::new(),
            held: Vec::new(),
            remove: Vec::new(),
            release: Vec::new(),
            notes_nothing: false,
            renew: Vec::new(),
        }
    }

    /// Whether it is this run that has written a row of the set's version.
    pub(super) fn has_written(&self, row: &Row) -> bool {
        row.trail.as_ref().is_some_and(|trail| trail.held == self.held)
    }

    /// Whether the row has versions.
    pub(super) fn is_versioned(&self) -> bool {
        self.change.collection.kept.has_version()
    }

    /// The version that lies there.
    pub(super) fn version(&self) -> Option<Version> {
        self.row.as_ref().and_then(|row| row.version)
    }

    fn gain(
        &mut self,
        (id, run): (CommitId, &[u8]),
        entry: &'s Entry,
        stored: &Stored,
    ) -> Result<()> {
        let space = entry.key.space();
        let before = stored.attempt(entry);
        if before.is_some() && !stored.changes(entry, self.change) {
            return Ok(());
        }
        let version = self.version();
        let parts = [run, version_bytes(version.as_ref()), entry.key.as_ref()];
        let attempt = derived(id, "attempt", &parts);
        self.held.retain(|held| !is_about(held, space, entry.key.as_ref()));
        self.held.push(Held { space, entry: entry_hash(entry.key.as_ref()), attempt });
        if is_claim(self.change, entry) {
            let claiming = Claiming { entry, attempt, before };
            match before.is_some() && !stored.extends(self.change) {
                true => self.renew.push(claiming),
                false => self.claim.push(claiming),
            }
            return Ok(());
        }
        if let Some(before) = before {
            self.remove.push(with_attempt(&entry.key, &before)?);
        }
        let key = with_attempt(&entry.key, &attempt)?;
        self.enter.push(put(self.change, key, &entry.value, version, false));
        Ok(())
    }

    fn lose(&mut self, entry: &Entry, stored: &Stored) -> Result<()> {
        let Some(attempt) = stored.attempt(entry) else { return Ok(()) };
        self.held.retain(|held| !is_about(held, entry.key.space(), entry.key.as_ref()));
        match is_claim(self.change, entry) {
            true => self.release.push((entry.key.clone(), attempt)),
            false => self.remove.push(with_attempt(&entry.key, &attempt)?),
        }
        Ok(())
    }

    /// Whether the row tells afterwards what became of the attempt.
    pub(super) fn is_compared(&self) -> bool {
        self.is_versioned() && (self.change.after.is_some() || self.leaves_dead())
    }

    /// Whether a row that is removed leaves a dead one.
    fn leaves_dead(&self) -> bool {
        self.notes_nothing || !self.row.as_ref().is_none_or(is_dead)
    }

    /// What is written of the row itself; nothing where there is nothing to remove.
    pub(super) fn write(&self, set: &WriteSet, rules: Rules) -> Option<Write> {
        if !self.is_versioned() {
            return Some(plain::row(self.change));
        }
        let key = self.change.key.clone();
        let previous = previous(self.row.as_ref());
        match &self.change.after {
            Some(after) => Some(Write::Put {
                key,
                value: after.value.clone(),
                expires: after.expires,
                versioned: true,
                trail: Some(Box::new(Trail { previous, dead: false, held: self.held.clone() })),
            }),
            None if !self.leaves_dead() => None,
            None if !rules.leaves_dead => Some(Write::Delete { key }),
            None => Some(dead(key, set.now, previous)),
        }
    }

    /// A claim as it is written.
    pub(super) fn claim(&self, claiming: &Claiming<'_>) -> Write {
        let entry = claiming.entry;
        put(self.change, entry.key.clone(), &entry.value, self.version(), true)
    }
}

/// What lies there of a row, as far as entries go.
struct Stored {
    /// Whether it is there for readers.
    is_live: bool,
    /// When it ends.
    expires: Option<Milliseconds>,
    /// What it holds.
    held: Vec<Held>,
    /// Its entries, where the verb has not compared them with the new ones.
    entries: Option<Vec<Entry>>,
    /// Those of them that the row neither gains nor keeps.
    leaving: Vec<Entry>,
}

impl Stored {
    fn of(now: Milliseconds, change: &RowChange, row: Option<&Row>) -> Result<Self> {
        let nothing = Stored {
            is_live: false,
            expires: None,
            held: Vec::new(),
            entries: None,
            leaving: Vec::new(),
        };
        let Some(row) = row else { return Ok(nothing) };
        if row.version.is_none() {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "a row of a collection with versions has none",
            )
            .with("collection", change.collection.name()));
        }
        let held = row.trail.as_ref().map(|trail| trail.held.clone()).unwrap_or_default();
        let is_live = row.is_live(now);
        let mut stored = Stored { is_live, expires: row.expires, held, ..nothing };
        let compared = change.before.is_some() && change.after.is_some();
        let named = |held: &Held| {
            let mut known = change.lost.iter();
            known.any(|entry| is_about(held, entry.key.space(), entry.key.as_ref()))
        };
        // The verb has not seen the row, or not said of everything that it goes with it.
        if stored.is_live && !compared && !stored.held.iter().all(named) {
            let collection = &change.collection;
            let segments = collection.key.decode(&change.key)?;
            let all = entries::entries(collection, &segments, &collection.decode(&row.value)?)?;
            let stays = |entry: &&Entry| {
                let mut named = change.gained.iter().chain(&change.lost);
                !named.any(|other| other.key == entry.key)
            };
            stored.leaving = all.iter().filter(stays).cloned().collect();
            stored.entries = Some(all);
        }
        Ok(stored)
    }

    /// The attempt that wrote an entry the row holds.
    fn attempt(&self, entry: &Entry) -> Option<CommitId> {
        let mut held = self.held.iter();
        let held = held.find(|held| is_about(held, entry.key.space(), entry.key.as_ref()));
        held.map(|held| held.attempt)
    }

    /// Whether an entry that the row holds must be written anew.
    fn changes(&self, entry: &Entry, change: &RowChange) -> bool {
        if !self.is_live || self.expires != ends(change) {
            return true;
        }
        // Where the verb has compared, whatever is gained has changed.
        let Some(entries) = &self.entries else { return true };
        !entries.iter().any(|known| known.key == entry.key && known.value == entry.value)
    }

    /// Whether the row will end later than the claims it holds.
    fn extends(&self, change: &RowChange) -> bool {
        let ends = ends(change).unwrap_or(Milliseconds::MAX);
        !self.is_live || self.expires.is_some_and(|expires| expires < ends)
    }
}

fn ends(change: &RowChange) -> Option<Milliseconds> {
    change.after.as_ref().and_then(|after| after.expires)
}

fn is_dead(row: &Row) -> bool {
    row.trail.as_ref().is_some_and(|trail| trail.dead)
}

fn put(
    change: &RowChange,
    key: Key,
    value: &Bytes,
    expected: Option<Version>,
    versioned: bool,
) -> Write {
    let previous = expected.into_iter().collect();
    Write::Put {
        key,
        value: value.clone(),
        expires: ends(change),
        versioned,
        trail: Some(Box::new(Trail { previous, ..Trail::default() })),
    }
}

/// The commits before the next one, newest first.
pub(super) fn previous(row: Option<&Row>) -> Vec<CommitId> {
    let Some(row) = row else { return Vec::new() };
    let earlier = row.trail.iter().flat_map(|trail| trail.previous.iter().copied());
    row.version.into_iter().chain(earlier).take(Trail::PREVIOUS_MAX).collect()
}

/// A row that is there no more, but still has a version.
pub(super) fn dead(key: Key, now: Milliseconds, previous: Vec<CommitId>) -> Write {
    Write::Put {
        key,
        value: Bytes::new(),
        expires: Some(now.saturating_add(DEAD_KEPT)),
        versioned: true,
        trail: Some(Box::new(Trail { previous, dead: true, held: Vec::new() })),
    }
}

//! Commits: a group of batches is judged in order, written as one, and then seen.
//!
//! ```text
//! batches ─judge, each seeing the ones before it─▶ group ─▶ one write of the engine ─▶ publish
//!            └─ known id: its outcome again    journal, and the sync if it is declared ─┘   │
//!            └─ conflict: nothing of it                                          answers ◀──┘
//! ```
//!
//! One caller at a time. Nothing is seen, by a read or by an answer, before it is as durable as was
//! declared: the engine applies a batch after it has handed over or synced the journal, and readers
//! see it once it is applied. After a write that failed, nothing is written any more.

use super::changes::ChangeLog;
use super::error::{no_trails, poisoned, reading};
use super::layout;
use super::outcome::Outcomes;
use super::tables::{Published, Tables};
use super::witness::Witness;
use data::clock::Milliseconds;
use data::store::judge::{Made, Touch, Weighed, counter_row, weigh};
use data::store::{Batch, CommitId, Durability, Hold, Key, Outcome, Row, Total};
use data::{Error, ErrorKind, Result};
use fjall::{OwnedWriteBatch, PersistMode};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows so few that their order does not matter.
const FEW_ROWS: usize = 16;

/// Whoever may commit.
pub(super) struct Committer {
    pub(super) tables: Tables,
    pub(super) published: Arc<Published>,
    pub(super) outcomes: Outcomes,
    pub(super) changes: Option<ChangeLog>,
    pub(super) witness: Witness,
    pub(super) durability: Durability,
    /// The number of the last commit.
    pub(super) sequence: u64,
    /// The number of the last commit that is written down; none since the store was opened.
    pub(super) numbered: Option<u64>,
    /// No row ends before this instant.
    pub(super) watermark: Milliseconds,
    /// A write failed.
    pub(super) is_poisoned: bool,
    /// Whether writes are taken.
    pub(super) hold: Hold,
    /// Lets the next write fail, as a disk would.
    #[cfg(test)]
    pub(super) fault: Option<Fault>,
}

/// Where a test lets a write fail.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing reaches the journal.
    Before,
    /// The journal has it, and the sync fails.
    After,
}

/// A batch as it was sent.
#[derive(Clone, Copy)]
pub(super) struct Sent<'b> {
    pub(super) batch: &'b Batch,
    /// Whether its id was made for it, so that no outcome of it can be there.
    pub(super) is_new: bool,
}

/// What the batches of one group come to together.
#[derive(Default)]
struct Group<'b> {
    /// What the first batch changes, each row once; looked up only if another one follows.
    first: Vec<Touch<'b>>,
    rows: HashMap<&'b Key, Made<'b>>,
    /// The ends that rows had before, where they were read.
    ends: HashMap<Key, Milliseconds>,
    commits: Vec<Commit>,
}

impl<'b> Group<'b> {
    /// Adds what a batch changes.
    fn add(&mut self, touched: Vec<Touch<'b>>) {
        match self.commits.is_empty() {
            true => self.first = touched,
            false => self.rows.extend(touched),
        }
    }

    /// Lets the first batch be looked up, because another one follows.
    fn follow(&mut self) {
        if !self.first.is_empty() {
            self.rows.extend(std::mem::take(&mut self.first));
        }
    }
}

/// One batch of a group that is to be committed.
struct Commit {
    id: CommitId,
    now: Milliseconds,
    totals: Vec<Total>,
    keys: Vec<Key>,
}

/// Why a group was not written.
struct Failure {
    kind: ErrorKind,
    /// Whether something of it may have been.
    is_unknown: bool,
}

/// An answer, and whether it is true only if the group is written.
struct Answer {
    id: CommitId,
    outcome: Result<Outcome>,
    is_pending: bool,
}

impl Committer {
    /// Commits batches in order, all with one write.
    pub(super) fn commit<'b>(
        &mut self,
        batches: impl IntoIterator<Item = Sent<'b>>,
    ) -> Vec<Result<Outcome>> {
        let mut group = Group::default();
        let mut answers = Vec::new();
        for sent in batches {
            answers.push(self.take(sent, &mut group));
        }
        let failure = match group.commits.is_empty() {
            true => None,
            false => self.write(group).err(),
        };
        answers.into_iter().map(|answer| answer.settle(failure.as_ref())).collect()
    }

    /// Judges one batch, and adds it to the group if it holds.
    fn take<'b>(&self, sent: Sent<'b>, group: &mut Group<'b>) -> Answer {
        let mut is_pending = !group.commits.is_empty();
        let outcome = self.judge(sent, group, &mut is_pending);
        Answer { id: sent.batch.id, outcome, is_pending }
    }

    fn judge<'b>(
        &self,
        Sent { batch, is_new }: Sent<'b>,
        group: &mut Group<'b>,
        is_pending: &mut bool,
    ) -> Result<Outcome> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        group.follow();
        if let Some(commit) = group.commits.iter().find(|commit| commit.id == batch.id) {
            return Ok(Outcome::Committed { totals: commit.totals.clone() });
        }
        let known = if is_new { None } else { self.outcomes.of(&batch.id)? };
        if let Some(totals) = known {
            *is_pending = false;
            return Ok(Outcome::Committed { totals });
        }
        if let Some(refusal) = self.hold.refusal() {
            return Err(refusal);
        }
        match weigh(batch, |key| self.current(key, group))? {
            Weighed::Conflict(conflict) => Ok(Outcome::Conflict(conflict)),
            Weighed::Commit { touched, totals } => {
                *is_pending = true;
                let keys = match self.changes {
                    Some(_) => touched.iter().map(|(key, _)| Key::clone(key)).collect(),
                    None => Vec::new(),
                };
                group.add(touched);
                let commit = Commit { id: batch.id, now: batch.now, totals: totals.clone(), keys };
                group.commits.push(commit);
                Ok(Outcome::Committed { totals })
            }
        }
    }

    /// The row as the batches before in the group leave it.
    fn current(&self, key: &Key, group: &mut Group<'_>) -> Result<Option<Row>> {
        if let Some(made) = group.rows.get(key) {
            return Ok(made.row());
        }
        let stored = self.tables.rows.get(key).map_err(reading)?;
        let row = stored.map(layout::decode_row).transpose()?;
        if let Some(expires) = row.as_ref().and_then(|row| row.expires) {
            group.ends.insert(key.clone(), expires);
        }
        Ok(row)
    }

    /// Writes a group, and lets it be seen.
    fn write(&mut self, group: Group<'_>) -> Result<(), Failure> {
        let mut sequence = self.sequence;
        let written = self.collect(group, &mut sequence);
        let written = written.map_err(|error| Failure { kind: error.kind(), is_unknown: false })?;
        self.finish(written)?;
        self.sequence = sequence;
        if self.durability == Durability::Power {
            // A witness that lags behind is still true.
            let _ = self.witness.write(sequence);
        }
        Ok(())
    }

    /// What is to be written for a group, and the number of its last commit.
    fn collect(&mut self, group: Group<'_>, sequence: &mut u64) -> Result<OwnedWriteBatch> {
        let now = group.commits.iter().map(|commit| commit.now).max().unwrap_or(Milliseconds::MIN);
        self.outcomes.advance(now, self.sequence + 1)?;
        let mut written =
            self.start(group.rows.len() + group.first.len() + group.commits.len() * 2 + 4);
        let mut rows = group.first;
        rows.extend(group.rows);
        if rows.len() > FEW_ROWS && !rows.is_sorted_by(|(one, _), (other, _)| one <= other) {
            // Neighbours are put in one after the other: the engine then finds its way to each
            // through memory that it has just touched. The exact order does not matter.
            rows.sort_by_cached_key(|(key, _)| key.front());
        }
        self.write_rows(rows, &group.ends, &mut written)?;
        for commit in &group.commits {
            *sequence += 1;
            self.outcomes.remember(&mut written, commit.id, *sequence, &commit.totals);
            if let Some(changes) = &self.changes {
                changes.record(&mut written, *sequence, commit.id, commit.now, &commit.keys);
            }
        }
        // Where commits are not synced, their numbers are written before a sync only; but one at
        // least, so that the log of changes knows whether it has missed any.
        let is_numbered = self.durability == Durability::Power
            || self.changes.is_some()
            || self.numbered.is_none()
            || self.outcomes.is_changed();
        if is_numbered {
            self.write_number(&mut written, *sequence);
        }
        Ok(written)
    }

    fn write_number(&mut self, written: &mut OwnedWriteBatch, sequence: u64) {
        self.outcomes.mark(written, sequence);
        written.insert(&self.tables.rows, layout::SEQUENCE, sequence.to_be_bytes());
        self.numbered = Some(sequence);
    }

    /// Writes the number of the last commit, so that a sync can be witnessed.
    pub(super) fn number(&mut self) -> Result<()> {
        if self.numbered.is_none_or(|numbered| numbered == self.sequence) {
            return Ok(());
        }
        let mut written = self.start(2);
        self.write_number(&mut written, self.sequence);
        self.write_own(written)
    }

    fn write_rows(
        &mut self,
        rows: Vec<Touch<'_>>,
        ends: &HashMap<Key, Milliseconds>,
        written: &mut OwnedWriteBatch,
    ) -> Result<()> {
        let table = &self.tables.rows;
        let mut earliest = self.watermark;
        for (key, made) in rows {
            let counted;
            let (value, version, expires) = match made {
                Made::Gone => {
                    written.remove(table, key.as_ref());
                    continue;
                }
                Made::Put { trail: Some(_), .. } => return Err(no_trails()),
                Made::Put { value, version, expires, trail: None } => (value, version, expires),
                Made::Count(total) => {
                    counted = counter_row(total);
                    (&counted.value, counted.version, counted.expires)
                }
            };
            // An end that was there before is there still: only sweeping removes it.
            if let Some(expires) = expires
                && ends.get(key) != Some(&expires)
            {
                earliest = earliest.min(expires);
                written.insert(table, layout::due_key(expires, key), Vec::new());
            }
            // A copy of the key, because the engine keeps it for long and looks at it often: all
            // of its keys then lie close together, without the room that their makers left.
            written.insert(table, key.as_ref(), layout::encode_row(value, version, expires));
        }
        if earliest < self.watermark {
            self.watermark = earliest;
            written.insert(table, layout::WATERMARK, earliest.to_be_bytes());
        }
        Ok(())
    }

    /// An empty write of the engine that is as durable as was declared.
    pub(super) fn start(&self, items: usize) -> OwnedWriteBatch {
        let mode = match self.durability {
            Durability::Power => Some(PersistMode::SyncAll),
            Durability::Process => Some(PersistMode::Buffer),
            Durability::None => None,
        };
        OwnedWriteBatch::with_capacity(self.tables.database.clone(), items).durability(mode)
    }

    /// Writes, and lets readers see it. On failure the store is poisoned.
    fn finish(&mut self, written: OwnedWriteBatch) -> Result<(), Failure> {
        let result = self.try_finish(written);
        match result {
            Ok(()) => self.publish(),
            Err(_) => self.is_poisoned = true,
        }
        // The engine itself refuses before it writes if an earlier write of its own failed.
        result.map_err(|error| Failure {
            kind: ErrorKind::Poisoned,
            is_unknown: !matches!(error, fjall::Error::Poisoned),
        })
    }

    fn try_finish(&mut self, written: OwnedWriteBatch) -> fjall::Result<()> {
        #[cfg(test)]
        if self.fault == Some(Fault::Before) {
            return Err(std::io::Error::other("a fault of the test").into());
        }
        written.commit()?;
        #[cfg(test)]
        if self.fault == Some(Fault::After) {
            return Err(std::io::Error::other("a fault of the test").into());
        }
        Ok(())
    }

    /// Writes something of the store's own: ends, the catalogue.
    pub(super) fn write_own(&mut self, written: OwnedWriteBatch) -> Result<()> {
        match self.is_poisoned {
            true => Err(poisoned()),
            false => self.finish(written).map_err(|_| poisoned()),
        }
    }

    /// Lets readers see everything that was committed, in the shape the engine has it now.
    pub(super) fn publish(&self) {
        self.published.publish(self.tables.database.snapshot());
    }

    /// Makes everything durable and has it witnessed.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        self.number()?;
        let synced = self.tables.database.persist(PersistMode::SyncAll);
        if let Err(error) = synced {
            self.is_poisoned = true;
            return Err(poisoned().caused_by(error));
        }
        self.witness.write(self.sequence)
    }
}

impl Answer {
    /// What to say, once it is known whether the group was written.
    fn settle(self, failure: Option<&Failure>) -> Result<Outcome> {
        let Some(failure) = failure.filter(|_| self.is_pending) else { return self.outcome };
        match self.outcome? {
            Outcome::Committed { .. } if failure.is_unknown => {
                Ok(Outcome::Indeterminate { id: self.id })
            }
            // A conflict was judged by what may be lost, but nothing of the batch was written.
            _ if failure.kind == ErrorKind::Poisoned => Err(poisoned()),
            _ => Err(Error::new(failure.kind, "the engine could not begin to write the batch")),
        }
    }
}

//! Commits: a group of batches is judged in order, journalled as one, and then seen.
//!
//! ```text
//! batches ─judge, each seeing those before it─▶ draft ─▶ journal ─▶ memory ─▶ answers
//!            └─ known id: its outcome again                └─ sync     later: files, checkpoint
//!            └─ conflict: nothing of it
//! ```
//!
//! One caller at a time. Nothing is seen, by a read or by an answer, before the journal holds it as
//! durably as was declared. Whatever could go wrong with a file is asked before the journal is
//! written: what it holds has happened. After a write that failed, nothing is written any more.

use super::checkpoint::{Keeper, Touched};
use super::draft::{Draft, Drafted};
use super::error::{self, poisoned};
use super::folder::Format;
use super::journal::Journal;
use super::memory::Slot;
use super::outcome::Outcomes;
use super::placer::Placer;
use super::placing::Pending;
use super::read::{self, path_of_absent};
use super::row::{Committed, Content, Known};
use super::shared::Shared;
use bytes::Bytes;
use data::clock::Milliseconds;
use data::schema::ContentShape;
use data::store::judge::{Effect, detached};
use data::store::{Batch, CommitId, Durability, Judgement, Key, Outcome, Row, judge};
use data::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// Whoever may commit.
#[derive(Debug)]
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) format: Format,
    pub(super) durability: Durability,
    pub(super) journal: Journal,
    pub(super) keeper: Keeper,
    pub(super) outcomes: Outcomes,
    /// What is committed and not yet in the files, nor on its way there.
    pub(super) pending: Pending,
    pub(super) placer: Placer,
    /// What is in the files and not yet in a checkpoint.
    pub(super) touched: Touched,
    pub(super) changed_rows: HashMap<Key, Option<Arc<Known>>>,
    pub(super) commits: Vec<Committed>,
    /// What was kept of the rows, until their files have been looked at.
    pub(super) kept: BTreeMap<Key, Arc<Known>>,
    pub(super) is_loaded: bool,
    /// The latest time any batch brought.
    pub(super) time: Milliseconds,
}

/// An answer, and whether it is true only if the group is written.
struct Answer {
    id: CommitId,
    outcome: Result<Outcome>,
    is_pending: bool,
}

impl Committer {
    /// Commits batches in order, all with one frame of the journal.
    pub(super) fn commit<'b>(
        &mut self,
        batches: impl IntoIterator<Item = &'b Batch>,
    ) -> Vec<Result<Outcome>> {
        let mut draft = Draft::default();
        let mut answers = Vec::new();
        for batch in batches {
            let mut is_pending = !draft.commits.is_empty();
            let outcome = self.judge(batch, &mut draft, &mut is_pending);
            answers.push(Answer { id: batch.id, outcome, is_pending });
        }
        let failure = match draft.commits.is_empty() {
            true => None,
            false => self.write(draft).err(),
        };
        answers.into_iter().map(|answer| answer.settle(failure.as_ref())).collect()
    }

    fn judge(
        &mut self,
        batch: &Batch,
        draft: &mut Draft,
        is_pending: &mut bool,
    ) -> Result<Outcome> {
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        if let Some(commit) = draft.commits.iter().find(|commit| commit.id == batch.id) {
            return Ok(Outcome::Committed { totals: commit.totals.to_vec() });
        }
        if let Some(totals) = self.outcomes.of(&batch.id) {
            *is_pending = false;
            return Ok(Outcome::Committed { totals: totals.to_vec() });
        }
        match judge(batch, |key| self.current(key, &mut *draft))? {
            Judgement::Conflict(conflict) => Ok(Outcome::Conflict(conflict)),
            Judgement::Commit { effects, totals } => {
                self.take(effects, draft)?;
                *is_pending = true;
                let (id, now) = (batch.id, batch.now);
                let committed = Committed { id, now, totals: totals.clone().into() };
                draft.commits.push(committed);
                Ok(Outcome::Committed { totals })
            }
        }
    }

    /// The row as the batches before in the group leave it. What somebody else did to its files
    /// counts. Only counters have their content: nothing else of a row is judged.
    fn current(&mut self, key: &Key, draft: &mut Draft) -> Result<Option<Row>> {
        if let Some(drafted) = draft.rows.get(key) {
            return Ok(drafted.as_ref().map(Drafted::row));
        }
        if let Some(entry) = draft.entries.get(key) {
            return Ok(entry.clone());
        }
        if let Some(free) = self.notice(key)? {
            draft.free.insert(key.clone(), free.into());
            return Ok(None);
        }
        // Somebody may have put a file there since it was asked for an earlier batch.
        draft.free.remove(key);
        let (known, tree) = {
            let memory = self.shared.memory()?;
            match memory.slot(key) {
                None => return Ok(None),
                Some(Slot::Entry(row)) => return Ok(Some(row.clone())),
                Some(Slot::Row(known)) => (known.clone(), memory.tree.clone()),
            }
        };
        if let Content::Damaged(why) = &known.content {
            return Err(error::unreadable(&known.main.path, why));
        }
        let counts = tree
            .rows(key.space())?
            .is_some_and(|files| files.collection.content == ContentShape::Count);
        if !counts {
            return Ok(Some(super::memory::row_of(&known, Bytes::new())));
        }
        match read::row(&self.shared, &tree, key, &known)? {
            Some(row) => Ok(Some(row)),
            None => Err(Error::new(ErrorKind::Busy, "a file is being changed by somebody else")
                .with("file", &known.main.path)),
        }
    }

    /// Takes in what somebody else did to the files of a row. Answers the path of a row that is not
    /// there, if the disk was asked and has nothing there.
    pub(super) fn notice(&mut self, key: &Key) -> Result<Option<String>> {
        let known = {
            let memory = self.shared.memory()?;
            match memory.slot(key) {
                Some(Slot::Row(known)) => Some(known.clone()),
                Some(Slot::Entry(_)) => return Ok(None),
                None => match path_of_absent(&memory.tree, key)? {
                    Some(path) if !memory.is_leaving(&path) => {
                        match self.shared.disk.stamp(&path) {
                            Ok(_) => None,
                            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                                return Ok(Some(path));
                            }
                            Err(_) => return Ok(None),
                        }
                    }
                    _ => return Ok(None),
                },
            }
        };
        match known {
            Some(known) if matches!(known.content, Content::Held(_)) => {}
            Some(known) if read::is_unchanged(self.shared.disk.as_ref(), &known)? => {}
            _ => self.adopt(key)?,
        }
        Ok(None)
    }

    /// Takes what a batch changes into the draft: all of it, or nothing and the reason.
    fn take(&mut self, effects: Vec<Effect>, draft: &mut Draft) -> Result<()> {
        let memory = self.shared.memory()?;
        let effects = effects.into_iter().map(detached).collect();
        draft.take(&memory, self.shared.disk.as_ref(), effects)
    }

    /// Writes a draft to the journal, and lets it be seen. If that fails the store is poisoned;
    /// any other error means that nothing was written.
    pub(super) fn write(&mut self, draft: Draft) -> Result<()> {
        let commits = draft.commits.clone();
        let group = draft.group(&*self.shared.memory()?)?;
        let payload = group.encode();
        if !super::frame::fits(&payload) {
            return Err(Error::new(ErrorKind::TooLarge, "a group of batches is too large"));
        }
        self.journal.add(&payload, commits.len());
        let written = match self.durability {
            Durability::Power => self.journal.sync(),
            Durability::Process => self.journal.hand_over(),
            Durability::None => Ok(()),
        };
        let published = match written {
            Ok(()) => self.publish(draft),
            Err(error) => Err(error::file(error, &super::journal::path_of(self.journal.number))),
        };
        if let Err(error) = published {
            self.shared.poison();
            return Err(poisoned().caused_by(error));
        }
        self.changed_rows.extend(group.rows);
        self.pending.add(group.files);
        for commit in commits {
            self.time = self.time.max(commit.now);
            self.outcomes.remember(&commit);
            self.commits.push(commit);
        }
        Ok(())
    }

    /// Lets readers see a draft, all of it at once.
    fn publish(&mut self, draft: Draft) -> Result<()> {
        let mut memory = self.shared.change()?;
        for (key, drafted) in draft.rows {
            let known = drafted.map(|drafted| drafted.known);
            match &known {
                Some(known) => drop(self.pending.held.insert(key.clone(), known.clone())),
                None => drop(self.pending.held.remove(&key)),
            }
            memory.set_row(key, known);
        }
        for (key, row) in draft.entries {
            memory.set_entry(key, row)?;
        }
        Ok(())
    }
}

impl Answer {
    /// What to say, once it is known whether the group was written.
    fn settle(self, failure: Option<&Error>) -> Result<Outcome> {
        let Some(failure) = failure.filter(|_| self.is_pending) else { return self.outcome };
        match self.outcome? {
            // The journal may hold it, and whoever opens the store anew will see.
            Outcome::Committed { .. } if failure.kind() == ErrorKind::Poisoned => {
                Ok(Outcome::Indeterminate { id: self.id })
            }
            // A conflict was judged by what may be lost, but nothing of the batch was written.
            _ if failure.kind() == ErrorKind::Poisoned => Err(poisoned()),
            _ => Err(Error::new(failure.kind(), "the batches that came together were not written")
                .with("reason", failure)),
        }
    }
}

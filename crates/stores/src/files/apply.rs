//! From the journal into the files, and on to a checkpoint: what whoever commits sees to.
//!
//! ```text
//! commits ─▶ pending ─start_placing─▶ another thread ─collect─▶ touched ─rotate─▶ checkpoint
//!               └─apply: here and now, for those who must see the files as they are committed─┘
//! ```

use super::checkpoint::Job;
use super::commit::Committer;
use super::error::{self, poisoned};
use super::journal::{Journal, path_of};
use super::placing::{Placed, Placing, Unsynced};
use super::rows::Checkpoint;
use data::Result;
use keyspace::layout::files::OWN_DIRECTORY;
use std::io;

/// Batches in a journal before a checkpoint: redoing so many takes a second or two.
const CHECKPOINT_BATCHES: usize = 16_000;
/// Bytes in a journal before a checkpoint.
const CHECKPOINT_BYTES: usize = 16 << 20;
/// Bytes in a journal before everything waits for the last checkpoint.
const WAIT_BYTES: usize = 64 << 20;

impl Committer {
    /// Puts what is committed into the files, and waits until all of it is there.
    pub(super) fn apply(&mut self) -> Result<()> {
        self.collect()?;
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        let placing = self.placing()?;
        self.placed(placing.run())
    }

    /// Lets another thread put what is committed into the files. The set before must be there.
    pub(super) fn start_placing(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let placing = self.placing()?;
        match self.placer.start(placing) {
            Ok(()) => Ok(()),
            // There is no such thread.
            Err(placing) => self.placed(placing.run()),
        }
    }

    /// Waits for what another thread puts into the files.
    pub(super) fn collect(&mut self) -> Result<()> {
        match self.placer.finish() {
            Some(placed) => self.placed(placed),
            None if self.placer.is_busy() => {
                self.shared.poison();
                Err(poisoned())
            }
            None => Ok(()),
        }
    }

    /// The set of changes that is next.
    pub(super) fn placing(&mut self) -> Result<Placing> {
        let path = path_of(self.journal.number);
        let log = self.journal.unsynced().map_err(|error| {
            self.shared.poison();
            error::file(error, &path)
        })?;
        let journal = Unsynced { log, path, last: self.journal.last };
        let next = self.touched.next();
        Ok(Placing {
            shared: self.shared.clone(),
            pending: std::mem::take(&mut self.pending),
            touched: std::mem::replace(&mut self.touched, next),
            journal,
        })
    }

    /// Takes in that a set of changes is in the files.
    pub(super) fn placed(&mut self, placed: Placed) -> Result<()> {
        let Placed { touched, synced, filed } = placed;
        self.touched.add(touched);
        let filed = filed?;
        self.journal.synced = self.journal.synced.max(synced);
        for (key, known) in filed {
            // The next checkpoint keeps no content. What was committed since is another set's.
            if let Some(Some(changed)) = self.changed_rows.get_mut(&key)
                && changed.is_same(&known)
            {
                *changed = known;
            }
        }
        Ok(())
    }

    /// Whether the journal is long enough for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        let long =
            self.journal.bytes >= CHECKPOINT_BYTES || self.journal.batches >= CHECKPOINT_BATCHES;
        long && (!self.keeper.is_busy() || self.journal.bytes >= WAIT_BYTES)
    }

    /// Whether anything is not in a checkpoint yet.
    pub(super) fn is_unkept(&self) -> bool {
        self.journal.bytes > 0
            || !self.changed_rows.is_empty()
            || !self.touched.files.is_empty()
            || !self.touched.directories.is_empty()
    }

    /// Begins a checkpoint: from here on the next journal is written to.
    pub(super) fn rotate(&mut self) -> Result<Job> {
        self.apply()?;
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        self.try_rotate().map_err(|error| {
            self.shared.poison();
            error::file(error, OWN_DIRECTORY)
        })
    }

    fn try_rotate(&mut self) -> io::Result<Job> {
        self.journal.sync()?;
        let (number, last) = (self.journal.number, self.journal.last);
        self.journal = Journal::begin(self.shared.disk.as_ref(), number + 1, last)?;
        let checkpoint = Checkpoint {
            journal: number + 1,
            last,
            time: self.time,
            commits: std::mem::take(&mut self.commits),
            rows: std::mem::take(&mut self.changed_rows).into_iter().collect(),
        };
        let next = self.touched.next();
        let touched = std::mem::replace(&mut self.touched, next);
        Ok(Job { touched, checkpoint, journals: vec![number] })
    }

    /// Makes a checkpoint of everything, here and now.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        self.apply()?;
        let failed = |error| error::file(error, OWN_DIRECTORY);
        if !self.is_unkept() {
            return self.keeper.finish().map_err(failed);
        }
        let job = self.rotate()?;
        self.keeper.run(&job).map_err(failed)
    }

    /// Makes a checkpoint on another thread.
    pub(super) fn start_checkpoint(&mut self) -> Result<()> {
        let job = self.rotate()?;
        self.keeper.start(job).map_err(|error| {
            self.shared.poison();
            error::file(error, OWN_DIRECTORY)
        })
    }
}

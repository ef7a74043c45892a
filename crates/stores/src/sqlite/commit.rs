//! Commits: a group of batches in one transaction, each whole or not at all.
//!
//! ```text
//! BEGIN IMMEDIATE ─▶ per batch: known? ─▶ judge ─▶ rows, outcome ─▶ COMMIT ─▶ the answers
//!  no other writer from here on       └─ conflict: nothing is written
//! ```
//!
//! A batch sees the ones before it in the group. If a statement fails, nothing of the group is
//! there, and each batch is written by itself. Readers see a group once SQLite has synced its
//! log, as durable as was declared, and nobody is answered before. After a COMMIT that the disk
//! failed nothing is written any more; one that certainly did not happen may be sent again.

use super::error::{again, failed, is_busy, is_undone, poisoned};
use super::outcome::{self, Forgetting};
use super::read::execute;
use super::steps::{Step, takes};
use super::tables::{Table, Tables};
use super::writer::Job;
use data::clock::Milliseconds;
use data::store::judge::{Touch, Weighed, weigh};
use data::store::{CommitId, Conflict, Key, Outcome, Total};
use data::{Error, ErrorKind, Result, Value};
use rusqlite::Connection;
use std::time::Duration;

/// How often outcomes are looked at that nobody may ask for any more.
const FORGET_EVERY: Milliseconds = 1_000;
/// Or after so many batches.
const FORGET_BATCHES: usize = 64;
/// How many are looked at then: four for each that was added, so that all are met in time.
const FORGET_ROWS: usize = 256;

/// Whoever may commit.
pub(super) struct Committer {
    pub(super) connection: Connection,
    /// How long a statement waits for another process.
    busy: Duration,
    /// A COMMIT failed.
    pub(super) is_poisoned: bool,
    /// How far outcomes were forgotten.
    pub(super) forgetting: Forgetting,
    /// When they last were, and how many were added since.
    forgot: (Milliseconds, usize),
    /// Lets the next COMMIT fail, as a disk would.
    #[cfg(test)]
    pub(super) fault: Option<Fault>,
}

/// Where a test lets a COMMIT fail.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing reaches the log, and the disk says that it is full.
    Full,
    /// Nothing reaches the log, but nobody knows that.
    Before,
    /// The log has it, and the sync fails.
    After,
}

/// An answer, and whether it is true only if the group is committed.
struct Answer {
    id: CommitId,
    outcome: Result<Outcome>,
    is_pending: bool,
}

/// What became of a batch inside its group.
enum Taken {
    /// It was committed before, in this group or an earlier one.
    Known(Vec<Total>),
    /// It does not hold.
    Conflict(Conflict),
    /// It is part of the transaction.
    Written(Vec<Total>),
    /// A statement of it failed, and some before it may not have.
    Broken(Error),
}

impl Taken {
    fn outcome(self) -> Result<Outcome> {
        match self {
            Taken::Known(totals) | Taken::Written(totals) => Ok(Outcome::Committed { totals }),
            Taken::Conflict(conflict) => Ok(Outcome::Conflict(conflict)),
            Taken::Broken(error) => Err(error),
        }
    }
}

/// Why a group was not committed.
struct Failure {
    error: Error,
    /// Whether it may have been.
    is_unknown: bool,
}

/// What is to be done to one row.
enum Change<'t> {
    Put(&'t Table, Vec<Value>),
    Delete(&'t Table, &'t Key),
}

impl Committer {
    /// A committer with a connection of its own, on which statements wait so long for others.
    pub(super) fn new(connection: Connection, busy: Duration) -> Committer {
        Committer {
            connection,
            busy,
            is_poisoned: false,
            forgetting: Forgetting::default(),
            forgot: (Milliseconds::MIN, 0),
            #[cfg(test)]
            fault: None,
        }
    }

    /// Excludes other writers; false if another process has, and is not to be waited for.
    pub(super) fn begin(&mut self, waits: bool) -> Result<bool> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        let text = if takes(Step::Immediate) { "BEGIN IMMEDIATE" } else { "BEGIN" };
        if waits {
            return execute(&self.connection, text).map(|()| true);
        }
        self.connection.busy_timeout(Duration::ZERO).map_err(failed)?;
        let begun = self.connection.prepare_cached(text).and_then(|mut one| one.raw_execute());
        self.connection.busy_timeout(self.busy).map_err(failed)?;
        match begun {
            Ok(_) => Ok(true),
            Err(error) if is_busy(&error) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Commits batches in order, all in the transaction that was begun; if one of them breaks off
    /// in the middle, each in one of its own.
    pub(super) fn commit_begun(&mut self, jobs: &[Job<'_>]) -> Vec<Result<Outcome>> {
        if let Some(answers) = self.commit_together(jobs) {
            return answers;
        }
        let alone = |job: &Job<'_>| {
            self.begin(true)?;
            let answers = self.commit_together(std::slice::from_ref(job));
            answers.and_then(|mut answers| answers.pop()).unwrap_or_else(|| Err(poisoned()))
        };
        jobs.iter().map(alone).collect()
    }

    /// Nothing, and nothing written, if one of several batches breaks off in the middle.
    fn commit_together(&mut self, jobs: &[Job<'_>]) -> Option<Vec<Result<Outcome>>> {
        let mut answers: Vec<Answer> = Vec::with_capacity(jobs.len());
        let mut written: Vec<CommitId> = Vec::new();
        for job in jobs {
            let id = job.batch.id;
            let taken = self.take(*job);
            if let Ok(Taken::Broken(_)) = taken
                && jobs.len() > 1
                && takes(Step::Apart)
            {
                let _ = self.rollback();
                return None;
            }
            let is_known = matches!(taken, Ok(Taken::Known(_)));
            if let Ok(Taken::Written(_)) = taken {
                written.push(id);
            }
            // What was known before is true whatever becomes of the group.
            let is_pending = !written.is_empty() && (!is_known || written.contains(&id));
            answers.push(Answer { id, outcome: taken.and_then(Taken::outcome), is_pending });
        }
        let failure = self.finish_group(jobs, written.len()).err();
        let failure = failure.filter(|_| takes(Step::CommitFirst));
        Some(answers.into_iter().map(|answer| answer.settle(failure.as_ref())).collect())
    }

    /// What comes of one batch.
    fn take(&self, job: Job<'_>) -> Result<Taken> {
        let Job { batch, tables, is_new } = job;
        let connection = &self.connection;
        if tables.remembers
            && !is_new
            && takes(Step::Known)
            && let Some(totals) = outcome::of(connection, &batch.id)?
        {
            return Ok(Taken::Known(totals));
        }
        let current = |key: &Key| tables.table(key.space())?.state(connection, key);
        let (touched, totals) = match weigh(batch, current)? {
            Weighed::Conflict(conflict) => return Ok(Taken::Conflict(conflict)),
            Weighed::Commit { touched, totals } => (touched, totals),
        };
        let changes = changes(tables, touched)?;
        let apply = || {
            for change in &changes {
                match change {
                    Change::Put(table, columns) => table.put(connection, columns)?,
                    Change::Delete(table, key) => table.delete(connection, key)?,
                }
            }
            match tables.remembers && takes(Step::Outcome) {
                true => outcome::remember(connection, batch, &totals),
                false => Ok(()),
            }
        };
        Ok(match apply() {
            Ok(()) => Taken::Written(totals),
            Err(error) => Taken::Broken(error),
        })
    }

    /// Ends the transaction of a group.
    fn finish_group(&mut self, jobs: &[Job<'_>], written: usize) -> Result<(), Failure> {
        if written == 0 {
            return self.rollback();
        }
        self.forget(jobs, written);
        self.try_commit()
    }

    /// Removes outcomes now and then. They may stay as long as they like, so a failure is none.
    fn forget(&mut self, jobs: &[Job<'_>], written: usize) {
        let now = jobs.iter().map(|job| job.batch.now).max().unwrap_or(Milliseconds::MIN);
        let remembers = jobs.iter().any(|job| job.tables.remembers);
        let (last, added) = (self.forgot.0, self.forgot.1 + written);
        let is_due = added >= FORGET_BATCHES || now.saturating_sub(last) >= FORGET_EVERY;
        if !is_due || !remembers {
            self.forgot.1 = added;
            return;
        }
        self.forgot = (now, 0);
        let rows = FORGET_ROWS * added.div_ceil(FORGET_BATCHES);
        let _ = self.forgetting.go_on(&self.connection, now, rows);
    }

    fn rollback(&self) -> Result<(), Failure> {
        match self.connection.is_autocommit() || !takes(Step::Rollback) {
            true => Ok(()),
            false => execute(&self.connection, "ROLLBACK")
                .map_err(|error| Failure { error, is_unknown: false }),
        }
    }

    /// COMMIT, and what is known if it fails.
    fn try_commit(&mut self) -> Result<(), Failure> {
        if self.connection.is_autocommit() {
            return Err(Failure { error: out_of_room(), is_unknown: false });
        }
        let Err(error) = self.commit_statement() else { return Ok(()) };
        let is_unknown = !is_undone(&error);
        self.is_poisoned |= is_unknown && takes(Step::Poison);
        // What may be in the log must not be read here before it is found there again.
        let _ = self.rollback();
        Err(Failure { error: failed(error), is_unknown })
    }

    fn commit_statement(&mut self) -> rusqlite::Result<()> {
        #[cfg(test)]
        match self.fault {
            Some(Fault::Full) => return Err(fault(rusqlite::ffi::SQLITE_FULL)),
            Some(Fault::Before) => return Err(fault(rusqlite::ffi::SQLITE_IOERR_FSYNC)),
            Some(Fault::After) | None => {}
        }
        self.connection.prepare_cached("COMMIT")?.raw_execute()?;
        #[cfg(test)]
        if self.fault == Some(Fault::After) {
            return Err(fault(rusqlite::ffi::SQLITE_IOERR_FSYNC));
        }
        Ok(())
    }

    /// Does something of the store's own in a transaction.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        execute(&self.connection, "BEGIN IMMEDIATE")?;
        match work(&self.connection) {
            Ok(answer) => match self.try_commit() {
                Ok(()) => Ok(answer),
                Err(failure) if failure.is_unknown => Err(poisoned().caused_by(failure.error)),
                Err(failure) => Err(failure.error),
            },
            Err(error) => {
                let _ = self.rollback();
                Err(error)
            }
        }
    }

    /// Writes the log back into the file, so that the file alone is the store.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        // Readers elsewhere may hold a part of the log; it stays, and nothing is lost.
        let written = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        written.map_err(failed)
    }
}

/// What a batch changes, in the forms of its tables: whatever cannot be stored is refused here.
fn changes<'t>(tables: &'t Tables, touched: Vec<Touch<'t>>) -> Result<Vec<Change<'t>>> {
    let change = |(key, made): Touch<'t>| {
        let table = tables.table(key.space())?;
        Ok(match made.row() {
            Some(row) => Change::Put(table, table.columns(key, &row)?),
            None => Change::Delete(table, key),
        })
    };
    touched.into_iter().map(change).collect()
}

impl Answer {
    /// What to say, once it is known whether the group was committed.
    fn settle(self, failure: Option<&Failure>) -> Result<Outcome> {
        let Some(failure) = failure.filter(|_| self.is_pending) else { return self.outcome };
        match self.outcome? {
            Outcome::Committed { .. } if failure.is_unknown => {
                Ok(Outcome::Indeterminate { id: self.id })
            }
            // A conflict was judged by what may be lost, but nothing of the batch was written.
            _ if failure.is_unknown => Err(poisoned()),
            _ => Err(again(&failure.error)),
        }
    }
}

fn out_of_room() -> Error {
    Error::new(ErrorKind::Unavailable, "SQLite had no room for a group of batches; try again")
}

#[cfg(test)]
fn fault(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

//! Commits: a group of batches in one transaction, each whole or not at all.
//!
//! ```text
//! BEGIN IMMEDIATE ─▶ per batch: known? ─▶ judge ─▶ SAVEPOINT, rows, outcome, RELEASE ─▶ COMMIT
//!     no other writer from here on      └─ conflict: nothing is written       then the answers
//! ```
//!
//! A batch sees the ones before it in the group. Readers see a group once SQLite has synced its
//! log, as durable as was declared, and nobody is answered before. After a COMMIT that the disk
//! failed nothing is written any more; one that certainly did not happen may be sent again.

use super::error::{failed, is_undone, poisoned};
use super::outcome;
use super::read::execute;
use super::steps::{Step, takes};
use super::tables::{Table, Tables};
use super::writer::Job;
use data::clock::Milliseconds;
use data::store::judge::Effect;
use data::store::{CommitId, Conflict, Judgement, Key, Outcome, Total, judge};
use data::{Error, ErrorKind, Result, Value};
use rusqlite::Connection;

/// Outcomes forgotten with one group: more than it adds, so that none are left over.
const FORGET_ROWS: usize = 256;
/// How often outcomes are looked at that nobody may ask for any more.
const FORGET_EVERY: Milliseconds = 1_000;

/// Whoever may commit.
pub(super) struct Committer {
    pub(super) connection: Connection,
    /// A COMMIT failed.
    pub(super) is_poisoned: bool,
    /// When outcomes were last forgotten.
    forgot: Milliseconds,
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
}

impl Taken {
    fn outcome(self) -> Outcome {
        match self {
            Taken::Known(totals) | Taken::Written(totals) => Outcome::Committed { totals },
            Taken::Conflict(conflict) => Outcome::Conflict(conflict),
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
    Delete(&'t Table, Key),
}

impl Committer {
    /// A committer with a connection of its own.
    pub(super) fn new(connection: Connection) -> Committer {
        Committer {
            connection,
            is_poisoned: false,
            forgot: Milliseconds::MIN,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Commits batches in order, all in one transaction.
    pub(super) fn commit(&mut self, jobs: &[Job]) -> Vec<Result<Outcome>> {
        if self.is_poisoned {
            return jobs.iter().map(|_| Err(poisoned())).collect();
        }
        let begin = if takes(Step::Immediate) { "BEGIN IMMEDIATE" } else { "BEGIN" };
        if let Err(error) = execute(&self.connection, begin) {
            return jobs.iter().map(|_| Err(again(&error))).collect();
        }
        let mut answers: Vec<Answer> = Vec::with_capacity(jobs.len());
        let mut written: Vec<CommitId> = Vec::new();
        let mut failure = None;
        for job in jobs {
            let id = job.batch.id;
            if failure.is_some() {
                answers.push(Answer { id, outcome: Err(out_of_room()), is_pending: false });
                continue;
            }
            let answer = self.take(job, jobs.len() > 1);
            let is_known = matches!(answer, Ok(Taken::Known(_)));
            if let Ok(Taken::Written(_)) = answer {
                written.push(id);
            }
            // What was known before is true whatever becomes of the group.
            let is_pending = !written.is_empty() && (!is_known || written.contains(&id));
            answers.push(Answer { id, outcome: answer.map(Taken::outcome), is_pending });
            // SQLite itself ends a transaction that has no room, and the batches before with it.
            if self.connection.is_autocommit() {
                failure = Some(Failure { error: out_of_room(), is_unknown: false });
            }
        }
        let failure = failure.or_else(|| self.finish_group(jobs, !written.is_empty()).err());
        let failure = failure.filter(|_| takes(Step::CommitFirst));
        answers.into_iter().map(|answer| answer.settle(failure.as_ref())).collect()
    }

    /// What comes of one batch.
    fn take(&self, job: &Job, is_one_of_many: bool) -> Result<Taken> {
        let Job { batch, tables } = job;
        let connection = &self.connection;
        if tables.remembers
            && takes(Step::Known)
            && let Some(totals) = outcome::of(connection, &batch.id)?
        {
            return Ok(Taken::Known(totals));
        }
        let current = |key: &Key| tables.table(key.space())?.state(connection, key);
        let (effects, totals) = match judge(batch, current)? {
            Judgement::Conflict(conflict) => return Ok(Taken::Conflict(conflict)),
            Judgement::Commit { effects, totals } => (effects, totals),
        };
        let changes = changes(tables, effects)?;
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
        match is_one_of_many && takes(Step::Savepoint) {
            true => self.apart(apply)?,
            // Alone, the whole transaction goes back if a statement fails.
            false => apply()?,
        }
        Ok(Taken::Written(totals))
    }

    /// Does all of it or nothing, and leaves the batches before as they are.
    fn apart(&self, apply: impl FnOnce() -> Result<()>) -> Result<()> {
        execute(&self.connection, "SAVEPOINT batch")?;
        let applied = apply();
        if applied.is_err() && !self.connection.is_autocommit() {
            execute(&self.connection, "ROLLBACK TO batch")?;
        }
        if !self.connection.is_autocommit() {
            execute(&self.connection, "RELEASE batch")?;
        }
        applied
    }

    /// Ends the transaction of a group.
    fn finish_group(&mut self, jobs: &[Job], is_written: bool) -> Result<(), Failure> {
        if !is_written {
            return self.rollback();
        }
        self.forget(jobs);
        self.try_commit()
    }

    /// Removes outcomes now and then. They may stay as long as they like, so a failure is none.
    fn forget(&mut self, jobs: &[Job]) {
        let now = jobs.iter().map(|job| job.batch.now).max().unwrap_or(Milliseconds::MIN);
        let remembers = jobs.iter().any(|job| job.tables.remembers);
        if remembers && now.saturating_sub(self.forgot) >= FORGET_EVERY {
            self.forgot = now;
            let _ = outcome::forget(&self.connection, now, FORGET_ROWS);
        }
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
fn changes(tables: &Tables, effects: Vec<Effect>) -> Result<Vec<Change<'_>>> {
    let change = |(key, row): Effect| {
        let table = tables.table(key.space())?;
        Ok(match row {
            Some(row) => Change::Put(table, table.columns(&key, &row)?),
            None => Change::Delete(table, key),
        })
    };
    effects.into_iter().map(change).collect()
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

/// The same problem for another caller.
fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.message());
    error.context().iter().fold(copy, |copy, (name, value)| copy.with(name, value))
}

fn out_of_room() -> Error {
    Error::new(ErrorKind::Unavailable, "SQLite had no room for a group of batches; try again")
}

#[cfg(test)]
fn fault(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

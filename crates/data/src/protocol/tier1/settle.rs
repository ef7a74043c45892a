//! The rows themselves, compared and set in one commit: the moment at which a set happens, or not.
//!
//! ```text
//! committed ─▶ done          conflict ─▶ not done
//! no reply  ─▶ the same batch again; a conflict then tells little, but the rows do:
//!              version = mine, or mine among the previous ones       ─▶ done
//!              the expected version among them, and mine is not      ─▶ not done
//!              the expected version still there                      ─▶ fence, then not done
//!              otherwise                                             ─▶ not known
//! ```

use super::attempt::Attempt;
use super::fence::fence;
use super::ids::derived;
use super::send::pause;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Obstacle;
use crate::store::{
    Batch, Check, CommitId, Conflict, Expect, Found, Key, Outcome, Row, Total, Trail, Version,
    Where, Write,
};

/// What became of the rows.
pub(super) enum Settled {
    /// They are set.
    Committed {
        /// What each counter came to, if that is known.
        totals: Option<Vec<Total>>,
        /// Which run of the set did it, as far as that is known without asking.
        run: Run,
    },
    /// They never will be.
    Obstacle(Obstacle),
    /// Something lies where a row was taken to be new; it has to be read.
    Guessed,
    /// Not known.
    Unknown,
}

/// A run of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// This one.
    This,
    /// Another, under the same id.
    Other,
    /// One of them.
    Unclear,
}

/// What a row says about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was committed.
    Committed,
    /// It never will be.
    Failed,
    /// It may still be.
    Open,
    /// The row has forgotten.
    Forgotten,
}

/// What a row says about the attempt `id` that expected `expected` to lie there.
pub(super) fn fate(row: Option<&Row>, id: CommitId, expected: Option<Version>) -> Fate {
    let Some(row) = row else {
        return if expected.is_none() { Fate::Open } else { Fate::Forgotten };
    };
    let previous = row.trail.as_ref().map(|trail| trail.previous.as_slice()).unwrap_or_default();
    if row.version == Some(id) || previous.contains(&id) {
        return Fate::Committed;
    }
    match expected {
        Some(_) if row.version == expected => Fate::Open,
        Some(expected) if previous.contains(&expected) => Fate::Failed,
        // The list still reaches back to the row's beginning.
        None if previous.len() < Trail::PREVIOUS_MAX => Fate::Failed,
        _ => Fate::Forgotten,
    }
}

impl Attempt<'_, '_> {
    /// Compares and sets the rows.
    pub(super) async fn set_rows(&mut self) -> Result<Settled> {
        let (batch, changes) = self.rows();
        if batch.writes.is_empty() {
            return Ok(Settled::Committed { totals: Some(Vec::new()), run: Run::This });
        }
        match self.session.commit(&batch).await {
            Ok(Outcome::Committed { totals }) => Ok(self.committed(totals)),
            Ok(Outcome::Conflict(conflict)) => {
                let by_another = match conflict.found == Found::Row(Some(self.set.id)) {
                    true => Ok(true),
                    false if self.session.repeatable => self.was_committed().await,
                    false => Ok(false),
                };
                match by_another {
                    Ok(true) => Ok(Settled::Committed { totals: None, run: Run::Unclear }),
                    Ok(false) => self.conflict(&batch, &changes, conflict),
                    Err(_) => Ok(Settled::Unknown),
                }
            }
            Ok(Outcome::Indeterminate { .. }) => {
                if !self.rules.settles_first {
                    self.take_back().await;
                }
                self.find_out(&batch, &changes).await
            }
            Err(error) => {
                if has_done_nothing(error.kind()) {
                    self.take_back().await;
                }
                Err(error)
            }
        }
    }

    /// The batch, and for each check behind those of the set the change it is for.
    fn rows(&self) -> (Batch, Vec<usize>) {
        let set = self.set;
        let check = |key: &Key, expect: Expect| Check { key: key.clone(), expect };
        let asked = set.checks.iter().filter(|_| self.rules.checks_with_rows);
        let mut checks: Vec<Check> = asked.map(|of| check(&of.key, of.expect)).collect();
        let mut changes = Vec::new();
        for (number, target) in self.targets.iter().enumerate() {
            let compared = self.rules.compares_unseen || !target.change.is_unseen();
            let expect = match target.is_versioned() && compared {
                true => Some(Expect::Physical(target.version())),
                false => target.change.expect,
            };
            if let Some(expect) = expect {
                checks.push(check(&target.change.key, expect));
                changes.push(number);
            }
        }
        let rows = self.targets.iter().filter_map(|target| target.write(set, self.rules));
        let adds = set.adds.iter().map(|add| Write::Add {
            key: add.key.clone(),
            amount: add.amount,
            expires: add.expires,
            window: add.window,
        });
        let writes = rows.chain(adds).collect();
        (self.batch(set.id, checks, writes), changes)
    }

    /// What a conflict means, if the batch was sent once only or surely never came through.
    fn conflict(&self, batch: &Batch, changes: &[usize], conflict: Conflict) -> Result<Settled> {
        let unknown = || Error::new(ErrorKind::Internal, "a store named a part that no batch has");
        let (set, found) = (self.set, conflict.found);
        let asked = batch.checks.len().saturating_sub(changes.len());
        let obstacle = match conflict.at {
            Where::Check(check) if check < asked => Obstacle::Check { check, found },
            Where::Check(check) => {
                let change = changes.get(check - asked);
                let change = *change.ok_or_else(unknown)?;
                let guessed = set.changes.get(change).is_some_and(|change| self.guessed(change));
                if guessed {
                    return Ok(Settled::Guessed);
                }
                let found = match found {
                    Found::Row(version) => version,
                    _ => None,
                };
                Obstacle::Row { change, found }
            }
            Where::Write(write) => {
                let first = batch.writes.len().saturating_sub(set.adds.len());
                let add = write.checked_sub(first).ok_or_else(unknown)?;
                Obstacle::Counter { add, found }
            }
        };
        Ok(Settled::Obstacle(obstacle))
    }

    /// Sends a batch again whose reply was lost, until it is clear what became of it.
    async fn find_out(&mut self, batch: &Batch, changes: &[usize]) -> Result<Settled> {
        let mut tries = 0;
        while pause(self.session, tries).await {
            tries += 1;
            let answer = match self.rules.keeps_ids {
                true => self.session.store().commit(batch).await,
                false => self.commit_anew(batch, tries).await,
            };
            self.session.touched(batch);
            match answer {
                Ok(Outcome::Committed { totals }) => return Ok(self.committed(totals)),
                Ok(Outcome::Conflict(conflict)) => match self.ask_rows().await {
                    Ok(Fate::Committed) => {
                        return Ok(Settled::Committed { totals: None, run: self.answered() });
                    }
                    Ok(Fate::Failed) => return self.conflict(batch, changes, conflict),
                    Ok(Fate::Open) => continue,
                    Ok(_) => return Ok(Settled::Unknown),
                    Err(error) if error.is_retryable() => continue,
                    Err(_) => return Ok(Settled::Unknown),
                },
                Ok(Outcome::Indeterminate { .. }) => {}
                Err(error) if error.is_retryable() => {}
                // Whatever it is about, it does not say what became of the batch.
                Err(_) => return Ok(Settled::Unknown),
            }
        }
        Ok(Settled::Unknown)
    }

    /// What a broken rule sends: the same, as if it had never been sent.
    async fn commit_anew(&self, batch: &Batch, tries: u32) -> Result<Outcome> {
        let id = derived(batch.id, "anew", &[&tries.to_be_bytes()]);
        self.session.store().commit(&Batch { id, ..batch.clone() }).await
    }

    /// What the rows say; an attempt that may still come through is fenced, and asked for again.
    async fn ask_rows(&mut self) -> Result<Fate> {
        let (keys, rows) = self.rows_now().await?;
        if keys.is_empty() {
            // Only the store could know, and it says that the batch is not there.
            return Ok(Fate::Failed);
        }
        let fates = self.fates(&rows);
        // The rows are set together: one that was, or cannot be any more, speaks for all.
        for clear in [Fate::Committed, Fate::Failed] {
            if fates.contains(&clear) {
                return Ok(clear);
            }
        }
        let open = fates.iter().position(|fate| *fate == Fate::Open);
        if let Some((key, row)) = open.and_then(|open| Some((keys.get(open)?, rows.get(open)?))) {
            fence(self.session, self.set.id, key, row.as_ref()).await?;
            return Ok(Fate::Open);
        }
        Ok(Fate::Forgotten)
    }

    /// Whether a row remembers that the set was committed.
    async fn was_committed(&self) -> Result<bool> {
        let (_, rows) = self.rows_now().await?;
        Ok(self.fates(&rows).contains(&Fate::Committed))
    }

    fn fates(&self, rows: &[Option<Row>]) -> Vec<Fate> {
        let targets = self.targets.iter().filter(|target| target.is_compared());
        let fate = |(row, target): (&Option<Row>, &Target<'_>)| {
            fate(row.as_ref(), self.set.id, target.version())
        };
        rows.iter().zip(targets).map(fate).collect()
    }

    /// The rows that tell what became of the set, as they are now. Asking is not counted.
    async fn rows_now(&self) -> Result<(Vec<Key>, Vec<Option<Row>>)> {
        let targets = self.targets.iter().filter(|target| target.is_compared());
        let keys: Vec<Key> = targets.map(|target| target.change.key.clone()).collect();
        if keys.is_empty() {
            return Ok((keys, Vec::new()));
        }
        let rows = self.session.store().get(&keys).await?;
        Ok((keys, rows))
    }

    /// Which run a store's answer is about: it answers for an id, whichever run that was.
    fn answered(&self) -> Run {
        if self.session.repeatable { Run::Unclear } else { Run::This }
    }

    fn committed(&self, totals: Vec<Total>) -> Settled {
        Settled::Committed { totals: Some(totals), run: self.answered() }
    }

    /// Which run has set the rows; asked of the rows if need be, for as long as they tell.
    pub(super) async fn whose(&self, run: Run) -> Run {
        if run != Run::Unclear {
            return run;
        }
        let Ok((_, rows)) = self.rows_now().await else { return Run::Unclear };
        let rows: Vec<&Row> = rows.iter().flatten().collect();
        let targets = self.targets.iter().filter(|target| target.is_compared());
        if rows.is_empty() || rows.iter().any(|row| row.version != Some(self.set.id)) {
            return Run::Unclear;
        }
        match rows.iter().zip(targets).all(|(row, target)| target.has_written(row)) {
            true => Run::This,
            false => Run::Other,
        }
    }
}

/// Whether an error says that the store has not taken the batch.
fn has_done_nothing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Unavailable
            | ErrorKind::TooLarge
            | ErrorKind::Argument
            | ErrorKind::Unsupported
            | ErrorKind::Mismatch
    )
}

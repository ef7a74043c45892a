//! The attempts of one call: gather, commit, and again if a row moved in between.
//!
//! ```text
//! gather ─▶ done before? ─▶ failed? ─▶ commit ─┬─ committed ─▶ answer
//!    ▲                                         ├─ what was read has moved ─┐
//!    └──────── a short wait ◀──────────────────┼───────────────────────────┘
//!                                              └─ the caller's answer: conflict, taken, limited
//! ```
//!
//! Only what was read and judged is tried again. An obstacle that the caller asked about (is the
//! row absent, does it have this version, is the value free) is the answer.

use super::answers::{as_they_are, made};
use super::gather::Work;
use super::ids::CallIds;
use super::row::RowState;
use super::script::{Action, Script};
use crate::change::{RowCheck, WriteSet};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Obstacle, Verdict, commit};
use crate::request::{Answer, Call, Runtime};
use crate::session::Session;
use crate::store::{CommitId, Expect, Found, Key, Row, Total, Version, limits};
use keyspace::model::{Atomicity, Mode};

/// Makes a call, as often as it takes and may take.
pub(super) async fn attempts(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let ids = CallIds::new(runtime, session, call);
    let steps = call.pattern.pattern.steps.len().max(1);
    for attempt in 0..limits::COMMIT_ATTEMPTS_MAX {
        begin(runtime, session, attempt).await?;
        let makers = ids.makers(steps);
        let script = Script::of(call, session.now, &makers)?;
        let mut work = Work::new(&script, session.now);
        let gathered = work.gather(session).await;
        let asks = call.pattern.steps.iter().any(|step| step.admitted_late);
        if asks && !work.is_stale {
            // Whoever may not is told nothing else.
            Box::pin(work.admit(session, call)).await?;
        }
        gathered?;
        let earlier = ids.earlier(&work.keys_named(&ids)?);
        let mut ending = Ending { session, ids: &ids, earlier, attempt, work: &mut work };
        if let Some(answer) = Box::pin(ending.settle()).await? {
            return Ok(answer);
        }
    }
    Err(busy())
}

/// Counts an attempt; waits a little before all but the first.
pub(super) async fn begin(
    runtime: &Runtime,
    session: &mut Session<'_>,
    attempt: u64,
) -> Result<()> {
    session.usage.attempts += 1;
    if attempt == 0 {
        return Ok(());
    }
    let options = runtime.options();
    let mut chance = [0; 1];
    options.random.fill(&mut chance);
    let [chance] = chance;
    // Those who met once should not meet again: the spread doubles from 2 to 64 milliseconds.
    let spread = 1u64 << attempt.min(6);
    options.clock.wait(1 + u64::from(chance) % spread).await;
    match options.clock.now() < session.deadline {
        true => Ok(()),
        false => Err(busy()),
    }
}

/// Others were faster, again and again.
pub(super) fn busy() -> Error {
    Error::new(ErrorKind::Busy, "other writers were faster, again and again")
}

/// Whether a batch was committed cannot be found out; asking again with the same id tells.
pub(super) fn indeterminate(id: Version) -> Error {
    let message = "whether this was committed is not known: make the call again with its id";
    Error::new(ErrorKind::Indeterminate, message).with("id", id)
}

/// The store remembers something else under this id.
pub(super) fn another_call(id: CommitId) -> Error {
    let message = "the id was used for another call: every call has an id of its own";
    Error::new(ErrorKind::Argument, message).with("id", id)
}

/// The end of one attempt.
struct Ending<'e, 's, 'w> {
    session: &'e mut Session<'s>,
    ids: &'e CallIds<'e>,
    /// The ids under which this call may have been committed before.
    earlier: Vec<CommitId>,
    attempt: u64,
    work: &'e mut Work<'w>,
}

impl Ending<'_, '_, '_> {
    /// The answer, or nothing if all must be done again.
    async fn settle(&mut self) -> Result<Option<Answer>> {
        if self.work.is_stale {
            return Ok(None);
        }
        if self.is_repeated().await? {
            return self.repeated().await.map(Some);
        }
        if self.work.script.is_atomic && self.work.is_done_before() {
            return self.answered(None, true).await.map(Some);
        }
        if let Some(failure) = self.work.failure()? {
            return match Box::pin(self.was_committed()).await? {
                true => self.repeated().await.map(Some),
                false => Err(failure),
            };
        }
        let adds = self.work.adds.clone();
        let id = self.ids.of_attempt(self.attempt, &self.work.keys_named(self.ids)?);
        let (set, places) = self.work.rows.write_set(self.session, id, adds)?;
        if set.checks.is_empty() && set.changes.is_empty() && set.adds.is_empty() {
            return made(self.work, id, &[], self.session.now).map(Some);
        }
        match commit(self.session, &set).await? {
            Verdict::Committed { totals, .. } if totals.len() != set.adds.len() => {
                Err(another_call(self.ids.of_call()))
            }
            Verdict::Committed { totals, .. } if self.ids.is_given() => {
                self.answered(Some(&totals), false).await.map(Some)
            }
            Verdict::Committed { id, totals } => {
                made(self.work, id, &totals, self.session.now).map(Some)
            }
            Verdict::Indeterminate { .. } => Err(indeterminate(self.ids.of_call())),
            Verdict::Obstacle(obstacle) => Box::pin(self.meet(obstacle, &set, &places)).await,
        }
    }

    /// Whether the rows say that this call was committed when it was made before. Where the store
    /// itself does not remember ids, rows that no plan reads are asked for too, uncounted.
    async fn is_repeated(&mut self) -> Result<bool> {
        let made = |row: &Row| was_made(row, &self.earlier);
        let rows = self.work.rows.iter();
        if rows.filter_map(RowState::before).any(made) {
            return Ok(true);
        }
        let unread: Vec<Key> = match self.ids.is_given() && !self.is_whole() {
            true => {
                self.work.rows.iter().filter(|r| !r.was_read()).map(|r| r.key.clone()).collect()
            }
            false => Vec::new(),
        };
        if unread.is_empty() {
            return Ok(false);
        }
        let rows = self.session.store().get(&unread).await?;
        Ok(rows.iter().flatten().any(made))
    }

    fn is_whole(&self) -> bool {
        self.session.schema().kind().atomicity() == Atomicity::WholeStore
    }

    /// The answer of a call that was committed when it was made before.
    async fn repeated(&mut self) -> Result<Answer> {
        self.answered(None, false).await
    }

    /// The rows as they are now. Boxed, because few calls need the room.
    async fn answered(&mut self, totals: Option<&[Total]>, existed: bool) -> Result<Answer> {
        Box::pin(as_they_are(self.session, self.work, totals, existed)).await
    }

    /// Whether an earlier call with this id was committed. What it did may be why this one fails.
    async fn was_committed(&mut self) -> Result<bool> {
        if !self.ids.is_given() || !self.is_whole() {
            return Ok(false);
        }
        let versioned = |mode: Mode| mode == Mode::Conditional;
        let Some(row) = self.work.rows.iter().find(|row| versioned(row.collection.mode)) else {
            return Ok(false);
        };
        // A store that remembers the id says so whatever the set holds; one that does not finds
        // the check false.
        let id = self.ids.of_call();
        let check = RowCheck {
            collection: row.collection.clone(),
            key: row.key.clone(),
            expect: Expect::Version(id),
        };
        let set = WriteSet {
            id,
            now: self.session.now,
            deadline: self.session.deadline,
            checks: vec![check],
            changes: Vec::new(),
            adds: Vec::new(),
        };
        Ok(matches!(commit(self.session, &set).await?, Verdict::Committed { .. }))
    }

    /// What an obstacle means: the caller's answer, or nothing if all must be done again.
    async fn meet(
        &mut self,
        obstacle: Obstacle,
        set: &WriteSet,
        places: &[usize],
    ) -> Result<Option<Answer>> {
        let unknown = || Error::new(ErrorKind::Internal, "an obstacle is in no row of its set");
        match obstacle {
            Obstacle::Check { .. } | Obstacle::Contended => Ok(None),
            Obstacle::Row { change, found } => {
                if found.is_some_and(|version| self.earlier.contains(&version)) {
                    return self.repeated().await.map(Some);
                }
                let place = *places.get(change).ok_or_else(unknown)?;
                let expect = set.changes.get(change).and_then(|change| change.expect);
                self.moved(place, expect, found)
            }
            Obstacle::Taken { change, index } => {
                let place = *places.get(change).ok_or_else(unknown)?;
                let collection = &self.work.rows.get(place)?.collection;
                let name = collection.indexes.get(index).map_or("", |index| index.name());
                let taken = Error::new(ErrorKind::Taken, "a unique value belongs to another row")
                    .with("collection", collection.name())
                    .with("index", name);
                Err(self.of_place(taken, place))
            }
            Obstacle::Counter { add, found } => self.uncounted(add, found).map(Some),
        }
    }

    /// A changed row is not what it was.
    fn moved(
        &self,
        place: usize,
        expect: Option<Expect>,
        found: Option<Version>,
    ) -> Result<Option<Answer>> {
        let row = self.work.rows.get(place)?;
        if !row.is_asked() {
            return Ok(None);
        }
        let whole = self.is_whole();
        let message = match expect {
            // Elsewhere what lies there may have moved although no row is there.
            Some(Expect::Absent) if whole || found.is_some() => "the row is already there",
            Some(Expect::Version(version)) if whole || found != Some(version) => {
                "the row does not have this version"
            }
            _ => return Ok(None),
        };
        let conflict =
            Error::new(ErrorKind::Conflict, message).with("collection", row.collection.name());
        Err(self.of_place(conflict, place))
    }

    /// A window is full, or a counter would overflow.
    fn uncounted(&self, add: usize, found: Found) -> Result<Answer> {
        let unknown = || Error::new(ErrorKind::Internal, "an obstacle is in no counter of its set");
        let of = self.work.adds.get(add).ok_or_else(unknown)?;
        let (step, row) = self.work.whose_add(add).ok_or_else(unknown)?;
        let name = of.collection.name();
        let error = match (found, of.window) {
            (Found::Full(total), Some(rule)) => {
                let remaining = rule.limit.saturating_sub(total.value).max(0);
                let resets_at = total.expires.unwrap_or(self.session.now);
                let alone = self.work.script.steps.get(step).map(|step| step.rows.number(row));
                if !self.work.script.is_atomic && alone == Some(None) {
                    return Ok(Answer::Window { allowed: false, remaining, resets_at });
                }
                Error::new(ErrorKind::Limited, "a window is full")
                    .with("collection", name)
                    .with("remaining", remaining)
                    .with("resets_at", resets_at)
            }
            _ => Error::new(ErrorKind::Overflow, "the counter would leave the range of `i64`")
                .with("collection", name),
        };
        Err(self.work.script.place(error, step, row))
    }

    fn of_place(&self, error: Error, place: usize) -> Error {
        match self.work.whose_row(place) {
            Some((step, row)) => self.work.script.place(error, step, row),
            None => error,
        }
    }
}

/// Whether a row has, or had lately, one of these versions.
fn was_made(row: &Row, by: &[CommitId]) -> bool {
    let earlier = row.trail.iter().flat_map(|trail| &trail.previous);
    row.version.iter().chain(earlier).any(|version| by.contains(version))
}

impl<'a> Script<'a> {
    /// The steps of a call.
    fn of(call: &'a Call<'_>, now: i64, makers: &'a super::ids::Makers<'_>) -> Result<Script<'a>> {
        match call.pattern.pattern.steps.is_empty() {
            true => Script::single(call, now, makers),
            false => Script::atomic(call, now, makers),
        }
    }
}

impl Work<'_> {
    /// The rows that steps change, as far as they are known; none where no id is made of them.
    fn keys_named(&self, ids: &CallIds<'_>) -> Result<Vec<&Key>> {
        if !ids.are_of_rows() {
            return Ok(Vec::new());
        }
        let steps = self.script.steps.iter().zip(&self.steps);
        let changes = steps.filter(|(step, _)| matches!(step.action, Action::Run(_)));
        let places = changes.flat_map(|(_, work)| &work.places);
        places.map(|place| self.rows.get(*place).map(|row| &row.key)).collect()
    }

    /// The last change of a row: the step, and the row of the step.
    fn whose_row(&self, place: usize) -> Option<(usize, usize)> {
        let steps = self.script.steps.iter().zip(&self.steps).enumerate().rev();
        let mut changes = steps.filter(|(_, (step, _))| matches!(step.action, Action::Run(_)));
        changes.find_map(|(number, (_, work))| {
            let row = work.places.iter().position(|own| *own == place)?;
            Some((number, row))
        })
    }
}

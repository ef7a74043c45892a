//! `take`: the first row of a group for which the condition holds, changed and returned.
//!
//! ```text
//! entries, in order, within what the condition bounds ─▶ rows ─▶ the first that fits ─▶ commit
//!    ▲                                                                                     │
//!    └── a pass that lost rows to others begins anew ◀── end of the group ◀── next ◀ lost ─┘
//! ```
//!
//! A candidate in other hands is passed over, not waited for. Only a pass that lost none may say
//! that there is nothing to take; too many lost ones, or too many that do not fit, are `busy`.

mod bounds;

use super::attempt::{begin, busy, indeterminate};
use super::ids::CallIds;
use super::owner::is_foreign;
use super::part::Part;
use super::row::RowState;
use super::update::changed;
use crate::change::WriteSet;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::holds;
use crate::protocol::{Obstacle, Verdict, commit, stored_entry_key};
use crate::request::answer::{Answer, Changed, Record};
use crate::request::inputs::{CallInputs, InputScope};
use crate::request::read::{Budget, Mark, Next, Reach, Walk};
use crate::request::{Call, Runtime};
use crate::schema::IndexSchema;
use crate::session::Session;
use crate::store::{CommitId, Key, Keyed, Row, limits};
use keyspace::model::Atomicity;
use std::sync::Arc;

/// Takes the first row that fits.
pub(super) async fn take(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let prepared = call.pattern;
    if call.id.is_some() && session.schema().kind().atomicity() == Atomicity::Group {
        // Only the row it took knows the id, and a call made again cannot tell which that was.
        let message = "a take cannot be made again by its id on this store: leave the id out";
        return Err(Error::new(ErrorKind::Unsupported, message).with("pattern", prepared.name()));
    }
    let inputs = CallInputs::new(call, session.now);
    let ids = CallIds::new(runtime, session, call);
    let makers = ids.makers(1);
    let missing = || Error::new(ErrorKind::Internal, "a take goes through no index");
    let part = Part {
        pattern: &prepared.pattern,
        collection: prepared.collection()?,
        shape: prepared.shape()?,
        filled: &prepared.filled,
        reads: true,
        around: None,
        ids: makers.of(0),
    };
    let Some(reach) = bounds::reach(prepared, &inputs)? else { return Err(part.is_missing()) };
    let taking = Taking {
        runtime,
        part: &part,
        position: prepared.index.ok_or_else(missing)?,
        index: prepared.index().ok_or_else(missing)?,
        inputs: &inputs,
        ids: &ids,
        reach,
    };
    taking.run(session).await
}

struct Taking<'a> {
    runtime: &'a Runtime,
    part: &'a Part<'a>,
    position: usize,
    index: &'a Arc<IndexSchema>,
    inputs: &'a CallInputs<'a>,
    ids: &'a CallIds<'a>,
    reach: Reach,
}

/// A stretch of the group.
struct Stretch {
    candidates: Vec<Keyed>,
    /// Where to go on; nothing at the end.
    next: Option<Mark>,
}

/// What became of a candidate.
enum Outcome {
    Taken(Box<Answer>),
    Lost,
    Unfit,
}

impl Taking<'_> {
    async fn run(&self, session: &mut Session<'_>) -> Result<Answer> {
        let mut tries = Tries { attempts: 0, lost: false };
        let mut mark = None;
        loop {
            tries.next(self.runtime, session).await?;
            let stretch = self.stretch(session, mark).await?;
            let rows = self.rows(session, &stretch.candidates).await?;
            let mut committed = false;
            for row in rows {
                if committed {
                    tries.next(self.runtime, session).await?;
                }
                match self.try_one(session, row, tries.attempts - 1).await? {
                    Outcome::Taken(answer) => return Ok(*answer),
                    Outcome::Lost => {
                        (committed, tries.lost) = (true, true);
                    }
                    Outcome::Unfit => {}
                }
            }
            mark = stretch.next;
            if mark.is_none() && !std::mem::take(&mut tries.lost) {
                return Err(self.part.is_missing());
            }
        }
    }

    /// The next candidates: live entries, in order.
    async fn stretch(&self, session: &mut Session<'_>, mark: Option<Mark>) -> Result<Stretch> {
        let rows = limits::TAKE_CANDIDATES_MAX;
        let scans = if self.index.key.slices.is_some() { limits::PAGE_SLICES_MAX } else { 1 };
        let budget = Budget { scans, rows };
        let shape = &self.index.key;
        let mut walk = Walk::new(shape, &self.reach, (false, mark), budget)?;
        let mut candidates = Vec::new();
        loop {
            match walk.next(session, rows).await? {
                Next::Row(entry) => {
                    walk.pass(&entry);
                    candidates.push(entry);
                }
                Next::End => return Ok(Stretch { candidates, next: None }),
                Next::Enough => {
                    return Ok(Stretch { candidates, next: walk.mark().cloned() });
                }
            }
        }
    }

    /// The rows of candidates that are there and still have the entry, each once.
    async fn rows(&self, session: &mut Session<'_>, found: &[Keyed]) -> Result<Vec<RowState>> {
        let collection = self.part.collection;
        let mut keys: Vec<Key> = Vec::new();
        let mut entries = Vec::new();
        for entry in found {
            let owner = entries::owner(collection, self.index, entry)?;
            if !keys.contains(&owner) {
                keys.push(owner);
                entries.push(entry);
            }
        }
        let mut states = Vec::with_capacity(keys.len());
        let rows = session.get(&keys).await?;
        for ((key, entry), row) in keys.into_iter().zip(entries).zip(rows) {
            let Some(row) = row.filter(|row| row.is_live(session.now)) else { continue };
            let segments = collection.key.decode(&key)?;
            let mut state = RowState::unread(collection, key, segments);
            let has = self.has_entry(&state, entry, &row)?;
            state.take_in(Some(row), session.now)?;
            if has {
                states.push(state);
            }
        }
        Ok(states)
    }

    /// Whether a row, as it now is, has an entry: it may have left the group since.
    fn has_entry(&self, state: &RowState, entry: &Keyed, row: &Row) -> Result<bool> {
        let collection = self.part.collection;
        let slots = collection.decode(&row.value)?;
        let held = entries::entries(collection, &state.segments, &slots)?;
        Ok(held
            .iter()
            .filter(|own| own.index == self.position)
            .any(|own| stored_entry_key(collection, own, row).as_ref() == Some(&entry.key)))
    }

    /// Changes a row if it fits.
    async fn try_one(
        &self,
        session: &mut Session<'_>,
        mut row: RowState,
        attempt: u64,
    ) -> Result<Outcome> {
        let part = self.part;
        let Some(stored) = row.content().cloned() else { return Ok(Outcome::Unfit) };
        if is_foreign(part.collection, part.filled, &stored.slots, self.inputs)? {
            return Ok(Outcome::Unfit);
        }
        if let Some(condition) = &part.pattern.condition
            && !holds(condition, &InputScope { inputs: self.inputs, row: Some(&row) })?
        {
            return Ok(Outcome::Unfit);
        }
        let (slots, expires) = changed(part, self.inputs, &row, stored, Vec::new())?;
        row.set(slots, expires)?;
        let set = WriteSet {
            id: self.ids.of_attempt(attempt, &[&row.key]),
            now: session.now,
            deadline: session.deadline,
            checks: Vec::new(),
            changes: row.change()?.into_iter().collect(),
            adds: Vec::new(),
        };
        match commit(session, &set).await? {
            Verdict::Committed { id, .. } => {
                self.judge_repeated(session, &row, id).await?;
                Ok(Outcome::Taken(Box::new(self.answer(&row, id))))
            }
            Verdict::Indeterminate { .. } => Err(indeterminate(self.ids.of_call())),
            Verdict::Obstacle(Obstacle::Taken { index, .. }) => {
                let name = part.collection.indexes.get(index).map_or("", |index| index.name());
                let message = "a unique value belongs to another row";
                Err(part.error(ErrorKind::Taken, message).with("index", name))
            }
            Verdict::Obstacle(_) => Ok(Outcome::Lost),
        }
    }

    /// A store that remembers the id of a call answers that it was committed, whichever row this
    /// one tries: the row itself says whether it is the one.
    async fn judge_repeated(
        &self,
        session: &mut Session<'_>,
        row: &RowState,
        id: CommitId,
    ) -> Result<()> {
        if !self.ids.is_given() {
            return Ok(());
        }
        let keys = [row.key.clone()];
        let now = session.store().get(&keys).await?.into_iter().next().flatten();
        if now.and_then(|row| row.version) == Some(id) {
            return Ok(());
        }
        let message = "a call with this id was made before, and took another row";
        Err(self.part.error(ErrorKind::Conflict, message).with("id", id))
    }

    fn answer(&self, row: &RowState, id: CommitId) -> Answer {
        let version = Some(id).filter(|_| row.collection.mode.has_version());
        let record = row.content().map(|content| Record {
            shape: self.part.shape.clone(),
            key: row.key.clone(),
            content: content.bytes.clone(),
            version,
            expires: content.expires,
        });
        Answer::Changed(Changed { key: row.key.clone(), version, row: record, existed: false })
    }
}

/// How often was tried, and whether a row was lost to another since the group was begun.
struct Tries {
    attempts: u64,
    lost: bool,
}

impl Tries {
    async fn next(&mut self, runtime: &Runtime, session: &mut Session<'_>) -> Result<()> {
        if self.attempts >= limits::TAKE_CANDIDATES_MAX {
            return Err(busy());
        }
        // Only after a lost race there is somebody to step aside for.
        let waits = if self.lost { self.attempts } else { 0 };
        begin(runtime, session, waits).await?;
        self.attempts += 1;
        Ok(())
    }
}

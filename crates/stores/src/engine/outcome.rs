//! Which batches were committed, for [`OUTCOME_KEPT`] at least.
//!
//! ```text
//! outcomes-6 (until it is older than anybody may ask)   outcomes-7 (in use)   outcomes-8 ...
//! id of a batch ─▶ number of its commit 8 │ its totals: value 8, expires 9 each
//! s ─────────────▶ number of the last commit in this table
//! ```
//!
//! Tables alternate and are dropped whole. Removing single outcomes would leave as many marks of
//! removal in the engine, which every later look-up would have to pass.

use super::error::{damaged, reading};
use super::layout;
use super::tables::Tables;
use super::witness::Witness;
use bytes::{Buf, BufMut};
use data::Result;
use data::clock::Milliseconds;
use data::store::{CommitId, OUTCOME_KEPT, Total};
use fjall::{Keyspace, OwnedWriteBatch};

/// The row with the number of a table's last commit. No id is so short.
const LAST: &[u8] = b"s";
const NAME: &str = "outcomes-";

/// The tables in use.
pub(super) struct Outcomes {
    tables: Tables,
    current: Keyspace,
    previous: Option<Keyspace>,
    state: State,
    /// Whether the state is to be written with the next commit.
    is_changed: bool,
}

/// What the table of rows says about the tables of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// The number in the current table's name.
    number: u64,
    /// When the first batch went into it, if any has.
    since: Option<Milliseconds>,
    /// The number of that batch's commit.
    first: u64,
}

impl State {
    fn encode(self) -> Vec<u8> {
        let mut stored = Vec::with_capacity(24);
        stored.put_u64(self.number);
        stored.put_i64(self.since.unwrap_or(Milliseconds::MIN));
        stored.put_u64(self.first);
        stored
    }

    fn decode(mut stored: &[u8]) -> Result<State> {
        let mut read = || {
            Ok::<_, bytes::TryGetError>(State {
                number: stored.try_get_u64()?,
                since: Some(stored.try_get_i64()?),
                first: stored.try_get_u64()?,
            })
        };
        read().map_err(|_| damaged("state of outcomes"))
    }
}

impl Outcomes {
    /// Opens the tables, and drops those that nobody may ask any more.
    pub(super) fn open(tables: &Tables) -> Result<Outcomes> {
        let stored = tables.own(&layout::OUTCOMES)?;
        let state = match &stored {
            Some(stored) => State::decode(stored)?,
            None => State { number: 1, since: None, first: 1 },
        };
        for name in tables.database.list_keyspace_names() {
            let number = name.strip_prefix(NAME).and_then(|number| number.parse::<u64>().ok());
            if number.is_some_and(|number| number > state.number || number + 1 < state.number) {
                tables.remove(&tables.table(&name)?)?;
            }
        }
        let before = name_of(state.number.saturating_sub(1));
        let previous = match tables.database.keyspace_exists(&before) {
            true => Some(tables.table(&before)?),
            false => None,
        };
        let current = tables.table(&name_of(state.number))?;
        Ok(Outcomes { tables: tables.clone(), current, previous, state, is_changed: false })
    }

    /// Whether the tables hold all that the witness says was acknowledged.
    pub(super) fn vouch(&self, witness: &Witness) -> Result<()> {
        if witness.sequence() >= self.state.first {
            witness.vouch("outcomes", last_of(&self.current)?, witness.sequence())?;
        }
        if let Some(previous) = &self.previous {
            let expected = witness.sequence().min(self.state.first.saturating_sub(1));
            witness.vouch("earlier outcomes", last_of(previous)?, expected)?;
        }
        Ok(())
    }

    /// What a batch came to, if it was committed and is remembered.
    pub(super) fn of(&self, id: &CommitId) -> Result<Option<Vec<Total>>> {
        let mut stored = self.current.get(id.as_bytes()).map_err(reading)?;
        if let (None, Some(previous)) = (&stored, &self.previous) {
            stored = previous.get(id.as_bytes()).map_err(reading)?;
        }
        stored.map(|stored| decode(&stored)).transpose()
    }

    /// Goes over to a new table if the current one is old enough. `sequence` is the number of the
    /// next commit, which happens at `now`.
    pub(super) fn advance(&mut self, now: Milliseconds, sequence: u64) -> Result<()> {
        let kept = Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX);
        let Some(since) = self.state.since else {
            self.state = State { since: Some(now), first: sequence, ..self.state };
            self.is_changed = true;
            return Ok(());
        };
        if now.saturating_sub(since) <= kept {
            return Ok(());
        }
        let state = State { number: self.state.number + 1, since: Some(now), first: sequence };
        let next = self.tables.table(&name_of(state.number))?;
        if let Some(forgotten) = &self.previous {
            // If this commit is lost in a crash, the table is missed by nobody: all in it is old.
            self.tables.remove(forgotten)?;
        }
        self.previous = Some(std::mem::replace(&mut self.current, next));
        self.state = state;
        self.is_changed = true;
        Ok(())
    }

    /// Adds what a batch came to, to be written with it.
    pub(super) fn remember(
        &self,
        written: &mut OwnedWriteBatch,
        id: CommitId,
        sequence: u64,
        totals: &[Total],
    ) {
        written.insert(&self.current, id.as_bytes(), encode(sequence, totals));
    }

    /// Whether another table is in use than was written down.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Adds the number of the last commit, to be written with it.
    pub(super) fn mark(&mut self, written: &mut OwnedWriteBatch, sequence: u64) {
        written.insert(&self.current, LAST, sequence.to_be_bytes());
        if std::mem::take(&mut self.is_changed) {
            written.insert(&self.tables.rows, layout::OUTCOMES, self.state.encode());
            if let Some(previous) = &self.previous {
                // Not every commit wrote its number there.
                let last = self.state.first.saturating_sub(1);
                written.insert(previous, LAST, last.to_be_bytes());
            }
        }
    }
}

fn name_of(number: u64) -> String {
    format!("{NAME}{number}")
}

fn last_of(table: &Keyspace) -> Result<u64> {
    let stored = table.get(LAST).map_err(reading)?;
    stored.map_or(Ok(0), |stored| layout::decode_number(&stored))
}

fn encode(sequence: u64, totals: &[Total]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(8 + totals.len() * 17);
    stored.put_u64(sequence);
    for total in totals {
        stored.put_i64(total.value);
        stored.put_u8(u8::from(total.expires.is_some()));
        stored.put_i64(total.expires.unwrap_or(0));
    }
    stored
}

fn decode(mut stored: &[u8]) -> Result<Vec<Total>> {
    let mut read = || {
        stored.try_get_u64()?;
        let mut totals = Vec::with_capacity(stored.len() / 17);
        while stored.has_remaining() {
            let value = stored.try_get_i64()?;
            let ends = stored.try_get_u8()? != 0;
            let expires = stored.try_get_i64()?;
            totals.push(Total { value, expires: ends.then_some(expires) });
        }
        Ok::<_, bytes::TryGetError>(totals)
    };
    read().map_err(|_| damaged("outcome"))
}

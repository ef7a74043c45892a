//! What a store in memory holds, without its lock: rows, outcomes, endings, the log.
//!
//! ```text
//! commit: known id? ─▶ judge ─▶ rows.insert, endings, log, outcome       all under one lock
//! ```

use super::log::Log;
use super::outcomes::Outcomes;
use crate::clock::Milliseconds;
use crate::error::Result;
use crate::schema::Schema;
use crate::store::judge::{Effect, detached};
use crate::store::limits::PAGE_BYTES_MAX;
use crate::store::{
    Batch, Changes, CommitId, End, Hold, Joined, Judgement, Key, Keyed, Outcome, Page, Position,
    Row, Scan, Through, Total, judge,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// How long after its end a row with a trail stays: the protocol over group-atomic stores still
/// asks for its version when it frees what belonged to it.
const TRAIL_KEPT: Milliseconds = 24 * 60 * 60 * 1_000;

/// The content of a store in memory.
#[derive(Debug)]
pub(super) struct Rows {
    rows: BTreeMap<Key, Row>,
    outcomes: Outcomes,
    /// When each row that ends may go.
    endings: BTreeSet<(Milliseconds, Key)>,
    log: Log,
    hold: Hold,
    /// The catalogue as it is kept.
    pub(super) catalogue: Option<Vec<u8>>,
    /// What the store was made ready for.
    pub(super) schema: Option<Arc<Schema>>,
}

impl Rows {
    pub(super) fn new(log_rows: usize) -> Self {
        Rows {
            rows: BTreeMap::new(),
            outcomes: Outcomes::default(),
            endings: BTreeSet::new(),
            log: Log::new(log_rows),
            hold: Hold::Open,
            catalogue: None,
            schema: None,
        }
    }

    /// Whether the space with this number has no rows.
    pub(super) fn has_none(&self, space: u16) -> bool {
        let start = space.to_be_bytes();
        let next =
            self.rows.range::<[u8], _>((Bound::Included(start.as_slice()), Bound::Unbounded));
        next.take(1).all(|(key, _)| key.space() != space)
    }

    pub(super) fn get(&self, keys: &[Key]) -> Vec<Option<Row>> {
        keys.iter().map(|key| self.rows.get(key).cloned()).collect()
    }

    pub(super) fn scan(&self, scan: &Scan) -> Result<Page> {
        let mut rows = Vec::new();
        let end = self.each(scan, &mut |key, row| {
            rows.push(Keyed { key: key.clone(), row: row.clone() });
            Ok(true)
        })?;
        Ok(Page { rows, end })
    }

    pub(super) fn each(&self, scan: &Scan, show: &mut Show<'_>) -> Result<End> {
        if scan.range.is_empty() {
            return Ok(End::Range);
        }
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&scan.range.start), Bound::Excluded(&scan.range.end));
        let found = self.rows.range::<[u8], _>(bounds);
        match scan.reverse {
            false => each(found, scan.rows, show),
            true => each(found.rev(), scan.rows, show),
        }
    }

    pub(super) fn scan_through(&self, through: &Through<'_>) -> Result<Joined> {
        through.join(self.scan(through.scan)?, |key| Ok(self.rows.get(key).cloned()))
    }

    pub(super) fn commit(&mut self, batch: &Batch) -> Result<Outcome> {
        if let Some(totals) = self.outcomes.of(&batch.id) {
            return Ok(Outcome::Committed { totals: totals.to_vec() });
        }
        if let Some(refusal) = self.hold.refusal() {
            return Err(refusal);
        }
        match judge(batch, |key| Ok(self.rows.get(key).cloned()))? {
            Judgement::Conflict(conflict) => Ok(Outcome::Conflict(conflict)),
            Judgement::Commit { effects, totals } => {
                self.apply(batch.id, effects);
                self.remember(batch, &totals);
                Ok(Outcome::Committed { totals })
            }
        }
    }

    /// From now on the outcome of every batch is forgotten at once, unless it has totals.
    pub(super) fn forget_outcomes(&mut self) {
        self.outcomes.forgets = true;
    }

    /// Whether a batch was committed.
    pub(super) fn is_committed(&self, id: &CommitId) -> bool {
        self.outcomes.of(id).is_some()
    }

    /// Remembers that a batch was committed.
    pub(super) fn remember(&mut self, batch: &Batch, totals: &[Total]) {
        self.outcomes.remember(batch.id, batch.now, totals);
    }

    /// Makes rows what a commit says they are.
    pub(super) fn apply(&mut self, id: CommitId, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        let effects: Vec<Effect> = effects.into_iter().map(detached).collect();
        let keys = effects.iter().map(|(key, _)| key.clone()).collect();
        for (key, row) in effects {
            let end = row.as_ref().and_then(may_go);
            let before = match row {
                Some(row) => self.rows.insert(key.clone(), row),
                None => self.rows.remove(&key),
            };
            let end_before = before.as_ref().and_then(may_go);
            if end == end_before {
                continue;
            }
            if let Some(at) = end_before {
                self.endings.remove(&(at, key.clone()));
            }
            if let Some(at) = end {
                self.endings.insert((at, key));
            }
        }
        self.log.push(id, keys);
    }

    /// Takes writes or not, and says which commit was the last.
    pub(super) fn hold(&mut self, hold: Hold) -> Result<Position> {
        self.hold = self.hold.then(hold)?;
        Ok(self.log.last())
    }

    /// The last commit.
    pub(super) fn last(&self) -> Position {
        self.log.last()
    }

    pub(super) fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        self.log.after(since, rows)
    }

    /// A row that went by its end is no change: it was absent before.
    pub(super) fn sweep(&mut self, now: Milliseconds, rows: usize) -> usize {
        let mut gone = 0;
        while gone < rows && self.endings.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.endings.pop_first() {
                self.rows.remove(&key);
                gone += 1;
            }
        }
        gone
    }
}

/// When a row may be let go.
fn may_go(row: &Row) -> Option<Milliseconds> {
    let kept = if row.trail.is_some() { TRAIL_KEPT } else { 0 };
    row.expires.map(|expires| expires.saturating_add(kept))
}

/// What is shown rows, and says whether it wants more.
type Show<'s> = dyn FnMut(&Key, &Row) -> Result<bool> + 's;

fn each<'r>(
    found: impl Iterator<Item = (&'r Key, &'r Row)>,
    rows_max: usize,
    show: &mut Show<'_>,
) -> Result<End> {
    let (mut rows, mut bytes) = (0, 0);
    for (key, row) in found {
        rows += 1;
        bytes += key.bytes().len() + row.weight();
        let is_more = show(key, row)?;
        if rows == rows_max || !is_more {
            return Ok(End::Rows);
        }
        if bytes >= PAGE_BYTES_MAX {
            return Ok(End::Bytes);
        }
    }
    Ok(End::Range)
}

//! Writes that are judged by what is there: one lightweight transaction of one partition.
//!
//! ```text
//! rows as the caller read them ─▶ UPDATE … IF _v = seen ─▶ applied            (no read before it)
//! otherwise   read ─▶ judge ─▶ UPDATE … IF _v = seen, for every row that was looked at
//!                      ▲                    ├─ applied       ─▶ committed
//!                      └────────────────────┴─ not applied, or no reply: what do the rows say?
//! ```
//!
//! Each row says which commits wrote it, so that a commit whose reply was lost is found, and one
//! that is sent again is answered as before. A row that is only checked is written its own version
//! again: a transaction compares what it writes.
//!
//! Versions never come back, so a transaction that was sent with versions that have passed can
//! never be applied any more, however late it arrives.

use super::Ready;
use super::client::{Bound, Fault, Way, is_applied};
use super::found::Found;
use super::read::get_found;
use super::tables::Table;
use super::time::{GRACE, life};
use super::tries::pause;
use super::uuids;
use super::value::{self, Cell};
use super::view::View;
use data::store::judge::Effect;
use data::store::{
    Batch, Expect, Judgement, Key, Outcome, Row, Total, Trail, Version, Write, judge,
};
use data::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;

/// The version each row had when a transaction was made; nothing where there was no row.
type Seen = HashMap<Key, Option<Version>>;

/// What became of a transaction.
enum Sent {
    Applied,
    NotApplied,
    Unsent(Error),
    Lost,
}

/// Commits a batch of one partition.
pub(super) async fn commit(ready: &Ready, batch: &Batch, until: Instant) -> Result<Outcome> {
    let mut commit = Commit { ready, batch, until, lost: Vec::new() };
    // An error here says that nothing was done.
    if let Some((seen, effects)) = commit.known()
        && let Some(outcome) = commit.send(&seen, &effects, &HashMap::new(), Vec::new()).await?
    {
        return Ok(outcome);
    }
    let mut tries = 0;
    loop {
        match commit.judge().await {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            // What was sent before may be there: only the rows can tell, once they can be read.
            Err(_) if !commit.lost.is_empty() => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        if !pause(batch.id, tries, until).await {
            return commit.give_up();
        }
    }
}

struct Commit<'c> {
    ready: &'c Ready,
    batch: &'c Batch,
    until: Instant,
    /// What transactions saw that may yet be applied.
    lost: Vec<Seen>,
}

impl Commit<'_> {
    /// What the caller has seen of every row, where that is enough: each write has its check and
    /// says all that the row is to be.
    fn known(&self) -> Option<(Seen, Vec<Effect>)> {
        let mut seen = Seen::new();
        for check in &self.batch.checks {
            let version = match check.expect {
                Expect::Physical(version) => version,
                // What is not there at all is absent; whatever else may be is looked at below.
                Expect::Absent => None,
                Expect::Present | Expect::Version(_) => return None,
            };
            seen.insert(check.key.clone(), version);
        }
        let mut effects = Vec::with_capacity(self.batch.writes.len());
        for write in &self.batch.writes {
            let view = self.ready.tables.of(write.key()).ok()?;
            seen.get(write.key())?;
            effects.push(match write {
                Write::Put { key, value, expires, versioned, trail: Some(trail) } => {
                    let (version, trail) =
                        (versioned.then_some(self.batch.id), Some(trail.clone()));
                    (
                        key.clone(),
                        Some(Row { value: value.clone(), version, expires: *expires, trail }),
                    )
                }
                Write::Delete { key } if !view.table.leaves_memory => (key.clone(), None),
                _ => return None,
            });
        }
        (!effects.is_empty()).then_some((seen, effects))
    }

    /// Reads what the batch looks at, judges it and sends it; nothing if it has to be done again.
    async fn judge(&mut self) -> Result<Option<Outcome>> {
        let keys = self.keys();
        let found = get_found(self.ready, &keys, self.until).await?;
        let found: HashMap<Key, Found> = keys.into_iter().zip(found).collect();
        if let Some(outcome) = self.remembered(&found) {
            return Ok(Some(outcome));
        }
        if self.lost.iter().any(|seen| !is_settled(self.batch, seen, &found)) {
            // It may have been applied, and so often overwritten that no row remembers it.
            return Ok(Some(Outcome::Indeterminate { id: self.batch.id }));
        }
        let current = |key: &Key| Ok(found.get(key).and_then(|found| found.row.clone()));
        let (effects, totals) = match judge(self.batch, current)? {
            Judgement::Conflict(conflict) => return Ok(Some(Outcome::Conflict(conflict))),
            Judgement::Commit { effects, totals } => (effects, totals),
        };
        if effects.is_empty() {
            return Ok(Some(Outcome::Committed { totals }));
        }
        let seen = found.iter().map(|(key, found)| (key.clone(), found.version)).collect();
        self.send(&seen, &effects, &found, totals).await
    }

    /// Every row that the batch looks at or writes, once.
    fn keys(&self) -> Vec<Key> {
        let checks = self.batch.checks.iter().map(|check| &check.key);
        let mut keys: Vec<Key> =
            checks.chain(self.batch.writes.iter().map(Write::key)).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The outcome of a batch that was committed before.
    fn remembered(&self, found: &HashMap<Key, Found>) -> Option<Outcome> {
        let id = self.batch.id;
        let mut written = self.batch.writes.iter().filter_map(|write| found.get(write.key()));
        if !written.any(|found| found.remembers(id)) {
            return None;
        }
        let mut totals = Vec::new();
        for (number, write) in self.batch.writes.iter().enumerate() {
            let Write::Add { key, .. } = write else { continue };
            let Some(last) = found.get(key).and_then(|found| found.total_of(id)) else {
                return Some(Outcome::Indeterminate { id });
            };
            // The row knows what all additions of the batch came to.
            let later = self.batch.writes.iter().skip(number + 1);
            let later = later.filter_map(|write| match write {
                Write::Add { key: other, amount, .. } if other == key => Some(*amount),
                _ => None,
            });
            let value = later.fold(last.value, i64::wrapping_sub);
            totals.push(Total { value, expires: last.expires });
        }
        Some(Outcome::Committed { totals })
    }

    /// Sends a transaction; nothing if what it saw has passed, or it is not known.
    async fn send(
        &mut self,
        seen: &Seen,
        effects: &[Effect],
        found: &HashMap<Key, Found>,
        totals: Vec<Total>,
    ) -> Result<Option<Outcome>> {
        match self.try_send(seen, effects, found).await? {
            Sent::Applied => Ok(Some(Outcome::Committed { totals })),
            Sent::NotApplied => Ok(None),
            Sent::Unsent(error) if self.lost.is_empty() && Instant::now() >= self.until => {
                Err(error)
            }
            Sent::Unsent(_) => Ok(None),
            Sent::Lost => {
                self.lost.push(seen.clone());
                Ok(None)
            }
        }
    }

    async fn try_send(
        &self,
        seen: &Seen,
        effects: &[Effect],
        found: &HashMap<Key, Found>,
    ) -> Result<Sent> {
        let mut bound = Vec::with_capacity(seen.len());
        for (key, row) in effects {
            let version = seen.get(key).copied().flatten();
            bound.push(self.write(key, row.as_ref(), version, found.get(key)).await);
        }
        let is_written = |key: &Key| effects.iter().any(|(written, _)| written == key);
        for (key, version) in seen.iter().filter(|(key, _)| !is_written(key)) {
            bound.push(self.check(key, *version, found.get(key)).await);
        }
        let sent = match bound.into_iter().collect::<Result<Vec<Bound>, Fault>>() {
            Ok(bound) => self.ready.client.send_together(&bound, Way::Judged, self.until).await,
            // Nothing was sent yet.
            Err(Fault::Lost(error)) => Err(Fault::Unsent(error)),
            Err(fault) => Err(fault),
        };
        match sent {
            Ok(answer) => Ok(match is_applied(answer)? {
                true => Sent::Applied,
                false => Sent::NotApplied,
            }),
            Err(Fault::Refused(error)) => Err(error),
            Err(Fault::Unsent(error)) => Ok(Sent::Unsent(error)),
            Err(Fault::Lost(_)) => Ok(Sent::Lost),
        }
    }

    async fn write(
        &self,
        key: &Key,
        row: Option<&Row>,
        version: Option<Version>,
        before: Option<&Found>,
    ) -> Result<Bound, Fault> {
        let (ready, batch) = (self.ready, self.batch);
        let view = ready.tables.of(key).map_err(Fault::Refused)?;
        let cells = view.key_cells(key).map_err(Fault::Refused)?;
        let judged = version.map_or(Cell::Null, |version| value::uuid(version.as_bytes()));
        if row.is_none() && !view.table.leaves_memory {
            let statement = ready.client.prepare(&delete(&view.table)?, Way::Judged).await?;
            return Ok((statement, [cells, vec![judged]].concat()));
        }
        uuids::check(ready, view, &cells, self.until).await?;
        let nothing = Found::default();
        let before = before.unwrap_or(&nothing);
        let values = view.value_cells(key, row, batch.id, before).map_err(Fault::Refused)?;
        let life = match row {
            Some(row) => life(row.expires, batch.now, true),
            None => GRACE,
        };
        let statement = ready.client.prepare(&update(&view.table)?, Way::Judged).await?;
        Ok((statement, [vec![seconds(life)], values, cells, vec![judged]].concat()))
    }

    /// The comparison of a row that is not written.
    async fn check(
        &self,
        key: &Key,
        version: Option<Version>,
        found: Option<&Found>,
    ) -> Result<Bound, Fault> {
        let view: &Arc<View> = self.ready.tables.of(key).map_err(Fault::Refused)?;
        let cells = view.key_cells(key).map_err(Fault::Refused)?;
        let judged = version.map_or(Cell::Null, |version| value::uuid(version.as_bytes()));
        let is_there = found.is_some_and(|found| found.row.is_some());
        let life = match is_there {
            true => life(found.and_then(Found::expires), self.batch.now, true),
            false => GRACE,
        };
        let statement = self.ready.client.prepare(&compare(&view.table)?, Way::Judged).await?;
        Ok((statement, [vec![seconds(life), judged.clone()], cells, vec![judged]].concat()))
    }

    /// The end of a commit that found no end.
    fn give_up(&self) -> Result<Outcome> {
        match self.lost.is_empty() {
            false => Ok(Outcome::Indeterminate { id: self.batch.id }),
            true => Err(Error::new(
                ErrorKind::Unavailable,
                "others write the same group so often that this commit did not get through",
            )),
        }
    }
}

/// Whether the rows say that a transaction was not applied so far, or never can be. They do if a
/// row that it would have written still has the version it saw, or remembers that version and not
/// the transaction.
fn is_settled(batch: &Batch, seen: &Seen, found: &HashMap<Key, Found>) -> bool {
    batch.writes.iter().any(|write| {
        let (Some(seen), Some(now)) = (seen.get(write.key()), found.get(write.key())) else {
            return false;
        };
        match seen {
            _ if *seen == now.version => true,
            Some(version) => now.previous.contains(version),
            // It was not there; all that was since is known while the list is short.
            None => now.previous.len() < Trail::PREVIOUS_MAX,
        }
    })
}

fn seconds(life: i64) -> Cell {
    value::int(usize::try_from(life).unwrap_or(0))
}

fn judged(table: &Table) -> Result<&str, Fault> {
    let column = table.version.and_then(|place| table.columns.get(place));
    column.map(|column| column.name.as_str()).ok_or_else(|| {
        let message = "a table that is written conditionally has no versions";
        Fault::Refused(Error::new(ErrorKind::Internal, message).with("table", &table.name))
    })
}

fn update(table: &Table) -> Result<String, Fault> {
    let values = table.columns.get(table.key()..).unwrap_or_default().iter();
    let set: Vec<String> = values.map(|column| format!("{} = ?", column.name)).collect();
    Ok(format!(
        "UPDATE {} USING TTL ? SET {} WHERE {} IF {} = ?",
        table.name,
        set.join(", "),
        table.equal(0..table.key()),
        judged(table)?,
    ))
}

fn compare(table: &Table) -> Result<String, Fault> {
    let (version, key) = (judged(table)?, table.equal(0..table.key()));
    Ok(format!("UPDATE {} USING TTL ? SET {version} = ? WHERE {key} IF {version} = ?", table.name))
}

fn delete(table: &Table) -> Result<String, Fault> {
    let (version, key) = (judged(table)?, table.equal(0..table.key()));
    Ok(format!("DELETE FROM {} WHERE {key} IF {version} = ?", table.name))
}

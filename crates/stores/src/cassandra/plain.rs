//! Writes of rows that no write looks at: one LOGGED BATCH, with a timestamp of its own.
//!
//! ```text
//! batch ─▶ INSERT … USING TIMESTAMP t, DELETE … USING TIMESTAMP t ─▶ all of them, now or soon
//! ```
//!
//! The same batch has the same timestamp, so it may be sent as often as it takes. A table that is
//! written like this is never written conditionally: the two clocks would not agree.

use super::Ready;
use super::client::{Bound, Fault, Way};
use super::found::Found;
use super::time::{life, of_attempt};
use super::tries::pause;
use super::uuids;
use super::value::{self, Cell};
use super::view::View;
use data::store::{Batch, CommitId, Key, Outcome, Row, Write};
use data::{Error, ErrorKind, Result};
use scylla::statement::prepared::PreparedStatement;
use std::sync::{Arc, OnceLock};
use tokio::time::Instant;

/// Writes a batch, which may be one that was never sent.
pub(super) async fn commit(
    ready: &Ready,
    (batch, is_new): (&Batch, bool),
    until: Instant,
) -> Result<Outcome> {
    let stamp = if is_new { ready.stamps.of_new(batch) } else { ready.stamps.of(batch) };
    let (mut tries, mut may_be_there) = (0, false);
    loop {
        let fault = match send(ready, batch, stamp, until).await {
            Ok(()) => return Ok(Outcome::Committed { totals: Vec::new() }),
            Err(Fault::Refused(error)) => return Err(error),
            Err(Fault::Unsent(error)) => error,
            Err(Fault::Lost(error)) => {
                may_be_there = true;
                error
            }
        };
        tries += 1;
        if !pause(batch.id, tries, until).await {
            return match may_be_there {
                true => Ok(Outcome::Indeterminate { id: batch.id }),
                false => Err(fault),
            };
        }
    }
}

async fn send(ready: &Ready, batch: &Batch, stamp: i64, until: Instant) -> Result<(), Fault> {
    if let [write] = batch.writes.as_slice() {
        let bound = bound(ready, (batch, write), stamp, until).await?;
        return ready.client.send(&bound, until).await.map(drop);
    }
    let mut all: Vec<Bound> = Vec::with_capacity(batch.writes.len());
    for write in &batch.writes {
        all.push(bound(ready, (batch, write), stamp, until).await?);
    }
    ready.client.send_together(&all, Way::Stamped, until).await.map(drop)
}

/// The statement of one write, with its values.
async fn bound(
    ready: &Ready,
    (batch, write): (&Batch, &Write),
    stamp: i64,
    until: Instant,
) -> Result<Bound, Fault> {
    let view = ready.tables.of(write.key()).map_err(Fault::Refused)?;
    let stamp = stamp_of(view, write, stamp);
    match write {
        Write::Put { key, expires, .. } => {
            let mut cells = Vec::with_capacity(view.table.columns.len() + 2);
            view.add_key_cells(key, &mut cells).map_err(Fault::Refused)?;
            uuids::check(ready, view, &cells, until).await?;
            add_rest(view, (key, &mut cells), write, (batch, stamp)).map_err(Fault::Refused)?;
            let [lasting, ending] = &view.inserts;
            let known = if expires.is_some() { ending } else { lasting };
            let insert = match known.get() {
                Some(known) => known.clone(),
                None => Box::pin(insert(ready, view, expires.is_some(), known)).await?,
            };
            Ok((insert, cells))
        }
        Write::Delete { key } => {
            let mut cells = vec![value::big(stamp)];
            view.add_key_cells(key, &mut cells).map_err(Fault::Refused)?;
            let prepared = Box::pin(ready.client.prepare(&delete(view), Way::Stamped)).await?;
            Ok((prepared, cells))
        }
        Write::Add { .. } => Err(Fault::Refused(uncounted())),
    }
}

/// The timestamp of a write: an entry with an attempt has that of the attempt, whoever writes it
/// and however late.
fn stamp_of(view: &View, write: &Write, stamp: i64) -> i64 {
    if !view.has_attempt {
        return stamp;
    }
    let bytes = write.key().bytes();
    let attempt = bytes.last_chunk::<16>().map(|bytes| CommitId::from_stored(*bytes));
    let stamp = attempt.map_or(stamp, of_attempt);
    stamp + i64::from(matches!(write, Write::Delete { .. }))
}

/// Adds what a statement that puts a row has behind the cells of the key.
fn add_rest(
    view: &View,
    (key, cells): (&Key, &mut Vec<Cell>),
    write: &Write,
    (batch, stamp): (&Batch, i64),
) -> Result<()> {
    let Write::Put { value, expires, trail, .. } = write else { return Err(uncounted()) };
    let is_alone = expires.is_none() && trail.is_none();
    if !is_alone || !view.add_field_cells(value, cells)? {
        let (value, trail) = (value.clone(), trail.clone());
        let row = Row { value, version: None, expires: *expires, trail };
        let first = cells.len();
        view.add_value_cells((key, Some(&row)), batch.id, &Found::default(), cells)?;
        if view.is_written_once {
            // Under a new key there is nothing to take away.
            let nulls = cells.iter_mut().skip(first).filter(|cell| **cell == Cell::Null);
            nulls.for_each(|cell| *cell = Cell::Unset);
        }
    }
    cells.push(value::big(stamp));
    if expires.is_some() {
        cells.push(value::int(usize::try_from(life(*expires, batch.now, false)).unwrap_or(0)));
    }
    Ok(())
}

/// The statement that puts a row, made once for those that end and once for the others.
async fn insert(
    ready: &Ready,
    view: &View,
    ends: bool,
    known: &OnceLock<Arc<PreparedStatement>>,
) -> Result<Arc<PreparedStatement>, Fault> {
    let table = &view.table;
    let marks = vec!["?"; table.columns.len()].join(", ");
    let names = table.names(0..table.columns.len());
    let life = if ends { " AND TTL ?" } else { "" };
    let text =
        format!("INSERT INTO {} ({names}) VALUES ({marks}) USING TIMESTAMP ?{life}", table.name);
    let prepared = ready.client.prepare(&text, Way::Stamped).await?;
    Ok(known.get_or_init(|| prepared).clone())
}

fn delete(view: &View) -> String {
    let table = &view.table;
    format!("DELETE FROM {} USING TIMESTAMP ? WHERE {}", table.name, table.equal(0..table.key()))
}

fn uncounted() -> Error {
    Error::new(ErrorKind::Internal, "a row that counts lies in a table that is written plainly")
}

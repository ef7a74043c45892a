//! Rows that have ended are removed, with the entries that end with them.
//!
//! ```text
//! ended rows of a table, by their end ─▶ gone ─▶ their entries, made from the rows ─▶ gone
//! ```
//!
//! A row or entry is removed only if it has ended in the very statement that removes it, so no lock
//! is needed: what was put there meanwhile stays. Claims are swept by themselves, because a record
//! that was written anew over an ended one leaves the claims of the ended one behind.

use super::Ready;
use super::connection::{Lease, Request};
use super::error::Fault;
use super::steps::{Step, takes};
use super::tables::Table;
use super::value::Native;
use data::clock::Milliseconds;
use data::schema::Space;
use data::store::{Key, Keyed, OUTCOME_KEPT};
use data::{Result, entries};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Rows removed in one transaction.
const ROWS_AT_ONCE: usize = 500;
/// Outcomes forgotten by one statement.
const OUTCOMES_AT_ONCE: i64 = 5_000;
/// Such statements of one sweep: a million outcomes, what 100,000 commits a second leave behind
/// from one sweep to the next.
const FORGETS_MAX: usize = 200;
/// How long one transaction or statement may take.
const SWEEP_WITHIN: Duration = Duration::from_secs(20);

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Removes rows that ended at or before `now`, and says how many.
pub(super) async fn sweep(ready: &Ready, now: Milliseconds, rows: usize) -> Result<usize> {
    let mut gone = 0;
    for table in &ready.tables.swept {
        while gone < rows {
            let most = (rows - gone).min(ROWS_AT_ONCE);
            let swept = table_once(ready, table, now, most).await;
            let swept = swept.map_err(Fault::into_error)?;
            gone += swept;
            if swept < most {
                break;
            }
        }
    }
    forget(ready, now).await.map_err(Fault::into_error)?;
    Ok(gone)
}

async fn table_once(
    ready: &Ready,
    table: &Arc<Table>,
    now: Milliseconds,
    rows: usize,
) -> Result<usize, Fault> {
    let Some(sweep) = &table.sweep else { return Ok(0) };
    let until = Instant::now() + SWEEP_WITHIN;
    let mut lease = ready.pool.lease(until).await.map_err(Fault::Lost)?;
    let most = i64::try_from(rows).unwrap_or(i64::MAX);
    let values = vec![Native::instant(now), Native::I64(most)];
    let statement = lease.statement(&sweep.rows).await?;
    let requests = vec![Request::Plain(BEGIN), Request::Prepared(statement, values)];
    let answers = lease.send(requests, until).await?;
    let found = answers.into_iter().nth(1).unwrap_or_default();
    let mut requests = Vec::new();
    for row in &found {
        let keyed = table.keyed(row).map_err(Fault::Refused)?;
        for key in entries_of(ready, &keyed).map_err(Fault::Refused)? {
            end(ready, &mut lease, &key, now, &mut requests).await?;
        }
    }
    requests.push(Request::Plain("COMMIT"));
    lease.send(requests, until).await?;
    lease.give_back();
    Ok(found.len())
}

/// The keys of a row's entries, claims left out.
fn entries_of(ready: &Ready, keyed: &Keyed) -> Result<Vec<Key>> {
    let Space::Rows(collection) = ready.tables.schema.space(keyed.key.space())? else {
        return Ok(Vec::new());
    };
    if collection.indexes.is_empty() || !takes(Step::Entries) {
        return Ok(Vec::new());
    }
    let segments = collection.key.decode(&keyed.key)?;
    let slots = collection.decode(&keyed.row.value)?;
    let mut entries = entries::entries(collection, &segments, &slots)?;
    entries.retain(|entry| {
        collection.indexes.get(entry.index).is_some_and(|index| !index.model.unique)
    });
    Ok(entries.into_iter().map(|entry| entry.key).collect())
}

async fn end(
    ready: &Ready,
    lease: &mut Lease,
    key: &Key,
    now: Milliseconds,
    requests: &mut Vec<Request<'_>>,
) -> Result<(), Fault> {
    let table = ready.tables.of(key).map_err(Fault::Refused)?;
    let Some(sweep) = &table.sweep else { return Ok(()) };
    let values = table.values_of(key).map_err(Fault::Refused)?;
    let mut values: Vec<Native<'static>> = values.into_iter().map(Native::into_owned).collect();
    values.push(Native::instant(now));
    requests.push(Request::Prepared(lease.statement(&sweep.ended).await?, values));
    Ok(())
}

/// Forgets outcomes that nobody may ask for any more, until there are none.
async fn forget(ready: &Ready, now: Milliseconds) -> Result<(), Fault> {
    let Some(calls) = &ready.tables.calls else { return Ok(()) };
    let kept = Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX);
    let before = now.saturating_sub(kept);
    for _ in 0..FORGETS_MAX {
        let until = Instant::now() + SWEEP_WITHIN;
        let mut lease = ready.pool.lease(until).await.map_err(Fault::Lost)?;
        let statement = lease.statement(&calls.forget).await?;
        let values = vec![Native::instant(before), Native::I64(OUTCOMES_AT_ONCE)];
        let answers = lease.send(vec![Request::Prepared(statement, values)], until).await?;
        lease.give_back();
        let Some(row) = answers.first().and_then(|rows| rows.first()) else { break };
        let gone: i64 = row.try_get(0)?;
        if gone < OUTCOMES_AT_ONCE {
            break;
        }
    }
    Ok(())
}

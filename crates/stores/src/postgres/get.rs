//! Rows by their keys, all of one call as one snapshot.
//!
//! ```text
//! one row ─▶ one statement, on a connection that others use meanwhile
//! rows of one table ─▶ one statement       of several ─▶ one transaction, sent at once
//! ```

use super::Ready;
use super::connection::{Lease, Request};
use super::error::Fault;
use super::read::Tries;
use super::shared::SMALL;
use super::steps::{Step, takes};
use super::tables::Table;
use super::value::Native;
use data::store::{Key, Row};
use data::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// Statements of one transaction see one state.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Keys of one table, each with its place in the answer.
struct Wanted<'k> {
    table: &'k Arc<Table>,
    keys: Vec<&'k Key>,
    places: Vec<usize>,
}

/// The rows under these keys, in their order.
pub(super) async fn get(ready: &Ready, keys: &[Key]) -> Result<Vec<Option<Row>>> {
    match keys {
        [] => return Ok(Vec::new()),
        [key] => return Ok(vec![one(ready, key).await?]),
        _ => {}
    }
    let wanted = by_table(ready, keys)?;
    let mut tries = Tries::new();
    loop {
        let mut lease = ready.pool.lease(tries.until).await?;
        match get_once(&mut lease, &wanted, keys.len(), tries.until).await {
            Ok(rows) => {
                lease.give_back();
                return Ok(rows);
            }
            Err(fault) => tries.failed(fault)?,
        }
    }
}

/// The row under a key.
async fn one(ready: &Ready, key: &Key) -> Result<Option<Row>> {
    let table = ready.tables.of(key)?;
    let values = table.values_of(key)?;
    let mut tries = Tries::new();
    loop {
        match found(ready, (table, &values), tries.until).await {
            Ok(found) => return found.map(|found| table.row(key, &found, 0)).transpose(),
            Err(fault) => tries.failed(fault)?,
        }
    }
}

/// The one row with these values: on a connection that is shared, as long as its table has shown
/// none that is large.
async fn found(
    ready: &Ready,
    (table, values): (&Table, &[Native<'_>]),
    until: Instant,
) -> Result<Option<tokio_postgres::Row>, Fault> {
    let statement = (&table.get, values);
    if !table.is_large.load(Ordering::Relaxed)
        && let Some(found) = ready.pool.shared_row(statement, until).await
    {
        if let Ok(Some(row)) = &found
            && row.raw_size_bytes() > SMALL
        {
            table.is_large.store(true, Ordering::Relaxed);
        }
        return found;
    }
    let mut lease = ready.pool.lease(until).await.map_err(Fault::Refused)?;
    let mut row = None;
    let take = |found| {
        row = Some(found);
        Ok(true)
    };
    lease.read(statement, until, take).await?;
    lease.give_back();
    Ok(row)
}

fn by_table<'k>(ready: &'k Ready, keys: &'k [Key]) -> Result<Vec<Wanted<'k>>> {
    let mut wanted: Vec<Wanted<'k>> = Vec::new();
    let mut known: HashMap<u16, usize> = HashMap::new();
    for (place, key) in keys.iter().enumerate() {
        let number = *known.entry(key.space()).or_insert(wanted.len());
        if number == wanted.len() {
            let table = ready.tables.of(key)?;
            wanted.push(Wanted { table, keys: Vec::new(), places: Vec::new() });
        }
        if let Some(wanted) = wanted.get_mut(number) {
            wanted.keys.push(key);
            wanted.places.push(place);
        }
    }
    Ok(wanted)
}

async fn get_once(
    lease: &mut Lease,
    wanted: &[Wanted<'_>],
    count: usize,
    until: Instant,
) -> Result<Vec<Option<Row>>, Fault> {
    let mut requests = Vec::new();
    for wanted in wanted {
        wanted.requests(lease, &mut requests).await?;
    }
    if !takes(Step::Snapshot) {
        // One after the other, so that others come between them for certain.
        let mut answers = Vec::new();
        for request in requests {
            answers.extend(lease.send(vec![request], until).await?);
        }
        return taken(wanted, answers.into_iter(), count);
    }
    let alone = requests.len() == 1;
    if !alone {
        requests.insert(0, Request::Plain(SNAPSHOT));
        requests.push(Request::Plain("COMMIT"));
    }
    let answers = lease.send(requests, until).await?;
    taken(wanted, answers.into_iter().skip(usize::from(!alone)), count)
}

/// The rows of the answers to what was wanted.
fn taken(
    wanted: &[Wanted<'_>],
    mut answers: impl Iterator<Item = Vec<tokio_postgres::Row>>,
    count: usize,
) -> Result<Vec<Option<Row>>, Fault> {
    let mut rows: Vec<Option<Row>> = vec![None; count];
    for wanted in wanted {
        wanted.take(&mut answers, &mut rows).map_err(Fault::Refused)?;
    }
    Ok(rows)
}

impl<'k> Wanted<'k> {
    async fn requests(
        &self,
        lease: &mut Lease,
        requests: &mut Vec<Request<'k>>,
    ) -> Result<(), Fault> {
        let table = self.table;
        if let (Some(many), true) = (&table.many, self.keys.len() > 1) {
            let values = many.values(table, &self.keys).map_err(Fault::Refused)?;
            requests.push(Request::Prepared(lease.statement(&many.get).await?, values));
            return Ok(());
        }
        let statement = lease.statement(&table.get).await?;
        for key in &self.keys {
            let values = table.values_of(key).map_err(Fault::Refused)?;
            requests.push(Request::Prepared(statement.clone(), values));
        }
        Ok(())
    }

    fn take(
        &self,
        answers: &mut impl Iterator<Item = Vec<tokio_postgres::Row>>,
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        let mut put = |number: usize, found: &tokio_postgres::Row, from: usize| {
            let (Some(key), Some(place)) = (self.keys.get(number), self.places.get(number)) else {
                return Err(Error::new(ErrorKind::Internal, "an answer is nobody's"));
            };
            if let Some(row) = rows.get_mut(*place) {
                *row = Some(self.table.row(key, found, from)?);
            }
            Ok(())
        };
        if self.table.many.is_some() && self.keys.len() > 1 {
            for found in answers.next().unwrap_or_default() {
                put(ordinal(&found)?, &found, 1)?;
            }
            return Ok(());
        }
        for number in 0..self.keys.len() {
            if let Some(found) = answers.next().unwrap_or_default().first() {
                put(number, found, 0)?;
            }
        }
        Ok(())
    }
}

/// Which of many keys a row belongs to, from 0.
pub(super) fn ordinal(found: &tokio_postgres::Row) -> Result<usize> {
    let number: i64 = found.try_get(0).map_err(|error| {
        Error::new(ErrorKind::Internal, "an answer has no number").caused_by(error)
    })?;
    Ok(usize::try_from(number).unwrap_or_default().saturating_sub(1))
}

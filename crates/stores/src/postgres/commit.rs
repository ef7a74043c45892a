//! A commit: locks, then what must hold, then everything at once.
//!
//! ```text
//! with checks     BEGIN, locks, checked rows ─▶ judge ─▶ outcome, writes, COMMIT    2 round trips
//! without         BEGIN, locks, outcome, writes, COMMIT                             1 round trip
//! ```
//!
//! Statements read what is committed when each begins, and the locks are the first: nothing that a
//! batch looks at changes until it ends (see `lock`).
//!
//! **A reply that is lost.** The outcome has the batch's id for its key, in the same transaction as
//! the writes. So the batch is simply done again on another connection: if the first was
//! committed, its outcome is met; if it is still under way, it is waited for, by its locks or by
//! its outcome; if it never was, it is done now, and a first one that arrives later meets the
//! outcome of the second. Nothing else has to be asked, and it holds after a failover too.

use super::Ready;
use super::connection::{Lease, Request};
use super::error::Fault;
use super::get::ordinal;
use super::lock::Locks;
use super::outcome;
use super::steps::{Step, between, takes};
use super::tables::Table;
use super::value::Native;
use crate::sql::table::Parts;
use data::store::{Batch, Conflict, Judgement, Key, Outcome, Row, Total, Write, judge};
use data::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Times a batch that is known to have changed nothing is done again.
const TRIES_MAX: u32 = 5;
/// The first wait before doing it again; the next is twice as long.
const WAIT_FIRST: Duration = Duration::from_millis(4);
/// The longest.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// Rows of one table from which on they are put by one statement.
const ROWS_TOGETHER: usize = 4;
/// The shortest time in which a batch is tried.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// What an attempt came to, if it came to an end.
enum Done {
    Committed(Vec<Total>),
    Conflict(Conflict),
}

/// All of the batch, or nothing.
pub(super) async fn commit(ready: &Ready, batch: &Batch) -> Result<Outcome> {
    let patience = u64::try_from(batch.deadline.saturating_sub(batch.now)).unwrap_or(0);
    // Whoever is late already is still told what can be told at once.
    let until = Instant::now() + Duration::from_millis(patience).max(PATIENCE_MIN);
    let mut locks = Locks::of(&ready.tables, ready.seed, batch)?;
    let mut tries = 0;
    // Whether an attempt was sent whose fate is not known.
    let mut is_open = false;
    loop {
        let mut sent = false;
        let fault = match attempt(ready, batch, &locks, &mut sent, until).await {
            Ok(Done::Committed(totals)) => return Ok(Outcome::Committed { totals }),
            Ok(Done::Conflict(conflict)) => return Ok(Outcome::Conflict(conflict)),
            Err(fault) => fault,
        };
        let error = match fault {
            Fault::Lost(error) => {
                is_open |= sent;
                error
            }
            Fault::Again(error) => {
                if error.value("code") == Some("53200") {
                    locks = locks.whole();
                }
                error
            }
            Fault::Repeated => Error::new(ErrorKind::Internal, "an outcome is met and not there"),
            Fault::Refused(error) if !is_open => return Err(error),
            Fault::Refused(error) => error,
        };
        let wait = Instant::now() + wait(batch, tries);
        tries += 1;
        // What is known to have changed nothing is the caller's to try again.
        let is_over = wait >= until || (!is_open && tries > TRIES_MAX);
        match (is_over, is_open) {
            (true, true) => return Ok(Outcome::Indeterminate { id: batch.id }),
            (true, false) => return Err(error),
            (false, _) => sleep_until(wait).await,
        }
    }
}

/// How long to wait before doing a batch again: longer each time, and not as long as others.
fn wait(batch: &Batch, waits: u32) -> Duration {
    let [.., chance] = *batch.id.as_bytes();
    let longest = WAIT_FIRST.saturating_mul(1 << waits.min(10)).min(WAIT_MAX);
    longest / 2 + longest / 2 * u32::from(chance) / 255
}

/// Does a batch once. `sent` says whether a commit was on its way.
async fn attempt(
    ready: &Ready,
    batch: &Batch,
    locks: &Locks,
    sent: &mut bool,
    until: Instant,
) -> Result<Done, Fault> {
    let mut lease = ready.pool.lease(until).await.map_err(|error| match error.is_retryable() {
        true => Fault::Lost(error),
        false => Fault::Refused(error),
    })?;
    let begin = if takes(Step::Fresh) { BEGIN } else { "BEGIN ISOLATION LEVEL REPEATABLE READ" };
    let take = match takes(Step::Locks) {
        true => Request::Prepared(lease.statement(&ready.take).await?, locks.values()),
        false => Request::Plain("SELECT 1"),
    };
    let mut opening = vec![Request::Plain(begin), take];
    let is_blind = batch.checks.is_empty()
        && !batch.writes.iter().any(|write| matches!(write, Write::Add { .. }));
    let result = match is_blind {
        true => {
            let work = Work { ready, batch, until };
            let effects = batch.writes.iter().map(|write| effect(batch, write));
            work.write(&mut lease, opening, effects, Vec::new(), sent).await
        }
        false => checked(Work { ready, batch, until }, &mut lease, &mut opening, sent).await,
    };
    match result {
        Ok(done) => {
            lease.give_back();
            Ok(done)
        }
        // Everything was rolled back together, so the connection is free.
        Err(Fault::Repeated) => {
            let found = outcome::find(&mut lease, &ready.tables, batch.id, None, until).await?;
            lease.give_back();
            found.map(Done::Committed).ok_or(Fault::Repeated)
        }
        Err(fault) => Err(fault),
    }
}

/// What a put or a delete makes of a row.
fn effect<'b>(batch: &Batch, write: &'b Write) -> (&'b Key, Option<Row>) {
    let row = match write {
        Write::Put { value, expires, versioned, trail, .. } => Some(Row {
            value: value.clone(),
            version: versioned.then_some(batch.id),
            expires: *expires,
            trail: trail.clone(),
        }),
        Write::Delete { .. } | Write::Add { .. } => None,
    };
    (write.key(), row)
}

/// What an attempt goes by.
#[derive(Clone, Copy)]
struct Work<'w> {
    ready: &'w Ready,
    batch: &'w Batch,
    until: Instant,
}

/// Reads what the batch looks at, judges it, and writes.
async fn checked<'w>(
    work: Work<'w>,
    lease: &mut Lease,
    opening: &mut Vec<Request<'w>>,
    sent: &mut bool,
) -> Result<Done, Fault> {
    let Work { ready, batch, until } = work;
    let looked_at = looked_at(ready, batch).map_err(Fault::Refused)?;
    // Answers to BEGIN and the locks stand before those about rows.
    let mut first = opening.len();
    let late = if takes(Step::LocksFirst) { None } else { opening.pop() };
    first -= usize::from(late.is_some());
    for (table, keys) in &looked_at {
        peek(lease, table, keys, opening).await?;
    }
    opening.extend(late);
    let answers = lease.send(std::mem::take(opening), until).await?;
    let rows = peeked(&looked_at, answers.into_iter().skip(first)).map_err(Fault::Refused)?;
    between().await;
    let judged = judge(batch, |key| Ok(rows.get(key).cloned()));
    match judged {
        Ok(Judgement::Commit { effects, totals }) => {
            let effects = effects.iter().map(|(key, row)| (key, row.clone()));
            work.write(lease, Vec::new(), effects, totals, sent).await
        }
        // It may be that the batch itself, sent before, is what stands in its way. The locks are
        // still held, so that what is found holds together.
        Ok(Judgement::Conflict(conflict)) => {
            if !takes(Step::OutcomeOfConflict) {
                lease.send(vec![Request::Plain("ROLLBACK")], until).await?;
                return Ok(Done::Conflict(conflict));
            }
            let ends = Some("ROLLBACK");
            let found = outcome::find(lease, &ready.tables, batch.id, ends, until).await?;
            Ok(found.map_or(Done::Conflict(conflict), Done::Committed))
        }
        Err(error) => {
            outcome::find(lease, &ready.tables, batch.id, Some("ROLLBACK"), until).await?;
            Err(Fault::Refused(error))
        }
    }
}

impl Work<'_> {
    /// Sends what is to be written, after `opening`, and the commit.
    async fn write(
        &self,
        lease: &mut Lease,
        opening: Vec<Request<'_>>,
        effects: impl Iterator<Item = (&Key, Option<Row>)>,
        totals: Vec<Total>,
        sent: &mut bool,
    ) -> Result<Done, Fault> {
        let tables = &self.ready.tables;
        let remembered = outcome::remember(tables, self.batch, &totals);
        let remembered = remembered.filter(|_| takes(Step::Outcome));
        let (inside, outside) = match takes(Step::OutcomeInside) {
            true => (remembered, None),
            false => (None, remembered),
        };
        let mut changes: Vec<Change<'_>> = inside.into_iter().collect();
        let mut puts: Vec<Puts<'_>> = Vec::new();
        for (key, row) in effects {
            let table = tables.of(key).map_err(Fault::Refused)?;
            let Some(row) = row else {
                let values = table.values_of(key).map_err(Fault::Refused)?;
                changes.push((table.delete.clone(), values));
                continue;
            };
            let values = table.row_values(key, Parts::from(&row)).map_err(Fault::Refused)?;
            match puts.iter_mut().find(|puts| Arc::ptr_eq(puts.table, table)) {
                Some(puts) => puts.rows.push(values),
                None => puts.push(Puts { table, rows: vec![values] }),
            }
        }
        puts.into_iter().for_each(|puts| puts.add_to(&mut changes));
        let mut requests = opening;
        self.add(lease, changes, &mut requests).await?;
        requests.push(Request::Plain("COMMIT"));
        *sent = true;
        lease.send(requests, self.until).await?;
        if let Some((text, values)) = outside {
            let statement = lease.statement(&text).await?;
            lease.send(vec![Request::Prepared(statement, values)], self.until).await?;
        }
        Ok(Done::Committed(totals))
    }

    /// Adds the requests for some changes: one for all of them, because every request is answered
    /// by a message of its own; or one for each where they are too many.
    async fn add<'r>(
        &self,
        lease: &mut Lease,
        changes: Vec<Change<'r>>,
        requests: &mut Vec<Request<'r>>,
    ) -> Result<(), Fault> {
        let texts: Vec<&Arc<str>> = changes.iter().map(|(text, _)| text).collect();
        if let Some(text) = self.ready.tables.together.text(&texts) {
            let statement = lease.statement(&text).await?;
            let values = changes.into_iter().flat_map(|(_, values)| values).collect();
            requests.push(Request::Prepared(statement, values));
            return Ok(());
        }
        for (text, values) in changes {
            requests.push(Request::Prepared(lease.statement(&text).await?, values));
        }
        Ok(())
    }
}

/// A statement that changes something, with its values.
type Change<'v> = (Arc<str>, Vec<Native<'v>>);

/// Rows that are put into one table.
struct Puts<'p> {
    table: &'p Arc<Table>,
    rows: Vec<Vec<Native<'static>>>,
}

impl Puts<'_> {
    /// One statement for many rows, or one for each.
    fn add_to(self, changes: &mut Vec<Change<'_>>) {
        let many = self.table.put_many.as_ref().filter(|_| self.rows.len() >= ROWS_TOGETHER);
        let Some((text, elements)) = many else {
            changes.extend(self.rows.into_iter().map(|row| (self.table.put.clone(), row)));
            return;
        };
        let mut arrays: Vec<Vec<Native<'static>>> =
            elements.iter().map(|_| Vec::with_capacity(self.rows.len())).collect();
        for row in self.rows {
            arrays.iter_mut().zip(row).for_each(|(array, value)| array.push(value));
        }
        let typed = elements.iter().cloned().zip(arrays);
        let values = typed.map(|(element, values)| Native::Array(element, values)).collect();
        changes.push((text.clone(), values));
    }
}

/// The keys a batch checks or adds to, by their tables.
fn looked_at<'k>(
    ready: &'k Ready,
    batch: &'k Batch,
) -> Result<Vec<(&'k Arc<Table>, Vec<&'k Key>)>> {
    let adds = batch.writes.iter().filter(|write| matches!(write, Write::Add { .. }));
    let keys = batch.checks.iter().map(|check| &check.key).chain(adds.map(Write::key));
    let mut found: Vec<(&Arc<Table>, Vec<&Key>)> = Vec::new();
    for key in keys {
        let table = ready.tables.of(key)?;
        match found.iter_mut().find(|(known, _)| Arc::ptr_eq(known, table)) {
            Some((_, keys)) if keys.len() < 8 && keys.contains(&key) => {}
            Some((_, keys)) => keys.push(key),
            None => found.push((table, vec![key])),
        }
    }
    Ok(found)
}

async fn peek<'k>(
    lease: &mut Lease,
    table: &'k Table,
    keys: &[&'k Key],
    requests: &mut Vec<Request<'k>>,
) -> Result<(), Fault> {
    if let (Some(many), true) = (&table.many, keys.len() > 1) {
        let values = many.values(table, keys).map_err(Fault::Refused)?;
        requests.push(Request::Prepared(lease.statement(&many.peek).await?, values));
        return Ok(());
    }
    let statement = lease.statement(&table.peek).await?;
    for key in keys {
        let values = table.values_of(key).map_err(Fault::Refused)?;
        requests.push(Request::Prepared(statement.clone(), values));
    }
    Ok(())
}

/// What lies under the keys that were looked at.
fn peeked<'k>(
    looked_at: &[(&Arc<Table>, Vec<&'k Key>)],
    mut answers: impl Iterator<Item = Vec<tokio_postgres::Row>>,
) -> Result<HashMap<&'k Key, Row>> {
    let mut rows = HashMap::new();
    for (table, keys) in looked_at {
        if table.many.is_some() && keys.len() > 1 {
            for found in answers.next().unwrap_or_default() {
                let Some(key) = keys.get(ordinal(&found)?) else { continue };
                rows.insert(*key, table.peeked(&found, 1)?);
            }
            continue;
        }
        for key in keys {
            if let Some(found) = answers.next().unwrap_or_default().first() {
                rows.insert(*key, table.peeked(found, 0)?);
            }
        }
    }
    Ok(rows)
}

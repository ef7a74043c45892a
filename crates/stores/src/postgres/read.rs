//! Reads: rows by key and stretches of a range, each as one snapshot.
//!
//! ```text
//! get of one row ─▶ one statement, on a connection that others use meanwhile
//! get of one table ─▶ one statement          get of several ─▶ one transaction, sent at once
//! scan ─▶ bounds ─▶ stretches ─▶ one statement, in the order of the key, as far as it is asked
//! ```
//!
//! A read that meets a broken connection is done again on another.

use super::Ready;
use super::connection::{Lease, Request};
use super::error::Fault;
use super::shared::SMALL;
use super::steps::{Step, takes};
use super::tables::Table;
use super::value::Native;
use crate::native::range::{bounds, spaces};
use crate::sql::shown::Shown;
use crate::sql::statement::{ScanForm, scan_segments};
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Page, Range, Row, Scan, Seen, Show, Versions};
use data::{Error, ErrorKind, Result};
use keyspace::key;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// How long a read may wait for a connection and its answer.
const READ_WITHIN: Duration = Duration::from_secs(20);
/// Connections a read may lose.
const TRIES: usize = 3;

/// Rows for which room is made before they are read.
const ROWS_EXPECTED: usize = 64;

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

/// How often a read may lose its connection.
pub(super) struct Tries {
    left: usize,
    pub(super) until: Instant,
}

impl Tries {
    pub(super) fn new() -> Tries {
        Tries { left: TRIES, until: Instant::now() + READ_WITHIN }
    }

    /// Goes on if the read may be done again.
    pub(super) fn failed(&mut self, fault: Fault) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        match fault {
            Fault::Lost(_) | Fault::Again(_) if self.left > 0 => Ok(()),
            fault => Err(fault.into_error()),
        }
    }
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

/// A stretch of one range.
pub(super) async fn scan(ready: &Ready, scan: &Scan) -> Result<Page> {
    let mut rows = Vec::new();
    let mut keep = |row: &Seen<'_>| {
        rows.push(row.to_keyed()?);
        Ok(true)
    };
    let end = show(ready, scan, (Shown::encoded(), &mut keep)).await?;
    Ok(Page { rows, end })
}

/// Shows the rows of a stretch of one range, one after the other.
pub(super) async fn each(
    ready: &Ready,
    (scan, versions): (&Scan, Versions),
    rows: &mut Show<'_>,
) -> Result<End> {
    show(ready, scan, (Shown::in_columns(versions), rows)).await
}

async fn show(
    ready: &Ready,
    scan: &Scan,
    (mut shown, show): (Shown, &mut Show<'_>),
) -> Result<End> {
    let Some(spaces) = spaces(&scan.range) else { return Ok(End::Range) };
    let mut tables: Vec<&Arc<Table>> =
        ready.tables.all().filter(|table| spaces.contains(&table.shape.space)).collect();
    tables.sort_by_key(|table| table.shape.space);
    if scan.reverse {
        tables.reverse();
    }
    for table in tables {
        let mut range = scan.range.clone();
        loop {
            let limit = table.likely_rows(scan.rows - shown.rows);
            let form = (scan.reverse, shown.versions);
            let Some(question) = Question::new(table, &range, form, limit)? else { break };
            let Question { forms, values, front, known } = &question;
            let text = table.scan(forms.clone(), *known);
            let answer = answer(ready, (&text, values)).await?;
            let last = table.show(&answer, (front, *known), (scan, &range), &mut shown, show)?;
            let is_cut = answer.is_cut && shown.rows > 0;
            if let Some(end) = shown.end.or(is_cut.then_some(End::Bytes)) {
                if end == End::Bytes {
                    table.page_rows.store(shown.rows, Ordering::Relaxed);
                }
                return Ok(end);
            }
            let is_more = answer.is_cut || answer.rows.len() >= limit;
            let Some(last) = last.filter(|_| is_more) else { break };
            // The rows have become smaller than they were.
            table.page_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
            drop(question);
            range = range.after(&last, scan.reverse);
        }
    }
    Ok(End::Range)
}

/// A stretch of every row of a space, in the order of its table.
pub(super) async fn walk(ready: &Ready, asked: &Scan) -> Result<Page> {
    let space = spaces(&asked.range).map(|spaces| *spaces.start());
    let table = space.and_then(|space| ready.tables.all().find(|t| t.shape.space == space));
    let Some((table, (first, next))) = table.and_then(|t| Some((t, t.walk.as_ref()?))) else {
        return scan(ready, asked).await;
    };
    let start = asked.range.start.as_ref();
    let limit = table.likely_rows(asked.rows);
    // Going on after a row begins with its key and a zero byte.
    let last = match start.split_last() {
        Some((0, key)) if key.len() > 2 => Some(Key::new(asked.range.start.slice(..key.len()))),
        _ => None,
    };
    let (text, mut values) = match &last {
        Some(last) => (next, table.values_of(last)?),
        None => (first, Vec::new()),
    };
    values.push(Native::I64(i64::try_from(limit).unwrap_or(i64::MAX)));
    let whole = Range {
        start: asked.range.start.slice(..start.len().min(2)),
        end: asked.range.end.clone(),
    };
    let answer = answer(ready, (text, &values)).await?;
    let (mut rows, mut shown) = (Vec::new(), Shown::encoded());
    let mut keep = |row: &Seen<'_>| {
        rows.push(row.to_keyed()?);
        Ok(true)
    };
    let front = table.shape.space.to_be_bytes();
    table.show(&answer, (&front, 0), (asked, &whole), &mut shown, &mut keep)?;
    let end = match shown.end {
        Some(end) => end,
        None if answer.rows.len() < limit && !answer.is_cut => End::Range,
        // Fewer were asked for because they were large once.
        None => End::Bytes,
    };
    match shown.end {
        Some(End::Bytes) => table.page_rows.store(rows.len(), Ordering::Relaxed),
        None if limit < asked.rows => {
            table.page_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
        }
        _ => {}
    }
    Ok(Page { rows, end })
}

/// A scan of one table, taken apart: the forms of its stretches, and the values of its statement.
pub(super) struct Question<'q> {
    /// One for each stretch.
    pub(super) forms: Vec<ScanForm>,
    /// The values of all stretches.
    pub(super) values: Vec<Native<'q>>,
    /// What all keys begin with, which is not read from each of them.
    pub(super) front: Vec<u8>,
    /// The segments that are in front.
    pub(super) known: usize,
}

impl<'q> Question<'q> {
    /// The question for so many rows of a range; nothing where none can be.
    pub(super) fn new(
        table: &'q Table,
        range: &'q Range,
        (reverse, versions): (bool, Versions),
        rows: usize,
    ) -> Result<Option<Self>> {
        let shape = table.shape.shape();
        let Some(bounds) = bounds(shape, range) else { return Ok(None) };
        let known = bounds.equal.len();
        let front = key::encode_front(shape.space, &shape.segments, &bounds.equal)?;
        let mut stretches = bounds.stretches(shape);
        if reverse {
            stretches.reverse();
        }
        let forms = stretches.iter().map(|stretch| ScanForm::of(stretch, reverse, versions));
        let forms: Vec<ScanForm> = forms.collect();
        let mut values = Vec::new();
        for stretch in stretches {
            values.extend(table.literal());
            values.extend(scan_segments(stretch).map(|(_, value)| Native::of_segment(value)));
            values.push(Native::I64(i64::try_from(rows).unwrap_or(i64::MAX)));
        }
        Ok(Some(Question { forms, values, front, known }))
    }
}

/// What a statement answers.
pub(super) struct Answer {
    /// Its rows, up to what a page holds.
    pub(super) rows: Vec<tokio_postgres::Row>,
    /// Whether there were more.
    pub(super) is_cut: bool,
}

/// The answer to a statement; asked again if the connection is lost, so that nothing is shown
/// before all of it is there.
pub(super) async fn answer(ready: &Ready, statement: (&Arc<str>, &[Native<'_>])) -> Result<Answer> {
    let mut tries = Tries::new();
    loop {
        let mut lease = ready.pool.lease(tries.until).await?;
        let (mut rows, mut bytes) = (Vec::with_capacity(ROWS_EXPECTED), 0);
        let read = lease.read(statement, tries.until, |row| {
            bytes += row.raw_size_bytes();
            rows.push(row);
            Ok(bytes < PAGE_BYTES_MAX)
        });
        match read.await {
            Ok(is_whole) => {
                if is_whole {
                    lease.give_back();
                }
                return Ok(Answer { rows, is_cut: !is_whole });
            }
            Err(fault) => tries.failed(fault)?,
        }
    }
}

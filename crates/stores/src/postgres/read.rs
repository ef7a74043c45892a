//! Reads: rows by key and stretches of a range, each as one snapshot.
//!
//! ```text
//! get of one table ─▶ one statement          get of several ─▶ one transaction, sent at once
//! scan ─▶ bounds ─▶ stretches ─▶ one statement, in the order of the key, as far as it is asked
//! ```
//!
//! A read that meets a broken connection is done again on another.

use super::Ready;
use super::connection::{Lease, Request};
use super::error::{self, Fault};
use super::steps::{Step, takes};
use super::tables::Table;
use super::value::Native;
use crate::native::range::{bounds, spaces};
use crate::sql::statement::{ScanForm, scan_values};
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Range, Row, Scan};
use data::{Error, ErrorKind, Result, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a read may wait for a connection and its answer.
const READ_WITHIN: Duration = Duration::from_secs(20);
/// Connections a read may lose.
const TRIES: usize = 3;

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
    if keys.is_empty() {
        return Ok(Vec::new());
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

/// How often a read may lose its connection.
struct Tries {
    left: usize,
    until: Instant,
}

impl Tries {
    fn new() -> Tries {
        Tries { left: TRIES, until: Instant::now() + READ_WITHIN }
    }

    /// Goes on if the read may be done again.
    fn failed(&mut self, fault: Fault) -> Result<()> {
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

impl Wanted<'_> {
    async fn requests(
        &self,
        lease: &mut Lease,
        requests: &mut Vec<Request<'_>>,
    ) -> Result<(), Fault> {
        let table = self.table;
        if let (Some(many), true) = (&table.many, self.keys.len() > 1) {
            let values = many.values(table, &self.keys).map_err(Fault::Refused)?;
            requests.push(Request::Prepared(lease.statement(&many.get).await?, values));
            return Ok(());
        }
        let statement = lease.statement(&table.get).await?;
        for key in &self.keys {
            let segments = table.shape.shape().decode(key).map_err(Fault::Refused)?;
            let values = table.key_values(&segments).map_err(Fault::Refused)?;
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
    let mut rows: Vec<Keyed> = Vec::new();
    let mut bytes = 0;
    let Some(spaces) = spaces(&scan.range) else {
        return Ok(Page { rows, end: End::Range });
    };
    let mut tables: Vec<&Arc<Table>> =
        ready.tables.all().filter(|table| spaces.contains(&table.shape.space)).collect();
    tables.sort_by_key(|table| table.shape.space);
    if scan.reverse {
        tables.reverse();
    }
    for table in tables {
        let mut range = scan.range.clone();
        loop {
            let asked = scan.rows - rows.len();
            let limit = table.likely_rows(asked);
            let part = stretch(ready, table, &range, scan.reverse, limit).await?;
            let is_whole = part.len() < limit;
            for keyed in part {
                bytes += keyed.key.bytes().len() + keyed.row.weight();
                rows.push(keyed);
                if rows.len() >= scan.rows {
                    return Ok(Page { rows, end: End::Rows });
                }
                if bytes >= PAGE_BYTES_MAX {
                    table.page_rows.store(rows.len(), Ordering::Relaxed);
                    return Ok(Page { rows, end: End::Bytes });
                }
            }
            let Some(last) = rows.last().filter(|_| !is_whole) else { break };
            // The rows have become smaller than they were.
            table.page_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
            range = range.after(&last.key, scan.reverse);
        }
    }
    Ok(Page { rows, end: End::Range })
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
    let (text, mut values) = match start.split_last() {
        Some((0, key)) if key.len() > 2 => {
            let key = Key::new(asked.range.start.slice(..key.len()));
            (next, table.values_of(&key)?)
        }
        _ => (first, Vec::new()),
    };
    values.push(Native::I64(i64::try_from(limit).unwrap_or(i64::MAX)));
    let whole = Range {
        start: asked.range.start.slice(..start.len().min(2)),
        end: asked.range.end.clone(),
    };
    let rows = tried(ready, table, &whole, (text, values)).await?;
    let bytes: usize = rows.iter().map(|keyed| keyed.key.bytes().len() + keyed.row.weight()).sum();
    let end = match (bytes >= PAGE_BYTES_MAX, rows.len() >= asked.rows) {
        (_, true) => End::Rows,
        (true, _) => End::Bytes,
        (false, false) if rows.len() < limit => End::Range,
        // Fewer were asked for because they were large once.
        (false, false) => End::Bytes,
    };
    if bytes >= PAGE_BYTES_MAX {
        table.page_rows.store(rows.len(), Ordering::Relaxed);
    } else if limit < asked.rows {
        table.page_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
    }
    Ok(Page { rows, end })
}

async fn stretch(
    ready: &Ready,
    table: &Arc<Table>,
    range: &Range,
    reverse: bool,
    rows: usize,
) -> Result<Vec<Keyed>> {
    let Some(bounds) = bounds(table.shape.shape(), range) else { return Ok(Vec::new()) };
    let mut stretches = bounds.stretches(table.shape.shape());
    if reverse {
        stretches.reverse();
    }
    let limit = Native::I64(i64::try_from(rows).unwrap_or(i64::MAX));
    let forms: Vec<ScanForm> = stretches.iter().map(|s| ScanForm::of(s, reverse)).collect();
    let mut values = Vec::new();
    for stretch in stretches {
        values.extend(table.literal_values()?);
        for (segment, value) in scan_values(stretch) {
            values.push(table.segment_value(segment, &value)?);
        }
        values.push(limit.clone());
    }
    tried(ready, table, range, (&table.scan(forms), values)).await
}

/// The rows of a statement, up to what a page holds; again if the connection is lost.
async fn tried(
    ready: &Ready,
    table: &Table,
    range: &Range,
    (text, values): (&Arc<str>, Vec<Native<'static>>),
) -> Result<Vec<Keyed>> {
    let mut tries = Tries::new();
    loop {
        let mut lease = ready.pool.lease(tries.until).await?;
        match page(&mut lease, table, range, (text, values.clone()), tries.until).await {
            Ok((rows, is_read)) => {
                if is_read {
                    lease.give_back();
                }
                return Ok(rows);
            }
            Err(fault) => tries.failed(fault)?,
        }
    }
}

/// The rows of a statement, up to what a page holds, and whether that was all of them.
async fn page(
    lease: &mut Lease,
    table: &Table,
    range: &Range,
    (text, values): (&Arc<str>, Vec<Native<'static>>),
    until: Instant,
) -> Result<(Vec<Keyed>, bool), Fault> {
    let statement = lease.statement(text).await?;
    let mut found = lease.stream(statement, values, until).await?;
    // One clock for all rows: a page has up to a thousand.
    let read = async {
        let mut rows = Vec::new();
        let mut bytes = 0;
        while let Some(row) = found.next().await? {
            let keyed = table.keyed(&row).map_err(Fault::Refused)?;
            // Every key that can be here is; whoever asked is told of no other.
            if !range.contains(keyed.key.as_ref()) {
                continue;
            }
            bytes += keyed.key.bytes().len() + keyed.row.weight();
            rows.push(keyed);
            if bytes >= PAGE_BYTES_MAX {
                return Ok((rows, false));
            }
        }
        Ok((rows, true))
    };
    timeout_at(until, read).await.unwrap_or_else(|_| Err(Fault::Lost(error::late())))
}

/// The values of a column, for a statement about one of its segments.
impl Table {
    fn literal_values(&self) -> Result<Vec<Native<'static>>> {
        match self.shape.segments.is_empty() {
            true => self.key_values(&[]),
            false => Ok(Vec::new()),
        }
    }

    fn segment_value(&self, segment: usize, value: &Value) -> Result<Native<'static>> {
        let place = self.shape.segments.get(segment);
        match place.and_then(|place| self.shape.columns.get(*place)) {
            Some(column) => Ok(Native::of_field(value, &column.value_type)?.into_owned()),
            None => Err(Error::new(ErrorKind::Internal, "a range has a segment too many")),
        }
    }
}

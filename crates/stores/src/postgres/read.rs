//! Reads: stretches of a range, each as one snapshot.
//!
//! ```text
//! scan ─▶ bounds ─▶ stretches ─▶ one statement, in the order of the key, as far as it is asked
//! ```
//!
//! A read that meets a broken connection is done again on another.

use super::Ready;
use super::error::Fault;
use super::tables::Table;
use super::value::Native;
use crate::native::range::{bounds, spaces};
use crate::sql::shown::Shown;
use crate::sql::statement::{ScanForm, scan_segments};
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Page, Range, Scan, Seen, Show, Versions};
use keyspace::key;
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

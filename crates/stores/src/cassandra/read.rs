//! Reads: rows by their keys and stretches of a range, each partition as it is at one instant.
//!
//! ```text
//! get   keys ─▶ by partition ─▶ one statement each, all at once
//! scan  range ─▶ one partition ─▶ stretches ─▶ one statement each, until there are enough
//! ```
//!
//! A page goes on after a key, never by the driver's paging state, which says nothing to another
//! program or version.

use super::Ready;
use super::client::{Fault, Way, each_row};
use super::found::Found;
use super::stretch::{Stretch, open};
use super::tables::Table;
use super::tries::Tries;
use super::value::{self, Cell};
use super::view::View;
use crate::native::range::spaces;
use bytes::Bytes;
use data::Result;
use data::record::{SCALARS_MAX, Scalar};
use data::schema::Place;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, InColumns, Key, Keyed, Lying, Page, Row, Scan, Seen, Show};
use futures_util::future::try_join_all;
use scylla::response::query_result::QueryResult;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// How long a read may take with all its tries.
const READ_WITHIN: Duration = Duration::from_secs(20);
/// Rows of a table that are asked for at once before anything is known of their size.
pub(super) const PAGE_ROWS_FIRST: usize = 64;

/// Bytes of a key for which room is made before they are known.
const KEY_BYTES_USUAL: usize = 64;

/// Keys of one partition, each with its place in the answer.
struct Wanted<'k> {
    table: &'k Arc<Table>,
    partition: Vec<Cell>,
    keys: Vec<(usize, &'k Arc<View>, &'k Key, Vec<Cell>)>,
}

/// The rows under these keys, in their order.
pub(super) async fn get(ready: &Ready, keys: &[Key]) -> Result<Vec<Option<Row>>> {
    let found = get_found(ready, keys, Instant::now() + READ_WITHIN).await?;
    Ok(found.into_iter().map(|found| found.row).collect())
}

/// What lies under these keys, in their order.
pub(super) async fn get_found(ready: &Ready, keys: &[Key], until: Instant) -> Result<Vec<Found>> {
    let wanted = by_partition(ready, keys)?;
    let asked = wanted.iter().map(|wanted| wanted.ask(ready, until));
    let mut all = vec![Found::default(); keys.len()];
    for (place, found) in try_join_all(asked).await?.into_iter().flatten() {
        if let Some(slot) = all.get_mut(place) {
            *slot = found;
        }
    }
    Ok(all)
}

fn by_partition<'k>(ready: &'k Ready, keys: &'k [Key]) -> Result<Vec<Wanted<'k>>> {
    let mut all: Vec<Wanted<'k>> = Vec::new();
    let mut known: HashMap<Place, usize> = HashMap::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        let view = ready.tables.of(key)?;
        let mut cells = view.key_cells(key)?;
        let order = cells.split_off(view.table.partition);
        let number = *known.entry(ready.tables.schema.place(key)?).or_insert(all.len());
        if number == all.len() {
            all.push(Wanted { table: &view.table, partition: cells, keys: Vec::new() });
        }
        if let Some(wanted) = all.get_mut(number) {
            wanted.keys.push((place, view, key, order));
        }
    }
    Ok(all)
}

impl Wanted<'_> {
    async fn ask(&self, ready: &Ready, until: Instant) -> Result<Vec<(usize, Found)>> {
        let (text, cells) = self.statement();
        let mut tries = Tries::new(until);
        loop {
            match self.ask_once(ready, &text, cells.clone(), until).await {
                Ok(found) => return Ok(found),
                Err(fault) => tries.failed(fault).await?,
            }
        }
    }

    async fn ask_once(
        &self,
        ready: &Ready,
        text: &str,
        cells: Vec<Cell>,
        until: Instant,
    ) -> Result<Vec<(usize, Found)>, Fault> {
        let bound = (ready.client.prepare(text, Way::Again).await?, cells);
        debug_assert!(bound.0.is_token_aware(), "asked of any node: {text}");
        let found = ready.client.rows(&bound, until, |columns| self.take(columns)).await?;
        Ok(found.into_iter().flatten().collect())
    }

    fn statement(&self) -> (String, Vec<Cell>) {
        let table = self.table;
        let (partition, key) = (table.partition, table.key());
        let mut cells = self.partition.clone();
        let condition = match (self.keys.as_slice(), table.clustering) {
            (_, 0) => table.equal(0..partition),
            ([(_, _, _, order)], _) => {
                cells.extend(order.iter().cloned());
                table.equal(0..key)
            }
            (keys, 1) => {
                let order = keys.iter().map(|(_, _, _, order)| order.first());
                cells.push(in_list(
                    order.map(|cell| cell.and_then(Cell::bytes).unwrap_or_default()),
                ));
                format!("{} AND {} IN ?", table.equal(0..partition), table.names(partition..key))
            }
            (keys, _) => {
                let tuples: Vec<Vec<u8>> =
                    keys.iter().map(|(_, _, _, order)| tuple(order)).collect();
                cells.push(in_list(tuples.iter().map(Vec::as_slice)));
                format!("{} AND ({}) IN ?", table.equal(0..partition), table.names(partition..key))
            }
        };
        (format!("SELECT {} FROM {} WHERE {condition}", table.read(), table.name), cells)
    }

    /// A row where it was asked for: by each key that it answers.
    fn take(&self, columns: &[Option<&[u8]>]) -> Result<Vec<(usize, Found)>> {
        let mut all = Vec::with_capacity(1);
        for (place, view, key, order) in &self.keys {
            let mut cells = order.iter().zip(columns);
            if cells.all(|(cell, column)| cell.bytes() == *column) {
                all.push((*place, view.found(key, columns)?));
            }
        }
        Ok(all)
    }
}

/// A list without what is in it twice: the server would answer it twice.
fn in_list<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Cell {
    let mut cells: Vec<&[u8]> = cells.collect();
    cells.sort_unstable();
    cells.dedup();
    value::list(cells.into_iter())
}

fn tuple(cells: &[Cell]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cell in cells {
        value::part(&mut bytes, cell.bytes().unwrap_or_default());
    }
    bytes
}

/// A stretch of one range.
pub(super) async fn scan(ready: &Ready, scan: &Scan) -> Result<Page> {
    let mut rows = Vec::new();
    let mut keep = |met: Met<'_>| {
        rows.push(match met {
            Met::Lying(seen) => seen.to_keyed()?,
            Met::Made(key, row) => Keyed { key, row },
        });
        Ok(true)
    };
    let end = read(ready, scan, false, &mut keep).await?;
    Ok(Page { rows, end })
}

/// Shows the rows of a stretch, one after the other.
pub(super) async fn each(ready: &Ready, scan: &Scan, show: &mut Show<'_>) -> Result<End> {
    let mut look = |met: Met<'_>| match met {
        Met::Lying(seen) => show(&seen),
        Met::Made(key, row) => show(&Seen::of(&key, &row)),
    };
    read(ready, scan, true, &mut look).await
}

/// A row that a stretch has.
enum Met<'m> {
    /// Put together in a place that the next one needs.
    Lying(Seen<'m>),
    /// Made of more than its columns.
    Made(Key, Row),
}

/// What is given rows, and says whether it wants more.
type Take<'t> = dyn FnMut(Met<'_>) -> Result<bool> + Send + 't;

async fn read(ready: &Ready, scan: &Scan, in_columns: bool, take: &mut Take<'_>) -> Result<End> {
    let Some(spaces) = spaces(&scan.range) else { return Ok(End::Range) };
    if spaces.start() != spaces.end() {
        return Err(open());
    }
    let Some(view) = ready.tables.read_of(*spaces.start())? else { return Ok(End::Range) };
    let progress = Progress { rows: 0, bytes: 0, has_enough: false };
    Pages { ready, scan, in_columns, take, progress }.read(view).await
}

/// A page as it is read.
struct Pages<'s, 't> {
    ready: &'s Ready,
    scan: &'s Scan,
    /// Whether rows are looked at only, and so may be shown in their columns.
    in_columns: bool,
    take: &'s mut Take<'t>,
    progress: Progress,
}

/// How far a page is.
struct Progress {
    rows: usize,
    bytes: usize,
    /// Whether who is given the rows wants no more.
    has_enough: bool,
}

impl Progress {
    fn end(&self, scan: &Scan) -> Option<End> {
        match self.bytes >= PAGE_BYTES_MAX {
            _ if self.has_enough || self.rows >= scan.rows => Some(End::Rows),
            true => Some(End::Bytes),
            false => None,
        }
    }

    /// Gives a row on.
    fn give(&mut self, take: &mut Take<'_>, weight: usize, met: Met<'_>) -> Result<()> {
        self.rows += 1;
        self.bytes += weight;
        self.has_enough = !take(met)?;
        Ok(())
    }
}

impl Pages<'_, '_> {
    async fn read(&mut self, view: &Arc<View>) -> Result<End> {
        let until = Instant::now() + READ_WITHIN;
        let mut rest = None;
        loop {
            let range = rest.as_ref().unwrap_or(&self.scan.range);
            let asked = self.scan.rows.saturating_sub(self.progress.rows);
            let limit = view.table.page_rows.load(Ordering::Relaxed).min(asked).max(1);
            let Some(stretches) = Stretch::of(self.ready, view, range, self.scan.reverse)? else {
                return Ok(End::Range);
            };
            let mut last = None;
            for stretch in stretches.iter() {
                let room = limit.saturating_sub(last.as_ref().map_or(0, |(count, _)| *count));
                if room == 0 {
                    break;
                }
                let read = self.stretch(view, stretch, room, until).await?;
                if let Some((count, key)) = read {
                    let before = last.map_or(0, |(count, _)| count);
                    last = Some((before + count, key));
                }
                if let Some(end) = self.progress.end(self.scan) {
                    return Ok(end);
                }
            }
            match last {
                // Fewer than were asked for: there are no more.
                None => return Ok(End::Range),
                Some((count, _)) if count < limit => return Ok(End::Range),
                Some((_, key)) => rest = Some(range.after(&key, self.scan.reverse)),
            }
            self.learn(view);
        }
    }

    /// Reads a part of a partition; answers how many rows the server had, and the last of them.
    async fn stretch(
        &mut self,
        view: &Arc<View>,
        stretch: &Stretch,
        limit: usize,
        until: Instant,
    ) -> Result<Option<(usize, Key)>> {
        let answer = ask(self.ready, view, stretch, limit, until).await?;
        let record = view.shown_record().filter(|_| self.in_columns);
        let Pages { scan, take, progress, .. } = self;
        let (mut count, mut last, mut row) = (0, Vec::with_capacity(KEY_BYTES_USUAL), Vec::new());
        let sieve = scan.range.sieve();
        each_row(answer, |columns| {
            count += 1;
            last.clear();
            view.write_key(columns, &stretch.front, &mut last)?;
            // More may come than are wanted: what was asked for is what the server had left.
            if progress.end(scan).is_some() || !sieve.contains(&last) {
                return Ok(());
            }
            let mut fields = [Scalar::Null; SCALARS_MAX];
            let fields = record.and_then(|record| fields.get_mut(..record.fields.len()));
            if let Some((record, fields)) = record.zip(fields)
                && let Some(expires) = view.read_scalars(columns, fields)?
            {
                let content = Lying::InColumns(InColumns::new(record, fields));
                let seen = Seen { key: &last, content, version: None, expires };
                return progress.give(*take, seen.weight(), Met::Lying(seen));
            }
            row.clear();
            if let Some(expires) = view.add_plain(columns, &mut row)? {
                let content = Lying::Encoded(&row, None);
                let seen = Seen { key: &last, content, version: None, expires };
                return progress.give(*take, seen.weight(), Met::Lying(seen));
            }
            let key = Key::new(Bytes::copy_from_slice(&last));
            let Some(row) = view.found(&key, columns)?.row else { return Ok(()) };
            progress.give(*take, key.bytes().len() + row.weight(), Met::Made(key, row))
        })?;
        Ok((count > 0).then(|| (count, Key::from(last))))
    }

    /// Remembers how many rows are likely to fit into a page.
    fn learn(&self, view: &View) {
        if let Some(size) = self.progress.bytes.checked_div(self.progress.rows) {
            let likely = PAGE_BYTES_MAX / size.max(64);
            view.table.page_rows.store(likely.max(1), Ordering::Relaxed);
        }
    }
}

/// Asks the server for a part of a partition, as often as it takes.
async fn ask(
    ready: &Ready,
    view: &View,
    stretch: &Stretch,
    limit: usize,
    until: Instant,
) -> Result<QueryResult> {
    let client = &ready.client;
    let mut cells = stretch.cells(limit);
    let mut tries = Tries::new(until);
    loop {
        let sent = async {
            let bound = (stretch.prepared(ready, view).await?, std::mem::take(&mut cells));
            let answer = client.send(&bound, until).await;
            cells = bound.1;
            answer
        };
        match sent.await {
            Ok(answer) => return Ok(answer),
            Err(fault) => tries.failed(fault).await?,
        }
    }
}

//! Every row of a space, in the order of the partitions' tokens: for whoever looks after the store.
//!
//! ```text
//! after a row ─▶ the rest of its partition ─▶ token(partition) > token(of that), some rows ─┐
//!                     ▲                                                                     │
//!                     └──────────── the last partition may have been cut ◀──────────────────┘
//! ```

use super::Ready;
use super::client::{Fault, Way};
use super::read::scan;
use super::stretch::is_flipped;
use super::tables::Table;
use super::tries::Tries;
use super::value::{self, Cell};
use super::view::{KeyPart, View};
use bytes::Bytes;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Range, Row, Scan};
use data::{Error, ErrorKind, Result, Value};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// How long a stretch may take.
const WALK_WITHIN: Duration = Duration::from_secs(30);
/// Rows that are read at once at most.
const ROWS_MAX: usize = 1_000;

/// A stretch of every row of a space.
pub(super) async fn walk(ready: &Ready, scan: &Scan) -> Result<Page> {
    let space = Key::new(scan.range.start.clone()).space();
    let Some(view) = ready.tables.read_of(space)? else {
        return Ok(Page { rows: Vec::new(), end: End::Range });
    };
    let mut walk = Walk { ready, view, scan, rows: Vec::new(), bytes: 0 };
    let mut partition = None;
    if let Some(key) = walk.after() {
        let front = walk.front_of(&key)?;
        let cells = view.key_cells(&key)?.into_iter().take(view.table.partition).collect();
        let at = At { cells, front, last: Some(key) };
        walk.rest(&at).await?;
        partition = Some(at);
    }
    while !walk.is_full() {
        let (more, last) = walk.partitions(partition.as_ref()).await?;
        let (true, Some(at)) = (more, last) else {
            return Ok(walk.page(End::Range));
        };
        if !walk.is_full() {
            walk.rest(&at).await?;
        }
        partition = Some(at);
    }
    let end = if walk.rows.len() >= scan.rows { End::Rows } else { End::Bytes };
    Ok(walk.page(end))
}

struct Walk<'w> {
    ready: &'w Ready,
    view: &'w View,
    scan: &'w Scan,
    rows: Vec<Keyed>,
    bytes: usize,
}

/// A partition, and the last row of the space that was met in it.
struct At {
    cells: Vec<Cell>,
    front: Vec<u8>,
    last: Option<Key>,
}

/// A partition, and if it belongs to the space the row that was met in it, there or gone.
type Met = (At, Option<(Key, Option<Row>)>);

impl Walk<'_> {
    /// The key behind which the walk goes on; none at the beginning.
    fn after(&self) -> Option<Key> {
        let start = &self.scan.range.start;
        let key = Key::new(start.slice(..start.len().checked_sub(1)?));
        self.view.shape().decode(&key).ok().map(|_| key)
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.scan.rows || self.bytes >= PAGE_BYTES_MAX
    }

    fn page(self, end: End) -> Page {
        let end = if self.rows.len() > self.scan.rows { End::Rows } else { end };
        Page { rows: self.rows, end }
    }

    fn add(&mut self, keyed: Keyed) {
        self.bytes += keyed.key.bytes().len() + keyed.row.weight();
        self.rows.push(keyed);
    }

    /// The number of the space with the group of a key, encoded.
    fn front_of(&self, key: &Key) -> Result<Vec<u8>> {
        let shape = self.view.shape();
        let mut group = shape.decode(key)?;
        group.truncate(shape.group);
        shape.front(&group)
    }

    /// Reads what is left of a partition behind the last row that was met.
    async fn rest(&mut self, at: &At) -> Result<()> {
        if self.view.table.clustering == 0 || self.is_full() {
            return Ok(());
        }
        let reverse = is_flipped(self.view);
        let whole = self.partition_range(at)?;
        let range = at.last.as_ref().map_or(whole.clone(), |last| whole.after(last, reverse));
        let rows = self.scan.rows - self.rows.len();
        let page = scan(self.ready, &Scan { range, reverse, rows }).await?;
        page.rows.into_iter().for_each(|keyed| self.add(keyed));
        match page.end {
            End::Range | End::Rows => Ok(()),
            // Full of bytes, and so is the walk.
            End::Bytes => {
                self.bytes = self.bytes.max(PAGE_BYTES_MAX);
                Ok(())
            }
        }
    }

    /// The keys of the space that lie in a partition.
    fn partition_range(&self, at: &At) -> Result<Range> {
        let shape = self.view.shape();
        let slice = self.view.parts.iter().position(|part| *part == KeyPart::Slice);
        let slice = slice.filter(|place| *place < self.view.table.partition);
        let (Some(place), Some(slices), Some(by)) =
            (slice, &shape.slices, shape.segments.get(shape.group))
        else {
            return Ok(shape.children(&at.front));
        };
        let start =
            at.cells.get(place).and_then(Cell::bytes).and_then(|bytes| bytes.try_into().ok());
        let start = start.map_or(0, i64::from_be_bytes);
        slices.range(&at.front, *by, start.div_euclid(slices.every))
    }

    /// Reads rows of the next partitions; answers whether there may be more, and the last of them.
    async fn partitions(&mut self, after: Option<&At>) -> Result<(bool, Option<At>)> {
        let until = Instant::now() + WALK_WITHIN;
        let table = &self.view.table;
        let limit = table.page_rows.load(Ordering::Relaxed).clamp(1, ROWS_MAX);
        let text = next_partitions(table, after.is_some());
        let cells = after.map_or(Vec::new(), |at| at.cells.clone());
        let cells = [cells, vec![value::int(limit)]].concat();
        let mut tries = Tries::new(until);
        let read = loop {
            match self.read(&text, cells.clone(), until).await {
                Ok(read) => break read,
                Err(fault) => tries.failed(fault).await?,
            }
        };
        let more = read.len() >= limit;
        let mut last: Option<At> = None;
        for (mut at, keyed) in read {
            if self.is_full() {
                return Ok((true, last));
            }
            if let Some(before) = last.filter(|before| before.cells == at.cells) {
                at.last = before.last;
            }
            if let Some((key, row)) = keyed {
                at.last = Some(key.clone());
                if let Some(row) = row {
                    self.add(Keyed { key, row });
                }
            }
            last = Some(at);
        }
        Ok((more, last))
    }

    async fn read(&self, text: &str, cells: Vec<Cell>, until: Instant) -> Result<Vec<Met>, Fault> {
        let statement = self.ready.client.prepare(text, Way::Again).await?;
        self.ready.client.rows(&(statement, cells), until, |columns| self.met(columns)).await
    }

    /// Where a row lies, and the row itself if it belongs to the space.
    fn met(&self, columns: &[Option<&[u8]>]) -> Result<Met> {
        let (view, table) = (self.view, &self.view.table);
        let shape = view.shape();
        let mut group = vec![Value::Null; shape.group];
        let mut cells = Vec::with_capacity(table.partition);
        for (place, part) in view.parts.iter().take(table.partition).enumerate() {
            let bytes = columns.get(place).copied().flatten().unwrap_or_default();
            cells.push(Cell::Bytes(Bytes::copy_from_slice(bytes)));
            let KeyPart::Segment(number) = part else { continue };
            let (Some(column), Some(of)) = (table.columns.get(place), shape.types.get(*number))
            else {
                continue;
            };
            let value = value::read(&column.native, of, bytes).ok_or_else(|| {
                Error::new(ErrorKind::Corrupt, "a column holds what Keyway does not write")
                    .with("table", &table.name)
                    .with("column", &column.name)
            })?;
            if let Some(slot) = group.get_mut(*number) {
                *slot = value;
            }
        }
        let front = shape.front(&group)?;
        let mut kinds = view.parts.iter().enumerate().skip(table.partition);
        let is_own = kinds.all(|(place, part)| match part {
            KeyPart::Text(kind) => columns.get(place).copied().flatten() == Some(kind.as_bytes()),
            _ => true,
        });
        let mut keyed = None;
        if is_own {
            let behind = columns.get(table.partition..).unwrap_or_default();
            let key = view.key_of(behind, &front)?;
            let row = view.found(&key, behind)?.row;
            keyed = Some((key, row));
        }
        Ok((At { cells, front, last: None }, keyed))
    }
}

fn next_partitions(table: &Table, is_after: bool) -> String {
    let partition = table.names(0..table.partition);
    let marks = vec!["?"; table.partition].join(", ");
    let condition = match is_after {
        true => format!(" WHERE token({partition}) > token({marks})"),
        false => String::new(),
    };
    let all = table.names(0..table.columns.len());
    format!("SELECT {all} FROM {}{condition} LIMIT ?", table.name)
}

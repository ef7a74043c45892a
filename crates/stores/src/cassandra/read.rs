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
use super::client::{Bound, Fault, Way};
use super::row::Found;
use super::tables::{KeyPart, Named, Table, View};
use super::value::{self, Cell};
use crate::native::range::{Bounds, Edge, bounds, spaces};
use bytes::Bytes;
use data::schema::{Place, time_of};
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{CommitId, End, Key, Keyed, Page, Range, Row, Scan};
use data::{Error, ErrorKind, Result, Value};
use futures_util::future::try_join_all;
use keyspace::key::{self, Direction};
use keyspace::layout::cql::CqlType;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a read may take with all its tries.
const READ_WITHIN: Duration = Duration::from_secs(20);
/// Rows of a table that are asked for at once before anything is known of their size.
pub(super) const PAGE_ROWS_FIRST: usize = 64;
/// The first wait before a read is sent again.
const WAIT_FIRST: Duration = Duration::from_millis(5);
/// The longest one.
const WAIT_MAX: Duration = Duration::from_secs(1);

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

/// How often something may be done again: for as long as there is time.
pub(super) struct Tries {
    until: Instant,
    wait: Duration,
}

impl Tries {
    pub(super) fn new(until: Instant) -> Tries {
        Tries { until, wait: WAIT_FIRST }
    }

    /// Waits, if it may be done again.
    pub(super) async fn failed(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Unsent(_) | Fault::Lost(_) if Instant::now() + self.wait < self.until => {}
            fault => return Err(fault.into_error()),
        }
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT_MAX);
        Ok(())
    }
}

/// A stretch of one range.
pub(super) async fn scan(ready: &Ready, scan: &Scan) -> Result<Page> {
    let mut pages = Pages { ready, scan, rows: Vec::new(), bytes: 0 };
    let Some(spaces) = spaces(&scan.range) else {
        return Ok(Page { rows: Vec::new(), end: End::Range });
    };
    if spaces.start() != spaces.end() {
        return Err(open());
    }
    let Some(view) = ready.tables.read_of(*spaces.start())? else {
        return Ok(Page { rows: Vec::new(), end: End::Range });
    };
    let end = pages.read(view).await?;
    Ok(Page { rows: pages.rows, end })
}

/// A page as it is read.
struct Pages<'s> {
    ready: &'s Ready,
    scan: &'s Scan,
    rows: Vec<Keyed>,
    bytes: usize,
}

impl Pages<'_> {
    async fn read(&mut self, view: &Arc<View>) -> Result<End> {
        let until = Instant::now() + READ_WITHIN;
        let mut range = self.scan.range.clone();
        loop {
            let asked = self.scan.rows.saturating_sub(self.rows.len());
            let limit = view.table.page_rows.load(Ordering::Relaxed).min(asked).max(1);
            let Some(stretches) = Stretch::of(self.ready, view, &range, self.scan.reverse)? else {
                return Ok(End::Range);
            };
            let mut last = None;
            for stretch in stretches {
                let room = limit.saturating_sub(last.as_ref().map_or(0, |(count, _)| *count));
                if room == 0 {
                    break;
                }
                let read = self.stretch(view, &stretch, room, until).await?;
                if let Some((count, key)) = read {
                    let before = last.map_or(0, |(count, _)| count);
                    last = Some((before + count, key));
                }
                if let Some(end) = self.end() {
                    return Ok(end);
                }
            }
            match last {
                // Fewer than were asked for: there are no more.
                None => return Ok(End::Range),
                Some((count, _)) if count < limit => return Ok(End::Range),
                Some((_, key)) => range = range.after(&key, self.scan.reverse),
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
        let (text, cells) = stretch.statement(view, limit);
        let range = &self.scan.range;
        let mut tries = Tries::new(until);
        let read = loop {
            match read_stretch(self.ready, view, stretch, (&text, &cells), until).await {
                Ok(read) => break read,
                Err(fault) => tries.failed(fault).await?,
            }
        };
        let Some((last, _)) = read.last() else { return Ok(None) };
        let answer = (read.len(), last.clone());
        for (key, row) in read {
            let Some(row) = row.filter(|_| range.contains(key.as_ref())) else { continue };
            if self.end().is_none() {
                self.bytes += key.bytes().len() + row.weight();
                self.rows.push(Keyed { key, row });
            }
        }
        Ok(Some(answer))
    }

    fn end(&self) -> Option<End> {
        match self.bytes >= PAGE_BYTES_MAX {
            _ if self.rows.len() >= self.scan.rows => Some(End::Rows),
            true => Some(End::Bytes),
            false => None,
        }
    }

    /// Remembers how many rows are likely to fit into a page.
    fn learn(&self, view: &View) {
        if let Some(size) = self.bytes.checked_div(self.rows.len()) {
            let likely = PAGE_BYTES_MAX / size.max(64);
            view.table.page_rows.store(likely.max(1), Ordering::Relaxed);
        }
    }
}

/// The rows of a part of one partition; nothing in the place of those that are gone.
async fn read_stretch(
    ready: &Ready,
    view: &View,
    stretch: &Stretch,
    (text, cells): (&str, &[Cell]),
    until: Instant,
) -> Result<Vec<(Key, Option<Row>)>, Fault> {
    let bound: Bound = (ready.client.prepare(text, Way::Again).await?, cells.to_vec());
    let each = |columns: &[Option<&[u8]>]| {
        let key = view.key_of(&stretch.group, columns, &stretch.front)?;
        let row = view.found(&key, columns)?.row;
        Ok((key, row))
    };
    ready.client.rows(&bound, until, each).await
}

/// A part of one partition.
struct Stretch {
    /// The cells of the partition.
    partition: Vec<Cell>,
    /// The number of the space and the group, encoded.
    front: Vec<u8>,
    /// The group's values.
    group: Vec<Value>,
    /// The conditions on what orders rows, and their values.
    conditions: String,
    cells: Vec<Cell>,
    /// From the last row of the table to the first.
    reverse: bool,
}

impl Stretch {
    /// The parts of a partition that a range is, in the order of the scan; nothing if it is empty.
    fn of(
        ready: &Ready,
        view: &View,
        range: &Range,
        reverse: bool,
    ) -> Result<Option<Vec<Stretch>>> {
        let shape = view.shape();
        let Some(bounds) = bounds(shape, range) else { return Ok(None) };
        let group: Vec<Value> =
            bounds.equal.iter().take(shape.group).cloned().map(Value::from_segment).collect();
        if group.len() < shape.group {
            return Err(open());
        }
        let front = shape.front(&group)?;
        let partition = partition(view, &group, &bounds, range, &front)?;
        let make = |conditions: String, cells: Vec<Cell>| Stretch {
            partition: partition.clone(),
            front: front.clone(),
            group: group.clone(),
            conditions,
            cells,
            reverse: reverse != is_flipped(view),
        };
        if view.parts.contains(&KeyPart::Rest) {
            let (conditions, cells) = rest_conditions(view, range, &front);
            return Ok(Some(vec![make(conditions, cells)]));
        }
        let mut all = Vec::new();
        for stretch in bounds.stretches(shape) {
            if let Some((conditions, cells)) = conditions(ready, view, &stretch)? {
                all.push(make(conditions, cells));
            }
        }
        if reverse {
            all.reverse();
        }
        Ok(Some(all))
    }

    fn statement(&self, view: &View, limit: usize) -> (String, Vec<Cell>) {
        let table = &view.table;
        let mut cells = self.partition.clone();
        cells.extend(self.cells.iter().cloned());
        cells.push(value::int(limit));
        let order = match self.reverse {
            false => String::new(),
            true => {
                let columns = table.columns.get(table.partition..table.key()).unwrap_or_default();
                let turned = columns.iter().map(|column| {
                    format!("{} {}", column.name, if column.descending { "ASC" } else { "DESC" })
                });
                match turned.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => none,
                    turned => format!(" ORDER BY {turned}"),
                }
            }
        };
        let text = format!(
            "SELECT {} FROM {} WHERE {}{}{order} LIMIT ?",
            table.read(),
            table.name,
            table.equal(0..table.partition),
            self.conditions,
        );
        (text, cells)
    }
}

/// Whether the table has its rows in the reverse order of their keys: a directory may.
pub(super) fn is_flipped(view: &View) -> bool {
    let first = view.table.columns.get(view.table.partition);
    view.of.is_none() && first.is_some_and(|column| column.descending)
}

/// The cells of the partition that a range lies in.
fn partition(
    view: &View,
    group: &[Value],
    bounds: &Bounds<'_>,
    range: &Range,
    front: &[u8],
) -> Result<Vec<Cell>> {
    let mut cells = Vec::with_capacity(view.table.partition);
    for (place, column) in view.table.columns.iter().take(view.table.partition).enumerate() {
        cells.push(match view.parts.get(place) {
            Some(KeyPart::Text(text)) => value::text(text),
            Some(KeyPart::Segment(number)) => {
                view.segment_cell(column, *number, group.get(*number))?
            }
            Some(KeyPart::Slice) => value::big(slice(view, bounds, range, front)?),
            _ => return Err(open()),
        });
    }
    view.check_partition(&cells)?;
    Ok(cells)
}

/// Where the one slice begins that a range lies in.
fn slice(view: &View, bounds: &Bounds<'_>, range: &Range, front: &[u8]) -> Result<i64> {
    let shape = view.shape();
    let (Some(slices), Some(by)) = (&shape.slices, shape.segments.get(shape.group)) else {
        return Err(open());
    };
    let first =
        |edge: &Option<Edge<'_>>| edge.as_ref().and_then(|edge| edge.values.first().map(time_of));
    let times = match bounds.equal.get(shape.group) {
        Some(value) => vec![time_of(value)],
        None => [first(&bounds.lower), first(&bounds.upper)].into_iter().flatten().collect(),
    };
    // An edge may be the first instant of the next slice.
    let numbers = times.iter().flat_map(|time| {
        let number = slices.number(*time);
        [number, number - 1]
    });
    for number in numbers {
        let whole = slices.range(front, *by, number)?;
        if whole.start <= range.start && range.end <= whole.end {
            return Ok(number.saturating_mul(slices.every));
        }
    }
    Err(open())
}

/// The conditions of a stretch: values that are equal, and its edges; nothing if no row can be in
/// it.
fn conditions(
    ready: &Ready,
    view: &View,
    stretch: &Bounds<'_>,
) -> Result<Option<(String, Vec<Cell>)>> {
    let (mut text, mut cells) = (String::new(), Vec::new());
    let table = &view.table;
    let group = view.shape().group;
    let clustering = table.columns.iter().enumerate().skip(table.partition).take(table.clustering);
    let (mut equal, mut open) = (Vec::new(), Vec::new());
    for (place, column) in clustering {
        match view.parts.get(place) {
            Some(KeyPart::Text(kind)) => equal.push((column, value::text(kind))),
            Some(KeyPart::Segment(number)) => match stretch.equal.get(*number) {
                Some(known) => {
                    let known = Value::from_segment(known.clone());
                    equal.push((column, view.segment_cell(column, *number, Some(&known))?));
                }
                None => open.push((column, *number)),
            },
            // A directory's only one.
            Some(KeyPart::Slice) => match stretch.equal.get(group) {
                Some(known) => equal.push((column, slice_cell(view, known)?)),
                None => open.push((column, group)),
            },
            _ => {}
        }
    }
    for (column, cell) in equal {
        text.push_str(&format!(" AND {} = ?", column.name));
        cells.push(cell);
    }
    for (edge, is_lower) in [(&stretch.lower, true), (&stretch.upper, false)] {
        let Some(edge) = edge else { continue };
        let Some((_, first)) = open.first() else { continue };
        let segment = view.shape().segments.get(*first);
        let descending = segment.is_some_and(|segment| segment.direction == Direction::Descending);
        let from_below = is_lower != descending;
        let mut inclusive = edge.inclusive;
        let (mut names, mut bound) = (Vec::new(), Vec::new());
        for ((column, number), known) in open.iter().zip(&edge.values) {
            let (cell, is_last) = bound_cell(ready, view, (column, *number), known)?;
            names.push(column.name.as_str());
            match cell {
                Some(cell) => bound.push(cell),
                // Behind all that can be there.
                None if from_below => return Ok(None),
                None => names.truncate(0),
            }
            if is_last {
                // No row has this very value: those behind it begin with the next one.
                inclusive = from_below;
                break;
            }
        }
        if names.is_empty() {
            continue;
        }
        let operator = match (from_below, inclusive) {
            (true, true) => ">=",
            (true, false) => ">",
            (false, true) => "<=",
            (false, false) => "<",
        };
        let marks = vec!["?"; names.len()].join(", ");
        text.push_str(&format!(" AND ({}) {operator} ({marks})", names.join(", ")));
        cells.extend(bound);
    }
    Ok(Some((text, cells)))
}

/// The cell of a bound, and whether it is another value than the bound's: the first one at or
/// behind it that can be there, where all UUIDs have one version. Nothing if there is none.
fn bound_cell(
    ready: &Ready,
    view: &View,
    (column, number): (&Named, usize),
    known: &key::Value<'_>,
) -> Result<(Option<Cell>, bool)> {
    if view.of.is_none() {
        return Ok((Some(slice_cell(view, known)?), false));
    }
    let (Some(of), Some(name)) = (view.shape().types.get(number), view.shape().names.get(number))
    else {
        return Err(open());
    };
    if let (key::Value::Uuid(bytes), CqlType::Uuid) = (known, &column.native) {
        let version = match view.is_attempt(number) {
            true => Some(ATTEMPT_VERSION),
            false => ready.uuids.version_of(name),
        };
        return Ok(match version.map(|version| first_of_version(*bytes, version)) {
            Some(Some(first)) => (Some(value::uuid(&first)), first != *bytes),
            Some(None) => (None, true),
            // Nothing was ever written.
            None => (Some(value::uuid(bytes)), false),
        });
    }
    let known = Value::from_segment(known.clone());
    Ok((Some(value::cell(&column.native, of, &known)?), false))
}

/// The version of the UUIDs that attempts are.
const ATTEMPT_VERSION: u8 = 7;

/// The first UUID of a version that is not before these bytes.
fn first_of_version(bytes: [u8; 16], version: u8) -> Option<[u8; 16]> {
    const SHIFT: u32 = 76;
    let bits = u128::from_be_bytes(bytes);
    let (front, found) = (bits >> (SHIFT + 4), (bits >> SHIFT & 0xf) as u8);
    let first = |front: u128| front << (SHIFT + 4) | u128::from(version) << SHIFT;
    let bits = match found.cmp(&version) {
        std::cmp::Ordering::Equal => bits,
        std::cmp::Ordering::Less => first(front),
        std::cmp::Ordering::Greater if front < (1 << 48) - 1 => first(front + 1),
        std::cmp::Ordering::Greater => return None,
    };
    Some(bits.to_be_bytes())
}

/// The start of a slice by its number.
fn slice_cell(view: &View, number: &key::Value<'_>) -> Result<Cell> {
    match (number, &view.shape().slices) {
        (key::Value::I64(number), Some(slices)) => {
            Ok(value::big(number.saturating_mul(slices.every)))
        }
        _ => Err(open()),
    }
}

/// The conditions of a range where rows are ordered by the encoded segments after the bar.
fn rest_conditions(view: &View, range: &Range, front: &[u8]) -> (String, Vec<Cell>) {
    let (mut text, mut cells) = (String::new(), Vec::new());
    let table = &view.table;
    let clustering = table.columns.iter().zip(&view.parts).skip(table.partition);
    for (column, part) in clustering.take(table.clustering) {
        match part {
            KeyPart::Text(kind) => {
                text.push_str(&format!(" AND {} = ?", column.name));
                cells.push(value::text(kind));
            }
            _ => {
                for (bound, operator) in [(&range.start, ">="), (&range.end, "<")] {
                    if let Some(rest) = bound.strip_prefix(front) {
                        text.push_str(&format!(" AND {} {operator} ?", column.name));
                        cells.push(Cell::Bytes(Bytes::copy_from_slice(rest)));
                    }
                }
            }
        }
    }
    (text, cells)
}

fn open() -> Error {
    Error::new(ErrorKind::Unsupported, "a scan does not fix the whole group")
}

/// Waits a little longer each time, and not as long as others do; false if there is no time left.
pub(super) async fn pause(id: CommitId, tries: u32, until: Instant) -> bool {
    let [.., chance, _] = *id.as_bytes();
    let most = WAIT_FIRST * 2_u32.saturating_pow(tries.min(5));
    let wait = most * (64 + u32::from(chance.wrapping_mul(tries as u8 | 1)) % 192) / 256;
    if Instant::now() + wait >= until {
        return false;
    }
    sleep(wait).await;
    true
}

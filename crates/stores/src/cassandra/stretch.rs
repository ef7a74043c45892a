//! A range of one partition as statements: which partition, which rows, in which order.
//!
//! ```text
//! range ─▶ group, slice ─▶ partition          bounds ─▶ stretches ─▶ (a, b) > (?, ?) AND …
//! ```
//!
//! A comparison of tuples goes by values, and rows may stand up and down: a stretch has edges in
//! one direction each. Nothing is read here.

use super::Ready;
use super::client::{Fault, Way};
use super::known::Stretches;
use super::tables::Named;
use super::value::{self, Cell};
use super::view::{KeyPart, View};
use crate::native::range::{Bounds, Edge, bounds};
use bytes::Bytes;
use data::schema::time_of;
use data::store::Range;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, Direction};
use keyspace::layout::cql::CqlType;
use scylla::statement::prepared::PreparedStatement;
use std::sync::Arc;

/// A part of one partition.
#[derive(Debug)]
pub(super) struct Stretch {
    /// The cells of the partition.
    partition: Vec<Cell>,
    /// The number of the space and the group, encoded.
    pub(super) front: Vec<u8>,
    /// The conditions on what orders rows, and their values.
    conditions: String,
    cells: Vec<Cell>,
    /// From the last row of the table to the first.
    reverse: bool,
}

impl Stretch {
    /// The parts of a partition that a range is, in the order of the scan; nothing if it is empty.
    pub(super) fn of(
        ready: &Ready,
        view: &View,
        range: &Range,
        reverse: bool,
    ) -> Result<Option<Stretches>> {
        if let Some(known) = view.wholes.of(range, reverse) {
            return Ok(Some(known));
        }
        let Some(found) = Stretch::found(ready, view, range, reverse)? else { return Ok(None) };
        let found = Stretches::from(found);
        if let [stretch] = &*found
            && stretch.conditions.is_empty()
        {
            view.wholes.keep(range, reverse, found.clone());
        }
        Ok(Some(found))
    }

    fn found(
        ready: &Ready,
        view: &View,
        range: &Range,
        reverse: bool,
    ) -> Result<Option<Vec<Stretch>>> {
        let shape = view.shape();
        let Some(mut bounds) = bounds(shape, range) else { return Ok(None) };
        let group: Vec<Value> =
            bounds.equal.iter().take(shape.group).cloned().map(Value::from_segment).collect();
        if group.len() < shape.group {
            return Err(open());
        }
        let front = shape.front(&group)?;
        let slice = match view.parts.get(..view.table.partition) {
            Some(parts) if parts.contains(&KeyPart::Slice) => {
                Some(slice(view, &bounds, range, &front)?)
            }
            _ => None,
        };
        let partition = partition(view, &group, slice.as_ref().map(|(start, _)| *start))?;
        if let Some((_, whole)) = slice {
            // What ends with its partition needs no condition, which the server would judge.
            bounds.lower = bounds.lower.filter(|_| whole.start < range.start);
            bounds.upper = bounds.upper.filter(|_| range.end < whole.end);
        }
        let make = |conditions: String, cells: Vec<Cell>| Stretch {
            partition: partition.clone(),
            front: front.clone(),
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

    /// The values of its statement, so many rows at most.
    pub(super) fn cells(&self, limit: usize) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.partition.len() + self.cells.len() + 1);
        cells.extend(self.partition.iter().chain(&self.cells).cloned());
        cells.push(value::int(limit));
        cells
    }

    /// Its statement, prepared once for all stretches with the same conditions.
    pub(super) async fn prepared(
        &self,
        ready: &Ready,
        view: &View,
    ) -> Result<Arc<PreparedStatement>, Fault> {
        if let Some(known) = view.selects.of(&self.conditions, self.reverse) {
            return Ok(known);
        }
        let prepared = ready.client.prepare(&self.statement(view), Way::Again).await?;
        debug_assert!(prepared.is_token_aware(), "asked of any node: {}", view.table.name);
        view.selects.keep(&self.conditions, self.reverse, prepared.clone());
        Ok(prepared)
    }

    fn statement(&self, view: &View) -> String {
        let table = &view.table;
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
        format!(
            "SELECT {} FROM {} WHERE {}{}{order} LIMIT ?",
            table.read(),
            table.name,
            table.equal(0..table.partition),
            self.conditions,
        )
    }
}

/// Whether the table has its rows in the reverse order of their keys: a directory may.
pub(super) fn is_flipped(view: &View) -> bool {
    let first = view.table.columns.get(view.table.partition);
    view.of.is_none() && first.is_some_and(|column| column.descending)
}

/// The cells of the partition that a range lies in.
fn partition(view: &View, group: &[Value], slice: Option<i64>) -> Result<Vec<Cell>> {
    let mut cells = Vec::with_capacity(view.table.partition);
    for (place, column) in view.table.columns.iter().take(view.table.partition).enumerate() {
        cells.push(match view.parts.get(place) {
            Some(KeyPart::Text(text)) => value::text(text),
            Some(KeyPart::Segment(number)) => {
                view.segment_cell(column, *number, group.get(*number))?
            }
            Some(KeyPart::Slice) => value::big(slice.ok_or_else(open)?),
            _ => return Err(open()),
        });
    }
    view.check_partition(&cells)?;
    Ok(cells)
}

/// Where the one slice begins that a range lies in, and all that is in it.
fn slice(view: &View, bounds: &Bounds<'_>, range: &Range, front: &[u8]) -> Result<(i64, Range)> {
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
            return Ok((number.saturating_mul(slices.every), whole));
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
        match edge_condition(ready, view, (edge, is_lower), &open)? {
            Condition::All => {}
            Condition::None => return Ok(None),
            Condition::Some(condition, bound) => {
                text.push_str(&condition);
                cells.extend(bound);
            }
        }
    }
    Ok(Some((text, cells)))
}

/// What an edge lets through.
enum Condition {
    All,
    None,
    Some(String, Vec<Cell>),
}

/// The condition of an edge, on columns whose values are not fixed.
fn edge_condition(
    ready: &Ready,
    view: &View,
    (edge, is_lower): (&Edge<'_>, bool),
    open: &[(&Named, usize)],
) -> Result<Condition> {
    let Some((_, first)) = open.first() else { return Ok(Condition::All) };
    let segment = view.shape().segments.get(*first);
    let descending = segment.is_some_and(|segment| segment.direction == Direction::Descending);
    let from_below = is_lower != descending;
    let mut inclusive = edge.inclusive;
    let (mut names, mut bound) = (Vec::new(), Vec::new());
    for ((column, number), known) in open.iter().zip(&edge.values) {
        let (cell, is_other) = bound_cell(ready, view, (column, *number), known)?;
        let Some(cell) = cell else {
            // Behind all that can be there.
            if !names.is_empty() {
                inclusive = !from_below;
                break;
            }
            return Ok(if from_below { Condition::None } else { Condition::All });
        };
        names.push(column.name.as_str());
        bound.push(cell);
        if is_other {
            // No row has this very value: those behind it begin with the next one.
            inclusive = from_below;
            break;
        }
    }
    let operator = match (from_below, inclusive) {
        (true, true) => ">=",
        (true, false) => ">",
        (false, true) => "<=",
        (false, false) => "<",
    };
    let condition = match names.as_slice() {
        [name] => format!(" AND {name} {operator} ?"),
        _ => {
            let marks = vec!["?"; names.len()].join(", ");
            format!(" AND ({}) {operator} ({marks})", names.join(", "))
        }
    };
    Ok(Condition::Some(condition, bound))
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

/// A range that no one partition has.
pub(super) fn open() -> Error {
    Error::new(ErrorKind::Unsupported, "a scan does not fix the whole group")
}

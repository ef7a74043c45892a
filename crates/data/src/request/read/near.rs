//! Rows around a point: the cells a circle touches, exact distances, the nearest first.
//!
//! ```text
//! entries hold the point    cells ─▶ measure, sort, cut ─▶ fetch a page ─▶ measure again
//! they do not, or may lie   cells ─▶ fetch all, in rounds ─▶ measure, sort, cut
//! ```
//!
//! The answer is exact or an error: a cell that holds more than the file expects is never cut off.

use super::circle::{Circle, point_in, point_of};
use super::list::limit_of;
use super::nearest::{Copies, Nearest};
use super::range::model_key;
use super::rows::{EntryMembers, Finder, Of, RowMembers};
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::evaluate;
use crate::geo;
use crate::record::{Points, RecordShape};
use crate::request::inputs::{CallInputs, Inputs, Members};
use crate::request::prepare::Prepared;
use crate::request::segments::Filling;
use crate::request::{Answer, Call, Record};
use crate::schema::{CollectionSchema, ContentShape, IndexSchema};
use crate::session::Session;
use crate::store::{AtOnce, End, Key, Keyed, Range, Scan, Versions, limits};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::{Atomicity, Expression, ExpressionKind, Type};
use keyspace::plan::{Grid, hides_owner};
use std::cmp::Ordering;

/// Rows around a point, nearest first.
pub(super) async fn near(session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let prepared = call.pattern;
    let inputs = CallInputs::new(call, session.now);
    let limit = usize::try_from(limit_of(prepared, &inputs)?).unwrap_or(usize::MAX);
    let circle = Circle::of(prepared, &inputs)?;
    let missing = || Error::new(ErrorKind::Internal, "a search around a point has no index");
    let index = prepared.index().ok_or_else(missing)?;
    let collection = prepared.collection()?;
    let search = Search {
        collection,
        index,
        finder: Finder::new(prepared, &inputs)?,
        covered: prepared.shape()?.covering.is_some(),
        hidden: hides_owner(&prepared.pattern, &collection.model, &index.model),
        circle,
        limit,
        kept_points: point_in(index, &index.keep, |name| {
            index.model.keep.iter().position(|kept| kept.value == name)
        })
        .map(|slots| Points::new(&index.keep, slots)),
        row_point: match &collection.content {
            ContentShape::Record(shape) => point_in(index, shape, |name| collection.slot(name)),
            _ => None,
        },
    };
    let ranges = search.cells(prepared, &inputs)?;
    let rows = match (search.measures_entries(session), session.at_once()) {
        (true, Some(store)) => {
            let measured = search.measured_at_once(session, store, ranges)?;
            search.measured_first(session, measured).await?
        }
        (true, None) => {
            let mut measured = Vec::new();
            for entry in search.entries(session, ranges).await? {
                let distance = search.measured_entry(&entry)?;
                measured.extend(distance.map(|distance| (distance, entry)));
            }
            search.measured_first(session, measured).await?
        }
        (false, _) => {
            let entries = search.entries(session, ranges).await?;
            search.fetched_first(session, entries).await?
        }
    };
    Ok(Answer::Page { rows, next: None })
}

/// Something found, and how far away.
struct Found<T> {
    distance: f64,
    key: Key,
    what: T,
}

impl<T> Found<T> {
    fn order(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then_with(|| self.key.cmp(&other.key))
    }
}

/// The nearest, each row once.
fn nearest<T>(found: &mut Vec<Found<T>>, limit: usize) {
    found.sort_by(Found::order);
    found.dedup_by(|one, other| one.key == other.key);
    found.truncate(limit);
}

struct Search<'a> {
    collection: &'a CollectionSchema,
    index: &'a IndexSchema,
    finder: Finder<'a>,
    /// Whether entries are the answer.
    covered: bool,
    /// Whether only rows say whose they are.
    hidden: bool,
    circle: Circle,
    limit: usize,
    /// The points that entries keep, where they are floats.
    kept_points: Option<Points<'a>>,
    /// The same of rows.
    row_point: Option<(usize, usize)>,
}

impl Search<'_> {
    /// The ranges of the cells that the circle touches.
    fn cells(&self, prepared: &Prepared, inputs: &dyn Inputs) -> Result<Vec<Range>> {
        let lost = || Error::new(ErrorKind::Internal, "an index of places has no cells");
        let key = model_key(prepared)?;
        let filling = Filling { collection: &self.collection.model, filled: &prepared.filled };
        let (mut values, mut cell_at) = (Vec::new(), None);
        for segment in key.segments() {
            if segment.is_geographic() && cell_at.is_none() {
                cell_at = Some(values.len());
                values.push(Value::Null);
            } else if prepared.pattern.by.contains(&segment.name) {
                values.push(filling.required(segment, inputs)?);
            } else {
                break;
            }
        }
        let cell_at = cell_at.ok_or_else(lost)?;
        let grid = Grid::of(key).ok_or_else(lost)?;
        let Circle { latitude, longitude, radius, .. } = self.circle;
        let mut ranges = Vec::new();
        for cell in geo::cover(grid, latitude, longitude, radius)? {
            if let Some(value) = values.get_mut(cell_at) {
                *value = cell;
            }
            let front = self.index.key.front(&values)?;
            ranges.push(self.index.key.children(&front));
        }
        Ok(ranges)
    }

    /// Every live entry of the cells, read together.
    async fn entries(&self, session: &mut Session<'_>, ranges: Vec<Range>) -> Result<Vec<Keyed>> {
        let most = self.index.model.expect.rows_per_group.unwrap_or(limits::PAGE_ROWS_MAX);
        let mut open: Vec<(Range, u64)> = ranges.into_iter().map(|range| (range, 0)).collect();
        let mut found = Vec::new();
        while !open.is_empty() {
            let scans: Vec<Scan> =
                open.iter().map(|(range, read)| scan(range, *read, most)).collect();
            let pages = session.scan_together(&scans).await?;
            let mut rest = Vec::new();
            for ((range, read), page) in open.into_iter().zip(pages) {
                let read = read.saturating_add(page.rows.len() as u64);
                if read > most {
                    return Err(self.too_many(most));
                }
                match page.rows.last() {
                    Some(last) if page.end != End::Range => {
                        rest.push((range.after(&last.key, false), read));
                    }
                    _ => {}
                }
                let now = session.now;
                found.extend(page.rows.into_iter().filter(|keyed| keyed.row.is_live(now)));
            }
            open = rest;
        }
        Ok(found)
    }

    /// The live entries of the cells that lie in the circle, from a store that answers without
    /// waiting: the others are never kept.
    fn measured_at_once(
        &self,
        session: &mut Session<'_>,
        store: &dyn AtOnce,
        ranges: Vec<Range>,
    ) -> Result<Vec<(f64, Keyed)>> {
        let most = self.index.model.expect.rows_per_group.unwrap_or(limits::PAGE_ROWS_MAX);
        let now = session.now;
        session.usage.round_trips += 1;
        // Entries of one row would take each other's places.
        let limit = if self.index.model.is_plural() { usize::MAX } else { self.limit };
        let (mut nearest, mut copies) = (Nearest::new(limit), Copies::default());
        let mut last = Vec::new();
        let quick = self.kept_points.as_ref().filter(|_| self.is_quick());
        for mut range in ranges {
            let mut read = 0;
            loop {
                last.clear();
                let end = session.each(
                    store,
                    &scan(&range, read, most),
                    Versions::Wanted,
                    &mut |entry| {
                        read += 1;
                        last.clear();
                        last.extend_from_slice(entry.key);
                        let encoded = entry.encoded()?;
                        let distance = match quick {
                            _ if !entry.is_live(now) => None,
                            Some(points) => self.circle.reaches_some(points.read(&encoded)?),
                            None => self.measured_entry(&entry.to_keyed()?)?,
                        };
                        if let Some(distance) = distance {
                            nearest.add(distance, || copies.add(entry, &encoded));
                        }
                        Ok(true)
                    },
                )?;
                if read > most {
                    return Err(self.too_many(most));
                }
                if end == End::Range || last.is_empty() {
                    break;
                }
                range = range.after(&Key::from(last.clone()), false);
            }
        }
        Ok(copies.rows(nearest.found))
    }

    /// Whether what an entry keeps is all that must be known to measure it.
    fn is_quick(&self) -> bool {
        !self.index.model.unique && !self.finder.judges()
    }

    fn too_many(&self, most: u64) -> Error {
        let message = "a cell holds more rows than the file expects: raise `rows_per_group`, or \
                       index by smaller cells";
        Error::new(ErrorKind::TooLarge, message)
            .with("index", self.index.name())
            .with("rows_per_group", most)
    }

    /// Whether entries say where their rows are, and cannot be wrong about it.
    fn measures_entries(&self, session: &Session<'_>) -> bool {
        let moved = session.schema().kind().atomicity() == Atomicity::Group
            && self.collection.kept.has_version();
        let kept = |name: &&str| self.index.model.keep.iter().any(|kept| kept.value == **name);
        let point = self.point().is_some_and(|source| source.members().iter().all(kept));
        point && !moved && !self.hidden
    }

    /// The expression of the cell.
    fn point(&self) -> Option<&Expression> {
        point_of(self.index)
    }

    /// Where something is; nothing if its place is not known.
    fn place_of<M: Members>(&self, members: &M) -> Result<Option<(f64, f64)>> {
        let lost = || Error::new(ErrorKind::Internal, "an index of places has no coordinates");
        let Some(ExpressionKind::Call(_, parts)) = self.point().map(|point| &point.kind) else {
            return Err(lost());
        };
        let [latitude, longitude, ..] = parts.as_slice() else { return Err(lost()) };
        let number = |part: &Expression| evaluate(part, &Of(members), Some(&Type::F64));
        Ok(match (number(latitude)?, number(longitude)?) {
            (Value::F64(latitude), Value::F64(longitude)) => Some((latitude, longitude)),
            _ => None,
        })
    }

    fn measured_row(&self, row: &Keyed) -> Result<Option<f64>> {
        match (&self.collection.content, self.row_point) {
            (ContentShape::Record(shape), Some(point)) => {
                self.reached(shape, &row.row.value, point)
            }
            _ => self.measured(&RowMembers::new(self.collection, &row.key, &row.row.value)),
        }
    }

    /// How far away the point in two fields of a record is.
    fn reached(
        &self,
        shape: &RecordShape,
        record: &Bytes,
        point: (usize, usize),
    ) -> Result<Option<f64>> {
        Ok(self.circle.reaches_some(shape.read_point(record, point)?))
    }

    fn measured<M: Members>(&self, members: &M) -> Result<Option<f64>> {
        Ok(self.circle.reaches_some(self.place_of(members)?))
    }

    /// The nearest entries, and then their rows.
    async fn measured_first(
        &self,
        session: &mut Session<'_>,
        measured: Vec<(f64, Keyed)>,
    ) -> Result<Vec<Record>> {
        let found = self.nearest_entries(&measured)?;
        if self.covered {
            return self.finder.records(session, found).await;
        }
        self.fetched_first(session, found).await
    }

    /// How far away an entry is, if it lies in the circle and is the caller's: another's are left
    /// out before the nearest are counted.
    fn measured_entry(&self, entry: &Keyed) -> Result<Option<f64>> {
        let (collection, index) = (self.collection, self.index);
        let members = EntryMembers { collection, index, entry };
        let distance = match &self.kept_points {
            Some(points) => {
                let content = entries::kept(index, &entry.row)?;
                self.circle.reaches_some(points.read(&content)?)
            }
            None => self.measured(&members)?,
        };
        Ok(match distance {
            Some(distance) if self.finder.is_own(&members)? => Some(distance),
            _ => None,
        })
    }

    /// The nearest entries, each row once.
    fn nearest_entries(&self, measured: &[(f64, Keyed)]) -> Result<Vec<Keyed>> {
        let mut measured: Vec<(f64, &Keyed)> =
            measured.iter().map(|(distance, entry)| (*distance, entry)).collect();
        measured.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut found: Vec<Found<&Keyed>> = Vec::new();
        for (distance, entry) in measured {
            // Whose an entry is takes longer to find out than how far away, so it is not asked of
            // all. Rows equally far are in the order of their keys, so it is asked of all of those.
            let is_farther = |last: &Found<&Keyed>| last.distance < distance;
            if found.len() >= self.limit && found.last().is_some_and(is_farther) {
                nearest(&mut found, self.limit);
                if found.len() >= self.limit {
                    break;
                }
            }
            let key = entries::owner(self.collection, self.index, entry)?;
            found.push(Found { distance, key, what: entry });
        }
        nearest(&mut found, self.limit);
        Ok(found.into_iter().map(|found| found.what.clone()).collect())
    }

    /// The rows of all entries, and then the nearest of them.
    async fn fetched_first(
        &self,
        session: &mut Session<'_>,
        mut entries: Vec<Keyed>,
    ) -> Result<Vec<Record>> {
        let mut found: Vec<Found<Record>> = Vec::new();
        let round = limits::PAGE_ROWS_MAX as usize;
        while !entries.is_empty() {
            let later = entries.split_off(entries.len().min(round));
            let rows = self.finder.rows(session, self.index, &entries).await?;
            for (entry, row) in entries.into_iter().zip(rows) {
                let Some(row) = row else { continue };
                let Some(distance) = self.measured_row(&row)? else { continue };
                let key = row.key.clone();
                let record = match self.covered {
                    true => self.finder.of_entry(self.index, entry)?,
                    false => self.finder.of_row(row)?,
                };
                found.extend(record.map(|what| Found { distance, key, what }));
            }
            entries = later;
            // What is too far for the answer need not be kept until the end.
            nearest(&mut found, self.limit);
        }
        Ok(found.into_iter().map(|found| found.what).collect())
    }
}

/// As much of a cell as may be asked for, and one more than may be there.
fn scan(range: &Range, read: u64, most: u64) -> Scan {
    let rows = most.saturating_sub(read).saturating_add(1).min(limits::READ_ROWS_MAX);
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    Scan { range: range.clone(), reverse: false, rows }
}

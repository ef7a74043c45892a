//! Rows as columns, and back, with what the protocol over group-atomic stores keeps with them.
//!
//! ```text
//! _v      the commit that last wrote the row         _att    the same of a claim
//! _prev   those before it; first the nil UUID if nobody gave the row a trail
//! _sums   what each of these commits has brought a counter to, and its end (0: none)
//! _dead   false: it is there; true: a tombstone; null: it is not there
//! _ix _ux the entries and claims that belong to it, each with its place among both
//! ```
//!
//! A row that is gone stays for a day as its version and what it remembers, so that no attempt can
//! take it for one that never was, and a commit that is sent again is known. Pure.
use super::found::Found;
use super::value::{self, Cell};
use super::view::{Held as Holds, View};
use crate::sql::table::Part;
use bytes::Bytes;
use data::store::{CommitId, Held, Key, Row, Total, Trail};
use data::{Error, ErrorKind, Result, Value};

/// Commits that a counter remembers.
const COUNTER_MEMORY: usize = 64;
/// In the place of a trail that nobody gave.
pub(super) const NIL: [u8; 16] = [0; 16];

impl View {
    /// The cells of all columns beside the key, for a row that a commit makes this, or takes away.
    pub(super) fn value_cells(
        &self,
        key: &Key,
        row: Option<&Row>,
        id: CommitId,
        before: &Found,
    ) -> Result<Vec<Cell>> {
        let mut cells = Vec::with_capacity(self.table.columns.len() - self.table.key());
        self.add_value_cells((key, row), id, before, &mut cells)?;
        Ok(cells)
    }

    /// Adds the cells of a row that is its fields and nothing else, as they lie in its record;
    /// false, and nothing is added, if they must be taken apart.
    pub(super) fn add_field_cells(&self, record: &Bytes, cells: &mut Vec<Cell>) -> Result<bool> {
        let Some(shape) = self.direct.as_ref().filter(|_| self.is_fields_alone) else {
            return Ok(false);
        };
        let first = cells.len();
        for (place, of, holds) in &self.holds {
            let (Holds::Part(Part::Slot(slot)), Some(column)) =
                (holds, self.table.columns.get(*place))
            else {
                cells.truncate(first);
                return Ok(false);
            };
            let payload = shape.payload(record, *slot)?;
            let cell =
                payload.and_then(|bytes| value::field_cell(&column.native, of, record, bytes));
            let Some(cell) = cell else {
                cells.truncate(first);
                return Ok(false);
            };
            cells.push(cell);
        }
        Ok(true)
    }

    /// Adds the cells of all columns beside the key.
    pub(super) fn add_value_cells(
        &self,
        (key, row): (&Key, Option<&Row>),
        id: CommitId,
        before: &Found,
        cells: &mut Vec<Cell>,
    ) -> Result<()> {
        let first = cells.len();
        cells.resize(first + self.table.columns.len() - self.table.key(), Cell::Null);
        let cells = cells.get_mut(first..).unwrap_or_default();
        let live = row.filter(|row| !row.trail.as_ref().is_some_and(|trail| trail.dead));
        let (owner, slots) = match (live, &self.of) {
            (Some(row), Some(of)) => of.take_apart(&row.value)?,
            _ => Default::default(),
        };
        let of_key = |(_, _, holds): &(_, _, Holds)| matches!(holds, Holds::Part(Part::Segment(_)));
        let segments = match self.holds.iter().any(of_key) {
            true => self.shape().decode(key)?,
            false => Vec::new(),
        };
        for (place, value_type, holds) in &self.holds {
            let Some(column) = self.table.columns.get(*place) else { continue };
            let of = |values: &[Value], number: usize| match (live, values.get(number)) {
                (None, _) => Ok(Cell::Null),
                (Some(_), Some(value)) => value::cell(&column.native, value_type, value)
                    .map_err(|error| error.with("column", &column.name)),
                _ => Err(Error::new(ErrorKind::Internal, "a row has too few values")),
            };
            let cell = match holds {
                Holds::Part(Part::Slot(number) | Part::Kept(number)) => of(&slots, *number)?,
                Holds::Part(Part::Owner(number)) => of(&owner, *number)?,
                Holds::Part(Part::Segment(number)) => of(&segments, *number)?,
                Holds::Part(Part::Version) => value::uuid(id.as_bytes()),
                Holds::Part(Part::Expires) => {
                    row.and_then(|row| row.expires).map_or(Cell::Null, value::big)
                }
                Holds::Part(Part::Literal(_) | Part::SortKey(_)) => Cell::Null,
                Holds::Previous => self.previous_cell(row, before),
                Holds::Sums => sums_cell(self.sums(row, before)),
                Holds::Dead => row.map_or(Cell::Null, |row| {
                    let dead = row.trail.as_ref().is_some_and(|trail| trail.dead);
                    Cell::Bytes(Bytes::from_static(if dead { &[1] } else { &[0] }))
                }),
                Holds::Entries => held_cell(self, row, false),
                Holds::Claims => held_cell(self, row, true),
            };
            if let Some(slot) = cells.get_mut(*place - self.table.key()) {
                *slot = cell;
            }
        }
        self.check_end(row, cells)
    }

    /// Whether the table can say when a row ends.
    fn check_end(&self, row: Option<&Row>, cells: &[Cell]) -> Result<()> {
        let Some(row) = row.filter(|row| !row.trail.as_ref().is_some_and(|trail| trail.dead))
        else {
            return Ok(());
        };
        let in_key = self.expires.is_some_and(|place| place < self.table.key());
        let written =
            self.expires.and_then(|place| cells.get(place.checked_sub(self.table.key())?));
        let said = written.and_then(Cell::bytes).and_then(|bytes| bytes.try_into().ok());
        match in_key || row.expires == said.map(i64::from_be_bytes) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Internal,
                "a row ends at another instant than its table can say",
            )
            .with("table", &self.table.name)),
        }
    }

    /// Whether `_prev` is a list: of rows it is, of entries and claims one commit.
    pub(super) fn has_list(&self) -> bool {
        self.collection().is_some()
    }

    fn previous_cell(&self, row: Option<&Row>, before: &Found) -> Cell {
        let given = row.and_then(|row| row.trail.as_ref()).map(|trail| trail.previous.as_slice());
        if !self.has_list() {
            return match given {
                Some([]) => Cell::Null,
                Some([previous, ..]) => value::uuid(previous.as_bytes()),
                None => value::uuid(&NIL),
            };
        }
        if let Some(given) = given {
            return value::list(given.iter().map(|id| id.as_bytes().as_slice()));
        }
        let most = if self.counts() { COUNTER_MEMORY } else { Trail::PREVIOUS_MAX };
        let own = before.version.iter().chain(&before.previous).take(most);
        let own: Vec<&[u8]> = own.map(|id| id.as_bytes().as_slice()).collect();
        let marked = std::iter::once(NIL.as_slice()).chain(own);
        let all: Vec<&[u8]> = marked.collect();
        value::list(all.into_iter())
    }

    /// What the last commits have brought a counter to, with the one that makes it this row.
    fn sums(&self, row: Option<&Row>, before: &Found) -> Vec<Total> {
        if !self.counts() {
            return Vec::new();
        }
        let now = row.and_then(|row| {
            let value = i64::from_be_bytes(row.value.as_ref().try_into().ok()?);
            Some(Total { value, expires: row.expires })
        });
        let now = now.unwrap_or(Total { value: 0, expires: None });
        std::iter::once(now).chain(before.sums.iter().copied().take(COUNTER_MEMORY)).collect()
    }
}

fn sums_cell(sums: Vec<Total>) -> Cell {
    if sums.is_empty() {
        return Cell::Null;
    }
    let numbers = sums.iter().flat_map(|total| [total.value, total.expires.unwrap_or(0)]);
    let numbers: Vec<[u8; 8]> = numbers.map(i64::to_be_bytes).collect();
    value::list(numbers.iter().map(<[u8; 8]>::as_slice))
}
/// The entries, or the claims, that belong to a row.
fn held_cell(view: &View, row: Option<&Row>, unique: bool) -> Cell {
    let Some(trail) = row.and_then(|row| row.trail.as_ref()) else { return Cell::Null };
    let is_claim = |held: &Held| {
        let indexes = view.collection().map(|collection| collection.indexes.as_slice());
        let mut indexes = indexes.unwrap_or_default().iter();
        indexes.any(|index| index.key.space == held.space && index.model.unique)
    };
    let mut bytes = Vec::new();
    for (place, held) in trail.held.iter().enumerate().filter(|(_, held)| is_claim(held) == unique)
    {
        bytes.extend_from_slice(&u16::try_from(place).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend_from_slice(&held.space.to_be_bytes());
        bytes.extend_from_slice(&held.entry);
        bytes.extend_from_slice(held.attempt.as_bytes());
    }
    if bytes.is_empty() { Cell::Null } else { Cell::Bytes(Bytes::from(bytes)) }
}

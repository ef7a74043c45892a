//! What a `near` costs: the cells of a circle, then records, then the nearest of them.
//!
//! ```text
//! entries hold the point    cells ─▶ measure and sort ─▶ fetch a page
//! they do not, or may lie   cells ─▶ fetch, nearest cells first ─▶ measure and sort
//! ```
//!
//! The answer is exact: no row is left out because of what its entry lacks. So where entries do not
//! hold the coordinates, or may name rows that have moved on, every candidate may be fetched, in
//! rounds of a page's largest size, and the bound says so.

use super::bounds::{Answer, Bounds, Count, Refusal};
use super::cover::Grid;
use super::read::{fetches, page_of};
use super::shape::{cannot_hold, entry_size, hides_owner, is_apart, key_size, record_size};
use super::step::counted;
use crate::layout::redis::{has_order, is_read_whole};
use crate::model::{Index, Keyspace, Mode, Pattern, StoreKind, Target, limits};
use crate::parse::grouped;

/// The circle of a `near`: the most cells, the usual number, and the rows of one.
pub(super) struct Circle {
    /// Cells at most, anywhere.
    pub cells: u64,
    cells_usual: u64,
    /// Rows of one cell at most.
    pub cell_rows: u64,
}

impl Circle {
    pub(super) fn of(pattern: &Pattern, index: &Index) -> Circle {
        let radius = pattern.radius_max.unwrap_or(0.0);
        let grid = Grid::of(&index.key);
        Circle {
            cells: grid.map_or(1, |grid| grid.cells_max(radius)),
            cells_usual: grid.map_or(1, |grid| grid.cells_usual(radius)),
            cell_rows: index.expect.rows_per_group.unwrap_or(limits::PAGE_ROWS_MAX),
        }
    }

    /// Rows of all cells at most: more in one is an error, for the answer would not be exact.
    fn candidates(&self) -> u64 {
        self.cells.saturating_mul(self.cell_rows)
    }
}

/// A `near` on one store.
pub(super) struct Around<'a> {
    pub keyspace: &'a Keyspace,
    pub store: StoreKind,
    pub pattern: &'a Pattern,
    pub target: &'a Target,
}

impl Around<'_> {
    /// Rows around a point, nearest first.
    pub fn answer(&self) -> Answer {
        let collection = &self.target.collection;
        let Some(index) = &self.target.index else { return Answer::Native(Bounds::default()) };
        let circle = Circle::of(self.pattern, index);
        let whole = self.store.is_redis()
            && is_read_whole(self.keyspace, self.store, collection, Some(index.as_ref()));
        let cell_rows = if whole { limits::REDIS_SET_ROWS_MAX } else { circle.cell_rows };
        let refusal = sliced(index)
            .or_else(|| too_wide(self.pattern, index, circle.cells))
            .or_else(|| too_many(self.pattern, index, circle.cells, cell_rows, whole))
            .or_else(|| cannot_hold(self.store, collection, Some(index)))
            .or_else(|| cannot_hold(self.store, collection, None));
        if let Some(refusal) = refusal {
            return Answer::Refused(refusal);
        }
        let price = format!(
            "up to {} of up to {} are read, measured and sorted; usually {}",
            counted(circle.cells, "cell"),
            counted(cell_rows, "row"),
            counted(circle.cells_usual, "cell"),
        );
        Answer::Assisted { price, bounds: self.bounds(index, &circle, cell_rows, whole) }
    }

    fn bounds(&self, index: &Index, circle: &Circle, cell_rows: u64, whole: bool) -> Bounds {
        let collection = &self.target.collection;
        let usual = circle.cells_usual.saturating_mul(circle.cell_rows);
        // Cells are read together, each a page at a time.
        let trips = if whole { 1 } else { rounds(cell_rows) };
        let rows = Count::new(usual, circle.cells.saturating_mul(cell_rows));
        let records = self.records(index);
        let entry = entry_size(collection, index);
        let ordered_apart =
            self.store.is_redis() && has_order(self.keyspace, self.store, collection, Some(index));
        let mut bounds = Bounds::default().trips(trips);
        bounds = match ordered_apart {
            true => bounds.read(rows, key_size(collection)),
            false => bounds.read(rows, entry),
        };
        // An order names the records; a claim, or what entries keep, is read beside it.
        if ordered_apart && (index.unique || records == 0 || holds_point(index)) {
            bounds = bounds.trips(rounds(rows.max)).read(rows, entry);
        }
        match records {
            0 => bounds,
            _ => bounds
                .trips(rounds(records))
                .read(Count::new(usual, records), record_size(collection)),
        }
    }

    /// Records fetched at most, in rounds.
    pub fn records(&self, index: &Index) -> u64 {
        let collection = &self.target.collection;
        let point = holds_point(index);
        let hidden = hides_owner(self.pattern, collection, index);
        let held = !fetches(self.keyspace, self.store, self.pattern, collection);
        if point && held && !hidden {
            return 0;
        }
        let candidates = Circle::of(self.pattern, index).candidates();
        let kept = self.keyspace.kept_mode(self.store, collection);
        let moved = is_apart(self.store) && kept == Mode::Conditional;
        // Another's rows must be left out before the nearest are counted.
        match point && !moved && !hidden && collection.ttl.is_none() {
            true => page_of(self.pattern).min(candidates),
            false => candidates,
        }
    }
}

fn rounds(rows: u64) -> u64 {
    rows.div_ceil(limits::PAGE_ROWS_MAX).max(1)
}

/// Whether entries keep the coordinates they are computed from.
pub(super) fn holds_point(index: &Index) -> bool {
    let source = index.key.segments().find(|segment| segment.is_geographic());
    let members = source.and_then(|segment| segment.source.as_ref()).map(|source| source.members());
    let kept = |name: &&str| index.keep.iter().any(|field| field.value == **name);
    members.is_some_and(|names| names.iter().all(kept))
}

/// A cell cut in slices is as many reads as it has slices, and nothing bounds those.
fn sliced(index: &Index) -> Option<Refusal> {
    index.bucket.as_ref()?;
    let name = &index.name.value;
    let reason = format!(
        "`{name}` is cut in slices by `bucket`, and a `near` would read every slice of every cell"
    );
    let fixes = vec![
        format!("take `bucket` from `{name}`"),
        "declare an index without `bucket` for the `near`".to_string(),
    ];
    Some(Refusal { code: 514, reason, fixes })
}

fn too_wide(pattern: &Pattern, index: &Index, cells: u64) -> Option<Refusal> {
    if cells <= limits::NEAR_CELLS_MAX {
        return None;
    }
    let reason = format!(
        "a circle of {} metres may touch {} of `{}`; {} are read at most",
        pattern.radius_max.unwrap_or(0.0),
        counted(cells, "cell"),
        index.name.value,
        limits::NEAR_CELLS_MAX,
    );
    let fixes = fewer_cells(pattern, index, limits::NEAR_CELLS_MAX);
    Some(Refusal { code: 514, reason, fixes })
}

/// What makes a circle touch so few cells.
fn fewer_cells(pattern: &Pattern, index: &Index, cells_max: u64) -> Vec<String> {
    let radius = pattern.radius_max.unwrap_or(0.0);
    let grid = Grid::of(&index.key);
    let coarser = grid.and_then(|grid| grid.coarser(radius, cells_max));
    let coarser = coarser.map(|grid| format!("index by larger cells: `{}`", grid.text()));
    coarser.into_iter().chain(nearer(grid, radius, cells_max)).collect()
}

fn nearer(grid: Option<Grid>, radius: f64, cells_max: u64) -> Option<String> {
    let radius = grid.and_then(|grid| grid.radius_max(radius, cells_max))?;
    Some(format!("lower `max_radius` to {radius}"))
}

fn too_many(
    pattern: &Pattern,
    index: &Index,
    cells: u64,
    cell_rows: u64,
    whole: bool,
) -> Option<Refusal> {
    let most = limits::NEAR_ROWS_MAX;
    let rows = cells.saturating_mul(cell_rows);
    if rows <= most {
        return None;
    }
    let reason = format!(
        "{} of `{}` with up to {} each are {}; {} are read at most",
        counted(cells, "cell"),
        index.name.value,
        counted(cell_rows, "row"),
        counted(rows, "row"),
        grouped(most),
    );
    let fitting = most / cell_rows.max(1);
    if whole {
        return Some(Refusal { code: 514, reason, fixes: fewer_cells(pattern, index, fitting) });
    }
    let radius = pattern.radius_max.unwrap_or(0.0);
    let grid = Grid::of(&index.key);
    let finer = grid.and_then(|grid| grid.finer(radius, limits::NEAR_CELLS_MAX));
    let finer = finer.map(|grid| {
        let text = grid.text();
        format!("index by smaller cells, and expect fewer rows in one: `{text}`")
    });
    let fewer = format!("lower `expect.rows_per_group` to {}, if it is so", most / cells.max(1));
    let fixes = finer.into_iter().chain(nearer(grid, radius, fitting)).chain([fewer]).collect();
    Some(Refusal { code: 514, reason, fixes })
}

//! How many cells cover a circle.
//!
//! ```text
//!   ┌──┬──┬──┬──┐   rows × columns for geohash, whose cells are rectangles and get narrow
//!   │ ╱│──│──│╲ │   towards the poles; by area for S2, whose cells are nearly squares everywhere
//!   └──┴──┴──┴──┘
//! ```
//!
//! An upper bound for any point the index serves. Cells are counted, never computed.

use crate::model::{Expression, ExpressionKind, Function, Key};

/// Metres of one degree of latitude, rounded down: shorter cells, more of them.
const METRES_PER_DEGREE: f64 = 110_500.0;
/// The latitude, in degrees, up to which `geohash` serves.
pub const GEOHASH_LATITUDE_MAX: f64 = 85.0;
/// A latitude to estimate with.
const LATITUDE_USUAL: f64 = 45.0;
/// The earth's mean radius in metres: distances are those on a sphere.
pub const EARTH_RADIUS: f64 = 6_371_010.0;
/// The area of the smallest S2 cell of level 0, in steradians; a quarter at each further level.
const S2_AREA_MIN: f64 = 1.257_078_722_109_418;
/// The longest diagonal of an S2 cell of level 0, in radians; half at each further level.
const S2_DIAGONAL_MAX: f64 = 2.438_654_594_434_021;
/// The mean area of an S2 cell of level 0: a sixth of the sphere.
const S2_AREA_USUAL: f64 = 4.0 * std::f64::consts::PI / 6.0;
/// The mean diagonal of an S2 cell of level 0, in radians.
const S2_DIAGONAL_USUAL: f64 = 2.060_422_738_998_471;

/// A grid on the earth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Geohashes of so many characters.
    Geohash(u32),
    /// S2 cells of a level.
    Cell(u32),
}

impl Grid {
    /// The grid of an index: that of its first geographic segment.
    pub fn of(key: &Key) -> Option<Grid> {
        let source = key.segments().find(|segment| segment.is_geographic())?.source.as_ref()?;
        let ExpressionKind::Call(function, arguments) = &source.kind else { return None };
        let fineness = arguments.last().and_then(number)?;
        match function {
            Function::Geohash => Some(Grid::Geohash(fineness.clamp(1, 12))),
            Function::Cell => Some(Grid::Cell(fineness.min(30))),
            _ => None,
        }
    }

    /// The most cells that a circle of this radius, in metres, can touch.
    pub fn cells_max(self, radius: f64) -> u64 {
        let radius = radius.max(0.0);
        match self {
            Grid::Geohash(characters) => geohash_cells(characters, radius, GEOHASH_LATITUDE_MAX),
            Grid::Cell(level) => s2_cells(level, radius, S2_AREA_MIN, S2_DIAGONAL_MAX),
        }
    }

    /// The cells that such a circle touches where most people live.
    pub fn cells_usual(self, radius: f64) -> u64 {
        let radius = radius.max(0.0);
        let cells = match self {
            Grid::Geohash(characters) => geohash_cells(characters, radius, LATITUDE_USUAL),
            Grid::Cell(level) => s2_cells(level, radius, S2_AREA_USUAL, S2_DIAGONAL_USUAL),
        };
        cells.min(self.cells_max(radius))
    }

    /// The finest grid of the same kind, no finer than this one, that needs at most so many cells.
    pub fn coarser(self, radius: f64, cells_max: u64) -> Option<Grid> {
        let fits = |grid: &Grid| grid.cells_max(radius) <= cells_max;
        match self {
            Grid::Geohash(finest) => (1..=finest).rev().map(Grid::Geohash).find(fits),
            Grid::Cell(finest) => (0..=finest).rev().map(Grid::Cell).find(fits),
        }
    }

    /// The finest grid of the same kind that needs at most so many cells, if finer than this one.
    pub fn finer(self, radius: f64, cells_max: u64) -> Option<Grid> {
        let finest = match self {
            Grid::Geohash(_) => Grid::Geohash(12),
            Grid::Cell(_) => Grid::Cell(30),
        };
        let finest = finest.coarser(radius, cells_max)?;
        let is_finer = match (self, finest) {
            (Grid::Geohash(own), Grid::Geohash(found)) => found > own,
            (Grid::Cell(own), Grid::Cell(found)) => found > own,
            _ => false,
        };
        is_finer.then_some(finest)
    }

    /// The largest radius, in whole steps of a round number of metres, that needs so few cells.
    pub fn radius_max(self, below: f64, cells_max: u64) -> Option<f64> {
        let mut radius = if below.is_finite() { below } else { EARTH_RADIUS };
        while radius >= 1.0 {
            radius *= 0.9;
            if self.cells_max(radius) <= cells_max {
                let step = 10f64.powf(radius.log10().floor() - 1.0).max(1.0);
                return Some((radius / step).floor() * step);
            }
        }
        None
    }

    /// How it is written in a key.
    pub fn text(self) -> String {
        match self {
            Grid::Geohash(characters) => format!("geohash(…, {characters})"),
            Grid::Cell(level) => format!("cell(…, {level})"),
        }
    }
}

fn number(expression: &Expression) -> Option<u32> {
    match &expression.kind {
        ExpressionKind::Number(text) => text.replace('_', "").parse().ok(),
        _ => None,
    }
}

fn geohash_cells(characters: u32, radius: f64, latitude: f64) -> u64 {
    let bits = 5 * characters;
    let columns = 2f64.powi(bits.div_ceil(2) as i32);
    let rows = 2f64.powi((bits / 2) as i32);
    let reach = radius / METRES_PER_DEGREE;
    let touched_rows = (2.0 * reach / (180.0 / rows)).floor() + 2.0;
    // The circle is widest, in degrees, on the parallel of its side towards the pole.
    let latitude = latitude + reach;
    let narrowing = if latitude < 90.0 { latitude.to_radians().cos() } else { 0.0 };
    let touched_columns = match narrowing > 0.0 {
        true => (2.0 * reach / narrowing / (360.0 / columns)).floor() + 2.0,
        false => columns,
    };
    (touched_rows.min(rows) * touched_columns.min(columns)) as u64
}

fn s2_cells(level: u32, radius: f64, area_of_one: f64, diagonal: f64) -> u64 {
    let scale = 0.5f64.powi(level as i32);
    let all = 6.0 / (scale * scale);
    // Every touched cell lies whole in a circle wider by one diagonal.
    let reach = (radius / EARTH_RADIUS + diagonal * scale).min(std::f64::consts::PI);
    // Not `1 - cos`, which for a circle of metres is rounding and nothing else.
    let area = 4.0 * std::f64::consts::PI * (reach / 2.0).sin().powi(2);
    (area / (area_of_one * scale * scale)).ceil().min(all) as u64
}

#[cfg(test)]
mod tests {
    use super::Grid;

    #[test]
    fn five_characters_cover_five_kilometres_up_to_85_degrees() {
        // Cells of 4.9 km by 0.42 km at 85°: 4 rows of 25.
        assert_eq!(Grid::Geohash(5).cells_max(5_000.0), 100);
        assert!(Grid::Geohash(7).cells_max(5_000.0) > 1_000);
    }

    #[test]
    fn finer_cells_and_wider_circles_never_need_fewer() {
        for grid in [Grid::Geohash, Grid::Cell] {
            for fineness in 1..12 {
                for radius in [0.0, 10.0, 1_000.0, 50_000.0, 2_000_000.0] {
                    let cells = grid(fineness).cells_max(radius);
                    assert!(cells >= 1);
                    assert!(grid(fineness + 1).cells_max(radius) >= cells, "{fineness} {radius}");
                    assert!(grid(fineness).cells_max(radius * 2.0) >= cells);
                }
            }
        }
    }

    #[test]
    fn a_circle_is_counted_in_cells_alike_at_every_level() {
        for level in 10..30 {
            let radius = 1e6 * 0.5f64.powi(level as i32);
            let cells = |level: u32, radius: f64| Grid::Cell(level).cells_max(radius);
            assert!(cells(level, 0.0).abs_diff(15) <= 1, "{level}");
            assert!(cells(level, radius).abs_diff(cells(level + 1, radius / 2.0)) <= 1, "{level}");
        }
    }

    #[test]
    fn a_grid_has_no_more_cells_than_it_has() {
        assert_eq!(Grid::Geohash(1).cells_max(30_000_000.0), 32);
        assert_eq!(Grid::Cell(0).cells_max(30_000_000.0), 6);
    }

    #[test]
    fn the_fixes_fit() {
        let grid = Grid::Geohash(7);
        let coarser = grid.coarser(5_000.0, 128).unwrap();
        assert_eq!(coarser, Grid::Geohash(5));
        let radius = grid.radius_max(5_000.0, 128).unwrap();
        assert!(grid.cells_max(radius) <= 128, "{radius}");
    }
}

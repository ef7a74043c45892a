//! Points on the earth: the cells they lie in, the cells a circle touches, distances.
//!
//! ```text
//! row     point ─▶ cell                      the segment of an index
//! near    circle ─▶ every cell it touches ─▶ rows ─▶ distance ≤ radius
//! ```
//!
//! A cover may name a cell too many and never one too few: what `distance` finds in the circle lies
//! in one of its cells. The cell of a point is stored, so it must never depend on the machine.

mod cell;
mod geohash;
#[cfg(test)]
mod tests;

use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::model::limits::NEAR_CELLS_MAX;
use keyspace::plan::{EARTH_RADIUS, GEOHASH_LATITUDE_MAX, Grid};
use std::f64::consts::PI;

/// What a circle is wider than asked for, in radians: 6 µm on the earth, a thousandth of the
/// smallest cell, and a thousand times what rounding can move a point or a border.
const PADDING: f64 = 1e-12;
/// Beyond this, in radians, rounding moves a distance by more than the padding: all cells are read.
const REACH_EXACT: f64 = 3.1;

/// A point, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    latitude: f64,
    longitude: f64,
}

impl Point {
    fn new(latitude: f64, longitude: f64) -> Result<Self> {
        // A comparison with NaN is false.
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(Error::new(ErrorKind::Argument, "a latitude lies between -90 and 90")
                .with("latitude", latitude));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(Error::new(ErrorKind::Argument, "a longitude lies between -180 and 180")
                .with("longitude", longitude));
        }
        Ok(Point { latitude, longitude })
    }
}

/// A circle: what a cover is made for.
#[derive(Clone, Copy, Debug)]
struct Circle {
    centre: Point,
    /// Its radius in radians, with the padding.
    reach: f64,
}

impl Circle {
    fn new(centre: Point, radius: f64) -> Result<Self> {
        if !radius.is_finite() || radius < 0.0 {
            return Err(Error::new(
                ErrorKind::Argument,
                "a radius is a number of metres, 0 or more",
            )
            .with("radius", radius));
        }
        let reach = radius / EARTH_RADIUS;
        let reach = if reach > REACH_EXACT { PI } else { reach + PADDING };
        Ok(Circle { centre, reach })
    }
}

/// The geohash of a point, so many characters long (1 to 12).
pub fn geohash(latitude: f64, longitude: f64, characters: u32) -> Result<String> {
    let point = Point::new(latitude, longitude)?;
    Ok(geohash::Squares::new(characters).text_of(point))
}

/// The number of the S2 cell of a point at a level (0 to 30).
pub fn cell(latitude: f64, longitude: f64, level: u32) -> Result<u64> {
    Ok(cell::number_of(Point::new(latitude, longitude)?, level))
}

/// The cells of a grid that a circle touches, those in the middle first: `Value::Cell` or, for
/// geohashes, `Value::Text`. The radius is in metres.
pub fn cover(grid: Grid, latitude: f64, longitude: f64, radius: f64) -> Result<Vec<Value>> {
    let centre = Point::new(latitude, longitude)?;
    let circle = Circle::new(centre, radius)?;
    let cells = match grid {
        Grid::Cell(level) => {
            let cells = cell::touched(&circle, level, CELLS_MAX);
            cells.map(|cells| cells.into_iter().map(Value::Cell).collect())
        }
        Grid::Geohash(_) if latitude.abs() > GEOHASH_LATITUDE_MAX => {
            return Err(Error::new(
                ErrorKind::Argument,
                "geohashes serve no point so far from the equator",
            )
            .with("latitude", latitude)
            .with("latitude_max", GEOHASH_LATITUDE_MAX));
        }
        Grid::Geohash(characters) => {
            let texts = geohash::Squares::new(characters).touched(&circle, CELLS_MAX);
            texts.map(|texts| texts.into_iter().map(Value::Text).collect())
        }
    };
    cells.ok_or_else(|| {
        Error::new(ErrorKind::Bound, "a circle touches more cells than are read")
            .with("radius", radius)
            .with("cells_max", NEAR_CELLS_MAX)
    })
}

const CELLS_MAX: usize = NEAR_CELLS_MAX as usize;

/// The way from one point to another over the surface, in metres: the haversine of a sphere.
/// Coordinates are in degrees and in range.
pub fn distance(from_latitude: f64, from_longitude: f64, latitude: f64, longitude: f64) -> f64 {
    let across = haversine((latitude - from_latitude).to_radians());
    let along = haversine((longitude - from_longitude).to_radians());
    let narrowing = from_latitude.to_radians().cos() * latitude.to_radians().cos();
    let whole = (across + narrowing * along).clamp(0.0, 1.0);
    2.0 * EARTH_RADIUS * whole.sqrt().asin()
}

fn haversine(angle: f64) -> f64 {
    let half = (angle / 2.0).sin();
    half * half
}

//! Covers against brute force: the same points, whatever the grid and wherever the circle.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use super::*;
use crate::clock::SeededRandom;
use std::collections::{HashMap, HashSet};

const SEED: u64 = 20_261_115;
const POINTS: usize = 200_000;
const CIRCLES: usize = 200;

/// Latitude and longitude.
type Place = (f64, f64);

struct Chance(SeededRandom);

impl Chance {
    /// From 0 to 1.
    fn share(&self) -> f64 {
        (self.0.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&self, low: f64, high: f64) -> f64 {
        low + self.share() * (high - low)
    }

    /// Uniform on the sphere.
    fn anywhere(&self) -> Place {
        (self.between(-1.0, 1.0).asin().to_degrees(), self.between(-180.0, 180.0))
    }

    /// A length in metres, as likely between 1 and 10 as between 10 and 100.
    fn length(&self, longest: f64) -> f64 {
        10_f64.powf(self.between(-2.0, longest.log10()))
    }

    /// A place where grids are in danger: poles, the date line, borders and corners of cells.
    fn awkward(&self, number: usize) -> Place {
        let corner = (1.0 / 2_f64.sqrt()).atan().to_degrees();
        let turn = [-135.0, -45.0, 45.0, 135.0][(self.0.number() % 4) as usize];
        let sign = if self.share() < 0.5 { -1.0 } else { 1.0 };
        match number % 10 {
            0 => (90.0 * sign, self.between(-180.0, 180.0)),
            1 => (self.between(-89.0, 89.0), 180.0 * sign),
            2 => (0.0, 180.0 * sign),
            3 => (85.0 * sign, self.between(-180.0, 180.0)),
            // Where three faces of the cube meet, and along an edge of it.
            4 => (corner * sign, turn),
            5 => (self.between(-35.0, 35.0), turn),
            // On borders of geohashes.
            6 => (180.0 * (self.share() * 1_024.0).floor() / 1_024.0 - 90.0, self.anywhere().1),
            7 => (self.anywhere().0, 360.0 * (self.share() * 32_768.0).floor() / 32_768.0 - 180.0),
            8 => (84.999 * sign, 179.999 * sign),
            _ => self.anywhere(),
        }
    }

    /// A point so far from another, in any direction.
    fn away(&self, (latitude, longitude): Place, metres: f64) -> Place {
        let (phi, reach) = (latitude.to_radians(), metres / EARTH_RADIUS);
        let bearing = self.between(0.0, 2.0 * PI);
        let sine = phi.sin() * reach.cos() + phi.cos() * reach.sin() * bearing.cos();
        let turn = (bearing.sin() * reach.sin() * phi.cos()).atan2(reach.cos() - phi.sin() * sine);
        let longitude = longitude + turn.to_degrees();
        let longitude = (longitude + 540.0).rem_euclid(360.0) - 180.0;
        (sine.clamp(-1.0, 1.0).asin().to_degrees(), longitude)
    }
}

struct World {
    points: Vec<Place>,
    /// For each grid, its cells with the points in them, sorted.
    cells: HashMap<String, Vec<(u128, usize)>>,
}

/// A cell as a number.
fn name(cell: &Value) -> u128 {
    match cell {
        Value::Cell(number) => u128::from(*number),
        Value::Text(text) => text.bytes().fold(0, |name, byte| name << 8 | u128::from(byte)),
        other => panic!("{other:?} is no cell"),
    }
}

fn cell_of(grid: Grid, (latitude, longitude): Place) -> Value {
    match grid {
        Grid::Cell(level) => Value::Cell(cell(latitude, longitude, level).unwrap()),
        Grid::Geohash(characters) => Value::Text(geohash(latitude, longitude, characters).unwrap()),
    }
}

impl World {
    fn cells(&mut self, grid: Grid) -> &[(u128, usize)] {
        let points = &self.points;
        self.cells.entry(grid.text()).or_insert_with(|| {
            let cell = |(number, point): (usize, &Place)| (name(&cell_of(grid, *point)), number);
            let mut cells: Vec<(u128, usize)> = points.iter().enumerate().map(cell).collect();
            cells.sort_unstable();
            cells
        })
    }

    /// What a `near` answers: rows of the cells, measured.
    fn select(&mut self, grid: Grid, cover: &[Value], centre: Place, radius: f64) -> Vec<usize> {
        let cells = self.cells(grid);
        let mut candidates = Vec::new();
        for cell in cover.iter().map(name) {
            let start = cells.partition_point(|(known, _)| *known < cell);
            let own = cells[start..].iter().take_while(|(known, _)| *known == cell);
            candidates.extend(own.map(|(_, number)| *number));
        }
        candidates.retain(|number| self.is_near(*number, centre, radius));
        candidates.sort_unstable();
        candidates
    }

    fn is_near(&self, number: usize, centre: Place, radius: f64) -> bool {
        let (latitude, longitude) = self.points[number];
        distance(centre.0, centre.1, latitude, longitude) <= radius
    }
}

/// Points everywhere, around awkward places, and on the rims of the circles around those.
fn world() -> (World, Vec<(Place, f64)>) {
    let chance = Chance(SeededRandom::new(SEED));
    let places: Vec<Place> = (0..CIRCLES).map(|number| chance.awkward(number)).collect();
    let circle = |(number, place): (usize, &Place)| {
        let radius = if number % 50 == 0 { 0.0 } else { chance.length(2e6) };
        let moved = if number % 3 == 0 { *place } else { chance.away(*place, radius / 2.0) };
        let latitude = if number % 10 == 3 { moved.0.clamp(-85.0, 85.0) } else { moved.0 };
        ((latitude, moved.1), radius)
    };
    let circles: Vec<(Place, f64)> = places.iter().enumerate().map(circle).collect();
    let mut points: Vec<Place> = places.clone();
    points.extend([(90.0, 0.0), (-90.0, 0.0), (0.0, 180.0), (0.0, -180.0), (0.0, 0.0)]);
    while points.len() < POINTS / 2 {
        points.push(chance.anywhere());
    }
    while points.len() < POINTS * 3 / 4 {
        let place = places[points.len() % CIRCLES];
        points.push(chance.away(place, chance.length(1e6)));
    }
    while points.len() < POINTS {
        let (centre, radius) = circles[points.len() % CIRCLES];
        let width = [-1e-6, -1e-9, -1e-12, 1e-9][(chance.0.number() % 4) as usize];
        points.push(chance.away(centre, radius * (1.0 + width)));
    }
    (World { points, cells: HashMap::new() }, circles)
}

/// The finest grids on which a circle touches few enough cells, and one that is coarser.
fn grids(latitude: f64, radius: f64) -> Vec<Grid> {
    let mut grids = Vec::new();
    if let Some(Grid::Cell(level)) = Grid::Cell(30).coarser(radius, NEAR_CELLS_MAX) {
        grids.extend([Grid::Cell(level), Grid::Cell(level.saturating_sub(2))]);
    }
    if latitude.abs() <= GEOHASH_LATITUDE_MAX
        && let Some(Grid::Geohash(finest)) = Grid::Geohash(12).coarser(radius, NEAR_CELLS_MAX)
    {
        grids.extend([Grid::Geohash(finest), Grid::Geohash(finest.saturating_sub(1).max(1))]);
    }
    grids
}

#[test]
fn covers_select_what_brute_force_selects_and_not_with_a_cell_less() {
    println!("seed {SEED}");
    let (mut world, circles) = world();
    let (mut hits, mut missed, mut used) = (0, 0, HashSet::new());
    for (centre, radius) in circles {
        let all: Vec<usize> =
            (0..POINTS).filter(|number| world.is_near(*number, centre, radius)).collect();
        hits += all.len();
        for grid in grids(centre.0, radius) {
            used.insert(grid.text());
            let what = format!("{} around {centre:?}, {radius} m", grid.text());
            let cover = cover(grid, centre.0, centre.1, radius).expect(&what);
            let names: HashSet<u128> = cover.iter().map(name).collect();
            assert_eq!(names.len(), cover.len(), "{what}: a cell twice");
            assert!(cover.len() as u64 <= grid.cells_max(radius), "{what}: {} cells", cover.len());
            assert!(names.contains(&name(&cell_of(grid, centre))), "{what}: its own cell");
            assert_eq!(world.select(grid, &cover, centre, radius), all, "{what}");
            // The test itself must be able to fail: every cell with a hit in it counts.
            for left_out in (0..cover.len()).step_by(cover.len().div_ceil(8)) {
                let mut fewer = cover.clone();
                fewer.remove(left_out);
                missed += usize::from(world.select(grid, &fewer, centre, radius) != all);
            }
        }
    }
    assert!(hits > 200_000, "{hits} hits");
    assert!(missed > 1_000, "only {missed} missing cells were noticed");
    assert!(used.len() > 30, "{used:?}");
}

#[test]
fn a_cover_has_no_cell_far_from_its_circle() {
    println!("seed {SEED}");
    let chance = Chance(SeededRandom::new(SEED));
    for _ in 0..200 {
        let centre = chance.anywhere();
        let radius = chance.length(1e5);
        let Some(grid) = Grid::Cell(30).coarser(radius, NEAR_CELLS_MAX) else { continue };
        let cover = cover(grid, centre.0, centre.1, radius).unwrap();
        // Points close to the circle's edge find the outer cells: most of them are needed.
        let needed: HashSet<u128> = (0..4_000)
            .map(|_| chance.away(centre, radius * chance.share().sqrt()))
            .map(|point| name(&cell_of(grid, point)))
            .collect();
        let found: HashSet<u128> = cover.iter().map(name).collect();
        assert!(needed.is_subset(&found));
        assert!(found.len() <= 3 + needed.len() * 5 / 4, "{} of {}", needed.len(), found.len());
    }
}

#[test]
fn cells_have_the_numbers_of_every_s2_library() {
    for (latitude, longitude, level, number) in [
        (59.9139, 10.7522, 12, 0x4641_6e70_0000_0000),
        (0.0, 0.0, 30, 0x1000_0000_0000_0001),
        (90.0, 0.0, 10, 0x5000_0100_0000_0000),
        (-90.0, 0.0, 10, 0xb000_0100_0000_0000),
        (0.0, 180.0, 5, 0x6ffc_0000_0000_0000),
        (0.0, -180.0, 5, 0x7004_0000_0000_0000),
        (-33.8688, 151.2093, 30, 0x6b12_ae3f_f629_0055),
        (40.7128, -74.006, 20, 0x89c2_5a22_0cf0_0000),
        (45.0, 45.0, 15, 0x4054_5451_4000_0000),
        (-35.264_389_682_754_654, 135.0, 0, 0x3000_0000_0000_0000),
    ] {
        let found = cell(latitude, longitude, level).unwrap();
        assert_eq!(found, number, "{found:x} of {latitude} {longitude} {level}");
    }
}

#[test]
fn geohashes_are_those_of_the_published_examples() {
    for (latitude, longitude, text) in [
        (57.64911, 10.40744, "u4pruydqqvj"),
        (42.6, -5.6, "ezs42"),
        (37.8324, 112.5584, "ww8p1r4t8"),
        (0.0, 0.0, "s00000000000"),
        (-90.0, -180.0, "000000000000"),
        (90.0, 180.0, "zzzzzzzzzzzz"),
        (-1e-20, 0.0, "k"),
    ] {
        assert_eq!(geohash(latitude, longitude, text.len() as u32).unwrap(), text);
    }
}

#[test]
fn distances_are_those_on_a_sphere() {
    let close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-6 * wanted.max(1.0);
    let quarter = EARTH_RADIUS * PI / 2.0;
    assert!(close(distance(0.0, 0.0, 90.0, 77.0), quarter));
    assert!(close(distance(0.0, 179.5, 0.0, -179.5), quarter / 90.0));
    assert!(close(distance(-90.0, 3.0, 90.0, -7.0), 2.0 * quarter));
    assert_eq!(distance(12.0, 34.0, 12.0, 34.0), 0.0);
    let oslo_to_sydney = distance(59.9139, 10.7522, -33.8688, 151.2093);
    assert!((15.9e6..16.0e6).contains(&oslo_to_sydney), "{oslo_to_sydney}");
}

#[test]
fn what_is_not_on_the_earth_is_refused() {
    let kind = |result: Result<Vec<Value>>| result.unwrap_err().kind();
    for (latitude, longitude, radius) in [
        (90.1, 0.0, 1.0),
        (-90.1, 0.0, 1.0),
        (f64::NAN, 0.0, 1.0),
        (0.0, 180.1, 1.0),
        (0.0, f64::NAN, 1.0),
        (0.0, f64::INFINITY, 1.0),
        (0.0, 0.0, -1.0),
        (0.0, 0.0, f64::NAN),
        (0.0, 0.0, f64::INFINITY),
    ] {
        for grid in [Grid::Cell(12), Grid::Geohash(5)] {
            assert_eq!(kind(cover(grid, latitude, longitude, radius)), ErrorKind::Argument);
        }
    }
    assert_eq!(kind(cover(Grid::Geohash(5), 85.1, 0.0, 1.0)), ErrorKind::Argument);
    assert_eq!(kind(cover(Grid::Geohash(5), -85.1, 0.0, 1.0)), ErrorKind::Argument);
    assert!(cover(Grid::Geohash(5), 85.0, 0.0, 1.0).is_ok());
    assert!(cover(Grid::Cell(12), 90.0, 0.0, 1.0).is_ok());
    assert!(cell(91.0, 0.0, 3).is_err() && geohash(0.0, -181.0, 3).is_err());
}

#[test]
fn a_circle_around_everything_touches_all_there_is_and_too_many_is_an_error() {
    assert_eq!(cover(Grid::Cell(0), 12.0, 13.0, 3e7).unwrap().len(), 6);
    assert_eq!(cover(Grid::Cell(2), 12.0, 13.0, 3e7).unwrap().len(), 96);
    assert_eq!(cover(Grid::Geohash(1), 12.0, 13.0, 3e7).unwrap().len(), 32);
    for grid in [Grid::Cell(20), Grid::Geohash(9)] {
        assert_eq!(cover(grid, 1.0, 2.0, 1e6).unwrap_err().kind(), ErrorKind::Bound);
    }
}

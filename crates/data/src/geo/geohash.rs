//! Geohashes: the map halved by longitude and latitude in turn, five halvings a character.
//!
//! ```text
//!   ┌──┬──┬──┬──┐   each row of cells is as wide as the circle is between its two parallels;
//!   │  │██│██│  │   a row that reaches over the date line goes on at its other end
//!   ├──┼──┼──┼──┤
//! ```

use super::{Circle, Point, haversine};
use std::f64::consts::PI;

const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// The cells of so many characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Squares {
    characters: u32,
}

impl Squares {
    pub(super) fn new(characters: u32) -> Self {
        Squares { characters: characters.clamp(1, 12) }
    }

    /// Halvings of latitude; there is one more of longitude where the sum is odd.
    fn row_bits(self) -> u32 {
        5 * self.characters / 2
    }

    fn column_bits(self) -> u32 {
        (5 * self.characters).div_ceil(2)
    }

    fn row(self, latitude: f64) -> u64 {
        halved(latitude, 90.0, self.row_bits())
    }

    fn column(self, longitude: f64) -> u64 {
        halved(longitude, 180.0, self.column_bits())
    }

    /// The geohash of a point.
    pub(super) fn text_of(self, point: Point) -> String {
        self.text(self.row(point.latitude), self.column(point.longitude))
    }

    fn text(self, row: u64, column: u64) -> String {
        let mut text = String::with_capacity(self.characters as usize);
        let (mut rows, mut columns) = (self.row_bits(), self.column_bits());
        let mut by_longitude = true;
        for _ in 0..self.characters {
            let mut digit = 0;
            for _ in 0..5 {
                let (number, left) =
                    if by_longitude { (column, &mut columns) } else { (row, &mut rows) };
                *left -= 1;
                digit = digit << 1 | (number >> *left & 1) as usize;
                by_longitude = !by_longitude;
            }
            text.extend(ALPHABET.get(digit).copied().map(char::from));
        }
        text
    }

    /// The geohashes that a circle touches, those in the middle first; nothing if there are more
    /// than `most`.
    pub(super) fn touched(self, circle: &Circle, most: usize) -> Option<Vec<String>> {
        let Point { latitude, longitude } = circle.centre;
        let height = 180.0 / 2_f64.powi(self.row_bits() as i32);
        let width = 360.0 / 2_f64.powi(self.column_bits() as i32);
        let reach = circle.reach.to_degrees();
        let south = self.row((latitude - reach).max(-90.0));
        let north = self.row((latitude + reach).min(90.0));
        let mut found = Vec::new();
        for row in south..=north {
            let low = row as f64 * height - 90.0;
            let half = half_width(circle, low, low + height);
            for column in self.columns(longitude, half, width) {
                let middle = (column as f64 + 0.5) * width - 180.0;
                let away = super::distance(latitude, longitude, low + height / 2.0, middle);
                found.push((away, self.text(row, column)));
                if found.len() > most {
                    return None;
                }
            }
        }
        found.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        Some(found.into_iter().map(|(_, text)| text).collect())
    }

    /// The columns from `half` degrees west of a longitude to `half` degrees east of it.
    fn columns(self, longitude: f64, half: f64, width: f64) -> impl Iterator<Item = u64> {
        let all = 1_u64 << self.column_bits();
        let (west, east) = (longitude - half, longitude + half);
        let first = self.column(if west < -180.0 { west + 360.0 } else { west });
        let last = self.column(if east > 180.0 { east - 360.0 } else { east });
        // Both ends may lie in one column, a whole turn apart.
        let count = match east - west > 360.0 - width {
            true => all,
            false => (last + all - first) % all + 1,
        };
        (0..count).map(move |step| (first + step) % all)
    }
}

/// The number of the stretch that a value lies in, when `-end..end` is halved so often. Every bound
/// has few enough digits to be exact; a value on one belongs above it.
fn halved(value: f64, end: f64, times: u32) -> u64 {
    let (mut low, mut high) = (-end, end);
    let mut number = 0;
    for _ in 0..times {
        let middle = (low + high) / 2.0;
        let above = value >= middle;
        number = number << 1 | u64::from(above);
        *(if above { &mut low } else { &mut high }) = middle;
    }
    number
}

/// How many degrees of longitude a circle reaches to either side, at most, between two parallels.
///
/// It is widest where a meridian touches it, and from there gets narrower in both directions; a
/// circle around a pole has no such place and is widest at one of the parallels.
fn half_width(circle: &Circle, low: f64, high: f64) -> f64 {
    let centre = circle.centre.latitude.to_radians();
    let (low, high) = (low.to_radians(), high.to_radians());
    let widest = (centre.sin() / circle.reach.cos()).clamp(-1.0, 1.0).asin();
    let at = |parallel: f64| {
        let over = haversine(circle.reach) - haversine(parallel - centre);
        let share = over / (parallel.cos() * centre.cos());
        match over > 0.0 {
            true if share < 1.0 => 2.0 * share.sqrt().asin(),
            true => PI,
            false => 0.0,
        }
    };
    let half = at(low).max(at(high)).max(at(widest.clamp(low, high)));
    half.to_degrees()
}

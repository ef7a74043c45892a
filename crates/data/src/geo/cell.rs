//! S2 cells: a cube around the earth, each face cut in four again and again.
//!
//! ```text
//! degrees ─▶ point on the sphere ─▶ face, u, v ─▶ s, t ─▶ i, j ─▶ place on the Hilbert curve
//! number   face, 3 bits │ 2 bits a level │ 1 │ zeros
//! ```
//!
//! Numbers are those of every other S2 library. The borders of a cell are arcs of great circles,
//! planes through the centre of the earth, which makes distances to a cell exact and short.

use super::{Circle, Point};
use std::f64::consts::PI;

const LEVEL_MAX: u32 = 30;
/// How many of the smallest cells lie along the side of a face.
const SIDE: f64 = (1_u64 << LEVEL_MAX) as f64;

/// A square of a face at some level: column and row, counted in squares of that level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Square {
    face: u8,
    i: u32,
    j: u32,
}

/// A vector, of length 1 where it is a point.
type Vector = [f64; 3];

/// The number of a point's cell at a level.
pub(super) fn number_of(point: Point, level: u32) -> u64 {
    let level = level.min(LEVEL_MAX);
    let [x, y, z] = vector(point);
    let face = match (x.abs() > y.abs(), x.abs() > z.abs(), y.abs() > z.abs()) {
        (true, true, _) => {
            if x < 0.0 {
                3
            } else {
                0
            }
        }
        (false, _, true) => {
            if y < 0.0 {
                4
            } else {
                1
            }
        }
        _ => {
            if z < 0.0 {
                5
            } else {
                2
            }
        }
    };
    let [u, v, w] = face_axes(face, [x, y, z]);
    let above = LEVEL_MAX - level;
    let square = Square { face, i: column(u / w) >> above, j: column(v / w) >> above };
    number(square, level)
}

/// The numbers of the cells of a level that a circle touches, nearest first; nothing if there are
/// more than `most`.
pub(super) fn touched(circle: &Circle, level: u32, most: usize) -> Option<Vec<u64>> {
    let level = level.min(LEVEL_MAX);
    let centre = vector(circle.centre);
    let near = |square: Square, level: u32| {
        let away = distance(centre, square, level);
        (away <= circle.reach).then_some((away, square))
    };
    let faces = (0..6).map(|face| Square { face, i: 0, j: 0 });
    let mut found: Vec<(f64, Square)> = faces.filter_map(|square| near(square, 0)).collect();
    for below in 1..=level {
        let parts = found.iter().flat_map(|(_, square)| quarters(*square));
        found = parts.filter_map(|square| near(square, below)).collect();
        // A touched square has a touched quarter, so the number never falls again.
        if found.len() > most {
            return None;
        }
    }
    found.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    (found.len() <= most).then(|| found.iter().map(|(_, square)| number(*square, level)).collect())
}

fn quarters(square: Square) -> impl Iterator<Item = Square> {
    let Square { face, i, j } = square;
    [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().map(move |(right, up)| Square {
        face,
        i: 2 * i + right,
        j: 2 * j + up,
    })
}

/// The point on the sphere. Its sines come from no machine's own library: another last bit would
/// put a point on a border into another cell than the one it is stored under.
fn vector(point: Point) -> Vector {
    let (latitude, longitude) = (point.latitude.to_radians(), point.longitude.to_radians());
    let narrowing = libm::cos(latitude);
    [libm::cos(longitude) * narrowing, libm::sin(longitude) * narrowing, libm::sin(latitude)]
}

/// A vector along a face's own axes: right, up, and out of the earth.
fn face_axes(face: u8, [x, y, z]: Vector) -> Vector {
    match face {
        0 => [y, z, x],
        1 => [-x, z, y],
        2 => [-x, -y, z],
        3 => [-z, -y, -x],
        4 => [-z, x, -y],
        _ => [y, x, -z],
    }
}

/// The smallest column, or row, that a coordinate from -1 to 1 lies in. The quadratic makes cells
/// of nearly equal area.
fn column(u: f64) -> u32 {
    let s = match u >= 0.0 {
        true => 0.5 * (1.0 + 3.0 * u).sqrt(),
        false => 1.0 - 0.5 * (1.0 - 3.0 * u).sqrt(),
    };
    (s * SIDE).floor().clamp(0.0, SIDE - 1.0) as u32
}

/// The coordinate from -1 to 1 at which a column, or row, of a level begins.
fn border(column: u32, level: u32) -> f64 {
    let s = f64::from(column) / f64::from(1_u32 << level);
    match s >= 0.5 {
        true => (4.0 * s * s - 1.0) / 3.0,
        false => (1.0 - 4.0 * (1.0 - s) * (1.0 - s)) / 3.0,
    }
}

/// The number of a square of a level.
fn number(square: Square, level: u32) -> u64 {
    // For each orientation of the curve, the place on it of the quarters (0,0) (0,1) (1,0) (1,1).
    const PLACES: [[u64; 4]; 4] = [[0, 1, 3, 2], [0, 3, 1, 2], [2, 3, 1, 0], [2, 1, 3, 0]];
    const SWAPPED: usize = 1;
    const INVERTED: usize = 2;
    let mut orientation = usize::from(square.face) & SWAPPED;
    let mut place = 0;
    for bit in (0..level).rev() {
        let quarter = (((square.i >> bit) & 1) << 1 | ((square.j >> bit) & 1)) as usize;
        let step = PLACES.get(orientation).and_then(|row| row.get(quarter)).copied().unwrap_or(0);
        place = place << 2 | step;
        orientation ^= match step {
            0 => SWAPPED,
            3 => SWAPPED | INVERTED,
            _ => 0,
        };
    }
    let below = 2 * (LEVEL_MAX - level);
    u64::from(square.face) << 61 | (place << 1 | 1) << below
}

/// The angle between a point and the nearest point of a square; 0 inside.
fn distance(point: Vector, square: Square, level: u32) -> f64 {
    let point = face_axes(square.face, point);
    let [x, y, z] = point;
    let (left, right) = (border(square.i, level), border(square.i + 1, level));
    let (low, high) = (border(square.j, level), border(square.j + 1, level));
    let mut inside = true;
    // How far the point lies beyond the plane of each side, and whether the arc's own stretch of
    // that plane is the nearest.
    let sides = [
        (left * z - x, left, beside([y, x, z], left, low, high)),
        (x - right * z, right, beside([y, x, z], right, low, high)),
        (low * z - y, low, beside([x, y, z], low, left, right)),
        (y - high * z, high, beside([x, y, z], high, left, right)),
    ];
    for (beyond, border, beside) in sides {
        if beyond > 0.0 {
            inside = false;
            if beside {
                return (beyond / (1.0 + border * border).sqrt()).clamp(0.0, 1.0).asin();
            }
        }
    }
    if inside {
        return 0.0;
    }
    let corners = [[left, low], [left, high], [right, low], [right, high]];
    let nearest = corners.into_iter().map(|[u, v]| angle(point, [u, v, 1.0]));
    nearest.fold(PI, f64::min)
}

/// Whether the point of the arc `(from..to, border, 1)` that is nearest to a point is none of its
/// ends: the point, given along the arc, across it and outwards, lies between the planes that
/// stand upright on the arc at both ends.
fn beside([along, across, out]: Vector, border: f64, from: f64, to: f64) -> bool {
    let upright = |end: f64| along * (1.0 + border * border) - end * (border * across + out);
    upright(from) > 0.0 && upright(to) < 0.0
}

/// The angle between a point and a direction.
fn angle([x, y, z]: Vector, [u, v, w]: Vector) -> f64 {
    let length = (u * u + v * v + w * w).sqrt();
    let (dx, dy, dz) = (x - u / length, y - v / length, z - w / length);
    let half = (dx * dx + dy * dy + dz * dz).sqrt() / 2.0;
    2.0 * half.clamp(0.0, 1.0).asin()
}

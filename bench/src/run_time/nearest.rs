//! The exact part of a search around a point, for contenders that have none of their own.

use data::geo;

/// Notes that a search answers at most.
const NEAREST: usize = 20;

/// Keys of the nearest notes within the radius.
pub fn nearest<K: Ord>(found: Vec<((f64, f64), K)>, lat: f64, lon: f64, radius: f64) -> Vec<K> {
    let measured = found.into_iter().filter_map(|((north, east), key)| {
        let distance = geo::distance(lat, lon, north, east);
        (distance <= radius).then_some((distance, key))
    });
    let mut measured: Vec<(f64, K)> = measured.collect();
    measured.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
    measured.truncate(NEAREST);
    measured.into_iter().map(|(_, key)| key).collect()
}

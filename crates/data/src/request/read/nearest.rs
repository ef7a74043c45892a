//! The nearest of many things that come in any order, without keeping all of them.

use crate::clock::Milliseconds;
use crate::store::{Key, Keyed, Row, Seen, Version};
use bytes::Bytes;
use std::ops::Range;

/// How many are kept for each that is wanted, before those are let go that are too far.
const KEPT_PER_WANTED: usize = 4;

/// The nearest things so far, and some that are farther. Those as far as the last that is wanted
/// are all kept: which of them is answered is decided by something else.
#[derive(Debug)]
pub(super) struct Nearest<T> {
    /// Each with its distance, in no order.
    pub found: Vec<(f64, T)>,
    wanted: usize,
    /// What is farther is not wanted any more.
    farthest: f64,
    /// When those are let go that are too far.
    full: usize,
}

impl<T> Nearest<T> {
    /// For so many, 1 or more.
    pub fn new(wanted: usize) -> Self {
        let full = wanted.saturating_mul(KEPT_PER_WANTED);
        Nearest { found: Vec::new(), wanted, farthest: f64::INFINITY, full }
    }

    /// One more, which is made if it is wanted.
    #[inline]
    pub fn add(&mut self, distance: f64, make: impl FnOnce() -> T) {
        if distance > self.farthest {
            return;
        }
        self.found.push((distance, make()));
        if self.found.len() >= self.full {
            self.let_go();
        }
    }

    fn let_go(&mut self) {
        let order = |one: &(f64, T), other: &(f64, T)| one.0.total_cmp(&other.0);
        let last = self.wanted.saturating_sub(1);
        let (_, (farthest, _), _) = self.found.select_nth_unstable_by(last, order);
        self.farthest = *farthest;
        self.found.retain(|(distance, _)| *distance <= self.farthest);
        // Where many are equally far, they are not all looked at again for each that is added.
        self.full = self.full.max(self.found.len().saturating_mul(2));
    }
}

/// Copies of rows, one behind the other in one place: most are soon let go, and none is worth a
/// place of its own.
#[derive(Debug, Default)]
pub(super) struct Copies(Vec<u8>);

/// Where the copy of a row is.
#[derive(Debug)]
pub(super) struct Copied {
    key: Range<usize>,
    value: Range<usize>,
    version: Option<Version>,
    expires: Option<Milliseconds>,
}

impl Copies {
    /// Copies a row with its content.
    pub fn add(&mut self, row: &Seen<'_>, value: &[u8]) -> Copied {
        let start = self.0.len();
        self.0.extend_from_slice(row.key);
        let middle = self.0.len();
        self.0.extend_from_slice(value);
        let (key, value) = (start..middle, middle..self.0.len());
        Copied { key, value, version: row.version, expires: row.expires }
    }

    /// The rows of these copies.
    pub fn rows(self, copied: Vec<(f64, Copied)>) -> Vec<(f64, Keyed)> {
        let bytes = Bytes::from(self.0);
        let row = |(distance, Copied { key, value, version, expires })| {
            let row = Row { value: bytes.slice(value), version, expires, trail: None };
            (distance, Keyed { key: Key::new(bytes.slice(key)), row })
        };
        copied.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Lying;

    #[test]
    fn copies_are_what_was_copied() {
        let mut copies = Copies::default();
        let version = Some(Version::from_stored([7; 16]));
        let seen = |key, value, version, expires| {
            let content = Lying::Encoded(value, None);
            Seen { key, content, version, expires }
        };
        let rows = [
            seen(b"\x00\x01a".as_slice(), b"one".as_slice(), version, Some(5)),
            seen(b"\x00\x01bc", b"", None, None),
        ];
        let mut copy = |row: &Seen<'_>| copies.add(row, &row.encoded().unwrap());
        let copied = rows.iter().map(|row| (1.0, copy(row))).collect();
        let found = copies.rows(copied).into_iter().map(|(_, row)| row);
        assert!(found.eq(rows.iter().map(|row| row.to_keyed().unwrap())));
    }

    /// The distances that are left, in order, of at least those that are wanted.
    fn left(wanted: usize, distances: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut nearest = Nearest::new(wanted);
        distances.for_each(|distance| nearest.add(distance as f64, || distance));
        let mut left: Vec<u64> = nearest.found.into_iter().map(|(_, what)| what).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn the_nearest_are_among_those_that_are_left() {
        for wanted in [1, 2, 20] {
            for scattered in [1, 7, 379, 996] {
                let distances = (0..997).map(|at| at * scattered % 997);
                let left = left(wanted, distances);
                let expected: Vec<u64> = (0..wanted as u64).collect();
                assert_eq!(left.get(..wanted), Some(expected.as_slice()));
                assert!(left.len() < KEPT_PER_WANTED * wanted, "{}", left.len());
            }
        }
    }

    #[test]
    fn all_that_are_as_far_as_the_last_are_left() {
        let left = left(3, (0..500).map(|at| if at == 400 { 1 } else { 2 }).chain([3, 4, 5]));
        let equal = left.iter().filter(|distance| **distance == 2).count();
        assert_eq!((left.first(), equal), (Some(&1), 499));
    }

    #[test]
    fn fewer_than_are_wanted_are_all_left() {
        assert_eq!(left(usize::MAX, [5, 3, 4].into_iter()), [3, 4, 5]);
        assert_eq!(left(4, [5, 3].into_iter()), [3, 5]);
    }
}

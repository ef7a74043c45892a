//! Steps by chance, weighted by what a sequence is about.

use super::{Asked, Change, Flavour, IN_ONE_PLACE, ROWS, Step};
use crate::clock::SeededRandom;
use crate::suite::bench::{HOUR, MINUTE};

/// Where steps come from.
pub(super) struct Chance {
    pub(super) random: SeededRandom,
    /// Whether a commit reaches one place only.
    pub(super) grouped: bool,
}

impl Chance {
    fn below(&self, below: usize) -> usize {
        usize::try_from(self.random.number() % (below.max(1) as u64)).unwrap_or_default()
    }

    /// A step of a sequence.
    pub(super) fn step(&self, flavour: Flavour) -> Step {
        let likely = self.below(10) < 4;
        match (flavour, self.below(12)) {
            (Flavour::Scans, _) | (_, 0) if likely => {
                let size = [1, 2, 3, 7, 100].get(self.below(5)).copied().unwrap_or(1);
                Step::Scan(self.below(ROWS), self.below(ROWS + 4), self.below(2) == 0, size)
            }
            (Flavour::Again, _) | (_, 1) if likely => Step::Again(self.below(6)),
            (Flavour::Ends, _) | (_, 2) if likely => match self.below(4) {
                0 => Step::Sweep(self.below(5)),
                _ => Step::Pass([1, 30_000, MINUTE].get(self.below(3)).copied().unwrap_or(1)),
            },
            (_, 3) => Step::Get((0..self.below(6)).map(|_| self.below(ROWS)).collect()),
            _ => self.commit(flavour),
        }
    }

    fn commit(&self, flavour: Flavour) -> Step {
        // Where commits reach one place: that place, or a blind batch of rows without versions.
        let blind = self.grouped && self.below(4) == 0;
        let row = || match (self.grouped, blind, flavour) {
            (true, true, _) => IN_ONE_PLACE + self.below(ROWS - IN_ONE_PLACE),
            (_, _, Flavour::Counters) if self.below(3) > 0 => 8 + self.below(6),
            (_, _, Flavour::Ends) if self.below(3) > 0 => 4 + self.below(4),
            (true, false, _) => self.below(IN_ONE_PLACE),
            (false, ..) => self.below(ROWS),
        };
        let checks = if blind { 0 } else { self.below(3) };
        let checks = (0..checks).map(|_| {
            let asked = [Asked::Absent, Asked::Present, Asked::Current, Asked::Current, Asked::Old];
            (row(), asked.get(self.below(5)).copied().unwrap_or(Asked::Present))
        });
        let checks = checks.collect();
        let mut writes: Vec<(usize, Change)> = Vec::new();
        for _ in 0..=self.below(4) {
            let row = row();
            let life = [1, 30_000, MINUTE, HOUR].get(self.below(4)).copied().unwrap_or(1);
            let change = match (is_counter(row), self.below(5)) {
                (_, 0) => Change::Delete,
                (true, 1) => {
                    Change::Add([i64::MAX, i64::MIN].get(self.below(2)).map_or(1, |n| *n), life)
                }
                (true, _) => Change::Add(i64::try_from(self.below(5)).unwrap_or(0) - 1, life),
                (false, _) => Change::Put(u8::try_from(self.below(256)).unwrap_or(0), life),
            };
            let add = |change: &Change| matches!(change, Change::Add(..));
            let clear =
                |(other, before): &(usize, Change)| *other != row || (add(before) && add(&change));
            if writes.iter().all(clear) {
                writes.push((row, change));
            }
        }
        Step::Commit(checks, writes)
    }
}

fn is_counter(row: usize) -> bool {
    (8..IN_ONE_PLACE).contains(&row)
}

//! How long requests took: counts by length, each kept to a sixty-fourth of itself.

use std::time::Duration;

/// Steps in which a length doubles, as a power of two.
const STEPS: u32 = 6;

/// Counts of nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram { counts: vec![0; 64 << STEPS], total: 0 }
    }

    pub fn note(&mut self, took: Duration) {
        self.counts[place(took.as_nanos() as u64)] += 1;
        self.total += 1;
    }

    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.total += other.total;
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The length that this part of them did not exceed.
    pub fn quantile(&self, part: f64) -> Duration {
        let wanted = ((self.total as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        Duration::from_nanos(found.map_or(0, length))
    }
}

fn place(nanoseconds: u64) -> usize {
    if nanoseconds < 1 << STEPS {
        return nanoseconds as usize;
    }
    let doublings = nanoseconds.ilog2();
    let step = (nanoseconds >> (doublings - STEPS)) & ((1 << STEPS) - 1);
    (((doublings - STEPS + 1) as usize) << STEPS) + step as usize
}

fn length(place: usize) -> u64 {
    if place < 1 << STEPS {
        return place as u64;
    }
    let doublings = (place >> STEPS) as u32 + STEPS - 1;
    let step = (place & ((1 << STEPS) - 1)) as u64;
    ((1 << STEPS) + step) << (doublings - STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_kept_to_a_sixty_fourth() {
        for nanoseconds in (0..100_000).chain([1 << 40, u64::MAX]) {
            let kept = length(place(nanoseconds));
            assert!(kept <= nanoseconds && nanoseconds - kept <= nanoseconds >> STEPS);
        }
    }

    #[test]
    fn a_quantile_is_what_so_many_did_not_exceed() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|at| histogram.note(Duration::from_nanos(at)));
        assert_eq!(histogram.quantile(0.5), Duration::from_nanos(50));
        assert_eq!(histogram.quantile(0.99), Duration::from_nanos(99));
    }
}

//! What was counted of one pattern's calls: how many lay below which edges, and the last of them.

use std::time::{Duration, Instant};

/// Seconds: a read of one row takes tens of microseconds, a distant store tens of milliseconds.
const SECONDS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0,
    5.0,
];

/// Tenths of what a plan allows.
const TENTHS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

const AMOUNTS: [f64; 8] = [0.0, 1.0, 2.0, 5.0, 20.0, 50.0, 100.0, 500.0];

/// As many as the most edges have between and around them.
const PLACES: usize = 15;

/// Calls that are remembered of each pattern.
const RECENT: usize = 512;

/// A call that was answered.
#[derive(Debug, Default)]
pub struct Call {
    /// How long it took.
    pub took: Duration,
    /// Waits on the store.
    pub round_trips: u64,
    /// Rows that it read and wrote.
    pub rows: u64,
    /// The part of its plan's bound that it used.
    pub used: f64,
    /// The same of rows alone.
    pub rows_used: f64,
}

/// What was counted of one pattern's calls.
#[derive(Debug)]
pub struct Tally {
    seconds: Counts,
    round_trips: Counts,
    rows: Counts,
    bound: Counts,
    began: Instant,
    next: usize,
    recent: Vec<RecentCall>,
}

/// One of the last calls.
#[derive(Clone, Copy, Debug)]
pub struct RecentCall {
    /// How long it took.
    pub microseconds: u32,
    /// Tenths of a second since the tally began.
    at: u32,
    /// The part of the rows in its bound that it used.
    pub bound_percent: u8,
}

/// How many values lay below each edge and not below the one before.
#[derive(Debug)]
pub struct Counts {
    edges: &'static [f64],
    counts: [u64; PLACES],
    sum: f64,
}

/// Something that is shown of all patterns.
pub struct ShownCounts {
    pub name: &'static str,
    pub help: &'static str,
    pub is_seconds: bool,
    pub of: fn(&Tally) -> &Counts,
}

/// All that is shown.
pub const SHOWN: [ShownCounts; 4] = [
    ShownCounts {
        name: "call",
        help: "Time of a call",
        is_seconds: true,
        of: |tally| &tally.seconds,
    },
    ShownCounts {
        name: "call_round_trips",
        help: "Waits on the store of a call",
        is_seconds: false,
        of: |tally| &tally.round_trips,
    },
    ShownCounts {
        name: "call_rows",
        help: "Rows that a call read and wrote",
        is_seconds: false,
        of: |tally| &tally.rows,
    },
    ShownCounts {
        name: "call_bound_ratio",
        help: "The part of its plan's bound that a call used, of rows or round trips",
        is_seconds: false,
        of: |tally| &tally.bound,
    },
];

impl Counts {
    fn new(edges: &'static [f64]) -> Counts {
        Counts { edges, counts: [0; PLACES], sum: 0.0 }
    }

    fn note(&mut self, value: f64) {
        let place = self.edges.iter().position(|edge| value <= *edge);
        if let Some(count) = self.counts.get_mut(place.unwrap_or(self.edges.len())) {
            *count += 1;
        }
        self.sum += value;
    }

    /// Their sum, their number, and how many lie below each edge and not below the one before.
    pub fn summed(&self) -> (f64, u64, Vec<(f64, u64)>) {
        let edges = self.edges.iter().copied().chain([f64::MAX]);
        let buckets = edges.zip(self.counts).collect();
        (self.sum, self.counts.iter().sum(), buckets)
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            seconds: Counts::new(&SECONDS),
            round_trips: Counts::new(&AMOUNTS),
            rows: Counts::new(&AMOUNTS),
            bound: Counts::new(&TENTHS),
            began: Instant::now(),
            next: 0,
            recent: Vec::new(),
        }
    }
}

impl Tally {
    /// Counts a call that ended now.
    pub fn note(&mut self, now: Instant, call: &Call) {
        self.seconds.note(call.took.as_secs_f64());
        self.round_trips.note(call.round_trips as f64);
        self.rows.note(call.rows as f64);
        self.bound.note(call.used);
        let recent = RecentCall {
            microseconds: u32::try_from(call.took.as_micros()).unwrap_or(u32::MAX),
            at: self.tenths(now),
            bound_percent: (call.rows_used * 100.0).min(255.0) as u8,
        };
        match self.recent.get_mut(self.next) {
            Some(place) => *place = recent,
            None => self.recent.push(recent),
        }
        self.next = (self.next + 1) % RECENT;
    }

    fn tenths(&self, now: Instant) -> u32 {
        let passed = now.saturating_duration_since(self.began);
        u32::try_from(passed.as_millis() / 100).unwrap_or(u32::MAX)
    }

    /// The calls that ended so short a time ago.
    pub fn within(&self, time: Duration) -> impl Iterator<Item = &RecentCall> {
        let tenths = u32::try_from(time.as_millis() / 100).unwrap_or(u32::MAX);
        let since = self.tenths(Instant::now()).saturating_sub(tenths);
        self.recent.iter().filter(move |call| call.at >= since)
    }

    /// The latencies that half, nineteen of twenty, and ninety-nine of a hundred calls did not
    /// pass, in microseconds, and the largest part of the rows in its bound that a call used, in
    /// percent.
    pub fn quantiles(&self) -> Option<([u32; 3], u8)> {
        let times = self.recent.iter().map(|call| call.microseconds).collect();
        let bound = self.recent.iter().map(|call| call.bound_percent).max()?;
        Some((super::quantiles(times)?, bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_kept() {
        let mut tally = Tally::default();
        for number in 0..2_000 {
            let took = Duration::from_micros(number);
            let rows_used = (number % 7) as f64 / 100.0;
            tally.note(Instant::now(), &Call { took, rows_used, ..Call::default() });
        }
        let ([half, _, most], bound) = tally.quantiles().unwrap();
        assert!((1_488..2_000).contains(&half) && most < 2_000 && bound == 6, "{half} {bound}");
        assert_eq!(tally.within(Duration::from_secs(3_600)).count(), RECENT);
    }

    #[test]
    fn a_value_at_an_edge_lies_below_it() {
        let mut counts = Counts::new(&AMOUNTS);
        [0.0, 1.0, 1.0, 2.0, 500.0, 501.0].into_iter().for_each(|value| counts.note(value));
        let (sum, count, buckets) = counts.summed();
        assert_eq!((sum, count), (1_005.0, 6));
        let numbers: Vec<u64> = buckets.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [1, 2, 1, 0, 0, 0, 0, 1, 1]);
    }
}

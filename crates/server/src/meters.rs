//! Numbers about the traffic, for Prometheus and for the console.
//!
//! Each pattern has its own meters, found once when the server starts: counting a call takes no
//! lock that another call may hold for long.

use data::session::Usage;
use keyspace::plan::Bounds;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds: a read of one row takes tens of microseconds, a distant store tens of milliseconds.
const SECONDS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0,
    5.0,
];

/// Tenths of what a plan allows.
const TENTHS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

const AMOUNTS: [f64; 8] = [0.0, 1.0, 2.0, 5.0, 20.0, 50.0, 100.0, 500.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    pattern: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Because {
    problem: &'static str,
}

/// All meters of a server.
#[derive(Debug)]
pub struct Meters {
    registry: Registry,
    refused: Family<Because, Counter>,
    /// The same for the console, which wants all of them at once.
    problems: Mutex<BTreeMap<&'static str, u64>>,
    /// Requests under way.
    pub under_way: Gauge,
    /// Streams of changes.
    pub watchers: Gauge,
    /// Whether the store answered when it was last asked.
    pub store_is_up: Gauge,
    /// Rows that had ended and were removed.
    pub swept: Gauge,
    patterns: Vec<Arc<PatternMeters>>,
}

/// The meters of one pattern.
#[derive(Debug)]
pub struct PatternMeters {
    /// Calls that were answered.
    pub answered: Counter,
    /// Calls that were refused or failed.
    pub failed: Counter,
    seconds: Histogram,
    round_trips: Histogram,
    rows: Histogram,
    bound: Histogram,
    /// The same for the console, which wants quantiles of the last moments.
    pub recent: Recent,
    /// Bytes of the last answer.
    bytes: AtomicUsize,
}

/// The last calls: latencies in microseconds, and parts of bounds.
#[derive(Debug)]
pub struct Recent {
    began: Instant,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    next: usize,
    calls: Vec<RecentCall>,
}

#[derive(Clone, Copy, Debug)]
struct RecentCall {
    microseconds: u32,
    /// Tenths of a second since the ring began.
    at: u32,
    bound_percent: u8,
}

/// Room for an answer beyond what the last one had, and the most that is kept of that.
const BYTES_MORE: usize = 256;
const BYTES_KEPT_MAX: usize = 64 << 10;

/// Calls that are remembered of each pattern.
const RECENT: usize = 512;

impl Default for Recent {
    fn default() -> Recent {
        Recent { began: Instant::now(), ring: Mutex::default() }
    }
}

impl Recent {
    fn note(&self, microseconds: u32, bound_percent: u8) {
        let Ok(mut ring) = self.ring.try_lock() else { return };
        let call = RecentCall { microseconds, at: self.tenths(), bound_percent };
        let place = ring.next % RECENT;
        ring.next = ring.next.wrapping_add(1);
        match ring.calls.get_mut(place) {
            Some(place) => *place = call,
            None => ring.calls.push(call),
        }
    }

    fn tenths(&self) -> u32 {
        u32::try_from(self.began.elapsed().as_millis() / 100).unwrap_or(u32::MAX)
    }

    /// The latencies of the calls that ended so short a time ago, in microseconds.
    pub fn within(&self, time: Duration) -> Vec<u32> {
        let tenths = u32::try_from(time.as_millis() / 100).unwrap_or(u32::MAX);
        let since = self.tenths().saturating_sub(tenths);
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = ring.calls.iter().filter(|call| call.at >= since);
        calls.map(|call| call.microseconds).collect()
    }

    /// The latencies that half, nineteen of twenty, and ninety-nine of a hundred calls did not
    /// pass, in microseconds, and the largest part of the rows in its bound that a call used, in
    /// percent.
    pub fn quantiles(&self) -> Option<([u32; 3], u8)> {
        let ring = self.ring.lock().ok()?;
        let times: Vec<u32> = ring.calls.iter().map(|call| call.microseconds).collect();
        let bound = ring.calls.iter().map(|call| call.bound_percent).max()?;
        drop(ring);
        Some((quantiles(times)?, bound))
    }
}

/// The values that half, nineteen of twenty, and ninety-nine of a hundred do not pass.
pub fn quantiles(mut values: Vec<u32>) -> Option<[u32; 3]> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    let at = |percent: usize| values.get(last * percent / 100).copied();
    Some([at(50)?, at(95)?, at(99)?])
}

impl Meters {
    /// Meters for these patterns, in their order.
    pub fn new<'p>(patterns: impl Iterator<Item = &'p str>) -> Meters {
        let mut registry = Registry::with_prefix("keyway");
        let answered = Family::<Of, Counter>::default();
        let failed = Family::<Of, Counter>::default();
        let refused = Family::<Because, Counter>::default();
        let histogram = |of: &'static [f64]| {
            Family::<Of, Histogram, _>::new_with_constructor(move || {
                Histogram::new(of.iter().copied())
            })
        };
        let seconds = histogram(&SECONDS);
        let round_trips = histogram(&AMOUNTS);
        let rows = histogram(&AMOUNTS);
        let bound = histogram(&TENTHS);
        let gauges: [Gauge; 4] = Default::default();
        let [under_way, watchers, store_is_up, swept] = gauges;
        store_is_up.set(1);
        registry.register("calls_answered", "Calls that were answered", answered.clone());
        registry.register("calls_failed", "Calls that were refused or failed", failed.clone());
        registry.register("problems", "Responses that told a problem", refused.clone());
        registry.register_with_unit("call", "Time of a call", Unit::Seconds, seconds.clone());
        registry.register("call_round_trips", "Waits on the store of a call", round_trips.clone());
        registry.register("call_rows", "Rows that a call read and wrote", rows.clone());
        let help = "The part of its plan's bound that a call used, of rows or round trips";
        registry.register("call_bound_ratio", help, bound.clone());
        registry.register("requests_under_way", "Requests under way", under_way.clone());
        registry.register("watchers", "Streams of changes", watchers.clone());
        registry.register("store_up", "Whether the store answers", store_is_up.clone());
        registry.register("rows_swept", "Ended rows removed since the start", swept.clone());
        let patterns = patterns.map(|name| {
            let of = Of { pattern: name.to_string() };
            Arc::new(PatternMeters {
                answered: answered.get_or_create(&of).clone(),
                failed: failed.get_or_create(&of).clone(),
                seconds: seconds.get_or_create(&of).clone(),
                round_trips: round_trips.get_or_create(&of).clone(),
                rows: rows.get_or_create(&of).clone(),
                bound: bound.get_or_create(&of).clone(),
                recent: Recent::default(),
                bytes: AtomicUsize::new(0),
            })
        });
        let patterns = patterns.collect();
        let problems = Mutex::default();
        Meters { registry, refused, problems, under_way, watchers, store_is_up, swept, patterns }
    }

    /// The meters of each pattern, in the order of the file.
    pub fn patterns(&self) -> &[Arc<PatternMeters>] {
        &self.patterns
    }

    /// Counts a call, which was answered if it says what it cost.
    pub fn called(
        &self,
        position: usize,
        took: Duration,
        usage: Option<&Usage>,
        bounds: Option<&Bounds>,
    ) {
        let Some(meters) = self.patterns.get(position) else { return };
        match usage {
            Some(usage) => meters.answered(took, usage, bounds),
            None => {
                meters.failed.inc();
            }
        }
    }

    /// Bytes that an answer of a pattern is likely to have: as many as the last one had.
    pub fn bytes_expected(&self, position: usize) -> usize {
        let meters = self.patterns.get(position);
        meters.map_or(0, |meters| meters.bytes.load(Ordering::Relaxed)) + BYTES_MORE
    }

    /// Keeps how long an answer was.
    pub fn answer_has(&self, position: usize, bytes: usize) {
        if let Some(meters) = self.patterns.get(position) {
            meters.bytes.store(bytes.min(BYTES_KEPT_MAX), Ordering::Relaxed);
        }
    }

    /// Counts a response that told a problem.
    pub fn refused(&self, problem: &'static str) {
        self.refused.get_or_create(&Because { problem }).inc();
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        *problems.entry(problem).or_default() += 1;
    }

    /// Responses that told a problem, by its name.
    pub fn problems(&self) -> Vec<(&'static str, u64)> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.iter().map(|(name, count)| (*name, *count)).collect()
    }

    /// Everything, as Prometheus reads it.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut written = String::new();
        text::encode(&mut written, &self.registry)?;
        Ok(written)
    }
}

impl PatternMeters {
    /// Counts a call that was answered.
    pub fn answered(&self, took: Duration, usage: &Usage, bounds: Option<&Bounds>) {
        let rows = usage.rows_read + usage.rows_written;
        self.answered.inc();
        self.seconds.observe(took.as_secs_f64());
        self.round_trips.observe(usage.round_trips as f64);
        self.rows.observe(rows as f64);
        let used = bounds.map_or(0.0, |bounds| used(usage, bounds));
        self.bound.observe(used);
        let microseconds = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        let rows = bounds.map_or(0.0, |bounds| rows_used(usage, bounds));
        self.recent.note(microseconds, (rows * 100.0).min(255.0) as u8);
    }
}

/// The part of its bound that a call used, of what it used most of.
fn used(usage: &Usage, bounds: &Bounds) -> f64 {
    part(usage.round_trips, bounds.round_trips, bounds).max(rows_used(usage, bounds))
}

/// The same of rows alone: most patterns need all their round trips, every time.
fn rows_used(usage: &Usage, bounds: &Bounds) -> f64 {
    let read = part(usage.rows_read, bounds.rows_read, bounds);
    read.max(part(usage.rows_written, bounds.rows_written, bounds))
}

fn part(used: u64, most: u64, bounds: &Bounds) -> f64 {
    used as f64 / most.saturating_mul(bounds.attempts.max(1)).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_pattern() {
        let meters = Meters::new(["one", "two"].into_iter());
        let usage = Usage { round_trips: 1, rows_read: 3, ..Usage::default() };
        for took in [1, 2, 30] {
            let took = Duration::from_millis(took);
            meters.patterns()[1].answered(took, &usage, None);
        }
        meters.refused("argument");
        let text = meters.text().unwrap();
        assert!(text.contains("keyway_calls_answered_total{pattern=\"two\"} 3"), "{text}");
        assert!(text.contains("keyway_call_seconds_count{pattern=\"two\"} 3"), "{text}");
        assert!(text.contains("keyway_problems_total{problem=\"argument\"} 1"), "{text}");
        let ([half, _, most], _) = meters.patterns()[1].recent.quantiles().unwrap();
        assert_eq!((half, most), (2_000, 2_000));
        assert_eq!(meters.patterns()[0].recent.quantiles(), None);
        assert_eq!(meters.problems(), [("argument", 1)]);
    }

    #[test]
    fn the_ring_keeps_the_last_calls() {
        let recent = Recent::default();
        (0..2_000).for_each(|time| recent.note(time, (time % 7) as u8));
        let ([half, ..], bound) = recent.quantiles().unwrap();
        assert!((1_488..2_000).contains(&half) && bound == 6, "{half} {bound}");
        assert_eq!(recent.within(Duration::from_secs(3_600)).len(), RECENT);
    }
}

//! Numbers about the traffic, for Prometheus and for the console.
//!
//! Each pattern has its own meters, found once when the server starts. Counting a call takes one
//! lock, which is held for some nanoseconds.

mod tally;

pub use tally::Tally;

use data::session::Usage;
use keyspace::plan::Bounds;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tally::Call;

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
    /// Requests under way, and the same for Prometheus.
    under_way: AtomicUsize,
    under_way_shown: Gauge,
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
    tally: Mutex<Tally>,
    /// Bytes of the last answer.
    bytes: AtomicUsize,
}

/// Room for an answer beyond what the last one had, and the most that is kept of that.
const BYTES_MORE: usize = 256;
const BYTES_KEPT_MAX: usize = 64 << 10;

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
        let gauges: [Gauge; 4] = Default::default();
        let [under_way_shown, watchers, store_is_up, swept] = gauges;
        store_is_up.set(1);
        registry.register("calls_answered", "Calls that were answered", answered.clone());
        registry.register("calls_failed", "Calls that were refused or failed", failed.clone());
        registry.register("problems", "Responses that told a problem", refused.clone());
        registry.register("requests_under_way", "Requests under way", under_way_shown.clone());
        registry.register("watchers", "Streams of changes", watchers.clone());
        registry.register("store_up", "Whether the store answers", store_is_up.clone());
        registry.register("rows_swept", "Ended rows removed since the start", swept.clone());
        let patterns = patterns.map(|name| {
            let of = Of { pattern: name.to_string() };
            let meters = PatternMeters {
                answered: answered.get_or_create(&of).clone(),
                failed: failed.get_or_create(&of).clone(),
                tally: Mutex::default(),
                bytes: AtomicUsize::new(0),
            };
            (of, Arc::new(meters))
        });
        let named: Vec<(Of, Arc<PatternMeters>)> = patterns.collect();
        let patterns = named.iter().map(|(_, meters)| meters.clone()).collect();
        registry.register_collector(Box::new(Calls(named)));
        Meters {
            registry,
            refused,
            problems: Mutex::default(),
            under_way: AtomicUsize::new(0),
            under_way_shown,
            watchers,
            store_is_up,
            swept,
            patterns,
        }
    }

    /// Lets a request in, if fewer than so many are under way.
    pub fn enter(&self, most: usize) -> Option<UnderWay<'_>> {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let entered = UnderWay(&self.under_way);
        (before < most).then_some(entered)
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// The meters of each pattern, in the order of the file.
    pub fn patterns(&self) -> &[Arc<PatternMeters>] {
        &self.patterns
    }

    /// Counts a call, which was answered if it says what it cost.
    pub fn called(
        &self,
        position: usize,
        begun: Instant,
        usage: Option<&Usage>,
        bounds: Option<&Bounds>,
    ) {
        let Some(meters) = self.patterns.get(position) else { return };
        match usage {
            Some(usage) => meters.answered(begun, usage, bounds),
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
        self.under_way_shown.set(i64::try_from(self.under_way()).unwrap_or(i64::MAX));
        let mut written = String::new();
        text::encode(&mut written, &self.registry)?;
        Ok(written)
    }
}

/// A request that is under way, until it is dropped.
#[derive(Debug)]
pub struct UnderWay<'m>(&'m AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PatternMeters {
    /// Counts a call that was answered just now.
    fn answered(&self, begun: Instant, usage: &Usage, bounds: Option<&Bounds>) {
        let now = Instant::now();
        let used = bounds.map_or(0.0, |bounds| used(usage, bounds));
        let rows_used = bounds.map_or(0.0, |bounds| rows_used(usage, bounds));
        self.answered.inc();
        self.tally().note(
            now,
            &Call {
                took: now.saturating_duration_since(begun),
                round_trips: usage.round_trips,
                rows: usage.rows_read + usage.rows_written,
                used,
                rows_used,
            },
        );
    }

    /// What was counted.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was counted of each pattern's calls, as Prometheus reads it.
#[derive(Debug)]
struct Calls(Vec<(Of, Arc<PatternMeters>)>);

impl Collector for Calls {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for shown in tally::SHOWN {
            let unit = shown.is_seconds.then_some(&Unit::Seconds);
            let of = MetricType::Histogram;
            let mut metric = encoder.encode_descriptor(shown.name, shown.help, unit, of)?;
            for (pattern, meters) in &self.0 {
                let (sum, count, buckets) = (shown.of)(&meters.tally()).summed();
                let mut metric = metric.encode_family(pattern)?;
                metric.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
            }
        }
        Ok(())
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
        let begun = Instant::now();
        (0..3).for_each(|_| meters.called(1, begun, Some(&usage), None));
        meters.called(1, begun, None, None);
        meters.refused("argument");
        let text = meters.text().unwrap();
        for line in [
            "keyway_calls_answered_total{pattern=\"two\"} 3",
            "keyway_calls_failed_total{pattern=\"two\"} 1",
            "keyway_call_seconds_count{pattern=\"two\"} 3",
            "keyway_call_seconds_bucket{le=\"+Inf\",pattern=\"two\"} 3",
            "keyway_call_rows_bucket{le=\"2.0\",pattern=\"two\"} 0",
            "keyway_call_rows_bucket{le=\"5.0\",pattern=\"two\"} 3",
            "keyway_call_rows_sum{pattern=\"two\"} 9.0",
            "keyway_call_rows_count{pattern=\"one\"} 0",
            "keyway_problems_total{problem=\"argument\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(meters.patterns()[1].tally().quantiles().is_some());
        assert_eq!(meters.patterns()[0].tally().quantiles(), None);
        assert_eq!(meters.problems(), [("argument", 1)]);
    }

    #[test]
    fn requests_under_way_are_counted_until_they_end() {
        let meters = Meters::new([].into_iter());
        let first = meters.enter(2);
        let second = meters.enter(2);
        assert!(first.is_some() && second.is_some() && meters.enter(2).is_none());
        assert_eq!(meters.under_way(), 2);
        drop(first);
        assert!(meters.enter(2).is_some());
        assert!(meters.text().unwrap().contains("keyway_requests_under_way 1"));
    }
}

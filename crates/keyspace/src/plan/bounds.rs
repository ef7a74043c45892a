//! What a pattern may cost at most, and what a store answers to it.
//!
//! Bounds are data: whoever runs a pattern can count what it does and compare. They are hard, for
//! one attempt; only the figures named `usual` are estimates, from what the file expects.
//!
//! Not counted: what a store keeps for itself (journals, outcomes of commits), and asking again
//! after a reply was lost.

use crate::model::limits;

/// The most a pattern costs on one store, in one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Waits on the store: calls of an embedded one, network exchanges with another. Requests sent
    /// together are one.
    pub round_trips: u64,
    /// How often all of it may be done, because somebody else changed a row in between.
    pub attempts: u64,
    /// Records, entries and claims read.
    pub rows_read: u64,
    /// Records, entries, claims and helper rows written or removed.
    pub rows_written: u64,
    /// Bytes read, by the limits of types and values.
    pub bytes_read: u64,
    /// Bytes read, by what the file expects.
    pub bytes_read_usual: u64,
    /// Bytes written, by the limits.
    pub bytes_written: u64,
    /// Bytes written, by what the file expects.
    pub bytes_written_usual: u64,
    /// Lightweight transactions, on Cassandra and ScyllaDB.
    pub transactions: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            round_trips: 0,
            attempts: 1,
            rows_read: 0,
            rows_written: 0,
            bytes_read: 0,
            bytes_read_usual: 0,
            bytes_written: 0,
            bytes_written_usual: 0,
            transactions: 0,
        }
    }
}

/// The bytes of a row, an entry or a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// By what the file expects; never above `max`.
    pub usual: u64,
    /// By the limits.
    pub max: u64,
}

impl Size {
    /// A size whose estimate stays below its limit.
    pub fn new(usual: u64, max: u64) -> Self {
        Size { usual: usual.min(max), max }
    }
}

/// How many rows: at most, and as a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// As a rule; never above `max`.
    pub usual: u64,
    /// At most.
    pub max: u64,
}

impl Count {
    /// Always the same number.
    pub fn exactly(rows: u64) -> Self {
        Count { usual: rows, max: rows }
    }

    /// A number whose estimate stays below its limit.
    pub fn new(usual: u64, max: u64) -> Self {
        Count { usual: usual.min(max), max }
    }

    /// Both figures so many times.
    pub fn times(self, factor: u64) -> Self {
        Count { usual: self.usual.saturating_mul(factor), max: self.max.saturating_mul(factor) }
    }
}

impl Bounds {
    /// Adds waits.
    pub(super) fn trips(mut self, round_trips: u64) -> Self {
        self.round_trips = self.round_trips.saturating_add(round_trips);
        self
    }

    /// Adds rows read.
    pub(super) fn read(mut self, rows: Count, size: Size) -> Self {
        self.rows_read = self.rows_read.saturating_add(rows.max);
        self.bytes_read = self.bytes_read.saturating_add(rows.max.saturating_mul(size.max));
        let usual = rows.usual.saturating_mul(size.usual);
        self.bytes_read_usual = self.bytes_read_usual.saturating_add(usual);
        self
    }

    /// Adds rows written or removed.
    pub(super) fn write(mut self, rows: Count, size: Size) -> Self {
        self.rows_written = self.rows_written.saturating_add(rows.max);
        self.bytes_written = self.bytes_written.saturating_add(rows.max.saturating_mul(size.max));
        let usual = rows.usual.saturating_mul(size.usual);
        self.bytes_written_usual = self.bytes_written_usual.saturating_add(usual);
        self
    }

    /// What one batch cannot pass, since the store refuses it at its door.
    pub(super) fn capped_at(mut self, bytes_written_max: u64) -> Self {
        self.bytes_written = self.bytes_written.min(bytes_written_max);
        self.bytes_written_usual = self.bytes_written_usual.min(bytes_written_max);
        self
    }

    /// Allows for other writers.
    pub(super) fn contended(mut self) -> Self {
        self.attempts = limits::COMMIT_ATTEMPTS_MAX;
        self
    }
}

/// What one store answers to one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The store does it by its own means.
    Native(Bounds),
    /// Keyway finishes the work.
    Assisted {
        /// What that costs, in words.
        price: String,
        /// What it costs at most.
        bounds: Bounds,
    },
    /// It is not offered there.
    Refused(Refusal),
}

/// Why a pattern is refused, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the diagnostic: 101 is KW101.
    pub code: u16,
    /// The reason, as a sentence without its full stop.
    pub reason: String,
    /// What would help, cheapest first.
    pub fixes: Vec<String>,
}

impl Answer {
    /// Native without prices, assisted with them.
    pub(super) fn priced(prices: Vec<String>, bounds: Bounds) -> Self {
        match prices.is_empty() {
            true => Answer::Native(bounds),
            false => Answer::Assisted { price: prices.join("; "), bounds },
        }
    }

    /// The bounds, unless it is refused.
    pub fn bounds(&self) -> Option<&Bounds> {
        match self {
            Answer::Native(bounds) | Answer::Assisted { bounds, .. } => Some(bounds),
            Answer::Refused(_) => None,
        }
    }

    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Answer::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Its name.
    pub fn word(&self) -> &'static str {
        match self {
            Answer::Native(_) => "native",
            Answer::Assisted { .. } => "assisted",
            Answer::Refused(_) => "refused",
        }
    }

    /// The same answer with more done before it.
    pub(super) fn and(self, more: impl FnOnce(Bounds) -> Bounds) -> Self {
        match self {
            Answer::Native(bounds) => Answer::Native(more(bounds)),
            Answer::Assisted { price, bounds } => Answer::Assisted { price, bounds: more(bounds) },
            refused => refused,
        }
    }

    /// The same answer with one more price, said first.
    pub(super) fn at_price(self, first: String) -> Self {
        match self {
            Answer::Native(bounds) => Answer::Assisted { price: first, bounds },
            Answer::Assisted { price, bounds } => {
                Answer::Assisted { price: format!("{first}; {price}"), bounds }
            }
            refused => refused,
        }
    }
}

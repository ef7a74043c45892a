//! Time and chance, handed in by whoever opens a store.
//!
//! Nothing else in this crate asks the time, waits or rolls dice, so that a test can hold the clock
//! still, and a simulator can run a year in a second and the same year twice.

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Milliseconds = i64;

/// Where time comes from.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time now; never earlier than it was.
    fn now(&self) -> Milliseconds;

    /// Waits; a few milliseconds between two attempts, never for correctness.
    async fn wait(&self, milliseconds: u64);
}

/// Where chance comes from: ids, nonces, the length of a wait.
pub trait Random: fmt::Debug + Send + Sync {
    /// Fills `bytes` with unpredictable ones.
    fn fill(&self, bytes: &mut [u8]);
}

/// A clock that goes only when it is told to; waiting moves it.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Milliseconds) -> Self {
        ManualClock(Arc::new(AtomicI64::new(now)))
    }

    /// Lets time pass.
    pub fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Milliseconds {
        self.0.load(Ordering::SeqCst)
    }

    async fn wait(&self, milliseconds: u64) {
        self.advance(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    }
}

/// The machine's time, sampled once and then counted monotonically: it never jumps back.
///
/// Waiting blocks no thread but this future's: whoever has timers wraps it (see `keyway::open`).
#[derive(Clone, Debug)]
pub struct SystemTimeSampled {
    sampled: Milliseconds,
    since: Instant,
}

impl SystemTimeSampled {
    /// The machine's time from now on.
    pub fn start() -> Self {
        let sampled = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let sampled = Milliseconds::try_from(sampled.as_millis()).unwrap_or(Milliseconds::MAX);
        SystemTimeSampled { sampled, since: Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Milliseconds {
        let passed = Milliseconds::try_from(self.since.elapsed().as_millis());
        self.sampled.saturating_add(passed.unwrap_or(Milliseconds::MAX))
    }
}

/// Chance that repeats itself: the same seed gives the same bytes. For tests and simulations.
#[derive(Debug)]
pub struct SeededRandom(std::sync::Mutex<u64>);

impl SeededRandom {
    /// Chance from a seed.
    pub fn new(seed: u64) -> Self {
        SeededRandom(std::sync::Mutex::new(seed))
    }

    /// The next number (SplitMix64).
    pub fn number(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.number().to_le_bytes();
            chunk.iter_mut().zip(number).for_each(|(byte, random)| *byte = random);
        }
    }
}

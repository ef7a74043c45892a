//! Time and chance, handed in by whoever opens a store.
//!
//! Nothing else in this crate asks the time, waits or rolls dice, so that a test can hold the clock
//! still, and a simulator can run a year in a second and the same year twice.

use crate::error::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::cell::RefCell;
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
        SystemTimeSampled::at(sampled)
    }

    /// A clock that shows this time now: another machine's, by which rows end.
    pub fn at(now: Milliseconds) -> Self {
        SystemTimeSampled { sampled: now, since: Instant::now() }
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

/// Chance from the operating system.
///
/// A thread asks for a block at a time, so that an id costs no wait; what was handed out is wiped.
/// A block is thrown away by a process that finds it was asked for by another: after a fork, parent
/// and child would hand out the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct SystemRandom(());

/// Bytes asked for at a time: 16 ids.
const BLOCK_BYTES: usize = 256;

/// Random bytes not yet handed out: the last `left` ones.
struct Block {
    bytes: [u8; BLOCK_BYTES],
    left: usize,
    process: u32,
}

thread_local! {
    static BLOCK: RefCell<Block> =
        const { RefCell::new(Block { bytes: [0; BLOCK_BYTES], left: 0, process: 0 }) };
}

impl SystemRandom {
    /// Chance from the operating system, which is asked once to see that it answers.
    pub fn start() -> Result<Self> {
        let mut probe = [0; 1];
        getrandom::fill(&mut probe).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the operating system gives no random bytes")
                .caused_by(error.to_string())
        })?;
        Ok(SystemRandom(()))
    }
}

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // While a thread ends its block is gone already; then, and for much, the system is asked.
        let filled = bytes.len() <= BLOCK_BYTES
            && BLOCK.try_with(|block| block.borrow_mut().fill(bytes)).is_ok();
        if !filled {
            ask_system(bytes);
        }
    }
}

impl Block {
    fn fill(&mut self, bytes: &mut [u8]) {
        let process = std::process::id();
        if self.left < bytes.len() || self.process != process {
            ask_system(&mut self.bytes);
            (self.left, self.process) = (BLOCK_BYTES, process);
        }
        let start = BLOCK_BYTES - self.left;
        for (byte, random) in bytes.iter_mut().zip(self.bytes.iter_mut().skip(start)) {
            *byte = std::mem::take(random);
        }
        self.left -= bytes.len();
    }
}

/// A system that has answered before does not stop; if it does, bytes that can be guessed would be
/// worse than an end.
fn ask_system(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        eprintln!("the operating system gives no random bytes any more: {error}");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn ids(count: usize) -> Vec<[u8; 16]> {
        let random = SystemRandom::start().unwrap();
        let id = |_| {
            let mut id = [0; 16];
            random.fill(&mut id);
            id
        };
        (0..count).map(id).collect()
    }

    #[test]
    fn no_id_is_handed_out_twice_by_any_thread() {
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| ids(1_000))).collect();
        let mut seen: HashSet<[u8; 16]> = ids(1_000).into_iter().collect();
        for thread in threads {
            seen.extend(thread.join().unwrap());
        }
        assert_eq!(seen.len(), 5_000);
    }

    #[test]
    fn every_length_is_filled_whole() {
        let random = SystemRandom::start().unwrap();
        for length in [0, 1, 7, 255, 256, 257, 10_000] {
            // A byte stays zero by chance once in 256 times, 32 in a row never.
            let mut bytes = vec![0; length];
            random.fill(&mut bytes);
            assert!(!bytes.windows(32).any(|window| window == [0; 32]), "{length} bytes");
        }
    }

    #[test]
    fn a_block_of_another_process_is_thrown_away() {
        let mut block = Block { bytes: [7; BLOCK_BYTES], left: BLOCK_BYTES, process: 0 };
        let mut id = [0; 16];
        block.fill(&mut id);
        assert_ne!(id, [7; 16]);
        assert_eq!(block.process, std::process::id());
    }

    #[test]
    fn what_was_handed_out_is_wiped() {
        let process = std::process::id();
        let mut block = Block { bytes: [7; BLOCK_BYTES], left: 20, process };
        let mut id = [0; 16];
        block.fill(&mut id);
        assert_eq!((id, block.left), ([7; 16], 4));
        assert_eq!(block.bytes[236..252], [0; 16]);
        assert_eq!(block.bytes[252..], [7; 4]);
    }
}

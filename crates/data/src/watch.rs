//! Whoever waits until rows change that an answer was made of.
//!
//! ```text
//! read, noting what was looked at ─▶ Interest ─watch─▶ Watch ─changed─▶ read again
//! commit ─▶ touched: wakes every watch that has one of its keys
//! ```
//!
//! A watch is woken by commits through the run time it belongs to; whatever others write to the
//! store has to be looked for. Waking is cheap where nobody watches, and never misses: what was
//! looked at is watched before it is looked at again.

use crate::store::{Batch, Key, Range};
use futures_util::task::AtomicWaker;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// The keys and ranges that a call has looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interest {
    /// Keys, whether a row was there or not.
    pub keys: Vec<Key>,
    /// Ranges, whatever was in them.
    pub ranges: Vec<Range>,
}

impl Interest {
    /// Whether a row with this key would have been seen.
    pub fn has(&self, key: &Key) -> bool {
        self.keys.contains(key) || self.ranges.iter().any(|range| range.contains(key.as_ref()))
    }

    /// Whether everything that the other has looked at is in this one.
    pub fn covers(&self, other: &Interest) -> bool {
        other.keys.iter().all(|key| self.has(key))
            && other.ranges.iter().all(|range| self.ranges.contains(range))
    }

    /// The spaces it lies in, each once.
    fn spaces(&self) -> Vec<u16> {
        let of_range = |range: &Range| Key::new(range.start.clone()).space();
        let ranges = self.ranges.iter().map(of_range);
        let mut spaces: Vec<u16> = self.keys.iter().map(Key::space).chain(ranges).collect();
        spaces.sort_unstable();
        spaces.dedup();
        spaces
    }
}

/// Everybody who waits on one run time.
#[derive(Debug, Default)]
pub struct Watchers {
    count: AtomicUsize,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    /// By the space in which something may change.
    spaces: HashMap<u16, HashMap<u64, Arc<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    interest: Interest,
    /// Remembers a change that came while nobody listened.
    changed: AtomicBool,
    waker: AtomicWaker,
}

/// Somebody who waits; dropping it ends the waiting.
#[derive(Debug)]
pub struct Watch {
    watchers: Arc<Watchers>,
    number: u64,
    waiting: Arc<Waiting>,
}

impl Watchers {
    /// Waits for these rows from now on.
    pub fn watch(self: &Arc<Self>, interest: Interest) -> Watch {
        let waiting = Arc::new(Waiting {
            interest,
            changed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let mut all = self.locked();
        let number = all.next;
        all.next += 1;
        for space in waiting.interest.spaces() {
            all.spaces.entry(space).or_default().insert(number, waiting.clone());
        }
        drop(all);
        self.count.fetch_add(1, Ordering::SeqCst);
        Watch { watchers: self.clone(), number, waiting }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Wakes whoever waits for a row of a batch that has been committed, or may have been.
    #[inline]
    pub(crate) fn touched(&self, batch: &Batch) {
        if self.count() > 0 {
            self.wake(batch);
        }
    }

    /// Wakes everybody: what they wait for is elsewhere from now on, and other watchers tell of it.
    pub fn wake_all(&self) {
        for waiting in self.locked().spaces.values().flat_map(HashMap::values) {
            waiting.tell();
        }
    }

    fn wake(&self, batch: &Batch) {
        let all = self.locked();
        for write in &batch.writes {
            let key = write.key();
            let waiting = all.spaces.get(&key.space()).into_iter().flat_map(HashMap::values);
            for one in waiting.filter(|one| one.interest.has(key)) {
                one.tell();
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn tell(&self) {
        self.changed.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

impl Watch {
    /// Waits until one of the rows may have changed since the last time this was awaited.
    pub async fn changed(&self) {
        let waiting = &self.waiting;
        poll_fn(|context| {
            waiting.waker.register(context.waker());
            match waiting.changed.swap(false, Ordering::SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Whether it is these watchers that wake it.
    pub fn is_of(&self, watchers: &Arc<Watchers>) -> bool {
        Arc::ptr_eq(&self.watchers, watchers)
    }

    /// What it waits for.
    pub fn interest(&self) -> &Interest {
        &self.waiting.interest
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut all = self.watchers.locked();
        for space in self.waiting.interest.spaces() {
            if let Some(waiting) = all.spaces.get_mut(&space) {
                waiting.remove(&self.number);
                if waiting.is_empty() {
                    all.spaces.remove(&space);
                }
            }
        }
        self.watchers.count.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes().to_vec())
    }

    fn range(start: &'static str, end: &'static str) -> Range {
        Range { start: start.as_bytes().into(), end: end.as_bytes().into() }
    }

    fn batch(keys: &[&str]) -> Batch {
        let id = crate::store::CommitId::from_bytes([1; 16]);
        let deletes = keys.iter().map(|text| crate::store::Write::Delete { key: key(text) });
        Batch { id, now: 0, checks: Vec::new(), writes: deletes.collect(), deadline: 0 }
    }

    #[test]
    fn a_watch_is_woken_by_its_own_rows_and_no_others() {
        let watchers = Arc::new(Watchers::default());
        let keys = vec![key("aa1")];
        let watch = watchers.watch(Interest { keys, ranges: vec![range("bb2", "bb5")] });
        let woken = |watch: &Watch| watch.changed().now_or_never().is_some();
        watchers.touched(&batch(&["aa2", "aa11", "bb1", "bb5", "cc3"]));
        assert!(!woken(&watch));
        watchers.touched(&batch(&["zz", "aa1"]));
        assert!(woken(&watch) && !woken(&watch));
        watchers.touched(&batch(&["bb4x"]));
        assert!(woken(&watch));
        drop(watch);
        assert_eq!(watchers.count(), 0);
        assert!(watchers.locked().spaces.is_empty());
    }

    #[test]
    fn everybody_is_woken_when_what_they_wait_for_is_elsewhere() {
        let (watchers, others) = (Arc::new(Watchers::default()), Arc::new(Watchers::default()));
        let watch = |key| watchers.watch(Interest { keys: vec![key], ranges: Vec::new() });
        let all = [watch(key("aa1")), watch(key("bb2"))];
        watchers.wake_all();
        assert!(all.iter().all(|watch| watch.changed().now_or_never().is_some()));
        assert!(all.iter().all(|watch| watch.is_of(&watchers) && !watch.is_of(&others)));
    }

    #[test]
    fn what_is_watched_covers_what_is_looked_at_again() {
        let watched = Interest { keys: vec![key("aa1")], ranges: vec![range("bb2", "bb5")] };
        let again = |keys: &[&str], ranges: Vec<Range>| Interest {
            keys: keys.iter().map(|text| key(text)).collect(),
            ranges,
        };
        assert!(watched.covers(&again(&["aa1", "bb3"], vec![range("bb2", "bb5")])));
        assert!(!watched.covers(&again(&["aa2"], Vec::new())));
        assert!(!watched.covers(&again(&[], vec![range("bb2", "bb6")])));
    }
}

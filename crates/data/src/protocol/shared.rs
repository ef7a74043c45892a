//! What the calls of one run time share: a clock to wait by, chance, slices that are known to be in
//! their directory, those that directories named first, and entries that readers found without an
//! owner.
//!
//! All that is collected here may be forgotten at any moment: a slice is then announced again, a
//! directory read before its first slice, an entry met again.

use crate::clock::{Clock, Random};
use crate::error::Result;
use crate::store::{Key, Range};
use crate::watch::Watchers;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Slices that are remembered.
const SLICES_MAX: usize = 100_000;
/// Directories whose first slice is remembered.
const FIRST_SLICES_MAX: usize = 100_000;
/// Entries that wait for the cleaner.
const ORPHANS_MAX: usize = 10_000;

/// What the calls of one run time share.
#[derive(Debug)]
pub struct Shared {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    slices: Mutex<HashSet<Key>>,
    first_slices: Mutex<HashMap<Vec<u8>, (i64, Range)>>,
    orphans: Mutex<BTreeSet<Key>>,
    watchers: Arc<Watchers>,
}

impl Shared {
    /// Nothing known yet.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Shared {
            clock,
            random,
            slices: Mutex::default(),
            first_slices: Mutex::default(),
            orphans: Mutex::default(),
            watchers: Arc::default(),
        }
    }

    /// Whoever waits for rows to change.
    pub fn watchers(&self) -> &Arc<Watchers> {
        &self.watchers
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Where chance comes from.
    pub fn random(&self) -> &dyn Random {
        self.random.as_ref()
    }

    /// Whether a slice is known to be in its directory.
    pub(super) fn knows(&self, slice: &Key) -> bool {
        lock(&self.slices).contains(slice)
    }

    /// Remembers that a slice is in its directory.
    pub(super) fn learn(&self, slice: Key) {
        let mut slices = lock(&self.slices);
        if slices.len() >= SLICES_MAX {
            slices.clear();
        }
        slices.insert(slice);
    }

    /// The slice that a directory named first when it was last read, and its range.
    pub(crate) fn first_slice(&self, directory: &[u8]) -> Option<(i64, Range)> {
        lock(&self.first_slices).get(directory).cloned()
    }

    /// Remembers the slice that a directory names first; its range is asked for if it is new.
    pub(crate) fn learn_first(
        &self,
        directory: &[u8],
        slice: i64,
        range: impl FnOnce() -> Result<Range>,
    ) -> Result<()> {
        let mut firsts = lock(&self.first_slices);
        match firsts.get_mut(directory) {
            Some((known, _)) if *known == slice => return Ok(()),
            Some(known) => *known = (slice, range()?),
            None => {
                if firsts.len() >= FIRST_SLICES_MAX {
                    firsts.clear();
                }
                firsts.insert(directory.to_vec(), (slice, range()?));
            }
        }
        Ok(())
    }

    /// Puts an entry or a claim that belongs to no row on the list of the cleaner. A full list
    /// takes no more: whatever is left out will be met again.
    pub(crate) fn queue(&self, orphan: Key) {
        let mut orphans = lock(&self.orphans);
        if orphans.len() < ORPHANS_MAX {
            orphans.insert(orphan);
        }
    }

    /// Entries and claims for the cleaner, at most so many; they are off the list.
    pub fn take_orphans(&self, most: usize) -> Vec<Key> {
        let mut orphans = lock(&self.orphans);
        std::iter::from_fn(|| orphans.pop_first()).take(most).collect()
    }
}

/// Each change of the lists is whole before the next begins, so a panic elsewhere leaves them
/// sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

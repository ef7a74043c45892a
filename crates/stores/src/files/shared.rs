//! What readers and the writer share: the disk, the memory behind its lock, and a bounded cache.

use super::disk::Disk;
use super::error::{poisoned, unready};
use super::memory::Memory;
use super::row::Hash;
use bytes::Bytes;
use data::Result;
use data::store::Key;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Something about the files that people should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, below the tree.
    pub path: String,
    /// What is wrong with it, and what was done.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

/// What readers and the writer share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Arc<dyn Disk>,
    memory: RwLock<Option<Memory>>,
    pub(super) cache: Contents,
    is_poisoned: AtomicBool,
    problems: Mutex<Vec<Problem>>,
}

/// Problems that are kept; more than these say no more.
const PROBLEMS_MAX: usize = 1_000;

impl Shared {
    pub(super) fn new(disk: Arc<dyn Disk>, cache_bytes: u64) -> Shared {
        Shared {
            disk,
            memory: RwLock::new(None),
            cache: Contents::new(cache_bytes),
            is_poisoned: AtomicBool::new(false),
            problems: Mutex::new(Vec::new()),
        }
    }

    /// The memory, to look at.
    pub(super) fn memory(&self) -> Result<Looked<'_>> {
        // A thread that panicked while it changed the memory may have left half of a group.
        let guard = self.memory.read().map_err(|_| poisoned())?;
        match guard.is_some() {
            true => Ok(Looked(guard)),
            false => Err(unready()),
        }
    }

    /// The memory, to change.
    pub(super) fn change(&self) -> Result<Changed<'_>> {
        let guard = self.memory.write().map_err(|_| poisoned())?;
        match guard.is_some() {
            true => Ok(Changed(guard)),
            false => Err(unready()),
        }
    }

    /// Puts another memory in place.
    pub(super) fn replace(&self, memory: Memory) -> Result<()> {
        *self.memory.write().map_err(|_| poisoned())? = Some(memory);
        Ok(())
    }

    pub(super) fn poison(&self) {
        self.is_poisoned.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::SeqCst)
    }

    /// Remembers a problem, once.
    pub(super) fn report(&self, path: &str, what: impl Into<String>) {
        let problem = Problem { path: path.to_string(), what: what.into() };
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() < PROBLEMS_MAX && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The memory while somebody looks at it.
pub(super) struct Looked<'s>(RwLockReadGuard<'s, Option<Memory>>);

impl Deref for Looked<'_> {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        match self.0.as_ref() {
            Some(memory) => memory,
            // `Shared::memory` has looked.
            None => unreachable!("there is a memory"),
        }
    }
}

/// The memory while somebody changes it.
pub(super) struct Changed<'s>(RwLockWriteGuard<'s, Option<Memory>>);

impl Deref for Changed<'_> {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        match self.0.as_ref() {
            Some(memory) => memory,
            None => unreachable!("there is a memory"),
        }
    }
}

impl DerefMut for Changed<'_> {
    fn deref_mut(&mut self) -> &mut Memory {
        match self.0.as_mut() {
            Some(memory) => memory,
            None => unreachable!("there is a memory"),
        }
    }
}

/// Encoded rows that were read or written lately, each with the hashes of the files it was read of.
pub(super) struct Contents(Cache<Key, Content, Weight>);

type Hashes = (Hash, Option<Hash>);
type Content = (Hashes, Bytes);

/// What an entry of the cache weighs beside its key and value.
const ENTRY_BYTES: u64 = 128;

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Content> for Weight {
    fn weight(&self, key: &Key, content: &Content) -> u64 {
        ENTRY_BYTES + key.bytes().len() as u64 + content.1.len() as u64
    }
}

impl Contents {
    fn new(bytes: u64) -> Contents {
        let items = usize::try_from(bytes / 512).unwrap_or(usize::MAX).max(16);
        Contents(Cache::with_weighter(items, bytes, Weight))
    }

    /// The content that files of these hashes have.
    pub(super) fn get(&self, key: &Key, hashes: Hashes) -> Option<Bytes> {
        let (known, value) = self.0.get(key)?;
        (known == hashes).then_some(value)
    }

    pub(super) fn insert(&self, key: Key, hashes: Hashes, value: Bytes) {
        // A slice of a larger piece would keep all of it.
        self.0.insert(key, (hashes, value));
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Contents").field("entries", &self.0.len()).finish()
    }
}

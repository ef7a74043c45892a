//! What is committed goes into the files, while the next commits are made.
//!
//! ```text
//! journal, synced ─▶ Placing: files, one after the other ─▶ memory: no longer held ─▶ Placed
//! ```
//!
//! One set of changes at a time, in the order of their commits: whoever commits gathers the next
//! set meanwhile. Nothing is put into a file that the disk's journal does not hold. Another program
//! may see one file of a batch before another.

use super::checkpoint::Touched;
use super::disk::{Disk, Kind, Log, Stamp};
use super::error;
use super::journal::FileChange;
use super::place::{clear, place, rename, write_beside};
use super::quarantine;
use super::row::{Content, Known, hash_of};
use super::shared::Shared;
use bytes::Bytes;
use data::Result;
use data::store::Key;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is committed and not yet in the files.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Each file once, as the last group leaves it, and as it was before the first.
    pub(super) files: BTreeMap<Arc<str>, FileChange>,
    /// Rows whose content is held in memory until then, as the last group leaves them.
    pub(super) held: HashMap<Key, Arc<Known>>,
    /// Bytes in `files`.
    pub(super) bytes: usize,
}

impl Pending {
    /// Adds what a group does.
    pub(super) fn add(&mut self, files: Vec<FileChange>) {
        for file in files {
            self.bytes += file.after.as_ref().map_or(0, Bytes::len);
            match self.files.get_mut(&file.path) {
                Some(earlier) => earlier.after = file.after,
                None => drop(self.files.insert(file.path.clone(), file)),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.held.is_empty()
    }
}

/// A set of changes on its way into the files.
#[derive(Debug)]
pub(super) struct Placing {
    pub(super) shared: Arc<Shared>,
    pub(super) pending: Pending,
    pub(super) touched: Touched,
    pub(super) journal: Unsynced,
}

/// What the disk's journal may not hold yet.
#[derive(Debug)]
pub(super) struct Unsynced {
    /// The journal, if anything of it may be missing.
    pub(super) log: Option<Box<dyn Log>>,
    pub(super) path: String,
    /// The number of the last frame that it holds once it is synced.
    pub(super) last: u64,
}

/// A set of changes that is in the files, or failed on its way.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) touched: Touched,
    /// The last frame of the journal that is synced.
    pub(super) synced: u64,
    /// Rows whose content is in their files now.
    pub(super) filed: Result<Vec<(Key, Arc<Known>)>>,
}

impl Placing {
    /// Does all of it. After a failure nothing more may be written.
    pub(super) fn run(mut self) -> Placed {
        let filed = self.try_run();
        if filed.is_err() {
            self.shared.poison();
        }
        Placed { touched: self.touched, synced: self.journal.last, filed }
    }

    fn try_run(&mut self) -> Result<Vec<(Key, Arc<Known>)>> {
        if let Some(log) = &mut self.journal.log {
            log.sync().map_err(|error| error::file(error, &self.journal.path))?;
        }
        let pending = std::mem::take(&mut self.pending);
        let mut stamps: HashMap<Arc<str>, Stamp> = HashMap::with_capacity(pending.files.len());
        let disk = self.shared.disk.clone();
        for (path, change) in &pending.files {
            match &change.after {
                Some(content) => {
                    let stamp = self.put_in_place(disk.as_ref(), change, content)?;
                    stamps.insert(path.clone(), stamp);
                }
                None => {
                    self.spare(change)?;
                    clear(disk.as_ref(), path, &mut self.touched)
                        .map_err(|error| error::file(error, path))?;
                }
            }
        }
        disk.rest();
        self.file(pending, &stamps)
    }

    /// Lets readers look into the files, for all rows that were not changed again meanwhile.
    fn file(
        &self,
        pending: Pending,
        stamps: &HashMap<Arc<str>, Stamp>,
    ) -> Result<Vec<(Key, Arc<Known>)>> {
        // Made ready before anybody is kept from reading.
        let placed = |(key, held): (Key, Arc<Known>)| {
            let mut known = held.as_ref().clone();
            for file in std::iter::once(&mut known.main).chain(&mut known.fields) {
                file.stamp = stamps.get(&file.path).copied().or(file.stamp);
            }
            if let Content::Held(value) = std::mem::replace(&mut known.content, Content::Filed) {
                self.shared.cache.insert(key.clone(), known.hashes(), value);
            }
            (key, held, Arc::new(known))
        };
        let placed: Vec<_> = pending.held.into_iter().map(placed).collect();
        let mut filed = Vec::with_capacity(placed.len());
        let mut memory = self.shared.change()?;
        for change in pending.files.values().filter(|change| change.after.is_none()) {
            memory.has_left(&change.path);
        }
        for (key, held, known) in &placed {
            // The very same commit: one that put the same content again has a file to come.
            let current = memory.known_mut(key).filter(|current| Arc::ptr_eq(current, held));
            let Some(current) = current else { continue };
            *current = known.clone();
            filed.push((key.clone(), known.clone()));
        }
        drop(memory);
        Ok(filed)
    }

    /// Puts a file in its place; what somebody else has put there meanwhile is set aside.
    fn put_in_place(
        &mut self,
        disk: &dyn Disk,
        change: &FileChange,
        content: &[u8],
    ) -> Result<Stamp> {
        let path = &change.path;
        let failed = |error| error::file(error, path);
        if change.before.is_some() || change.stamp.is_some() {
            self.spare(change)?;
            return place(disk, path, content, &mut self.touched).map_err(failed);
        }
        let new = write_beside(disk, content, &mut self.touched).map_err(failed)?;
        let new_name = |disk: &dyn Disk, from: &str, to: &str| disk.rename_new(from, to);
        let placed = rename(disk, (&new, path), &mut self.touched, new_name).map_err(failed)?;
        if let Some(stamp) = placed {
            return Ok(stamp);
        }
        self.spare(change)?;
        let over = |disk: &dyn Disk, from: &str, to: &str| disk.rename(from, to);
        rename(disk, (&new, path), &mut self.touched, over).map_err(failed)
    }

    /// Sets a file aside that somebody changed after the commit that now replaces it. The files of
    /// indexes are nobody's but the store's.
    fn spare(&mut self, change: &FileChange) -> Result<()> {
        let path = &change.path;
        let failed = |error| error::file(error, path);
        let shared = self.shared.clone();
        let stamp = match shared.disk.stamp(path) {
            Ok((Kind::File, stamp)) => stamp,
            _ => return Ok(()),
        };
        if change.stamp == Some(stamp) {
            return Ok(());
        }
        let tree = shared.memory()?.tree.clone();
        if tree.all_indexes().any(|index| index.is_path(tree.case, path)) {
            return Ok(());
        }
        let (found, _) = shared.disk.read(path).map_err(failed)?;
        let found = Some(hash_of(&found));
        if found == change.before || found == change.after.as_deref().map(hash_of) {
            return Ok(());
        }
        let why = "it was changed while a commit was on its way to it";
        quarantine::set_aside(&shared, path, why, &mut self.touched).map_err(failed)
    }
}

//! What is committed goes into the files: each is written beside and put in place by its name.
//!
//! ```text
//! journal, synced ─▶ .keyway/new-7 ─rename─▶ user/u1.json        no sync here: see `checkpoint`
//! ```
//!
//! Another program sees a whole file, the old or the new one, but may see one file of a batch
//! before another. Nothing is applied that the disk's journal does not hold.

use super::checkpoint::{Job, Touched};
use super::commit::Committer;
use super::disk::{Disk, Kind, Stamp, parent};
use super::error::{self, poisoned};
use super::journal::{FileChange, Journal};
use super::quarantine;
use super::read::is_gone;
use super::row::{Content, Hash, hash_of};
use super::rows::Checkpoint;
use bytes::Bytes;
use data::Result;
use data::store::Key;
use keyspace::layout::files::OWN_DIRECTORY;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// Batches in a journal before a checkpoint.
const CHECKPOINT_BATCHES: usize = 1_000;
/// Bytes in a journal before a checkpoint.
const CHECKPOINT_BYTES: usize = 16 << 20;
/// Bytes in a journal before everything waits for the last checkpoint.
const WAIT_BYTES: usize = 64 << 20;
/// What the name of a file begins with that is not in its place yet.
pub(super) const NEW: &str = "new-";

/// What is committed and not yet in the files.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Each file once, as the last group leaves it, and as it was before the first.
    files: BTreeMap<Arc<str>, FileChange>,
    /// Rows whose content is held in memory until then.
    pub(super) held: HashMap<Key, (Hash, Option<Hash>)>,
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

/// Puts a file in place, over whatever file is there.
pub(super) fn place(
    disk: &dyn Disk,
    path: &Arc<str>,
    content: &[u8],
    touched: &mut Touched,
) -> io::Result<Stamp> {
    let new = write_beside(disk, content, touched)?;
    rename(disk, (&new, path), touched, |disk, from, to| disk.rename(from, to))
}

/// Writes a file that is not in its place yet.
fn write_beside(disk: &dyn Disk, content: &[u8], touched: &mut Touched) -> io::Result<String> {
    let new = format!("{OWN_DIRECTORY}/{NEW}{}", touched.number());
    disk.write(&new, content)?;
    Ok(new)
}

/// Gives a new file its name, and makes the directories it needs.
fn rename<T>(
    disk: &dyn Disk,
    (new, path): (&str, &Arc<str>),
    touched: &mut Touched,
    rename: impl Fn(&dyn Disk, &str, &str) -> io::Result<T>,
) -> io::Result<T> {
    let renamed = match rename(disk, new, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(disk, parent(path), touched)?;
            rename(disk, new, path)?
        }
        renamed => renamed?,
    };
    touched.files.insert(path.clone());
    let directory = parent(path);
    if !touched.directories.contains(directory) {
        touched.directories.insert(directory.to_string());
    }
    Ok(renamed)
}

/// Makes a directory and those above it.
pub(super) fn make_directories(
    disk: &dyn Disk,
    directory: &str,
    touched: &mut Touched,
) -> io::Result<()> {
    if directory.is_empty() {
        return Ok(());
    }
    match disk.make_directory(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(disk, parent(directory), touched)?;
            disk.make_directory(directory)?;
        }
        made => made?,
    }
    touched.directories.insert(parent(directory).to_string());
    Ok(())
}

/// Takes a file away, and directories that hold nothing then.
pub(super) fn clear(disk: &dyn Disk, path: &str, touched: &mut Touched) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if is_gone(&error) => return Ok(()),
        removed => removed?,
    }
    let mut directory = parent(path);
    touched.directories.insert(directory.to_string());
    while !directory.is_empty() && disk.remove_directory(directory).is_ok() {
        directory = parent(directory);
        touched.directories.insert(directory.to_string());
    }
    Ok(())
}

impl Committer {
    /// Puts what is committed and synced into the files.
    pub(super) fn apply(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        self.try_apply().inspect_err(|_| self.shared.poison())
    }

    fn try_apply(&mut self) -> Result<()> {
        let number = self.journal.number;
        let failed = |error| error::file(error, &super::journal::path_of(number));
        self.journal.sync().map_err(failed)?;
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
        let mut memory = self.shared.change()?;
        for change in pending.files.values().filter(|change| change.after.is_none()) {
            memory.has_left(&change.path);
        }
        for (key, hashes) in pending.held {
            let current = memory.known_mut(&key).filter(|known| known.hashes() == hashes);
            let Some(current) = current else { continue };
            let mut known = current.as_ref().clone();
            for file in std::iter::once(&mut known.main).chain(&mut known.fields) {
                file.stamp = stamps.get(&file.path).copied().or(file.stamp);
            }
            if let Content::Held(value) = std::mem::replace(&mut known.content, Content::Filed) {
                self.shared.cache.insert(key.clone(), hashes, value);
            }
            *current = Arc::new(known);
            // The next checkpoint keeps no content.
            if let Some(Some(changed)) = self.changed_rows.get_mut(&key) {
                *changed = current.clone();
            }
        }
        Ok(())
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

    /// Whether the journal is long enough for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        let long =
            self.journal.bytes >= CHECKPOINT_BYTES || self.journal.batches >= CHECKPOINT_BATCHES;
        long && (!self.keeper.is_busy() || self.journal.bytes >= WAIT_BYTES)
    }

    /// Whether anything is not in a checkpoint yet.
    pub(super) fn is_unkept(&self) -> bool {
        self.journal.bytes > 0
            || !self.changed_rows.is_empty()
            || !self.touched.files.is_empty()
            || !self.touched.directories.is_empty()
    }

    /// Begins a checkpoint: from here on the next journal is written to.
    pub(super) fn rotate(&mut self) -> Result<Job> {
        self.apply()?;
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        self.try_rotate().map_err(|error| {
            self.shared.poison();
            error::file(error, OWN_DIRECTORY)
        })
    }

    fn try_rotate(&mut self) -> io::Result<Job> {
        self.journal.sync()?;
        let (number, last) = (self.journal.number, self.journal.last);
        self.journal = Journal::begin(self.shared.disk.as_ref(), number + 1, last)?;
        let checkpoint = Checkpoint {
            journal: number + 1,
            last,
            time: self.time,
            commits: std::mem::take(&mut self.commits),
            rows: std::mem::take(&mut self.changed_rows).into_iter().collect(),
        };
        let next = self.touched.next();
        let touched = std::mem::replace(&mut self.touched, next);
        Ok(Job { touched, checkpoint, journals: vec![number] })
    }

    /// Makes a checkpoint of everything, here and now.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        self.apply()?;
        let failed = |error| error::file(error, OWN_DIRECTORY);
        if !self.is_unkept() {
            return self.keeper.finish().map_err(failed);
        }
        let job = self.rotate()?;
        self.keeper.run(&job).map_err(failed)
    }

    /// Makes a checkpoint on another thread.
    pub(super) fn start_checkpoint(&mut self) -> Result<()> {
        let job = self.rotate()?;
        self.keeper.start(job).map_err(|error| {
            self.shared.poison();
            error::file(error, OWN_DIRECTORY)
        })
    }
}

//! A checkpoint: what the journals say is in the files for certain, so that they can go.
//!
//! ```text
//! new journal ─▶ sync files ─▶ sync directories ─▶ frame in .keyway/rows ─▶ unlink old journals
//! └ the writer goes on in it      all of this on another thread
//! ```
//!
//! The order is the promise: a journal goes only when the disk holds what it said.

use super::disk::Disk;
use super::journal;
use super::outcome;
use super::rows::{self, Checkpoint, Rows};
use super::shared::Shared;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Files that are synced one by one; for more, the disk is asked to sync everything.
const SYNCED_ALONE_MAX: usize = 8;

/// Files and directories that the disk may not hold yet.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) files: HashSet<Arc<str>>,
    pub(super) directories: BTreeSet<String>,
    /// The number of the last new file.
    number: u64,
}

impl Touched {
    /// A number for a new file.
    pub(super) fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Nothing, after all of this.
    pub(super) fn next(&self) -> Touched {
        Touched { number: self.number, ..Touched::default() }
    }

    /// This as well.
    pub(super) fn add(&mut self, other: Touched) {
        self.number = self.number.max(other.number);
        match self.files.is_empty() && self.directories.is_empty() {
            true => (self.files, self.directories) = (other.files, other.directories),
            false => {
                self.files.extend(other.files);
                self.directories.extend(other.directories);
            }
        }
    }

    /// Makes all of it durable.
    pub(super) fn sync(&self, disk: &dyn Disk) -> io::Result<()> {
        if self.files.len() + self.directories.len() > SYNCED_ALONE_MAX && disk.sync_all()? {
            return Ok(());
        }
        // What is gone since needs no sync of its own, only that of its directory.
        let unless_gone = |result: io::Result<()>| match result {
            Err(error) if super::read::is_gone(&error) => Ok(()),
            other => other,
        };
        for path in &self.files {
            unless_gone(disk.sync(path))?;
        }
        for directory in &self.directories {
            unless_gone(disk.sync_directory(directory))?;
        }
        Ok(())
    }
}

/// A checkpoint to be made.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) touched: Touched,
    pub(super) checkpoint: Checkpoint,
    /// The journals that can go then.
    pub(super) journals: Vec<u64>,
}

impl Job {
    /// Makes it.
    pub(super) fn run(&self, disk: &dyn Disk, rows: &mut Rows) -> io::Result<()> {
        self.touched.sync(disk)?;
        rows.add(&self.checkpoint)?;
        if rows.is_large() {
            *rows = compact(disk)?;
        }
        for number in &self.journals {
            disk.remove(&journal::path_of(*number))?;
        }
        Ok(())
    }
}

/// Writes `.keyway/rows` anew, without what is old.
fn compact(disk: &dyn Disk) -> io::Result<Rows> {
    let kept = rows::read(disk).map_err(io::Error::other)?;
    let (mut kept, _) = kept.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let oldest = kept.time.saturating_sub(2 * outcome::kept());
    kept.commits.retain(|committed| committed.now >= oldest);
    Rows::write(disk, &kept)
}

/// Whoever makes checkpoints, one after the other.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    rows: Option<Rows>,
    running: Option<JoinHandle<Option<Rows>>>,
}

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>, rows: Rows) -> Keeper {
        Keeper { shared, rows: Some(rows), running: None }
    }

    /// Whether a checkpoint is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.is_finished())
    }

    /// Makes a checkpoint here, after the one that is under way.
    pub(super) fn run(&mut self, job: &Job) -> io::Result<()> {
        let mut rows = self.take()?;
        let result = job.run(self.shared.disk.as_ref(), &mut rows);
        if result.is_err() {
            self.shared.poison();
        }
        self.rows = Some(rows);
        result
    }

    /// Makes a checkpoint on another thread, after the one that is under way.
    pub(super) fn start(&mut self, job: Job) -> io::Result<()> {
        let mut rows = self.take()?;
        let shared = self.shared.clone();
        let work = move || match job.run(shared.disk.as_ref(), &mut rows) {
            Ok(()) => Some(rows),
            Err(_) => {
                shared.poison();
                None
            }
        };
        self.running = Some(Builder::new().name("keyway keeper".to_string()).spawn(work)?);
        Ok(())
    }

    /// Waits for the checkpoint that is under way.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let rows = self.take()?;
        self.rows = Some(rows);
        Ok(())
    }

    fn take(&mut self) -> io::Result<Rows> {
        if let Some(running) = self.running.take() {
            // A thread that panicked has done nothing that can be gone on with.
            self.rows = running.join().ok().flatten();
        }
        let failed = || io::Error::other("a checkpoint failed");
        self.rows.take().ok_or_else(failed)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.take();
    }
}

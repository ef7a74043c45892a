//! A tree of files: a store that people can read, edit, copy and keep under version control.
//!
//! ```text
//! get, scan ──▶ read ────▶ memory: every key in order ──▶ files, checked by stamp and hash
//! commit ─────▶ writer ─▶ draft ─▶ journal, synced ─▶ memory ─▶ answer
//!                                      └─ meanwhile: files ─▶ checkpoint
//! ```
//!
//! The files are the truth; the journal in `.keyway/` makes a batch over several of them atomic;
//! order and indexes live in memory and are built when the tree is opened. One process at a time
//! has the tree. What somebody else does to the files is noticed and respected, or reported.
//!
//! Nothing here asks the time: batches bring their own.

mod adopt;
mod apply;
mod catalogue;
mod checkpoint;
mod commit;
mod content;
mod disk;
mod draft;
mod error;
mod folder;
mod frame;
mod index_file;
mod journal;
mod load;
mod memory;
mod open;
mod outcome;
mod path;
mod place;
mod placer;
mod placing;
mod quarantine;
mod read;
mod recover;
mod row;
mod rows;
mod shared;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;
mod writer;

pub use shared::Problem;

use crate::lock::Lock;
use async_trait::async_trait;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    Batch, Description, Durability, Key, Memory, Outcome, Page, Reach, Row, Scan, Store, door,
};
use data::{Error, ErrorKind, Result};
use error::{closed, poisoned};
use keyspace::layout::files::OWN_DIRECTORY;
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use read::Read;
use shared::Shared;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use writer::Writer;

/// How often a read is tried again while somebody else changes its files.
const READS_MAX: usize = 8;

/// How a tree is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Bytes of rows kept in memory beside their keys.
    pub cache_bytes: u64,
    /// Whether the tree may be on a network or behind another program.
    pub allow_network: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::Power, cache_bytes: 64 << 20, allow_network: false }
    }
}

/// A store in a tree of files.
pub struct FilesStore {
    path: PathBuf,
    durability: Durability,
    inner: RwLock<Option<Arc<Inner>>>,
}

/// An open tree. The order of the fields is the order in which they are let go: the thread first,
/// the lock last.
struct Inner {
    writer: Writer,
    shared: Arc<Shared>,
    /// None on a simulated disk.
    _lock: Option<Lock>,
}

impl FilesStore {
    /// Opens the tree in this directory; makes both if there is none.
    ///
    /// [`ErrorKind::Locked`] if another process has it, [`ErrorKind::Mismatch`] if something else,
    /// or a tree that does not fit this disk or version, is there, [`ErrorKind::Unsupported`] if it
    /// is on a network, [`ErrorKind::Corrupt`] if the journal is damaged.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<FilesStore> {
        let path = path.as_ref().to_path_buf();
        let inner = open::open(&path, options).map_err(|error| error.during("open"))?;
        let inner = RwLock::new(Some(Arc::new(inner)));
        Ok(FilesStore { path, durability: options.durability, inner })
    }

    /// Whether a keyspace was ever stored in this directory. Nothing is made or changed there.
    pub fn holds(path: impl AsRef<Path>) -> Result<bool> {
        folder::holds(path.as_ref()).map_err(|error| error.during("open"))
    }

    /// What is wrong with the files: those that were set aside, rows that may not have changed and
    /// did, unique values that two rows have, files that are no part of the layout.
    pub fn problems(&self) -> Vec<Problem> {
        self.inner().map(|inner| inner.shared.problems()).unwrap_or_default()
    }

    fn inner(&self) -> Result<Arc<Inner>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(closed)
    }

    /// Does something between two commits.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut commit::Committer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // What is open is let go before waiting, so that closing waits for no caller.
        let answer = self.inner()?.writer.run(work)?;
        answer.await.map_err(|_| poisoned())?
    }

    /// Reads, and lets the writer take in what somebody else did to the files.
    async fn read<T>(&self, read: impl Fn(&Shared) -> Result<Read<T>> + Send + Sync) -> Result<T> {
        let mut changed = Vec::new();
        for _ in 0..READS_MAX {
            let answer = read(&self.inner()?.shared)?;
            changed = match answer {
                Read::Done(answer) => return Ok(answer),
                Read::Changed(keys) => keys,
            };
            let keys = changed.clone();
            self.run(move |committer| committer.adopt_all(&keys)).await?;
        }
        let shared = self.inner()?.shared.clone();
        let damage = changed.iter().find_map(|key| read::damage(&shared, key));
        Err(damage.unwrap_or_else(|| {
            Error::new(ErrorKind::Busy, "somebody else changes the files again and again")
        }))
    }

    /// Lets go of everything: the thread, the files, and last the lock.
    fn release(&self) {
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut inner) = inner else { return };
        // A read on another thread holds it for microseconds; the tree is free once it is done.
        loop {
            match Arc::try_unwrap(inner) {
                Ok(inner) => return drop(inner),
                Err(shared) => inner = shared,
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[async_trait]
impl Store for FilesStore {
    fn describe(&self) -> Description {
        Description {
            kind: StoreKind::Files,
            address: format!("files:{}", self.path.display()),
            atomicity: Atomicity::WholeStore,
            blind: Reach::Store,
            remembers: Memory::Batches,
            durability: self.durability,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        let wanted = keyspace.clone();
        self.run(move |committer| committer.ensure(&wanted)).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        self.read(|shared| read::get(shared, keys)).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        self.read(|shared| read::scan(shared, scan)).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let answer = self.inner()?.writer.commit(batch)?;
        // The thread broke off in the middle of a group.
        answer.await.unwrap_or(Ok(Outcome::Indeterminate { id: batch.id }))
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let mut gone = 0;
        loop {
            let left = rows.saturating_sub(gone);
            let swept = self.run(move |committer| committer.sweep(now, left)).await?;
            gone += swept.rows;
            if gone >= rows || !swept.is_more {
                return Ok(gone);
            }
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.problems().iter().map(Problem::to_string).collect()
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        // Whoever has it open holds the tree.
        let _inner = self.inner()?;
        crate::secret::keep(&self.path.join(OWN_DIRECTORY), fresh).map(Some)
    }

    async fn close(&self) -> Result<()> {
        if self.inner().is_err() {
            return Ok(());
        }
        let synced = self.run(commit::Committer::sync).await;
        self.release();
        synced
    }
}

impl Drop for FilesStore {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for FilesStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("FilesStore");
        shown.field("path", &self.path).field("durability", &self.durability).finish()
    }
}

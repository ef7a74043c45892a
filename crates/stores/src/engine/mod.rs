//! The engine: a store in a folder of this machine, on the log-structured engine `fjall`.
//!
//! ```text
//! get, scan ──▶ read ────────────▶ published snapshot ──▶ tables
//! commit ─────▶ writer ─▶ commit ─▶ judge ─▶ one write of rows, outcome, number ─▶ publish
//!                                            └─ witness: up to here the disk holds everything
//! ```
//!
//! One process at a time has the folder. Any batch is atomic: the engine has one journal for all
//! its tables. What a commit survives is declared when the store is opened
//! ([`Options::durability`]), and holds for what reads return as well.
//!
//! Nothing here asks the time: batches bring their own.

mod catalogue;
mod changes;
mod commit;
mod error;
mod folder;
mod hold;
mod journal;
mod layout;
mod lone;
mod open;
mod outcome;
mod read;
mod shared;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;
mod witness;
mod writer;

use async_trait::async_trait;
use changes::ChangeLog;
use commit::Sent;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    AtOnce, Batch, Changes, Description, Durability, End, Hold, Joined, Key, Memory, Outcome, Page,
    Position, Reach, Row, Scan, Show, Store, Through, Versions, Write, door,
};
use data::{Error, ErrorKind, Result};
use error::{closed, no_trails, poisoned};
use folder::Folder;
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tables::{Published, Tables};
use writer::{Answer, Writer};

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Bytes of the engine's files kept in memory.
    pub cache_bytes: u64,
    /// How long the log of changes reaches back; without it none is kept.
    pub changes: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::Power, cache_bytes: 64 << 20, changes: None }
    }
}

/// A store in a folder.
pub struct EngineStore {
    path: PathBuf,
    durability: Durability,
    inner: RwLock<Option<Arc<Inner>>>,
}

/// An open store. The order of the fields is the order in which they are let go: the threads first,
/// the folder last.
struct Inner {
    writer: Writer,
    published: Arc<Published>,
    /// The log, once it is kept.
    changes: OnceLock<ChangeLog>,
    tables: Tables,
    folder: Folder,
}

impl EngineStore {
    async fn send(&self, sent: Sent<'_>) -> Result<Outcome> {
        let Sent { batch, .. } = sent;
        batch.check_limits()?;
        check_trails(batch)?;
        match self.inner()?.writer.commit(sent)? {
            Answer::Ready(outcome) => outcome,
            // The thread broke off in the middle of a group.
            Answer::Waiting(receiver) => {
                receiver.await.unwrap_or(Ok(Outcome::Indeterminate { id: batch.id }))
            }
        }
    }

    /// Opens the store in this folder; makes both if there is none.
    ///
    /// [`ErrorKind::Locked`] if another process has it, [`ErrorKind::Mismatch`] if something else
    /// or another version's store is there, [`ErrorKind::Corrupt`] if acknowledged commits are
    /// missing.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<EngineStore> {
        let path = path.as_ref().to_path_buf();
        let inner = open::open(&path, options).map_err(|error| error.during("open"))?;
        let inner = RwLock::new(Some(Arc::new(inner)));
        Ok(EngineStore { path, durability: options.durability, inner })
    }

    /// Whether a keyspace was ever stored in this folder. Nothing is made or changed there.
    pub fn holds(path: impl AsRef<Path>) -> Result<bool> {
        folder::holds(path.as_ref()).map_err(|error| error.during("open"))
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
        match answer {
            Answer::Ready(result) => result,
            Answer::Waiting(receiver) => receiver.await.map_err(|_| poisoned())?,
        }
    }

    /// Lets go of everything: threads, files, and last the folder.
    fn release(&self) {
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut inner) = inner else { return };
        // A read on another thread holds it for microseconds; the folder is free once it is done.
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
impl Store for EngineStore {
    fn describe(&self) -> Description {
        Description {
            kind: StoreKind::Engine,
            address: format!("engine:{}", self.path.display()),
            atomicity: Atomicity::WholeStore,
            blind: Reach::Store,
            remembers: Memory::Batches,
            durability: self.durability,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        let wanted = keyspace.clone();
        let catalogue = self.run(move |committer| committer.catalogue(&wanted)).await?;
        let schema = Schema::new(keyspace.clone(), StoreKind::Engine, catalogue)?;
        self.inner()?.folder.write_format(Some(&keyspace.name.value))?;
        Ok(Arc::new(schema))
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.rows(keys)
    }

    fn at_once(&self) -> Option<&dyn AtOnce> {
        Some(self)
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        AtOnce::scan(self, scan)
    }

    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        AtOnce::scan_through(self, through).map(Some)
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        self.send(Sent { batch, is_new: false }).await
    }

    async fn commit_new(&self, batch: &Batch) -> Result<Outcome> {
        self.send(Sent { batch, is_new: true }).await
    }

    async fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        door::check_rows(rows)?;
        let inner = self.inner()?;
        match inner.changes.get() {
            Some(changes) => changes.after(&inner.published.snapshot(), since, rows),
            None => Err(Error::new(
                ErrorKind::Unsupported,
                "this store keeps no log of its changes; open it with one",
            )),
        }
    }

    async fn follow(&self) -> Result<Position> {
        let (log, position) = self.run(commit::Committer::follow).await?;
        // It may be kept already: then this is the same one.
        let _ = self.inner()?.changes.set(log);
        Ok(position)
    }

    async fn hold(&self, hold: Hold) -> Result<Position> {
        self.run(move |committer| committer.hold(hold)).await
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
        let inner = self.inner().ok();
        let moved = inner.and_then(|inner| {
            let snapshot = inner.published.snapshot();
            tables::get(&snapshot, &inner.tables.rows, &layout::MOVED).ok().flatten()
        });
        let remark = |to: fjall::Slice| {
            let to = String::from_utf8_lossy(&to).into_owned();
            format!("the keyspace has moved to {to}; this store is only read")
        };
        moved.map(remark).into_iter().collect()
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        // Whoever has it open holds the folder.
        let _inner = self.inner()?;
        crate::secret::keep(&self.path, fresh).map(Some)
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

impl AtOnce for EngineStore {
    fn row(&self, key: &Key) -> Result<Option<Row>> {
        door::check_keys(std::slice::from_ref(key))?;
        let inner = self.inner()?;
        read::get_one(&inner.published.snapshot(), &inner.tables.rows, key)
    }

    fn rows(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        let inner = self.inner()?;
        read::get(&inner.published.snapshot(), &inner.tables.rows, keys)
    }

    fn each(&self, scan: &Scan, _: Versions, show: &mut Show<'_>) -> Result<End> {
        scan.check_limits()?;
        let inner = self.inner()?;
        read::each(&inner.published.snapshot(), &inner.tables.rows, scan, show)
    }

    fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let inner = self.inner()?;
        read::scan(&inner.published.snapshot(), &inner.tables.rows, scan)
    }

    fn scan_through(&self, through: &Through<'_>) -> Result<Joined> {
        through.scan.check_limits()?;
        let inner = self.inner()?;
        let (snapshot, rows) = (inner.published.snapshot(), &inner.tables.rows);
        let entries = read::scan(&snapshot, rows, through.scan)?;
        through.join(entries, |key| read::get_one(&snapshot, rows, key))
    }
}

impl Drop for EngineStore {
    fn drop(&mut self) {
        // As closing does, but whoever drops a store does not ask whether it succeeded.
        if let Ok(inner) = self.inner() {
            let _ = inner.writer.run(commit::Committer::sync);
        }
        self.release();
    }
}

impl fmt::Debug for EngineStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("EngineStore");
        shown.field("path", &self.path).field("durability", &self.durability).finish()
    }
}

/// Trails belong to the protocol over group-atomic stores.
fn check_trails(batch: &Batch) -> Result<()> {
    let has_trail = |write: &Write| matches!(write, Write::Put { trail: Some(_), .. });
    match batch.writes.iter().any(has_trail) {
        false => Ok(()),
        true => Err(no_trails()),
    }
}

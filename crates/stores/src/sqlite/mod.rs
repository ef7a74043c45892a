//! SQLite: one database file on this machine, with a table a collection and a table an index.
//!
//! ```text
//! get, scan ──▶ readers ─▶ read: a connection ─▶ tables, as the last COMMIT left them
//! commit ─────▶ writer: one at a time ─▶ commit: BEGIN IMMEDIATE, batches, COMMIT ─▶ answers
//! ```
//!
//! What a person sees in the file is what `keyway layout` prints. Several processes may have it
//! open: SQLite lets one of them write at a time, and a call that waits too long may be made again.
//!
//! Nothing here asks the time, but for the day on which the tables were made.

mod catalogue;
mod commit;
mod direct;
mod error;
mod open;
mod outcome;
mod read;
mod readers;
mod rebuild;
mod scan;
mod short;
mod steps;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;
mod value;
mod writer;

use async_trait::async_trait;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    AtOnce, Batch, Description, Durability, End, Joined, Key, Memory, Outcome, Page, Reach, Row,
    Scan, Show, ShowNamed, Store, Through, Versions, Write, door,
};
use data::{Error, ErrorKind, Result};
use error::{closed, poisoned};
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use readers::Readers;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use writer::{Answer, Writer};

/// The oldest SQLite that is trusted: older ones can damage a file that two connections write.
pub const SQLITE_MIN: &str = "3.51.3";

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What an acknowledged commit survives.
    pub durability: Durability,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::Power }
    }
}

/// A store in a database file.
pub struct SqliteStore {
    path: PathBuf,
    durability: Durability,
    inner: RwLock<Option<Arc<Inner>>>,
    readers: Readers,
}

/// Who writes.
struct Inner {
    writer: Writer,
    /// What people should know of the place of the file.
    remark: Option<&'static str>,
}

impl SqliteStore {
    /// Opens the store in this file; makes the file, and its folder, if there is none.
    ///
    /// [`ErrorKind::Mismatch`] if the file is no database of SQLite's, [`ErrorKind::Unsupported`]
    /// if it lies on another machine.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<SqliteStore> {
        let path = path.as_ref().to_path_buf();
        let opened = open::open(&path, options).map_err(|error| error.during("open"))?;
        let (inner, readers) = (RwLock::new(Some(Arc::new(opened.0))), opened.1);
        Ok(SqliteStore { path, durability: options.durability, inner, readers })
    }

    /// Whether a keyspace was ever stored in this file. It is not changed, nor made.
    pub fn holds(path: impl AsRef<Path>) -> Result<bool> {
        open::holds(path.as_ref()).map_err(|error| error.during("open"))
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

    /// Commits a batch, which may be one that was never sent.
    async fn send(&self, (batch, is_new): (&Batch, bool)) -> Result<Outcome> {
        batch.check_limits()?;
        check_trails(batch)?;
        let inner = self.inner()?;
        let tables = self.readers.tables()?;
        let answer = inner.writer.commit((batch, is_new), &tables)?;
        drop(inner);
        match answer {
            Answer::Ready(outcome) => outcome,
            // Whoever wrote broke off in the middle of a group.
            Answer::Waiting(receiver) => {
                receiver.await.unwrap_or(Ok(Outcome::Indeterminate { id: batch.id }))
            }
        }
    }

    /// Lets go of the thread and of the connections: the thread first, so that no connection writes
    /// after it.
    fn release(&self) {
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner).take();
        // A commit on another thread holds it for a moment; the last one lets go.
        drop(inner);
        self.readers.close();
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn describe(&self) -> Description {
        Description {
            kind: StoreKind::Sqlite,
            address: format!("sqlite:{}", self.path.display()),
            atomicity: Atomicity::WholeStore,
            blind: Reach::Store,
            remembers: Memory::Batches,
            durability: self.durability,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        let wanted = keyspace.clone();
        let tables = self.run(move |committer| committer.ensure(&wanted)).await?;
        let schema = tables.schema().clone();
        self.readers.set_tables(tables);
        Ok(schema)
    }

    fn remarks(&self) -> Vec<String> {
        let remark = self.inner().ok().and_then(|inner| inner.remark);
        remark.into_iter().map(str::to_string).collect()
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        self.run(move |committer| committer.secret(fresh)).await.map(Some)
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.rows(keys)
    }

    // What is in memory takes microseconds, and what is not is waited for where it is asked for.
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
        self.send((batch, false)).await
    }

    async fn commit_new(&self, batch: &Batch) -> Result<Outcome> {
        self.send((batch, true)).await
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let tables = self.readers.tables()?;
        let mut gone = 0;
        while gone < rows {
            let (tables, left) = (tables.clone(), rows - gone);
            let swept = self.run(move |committer| committer.sweep(&tables, now, left)).await?;
            gone += swept;
            if swept == 0 {
                break;
            }
        }
        Ok(gone)
    }

    async fn close(&self) -> Result<()> {
        let Ok(inner) = self.inner() else { return Ok(()) };
        drop(inner);
        let done = self.run(|committer| committer.finish()).await;
        self.release();
        done
    }
}

impl AtOnce for SqliteStore {
    fn row(&self, key: &Key) -> Result<Option<Row>> {
        door::check_key(key)?;
        self.readers.read(|connection, tables| tables.table(key.space())?.get(connection, key))
    }

    fn look(&self, key: &Key, versions: Versions, show: &mut Show<'_>) -> Result<()> {
        door::check_key(key)?;
        self.readers.read(|connection, tables| {
            tables.table(key.space())?.look(connection, (key, versions), show)
        })
    }

    fn rows(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        self.readers.read(|connection, tables| read::get(connection, tables, keys))
    }

    fn each(&self, scan: &Scan, versions: Versions, show: &mut Show<'_>) -> Result<End> {
        scan.check_limits()?;
        self.readers
            .read(|connection, tables| read::each(connection, tables, (scan, versions), show))
    }

    fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        self.readers.read(|connection, tables| read::scan(connection, tables, scan))
    }

    fn scan_through(&self, through: &Through<'_>) -> Result<Joined> {
        through.scan.check_limits()?;
        self.readers.read(|connection, tables| read::scan_through(connection, tables, through))
    }

    fn each_through(
        &self,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<End> {
        through.scan.check_limits()?;
        let asked = (through, versions);
        self.readers.read(|connection, tables| read::each_through(connection, tables, asked, show))
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("SqliteStore");
        shown.field("path", &self.path).field("durability", &self.durability).finish()
    }
}

/// Trails belong to the protocol over group-atomic stores.
fn check_trails(batch: &Batch) -> Result<()> {
    let has_trail = |write: &Write| matches!(write, Write::Put { trail: Some(_), .. });
    match batch.writes.iter().any(has_trail) {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::Unsupported, "SQLite keeps no trails of rows")),
    }
}

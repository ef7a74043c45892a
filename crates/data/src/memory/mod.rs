//! Stores in memory: one that is atomic as a whole, one that is atomic by group, and faults.
//!
//! ```text
//! MemoryStore         rows │ outcomes │ endings │ log       one lock, any batch
//! PartitionedMemory   the same rows, but a batch has one place, as on Cassandra
//! FaultyStore         any store, with lost replies, refusals and waits put between
//! ```
//!
//! They keep nothing on disk: what was acknowledged ends with the process. They never ask the time;
//! a batch brings its own.

mod faults;
mod log;
mod outcomes;
mod partitioned;
mod rows;

#[cfg(test)]
mod tests;

pub use faults::{Call, Fault, Faults, FaultyStore};
pub use log::LOG_ROWS_KEPT;
pub use partitioned::PartitionedMemory;

use crate::catalogue::Catalogue;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use crate::store::{
    AtOnce, Batch, Changes, Description, Durability, End, Hold, Joined, Key, Memory, Outcome, Page,
    Position, Reach, Row, Scan, Seen, Show, Store, Through, Versions, door,
};
use async_trait::async_trait;
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use rows::Rows;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A whole-store atomic store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    rows: Shared,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        MemoryStore::keeping(LOG_ROWS_KEPT)
    }

    /// An empty store whose log keeps at least the last commit, and so many changed rows.
    pub fn keeping(log_rows: usize) -> Self {
        MemoryStore { rows: Shared::new(log_rows) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn describe(&self) -> Description {
        Description {
            kind: StoreKind::Memory,
            address: "memory:".to_string(),
            atomicity: Atomicity::WholeStore,
            blind: Reach::Store,
            remembers: Memory::Batches,
            durability: Durability::None,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.rows.ensure(keyspace, StoreKind::Memory)
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
        batch.check_limits()?;
        self.rows.write()?.commit(batch)
    }

    async fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        door::check_rows(rows)?;
        self.rows.read()?.changes(since, rows)
    }

    async fn follow(&self) -> Result<Position> {
        Ok(self.rows.read()?.last())
    }

    async fn hold(&self, hold: Hold) -> Result<Position> {
        self.rows.write()?.hold(hold)
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        Ok(self.rows.write()?.sweep(now, rows))
    }
}

impl AtOnce for MemoryStore {
    fn row(&self, key: &Key) -> Result<Option<Row>> {
        let key = std::slice::from_ref(key);
        door::check_keys(key)?;
        Ok(self.rows.read()?.get(key).pop().flatten())
    }

    fn rows(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        Ok(self.rows.read()?.get(keys))
    }

    fn each(&self, scan: &Scan, _: Versions, show: &mut Show<'_>) -> Result<End> {
        scan.check_limits()?;
        self.rows.read()?.each(scan, &mut |key, row| show(&Seen::of(key, row)))
    }

    fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        self.rows.read()?.scan(scan)
    }

    fn scan_through(&self, through: &Through<'_>) -> Result<Joined> {
        through.scan.check_limits()?;
        self.rows.read()?.scan_through(through)
    }
}

/// The rows behind their lock.
#[derive(Debug)]
struct Shared(RwLock<Rows>);

impl Shared {
    fn new(log_rows: usize) -> Self {
        Shared(RwLock::new(Rows::new(log_rows)))
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Rows>> {
        self.0.read().map_err(|_| poisoned())
    }

    fn write(&self) -> Result<RwLockWriteGuard<'_, Rows>> {
        self.0.write().map_err(|_| poisoned())
    }

    fn ensure(&self, keyspace: &Arc<Keyspace>, kind: StoreKind) -> Result<Arc<Schema>> {
        let mut rows = self.write()?;
        let is_empty = |space| rows.has_none(space);
        let catalogue = Catalogue::open(rows.catalogue.as_deref(), keyspace, &is_empty)?;
        let stored = catalogue.to_bytes();
        let schema = Arc::new(Schema::new(keyspace.clone(), kind, catalogue)?);
        rows.catalogue = Some(stored);
        rows.schema = Some(schema.clone());
        Ok(schema)
    }
}

/// A thread that panicked inside a commit may have left half of it.
fn poisoned() -> Error {
    Error::new(ErrorKind::Poisoned, "a commit broke off in the middle; open the store anew")
}

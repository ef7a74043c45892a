//! The engine's own side: how its database and tables are opened, and what readers see of them.
//!
//! Nobody reads a table's newest state directly. The engine lets such a read see half of a batch
//! that is being applied, and its flushes move the line between seen and unseen in the middle of a
//! batch. So whoever commits publishes a snapshot when nothing is under way, and all reads use it.

use super::error::{damaged, opening, reading};
use data::Result;
use fjall::config::{PartitioningPolicy, PinningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, Readable, Snapshot};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// Rows of a table that wait in memory before they are written as a file.
const MEMTABLE_BYTES: u64 = 8 << 20;
/// The journal beyond which tables are flushed so that it can be let go.
const JOURNAL_BYTES: u64 = 128 << 20;

const ROWS: &str = "rows";
/// What the name of an empty table begins with that is there for its number.
const ABOVE: &str = "above-";

/// The database and its table of rows.
#[derive(Clone)]
pub(super) struct Tables {
    pub(super) database: Database,
    pub(super) rows: Keyspace,
}

impl Tables {
    /// Opens the database in a folder, or makes it.
    pub(super) fn open(folder: &Path, cache_bytes: u64) -> Result<Tables> {
        let builder = Database::builder(folder)
            .cache_size(cache_bytes)
            .max_journaling_size(JOURNAL_BYTES)
            // The engine checks a compressed value by compressing it anew, which only the same
            // version of the compression would do to the same bytes.
            .journal_compression(CompressionType::None)
            // Commits choose for themselves when the journal is handed over and synced.
            .manual_journal_persist(true);
        // Some damage lets the engine panic instead of refusing; either way it is not opened.
        let opened = catch_unwind(AssertUnwindSafe(|| builder.open()));
        let database = opened.map_err(|_| damaged("journal or table"))?.map_err(opening)?;
        let rows = table(&database, ROWS)?;
        Ok(Tables { database, rows })
    }

    /// A table, made if there is none.
    pub(super) fn table(&self, name: &str) -> Result<Keyspace> {
        table(&self.database, name)
    }

    /// Drops a table.
    ///
    /// The engine gives a new table the number after the highest there is, and forgets over a
    /// restart that a higher one was given and dropped. The table that gets that number again is
    /// hidden by what is left of the dropped one, and removed with all its rows when the engine is
    /// opened next. So the highest is never dropped: an empty one is put above it first.
    pub(super) fn remove(&self, table: &Keyspace) -> Result<()> {
        let mut highest = table.id();
        let mut above = Vec::new();
        for name in self.database.list_keyspace_names() {
            let other = self.table(&name)?;
            highest = highest.max(other.id());
            above.extend(name.starts_with(ABOVE).then_some(other));
        }
        if table.id() == highest {
            highest = self.table(&format!("{ABOVE}{highest}"))?.id();
        }
        let needless = above.iter().filter(|other| other.id() < highest);
        for dropped in needless.chain([table]) {
            self.database.delete_keyspace(dropped.clone()).map_err(opening)?;
        }
        Ok(())
    }

    /// What one of the store's own rows holds, by the newest state: only for whoever commits.
    pub(super) fn own(&self, key: &[u8]) -> Result<Option<fjall::Slice>> {
        self.rows.get(key).map_err(reading)
    }
}

fn table(database: &Database, name: &str) -> Result<Keyspace> {
    let options = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(MEMTABLE_BYTES)
            .manual_journal_persist(true)
            // Index and filter in memory as one piece each: a point read then touches one block.
            .index_block_pinning_policy(PinningPolicy::all(true))
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(false))
            .filter_block_partitioning_policy(PartitioningPolicy::all(false))
    };
    database.keyspace(name, options).map_err(opening)
}

/// What readers see: everything up to the last commit that is as durable as was declared.
pub(super) struct Published(RwLock<Arc<Snapshot>>);

impl Published {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Published(RwLock::new(Arc::new(snapshot)))
    }

    /// What is to be seen now.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets readers see more. Only whoever commits may, while no commit is under way.
    pub(super) fn publish(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        let mut published = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *published, snapshot);
        // Letting the old one go may clean up, which readers need not wait for.
        drop(published);
        drop(before);
    }
}

/// A row of a table, by a snapshot.
pub(super) fn get(
    snapshot: &Snapshot,
    table: &Keyspace,
    key: &[u8],
) -> Result<Option<fjall::Slice>> {
    snapshot.get(table, key).map_err(reading)
}

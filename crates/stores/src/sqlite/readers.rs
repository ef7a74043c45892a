//! Connections for reading: a few that are kept, each used by one caller at a time.
//!
//! ```text
//! thread ─▶ its own slot, or the next that is free ─▶ connection with the tables it reads
//! ```
//!
//! Threads begin at slots of their own, so that they share nothing that one of them writes: a
//! counter that two processors change costs more than a row that is in memory. Nothing here waits
//! for another reader.

use super::error::closed;
use super::open::connect;
use super::tables::Tables;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

/// Connections that are kept when nobody reads.
const SLOTS: usize = 8;

thread_local! {
    /// Where this thread begins to look.
    static HOME: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// Everybody who reads.
pub(super) struct Readers {
    path: PathBuf,
    durability: Durability,
    slots: [Slot; SLOTS],
    /// The tables of the keyspace, once it is known.
    tables: RwLock<Option<Arc<Tables>>>,
    /// How often they changed.
    changes: AtomicUsize,
    is_closed: AtomicBool,
}

/// A place for a reader, with the room that processors keep apart.
#[derive(Default)]
#[repr(align(128))]
struct Slot(Mutex<Option<Reader>>);

/// A connection, and the tables as they were after so many changes.
struct Reader {
    connection: Connection,
    tables: Arc<Tables>,
    changes: usize,
}

impl Readers {
    pub(super) fn new(path: PathBuf, durability: Durability) -> Readers {
        Readers {
            path,
            durability,
            slots: Default::default(),
            tables: RwLock::new(None),
            changes: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The tables of the keyspace.
    pub(super) fn tables(&self) -> Result<Arc<Tables>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.clone().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the store was not made ready for a keyspace")
        })
    }

    /// What reads that begin from now on read.
    pub(super) fn set_tables(&self, tables: Arc<Tables>) {
        *self.tables.write().unwrap_or_else(PoisonError::into_inner) = Some(tables);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Reads with a connection that nobody else uses meanwhile.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection, &Tables) -> Result<T>,
    ) -> Result<T> {
        let home = HOME.with(|home| *home) % SLOTS;
        let (before, from) = self.slots.split_at_checked(home).unwrap_or((&[], &self.slots));
        for slot in from.iter().chain(before) {
            match slot.0.try_lock() {
                Ok(mut reader) => return self.read_by(&mut reader, work),
                // Nobody knows what a panic has left of it.
                Err(TryLockError::Poisoned(broken)) => {
                    let mut reader = broken.into_inner();
                    *reader = None;
                    slot.0.clear_poison();
                    return self.read_by(&mut reader, work);
                }
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.read_by(&mut None, work)
    }

    fn read_by<T>(
        &self,
        slot: &mut Option<Reader>,
        work: impl FnOnce(&Connection, &Tables) -> Result<T>,
    ) -> Result<T> {
        // Asked while the slot is held, so that closing meets whatever is put into it.
        if self.is_closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let changes = self.changes.load(Ordering::Acquire);
        let known = slot.take().filter(|reader| reader.changes == changes);
        let reader = match known {
            Some(reader) => slot.insert(reader),
            None => slot.insert(self.reader(changes)?),
        };
        let answer = work(&reader.connection, &reader.tables);
        // One that is still inside a transaction would answer from the past.
        if !reader.connection.is_autocommit() {
            *slot = None;
        }
        answer
    }

    fn reader(&self, changes: usize) -> Result<Reader> {
        let tables = self.tables()?;
        let connection = connect(&self.path, self.durability, OpenFlags::empty())?;
        Ok(Reader { connection, tables, changes })
    }

    /// Lets go of every connection; nobody reads any more.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        for slot in &self.slots {
            *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

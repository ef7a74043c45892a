//! Connections for reading: a few that are kept, each used by one caller at a time.
//!
//! ```text
//! thread ─▶ its slot, or the next that is free ─▶ connection with the tables it reads
//! ```
//!
//! A connection keeps pages of its own in memory, so whoever reads alone should meet the same one,
//! whichever thread it is on: all threads begin at the first slot. Threads that read at once soon
//! meet there, and the one that came second keeps to the slot it went on to: a lock that two
//! processors change costs more than a row that is in memory. Now and then it looks whether the
//! first has become free. Nothing here waits for another reader.

use super::error::closed;
use super::open::connect;
use super::tables::Tables;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

/// Connections that are kept when nobody reads.
const SLOTS: usize = 8;
/// Reads after which a thread looks again whether the first connection is free.
const STAYS: usize = 1_024;

thread_local! {
    /// Where this thread begins to look, and for how many reads more.
    static HOME: Cell<(usize, usize)> = const { Cell::new((0, STAYS)) };
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
        let (home, stays) = HOME.get();
        let (home, stays) = if stays == 0 { (0, STAYS) } else { (home, stays - 1) };
        HOME.set((home, stays));
        for (number, slot) in self.slots.iter().enumerate().cycle().skip(home).take(SLOTS) {
            match slot.0.try_lock() {
                Ok(mut reader) => {
                    if number != home {
                        HOME.set((number, STAYS));
                    }
                    return self.read_by(&mut reader, work);
                }
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

//! Which locks a batch takes: one for every key that it checks or writes, in one order.
//!
//! ```text
//! store, shared ─▶ lock, lock, lock …   sorted, so that no two batches wait for each other
//! store, alone     where there would be too many
//! ```
//!
//! A lock is an advisory lock of the transaction: a number of 64 bits, made of the schema's name
//! and the key. It is there for absent keys too, which no lock of a row is. Two keys with one
//! number wait for each other and nothing else. A written key is locked alone, one that is only
//! checked is shared.
//!
//! **An entry has the lock of its record.** Whoever writes an entry of an index writes its record,
//! or knows it has not changed, and so has the record's lock; whoever asks for the entry takes the
//! same lock. So of an insert with two indexes one key is locked, not three. Claims have locks of
//! their own: two records want one.
//!
//! All locks are taken before anything is read, and held to the end: two-phase locking, absent keys
//! included, hence serializable. Never row locks alone: two batches that each see the other's row
//! absent would both commit.

use super::steps::{Step, takes};
use super::tables::Tables;
use super::value::Native;
use bytes::Bytes;
use data::schema::Space;
use data::store::{Batch, Key, Keyed, Row};
use data::{Result, entries};
use std::collections::BTreeMap;
use tokio_postgres::types::Type;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Keys beyond which a batch locks the whole store: the server's memory for locks is small, and
/// shared by all.
const LOCKS_MAX: usize = 256;

/// Takes locks in their order; none of the two arrays is sorted by the server.
pub(super) const TAKE: &str = "\
    SELECT CASE WHEN alone THEN pg_advisory_xact_lock(number) \
    ELSE pg_advisory_xact_lock_shared(number) END \
    FROM unnest($1::int8[], $2::bool[]) AS wanted (number, alone)";

/// The locks of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locks {
    /// Whether each is taken alone, by its number.
    keys: BTreeMap<i64, bool>,
    /// The number of the store's own.
    store: i64,
    /// Whether the store's own is taken alone, and no other.
    is_whole: bool,
    /// Whether a test takes them the wrong way round.
    is_reversed: bool,
}

impl Locks {
    /// The locks a batch takes on a store whose numbers have this seed.
    pub(super) fn of(tables: &Tables, seed: u64, batch: &Batch) -> Result<Locks> {
        let mut keys = BTreeMap::new();
        for check in &batch.checks {
            keys.entry(number(tables, seed, &check.key)?).or_insert(false);
        }
        for write in &batch.writes {
            keys.insert(number(tables, seed, write.key())?, true);
        }
        if !takes(Step::ClaimLock) {
            keys.remove(&0);
        }
        let is_whole = keys.len() > LOCKS_MAX;
        let [.., last] = *batch.id.as_bytes();
        let is_reversed = !takes(Step::Sorted) && last % 2 == 1;
        Ok(Locks { keys, store: seed.cast_signed(), is_whole, is_reversed })
    }

    /// The same batch when the server had no memory for so many locks.
    pub(super) fn whole(self) -> Locks {
        Locks { is_whole: true, ..self }
    }

    /// The values of [`TAKE`].
    pub(super) fn values(&self) -> Vec<Native<'static>> {
        let mut numbers = vec![Native::I64(self.store)];
        let mut alone = vec![Native::Bool(self.is_whole && takes(Step::StoreLock))];
        if !self.is_whole {
            numbers.extend(self.keys.keys().map(|number| Native::I64(*number)));
            alone.extend(self.keys.values().map(|alone| Native::Bool(*alone)));
        }
        if self.is_reversed {
            numbers.reverse();
            alone.reverse();
        }
        vec![Native::Array(Type::INT8, numbers), Native::Array(Type::BOOL, alone)]
    }
}

/// The number of a key's lock.
fn number(tables: &Tables, seed: u64, key: &Key) -> Result<i64> {
    let hash = |bytes: &[u8]| xxh3_64_with_seed(bytes, seed).cast_signed();
    let Space::Entries(collection, index) = tables.schema.space(key.space())? else {
        return Ok(hash(key.as_ref()));
    };
    match collection.indexes.get(*index) {
        Some(index) if !index.model.unique => {
            let row = Row { value: Bytes::new(), version: None, expires: None, trail: None };
            let entry = Keyed { key: key.clone(), row };
            Ok(hash(entries::owner(collection, index, &entry)?.as_ref()))
        }
        Some(_) if !takes(Step::ClaimLock) => Ok(0),
        _ => Ok(hash(key.as_ref())),
    }
}

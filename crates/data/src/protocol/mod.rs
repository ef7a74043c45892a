//! From a write set to batches, and from entries to rows, for both classes of store.
//!
//! ```text
//! whole-store atomic   rows + entries + claims + checks ─▶ one batch
//! group-atomic         claims, entries ─▶ the rows of one place ─▶ what they left     (tier 1)
//! ```
//!
//! The verbs above do not know which class they run on: they hand a [`WriteSet`] down and get a
//! [`Verdict`], and they ask here whether an entry still belongs to the record it names.

mod shared;
mod tier1;
mod whole;

#[cfg(test)]
mod tests;

pub use shared::Shared;
#[cfg(feature = "suite")]
pub(crate) use tier1::with_attempt;

use crate::change::{Entry, WriteSet};
use crate::error::Result;
use crate::schema::{CollectionSchema, IndexSchema, KeyShape};
use crate::session::Session;
use crate::store::{CommitId, Found, Key, Keyed, Row, Total, Version};
use keyspace::model::Atomicity;
use std::sync::Arc;

/// What became of a write set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it is there.
    Committed {
        /// The id it was committed under: the version of every versioned row.
        id: CommitId,
        /// What each counter came to, in the order of the set.
        totals: Vec<Total>,
    },
    /// Nothing of it is there.
    Obstacle(Obstacle),
    /// Not known; the same set may be sent again.
    Indeterminate {
        /// Its id.
        id: CommitId,
    },
}

/// What stood in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A checked row is not what it was.
    Check {
        /// Its position in `checks`.
        check: usize,
        /// What is there.
        found: Found,
    },
    /// A changed row is not what it was.
    Row {
        /// Its position in `changes`.
        change: usize,
        /// Its version now, if it is there.
        found: Option<Version>,
    },
    /// A unique value belongs to another row.
    Taken {
        /// The position in `changes` of the row that wanted it.
        change: usize,
        /// The position of the index in its collection.
        index: usize,
    },
    /// A claim is in other hands for the moment: worth another attempt.
    Contended,
    /// A window is full, or a counter would overflow.
    Counter {
        /// Its position in `adds`.
        add: usize,
        /// What is there.
        found: Found,
    },
}

/// Commits a write set. After an obstacle, the next set has an id of its own.
pub async fn commit(session: &mut Session<'_>, set: &WriteSet) -> Result<Verdict> {
    match session.schema().kind().atomicity() {
        Atomicity::WholeStore => whole::commit(session, set).await,
        // Boxed, so that a call on the other stores does not carry its room.
        Atomicity::Group => Box::pin(tier1::commit(session, set)).await,
    }
}

/// Puts the slice of a row into its directory, unless it is known to be there, before a commit with
/// this id writes the row.
pub(crate) async fn announce(
    session: &mut Session<'_>,
    id: CommitId,
    shape: &KeyShape,
    row: &Key,
) -> Result<()> {
    let slices = tier1::unknown(session, std::iter::once((shape, row)))?;
    match slices.is_empty() {
        true => Ok(()),
        // Boxed, because few calls are the first to write to a slice.
        false => Box::pin(tier1::announce(session, id, slices)).await,
    }
}

/// Whether an entry or a claim belongs to a row that was read, live or ended; always where entries
/// change with their row in one commit.
pub fn belongs(
    collection: &CollectionSchema,
    index: &IndexSchema,
    entry: &Keyed,
    row: &Row,
) -> Result<bool> {
    let _ = collection;
    tier1::belongs(index, entry, row)
}

/// The rows that entries or claims of a group-atomic store name, where they still hold them and
/// have not ended: of a collection whose rows are kept with versions.
pub async fn rows_through(
    session: &mut Session<'_>,
    of: (&CollectionSchema, &IndexSchema),
    found: &[Keyed],
) -> Result<Vec<Option<Keyed>>> {
    tier1::rows(session, of, found).await
}

/// The attempt that wrote an entry; nothing for entries that name none.
pub fn attempt_of(index: &IndexSchema, key: &Key) -> Result<Option<CommitId>> {
    tier1::attempt_of(index, key)
}

/// Removes those of these entries and claims that belong to no row and never will, and says how
/// many went. They are what [`Shared::take_orphans`] answers.
pub async fn clean(session: &mut Session<'_>, keys: &[Key]) -> Result<usize> {
    match session.schema().kind().atomicity() {
        Atomicity::WholeStore => Ok(0),
        Atomicity::Group => tier1::clean(session, keys).await,
    }
}

/// The key under which an entry of a stored row lies; nothing if the row does not know it.
pub fn stored_entry_key(collection: &CollectionSchema, entry: &Entry, row: &Row) -> Option<Key> {
    tier1::stored_entry_key(collection, entry, row)
}

/// Puts an entry or claim of a group-atomic store right; false if it moved meanwhile.
pub async fn repair(
    session: &mut Session<'_>,
    collection: &Arc<CollectionSchema>,
    index: Option<usize>,
    entry: &Key,
    owner: &Key,
) -> Result<bool> {
    // A row that cannot be read cannot be mended from itself.
    if index.is_none() {
        return Ok(false);
    }
    tier1::repair(session, collection, entry, owner).await
}

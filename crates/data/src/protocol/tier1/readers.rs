//! Entries and claims as readers see them: true only if their row holds them.

use super::claim::holds;
use super::ids::{is_about, split_attempt, with_attempt};
use crate::change::Entry;
use crate::error::Result;
use crate::schema::{CollectionSchema, IndexSchema};
use crate::store::{Key, Keyed, Row};

/// Whether an entry belongs to a row that was read; whether that has ended is not asked here.
pub fn belongs(index: &IndexSchema, keyed: &Keyed, row: &Row) -> Result<bool> {
    let attempt = split_attempt(index, &keyed.key)?;
    let Some(trail) = &row.trail else {
        // Rows that keep no trail change with their entries.
        return Ok(attempt.is_none());
    };
    let Some((entry, attempt)) = attempt else { return Ok(holds(row, &keyed.key)) };
    let space = index.key.space;
    let mut held = trail.held.iter();
    let held = held.any(|held| held.attempt == attempt && is_about(held, space, entry));
    Ok(held && !trail.dead)
}

/// The key under which an entry of a stored row lies; nothing if the row does not hold it.
pub fn stored_entry_key(collection: &CollectionSchema, entry: &Entry, row: &Row) -> Option<Key> {
    let index = collection.indexes.get(entry.index)?;
    let Some(trail) = &row.trail else {
        return (!index.key.attempt).then(|| entry.key.clone());
    };
    let mut held = trail.held.iter();
    let held = held.find(|held| is_about(held, index.key.space, entry.key.as_ref()))?;
    match index.key.attempt {
        true => with_attempt(&entry.key, &held.attempt).ok(),
        false => Some(entry.key.clone()),
    }
}

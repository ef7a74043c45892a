//! Entries and claims as readers see them: true only if their row holds them.
//!
//! ```text
//! entries, claims ─▶ the rows they name, read later ─┬─ hold them   answered, if live
//!                                                    └─ do not      left to the cleaner
//! ```

use super::Rules;
use super::claim::holds;
use super::ids::{is_about, split_attempt, with_attempt};
use crate::change::Entry;
use crate::entries;
use crate::error::Result;
use crate::schema::{CollectionSchema, IndexSchema};
use crate::session::Session;
use crate::store::{Key, Keyed, Row};

/// The rows that entries or claims name, where they hold them and have not ended.
pub async fn rows(
    session: &mut Session<'_>,
    of: (&CollectionSchema, &IndexSchema),
    found: &[Keyed],
) -> Result<Vec<Option<Keyed>>> {
    rows_by(session, of, found, Rules::SOUND).await
}

pub(super) async fn rows_by(
    session: &mut Session<'_>,
    (collection, index): (&CollectionSchema, &IndexSchema),
    found: &[Keyed],
    rules: Rules,
) -> Result<Vec<Option<Keyed>>> {
    let owner = |entry: &Keyed| entries::owner(collection, index, entry);
    let keys = found.iter().map(owner).collect::<Result<Vec<Key>>>()?;
    let rows = session.get(&keys).await?;
    let mut answered = Vec::with_capacity(rows.len());
    for (entry, (key, row)) in found.iter().zip(keys.into_iter().zip(rows)) {
        let held = match &row {
            Some(row) => !rules.readers_verify || belongs(index, entry, row)?,
            None => false,
        };
        if let (false, Some(shared)) = (held, session.shared()) {
            shared.queue(entry.key.clone());
        }
        let live = row.filter(|row| held && row.is_live(session.now));
        answered.push(live.map(|row| Keyed { key, row }));
    }
    Ok(answered)
}

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

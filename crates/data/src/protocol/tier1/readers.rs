//! Entries and claims as readers see them: true only if their row holds them.

use super::claim::holds;
use super::ids::{is_about, split_attempt, with_attempt};
use crate::change::Entry;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{EntryPage, EntryRead};
use crate::schema::{CollectionSchema, IndexSchema};
use crate::session::Session;
use crate::store::{Key, Keyed, Row, Scan};
use keyspace::model::Atomicity;

/// Whether entries of an index must be held against their rows.
fn is_verified(session: &Session<'_>, collection: &CollectionSchema) -> bool {
    let grouped = session.schema().kind().atomicity() == Atomicity::Group;
    grouped && collection.mode.has_version()
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

/// A stretch of an index: entries that are true, with their rows. Others go to the cleaner.
pub async fn read_entries(
    session: &mut Session<'_>,
    collection: &CollectionSchema,
    index: usize,
    scan: &Scan,
) -> Result<EntryPage> {
    let Some(index) = collection.indexes.get(index) else {
        return Err(Error::new(ErrorKind::Internal, "a collection has no such index"));
    };
    let page = session.scan(scan).await?;
    let last = page.rows.last().map(|keyed| keyed.key.clone());
    let mut found = EntryPage { entries: Vec::new(), last, end: page.end };
    let mut owners = Vec::with_capacity(page.rows.len());
    for keyed in &page.rows {
        owners.push(entries::owner(collection, index, keyed)?);
    }
    let rows = match is_verified(session, collection) {
        true => session.get(&owners).await?,
        false => vec![None; owners.len()],
    };
    for ((entry, owner), row) in page.rows.into_iter().zip(owners).zip(rows) {
        if let Some(read) = judge(session, (collection, index), entry, owner, row)? {
            found.entries.push(read);
        }
    }
    Ok(found)
}

/// The claim of a unique value, if it is true, with its row.
pub async fn read_claim(
    session: &mut Session<'_>,
    collection: &CollectionSchema,
    index: usize,
    key: &Key,
) -> Result<Option<EntryRead>> {
    let Some(index) = collection.indexes.get(index) else {
        return Err(Error::new(ErrorKind::Internal, "a collection has no such index"));
    };
    let Some(claim) = session.get(std::slice::from_ref(key)).await?.pop().flatten() else {
        return Ok(None);
    };
    let entry = Keyed { key: key.clone(), row: claim };
    let owner = entries::owner(collection, index, &entry)?;
    let row = match is_verified(session, collection) {
        true => session.get(std::slice::from_ref(&owner)).await?.pop().flatten(),
        false => None,
    };
    judge(session, (collection, index), entry, owner, row)
}

/// An entry, if it is true.
fn judge(
    session: &Session<'_>,
    (collection, index): (&CollectionSchema, &IndexSchema),
    entry: Keyed,
    owner: Key,
    row: Option<Row>,
) -> Result<Option<EntryRead>> {
    if entry.row.is_expired(session.now) {
        return Ok(None);
    }
    if !is_verified(session, collection) {
        return Ok(Some(EntryRead { entry, owner, row: None }));
    }
    let held = match &row {
        Some(row) => belongs(index, &entry, row)?,
        None => false,
    };
    if !held {
        if let Some(shared) = session.shared() {
            shared.queue(entry.key);
        }
        return Ok(None);
    }
    let live = row.filter(|row| row.is_live(session.now));
    Ok(live.map(|row| EntryRead { entry, owner, row: Some(row) }))
}

//! The directory of slices: a slice is in it before anything is in the slice.

use super::ids::derived;
use super::send::{by_place, send_all};
use crate::change::WriteSet;
use crate::error::Result;
use crate::schema::KeyShape;
use crate::session::Session;
use crate::store::{CommitId, Key, Write};
use bytes::Bytes;

/// Announces the slices that rows and entries of a set go to, those that are not known yet.
pub(super) async fn announce_set(session: &mut Session<'_>, set: &WriteSet) -> Result<()> {
    let changes = set.changes.iter().filter(|change| change.after.is_some());
    let keys = changes.flat_map(|change| {
        let entries = change.gained.iter().filter_map(|entry| {
            change.collection.indexes.get(entry.index).map(|index| (&index.key, &entry.key))
        });
        std::iter::once((&change.collection.key, &change.key)).chain(entries)
    });
    let slices = unknown(session, keys)?;
    announce(session, set.id, slices).await
}

/// The slices that keys go to, those that are not known to be in their directory.
pub(in crate::protocol) fn unknown<'k>(
    session: &Session<'_>,
    keys: impl Iterator<Item = (&'k KeyShape, &'k Key)>,
) -> Result<Vec<Key>> {
    let mut slices: Vec<Key> = Vec::new();
    for (shape, key) in keys {
        let Some(slice) = shape.slice_key(key.as_ref())? else { continue };
        let known = session.shared().is_some_and(|shared| shared.knows(&slice));
        if !known && !slices.contains(&slice) {
            slices.push(slice);
        }
    }
    Ok(slices)
}

/// Announces slices, for a commit with this id.
pub(in crate::protocol) async fn announce(
    session: &mut Session<'_>,
    id: CommitId,
    slices: Vec<Key>,
) -> Result<()> {
    if slices.is_empty() {
        return Ok(());
    }
    let put = |key: &Key| Write::Put {
        key: key.clone(),
        value: Bytes::new(),
        expires: None,
        versioned: false,
        trail: None,
    };
    let id = |key: &Key| -> CommitId { derived(id, "slice", &[key.as_ref()]) };
    let batches = by_place(session, slices.iter().map(put).collect(), id)?;
    send_all(session, &batches).await?;
    if let Some(shared) = session.shared() {
        slices.into_iter().for_each(|slice| shared.learn(slice));
    }
    Ok(())
}

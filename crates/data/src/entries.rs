//! The entries and claims of a row: what an index holds of it, and the way back.
//!
//! ```text
//! row ─when─▶ sources ─┬▶ entry   key ─▶ kept fields
//!                      └▶ claim   key ─▶ length of the owner's key, 2 bytes │ it │ kept fields
//! ```
//!
//! Entries are made from the row alone, so that whoever has a row knows its entries and never looks
//! for them. A source without a value means no entry, a list (of `each`) one for each element.

#[cfg(test)]
mod tests;
mod write;

pub(crate) use write::{Written, write};

use crate::change::Entry;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::RecordScope;
use crate::schema::{CollectionSchema, IndexSchema};
use crate::store::{Key, Keyed, Row};
use crate::value::Value;
use bytes::{BufMut, Bytes, BytesMut};
use keyspace::key::{self, KeyReader};
use std::borrow::{Borrow, Cow};

/// Bytes of the number that a key begins with.
const SPACE_BYTES: u16 = 2;
/// Bytes that say how long the owner's key in a claim is.
const OWNER_LENGTH_BYTES: usize = 2;

/// Every entry and claim of a row, index by index.
pub fn entries(
    collection: &CollectionSchema,
    segments: &[Value],
    slots: &[Value],
) -> Result<Vec<Entry>> {
    let mut buffer = Vec::new();
    let mut found = Vec::with_capacity(collection.indexes.len());
    write(&RecordScope { collection, segments, slots }, &mut buffer, &mut found)?;
    let buffer = Bytes::from(buffer);
    let entry = |written: Written| Entry {
        index: written.index,
        key: Key::new(buffer.slice(written.key)),
        value: buffer.slice(written.value),
    };
    Ok(found.into_iter().map(entry).collect())
}

/// What a row gains and loses between two states. Gained is also an entry whose content changed
/// and, if the row now ends at another instant, every entry it has.
pub fn diff(
    mut before: Vec<Entry>,
    after: Vec<Entry>,
    expiry_changed: bool,
) -> (Vec<Entry>, Vec<Entry>) {
    if before.is_empty() {
        return (after, before);
    }
    before.sort_unstable_by(|left, right| left.key.cmp(&right.key));
    let mut kept = vec![false; before.len()];
    let mut gained = Vec::new();
    for entry in after {
        let place = before.binary_search_by(|known| known.key.cmp(&entry.key)).ok();
        if let Some(kept) = place.and_then(|place| kept.get_mut(place)) {
            *kept = true;
        }
        let same = place.and_then(|place| before.get(place)).is_some_and(|own| *own == entry);
        if !same || expiry_changed {
            gained.push(entry);
        }
    }
    let lost = before.into_iter().zip(kept).filter(|(_, kept)| !kept).map(|(entry, _)| entry);
    (gained, lost.collect())
}

/// The key of the record an entry or claim belongs to.
pub fn owner(collection: &CollectionSchema, index: &IndexSchema, keyed: &Keyed) -> Result<Key> {
    if index.model.unique {
        return split_claim(&keyed.row.value).map(|(owner, _)| owner);
    }
    let mut owner = Vec::with_capacity(keyed.key.bytes().len());
    add_owner(collection, index, (keyed.key.as_ref(), &keyed.row.value), &mut owner)?;
    Ok(Key::from(owner))
}

/// Adds the key of the record that an entry or claim belongs to, which is given by its key and its
/// content.
pub fn add_owner(
    collection: &CollectionSchema,
    index: &IndexSchema,
    (bytes, content): (&[u8], &[u8]),
    owner: &mut Vec<u8>,
) -> Result<()> {
    if index.model.unique {
        owner.extend_from_slice(split_owner(content).ok_or_else(without_owner)?.0);
        return Ok(());
    }
    // The bytes of a segment are the same in every key, and complemented where it sorts the other
    // way: nothing is decoded and encoded again.
    let mut reader = KeyReader::new(bytes).map_err(corrupt)?;
    let mut ends = [0_u16; key::KEY_SEGMENTS_MAX];
    for (segment, end) in index.key.segments.iter().zip(&mut ends) {
        reader.skip(*segment).map_err(corrupt)?;
        // No key is as long as that.
        *end = u16::try_from(reader.offset()).unwrap_or(u16::MAX);
    }
    owner.extend_from_slice(&collection.key.space.to_be_bytes());
    for (position, segment) in index.primary.iter().zip(&collection.key.segments) {
        let start = match position.checked_sub(1) {
            Some(before) => ends.get(before).copied(),
            None => Some(SPACE_BYTES),
        };
        let place = start.zip(ends.get(*position).copied());
        let place = place.and_then(|(start, end)| bytes.get(start.into()..end.into()));
        let held = index.key.segments.get(*position);
        let (Some(bytes), Some(held)) = (place, held) else { return Err(without_owner()) };
        match held.direction == segment.direction {
            true => owner.extend_from_slice(bytes),
            false => owner.extend(bytes.iter().map(|byte| !byte)),
        }
    }
    Ok(())
}

/// The owner's key in a claim's content, and what follows it.
fn split_owner(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = content.split_first_chunk::<OWNER_LENGTH_BYTES>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// A claim's content: the owner's key, and what the index keeps.
pub fn split_claim(content: &Bytes) -> Result<(Key, Bytes)> {
    let (owner, kept) = split_owner(content).ok_or_else(without_owner)?;
    Ok((Key::new(content.slice_ref(owner)), content.slice_ref(kept)))
}

/// The content of a claim: whose it is, and what the index keeps.
pub fn claim(owner: &Key, kept: &[u8]) -> Result<Bytes> {
    let length = u16::try_from(owner.bytes().len()).map_err(|_| long_owner())?;
    let mut claim = BytesMut::with_capacity(OWNER_LENGTH_BYTES + owner.bytes().len() + kept.len());
    claim.put_u16(length);
    claim.extend_from_slice(owner.as_ref());
    claim.extend_from_slice(kept);
    Ok(claim.freeze())
}

/// What an entry or claim keeps: a record of the fields in `keep`.
pub fn kept<'r>(index: &IndexSchema, row: &'r Row) -> Result<Cow<'r, Bytes>> {
    match index.model.unique {
        true => split_claim(&row.value).map(|(_, kept)| Cow::Owned(kept)),
        false => Ok(Cow::Borrowed(&row.value)),
    }
}

fn member<V: Borrow<Value>>(found: Option<&V>) -> Result<&Value> {
    found
        .map(Borrow::borrow)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a row has too few values"))
}

#[cold]
fn long_owner() -> Error {
    Error::new(ErrorKind::TooLarge, "a key is too long for a claim")
}

#[cold]
fn without_owner() -> Error {
    Error::new(ErrorKind::Corrupt, "an entry does not say whose it is")
}

fn corrupt(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

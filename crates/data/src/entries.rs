//! Placeholder: index entries arrive with their own change.

use crate::change::Entry;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{CollectionSchema, IndexSchema};
use crate::store::{Key, Keyed};
use crate::value::Value;
use bytes::Bytes;

fn later<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Internal, "entries cannot be made yet"))
}

/// Every entry and claim of a row.
pub fn entries(
    collection: &CollectionSchema,
    segments: &[Value],
    slots: &[Value],
) -> Result<Vec<Entry>> {
    let _ = (collection, segments, slots);
    later()
}

/// What is gained and what is lost between two states of a row.
pub fn diff(
    before: Vec<Entry>,
    after: Vec<Entry>,
    expiry_changed: bool,
) -> (Vec<Entry>, Vec<Entry>) {
    let _ = (before, expiry_changed);
    (after, Vec::new())
}

/// The key of the record an entry or claim belongs to.
pub fn owner(collection: &CollectionSchema, index: &IndexSchema, keyed: &Keyed) -> Result<Key> {
    let _ = (collection, index, keyed);
    later()
}

/// A claim's content: the owner's key, and what the index keeps.
pub fn split_claim(content: &Bytes) -> Result<(Key, Bytes)> {
    let _ = content;
    later()
}

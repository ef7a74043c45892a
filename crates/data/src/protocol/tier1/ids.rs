//! Ids that follow from others, and the keys of entries that end with one.
//!
//! Every batch of an attempt has an id of its own, since a store answers for a known id without
//! looking at the batch. The ids follow from the set's id and from what the batch is for, so that
//! a set that is sent again sends the same batches.

use crate::error::{Error, ErrorKind, Result};
use crate::schema::IndexSchema;
use crate::store::limits::KEY_BYTES_MAX;
use crate::store::{CommitId, Held, Key};
use keyspace::key::{Direction, KeyWriter};

/// Bytes of the segment that holds an attempt.
const ATTEMPT_BYTES: usize = 17;

/// The id that follows from another and what it is for; its time stays.
pub(super) fn derived(id: CommitId, purpose: &str, parts: &[&[u8]]) -> CommitId {
    let lane = |seed: u64| {
        let state = absorb(absorb(seed, id.as_bytes()), purpose.as_bytes());
        parts.iter().fold(state, |state, part| absorb(state, part))
    };
    let lanes =
        u128::from(lane(0x243f_6a88_85a3_08d3)) << 64 | u128::from(lane(0x1319_8a2e_0370_7344));
    let mut bytes = lanes.to_be_bytes();
    for (byte, time) in bytes.iter_mut().zip(id.as_bytes()).take(6) {
        *byte = *time;
    }
    CommitId::from_bytes(bytes)
}

/// The bytes of a version for [`derived`]: none if there is none.
pub(super) fn version_bytes(version: Option<&CommitId>) -> &[u8] {
    version.map_or(&[], |version| version.as_bytes())
}

/// What a row remembers of an entry's key. Stored: it must never change.
pub(super) fn entry_hash(key: &[u8]) -> [u8; 8] {
    absorb(0xa409_3822_299f_31d0, key).to_be_bytes()
}

/// Whether a row's note is about this entry; its key is given without an attempt.
pub(super) fn is_about(held: &Held, space: u16, entry: &[u8]) -> bool {
    held.space == space && held.entry == entry_hash(entry)
}

/// The key of an entry that this attempt writes.
pub(crate) fn with_attempt(key: &Key, attempt: &CommitId) -> Result<Key> {
    let mut segment = Vec::with_capacity(2 + ATTEMPT_BYTES);
    KeyWriter::new(&mut segment, 0).uuid(attempt.as_bytes(), Direction::Ascending)?;
    let mut bytes = Vec::with_capacity(key.bytes().len() + ATTEMPT_BYTES);
    bytes.extend_from_slice(key.as_ref());
    bytes.extend_from_slice(segment.get(2..).unwrap_or_default());
    if bytes.len() > KEY_BYTES_MAX {
        return Err(Error::new(ErrorKind::TooLarge, "a key is too long")
            .with("limit", KEY_BYTES_MAX)
            .with("given", bytes.len()));
    }
    Ok(Key::from(bytes))
}

/// The attempt that wrote an entry, and its key without it; nothing for keys that end otherwise.
pub(super) fn split_attempt<'k>(
    index: &IndexSchema,
    key: &'k Key,
) -> Result<Option<(&'k [u8], CommitId)>> {
    if !index.key.attempt {
        return Ok(None);
    }
    let corrupt = || Error::new(ErrorKind::Corrupt, "the key of an entry names no attempt");
    let bytes: &[u8] = key.as_ref();
    let (entry, segment) = bytes
        .len()
        .checked_sub(ATTEMPT_BYTES)
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or_else(corrupt)?;
    let id = segment.get(1..).and_then(|id| <[u8; 16]>::try_from(id).ok()).ok_or_else(corrupt)?;
    Ok(Some((entry, CommitId::from_bytes(id))))
}

/// The attempt that wrote an entry; nothing for entries that name none.
pub fn attempt_of(index: &IndexSchema, key: &Key) -> Result<Option<CommitId>> {
    Ok(split_attempt(index, key)?.map(|(_, attempt)| attempt))
}

fn absorb(state: u64, bytes: &[u8]) -> u64 {
    let mut state = mix(state ^ bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    state
}

/// The step of SplitMix64.
fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

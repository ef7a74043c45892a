//! What the store knows of a row without opening its files, and how that is kept.
//!
//! ```text
//! in memory   version, end, for each file: path, hash, stamp      its content if not yet written
//! kept        key │ flags 1 │ version 16 │ end 8 │ path, hash │ path, hash of its fields
//! ```
//!
//! A file whose hash is another was changed by somebody else.

use super::disk::Stamp;
use bytes::{Buf, BufMut, Bytes};
use data::clock::Milliseconds;
use data::store::{CommitId, Key, Total, Version};
use std::sync::Arc;

/// The first 16 bytes of the BLAKE3 hash of a file.
pub(super) type Hash = [u8; 16];

/// The hash of a content.
pub(super) fn hash_of(content: &[u8]) -> Hash {
    let [hash @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
        *blake3::hash(content).as_bytes();
    hash
}

/// A file of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowFile {
    pub(super) path: Arc<str>,
    pub(super) hash: Hash,
    /// What the disk said of it when it was known to have this hash; none while it is not written.
    pub(super) stamp: Option<Stamp>,
}

/// What is known of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) version: Option<Version>,
    pub(super) expires: Option<Milliseconds>,
    pub(super) main: RowFile,
    pub(super) fields: Option<RowFile>,
    pub(super) content: Content,
}

/// Where the content of a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Here, encoded: it is committed, and its files may not have it yet.
    Held(Bytes),
    /// In its files.
    Filed,
    /// In files that cannot be taken as they are, for this reason.
    Damaged(Arc<str>),
}

impl Known {
    /// Its files.
    pub(super) fn files(&self) -> impl Iterator<Item = &RowFile> {
        std::iter::once(&self.main).chain(&self.fields)
    }

    /// The same, without its content.
    pub(super) fn filed(&self) -> Known {
        Known {
            version: self.version,
            expires: self.expires,
            main: self.main.clone(),
            fields: self.fields.clone(),
            content: Content::Filed,
        }
    }

    /// Whether the same commit is meant, wherever the content is.
    pub(super) fn is_same(&self, other: &Known) -> bool {
        (self.version, self.expires, self.hashes())
            == (other.version, other.expires, other.hashes())
    }

    /// The hashes of its files.
    pub(super) fn hashes(&self) -> (Hash, Option<Hash>) {
        (self.main.hash, self.fields.as_ref().map(|file| file.hash))
    }
}

const HAS_VERSION: u8 = 1;
const HAS_EXPIRES: u8 = 2;
const HAS_FIELDS: u8 = 4;
const IS_GONE: u8 = 8;

/// Adds a row, or that there is none, to what is kept.
pub(super) fn put_row(kept: &mut Vec<u8>, key: &Key, known: Option<&Known>) {
    put_bytes(kept, key.as_ref());
    let Some(known) = known else {
        kept.put_u8(IS_GONE);
        return;
    };
    kept.put_u8(
        if known.version.is_some() { HAS_VERSION } else { 0 }
            | if known.expires.is_some() { HAS_EXPIRES } else { 0 }
            | if known.fields.is_some() { HAS_FIELDS } else { 0 },
    );
    if let Some(version) = &known.version {
        kept.extend_from_slice(version.as_bytes());
    }
    if let Some(expires) = known.expires {
        kept.put_i64(expires);
    }
    for file in known.files() {
        put_bytes(kept, file.path.as_bytes());
        kept.extend_from_slice(&file.hash);
    }
}

/// A row, or that there is none, as it was kept; nothing if the bytes are none.
pub(super) fn get_row(kept: &mut Bytes) -> Option<(Key, Option<Arc<Known>>)> {
    let key = Key::new(get_bytes(kept)?);
    let flags = kept.try_get_u8().ok()?;
    if flags == IS_GONE {
        return Some((key, None));
    }
    let version = match flags & HAS_VERSION {
        0 => None,
        _ => Some(CommitId::from_stored(get_array(kept)?)),
    };
    let expires = match flags & HAS_EXPIRES {
        0 => None,
        _ => Some(kept.try_get_i64().ok()?),
    };
    let main = get_file(kept)?;
    let fields = match flags & HAS_FIELDS {
        0 => None,
        _ => Some(get_file(kept)?),
    };
    let known = Known { version, expires, main, fields, content: Content::Filed };
    Some((key, Some(Arc::new(known))))
}

fn get_file(kept: &mut Bytes) -> Option<RowFile> {
    let path = get_text(kept)?;
    Some(RowFile { path, hash: get_array(kept)?, stamp: None })
}

/// A batch that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) id: CommitId,
    pub(super) now: Milliseconds,
    pub(super) totals: Box<[Total]>,
}

/// Adds a batch to what is kept.
pub(super) fn put_committed(kept: &mut Vec<u8>, committed: &Committed) {
    kept.extend_from_slice(committed.id.as_bytes());
    kept.put_i64(committed.now);
    put_count(kept, committed.totals.len());
    for total in &committed.totals {
        kept.put_i64(total.value);
        kept.put_u8(u8::from(total.expires.is_some()));
        kept.put_i64(total.expires.unwrap_or_default());
    }
}

/// A batch as it was kept.
pub(super) fn get_committed(kept: &mut Bytes) -> Option<Committed> {
    let id = CommitId::from_stored(get_array(kept)?);
    let now = kept.try_get_i64().ok()?;
    let totals = get_many(kept, |kept| {
        let value = kept.try_get_i64().ok()?;
        let has_end = kept.try_get_u8().ok()? != 0;
        let expires = kept.try_get_i64().ok()?;
        Some(Total { value, expires: has_end.then_some(expires) })
    })?;
    Some(Committed { id, now, totals: totals.into() })
}

/// Adds how many follow.
pub(super) fn put_count(kept: &mut Vec<u8>, count: usize) {
    kept.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
}

/// As many as it says.
pub(super) fn get_many<T>(
    kept: &mut Bytes,
    mut read: impl FnMut(&mut Bytes) -> Option<T>,
) -> Option<Vec<T>> {
    let count = kept.try_get_u32().ok()?;
    let mut many = Vec::new();
    for _ in 0..count {
        many.push(read(kept)?);
    }
    Some(many)
}

/// Adds bytes with their length.
pub(super) fn put_bytes(kept: &mut Vec<u8>, bytes: &[u8]) {
    put_count(kept, bytes.len());
    kept.extend_from_slice(bytes);
}

/// Bytes with their length.
pub(super) fn get_bytes(kept: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(kept.try_get_u32().ok()?).ok()?;
    (length <= kept.len()).then(|| kept.split_to(length))
}

/// Text with its length.
pub(super) fn get_text(kept: &mut Bytes) -> Option<Arc<str>> {
    let bytes = get_bytes(kept)?;
    std::str::from_utf8(&bytes).ok().map(Arc::from)
}

/// So many bytes.
pub(super) fn get_array<const N: usize>(kept: &mut Bytes) -> Option<[u8; N]> {
    let mut array = [0; N];
    kept.try_copy_to_slice(&mut array).ok()?;
    Some(array)
}

//! What reads return: rows, and pages of them that say why they ended.

use super::{CommitId, Key, Range, Version};
use crate::clock::Milliseconds;
use bytes::Bytes;

/// A row as it is stored: a record, a value, an entry of an index, or a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its encoded content; never a copy where the store can help it.
    pub value: Bytes,
    /// The commit that last wrote it, for rows that have versions.
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
    /// What the protocol over group-atomic stores keeps with a row; whole-store atomic stores never
    /// see one.
    pub trail: Option<Box<Trail>>,
}

impl Row {
    /// Whether the row has ended.
    pub fn is_expired(&self, now: Milliseconds) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether there is something to read: not expired, and no tombstone.
    pub fn is_live(&self, now: Milliseconds) -> bool {
        !self.is_expired(now) && !self.trail.as_ref().is_some_and(|trail| trail.dead)
    }

    /// Bytes it weighs, its key aside.
    pub fn weight(&self) -> usize {
        self.value.len()
    }
}

/// How a row on a group-atomic store came to be, and what elsewhere belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The last commits before this one, newest first, at most [`Trail::PREVIOUS_MAX`]. Of an entry
    /// or a claim: the version its attempt expects the record to have, or nothing if none.
    pub previous: Vec<CommitId>,
    /// A deleted row whose version is still needed.
    pub dead: bool,
    /// The entries and claims that belong to the row.
    pub held: Vec<Held>,
}

impl Trail {
    /// Commits a row remembers.
    pub const PREVIOUS_MAX: usize = 8;
}

/// An entry or a claim that belongs to a row, by the attempt that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The number of the index.
    pub space: u16,
    /// The first bytes of a hash of the entry's key, the attempt left out.
    pub entry: [u8; 8],
    /// The commit that wrote it.
    pub attempt: CommitId,
}

/// What to read of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The keys that may be returned.
    pub range: Range,
    /// From the last key to the first.
    pub reverse: bool,
    /// Rows at most, and at least 1.
    pub rows: usize,
}

/// A row with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Its key.
    pub key: Key,
    /// The row.
    pub row: Row,
}

/// A row where its store has it, to be looked at and let go.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    /// Its key.
    pub key: &'r [u8],
    /// Its content.
    pub value: &'r [u8],
    /// What the content is a part of, where that can be held without a copy.
    pub held: Option<&'r Bytes>,
    /// The commit that last wrote it, for rows that have versions.
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

impl<'r> Seen<'r> {
    /// A row that is held already.
    #[inline]
    pub fn of(key: &'r Key, row: &'r Row) -> Self {
        let Row { value, version, expires, trail: _ } = row;
        let (version, expires) = (*version, *expires);
        Seen { key: key.as_ref(), value, held: Some(value), version, expires }
    }

    /// Whether it has not ended.
    #[inline]
    pub fn is_live(&self, now: Milliseconds) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }

    /// Bytes of its key and its content.
    #[inline]
    pub fn weight(&self) -> usize {
        self.key.len() + self.value.len()
    }

    /// A copy of it, to be kept.
    pub fn to_keyed(&self) -> Keyed {
        let (value, version, expires) =
            (Bytes::copy_from_slice(self.value), self.version, self.expires);
        let row = Row { value, version, expires, trail: None };
        Keyed { key: Key::new(Bytes::copy_from_slice(self.key)), row }
    }
}

/// A stretch of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The rows, in the order of the scan.
    pub rows: Vec<Keyed>,
    /// Why it ends here.
    pub end: End,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The range holds no more.
    Range,
    /// As many rows as were asked for; more may follow.
    Rows,
    /// [`limits::PAGE_BYTES_MAX`](super::limits::PAGE_BYTES_MAX) were read; more may follow. Such a
    /// page has at least one row.
    Bytes,
}

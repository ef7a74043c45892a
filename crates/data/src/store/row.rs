//! What reads return: rows, and pages of them that say why they ended.

use super::{CommitId, Key, Range, Version};
use crate::clock::Milliseconds;
use crate::error::Result;
use crate::record::{RecordShape, Scalar};
use bytes::Bytes;
use std::borrow::Cow;

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

/// Whether the versions of rows that are shown are wanted: a store may leave others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Versions {
    /// They are.
    Wanted,
    /// They are not.
    Unwanted,
}

/// A row where its store has it, to be looked at and let go.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    /// Its key.
    pub key: &'r [u8],
    /// Its content.
    pub content: Lying<'r>,
    /// The commit that last wrote it, for rows that have versions; perhaps nothing where they are
    /// [`Versions::Unwanted`].
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

/// How the content of a row lies there.
#[derive(Clone, Copy, Debug)]
pub enum Lying<'r> {
    /// As it is encoded, and what that is a part of, where it can be held without a copy.
    Encoded(&'r [u8], Option<&'r Bytes>),
    /// A record whose fields are in columns.
    InColumns(InColumns<'r>),
}

/// The fields of a record in the columns of its store.
#[derive(Clone, Copy, Debug)]
pub struct InColumns<'r> {
    shape: &'r RecordShape,
    fields: &'r [Scalar<'r>],
    /// Bytes of the record that they are.
    weight: usize,
}

impl<'r> InColumns<'r> {
    /// These fields, in the order of the shape's slots.
    #[inline]
    pub fn new(shape: &'r RecordShape, fields: &'r [Scalar<'r>]) -> Self {
        InColumns { shape, fields, weight: shape.weight_of(fields) }
    }

    /// The fields, in the order of slots.
    pub(crate) fn fields(&self) -> &'r [Scalar<'r>] {
        self.fields
    }
}

impl<'r> Seen<'r> {
    /// A row that is held already.
    #[inline]
    pub fn of(key: &'r Key, row: &'r Row) -> Self {
        let Row { value, version, expires, trail: _ } = row;
        let (version, expires) = (*version, *expires);
        Seen { key: key.as_ref(), content: Lying::Encoded(value, Some(value)), version, expires }
    }

    /// Whether it has not ended.
    #[inline]
    pub fn is_live(&self, now: Milliseconds) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }

    /// Bytes of its key and its content.
    #[inline]
    pub fn weight(&self) -> usize {
        let content = match self.content {
            Lying::Encoded(value, _) => value.len(),
            Lying::InColumns(InColumns { weight, .. }) => weight,
        };
        self.key.len() + content
    }

    /// Its content, encoded.
    pub fn encoded(&self) -> Result<Cow<'r, [u8]>> {
        match self.content {
            Lying::Encoded(value, _) => Ok(Cow::Borrowed(value)),
            Lying::InColumns(InColumns { shape, fields, .. }) => {
                Ok(Cow::Owned(shape.encode_scalars(fields)?))
            }
        }
    }

    /// A copy of it, to be kept.
    pub fn to_keyed(&self) -> Result<Keyed> {
        let value = Bytes::from(self.encoded()?.into_owned());
        let row = Row { value, version: self.version, expires: self.expires, trail: None };
        Ok(Keyed { key: Key::new(Bytes::copy_from_slice(self.key)), row })
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

/// A stretch of a walk that can be gone on with in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The rows, in the store's own order; there may be none though more follow.
    pub rows: Vec<Keyed>,
    /// Where the walk goes on: bytes that only the store reads. Nothing at the end.
    pub mark: Option<Vec<u8>>,
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

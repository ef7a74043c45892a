//! What typed calls are answered.

use crate::scalar::Timestamp;
use data::request::Cursor;
use data::store::Version;
use std::ops::Deref;

/// A page of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows; a page may be shorter than asked for while more follow.
    pub rows: Vec<T>,
    /// Where to go on; nothing at the end.
    pub next: Option<Cursor>,
}

/// A row that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed<T> {
    /// The row as it now is.
    pub row: T,
    /// Its version; plain rows have none.
    pub version: Option<Version>,
    /// Whether it was there before, and nothing was written.
    pub existed: bool,
}

/// A row that is no longer there, or never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted;

/// A row with its version, to be given back as `if_version`.
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned<T> {
    /// The row.
    pub row: T,
    /// Its version; plain rows have none.
    pub version: Option<Version>,
}

impl<T> Deref for Versioned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.row
    }
}

/// What a window says to an `add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Whether it counted.
    pub allowed: bool,
    /// What may still be added.
    pub remaining: i64,
    /// When the window ends.
    pub resets_at: Timestamp,
}

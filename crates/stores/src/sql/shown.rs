//! Rows on their way to whoever is shown them: what of a row is beside its columns, and how far a
//! stretch is.

use bytes::Bytes;
use data::clock::Milliseconds;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Row, Scan, Version, Versions};

/// Bytes of a row for which room is made before it is read.
pub const ROW_BYTES_USUAL: usize = 256;

/// What of a row is not its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The commit that last wrote it.
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

impl State {
    /// The row with this content.
    pub fn row(self, value: Bytes) -> Row {
        Row { value, version: self.version, expires: self.expires, trail: None }
    }
}

/// How far the rows of a stretch, or its entries, are shown, and how they may be.
#[derive(Debug)]
pub struct Shown {
    /// Whether they may be shown in their columns.
    pub in_columns: bool,
    /// Whether their versions are.
    pub versions: Versions,
    /// Rows or entries so far.
    pub rows: usize,
    /// Bytes of keys and contents so far.
    weight: usize,
    /// Why it ends, once it does.
    pub end: Option<End>,
}

impl Shown {
    /// Nothing yet, of rows that are looked at only.
    pub fn in_columns(versions: Versions) -> Self {
        Shown { in_columns: true, versions, rows: 0, weight: 0, end: None }
    }

    /// Nothing yet, of rows that are kept: encoded.
    pub fn encoded() -> Self {
        Shown { in_columns: false, ..Shown::in_columns(Versions::Wanted) }
    }

    /// Counts one more, with so many bytes, after which another may be wanted; says whether another
    /// may follow.
    pub fn goes_on(&mut self, is_wanted: bool, weight: usize, scan: &Scan) -> bool {
        self.rows += 1;
        self.weight += weight;
        self.end = match self.weight >= PAGE_BYTES_MAX {
            _ if !is_wanted || self.rows >= scan.rows => Some(End::Rows),
            true => Some(End::Bytes),
            false => None,
        };
        self.end.is_none()
    }
}

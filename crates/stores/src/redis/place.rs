//! A place: where the rows, entries or claims of one space lie, and how they are read there.
//!
//! ```text
//! own name │ list of the group │ versions, ends beside it │ fields │ trail
//! ```
//!
//! One place serves one space. It is made by `layout` and never changed, but for what is known of
//! the size of its rows.

use super::fields::Fields;
use super::layout::Layout;
use super::member::{List, Parts};
use super::name::Template;
use data::Result;
use data::clock::Milliseconds;
use data::schema::KeyShape;
use keyspace::layout::redis::RedisType;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of rows that are read at once, as far as it is known how large they are: a few pages'.
pub(super) const BYTES_AT_ONCE: usize = 16 << 20;
/// Rows that are read at once before any was weighed. Each has 2 MiB at most, so that one reply has
/// half a gigabyte at the very worst. Of more a script reads until there is enough: it takes the
/// server several times as long as plain questions, which is no way for what is known to be small.
const ROWS_UNKNOWN: usize = 256;
/// Rows that are read at once, however small they are.
const ROWS_MOST: usize = 4_096;

/// Where the rows, entries or claims of one space lie.
#[derive(Debug)]
pub(super) struct Place {
    /// The shape of their keys.
    pub(super) shape: KeyShape,
    /// What a row is.
    pub(super) what: What,
    /// The name of a row's own key, or of the container it is in.
    pub(super) own: Template,
    /// The type of what lies there.
    pub(super) own_type: RedisType,
    /// The list of a group; the container itself for bare keys and entries.
    pub(super) list: Option<List>,
    /// The Hash with the versions of a group, for rows that have no field for theirs.
    pub(super) versions: Option<Template>,
    /// The text of a row's whole key.
    pub(super) text: Template,
    /// The sorted set with the ends of a group's rows.
    pub(super) expiries: Option<Template>,
    /// Where the end of a row is read.
    pub(super) ends: Ends,
    /// Where its trail is.
    pub(super) trails: Trails,
    /// Whether some pattern is answered by entries alone, so that a scan must know when they end.
    pub(super) answers_alone: bool,
    /// Bytes of a row, as seen so far; 0 if none was.
    pub(super) weight: AtomicUsize,
}

/// What a row, entry or claim is.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A Hash of fields.
    Record {
        /// Its fields.
        fields: Fields,
        /// Whether a field keeps it where all others are null.
        has_mark: bool,
    },
    /// A String: a value, or nothing.
    Value,
    /// A String: a number.
    Counter,
    /// A field of a Hash of numbers.
    Counters,
    /// A member of the list.
    Member,
    /// A member of the list, and a Hash of kept fields unless all are null.
    Entry(Fields),
    /// A String with the text of the owner's key, or a Hash of its segments and of kept fields.
    Claim(Box<Owner>),
}

/// Whose a claim is, and how that is written.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    /// The shape of the owner's key.
    pub(super) shape: KeyShape,
    /// Its text.
    pub(super) text: Template,
    /// The names of its segments, as people see them.
    pub(super) names: Vec<String>,
    /// Kept fields; then the claim is a Hash.
    pub(super) kept: Option<Fields>,
    /// Whether the claim's content names the owner; otherwise its key does, at these positions.
    pub(super) unique: bool,
    /// Where the segments of an entry's key hold those of the owner's.
    pub(super) primary: Vec<usize>,
}

/// Where the end of a row is read.
#[derive(Clone, Debug)]
pub(super) enum Ends {
    /// Rows never end.
    Never,
    /// In its field `~x`; Redis drops the Hash so many milliseconds later.
    Field(Milliseconds),
    /// So many milliseconds before Redis drops the key.
    Native(Milliseconds),
    /// In the sorted set of the owner's group, by the owner's key: of entries that are members.
    Beside(Box<(Template, Template)>),
    /// With its trail, among words beside its group; Redis drops its key so much later.
    Words(Milliseconds),
}

/// Where the trail of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trails {
    /// It has none.
    None,
    /// In fields of its Hash.
    Fields,
    /// In words beside its group, where its version is.
    Words,
}

impl Place {
    /// A key of this place, taken apart.
    pub(super) fn parts<'k>(&self, key: &'k [u8]) -> Result<Parts<'k>> {
        Parts::of(key, &self.shape.segments, self.shape.group)
    }

    /// The name of a row's own key, or of the container it is in.
    pub(super) fn own_name(&self, layout: &Layout, row: &Parts<'_>) -> Result<Vec<u8>> {
        self.own.name(&layout.naming, &row.values, None)
    }

    /// The segments after the bar.
    pub(super) fn rest(&self) -> &[keyspace::key::Segment] {
        self.shape.segments.get(self.shape.group..).unwrap_or_default()
    }

    /// Rows that may be read at once, of so many that are lacking, so that they fit into a few
    /// pages' bytes. Where the list says all, nothing is read beside it.
    pub(super) fn rows_at_once(&self, lacks: usize) -> usize {
        let most = match self.weight.load(Ordering::Relaxed) {
            _ if self.is_all_in_list() => lacks,
            0 => ROWS_UNKNOWN,
            weight => (BYTES_AT_ONCE / weight).clamp(8, ROWS_MOST),
        };
        most.min(lacks)
    }

    /// Rows that may be listed at once. Where nothing is known of them all are: they are not read
    /// in one piece, but until there is enough.
    pub(super) fn rows_listed(&self, lacks: usize) -> usize {
        match self.weight.load(Ordering::Relaxed) {
            0 => lacks.min(ROWS_MOST),
            _ => self.rows_at_once(lacks),
        }
    }

    /// Whether so many rows might be more than is read at once.
    pub(super) fn may_be_too_much(&self, rows: usize) -> bool {
        self.rows_at_once(rows) < rows
    }

    /// Takes note of how large rows are.
    pub(super) fn weigh(&self, rows: usize, bytes: usize) {
        if let Some(average) = bytes.checked_div(rows) {
            let known = self.weight.load(Ordering::Relaxed);
            // Large rows are noticed at once, small ones slowly.
            let next = if average >= known { average } else { known - (known - average) / 4 };
            self.weight.store(next.max(1), Ordering::Relaxed);
        }
    }
}

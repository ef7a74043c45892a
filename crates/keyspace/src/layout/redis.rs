//! Redis, one server or a cluster: the keys and types a keyspace has there.
//!
//! ```text
//! rows                               container                     read with
//! record                             Hash at its key               HGETALL
//! json, text, bytes, lone counter    String at its key             GET
//! windows, counters that end         String at its key, with TTL   GET
//! counters of a group                one Hash, a field a counter   HGETALL
//! bare keys, entries of an index     one Set, or one sorted set    SMEMBERS, ZRANGE BYLEX
//! unique index                       String with the owner's key   GET
//! order of rows that are listed      sorted set at their group     ZRANGE BYLEX
//! ```
//!
//! Names are the templates themselves. What Keyway keeps for itself begins with `~`, which no
//! template can. Scores are 0: a score is a float and cannot hold a key. No name may be made
//! anywhere else.
//!
//! On a cluster the group's place stands in braces, so that a group has one slot. A commit reaches
//! no other, and so whatever belongs to a row elsewhere says by itself which attempt wrote it and
//! when it ends: rows with versions keep a trail, their entries end with their attempt, and claims
//! are Hashes.

mod command;
mod decide;
mod print;

use super::Serves;
use crate::model::{Keyspace, Part, StoreKind};
use std::fmt;
use std::ops::Range;

pub use command::slice_text;
pub use decide::{
    entry_key, extra_fields, has_entries, has_order, has_trails, is_container, is_read_whole,
    is_record, member_parts, row_helpers,
};
pub use print::print;

/// Names the keyspace a database belongs to; another keyspace is refused. A Hash: the name, the
/// store's catalogue, where the rows of each collection are, and what cursors are sealed with.
pub const MARKER: &str = "~keyway";
/// The fields of the marker.
pub const MARKER_FIELDS: [&str; 4] = ["keyspace", "catalogue", "layout", "secret"];
/// Begins the names under which calls are remembered, so that each is done once.
pub const CALL: &str = "~call";
/// How long a call is remembered, in milliseconds.
pub const CALL_MILLISECONDS: u64 = 600_000;
/// How long a row with entries outlives its end, in milliseconds.
pub const GRACE_MILLISECONDS: u64 = 3_600_000;
/// The field of a Hash, and the beginning of a side Hash's name, with versions.
pub const VERSION: &str = "~v";
/// The field of a Hash, and the beginning of a sorted set's name, with instants of expiry.
pub const EXPIRY: &str = "~x";
/// The field of a Hash with the commits before the last; of an entry or a claim, the version that
/// its attempt expects its row to have.
pub const PREVIOUS: &str = "~p";
/// The field of a Hash with the entries and claims that belong to the row.
pub const HELD: &str = "~h";
/// The field of a Hash that marks a removed row whose version is still needed.
pub const DEAD: &str = "~d";
/// The name of the last segment of an entry's key that says which attempt wrote it.
pub const ATTEMPT: &str = "~attempt";
/// The field that keeps the Hash of a record without a version, whose other fields may all be null.
pub const ROW: &str = "~r";
/// The field with the names of fields that are null where an older record would answer a default.
pub const NULLS: &str = "~n";
/// The name of the part that stands for a time slice.
pub const SLICE: &str = "slice";
/// Begins the name of the directory of time slices.
pub const SLICES: &str = "~b";
/// Begins the name of an order whose group has something else under its own name.
pub const ORDER: &str = "~k";

/// A type of Redis value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisType {
    /// Fields with values.
    Hash,
    /// Members without order.
    Set,
    /// Members in byte order, all of score 0 (instants of expiry aside).
    SortedSet,
    /// One value.
    String,
}

impl fmt::Display for RedisType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            RedisType::Hash => "Hash",
            RedisType::Set => "Set",
            RedisType::SortedSet => "Sorted set",
            RedisType::String => "String",
        })
    }
}

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A record, a field a Hash field.
    Record,
    /// A json, text or bytes value, or a bare key that stands or ends alone.
    Value,
    /// A counter or window with a key of its own.
    Counter,
    /// The counters of a group, a field each.
    Counters,
    /// The bare keys of a group, a member each.
    Keys,
    /// The entries of an index's group, a member each.
    Entries,
    /// One entry of an index, with the fields it keeps; absent if all of them are null.
    Entry,
    /// An entry with a key of its own: the text of its row's key, or, if it keeps fields, a Hash
    /// of the row's key segments and of them.
    Claim,
    /// The order of a group's rows.
    Order,
    /// The time slices that a group has.
    Slices,
    /// The versions of a group's rows that have no field for them.
    Versions,
    /// When a group's rows end, for the sweep.
    Expiries,
}

impl Role {
    /// Whether only Keyway looks at it.
    pub fn is_helper(self) -> bool {
        matches!(self, Role::Order | Role::Slices | Role::Versions | Role::Expiries)
    }

    /// Whether collections with one group share it. What is in it are whole keys.
    pub fn is_shared(self) -> bool {
        matches!(self, Role::Versions | Role::Expiries)
    }
}

/// How a member of a Set or sorted set, or a field of a Hash of counters, is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberForm {
    /// The text form of the segments after the bar. A field that is one segment is its raw text.
    Text,
    /// Sortable text, joined by the separator, the last part raw.
    Sortable {
        /// Whether the key's order is the members' order from the end.
        reverse: bool,
    },
    /// The segments in the key encoding: mixed directions, paths, and text before another segment.
    Encoded,
    /// The text form of the whole key.
    Key,
    /// The start of a time slice.
    Slice,
}

/// How the start of a time slice is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceForm {
    /// `2026-11-15`: slices of whole days.
    Day,
    /// `2026-11-15T1030Z`: shorter ones, and where a date could stand in the same place.
    Minute,
    /// `2026-11-15T103015Z`: slices that are no whole minutes.
    Second,
}

/// When Redis itself ends a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expires {
    /// With its row.
    AtEnd,
    /// [`GRACE_MILLISECONDS`] after its row, whose entries the sweep removes until then. A String,
    /// which has no `~x`, ends that much before the instant that `PEXPIRETIME` answers.
    AfterGrace,
}

/// A key of Redis: a template for its name, its type and what it is for.
#[derive(Clone, Debug)]
pub struct Container {
    /// Literals and segments of its name, joined by the keyspace's separator.
    pub parts: Vec<Part>,
    /// The parts that stand in braces on a cluster.
    pub tag: Range<usize>,
    /// Its type.
    pub redis_type: RedisType,
    /// What it is for.
    pub role: Role,
    /// What it serves.
    pub serves: Serves,
    /// How its members or fields are written, if it has any that are keys.
    pub member: Option<MemberForm>,
    /// Whether Redis itself ends it, and when.
    pub expires: Option<Expires>,
    /// How its last part is written, if it is a time slice.
    pub slice: Option<SliceForm>,
}

/// Every container of a keyspace on one server or on a cluster, in file order: the rows of a
/// collection, its helpers, then each index with its own. Two may have names alike only if both are
/// shared ([`Role::is_shared`]).
pub fn containers(keyspace: &Keyspace, store: StoreKind) -> Vec<Container> {
    let mut found = Vec::new();
    for collection in &keyspace.collections {
        decide::of_rows(keyspace, store, collection, &mut found);
        for index in &collection.indexes {
            decide::of_index(keyspace, store, (collection, index), &mut found);
        }
    }
    found
}

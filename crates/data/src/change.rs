//! What a call wants to change, before it is known how far a commit of the store reaches.
//!
//! ```text
//! verbs ─▶ write set: rows, their entries and claims, checks, counters ─protocol─▶ batches
//! ```

use crate::clock::Milliseconds;
use crate::schema::CollectionSchema;
use crate::store::{CommitId, Expect, Key, Row, WindowRule};
use bytes::Bytes;
use std::sync::Arc;

/// Changes that happen together or not at all.
#[derive(Clone, Debug)]
pub struct WriteSet {
    /// The id of the commit.
    pub id: CommitId,
    /// The instant of the call.
    pub now: Milliseconds,
    /// Until when it may be tried.
    pub deadline: Milliseconds,
    /// Rows that are only looked at.
    pub checks: Vec<RowCheck>,
    /// Rows that change; no key twice.
    pub changes: Vec<RowChange>,
    /// Counters and windows that are added to, in order.
    pub adds: Vec<CounterAdd>,
}

/// A row that is only looked at.
#[derive(Clone, Debug)]
pub struct RowCheck {
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// Its key.
    pub key: Key,
    /// What it must be at the commit: what was read and judged.
    pub expect: Expect,
}

/// A row that changes, with everything that changes with it.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// Its key.
    pub key: Key,
    /// What the row must be at the commit; nothing for plain rows.
    pub expect: Option<Expect>,
    /// Whether it was read: if `before` is nothing then, nothing lies there.
    pub read: bool,
    /// The row as it was read, if it was; entries are diffed from it.
    pub before: Option<Row>,
    /// What it becomes; nothing where it is removed.
    pub after: Option<After>,
    /// Entries and claims it gains, or whose content or end changes.
    pub gained: Vec<Entry>,
    /// Entries and claims it loses; none of them is also gained.
    pub lost: Vec<Entry>,
}

impl RowChange {
    /// Whether the row has a version on this store that no caller sees.
    pub fn is_unseen(&self) -> bool {
        self.collection.kept.has_version() && !self.collection.mode.has_version()
    }
}

/// A row as it becomes.
#[derive(Clone, Debug)]
pub struct After {
    /// Its encoded content.
    pub value: Bytes,
    /// When it ends; its entries and claims end with it.
    pub expires: Option<Milliseconds>,
}

/// An entry or a claim of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The position of the index in its collection.
    pub index: usize,
    /// Its key, without an attempt.
    pub key: Key,
    /// Its content: of an entry the kept fields, of a claim the owner's key and the kept fields.
    pub value: Bytes,
}

/// A counter or window that is added to.
#[derive(Clone, Debug)]
pub struct CounterAdd {
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// Its key.
    pub key: Key,
    /// How much.
    pub amount: i64,
    /// When the counter ends, if this creates it.
    pub expires: Option<Milliseconds>,
    /// The rule of a window.
    pub window: Option<WindowRule>,
}

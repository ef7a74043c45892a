//! Change feeds: what was committed, in order, for whoever follows a store.

use super::{CommitId, Key};

/// A place in the log of a store. The first change is after `Position::START`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

impl Position {
    /// Before everything.
    pub const START: Position = Position(0);
}

/// A row that was written or removed; what it is now must be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The commit.
    pub id: CommitId,
    /// The row.
    pub key: Key,
}

/// Some changes, whole commits only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The rows, in the order of their commits.
    pub changes: Vec<Change>,
    /// Where to go on.
    pub next: Position,
}

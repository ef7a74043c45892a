//! The last changes, whole commits only, for whoever follows the store.

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Change, Changes, CommitId, Key, Position};
use std::collections::VecDeque;

/// Changed rows the log keeps.
pub const LOG_ROWS_KEPT: usize = 100_000;

/// The last commits. A position counts the commits before it.
#[derive(Debug)]
pub(super) struct Log {
    /// The commits that were let go.
    gone: u64,
    commits: VecDeque<(CommitId, Box<[Key]>)>,
    /// Rows in `commits`.
    rows: usize,
    rows_kept: usize,
}

impl Log {
    pub(super) fn new(rows_kept: usize) -> Self {
        Log { gone: 0, commits: VecDeque::new(), rows: 0, rows_kept }
    }

    /// Adds a commit, and lets old ones go.
    pub(super) fn push(&mut self, id: CommitId, keys: Box<[Key]>) {
        self.rows += keys.len();
        self.commits.push_back((id, keys));
        while self.rows > self.rows_kept && self.commits.len() > 1 {
            if let Some((_, keys)) = self.commits.pop_front() {
                self.rows -= keys.len();
                self.gone += 1;
            }
        }
    }

    /// The last commit.
    pub(super) fn last(&self) -> Position {
        Position(self.gone + self.commits.len() as u64)
    }

    /// Commits after a position: one at least if there is one, and more up to so many rows.
    pub(super) fn after(&self, since: Position, rows: usize) -> Result<Changes> {
        let skipped = since.0.checked_sub(self.gone).and_then(|skip| usize::try_from(skip).ok());
        let Some(skipped) = skipped.filter(|skip| *skip <= self.commits.len()) else {
            return Err(Error::new(ErrorKind::Mismatch, "the log does not reach this position")
                .with("position", since.0)
                .with("first", self.gone)
                .with("last", self.gone + self.commits.len() as u64));
        };
        let mut changes = Vec::new();
        let mut next = since;
        for (id, keys) in self.commits.iter().skip(skipped) {
            if !changes.is_empty() && changes.len() + keys.len() > rows {
                break;
            }
            changes.extend(keys.iter().map(|key| Change { id: *id, key: key.clone() }));
            next = Position(next.0 + 1);
        }
        Ok(Changes { changes, next })
    }
}

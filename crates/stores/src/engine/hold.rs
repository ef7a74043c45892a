//! Holding the store: for a moment in memory, for good on the disk.
//!
//! A keyspace has moved when the mark is on the disk, and not before: until then this store is the
//! truth, whatever lies elsewhere.

use super::changes::ChangeLog;
use super::commit::Committer;
use super::error::poisoned;
use super::layout;
use super::tables::Tables;
use data::Result;
use data::store::{Hold, Position};
use std::time::Duration;

/// How long a log reaches back that was not asked for when the store was opened.
const LOG_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a store takes writes when it is opened.
pub(super) fn stored(tables: &Tables) -> Result<Hold> {
    let moved = tables.own(&layout::MOVED)?;
    Ok(moved.map_or(Hold::Open, |to| Hold::Moved(String::from_utf8_lossy(&to).into_owned())))
}

impl Committer {
    /// Takes writes or not, and says which commit was the last.
    pub(super) fn hold(&mut self, hold: Hold) -> Result<Position> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        let next = self.hold.then(hold)?;
        if let Hold::Moved(to) = &next
            && self.hold != next
        {
            let mut written = self.start(1);
            written.insert(&self.tables.rows, layout::MOVED, to.as_bytes());
            self.write_own(written)?;
            self.sync()?;
        }
        self.hold = next;
        Ok(Position(self.sequence))
    }

    /// Keeps a log from now on, if there is none, and says which commit was the last.
    pub(super) fn follow(&mut self) -> Result<(ChangeLog, Position)> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        let log = match &self.changes {
            Some(log) => log.clone(),
            None => {
                self.number()?;
                let log = ChangeLog::begin(&self.tables, LOG_KEPT, self.sequence)?;
                // What the log begins with is seen from now on.
                self.publish();
                self.changes.insert(log).clone()
            }
        };
        Ok((log, Position(self.sequence)))
    }
}

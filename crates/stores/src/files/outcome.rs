//! Which batches were committed, for [`OUTCOME_KEPT`] at least, by the batches' own time.
//!
//! They are in the journal with what they did, and from there in `.keyway/rows`. In memory there
//! are two halves instead of a queue: when the young half is old enough, the old one is let go.

use super::row::Committed;
use data::clock::Milliseconds;
use data::store::{CommitId, OUTCOME_KEPT, Total};
use std::collections::HashMap;

type Half = HashMap<CommitId, Box<[Total]>>;

/// The totals of committed batches.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    young: Half,
    old: Half,
    /// When the young half was begun.
    since: Option<Milliseconds>,
}

/// How long an outcome is kept, in milliseconds.
pub(super) fn kept() -> Milliseconds {
    Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX)
}

impl Outcomes {
    /// What a batch came to, if it was committed and is remembered.
    pub(super) fn of(&self, id: &CommitId) -> Option<&[Total]> {
        self.young.get(id).or_else(|| self.old.get(id)).map(AsRef::as_ref)
    }

    /// Remembers that a batch was committed.
    pub(super) fn remember(&mut self, committed: &Committed) {
        let now = committed.now;
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) > kept() {
            self.old = std::mem::take(&mut self.young);
            self.since = Some(now);
        }
        self.young.insert(committed.id, committed.totals.clone());
    }
}

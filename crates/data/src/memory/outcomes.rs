//! Which batches were committed: remembered for [`OUTCOME_KEPT`] at least, by the batches' time.
//!
//! Two halves instead of a queue: when the young half is old enough, the old one is let go whole.

use crate::clock::Milliseconds;
use crate::store::{CommitId, OUTCOME_KEPT, Total};
use std::collections::HashMap;

type Half = HashMap<CommitId, Box<[Total]>>;

/// The totals of committed batches.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    young: Half,
    old: Half,
    /// When the young half was begun.
    since: Option<Milliseconds>,
    /// Whether outcomes are forgotten at once, as if their time were over, but for those of
    /// counters.
    pub(super) forgets: bool,
}

impl Outcomes {
    /// What a batch came to, if it was committed and is remembered.
    pub(super) fn of(&self, id: &CommitId) -> Option<&[Total]> {
        self.young.get(id).or_else(|| self.old.get(id)).map(AsRef::as_ref)
    }

    /// Remembers that a batch was committed.
    pub(super) fn remember(&mut self, id: CommitId, now: Milliseconds, totals: &[Total]) {
        let kept = Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX);
        if self.forgets && totals.is_empty() {
            return;
        }
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) > kept {
            self.old = std::mem::take(&mut self.young);
            self.since = Some(now);
        }
        self.young.insert(id, totals.into());
    }
}

//! What is known of the reads of a view, so that it need not be found out again: which partition a
//! range is, and the statements that read stretches.

use super::stretch::Stretch;
use data::store::Range;
use scylla::statement::prepared::PreparedStatement;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Parts of a partition, one behind the other.
pub(super) type Stretches = Arc<[Stretch]>;

/// Partitions that were read lately as they are: to find out which one a range is takes longer than
/// to ask for it. Only of those that need no conditions, which follow from the range alone.
#[derive(Debug, Default)]
pub(super) struct Wholes(RwLock<HashMap<Range, [Option<Stretches>; 2]>>);

/// Partitions of a view that are remembered; all are forgotten when there are more.
const WHOLES_MAX: usize = 1_024;

impl Wholes {
    pub(super) fn of(&self, range: &Range, reverse: bool) -> Option<Stretches> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(range)?.get(usize::from(reverse))?.clone()
    }

    pub(super) fn keep(&self, range: &Range, reverse: bool, stretches: Stretches) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= WHOLES_MAX {
            known.clear();
        }
        if let Some(slot) = known.entry(range.clone()).or_default().get_mut(usize::from(reverse)) {
            *slot = Some(stretches);
        }
    }
}

/// Statements that are prepared already, by the conditions on what orders rows and the direction.
/// They are few, and looked through faster than found by their texts.
#[derive(Debug, Default)]
pub(super) struct Selects(RwLock<Vec<(String, bool, Arc<PreparedStatement>)>>);

impl Selects {
    pub(super) fn of(&self, conditions: &str, reverse: bool) -> Option<Arc<PreparedStatement>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let same = |(of, turned, _): &&(String, bool, _)| of == conditions && *turned == reverse;
        known.iter().find(same).map(|(_, _, prepared)| prepared.clone())
    }

    pub(super) fn keep(&self, conditions: &str, reverse: bool, prepared: Arc<PreparedStatement>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.push((conditions.to_string(), reverse, prepared));
    }
}

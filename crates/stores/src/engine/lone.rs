//! Whether a caller of synced commits is alone: then it commits where it is, because to wake
//! another thread and be woken by it takes as long as a third of a sync.
//!
//! ```text
//! groups of one, brief, several in a row ─▶ some commits in place ─▶ one by the thread ─▶ some …
//! a group of several, or the right found taken, or a long sync ─▶ all by the thread, as before
//! ```
//!
//! Calls that share a thread never meet while one of them commits there. So every few commits one
//! goes to the writer's thread, and the others, if there are any, are found waiting with it.
//! A caller is never held for longer than syncs take that are brief.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Groups of one in a row after which somebody is taken to be alone.
const ALONE_AFTER: u32 = 4;
/// Commits in place between two that the thread makes.
const IN_PLACE: u32 = 16;
/// Groups to wait, after others were met, before anybody is taken to be alone again.
const AFTER_OTHERS: u32 = 1_000;
/// A sync that holds up whoever called it no longer than other work does.
const BRIEF: Duration = Duration::from_micros(500);

/// Whether a caller is alone. What it says may be out of date, which costs time and nothing else.
#[derive(Debug, Default)]
pub(super) struct Lone {
    /// Commits that may still be made in place.
    left: AtomicU32,
    /// Groups of one that are still to come before somebody is alone, less the usual number.
    wanted: AtomicU32,
    /// Groups of one in a row.
    seen: AtomicU32,
}

impl Lone {
    /// Whether a caller may commit where it is.
    pub(super) fn may_commit(&self) -> bool {
        let take = |left: u32| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// A caller has committed where it is.
    pub(super) fn committed(&self, taken: Duration) {
        if taken > BRIEF {
            self.left.store(0, Ordering::Relaxed);
        }
    }

    /// A caller found somebody else committing.
    pub(super) fn met_others(&self) {
        self.left.store(0, Ordering::Relaxed);
        self.seen.store(0, Ordering::Relaxed);
        self.wanted.store(AFTER_OTHERS, Ordering::Relaxed);
    }

    /// The thread has committed a group of so many batches.
    pub(super) fn group_committed(&self, batches: usize, taken: Duration) {
        if batches > 1 {
            return self.met_others();
        }
        if taken > BRIEF {
            return self.seen.store(0, Ordering::Relaxed);
        }
        let seen = self.seen.load(Ordering::Relaxed).saturating_add(1);
        self.seen.store(seen, Ordering::Relaxed);
        if seen >= ALONE_AFTER.saturating_add(self.wanted.load(Ordering::Relaxed)) {
            self.wanted.store(0, Ordering::Relaxed);
            self.left.store(IN_PLACE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(100);

    fn in_place(lone: &Lone) -> usize {
        std::iter::from_fn(|| lone.may_commit().then_some(())).count()
    }

    fn alone() -> Lone {
        let lone = Lone::default();
        (0..ALONE_AFTER).for_each(|_| lone.group_committed(1, SHORT));
        lone
    }

    #[test]
    fn nobody_is_alone_before_it_was_seen() {
        let lone = Lone::default();
        assert!(!lone.may_commit());
        (1..ALONE_AFTER).for_each(|_| lone.group_committed(1, SHORT));
        assert!(!lone.may_commit());
        lone.group_committed(1, SHORT);
        assert_eq!(in_place(&lone), IN_PLACE as usize);
    }

    #[test]
    fn every_few_commits_one_goes_to_the_thread() {
        let lone = alone();
        for _ in 0..3 {
            assert_eq!(in_place(&lone), IN_PLACE as usize);
            lone.group_committed(1, SHORT);
        }
    }

    #[test]
    fn whoever_meets_others_leaves_it_to_the_thread_for_long() {
        for meet in [Lone::met_others, |lone: &Lone| lone.group_committed(2, SHORT)] {
            let lone = alone();
            meet(&lone);
            (0..AFTER_OTHERS).for_each(|_| lone.group_committed(1, SHORT));
            assert_eq!(in_place(&lone), 0);
            (0..ALONE_AFTER).for_each(|_| lone.group_committed(1, SHORT));
            assert_eq!(in_place(&lone), IN_PLACE as usize);
        }
    }

    #[test]
    fn long_syncs_hold_up_nobody() {
        let lone = alone();
        lone.committed(BRIEF * 2);
        assert!(!lone.may_commit());
        (0..100).for_each(|_| lone.group_committed(1, BRIEF * 2));
        assert!(!lone.may_commit());
    }
}

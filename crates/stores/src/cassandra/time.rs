//! Timestamps of plain writes, and how long rows stay.
//!
//! A plain write wins over another by its timestamp, in microseconds. Commits of one process have
//! growing ones, whatever their clocks say; a commit that is sent again has the one it had, so that
//! nothing written since is lost. Between processes clocks decide, as everywhere in Cassandra. Of
//! two writes with one timestamp it would keep the larger of each cell, and a row could be half of
//! both: where in its millisecond a timestamp lies follows from the commit, so that two hardly ever
//! meet.
//!
//! Rows end by the instant that stands in them; the server lets go of them some time after it, so
//! that clocks may differ.

use data::clock::Milliseconds;
use data::store::{Batch, CommitId, OUTCOME_KEPT};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Commits whose timestamps are remembered at most.
const KNOWN_MAX: usize = 100_000;
/// An id that is so much older than its batch belongs to a call that is made again.
const OLD: Milliseconds = 1_000;
/// Microseconds of a millisecond in which its first timestamp may lie; the rest is for commits that
/// follow.
const PLACES: i64 = 800;
/// How long a row without a version stays after its end, in seconds: clocks differ by less.
const PLAIN_GRACE: i64 = 60;
/// How long a row with a version stays after its end or its removal, in seconds: far longer than
/// any attempt lives that could take it for a row that never was.
pub(super) const GRACE: i64 = 24 * 60 * 60;
/// The longest life a server takes, in seconds.
const LIFE_MAX: i64 = 20 * 365 * 24 * 60 * 60;
/// The last second at which a server can let go of a row.
const LAST: i64 = i32::MAX as i64 - 1;

/// The timestamps of commits.
#[derive(Debug, Default)]
pub(super) struct Stamps(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    last: i64,
    /// All of them, in the order in which they were given.
    order: VecDeque<(Milliseconds, CommitId, i64)>,
    /// The first of them by their ids: hardly anybody asks for those of new batches.
    known: HashMap<CommitId, i64>,
}

impl Stamps {
    /// The timestamp of a batch.
    pub(super) fn of(&self, batch: &Batch) -> i64 {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stamp) = given.known_of(batch.id) {
            return stamp;
        }
        let age = batch.now.saturating_sub(batch.id.time());
        if (OLD..=kept()).contains(&age) {
            // The process that sent it first is gone: behind all that it can have written then.
            return batch.id.time().saturating_mul(1_000).saturating_add(999);
        }
        given.give(batch)
    }

    /// The timestamp of a batch that was never sent.
    pub(super) fn of_new(&self, batch: &Batch) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).give(batch)
    }
}

impl Given {
    fn known_of(&mut self, id: CommitId) -> Option<i64> {
        let unknown = self.order.range(self.known.len()..);
        self.known.extend(unknown.map(|(_, id, stamp)| (*id, *stamp)));
        self.known.get(&id).copied()
    }

    fn give(&mut self, batch: &Batch) -> i64 {
        let first = batch.now.saturating_mul(1_000).saturating_add(place_of(batch.id));
        let stamp = first.max(self.last.saturating_add(1));
        self.last = stamp;
        self.order.push_back((batch.now, batch.id, stamp));
        let is_old = |(at, ..): &(Milliseconds, _, _)| batch.now.saturating_sub(*at) > kept();
        while self.order.len() > KNOWN_MAX || self.order.front().is_some_and(is_old) {
            if let Some((_, id, _)) = self.order.pop_front() {
                self.known.remove(&id);
            }
        }
        stamp
    }
}

/// Where in its millisecond the first timestamp of a commit lies, by chance.
fn place_of(id: CommitId) -> i64 {
    let [.., high, low] = *id.as_bytes();
    i64::from(u16::from_be_bytes([high, low])) % PLACES
}

/// How long the timestamp of a batch is remembered.
fn kept() -> Milliseconds {
    Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX)
}

/// The timestamp with which an attempt writes an entry; it is removed with the next.
pub(super) fn of_attempt(attempt: CommitId) -> i64 {
    attempt.time().saturating_mul(1_000)
}

/// How many seconds a row stays, 0 for ever.
pub(super) fn life(expires: Option<Milliseconds>, now: Milliseconds, is_judged: bool) -> i64 {
    let Some(expires) = expires else { return 0 };
    let left = expires.saturating_sub(now).max(0).saturating_add(999) / 1_000;
    let life = left.saturating_add(if is_judged { GRACE } else { PLAIN_GRACE });
    // What a server cannot take stays, and is judged by its end all the same.
    match life > LIFE_MAX || (now / 1_000).saturating_add(life) > LAST {
        true => 0,
        false => life,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::clock::SeededRandom;

    fn batch(id: CommitId, now: Milliseconds) -> Batch {
        Batch { id, now, checks: Vec::new(), writes: Vec::new(), deadline: now + 1_000 }
    }

    #[test]
    fn timestamps_grow_and_those_of_a_batch_stay() {
        let (stamps, random) = (Stamps::default(), SeededRandom::new(1));
        let id = || CommitId::new(1_000_000, &random);
        let (one, two, three) = (id(), id(), id());
        let first = stamps.of(&batch(one, 1_000_000));
        let second = stamps.of(&batch(two, 1_000_000));
        // A clock that goes back changes nothing.
        let third = stamps.of(&batch(three, 999_500));
        assert!(first < second && second < third);
        assert_eq!(stamps.of(&batch(one, 1_000_400)), first);
        let new = id();
        let fourth = stamps.of_new(&batch(new, 999_500));
        assert!(third < fourth);
        assert_eq!(stamps.of(&batch(new, 1_000_400)), fourth);
        assert_eq!(stamps.of(&batch(two, 1_000_400)), second);
    }

    /// Of two writes with one timestamp the server keeps the larger of each cell.
    #[test]
    fn two_processes_hardly_ever_give_the_same_timestamp() {
        let random = SeededRandom::new(1);
        let stamp = |now| Stamps::default().of_new(&batch(CommitId::new(now, &random), now));
        let same = (0..10_000).filter(|now| stamp(*now) == stamp(*now)).count();
        assert!(same < 40, "{same} of 10,000");
        // All of a millisecond are before those of the next.
        assert!((0..10_000).all(|now| stamp(now) / 1_000 == now));
    }

    #[test]
    fn timestamps_are_forgotten_with_what_they_were_of() {
        let (stamps, random) = (Stamps::default(), SeededRandom::new(1));
        let later = |number: i64| 1_000_000 + number * kept() / 4;
        let ids: Vec<CommitId> = (0..12).map(|at| CommitId::new(later(at), &random)).collect();
        let given = |stamps: &Stamps| stamps.0.lock().unwrap().order.len();
        for (number, id) in ids.iter().enumerate() {
            let batch = batch(*id, later(number as i64));
            let first = if number % 3 == 0 { stamps.of(&batch) } else { stamps.of_new(&batch) };
            assert_eq!(stamps.of(&batch), first);
            assert_eq!(given(&stamps), (number + 1).min(5));
            assert_eq!(stamps.0.lock().unwrap().known.len(), (number + 1).min(5));
        }
    }

    #[test]
    fn a_call_made_again_elsewhere_does_not_overtake_what_came_since() {
        let (one, other, random) = (Stamps::default(), Stamps::default(), SeededRandom::new(1));
        let again = CommitId::new(1_000_000, &random);
        let since = one.of(&batch(CommitId::new(1_001_000, &random), 1_001_000));
        assert!(other.of(&batch(again, 1_002_000)) < since);
    }

    #[test]
    fn rows_outlive_their_end() {
        assert_eq!(life(None, 0, true), 0);
        assert_eq!(life(Some(1), 0, false), 61);
        assert_eq!(life(Some(1_000), 2_000, true), GRACE);
        assert_eq!(life(Some(i64::MAX), 0, false), 0);
    }
}

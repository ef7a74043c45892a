//! Whether a history of commits could have happened one after the other, in the order seen.
//!
//! ```text
//! w ──wrote what r read──▶ r      w ──was overwritten by──▶ v      r ──read what w changed──▶ w
//! t ──ended before u began──▶ u   a circle of these: no order explains the history
//! ```
//!
//! Every row carries the id of the commit that wrote it, and every commit knows the version it
//! replaced, so the order of versions is known and nothing need be guessed: the check is linear.

use crate::store::CommitId;
use std::collections::HashMap;

/// The number of a row.
pub type RowNumber = usize;

/// What one client did at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The commit's id; of a bare read any other.
    pub id: CommitId,
    /// When it was called.
    pub start: u64,
    /// When it answered; `u64::MAX` if it never did, and may or may not have happened.
    pub end: u64,
    /// Rows it saw, each with the version it had: none if the row was not there.
    pub reads: Vec<(RowNumber, Option<CommitId>)>,
    /// Rows it wrote; each is among `reads` with the version it replaced.
    pub writes: Vec<RowNumber>,
}

/// Why a history could not have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Someone read a version that nobody committed.
    Unwritten {
        /// Who read it.
        reader: CommitId,
        /// What it read.
        version: CommitId,
    },
    /// Two commits replaced one version: one of them is lost.
    LostUpdate(CommitId, CommitId),
    /// A commit wrote a row without having seen what it replaced.
    Blind(CommitId),
    /// An acknowledged write is not among the versions that led to the last one.
    Lost(CommitId),
    /// A circle.
    Cycle(Vec<CommitId>),
}

/// Whether a history is strictly serializable. `last` is what each row was in the end.
pub fn check(
    history: &[Transaction],
    last: &[(RowNumber, Option<CommitId>)],
) -> Result<(), Violation> {
    let history = happened(history, last);
    let versions = Versions::new(&history)?;
    versions.reach(&history, last)?;
    let edges = edges(&history, &versions)?;
    match circle(history.len() * 2, &edges) {
        None => Ok(()),
        Some(nodes) => {
            let names = nodes.into_iter().filter_map(|node| history.get(node));
            Err(Violation::Cycle(names.map(|transaction| transaction.id).collect()))
        }
    }
}

/// What was acknowledged, and what was not but was seen by someone.
fn happened(history: &[Transaction], last: &[(RowNumber, Option<CommitId>)]) -> Vec<Transaction> {
    let mut left: Vec<&Transaction> = Vec::new();
    let mut kept: Vec<Transaction> = Vec::new();
    for transaction in history {
        match transaction.end {
            u64::MAX => left.push(transaction),
            _ => kept.push(transaction.clone()),
        }
    }
    // One that was seen vouches for those it saw.
    let mut seen: Vec<CommitId> = last.iter().filter_map(|(_, version)| *version).collect();
    seen.extend(kept.iter().flat_map(|t| t.reads.iter().filter_map(|(_, version)| *version)));
    let known: HashMap<CommitId, &Transaction> = left.into_iter().map(|t| (t.id, t)).collect();
    let mut taken = std::collections::HashSet::new();
    while let Some(version) = seen.pop() {
        if let Some(transaction) = known.get(&version)
            && taken.insert(version)
        {
            seen.extend(transaction.reads.iter().filter_map(|(_, version)| *version));
            kept.push((*transaction).clone());
        }
    }
    kept
}

/// Who wrote each version, and who replaced it.
struct Versions {
    writer: HashMap<(RowNumber, CommitId), usize>,
    replacer: HashMap<(RowNumber, Option<CommitId>), usize>,
}

impl Versions {
    fn new(history: &[Transaction]) -> Result<Self, Violation> {
        let mut versions = Versions { writer: HashMap::new(), replacer: HashMap::new() };
        for (number, transaction) in history.iter().enumerate() {
            for row in &transaction.writes {
                versions.writer.insert((*row, transaction.id), number);
                let Some((_, parent)) = transaction.reads.iter().find(|(read, _)| read == row)
                else {
                    return Err(Violation::Blind(transaction.id));
                };
                let other = versions.replacer.insert((*row, *parent), number);
                if let Some(other) = other.and_then(|other| history.get(other)) {
                    return Err(Violation::LostUpdate(other.id, transaction.id));
                }
            }
        }
        Ok(versions)
    }

    /// Whether every version leads to the last one of its row.
    fn reach(
        &self,
        history: &[Transaction],
        last: &[(RowNumber, Option<CommitId>)],
    ) -> Result<(), Violation> {
        let mut reached = 0;
        for (row, version) in last {
            let mut version = *version;
            while let Some(id) = version {
                let writer = self.writer.get(&(*row, id)).and_then(|number| history.get(*number));
                let Some(writer) = writer else {
                    return Err(Violation::Unwritten { reader: id, version: id });
                };
                reached += 1;
                let parent = writer.reads.iter().find(|(read, _)| read == row);
                version = parent.and_then(|(_, version)| *version);
            }
        }
        if reached == self.writer.len() {
            return Ok(());
        }
        // The one that nobody replaced, and that is not the last.
        let lost = self.writer.keys().find(|(row, id)| {
            !self.replacer.contains_key(&(*row, Some(*id))) && !last.contains(&(*row, Some(*id)))
        });
        match lost {
            Some((_, id)) => Err(Violation::Lost(*id)),
            None => Ok(()),
        }
    }
}

/// All edges: between transactions, and through one node an ending for the order in time.
fn edges(history: &[Transaction], versions: &Versions) -> Result<Vec<(usize, usize)>, Violation> {
    let count = history.len();
    let mut edges = Vec::with_capacity(count * 6);
    let mut ends: Vec<(u64, usize)> =
        history.iter().enumerate().map(|(number, t)| (t.end, number)).collect();
    ends.sort_unstable();
    for (place, (_, number)) in ends.iter().enumerate() {
        edges.push((*number, count + place));
        if place + 1 < count {
            edges.push((count + place, count + place + 1));
        }
    }
    for (number, transaction) in history.iter().enumerate() {
        let before = ends.partition_point(|(end, _)| *end < transaction.start);
        if before > 0 {
            edges.push((count + before - 1, number));
        }
        for (row, version) in &transaction.reads {
            if let Some(version) = version {
                let Some(writer) = versions.writer.get(&(*row, *version)) else {
                    let (reader, version) = (transaction.id, *version);
                    return Err(Violation::Unwritten { reader, version });
                };
                edges.push((*writer, number));
            }
            if let Some(replacer) = versions.replacer.get(&(*row, *version)) {
                edges.push((number, *replacer));
            }
        }
    }
    edges.retain(|(from, to)| from != to);
    Ok(edges)
}

/// A circle in a graph, if there is one: what is left when nodes without a way in are taken away.
fn circle(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut ways_in = vec![0_usize; nodes];
    let mut ways_out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, to) in edges {
        ways_out.get_mut(*from)?.push(*to);
        *ways_in.get_mut(*to)? += 1;
    }
    let mut free: Vec<usize> = (0..nodes).filter(|node| ways_in.get(*node) == Some(&0)).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for next in ways_out.get(node).into_iter().flatten() {
            let ways = ways_in.get_mut(*next)?;
            *ways -= 1;
            if *ways == 0 {
                free.push(*next);
            }
        }
    }
    if taken == nodes {
        return None;
    }
    // Every node that is left has a way in from another that is left: walking back meets itself.
    let mut ways_back: HashMap<usize, usize> = HashMap::new();
    let left = |node: usize| ways_in.get(node).is_some_and(|ways| *ways > 0);
    for (from, to) in edges {
        if left(*from) && left(*to) {
            ways_back.insert(*to, *from);
        }
    }
    let mut walk: Vec<usize> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut node = (0..nodes).find(|node| left(*node))?;
    loop {
        if let Some(start) = place.get(&node) {
            let mut circle = walk.split_off(*start);
            circle.reverse();
            return Some(circle);
        }
        place.insert(node, walk.len());
        walk.push(node);
        node = *ways_back.get(&node)?;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::clock::SeededRandom;

    fn id(number: u64) -> CommitId {
        let mut bytes = [0; 16];
        bytes.iter_mut().skip(8).zip(number.to_be_bytes()).for_each(|(byte, part)| *byte = part);
        CommitId::from_bytes(bytes)
    }

    /// A transaction: number, start, end, reads (0 is nothing), writes.
    fn did(number: u64, time: (u64, u64), reads: &[(usize, u64)], writes: &[usize]) -> Transaction {
        let version = |number: u64| (number > 0).then(|| id(number));
        Transaction {
            id: id(number),
            start: time.0,
            end: time.1,
            reads: reads.iter().map(|(row, of)| (*row, version(*of))).collect(),
            writes: writes.to_vec(),
        }
    }

    #[test]
    fn one_after_the_other_is_an_order() {
        let history = [
            did(1, (1, 2), &[(0, 0)], &[0]),
            did(2, (3, 4), &[(0, 1)], &[0]),
            did(3, (5, 6), &[(0, 2)], &[]),
        ];
        assert_eq!(check(&history, &[(0, Some(id(2)))]), Ok(()));
    }

    #[test]
    fn two_that_replace_one_version_are_a_lost_update() {
        let history = [
            did(1, (1, 2), &[(0, 0)], &[0]),
            did(2, (3, 9), &[(0, 1)], &[0]),
            did(3, (4, 8), &[(0, 1)], &[0]),
        ];
        let found = check(&history, &[(0, Some(id(3)))]);
        assert_eq!(found, Err(Violation::LostUpdate(id(2), id(3))));
    }

    #[test]
    fn checks_that_miss_each_other_are_a_circle() {
        let history = [
            did(1, (1, 2), &[(0, 0), (1, 0)], &[0, 1]),
            did(2, (3, 9), &[(0, 1), (1, 1)], &[0]),
            did(3, (4, 8), &[(0, 1), (1, 1)], &[1]),
        ];
        let last = [(0, Some(id(2))), (1, Some(id(3)))];
        assert!(matches!(check(&history, &last), Err(Violation::Cycle(_))));
    }

    #[test]
    fn an_old_version_read_after_a_new_one_was_acknowledged_is_a_circle() {
        let history = [
            did(1, (1, 2), &[(0, 0)], &[0]),
            did(2, (3, 4), &[(0, 1)], &[0]),
            did(3, (5, 6), &[(0, 1)], &[]),
        ];
        let found = check(&history, &[(0, Some(id(2)))]);
        assert!(matches!(found, Err(Violation::Cycle(_))), "{found:?}");
        // Before it was acknowledged, both are right.
        let mut early = history.to_vec();
        early[2].start = 3;
        assert_eq!(check(&early, &[(0, Some(id(2)))]), Ok(()));
    }

    #[test]
    fn a_version_nobody_wrote_is_a_dirty_read() {
        let history = [did(1, (1, 2), &[(0, 0)], &[0]), did(2, (3, 4), &[(0, 9)], &[])];
        let found = check(&history, &[(0, Some(id(1)))]);
        assert_eq!(found, Err(Violation::Unwritten { reader: id(2), version: id(9) }));
    }

    #[test]
    fn a_write_that_led_nowhere_is_lost() {
        let history = [did(1, (1, 2), &[(0, 0)], &[0])];
        assert_eq!(check(&history, &[(0, None)]), Err(Violation::Lost(id(1))));
    }

    #[test]
    fn what_was_not_acknowledged_may_have_happened() {
        let unknown = did(2, (3, u64::MAX), &[(0, 1)], &[0]);
        let history = [did(1, (1, 2), &[(0, 0)], &[0]), unknown];
        assert_eq!(check(&history, &[(0, Some(id(1)))]), Ok(()));
        assert_eq!(check(&history, &[(0, Some(id(2)))]), Ok(()));
    }

    #[test]
    fn what_was_not_acknowledged_but_seen_has_happened() {
        let history = [
            did(1, (1, u64::MAX), &[(0, 0)], &[0]),
            did(2, (2, u64::MAX), &[(0, 1)], &[0]),
            did(3, (5, 6), &[(0, 2)], &[]),
            did(4, (7, 8), &[(0, 1)], &[]),
        ];
        let found = check(&history, &[(0, Some(id(2)))]);
        assert!(matches!(found, Err(Violation::Cycle(_))), "{found:?}");
    }

    /// A history that happened one after the other; every `skew`th misses what others wrote.
    fn made(count: u64, skew: u64) -> (Vec<Transaction>, Vec<(usize, Option<CommitId>)>) {
        let random = SeededRandom::new(count);
        let mut rows = [0; 50];
        let mut before = rows;
        let mut history = Vec::new();
        for number in 1..=count {
            let below = |below: u64| usize::try_from(random.number() % below).unwrap();
            let (read, written) = (below(50), below(50));
            let stale = skew > 0 && number % skew == 0;
            let seen = if stale { before[read] } else { rows[read] };
            let reads = match read == written {
                true => vec![(written, rows[written])],
                false => vec![(read, seen), (written, rows[written])],
            };
            let start = if stale { number / 100 * 1_000 } else { number * 10 };
            history.push(did(number, (start, number * 10 + below(300) as u64), &reads, &[written]));
            rows[written] = number;
            if number % 100 == 0 {
                before = rows;
            }
        }
        let last = |(row, number): (usize, &u64)| (row, (*number > 0).then(|| id(*number)));
        (history, rows.iter().enumerate().map(last).collect())
    }

    #[test]
    fn long_histories_are_judged() {
        let (sound, last) = made(50_000, 0);
        assert_eq!(check(&sound, &last), Ok(()));
        let (skewed, last) = made(50_000, 1_000);
        assert!(matches!(check(&skewed, &last), Err(Violation::Cycle(_))));
    }
}

//! Listings: which members a range of a group has, and the keys they stand for.
//!
//! ```text
//! range ─▶ directory of slices? ─▶ lists ─▶ members ─▶ keys, in the order of the scan
//! ```
//!
//! A listing can be asked again together with rows, and says then whether it is still the same. It
//! reads no rows.

use super::answers::{Answered, Answers, Questions};
use super::member::ListKind;
use super::scan::Scanned;
use data::Result;
use data::store::Range;

/// Slices that are looked into at once.
pub(super) const SLICES_AT_ONCE: usize = 8;

/// Between which members a sorted set is asked.
pub(super) type Edges = (Vec<u8>, Vec<u8>);

/// A question for the members of a range: of one list, or of several slices.
pub(super) struct Listing<'l> {
    /// The lists.
    pub(super) names: Vec<Vec<u8>>,
    /// How many at most.
    pub(super) most: usize,
    /// What is listed.
    pub(super) range: &'l Range,
    /// Where the slices are named, and which they were.
    pub(super) directory: Option<(&'l Directory<'l>, &'l [&'l [u8]])>,
}

/// The members of lists, as they were answered.
pub(super) struct Members<'r> {
    /// Those of all lists.
    pub(super) each: Vec<&'r [u8]>,
    /// The answers themselves: the same members, in the same lists, are the same bytes.
    pub(super) whole: &'r [u8],
    /// What was asked behind them.
    pub(super) behind: Answers<'r>,
}

impl Listing<'_> {
    /// Asks for the members.
    pub(super) fn ask(&self, of: &Scanned<'_>, questions: &mut Questions) -> Result<()> {
        if let Some((directory, _)) = self.directory {
            directory.ask(questions);
        }
        for name in &self.names {
            if of.list.kind == ListKind::Set {
                questions.ask("SMEMBERS", name, &[]);
                continue;
            }
            let (edges, is_backwards) = self.edges(of)?;
            ranged(questions, name, edges, is_backwards, self.most);
        }
        Ok(())
    }

    /// Between which members a sorted set is asked, the first in its direction before the other,
    /// and whether that is backwards.
    pub(super) fn edges(&self, of: &Scanned<'_>) -> Result<(Edges, bool)> {
        let separator = of.layout.naming.separator();
        let shape = (self.range, of.group.front.len());
        let (least, most) = of.list.bounds(separator, shape, of.place.rest())?;
        let is_backwards = of.reverse != of.list.is_reversed();
        Ok((if is_backwards { (most, least) } else { (least, most) }, is_backwards))
    }

    /// The members of all lists; nothing if the slices are others by now.
    pub(super) fn members<'r>(&self, answered: &'r Answered) -> Result<Option<Members<'r>>> {
        let mut answers = answered.read();
        if let Some((_, named)) = self.directory
            && answers.members()? != named
        {
            return Ok(None);
        }
        let from = answers.rest();
        let mut each = Vec::new();
        for _ in &self.names {
            answers.add_members(&mut each)?;
        }
        let whole = from.len().checked_sub(answers.rest().len()).and_then(|end| from.get(..end));
        Ok(Some(Members { each, whole: whole.unwrap_or_default(), behind: answers }))
    }

    /// The keys of members, in the order of the scan.
    pub(super) fn keys(&self, of: &Scanned<'_>, members: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
        let keys = members.iter().map(|member| of.key(member));
        let mut keys = keys.collect::<Result<Vec<_>>>()?;
        if of.list.kind == ListKind::Set {
            keys.retain(|key| self.range.contains(key));
            keys.sort();
            if of.reverse {
                keys.reverse();
            }
        }
        keys.truncate(self.most);
        Ok(keys)
    }
}

/// A question for the slices of a group.
pub(super) struct Directory<'d> {
    /// Its name.
    pub(super) name: &'d [u8],
    /// Between which slices.
    pub(super) bounds: (Vec<u8>, Vec<u8>),
    /// Whether the last come first.
    pub(super) reverse: bool,
    /// The last slice that was looked into.
    pub(super) passed: Option<Vec<u8>>,
}

impl Directory<'_> {
    /// Asks for the slices.
    pub(super) fn ask(&self, questions: &mut Questions) {
        let (mut least, mut most) = self.bounds.clone();
        if let Some(passed) = &self.passed {
            let edge = [b"(", passed.as_slice()].concat();
            if self.reverse {
                most = edge;
            } else {
                least = edge;
            }
        }
        let edges = if self.reverse { (most, least) } else { (least, most) };
        ranged(questions, self.name, edges, self.reverse, SLICES_AT_ONCE);
    }
}

/// Asks for members from one to another, which stands before it if that is backwards.
pub(super) fn ranged(
    questions: &mut Questions,
    name: &[u8],
    (from, to): Edges,
    is_backwards: bool,
    rows: usize,
) {
    let rows = rows.to_string();
    let limit: [&[u8]; 3] = [b"LIMIT", b"0", rows.as_bytes()];
    let [word, zero, rows] = limit;
    match is_backwards {
        false => questions.ask("ZRANGE", name, &[&from, &to, b"BYLEX", word, zero, rows]),
        true => questions.ask("ZRANGE", name, &[&from, &to, b"BYLEX", b"REV", word, zero, rows]),
    }
}

//! A page of an index whose entries and rows a store reads together.
//!
//! ```text
//! entries with their rows ─▶ live? the caller's? ─▶ records ─┬─ full, or the end
//!  ▲                                                         │
//!  └────────────── some fell out, and reads are left ────────┘
//! ```
//!
//! The same page as entries and rows read apart give, from half as many questions. Both are of one
//! instant, so a row has the entry that names it: that need not be found out.

use super::range::{Reach, intersection};
use super::walk::{Budget, endless};
use crate::clock::Milliseconds;
use crate::error::Result;
use crate::request::cursor::Mark;
use crate::request::prepare::Prepared;
use crate::session::Session;
use crate::store::{End, Joined, Keyed, Scan, Through};

/// What is read: where, in which direction, from where on, and how much at most.
pub(super) struct Question<'q> {
    /// What the call may read.
    pub reach: &'q Reach,
    /// From the last entry to the first.
    pub reverse: bool,
    /// Where an earlier page ended.
    pub mark: Option<&'q Mark>,
    /// Rows of the page.
    pub limit: usize,
    /// What may be read for it.
    pub budget: Budget,
}

/// What takes a row, and says whether it is one of the page.
pub(super) type Take<'t> = dyn FnMut(Keyed) -> Result<bool> + Send + 't;

/// Fills a page of the pattern's index, and answers the last entry that was read where there may be
/// more behind it. Nothing if the pattern has no index that leads to rows, or the store reads them
/// apart; then no row was taken.
pub(super) async fn page(
    session: &mut Session<'_>,
    prepared: &Prepared,
    question: Question<'_>,
    take: &mut Take<'_>,
) -> Result<Option<Option<Mark>>> {
    let leads = prepared.shape()?.covering.is_none();
    let Some(index) = prepared.index().filter(|_| leads) else { return Ok(None) };
    let Question { reach, reverse, mark, limit, mut budget } = question;
    let range = match mark {
        Some(Mark::Key(last)) => intersection(&reach.range, &reach.range.after(last, reverse)),
        _ => reach.range.clone(),
    };
    let collection = prepared.collection()?;
    let mut filling = Filling { taken: 0, limit, last: None };
    let mut scan = Scan { range, reverse, rows: 0 };
    while !scan.range.is_empty() {
        // Where many fall out, a page of them is read at a time; one more says whether there is
        // more.
        let named = match &filling.last {
            Some(_) if filling.lacks() > 0 => limit,
            _ => filling.lacks(),
        };
        scan.rows = usize::try_from(budget.rows).unwrap_or(usize::MAX).min(named + 1);
        if budget.scans == 0 || scan.rows == 0 {
            return Ok(Some(filling.last));
        }
        let through = Through { scan: &scan, named, collection, index };
        let Some(joined) = session.scan_through(&through).await? else { return Ok(None) };
        budget.scans -= 1;
        budget.rows = budget.rows.saturating_sub(joined.entries.rows.len() as u64);
        let end = joined.entries.end;
        let is_more = filling.fill(session.now, joined, take)?;
        if is_more && filling.lacks() == 0 {
            return Ok(Some(filling.last));
        }
        match &filling.last {
            _ if end == End::Range && !is_more => break,
            Some(Mark::Key(last)) => scan.range = scan.range.after(last, reverse),
            _ => return Err(endless()),
        }
    }
    Ok(Some(None))
}

/// A page that is being filled.
struct Filling {
    taken: usize,
    limit: usize,
    /// The last entry that counts as read.
    last: Option<Mark>,
}

impl Filling {
    fn lacks(&self) -> usize {
        self.limit.saturating_sub(self.taken)
    }

    /// Takes the rows that are wanted; says whether a live entry follows that was not looked at.
    fn fill(&mut self, now: Milliseconds, joined: Joined, take: &mut Take<'_>) -> Result<bool> {
        let Joined { entries, rows } = joined;
        let mut rows = rows.into_iter();
        let mut last = None;
        let mut is_more = false;
        for entry in entries.rows {
            let live = entry.row.is_live(now);
            match rows.next() {
                None if live => is_more = true,
                Some(Some(row)) if live && row.row.is_live(now) => {
                    is_more = self.lacks() == 0;
                    if !is_more {
                        self.taken += usize::from(take(row)?);
                    }
                }
                _ => {}
            }
            if is_more {
                break;
            }
            last = Some(entry.key);
        }
        self.last = last.map(Mark::Key).or(self.last.take());
        Ok(is_more)
    }
}

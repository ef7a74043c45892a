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
use crate::request::Showing;
use crate::request::cursor::Mark;
use crate::request::prepare::Prepared;
use crate::schema::IndexSchema;
use crate::session::Session;
use crate::store::{AtOnce, End, Joined, Key, Keyed, Named, Scan, Seen, Through};

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
    let (collection, now) = (prepared.collection()?, session.now);
    let mut filling = Filling::new(question);
    while let Some(named) = filling.ask() {
        let through = Through { scan: &filling.scan, named, collection, index };
        let Some(joined) = session.scan_through(&through).await? else { return Ok(None) };
        let Joined { entries, rows } = joined;
        let mut rows = rows.into_iter();
        for entry in entries.rows {
            let row = rows.next();
            let leads_to = match &row {
                Some(Some(row)) if row.row.is_live(now) => Leads::Row,
                Some(_) => Leads::Nowhere,
                None => Leads::Unread,
            };
            if filling.wants(entry.row.is_live(now), leads_to)
                && let Some(Some(row)) = row
            {
                filling.taken += usize::from(take(row)?);
            }
            filling.pass(entry.key.as_ref());
        }
        filling.end(entries.end)?;
    }
    Ok(Some(filling.mark()))
}

/// The same page from a store that answers without waiting, its rows shown one after the other: of
/// an index that leads to rows, and a pattern that answers them as they are.
pub(super) fn show(
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    (prepared, index): (&Prepared, &IndexSchema),
    question: Question<'_>,
    showing: &mut Showing<'_>,
) -> Result<Option<Mark>> {
    let (collection, now) = (prepared.collection()?, session.now);
    let mut filling = Filling::new(question);
    while let Some(named) = filling.ask() {
        let scan = filling.scan.clone();
        let through = Through { scan: &scan, named, collection, index };
        let versions = showing.versions;
        let mut show = filling.showing(now, showing);
        let end = session.each_through(store, &through, versions, &mut show)?;
        drop(show);
        filling.end(end)?;
    }
    Ok(filling.mark())
}

/// The same from any store; nothing from one that reads entries and rows apart.
pub(super) async fn show_later(
    session: &mut Session<'_>,
    (prepared, index): (&Prepared, &IndexSchema),
    question: Question<'_>,
    showing: &mut Showing<'_>,
) -> Result<Option<Option<Mark>>> {
    let (collection, now) = (prepared.collection()?, session.now);
    let mut filling = Filling::new(question);
    while let Some(named) = filling.ask() {
        let scan = filling.scan.clone();
        let through = Through { scan: &scan, named, collection, index };
        let versions = showing.versions;
        let mut show = filling.showing(now, showing);
        let end = session.each_through_later(&through, versions, &mut show).await?;
        drop(show);
        let Some(end) = end else { return Ok(None) };
        filling.end(end)?;
    }
    Ok(Some(filling.mark()))
}

/// Where an entry leads.
enum Leads {
    /// To a row that has not ended.
    Row,
    /// To none.
    Nowhere,
    /// Nobody has looked.
    Unread,
}

/// A page that is being filled.
struct Filling {
    /// What is read next.
    scan: Scan,
    budget: Budget,
    limit: usize,
    taken: usize,
    /// The last entry that counts as read.
    last: Vec<u8>,
    /// Entries of this stretch.
    entries: u64,
    /// Whether a live entry follows that was not taken.
    is_more: bool,
    /// Whether all of the range was read.
    is_read: bool,
}

impl Filling {
    fn new(question: Question<'_>) -> Self {
        let Question { reach, reverse, mark, limit, budget } = question;
        let range = match mark {
            Some(Mark::Key(last)) => intersection(&reach.range, &reach.range.after(last, reverse)),
            _ => reach.range.clone(),
        };
        let is_read = range.is_empty();
        let scan = Scan { range, reverse, rows: 0 };
        let last = Vec::new();
        Filling { scan, budget, limit, taken: 0, last, entries: 0, is_more: false, is_read }
    }

    fn lacks(&self) -> usize {
        self.limit.saturating_sub(self.taken)
    }

    /// How many rows are to be read next; nothing if the page is done.
    fn ask(&mut self) -> Option<usize> {
        if self.is_read || (self.is_more && self.lacks() == 0) {
            return None;
        }
        // Where many fall out, a page of them is read at a time; one more says whether there is
        // more.
        let named = match self.last.is_empty() {
            false if self.lacks() > 0 => self.limit,
            _ => self.lacks(),
        };
        self.scan.rows = usize::try_from(self.budget.rows).unwrap_or(usize::MAX).min(named + 1);
        if self.budget.scans == 0 || self.scan.rows == 0 {
            return None;
        }
        self.budget.scans -= 1;
        (self.entries, self.is_more) = (0, false);
        Some(named)
    }

    /// Shows the rows of the page that entries lead to.
    fn showing<'f>(
        &'f mut self,
        now: Milliseconds,
        showing: &'f mut Showing<'_>,
    ) -> impl FnMut(&Seen<'_>, Named<'_>) -> Result<()> + Send + 'f {
        move |entry, named| {
            let leads_to = match &named {
                Named::Row(row) if row.is_live(now) => Leads::Row,
                Named::Row(_) | Named::Nothing => Leads::Nowhere,
                Named::Unread => Leads::Unread,
            };
            if self.wants(entry.is_live(now), leads_to)
                && let Named::Row(row) = &named
            {
                showing.show(row)?;
                self.taken += 1;
            }
            self.pass(entry.key);
            Ok(())
        }
    }

    /// Whether the row that an entry leads to is one of the page.
    fn wants(&mut self, is_live: bool, leads: Leads) -> bool {
        let is_row = matches!(leads, Leads::Row);
        self.is_more |= is_live && (matches!(leads, Leads::Unread) || is_row && self.lacks() == 0);
        is_live && is_row && !self.is_more
    }

    /// Counts an entry as read, unless one before it was one too many.
    fn pass(&mut self, entry: &[u8]) {
        self.entries += 1;
        if !self.is_more {
            self.last.clear();
            self.last.extend_from_slice(entry);
        }
    }

    /// The stretch is read.
    fn end(&mut self, end: End) -> Result<()> {
        self.budget.rows = self.budget.rows.saturating_sub(self.entries);
        self.is_read = end == End::Range && !self.is_more;
        if self.is_read || (self.is_more && self.lacks() == 0) {
            return Ok(());
        }
        if self.last.is_empty() {
            return Err(endless());
        }
        self.scan.range = self.scan.range.after(&Key::from(self.last.clone()), self.scan.reverse);
        self.is_read = self.scan.range.is_empty();
        Ok(())
    }

    /// The last entry that was read, if there may be more behind it.
    fn mark(self) -> Option<Mark> {
        (!self.is_read && !self.last.is_empty()).then(|| Mark::Key(Key::from(self.last)))
    }
}

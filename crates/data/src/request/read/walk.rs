//! The rows of a range in order, read a stretch at a time and never more than a page may read.
//!
//! ```text
//! range ───────────────────────────────────▶ scan ─▶ scan ─▶ …                 whole
//! range ─▶ directory: slices that are there ─▶ scan a slice ─▶ scan the next ─▶ …   cut in slices
//!          └ and at once the slice that was first before; read in vain if it no longer is
//! ```
//!
//! Rows that have ended are passed over here. A walk knows after which key, or which slice, it
//! would have to be taken up again; it never answers from a slice that the directory does not name.

use super::range::{Reach, intersection};
use super::slices::{Directory, Stretch};
use crate::error::{Error, ErrorKind, Result};
use crate::request::Showing;
use crate::request::cursor::Mark;
use crate::schema::KeyShape;
use crate::session::Session;
use crate::store::{End, Key, Keyed, Page, Scan, Seen};
use bytes::Bytes;
use std::collections::VecDeque;

/// What a walk may still read.
#[derive(Clone, Copy, Debug)]
pub(in crate::request) struct Budget {
    /// Scans.
    pub scans: u64,
    /// Rows.
    pub rows: u64,
}

/// A walk over a range.
#[derive(Debug)]
pub(in crate::request) struct Walk<'w> {
    reverse: bool,
    budget: Budget,
    /// Where to ask for slices.
    directory: Option<Directory<'w>>,
    /// Whether it was not asked yet.
    is_unasked: bool,
    /// What is still to be read of the range, or of the slice walked in.
    current: Option<Stretch>,
    /// The numbers of the slices after it.
    ahead: VecDeque<i64>,
    /// Whether the directory names more than may be read.
    cut_off: bool,
    /// What was read and not yet asked for.
    buffer: VecDeque<Keyed>,
    /// The slice that ends with the buffer.
    done: Option<i64>,
    mark: Option<Mark>,
}

/// What comes next.
#[derive(Debug)]
pub(in crate::request) enum Next {
    /// A live row. It counts as read only after [`Walk::pass`].
    Row(Keyed),
    /// There is no more.
    End,
    /// There may be more, but not in this call.
    Enough,
}

impl<'w> Walk<'w> {
    /// A walk from the beginning, or from where another one ended. Nothing is read yet.
    pub fn new(
        shape: &'w KeyShape,
        reach: &'w Reach,
        (reverse, mark): (bool, Option<Mark>),
        budget: Budget,
    ) -> Result<Walk<'w>> {
        let range = match &mark {
            Some(Mark::Key(last)) => intersection(&reach.range, &reach.range.after(last, reverse)),
            _ => reach.range.clone(),
        };
        let (mut directory, mut current) = (None, None);
        match &shape.slices {
            Some(slices) if reach.fixed == shape.group => {
                let walked = (reverse, mark.as_ref());
                directory = Some(Directory::of((shape, slices), (reach, range), walked)?);
            }
            _ => current = Some(Stretch { range, slice: None }),
        }
        Ok(Walk {
            reverse,
            budget,
            is_unasked: directory.is_some(),
            directory,
            current,
            ahead: VecDeque::new(),
            cut_off: false,
            buffer: VecDeque::new(),
            done: None,
            mark,
        })
    }

    /// The slice that the directory named first when it was last read; nothing if it was read
    /// already, or nobody remembers, or a store answers both without a wait.
    fn guess(&self, session: &Session<'_>) -> Option<Stretch> {
        let directory = self.directory.as_ref().filter(|_| self.is_unasked)?;
        let (name, shared) = (directory.name.as_deref()?, session.shared()?);
        if session.at_once().is_some() {
            return None;
        }
        let (number, range) = shared.first_slice(name)?;
        Some(Stretch { range, slice: Some(number) })
    }

    /// Asks the directory which slices there are, if it was not asked.
    async fn find_slices(&mut self, session: &mut Session<'_>) -> Result<()> {
        let Some(directory) = self.directory.as_ref().filter(|_| self.is_unasked) else {
            return Ok(());
        };
        let page = session.scan(&directory.scan).await?;
        self.take_slices(session, &page)?;
        self.current = self.next_slice()?;
        Ok(())
    }

    /// Goes through the slices that the directory names, and remembers the first.
    fn take_slices(&mut self, session: &Session<'_>, page: &Page) -> Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        (self.ahead, self.cut_off) = directory.named(page, session.now)?;
        self.is_unasked = false;
        if let (Some(shared), Some(name), Some(first)) =
            (session.shared(), &directory.name, self.ahead.front())
        {
            shared.learn_first(name, *first, || Ok(directory.stretch(*first)?.range))?;
        }
        Ok(())
    }

    /// The next slice that the directory names.
    fn next_slice(&mut self) -> Result<Option<Stretch>> {
        let (Some(directory), Some(number)) = (&self.directory, self.ahead.pop_front()) else {
            return Ok(None);
        };
        directory.stretch(number).map(Some)
    }

    /// The next live row; a scan asks for so many rows.
    pub async fn next(&mut self, session: &mut Session<'_>, rows: u64) -> Result<Next> {
        loop {
            while let Some(keyed) = self.buffer.pop_front() {
                if keyed.row.is_live(session.now) {
                    return Ok(Next::Row(keyed));
                }
                self.mark = Some(Mark::Key(keyed.key));
            }
            if let Some(over) = self.read_on(session, rows).await? {
                return Ok(over);
            }
        }
    }

    /// The rows of the next stretch as they were read, all but one that is too many: where they all
    /// are live and wanted, as almost always, none is looked at or moved by itself. They count as
    /// read. Whoever gets none learns from [`Walk::next`] what comes.
    pub async fn next_stretch(
        &mut self,
        session: &mut Session<'_>,
        (most, rows): (u64, u64),
    ) -> Result<Vec<Keyed>> {
        if self.buffer.is_empty() && self.read_on(session, rows).await?.is_some() {
            return Ok(Vec::new());
        }
        let (most, now) = (usize::try_from(most).unwrap_or(usize::MAX), session.now);
        let fits = self.buffer.len() <= most.saturating_add(1);
        if !fits || !self.buffer.iter().all(|keyed| keyed.row.is_live(now)) {
            return Ok(Vec::new());
        }
        let mut found = Vec::from(std::mem::take(&mut self.buffer));
        if found.len() > most {
            self.buffer.extend(found.pop());
        }
        if let Some(last) = found.last() {
            self.pass(last);
        }
        Ok(found)
    }

    /// Reads where nothing is left to be asked for; says so if there is no more to read.
    async fn read_on(&mut self, session: &mut Session<'_>, rows: u64) -> Result<Option<Next>> {
        if let Some(done) = self.done.take() {
            self.mark = Some(Mark::Slice(done));
        }
        let rows = rows.min(self.budget.rows);
        if let Some(stretch) = self.guess(session) {
            return self.read_guessed(session, stretch, rows).await;
        }
        self.find_slices(session).await?;
        let Some(current) = self.current.take() else {
            return Ok(Some(if self.cut_off { Next::Enough } else { Next::End }));
        };
        if self.budget.scans == 0 || rows == 0 {
            self.current = Some(current);
            return Ok(Some(Next::Enough));
        }
        let scan = self.scan(&current, rows);
        let page = session.scan(&scan).await?;
        self.take_page(&scan, current.slice, page)?;
        Ok(None)
    }

    /// Reads the directory and a slice at once; the slice counts if it still is the first.
    async fn read_guessed(
        &mut self,
        session: &mut Session<'_>,
        stretch: Stretch,
        rows: u64,
    ) -> Result<Option<Next>> {
        let scan = self.scan(&stretch, rows);
        let directory = self.directory.as_ref().ok_or_else(endless)?.scan.clone();
        let pages = session.scan_together(&[directory, scan.clone()]).await?;
        let [names, page] = <[Page; 2]>::try_from(pages).map_err(|_| endless())?;
        self.take_slices(session, &names)?;
        match self.ahead.pop_front_if(|first| Some(*first) == stretch.slice) {
            Some(_) => self.take_page(&scan, stretch.slice, page)?,
            None => self.current = self.next_slice()?,
        }
        Ok(None)
    }

    fn scan(&self, stretch: &Stretch, rows: u64) -> Scan {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        Scan { range: stretch.range.clone(), reverse: self.reverse, rows }
    }

    /// Takes what a scan gave of a stretch.
    fn take_page(&mut self, scan: &Scan, slice: Option<i64>, page: Page) -> Result<()> {
        let last = page.rows.last().map(|last| &last.key);
        self.go_on(scan, slice, (page.rows.len() as u64, page.end), last)?;
        match self.buffer.is_empty() {
            // Without moving a row.
            true => self.buffer = VecDeque::from(page.rows),
            false => self.buffer.extend(page.rows),
        }
        Ok(())
    }

    /// Goes on behind what a scan has read of a stretch.
    fn go_on(
        &mut self,
        scan: &Scan,
        slice: Option<i64>,
        (read, end): (u64, End),
        last: Option<&Key>,
    ) -> Result<()> {
        self.budget.scans -= u64::from(!scan.range.is_empty());
        self.budget.rows = self.budget.rows.saturating_sub(read);
        match (end, last) {
            (End::Range, _) => {
                self.done = slice;
                self.current = self.next_slice()?;
            }
            (_, Some(last)) => {
                let range = scan.range.after(last, self.reverse);
                self.current = Some(Stretch { range, slice });
            }
            (_, None) => return Err(endless()),
        }
        Ok(())
    }

    /// Shows rows, so many at most, of a range in which none has ended; says whether there are no
    /// more.
    pub async fn show(
        &mut self,
        session: &mut Session<'_>,
        limit: usize,
        showing: &mut Showing<'_>,
    ) -> Result<bool> {
        let (mut shown, mut last, versions) = (0, Vec::new(), showing.versions);
        loop {
            if let Some(done) = self.done.take() {
                self.mark = Some(Mark::Slice(done));
            }
            let Some((current, is_guess)) = self.next_shown(session).await? else {
                return Ok(!self.cut_off);
            };
            let left = usize::try_from(self.budget.rows).unwrap_or(usize::MAX);
            let rows = (limit - shown).saturating_add(1).min(left);
            if self.budget.scans == 0 || rows == 0 {
                self.current = Some(current);
                return Ok(false);
            }
            let Stretch { range, slice } = current;
            let scan = Scan { range, reverse: self.reverse, rows };
            let (mut read, mut is_more) = (0, false);
            let mut show = |row: &Seen<'_>| {
                read += 1;
                is_more = shown == limit;
                if !is_more {
                    shown += 1;
                    last.clear();
                    last.extend_from_slice(row.key);
                    showing.show(row)?;
                }
                Ok(!is_more)
            };
            let end = match self.directory.as_ref().filter(|_| is_guess) {
                None => session.each_later(&scan, versions, &mut show).await?,
                Some(directory) => {
                    let now = session.now;
                    let is_right = |page: &Page| Ok(directory.first(page, now)? == slice);
                    let both = (&directory.scan, &scan);
                    let read = session.each_guessed(both, versions, &is_right, &mut show).await?;
                    self.take_slices(session, &read.0)?;
                    let Some(end) = read.1 else {
                        self.current = self.next_slice()?;
                        continue;
                    };
                    self.ahead.pop_front();
                    end
                }
            };
            let key = (read > u64::from(is_more)).then(|| Key::new(Bytes::copy_from_slice(&last)));
            if let Some(key) = &key {
                self.mark = Some(Mark::Key(key.clone()));
            }
            if is_more {
                return Ok(false);
            }
            self.go_on(&scan, slice, (read, end), key.as_ref())?;
        }
    }

    /// The stretch to be shown next, and whether it is a guess.
    async fn next_shown(&mut self, session: &mut Session<'_>) -> Result<Option<(Stretch, bool)>> {
        if let Some(stretch) = self.guess(session) {
            return Ok(Some((stretch, true)));
        }
        self.find_slices(session).await?;
        Ok(self.current.take().map(|current| (current, false)))
    }

    /// Counts a row as read.
    pub fn pass(&mut self, row: &Keyed) {
        self.mark = Some(Mark::Key(row.key.clone()));
    }

    /// Takes a row back that was looked at only.
    pub fn put_back(&mut self, row: Keyed) {
        self.buffer.push_front(row);
    }

    /// Where to go on.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }
}

#[cold]
pub(super) fn endless() -> Error {
    Error::new(ErrorKind::Internal, "a store answered neither rows nor the end of a range")
}

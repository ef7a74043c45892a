//! The rows of a range in order, read a stretch at a time and never more than a page may read.
//!
//! ```text
//! range ───────────────────────────────────▶ scan ─▶ scan ─▶ …                 whole
//! range ─▶ directory: slices that are there ─▶ scan a slice ─▶ scan the next ─▶ …   cut in slices
//! ```
//!
//! Rows that have ended are passed over here. A walk knows after which key, or which slice, it
//! would have to be taken up again; it never reads a slice that the directory does not name.

use super::range::{Reach, intersection};
use crate::error::{Error, ErrorKind, Result};
use crate::request::Showing;
use crate::request::cursor::Mark;
use crate::schema::{KeyShape, Slices};
use crate::session::Session;
use crate::store::{End, Key, Keyed, Range, Scan, Seen, limits};
use crate::value::Value;
use bytes::Bytes;
use keyspace::key::{self, Direction, KeyType};
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
pub(in crate::request) struct Walk {
    reverse: bool,
    budget: Budget,
    /// What is still to be read of the range, or of the slice walked in.
    current: Option<Stretch>,
    /// Slices after it.
    ahead: VecDeque<Stretch>,
    /// Whether the directory names more than may be read.
    cut_off: bool,
    /// What was read and not yet asked for.
    buffer: VecDeque<Keyed>,
    /// The slice that ends with the buffer.
    done: Option<i64>,
    mark: Option<Mark>,
}

/// A range of one place.
#[derive(Debug)]
struct Stretch {
    range: Range,
    slice: Option<i64>,
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

impl Walk {
    /// A walk from the beginning, or from where another one ended.
    pub async fn begin(
        session: &mut Session<'_>,
        shape: &KeyShape,
        reach: &Reach,
        (reverse, mark): (bool, Option<Mark>),
        budget: Budget,
    ) -> Result<Walk> {
        let mut walk = Walk {
            reverse,
            budget,
            current: None,
            ahead: VecDeque::new(),
            cut_off: false,
            buffer: VecDeque::new(),
            done: None,
            mark,
        };
        let range = match &walk.mark {
            Some(Mark::Key(last)) => intersection(&reach.range, &reach.range.after(last, reverse)),
            _ => reach.range.clone(),
        };
        match &shape.slices {
            Some(slices) if reach.fixed == shape.group => {
                walk.find_slices(session, shape, slices, (reach, &range)).await?;
            }
            _ => walk.current = Some(Stretch { range, slice: None }),
        }
        Ok(walk)
    }

    /// Asks the directory which slices there are, in the direction of the walk.
    async fn find_slices(
        &mut self,
        session: &mut Session<'_>,
        shape: &KeyShape,
        slices: &Slices,
        (reach, range): (&Reach, &Range),
    ) -> Result<()> {
        let missing = || Error::new(ErrorKind::Internal, "a slice has no segment to be cut by");
        let by = *shape.segments.get(shape.group).ok_or_else(missing)?;
        let latest_first = (by.direction == Direction::Descending) != self.reverse;
        let number =
            |value: &Option<Value>| value.as_ref().map(|value| slices.number_of(value)).transpose();
        let (mut low, mut high) = (number(&reach.from)?, number(&reach.before)?);
        match (self.resumed(shape, slices)?, latest_first) {
            (Some(first), false) => low = low.max(Some(first)),
            (Some(first), true) => high = Some(high.map_or(first, |high| high.min(first))),
            (None, _) => {}
        }
        let front = directory_front(slices, &reach.front)?;
        let from = low.map(key::Value::I64);
        let before = high.and_then(|high| high.checked_add(1)).map(key::Value::I64);
        let named = key::between(&front, KeyType::I64.ascending(), from.as_ref(), before.as_ref())?;
        let most = limits::PAGE_SLICES_MAX as usize;
        let scan = Scan { range: named.into(), reverse: latest_first, rows: most + 1 };
        let page = session.scan(&scan).await?;
        self.cut_off = page.rows.len() > most || page.end != End::Range;
        let now = session.now;
        for keyed in page.rows.iter().take(most).filter(|keyed| keyed.row.is_live(now)) {
            let number = slice_number(slices, &keyed.key)?;
            let of_slice = slices.range(&reach.front, by, number)?;
            let range = intersection(range, &of_slice);
            self.ahead.push_back(Stretch { range, slice: Some(number) });
        }
        self.current = self.ahead.pop_front();
        Ok(())
    }

    /// The first slice to look for again.
    fn resumed(&self, shape: &KeyShape, slices: &Slices) -> Result<Option<i64>> {
        Ok(match &self.mark {
            None => None,
            Some(Mark::Slice(done)) => {
                let by = shape.segments.get(shape.group);
                let descending = by.is_some_and(|by| by.direction == Direction::Descending);
                let step = if descending != self.reverse { -1 } else { 1 };
                Some(done.saturating_add(step))
            }
            Some(Mark::Key(last)) => {
                let values = shape.decode(last)?;
                let missing = || Error::new(ErrorKind::Internal, "a key has too few segments");
                let value = values.get(shape.group).ok_or_else(missing)?;
                Some(slices.number_of(value)?)
            }
        })
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
        let Some(current) = self.current.take() else {
            return Ok(Some(if self.cut_off { Next::Enough } else { Next::End }));
        };
        let rows = rows.min(self.budget.rows);
        if self.budget.scans == 0 || rows == 0 {
            self.current = Some(current);
            return Ok(Some(Next::Enough));
        }
        self.read(session, current, rows).await?;
        Ok(None)
    }

    /// Reads a stretch, or what a scan gives of it.
    async fn read(&mut self, session: &mut Session<'_>, stretch: Stretch, rows: u64) -> Result<()> {
        let Stretch { range, slice } = stretch;
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let scan = Scan { range, reverse: self.reverse, rows };
        self.budget.scans -= u64::from(!scan.range.is_empty());
        let page = session.scan(&scan).await?;
        self.budget.rows = self.budget.rows.saturating_sub(page.rows.len() as u64);
        match (page.end, page.rows.last()) {
            (End::Range, _) => {
                self.done = slice;
                self.current = self.ahead.pop_front();
            }
            (_, Some(last)) => {
                let range = scan.range.after(&last.key, self.reverse);
                self.current = Some(Stretch { range, slice });
            }
            (_, None) => return Err(endless()),
        }
        match self.buffer.is_empty() {
            // Without moving a row.
            true => self.buffer = VecDeque::from(page.rows),
            false => self.buffer.extend(page.rows),
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
            let Some(current) = self.current.take() else { return Ok(!self.cut_off) };
            let left = usize::try_from(self.budget.rows).unwrap_or(usize::MAX);
            let rows = (limit - shown).saturating_add(1).min(left);
            if self.budget.scans == 0 || rows == 0 {
                self.current = Some(current);
                return Ok(false);
            }
            let Stretch { range, slice } = current;
            let scan = Scan { range, reverse: self.reverse, rows };
            self.budget.scans -= u64::from(!scan.range.is_empty());
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
            let end = session.each_later(&scan, versions, &mut show).await?;
            self.budget.rows = self.budget.rows.saturating_sub(read);
            if read > u64::from(is_more) {
                self.mark = Some(Mark::Key(Key::new(Bytes::copy_from_slice(&last))));
            }
            match (end, &self.mark) {
                _ if is_more => return Ok(false),
                (End::Range, _) => {
                    self.done = slice;
                    self.current = self.ahead.pop_front();
                }
                (_, Some(Mark::Key(last))) if read > 0 => {
                    let range = scan.range.after(last, self.reverse);
                    self.current = Some(Stretch { range, slice });
                }
                _ => return Err(endless()),
            }
        }
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

/// The group in the directory's space: the same segments behind another number.
fn directory_front(slices: &Slices, front: &[u8]) -> Result<Vec<u8>> {
    let missing = || Error::new(ErrorKind::Internal, "a key has no number");
    let mut own = slices.directory.space.to_be_bytes().to_vec();
    own.extend_from_slice(front.get(2..).ok_or_else(missing)?);
    Ok(own)
}

fn slice_number(slices: &Slices, key: &Key) -> Result<i64> {
    match slices.directory.decode(key)?.pop() {
        Some(Value::I64(number)) => Ok(number),
        _ => Err(Error::new(ErrorKind::Corrupt, "a directory of slices names no slice")),
    }
}

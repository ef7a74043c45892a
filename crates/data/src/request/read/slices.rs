//! Which time slices a walk goes through, in its direction: those that the directory names.
//!
//! ```text
//! range, mark ─▶ scan of the directory ─▶ numbers of slices ─▶ of each, what the range has of it
//! ```
//!
//! Of a whole group the directory almost always names the slice first that it named first before:
//! who remembers it can read both at once.

use super::range::{Reach, intersection};
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::request::cursor::Mark;
use crate::schema::{KeyShape, Slices};
use crate::store::{End, Key, Page, Range, Scan, limits};
use crate::value::Value;
use keyspace::key::{self, Direction, KeyType};
use std::collections::VecDeque;

/// A range of one place.
#[derive(Debug)]
pub(super) struct Stretch {
    pub range: Range,
    pub slice: Option<i64>,
}

/// The directory of a group's slices, not yet read.
#[derive(Debug)]
pub(super) struct Directory<'w> {
    slices: &'w Slices,
    by: key::Segment,
    /// The front of the rows' keys.
    front: &'w [u8],
    /// What is walked of all slices.
    range: Range,
    /// What is asked of it.
    pub scan: Scan,
    /// What its first slice is remembered by, if all of it is asked for.
    pub name: Option<Vec<u8>>,
}

impl<'w> Directory<'w> {
    /// The directory of the slices that a range may have rows in.
    pub fn of(
        (shape, slices): (&KeyShape, &'w Slices),
        (reach, range): (&'w Reach, Range),
        (reverse, mark): (bool, Option<&Mark>),
    ) -> Result<Directory<'w>> {
        let missing = || Error::new(ErrorKind::Internal, "a slice has no segment to be cut by");
        let by = *shape.segments.get(shape.group).ok_or_else(missing)?;
        let latest_first = (by.direction == Direction::Descending) != reverse;
        let number =
            |value: &Option<Value>| value.as_ref().map(|value| slices.number_of(value)).transpose();
        let (mut low, mut high) = (number(&reach.from)?, number(&reach.before)?);
        match (resumed(shape, slices, latest_first, mark)?, latest_first) {
            (Some(first), false) => low = low.max(Some(first)),
            (Some(first), true) => high = Some(high.map_or(first, |high| high.min(first))),
            (None, _) => {}
        }
        let front = directory_front(slices, &reach.front)?;
        let from = low.map(key::Value::I64);
        let before = high.and_then(|high| high.checked_add(1)).map(key::Value::I64);
        let named = key::between(&front, KeyType::I64.ascending(), from.as_ref(), before.as_ref())?;
        let rows = limits::PAGE_SLICES_MAX as usize + 1;
        let name = (low.is_none() && high.is_none()).then(|| {
            let mut name = front;
            name.push(u8::from(latest_first));
            name
        });
        let scan = Scan { range: named.into(), reverse: latest_first, rows };
        Ok(Directory { slices, by, front: &reach.front, range, scan, name })
    }

    /// What the range has of a slice.
    pub fn stretch(&self, number: i64) -> Result<Stretch> {
        let whole = self.slices.range(self.front, self.by, number)?;
        Ok(Stretch { range: intersection(&self.range, &whole), slice: Some(number) })
    }

    /// The numbers of the slices that it names, as many as may be read, and whether there are more.
    pub fn named(&self, page: &Page, now: Milliseconds) -> Result<(VecDeque<i64>, bool)> {
        let most = limits::PAGE_SLICES_MAX as usize;
        let live = page.rows.iter().take(most).filter(|keyed| keyed.row.is_live(now));
        let numbers = live.map(|keyed| slice_number(self.slices, &keyed.key));
        let all: Result<VecDeque<i64>> = numbers.collect();
        Ok((all?, page.rows.len() > most || page.end != End::Range))
    }

    /// The first slice that it names.
    pub fn first(&self, page: &Page, now: Milliseconds) -> Result<Option<i64>> {
        let first = page.rows.iter().find(|keyed| keyed.row.is_live(now));
        first.map(|keyed| slice_number(self.slices, &keyed.key)).transpose()
    }
}

/// The first slice to look for again.
fn resumed(
    shape: &KeyShape,
    slices: &Slices,
    latest_first: bool,
    mark: Option<&Mark>,
) -> Result<Option<i64>> {
    Ok(match mark {
        None => None,
        Some(Mark::Slice(done)) => Some(done.saturating_add(if latest_first { -1 } else { 1 })),
        Some(Mark::Key(last)) => {
            let values = shape.decode(last)?;
            let missing = || Error::new(ErrorKind::Internal, "a key has too few segments");
            let value = values.get(shape.group).ok_or_else(missing)?;
            Some(slices.number_of(value)?)
        }
    })
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

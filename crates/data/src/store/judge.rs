//! The pure part of a commit: whether a batch holds, and what it then changes.
//!
//! ```text
//! checks, in order ─▶ adds, in order ─▶ effects: key ─▶ the row it now is, or none
//!        └──────────────────┴─ the first that does not hold ─▶ conflict, no effects
//! ```
//!
//! A whole-store atomic store calls this while no other commit can run, then applies the effects.
//! It reads only rows that are checked or added to: a put without a check costs no look-up.
//! A batch must have passed [`Batch::check_limits`]. Nothing is written here.

use super::{
    Batch, Conflict, Expect, Found, Key, Row, Total, Trail, Version, Where, WindowRule, Write,
};
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::collections::HashMap;

/// What a batch does to one row: it is now this, or gone.
pub type Effect = (Key, Option<Row>);

/// The same effect with bytes of its own, for a store that keeps it in memory: what a batch holds
/// may be slices of a buffer that would stay as a whole.
pub fn detached((key, row): Effect) -> Effect {
    let own = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    let row = row.map(|row| Row { value: own(&row.value), ..row });
    (Key::new(own(key.as_ref())), row)
}

/// What is to be done about a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Everything holds.
    Commit {
        /// What changes, each row once; counters have their last value.
        effects: Vec<Effect>,
        /// What each `Add` came to, in their order.
        totals: Vec<Total>,
    },
    /// Something does not hold.
    Conflict(Conflict),
}

/// What a batch does to one row, as the batch holds it: nothing is copied.
pub type Touch<'b> = (&'b Key, Made<'b>);

/// What a row is made.
#[derive(Clone, Copy, Debug)]
pub enum Made<'b> {
    /// This.
    Put {
        /// Its content.
        value: &'b Bytes,
        /// Its version.
        version: Option<Version>,
        /// When it ends.
        expires: Option<Milliseconds>,
        /// What the protocol over group-atomic stores keeps with it.
        trail: Option<&'b Trail>,
    },
    /// A counter with this total.
    Count(Total),
    /// There is none.
    Gone,
}

impl Made<'_> {
    /// The row it is now, if there is one.
    pub fn row(&self) -> Option<Row> {
        match self {
            Made::Put { value, version, expires, trail } => Some(Row {
                value: Bytes::clone(value),
                version: *version,
                expires: *expires,
                trail: trail.cloned().map(Box::new),
            }),
            Made::Count(total) => Some(counter_row(*total)),
            Made::Gone => None,
        }
    }
}

/// What [`weigh`] finds of a batch.
#[derive(Debug)]
pub enum Weighed<'b> {
    /// Everything holds.
    Commit {
        /// What changes, each row once; counters have their last value.
        touched: Vec<Touch<'b>>,
        /// What each `Add` came to, in their order.
        totals: Vec<Total>,
    },
    /// Something does not hold.
    Conflict(Conflict),
}

/// Judges a batch by the rows there are. `current` answers what lies under a key, be it expired or
/// a tombstone.
pub fn judge(batch: &Batch, current: impl FnMut(&Key) -> Result<Option<Row>>) -> Result<Judgement> {
    Ok(match weigh(batch, current)? {
        Weighed::Conflict(conflict) => Judgement::Conflict(conflict),
        Weighed::Commit { touched, totals } => {
            let effects = touched.into_iter().map(|(key, made)| (key.clone(), made.row()));
            Judgement::Commit { effects: effects.collect(), totals }
        }
    })
}

/// The same, for a store that needs no rows of its own to apply them.
pub fn weigh<'b>(
    batch: &'b Batch,
    mut current: impl FnMut(&Key) -> Result<Option<Row>>,
) -> Result<Weighed<'b>> {
    for (number, check) in batch.checks.iter().enumerate() {
        let row = current(&check.key)?;
        if let Err(found) = check.expect.meet(row.as_ref(), batch.now) {
            return Ok(Weighed::Conflict(Conflict { at: Where::Check(number), found }));
        }
    }
    let mut touched: Vec<Touch<'b>> = Vec::with_capacity(batch.writes.len());
    let mut totals = Vec::new();
    let adds = batch.writes.iter().filter(|write| matches!(write, Write::Add { .. })).count();
    // Where a counter lies among what is touched; of use only if there are several adds.
    let mut counters: HashMap<&Key, usize> = HashMap::new();
    for (number, write) in batch.writes.iter().enumerate() {
        match write {
            Write::Put { key, value, expires, versioned, trail } => {
                let version = versioned.then_some(batch.id);
                let trail = trail.as_deref();
                touched.push((key, Made::Put { value, version, expires: *expires, trail }));
            }
            Write::Delete { key } => touched.push((key, Made::Gone)),
            Write::Add { key, amount, expires, window } => {
                let earlier = counters.get(key).and_then(|place| touched.get_mut(*place));
                let before = match &earlier {
                    Some((_, Made::Count(total))) => Some(*total),
                    _ => count_of(current(key)?.as_ref(), batch.now)?,
                };
                let total = match add(before, *amount, *expires, *window) {
                    Ok(total) => total,
                    Err(found) => {
                        let at = Where::Write(number);
                        return Ok(Weighed::Conflict(Conflict { at, found }));
                    }
                };
                totals.push(total);
                match earlier {
                    Some((_, made)) => *made = Made::Count(total),
                    None => {
                        if adds > 1 {
                            counters.insert(key, touched.len());
                        }
                        touched.push((key, Made::Count(total)));
                    }
                }
            }
        }
    }
    Ok(Weighed::Commit { touched, totals })
}

impl Expect {
    /// Whether what lies there is what is expected, and otherwise what was found.
    ///
    /// `Physical` finds what lies there; the others find live rows only.
    pub fn meet(&self, row: Option<&Row>, now: Milliseconds) -> Result<(), Found> {
        let live = row.filter(|row| row.is_live(now));
        let (holds, seen) = match self {
            Expect::Absent => (live.is_none(), live),
            Expect::Present => (live.is_some(), live),
            Expect::Version(version) => {
                (live.is_some_and(|row| row.version == Some(*version)), live)
            }
            Expect::Physical(None) => (row.is_none(), row),
            Expect::Physical(version) => (row.is_some_and(|row| row.version == *version), row),
        };
        match (holds, seen) {
            (true, _) => Ok(()),
            (false, None) => Err(Found::Absent),
            (false, Some(row)) => Err(Found::Row(row.version)),
        }
    }
}

/// What a counter has come to: nothing if it is not there or has ended.
pub fn count_of(row: Option<&Row>, now: Milliseconds) -> Result<Option<Total>> {
    let Some(row) = row.filter(|row| row.is_live(now)) else { return Ok(None) };
    match (<[u8; 8]>::try_from(row.value.as_ref()), row.version) {
        (Ok(bytes), None) => {
            Ok(Some(Total { value: i64::from_be_bytes(bytes), expires: row.expires }))
        }
        _ => Err(Error::new(ErrorKind::Mismatch, "a row that is added to is no counter")
            .with("bytes", row.value.len())),
    }
}

/// The row of a counter.
pub fn counter_row(total: Total) -> Row {
    Row {
        value: Bytes::copy_from_slice(&total.value.to_be_bytes()),
        version: None,
        expires: total.expires,
        trail: None,
    }
}

/// What a counter comes to. A window is full wherever the true sum passes its limit, even where
/// `i64` could not hold the sum.
pub fn add(
    before: Option<Total>,
    amount: i64,
    expires: Option<Milliseconds>,
    window: Option<WindowRule>,
) -> Result<Total, Found> {
    let found = before.unwrap_or(Total { value: 0, expires: None });
    let sum = found.value.checked_add(amount);
    if let Some(rule) = window {
        let passes = sum.map_or(amount > 0, |sum| sum > rule.limit);
        if passes {
            return Err(Found::Full(found));
        }
    }
    match sum {
        None => Err(Found::Overflow(found)),
        Some(value) => Ok(Total { value, expires: before.map_or(expires, |total| total.expires) }),
    }
}

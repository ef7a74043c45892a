//! What every store asks at its door: nothing too large, nothing that means two things.
//!
//! A store calls one of these before it looks at anything, so that what is refused has changed
//! nothing and the same call is refused alike everywhere. Nothing here reads a row.

use super::limits::{
    BATCH_BYTES_MAX, BATCH_CHECKS_MAX, BATCH_WRITES_MAX, KEY_BYTES_MAX, READ_ROWS_MAX,
    ROW_BYTES_MAX, VALUE_BYTES_MAX,
};
use super::{Batch, Key, Range, Scan, Trail, Write};
use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// Batches so small that comparing every pair of keys is cheaper than sorting them.
const FEW_WRITES: usize = 8;

impl Batch {
    /// Whether a whole-store atomic store may take it: sizes, counts, and each row changed in one
    /// way only. Several `Add`s of one counter are one way.
    pub fn check_limits(&self) -> Result<()> {
        at_most("a batch has too many checks", BATCH_CHECKS_MAX, self.checks.len())?;
        at_most("a batch has too many writes", BATCH_WRITES_MAX, self.writes.len())?;
        let mut bytes = 0;
        for check in &self.checks {
            check_key(&check.key)?;
            bytes += check.key.bytes().len();
        }
        for write in &self.writes {
            check_write(write)?;
            bytes += write.bytes();
        }
        check_batch_bytes(BATCH_BYTES_MAX, bytes)?;
        check_once(&self.writes)
    }
}

impl Scan {
    /// Whether it asks for a number of rows that may be asked for, between keys that can be.
    pub fn check_limits(&self) -> Result<()> {
        check_rows(self.rows)?;
        check_range(&self.range)
    }
}

/// Whether so many rows may be asked for.
pub fn check_rows(rows: usize) -> Result<()> {
    if rows == 0 {
        return Err(Error::new(ErrorKind::Argument, "a read asks for at least one row")
            .with("limit", 1)
            .with("given", 0));
    }
    at_most("a read asks for too many rows", READ_ROWS_MAX, rows)
}

/// Whether a batch of so many bytes may be committed.
pub fn check_batch_bytes(limit: u64, given: usize) -> Result<()> {
    at_most("a batch is too large", limit, given)
}

/// Whether these keys may be asked for together.
pub fn check_keys(keys: &[Key]) -> Result<()> {
    at_most("a get asks for too many keys", READ_ROWS_MAX, keys.len())?;
    keys.iter().try_for_each(check_key)
}

/// Whether a row may have this key.
pub fn check_key(key: &Key) -> Result<()> {
    at_most("a key is too long", KEY_BYTES_MAX, key.bytes().len())?;
    if key.bytes().len() < 2 {
        return Err(Error::new(ErrorKind::Argument, "a key begins with the number of its space")
            .with("limit", 2)
            .with("given", key.bytes().len()));
    }
    if key.space() == 0 {
        return Err(Error::new(ErrorKind::Argument, "no space has the number 0")
            .with("limit", 1)
            .with("given", 0));
    }
    Ok(())
}

/// The bounds of a range need be no keys, but one byte more than a key is all they ever need.
fn check_range(range: &Range) -> Result<()> {
    let longest = range.start.len().max(range.end.len());
    at_most("a bound of a range is too long", KEY_BYTES_MAX + 1, longest)
}

fn check_write(write: &Write) -> Result<()> {
    check_key(write.key())?;
    let Write::Put { value, trail, .. } = write else { return Ok(()) };
    at_most("a row is too large", ROW_BYTES_MAX, value.len())?;
    match trail {
        Some(trail) => {
            let given = trail.previous.len();
            at_most("a trail names too many commits", Trail::PREVIOUS_MAX, given)
        }
        None => Ok(()),
    }
}

/// Refuses a row that is written twice, unless it is a counter that is only added to.
fn check_once(writes: &[Write]) -> Result<()> {
    // Whoever makes a batch may have sorted it: then no key is there twice.
    if writes.is_sorted_by(|one, other| one.key() < other.key()) {
        return Ok(());
    }
    let unclear = |one: &Write, other: &Write| {
        let counts = |write: &Write| matches!(write, Write::Add { .. });
        one.key() == other.key() && !(counts(one) && counts(other))
    };
    let twice = if writes.len() <= FEW_WRITES {
        let mut rest = writes.iter();
        std::iter::from_fn(|| rest.next().map(|one| (one, rest.clone())))
            .any(|(one, mut later)| later.any(|other| unclear(one, other)))
    } else {
        let mut sorted: Vec<(u128, &Write)> =
            writes.iter().map(|write| (write.key().front(), write)).collect();
        sorted.sort_unstable_by(|(front, one), (other_front, other)| {
            front.cmp(other_front).then_with(|| one.key().cmp(other.key()))
        });
        sorted.array_windows().any(|[(_, one), (_, other)]| unclear(one, other))
    };
    match twice {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::Argument, "a batch writes one row in two ways")
            .with("limit", 1)
            .with("given", 2)),
    }
}

/// Whether a value, a body, or the fields of a record may have so many bytes.
pub(crate) fn check_value(message: &'static str, bytes: usize) -> Result<()> {
    at_most(message, VALUE_BYTES_MAX, bytes)
}

fn at_most<L>(message: &'static str, limit: L, given: usize) -> Result<()>
where
    L: TryInto<usize> + fmt::Display + Copy,
{
    if given <= limit.try_into().unwrap_or(usize::MAX) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TooLarge, message).with("limit", limit).with("given", given))
}

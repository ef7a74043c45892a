//! What a store must do, said as plainly as possible: a list of rows, searched from end to end.
//!
//! It shares no code with any store, so that one mistake cannot hide in both. It is slow, forgets
//! nothing, and lets no row go.

use crate::clock::Milliseconds;
use crate::store::{
    Batch, Check, CommitId, Conflict, Expect, Found, Key, Keyed, Outcome, Range, Row, Total, Where,
    Write,
};
use bytes::Bytes;

/// A store as a list.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    rows: Vec<Keyed>,
    committed: Vec<(CommitId, Vec<Total>)>,
}

impl Oracle {
    /// What lies under a key.
    pub fn lies(&self, key: &Key) -> Option<&Row> {
        find(&self.rows, key)
    }

    /// The row under a key, if it is there at `now`.
    pub fn row(&self, key: &Key, now: Milliseconds) -> Option<&Row> {
        self.lies(key).filter(|row| is_there(row, now))
    }

    /// All rows of a range that have not ended, in order. Tombstones lie there like other rows.
    pub fn scan(&self, range: &Range, reverse: bool, now: Milliseconds) -> Vec<Keyed> {
        let mut found: Vec<Keyed> = Vec::new();
        for keyed in &self.rows {
            let inside = range.start.as_ref() <= keyed.key.as_ref()
                && keyed.key.as_ref() < range.end.as_ref();
            if inside && !has_ended(&keyed.row, now) {
                found.push(keyed.clone());
            }
        }
        found.sort_by(|one, other| one.key.as_ref().cmp(other.key.as_ref()));
        if reverse {
            found.reverse();
        }
        found
    }

    /// Whether a batch was committed.
    pub fn has_committed(&self, id: &CommitId) -> bool {
        self.committed.iter().any(|(known, _)| known == id)
    }

    /// Everything a batch does.
    pub fn commit(&mut self, batch: &Batch) -> Outcome {
        for (id, totals) in &self.committed {
            if *id == batch.id {
                return Outcome::Committed { totals: totals.clone() };
            }
        }
        for (number, check) in batch.checks.iter().enumerate() {
            if let Some(found) = self.fails(check, batch.now) {
                return Outcome::Conflict(Conflict { at: Where::Check(number), found });
            }
        }
        // The writes change a copy, which is thrown away if one of them fails.
        let mut rows = self.rows.clone();
        let mut totals = Vec::new();
        for (number, write) in batch.writes.iter().enumerate() {
            match write {
                Write::Put { key, value, expires, versioned, trail } => {
                    let version = if *versioned { Some(batch.id) } else { None };
                    let (value, trail) = (value.clone(), trail.clone());
                    set(&mut rows, key, Some(Row { value, version, expires: *expires, trail }));
                }
                Write::Delete { key } => set(&mut rows, key, None),
                Write::Add { key, .. } => {
                    let before = find(&rows, key).filter(|row| is_there(row, batch.now));
                    match added(before, write) {
                        Err(found) => {
                            return Outcome::Conflict(Conflict { at: Where::Write(number), found });
                        }
                        Ok(total) => {
                            totals.push(total);
                            let value = Bytes::from(total.value.to_be_bytes().to_vec());
                            let expires = total.expires;
                            let row = Row { value, version: None, expires, trail: None };
                            set(&mut rows, key, Some(row));
                        }
                    }
                }
            }
        }
        self.rows = rows;
        self.committed.push((batch.id, totals.clone()));
        Outcome::Committed { totals }
    }

    /// What a check finds instead of what it expects.
    fn fails(&self, check: &Check, now: Milliseconds) -> Option<Found> {
        let lies = self.lies(&check.key);
        let there = self.row(&check.key, now);
        let describe = |row: Option<&Row>| match row {
            None => Found::Absent,
            Some(row) => Found::Row(row.version),
        };
        match check.expect {
            Expect::Absent if there.is_none() => None,
            Expect::Present if there.is_some() => None,
            Expect::Version(version) if there.is_some_and(|r| r.version == Some(version)) => None,
            Expect::Absent | Expect::Present | Expect::Version(_) => Some(describe(there)),
            Expect::Physical(None) if lies.is_none() => None,
            Expect::Physical(Some(version)) if lies.is_some_and(|r| r.version == Some(version)) => {
                None
            }
            Expect::Physical(_) => Some(describe(lies)),
        }
    }
}

fn has_ended(row: &Row, now: Milliseconds) -> bool {
    match row.expires {
        None => false,
        Some(end) => now >= end,
    }
}

fn is_there(row: &Row, now: Milliseconds) -> bool {
    let dead = match &row.trail {
        None => false,
        Some(trail) => trail.dead,
    };
    !dead && !has_ended(row, now)
}

fn find<'r>(rows: &'r [Keyed], key: &Key) -> Option<&'r Row> {
    rows.iter().find(|keyed| keyed.key == *key).map(|keyed| &keyed.row)
}

fn set(rows: &mut Vec<Keyed>, key: &Key, row: Option<Row>) {
    rows.retain(|keyed| keyed.key != *key);
    if let Some(row) = row {
        rows.push(Keyed { key: key.clone(), row });
    }
}

/// What a counter comes to, in numbers so wide that nothing overflows.
fn added(before: Option<&Row>, write: &Write) -> Result<Total, Found> {
    let Write::Add { amount, expires, window, .. } = write else {
        return Err(Found::Absent);
    };
    let found = match before {
        None => Total { value: 0, expires: None },
        Some(row) => {
            let bytes = row.value.iter();
            let number = bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            Total { value: number.cast_signed(), expires: row.expires }
        }
    };
    let sum = i128::from(found.value) + i128::from(*amount);
    if let Some(rule) = window
        && sum > i128::from(rule.limit)
    {
        return Err(Found::Full(found));
    }
    let expires = if before.is_some() { found.expires } else { *expires };
    match i64::try_from(sum) {
        Ok(value) => Ok(Total { value, expires }),
        Err(_) => Err(Found::Overflow(found)),
    }
}

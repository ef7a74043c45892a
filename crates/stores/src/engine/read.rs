//! Reads: rows by key and stretches of a range, all by one published snapshot.
//!
//! They run where they are called: a row that is in memory takes a microsecond, which no other
//! thread would be worth.

use super::error::reading;
use super::layout;
use super::tables;
use bytes::Bytes;
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Row, Scan, Show};
use fjall::{Guard, Keyspace, Readable, Snapshot};

/// Rows for which room is made before they are read.
const ROWS_EXPECTED: usize = 32;

/// The rows under these keys, in their order.
pub(super) fn get(snapshot: &Snapshot, rows: &Keyspace, keys: &[Key]) -> Result<Vec<Option<Row>>> {
    keys.iter().map(|key| get_one(snapshot, rows, key)).collect()
}

/// The row under a key.
pub(super) fn get_one(snapshot: &Snapshot, rows: &Keyspace, key: &Key) -> Result<Option<Row>> {
    let stored = tables::get(snapshot, rows, key.as_ref())?;
    stored.map(layout::decode_row).transpose()
}

/// A stretch of one range.
pub(super) fn scan(snapshot: &Snapshot, rows: &Keyspace, scan: &Scan) -> Result<Page> {
    let mut found = Vec::with_capacity(scan.rows.min(ROWS_EXPECTED));
    let end = each_stored(snapshot, rows, scan, |key, stored| {
        let row = layout::decode_row(stored)?;
        let weight = key.len() + row.weight();
        found.push(Keyed { key: Key::new(key), row });
        Ok((weight, true))
    })?;
    Ok(Page { rows: found, end })
}

/// Shows the rows of a stretch of one range, one after the other.
pub(super) fn each(
    snapshot: &Snapshot,
    rows: &Keyspace,
    scan: &Scan,
    show: &mut Show<'_>,
) -> Result<End> {
    each_stored(snapshot, rows, scan, |key, stored| {
        let row = layout::seen(&key, &stored)?;
        Ok((row.weight(), show(&row)?))
    })
}

/// Takes what is stored of a stretch. `take` says what each row weighs, and whether it wants more.
#[inline]
fn each_stored(
    snapshot: &Snapshot,
    rows: &Keyspace,
    scan: &Scan,
    take: impl FnMut(Bytes, Bytes) -> Result<(usize, bool)>,
) -> Result<End> {
    let range = layout::rows_of(&scan.range);
    if range.is_empty() {
        return Ok(End::Range);
    }
    let found = snapshot.range(rows, range.start..range.end);
    match scan.reverse {
        false => each_of(found, scan.rows, take),
        true => each_of(found.rev(), scan.rows, take),
    }
}

#[inline]
fn each_of(
    found: impl Iterator<Item = Guard>,
    rows_max: usize,
    mut take: impl FnMut(Bytes, Bytes) -> Result<(usize, bool)>,
) -> Result<End> {
    let (mut rows, mut bytes) = (0, 0);
    for entry in found {
        let (key, stored) = entry.into_inner().map_err(reading)?;
        let (weight, is_more) = take(key.into(), stored.into())?;
        rows += 1;
        bytes += weight;
        if rows >= rows_max || !is_more {
            return Ok(End::Rows);
        }
        if bytes >= PAGE_BYTES_MAX {
            return Ok(End::Bytes);
        }
    }
    Ok(End::Range)
}

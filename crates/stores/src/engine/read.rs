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
use data::store::{End, Key, Keyed, Row, Scan};
use fjall::{Guard, Keyspace, Readable, Snapshot};

/// The rows under these keys, in their order.
pub(super) fn get(snapshot: &Snapshot, rows: &Keyspace, keys: &[Key]) -> Result<Vec<Option<Row>>> {
    keys.iter().map(|key| get_one(snapshot, rows, key)).collect()
}

/// The row under a key.
pub(super) fn get_one(snapshot: &Snapshot, rows: &Keyspace, key: &Key) -> Result<Option<Row>> {
    let stored = tables::get(snapshot, rows, key.as_ref())?;
    stored.map(layout::decode_row).transpose()
}

/// Shows the rows of a stretch of one range, one after the other.
pub(super) fn each(
    snapshot: &Snapshot,
    rows: &Keyspace,
    scan: &Scan,
    show: &mut dyn FnMut(Keyed) -> Result<bool>,
) -> Result<End> {
    let range = layout::rows_of(&scan.range);
    if range.is_empty() {
        return Ok(End::Range);
    }
    let found = snapshot.range(rows, range.start..range.end);
    match scan.reverse {
        false => each_of(found, scan.rows, show),
        true => each_of(found.rev(), scan.rows, show),
    }
}

fn each_of(
    found: impl Iterator<Item = Guard>,
    rows_max: usize,
    show: &mut dyn FnMut(Keyed) -> Result<bool>,
) -> Result<End> {
    let (mut rows, mut bytes) = (0, 0);
    for entry in found {
        let (key, stored) = entry.into_inner().map_err(reading)?;
        let row = layout::decode_row(stored)?;
        rows += 1;
        bytes += key.len() + row.weight();
        let is_more = show(Keyed { key: Key::new(Bytes::from(key)), row })?;
        if rows >= rows_max || !is_more {
            return Ok(End::Rows);
        }
        if bytes >= PAGE_BYTES_MAX {
            return Ok(End::Bytes);
        }
    }
    Ok(End::Range)
}

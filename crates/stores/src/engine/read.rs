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
use data::store::{End, Key, Keyed, Page, Row, Scan};
use fjall::{Guard, Keyspace, Readable, Snapshot};

/// Rows for which room is made before they are read.
const ROWS_EXPECTED: usize = 64;

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
    let range = layout::rows_of(&scan.range);
    if range.is_empty() {
        return Ok(Page { rows: Vec::new(), end: End::Range });
    }
    let found = snapshot.range(rows, range.start..range.end);
    match scan.reverse {
        false => page(found, scan.rows),
        true => page(found.rev(), scan.rows),
    }
}

fn page(found: impl Iterator<Item = Guard>, rows_max: usize) -> Result<Page> {
    let mut rows = Vec::with_capacity(rows_max.min(ROWS_EXPECTED));
    let mut bytes = 0;
    for entry in found {
        let (key, stored) = entry.into_inner().map_err(reading)?;
        let key = Key::new(Bytes::from(key));
        let row = layout::decode_row(stored)?;
        bytes += key.bytes().len() + row.weight();
        rows.push(Keyed { key, row });
        if rows.len() >= rows_max {
            return Ok(Page { rows, end: End::Rows });
        }
        if bytes >= PAGE_BYTES_MAX {
            return Ok(Page { rows, end: End::Bytes });
        }
    }
    Ok(Page { rows, end: End::Range })
}

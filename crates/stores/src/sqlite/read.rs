//! Reads: rows by key and stretches of a range, all of one call as one COMMIT left them.
//!
//! They run where they are called: a row that is in memory takes microseconds, which no other
//! thread would be worth.

use super::error::failed;
use super::steps::{Step, between, takes};
use super::tables::{Table, Tables, prepared};
use crate::native::range::{Bounds, bounds, spaces};
use crate::sql::pack::Pack;
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Page, Row, Scan};
use rusqlite::Connection;

/// The rows under these keys, in their order.
pub(super) fn get(
    connection: &Connection,
    tables: &Tables,
    keys: &[Key],
) -> Result<Vec<Option<Row>>> {
    match keys {
        [] => Ok(Vec::new()),
        [key] => Ok(vec![tables.table(key.space())?.get(connection, key)?]),
        keys => at_once(connection, || many(connection, tables, keys)),
    }
}

/// Keys of one table that stand together have one statement.
fn many(connection: &Connection, tables: &Tables, keys: &[Key]) -> Result<Vec<Option<Row>>> {
    let mut rows = Vec::with_capacity(keys.len());
    for keys in keys.chunk_by(|one, other| one.space() == other.space()) {
        let Some(first) = keys.first() else { continue };
        let table = tables.table(first.space())?;
        let mut getter = table.getter(connection)?;
        for key in keys {
            between();
            rows.push(table.get_with(&mut getter, key)?);
        }
    }
    Ok(rows)
}

/// Runs several statements on what one COMMIT left: no batch is seen in part.
fn at_once<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if !takes(Step::OneCommit) {
        return work();
    }
    execute(connection, "BEGIN")?;
    let answer = work();
    // A reader has nothing to lose, whichever way it ends.
    execute(connection, "COMMIT")?;
    answer
}

/// Runs a statement without values.
pub(super) fn execute(connection: &Connection, text: &str) -> Result<()> {
    prepared(connection, text)?.raw_execute().map_err(failed)?;
    Ok(())
}

/// A stretch of one range.
pub(super) fn scan(connection: &Connection, tables: &Tables, scan: &Scan) -> Result<Page> {
    let mut stretches: Vec<(&Table, Bounds<'_>)> = Vec::new();
    if let Some(spaces) = spaces(&scan.range) {
        for table in tables.among(spaces) {
            let shape = table.shape.shape();
            let bounds = bounds(shape, &scan.range).into_iter();
            stretches.extend(bounds.flat_map(|b| b.stretches(shape)).map(|s| (table, s)));
        }
    }
    if scan.reverse {
        stretches.reverse();
    }
    match stretches.len() {
        0 | 1 => page(connection, stretches, scan),
        _ => at_once(connection, || page(connection, stretches, scan)),
    }
}

fn page(
    connection: &Connection,
    stretches: Vec<(&Table, Bounds<'_>)>,
    scan: &Scan,
) -> Result<Page> {
    let mut pack = Pack::new(scan.rows);
    let mut end = End::Range;
    for (table, stretch) in stretches {
        let left = scan.rows - pack.len();
        table.scan(connection, (stretch, scan.reverse), left, &mut pack)?;
        end = match pack.bytes() >= PAGE_BYTES_MAX {
            _ if pack.len() >= scan.rows => End::Rows,
            true => End::Bytes,
            false => continue,
        };
        break;
    }
    Ok(Page { rows: pack.finish(), end })
}

//! Reads: rows by key and stretches of a range, all of one call as one COMMIT left them.
//!
//! They run where they are called: a row that is in memory takes microseconds, which no other
//! thread would be worth.

use super::error::failed;
use super::steps::{Step, between, takes};
use super::tables::{Table, Tables, prepared};
use crate::native::range::{Bounds, bounds, spaces};
use crate::sql::shown::Shown;
use data::Result;
use data::store::{
    End, Gathered, Joined, Key, Named, Page, Row, Scan, Seen, Show, ShowNamed, Through, Versions,
};
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

/// Shows the rows of a stretch of one range, one after the other.
pub(super) fn each(
    connection: &Connection,
    tables: &Tables,
    (scan, versions): (&Scan, Versions),
    show: &mut Show<'_>,
) -> Result<End> {
    let stretches = stretches(tables, scan);
    together(connection, stretches.len(), || {
        each_of(connection, stretches, scan, (Shown::in_columns(versions), show))
    })
}

/// A stretch of one range.
pub(super) fn scan(connection: &Connection, tables: &Tables, scan: &Scan) -> Result<Page> {
    let stretches = stretches(tables, scan);
    together(connection, stretches.len(), || gathered(connection, stretches, scan))
}

fn gathered(connection: &Connection, stretches: Stretches<'_>, scan: &Scan) -> Result<Page> {
    let mut rows = Vec::new();
    let mut keep = |row: &Seen<'_>| {
        rows.push(row.to_keyed()?);
        Ok(true)
    };
    let end = each_of(connection, stretches, scan, (Shown::encoded(), &mut keep))?;
    Ok(Page { rows, end })
}

/// A stretch of an index with the rows that its entries name.
pub(super) fn scan_through(
    connection: &Connection,
    tables: &Tables,
    through: &Through<'_>,
) -> Result<Joined> {
    let mut gathered = Gathered::default();
    let mut keep = |entry: &Seen<'_>, named: Named<'_>| gathered.keep(entry, named);
    let end = show_through(connection, tables, through, (Shown::encoded(), &mut keep))?;
    Ok(gathered.finish(end))
}

/// Shows a stretch of an index with the rows that its entries name, one after the other.
pub(super) fn each_through(
    connection: &Connection,
    tables: &Tables,
    (through, versions): (&Through<'_>, Versions),
    show: &mut ShowNamed<'_>,
) -> Result<End> {
    show_through(connection, tables, through, (Shown::in_columns(versions), show))
}

fn show_through(
    connection: &Connection,
    tables: &Tables,
    through: &Through<'_>,
    (mut shown, show): (Shown, &mut ShowNamed<'_>),
) -> Result<End> {
    let Through { scan, named, collection, index } = *through;
    let entries = tables.table(index.key.space)?;
    let rows = tables.table(collection.key.space)?;
    let stretches = stretches(tables, scan);
    let join = entries.join(rows).filter(|_| named > 0);
    let Some(join) = join.filter(|_| stretches.iter().all(|(of, _)| std::ptr::eq(*of, entries)))
    else {
        let joined = at_once(connection, || {
            let page = gathered(connection, stretches, scan)?;
            between();
            through.join(page, |key| rows.get(connection, key))
        });
        return joined?.each(show);
    };
    together(connection, stretches.len(), || {
        for (table, stretch) in stretches {
            let of = (stretch, through);
            table.each_through(connection, (rows, join), of, &mut shown, show)?;
            if shown.end.is_some() {
                break;
            }
        }
        Ok(shown.end.unwrap_or(End::Range))
    })
}

/// Parts of a scan, each of one table.
type Stretches<'s> = Vec<(&'s Table, Bounds<'s>)>;

/// The stretches of a scan, in its order, with their tables.
fn stretches<'s>(tables: &'s Tables, scan: &'s Scan) -> Stretches<'s> {
    let mut stretches = Stretches::new();
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
    stretches
}

/// Runs so many statements on what one COMMIT left; one does so by itself.
fn together<T>(
    connection: &Connection,
    statements: usize,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match statements {
        0 | 1 => work(),
        _ => at_once(connection, work),
    }
}

fn each_of(
    connection: &Connection,
    stretches: Stretches<'_>,
    scan: &Scan,
    (mut shown, show): (Shown, &mut Show<'_>),
) -> Result<End> {
    for (table, stretch) in stretches {
        table.each(connection, (stretch, scan), &mut shown, show)?;
        if shown.end.is_some() {
            break;
        }
    }
    Ok(shown.end.unwrap_or(End::Range))
}

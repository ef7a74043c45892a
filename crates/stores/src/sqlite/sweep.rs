//! Sweeping: rows that have ended go, table by table, found by the index on their ends.
//!
//! ```text
//! rows with entries   each is read, its entries follow from it, all go
//! other rows, claims  one statement
//! ```
//!
//! A claim outlives a row that was written over after it ended, so claims are found by themselves.

use super::commit::Committer;
use super::error::failed;
use super::steps::{Step, takes};
use super::tables::{Sweep, Table, Tables, prepared};
use super::value::timestamp_text;
use data::clock::Milliseconds;
use data::entries::entries;
use data::{Result, Value};
use rusqlite::{Connection, params};

/// Rows removed before other commits get their turn.
const ROWS_AT_ONCE: usize = 1_000;

impl Committer {
    /// Lets at most so many ended rows go, and outcomes that nobody may ask for any more.
    pub(super) fn sweep(
        &mut self,
        tables: &Tables,
        now: Milliseconds,
        rows: usize,
    ) -> Result<usize> {
        let rows = rows.min(ROWS_AT_ONCE);
        let mut forgetting = std::mem::take(&mut self.forgetting);
        let swept = self.transaction(|connection| {
            if tables.remembers {
                forgetting.go_on(connection, now, ROWS_AT_ONCE)?;
            }
            let now = timestamp_text(now);
            let mut gone = 0;
            for table in tables.all() {
                let left = i64::try_from(rows - gone).unwrap_or(i64::MAX);
                gone += match &table.sweep {
                    None => 0,
                    Some(Sweep::Rows(text)) => {
                        let mut statement = prepared(connection, text)?;
                        statement.execute(params![now, left]).map_err(failed)?
                    }
                    Some(Sweep::WithEntries(text)) => {
                        let ended = table.ended(connection, text, (&now, left))?;
                        for (segments, row) in &ended {
                            let slots = table.slots(row)?;
                            delete_with_entries(connection, tables, table, (segments, &slots))?;
                        }
                        ended.len()
                    }
                };
                if gone >= rows {
                    break;
                }
            }
            Ok(gone)
        });
        self.forgetting = forgetting;
        swept
    }
}

/// Deletes a row and the entries that follow from it.
fn delete_with_entries(
    connection: &Connection,
    tables: &Tables,
    table: &Table,
    (segments, slots): (&[Value], &[Value]),
) -> Result<()> {
    if let Some(collection) = table.shape.collection() {
        for entry in entries(collection, segments, slots)? {
            let is_claim = collection.indexes.get(entry.index).is_some_and(|i| i.model.unique);
            if !is_claim && takes(Step::Entries) {
                tables.table(entry.key.space())?.delete(connection, &entry.key)?;
            }
        }
    }
    table.delete(connection, &table.shape.key_of(segments)?)
}

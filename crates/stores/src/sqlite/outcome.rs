//! Which batches were committed, for [`OUTCOME_KEPT`] at least: the table `keyway_calls`.
//!
//! ```text
//! id of a batch ─▶ its totals: value 8, expires 9 each │ the instant of the batch
//! ```

use super::error::failed;
use super::short;
use super::tables::prepared;
use super::value::timestamp_text;
use bytes::{Buf, BufMut};
use data::clock::Milliseconds;
use data::store::{Batch, CommitId, OUTCOME_KEPT, Total};
use data::{Error, ErrorKind, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

const FIND: &str = "SELECT outcome FROM keyway_calls WHERE id = ?1";
const KEEP: &str = "INSERT INTO keyway_calls (id, outcome, at) VALUES (?1, ?2, ?3) \
                    ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, at = excluded.at";
const SKIP: &str = "SELECT id FROM keyway_calls WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2";
const FORGET: &str = "DELETE FROM keyway_calls WHERE id > ?1 AND id <= ?2 AND at < ?3";
/// Behind every id.
const END: &str = "g";

/// What a batch came to, if it was committed and is remembered.
pub(super) fn of(connection: &Connection, id: &CommitId) -> Result<Option<Vec<Total>>> {
    let mut statement = prepared(connection, FIND)?;
    let id = short::uuid(id.as_bytes());
    statement.raw_bind_parameter(1, id.output()).map_err(failed)?;
    let mut rows = statement.raw_query();
    let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
    match row.get_ref(0).map_err(failed)? {
        ValueRef::Blob(stored) => decode(stored).map(Some),
        _ => Err(damaged()),
    }
}

/// Adds what a batch came to.
pub(super) fn remember(connection: &Connection, batch: &Batch, totals: &[Total]) -> Result<()> {
    let id = short::uuid(batch.id.as_bytes());
    let mut statement = prepared(connection, KEEP)?;
    statement.raw_bind_parameter(1, id.output()).map_err(failed)?;
    statement.raw_bind_parameter(2, encode(totals)).map_err(failed)?;
    match short::timestamp(batch.now) {
        Some(at) => statement.raw_bind_parameter(3, at.output()).map_err(failed)?,
        None => statement.raw_bind_parameter(3, timestamp_text(batch.now)).map_err(failed)?,
    }
    statement.raw_execute().map_err(failed)?;
    Ok(())
}

/// A walk through all outcomes, again and again, by which those go that nobody may ask for any
/// more. Most ids grow with time, so that what is old lies together; others are met all the same.
#[derive(Debug, Default)]
pub(super) struct Forgetting {
    /// The last id that was looked at.
    behind: String,
}

impl Forgetting {
    /// Looks at so many outcomes more.
    pub(super) fn go_on(
        &mut self,
        connection: &Connection,
        now: Milliseconds,
        rows: usize,
    ) -> Result<()> {
        let kept = Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX);
        let before = timestamp_text(now.saturating_sub(kept));
        let skipped = i64::try_from(rows).unwrap_or(i64::MAX) - 1;
        let last = prepared(connection, SKIP)?
            .query_row(rusqlite::params![self.behind, skipped], |row| row.get::<_, String>(0))
            .optional()
            .map_err(failed)?;
        let to = last.as_deref().unwrap_or(END);
        let gone = rusqlite::params![self.behind, to, before];
        prepared(connection, FORGET)?.execute(gone).map_err(failed)?;
        self.behind = last.unwrap_or_default();
        Ok(())
    }
}

fn encode(totals: &[Total]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(totals.len() * 17);
    for total in totals {
        stored.put_i64(total.value);
        stored.put_u8(u8::from(total.expires.is_some()));
        stored.put_i64(total.expires.unwrap_or(0));
    }
    stored
}

fn decode(mut stored: &[u8]) -> Result<Vec<Total>> {
    let mut read = || {
        let mut totals = Vec::with_capacity(stored.len() / 17);
        while stored.has_remaining() {
            let value = stored.try_get_i64()?;
            let ends = stored.try_get_u8()? != 0;
            let expires = stored.try_get_i64()?;
            totals.push(Total { value, expires: ends.then_some(expires) });
        }
        Ok::<_, bytes::TryGetError>(totals)
    };
    read().map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::new(ErrorKind::Corrupt, "an outcome in keyway_calls cannot be read")
}

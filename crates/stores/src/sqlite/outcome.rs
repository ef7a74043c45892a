//! Which batches were committed, for [`OUTCOME_KEPT`] at least: the table `keyway_calls`.
//!
//! ```text
//! id of a batch ─▶ its totals: value 8, expires 9 each │ the instant of the batch
//! ```

use super::error::failed;
use super::tables::prepared;
use super::value::{timestamp_text, uuid_text};
use bytes::{Buf, BufMut};
use data::clock::Milliseconds;
use data::store::{Batch, CommitId, OUTCOME_KEPT, Total};
use data::{Error, ErrorKind, Result};
use rusqlite::{Connection, OptionalExtension};

const FIND: &str = "SELECT outcome FROM keyway_calls WHERE id = ?1";
const KEEP: &str = "INSERT INTO keyway_calls (id, outcome, at) VALUES (?1, ?2, ?3) \
                    ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, at = excluded.at";
const FORGET: &str = "DELETE FROM keyway_calls WHERE id IN \
                      (SELECT id FROM keyway_calls WHERE at < ?1 ORDER BY at LIMIT ?2)";

/// What a batch came to, if it was committed and is remembered.
pub(super) fn of(connection: &Connection, id: &CommitId) -> Result<Option<Vec<Total>>> {
    let mut statement = prepared(connection, FIND)?;
    let found = statement.query_row([uuid_text(id.as_bytes())], |row| row.get::<_, Vec<u8>>(0));
    let found = found.optional().map_err(failed)?;
    found.map(|stored| decode(&stored)).transpose()
}

/// Adds what a batch came to.
pub(super) fn remember(connection: &Connection, batch: &Batch, totals: &[Total]) -> Result<()> {
    let (id, at) = (uuid_text(batch.id.as_bytes()), timestamp_text(batch.now));
    let mut statement = prepared(connection, KEEP)?;
    statement.execute(rusqlite::params![id, encode(totals), at]).map_err(failed)?;
    Ok(())
}

/// Removes at most so many outcomes that nobody may ask for any more; answers how many went.
pub(super) fn forget(connection: &Connection, now: Milliseconds, rows: usize) -> Result<usize> {
    let kept = Milliseconds::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(Milliseconds::MAX);
    let before = timestamp_text(now.saturating_sub(kept));
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let mut statement = prepared(connection, FORGET)?;
    statement.execute(rusqlite::params![before, rows]).map_err(failed)
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
    read().map_err(|_| Error::new(ErrorKind::Corrupt, "an outcome in keyway_calls cannot be read"))
}

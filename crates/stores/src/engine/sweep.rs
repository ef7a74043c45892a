//! Sweeping: rows that have ended go, in the order of their ends.
//!
//! ```text
//! watermark ─▶ ends up to now ─┬─ the row still has this end ─▶ row and end go
//!                              └─ it has another, or is gone ─▶ only the end goes
//! ```
//!
//! An end stays when its row is written again, so that a write need not read the row before it. The
//! watermark lets the engine begin behind the ends that went, instead of passing over them again.

use super::commit::Committer;
use super::error::{damaged, poisoned, reading};
use super::layout;
use data::Result;
use data::clock::Milliseconds;
use data::store::{Key, Row};
use fjall::Readable;
use std::collections::HashSet;

/// Ends looked at before other commits get their turn.
const ENDS_AT_ONCE: usize = 1_000;

/// What one stretch of sweeping came to.
pub(super) struct Swept {
    /// Rows that went.
    pub(super) rows: usize,
    /// Whether there may be more to do.
    pub(super) is_more: bool,
}

impl Committer {
    /// Looks at some ends up to `now`, and lets at most so many rows go.
    pub(super) fn sweep(&mut self, now: Milliseconds, rows: usize) -> Result<Swept> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        let ends = self.ends(now, rows)?;
        let mut written = self.start(ends.places.len() + ends.rows.len() + 2);
        for place in ends.places {
            written.remove(&self.tables.rows, place);
        }
        let count = ends.rows.len();
        for key in ends.rows {
            written.remove(&self.tables.rows, key.bytes().clone());
        }
        let mut is_more = ends.is_more;
        if let Some(changes) = &self.changes {
            let snapshot = self.published.snapshot();
            let old = changes.old(&snapshot, now, ENDS_AT_ONCE, self.sequence)?;
            changes.trim(&mut written, &old);
            is_more |= old.is_full;
        }
        if !written.is_empty() {
            let watermark = self.watermark.max(ends.before);
            written.insert(&self.tables.rows, layout::WATERMARK, watermark.to_be_bytes());
            self.write_own(written)?;
        }
        // Without anything to write it is kept in memory only: the older one is also true.
        self.watermark = self.watermark.max(ends.before);
        Ok(Swept { rows: count, is_more })
    }

    /// The ends up to `now`, and which rows still have them.
    fn ends(&self, now: Milliseconds, rows: usize) -> Result<Ends> {
        let mut ends = Ends {
            places: Vec::new(),
            rows: HashSet::new(),
            before: now.saturating_add(1),
            is_more: false,
        };
        let range = layout::due_start(self.watermark)..layout::due_after(now);
        if range.is_empty() {
            ends.before = self.watermark;
            return Ok(ends);
        }
        for entry in self.published.snapshot().range(&self.tables.rows, range) {
            let place = entry.key().map_err(reading)?;
            let (expires, key) = layout::decode_due(place.clone())?;
            if ends.places.len() >= ENDS_AT_ONCE || ends.rows.len() >= rows {
                ends.before = expires;
                ends.is_more = true;
                break;
            }
            if self.row(&key)?.is_some_and(|row| row.expires == Some(expires)) {
                ends.rows.insert(key);
            }
            ends.places.push(place);
        }
        Ok(ends)
    }

    fn row(&self, key: &Key) -> Result<Option<Row>> {
        let stored = self.tables.rows.get(key).map_err(reading)?;
        stored.map(layout::decode_row).transpose()
    }
}

/// Ends to be swept.
struct Ends {
    places: Vec<fjall::Slice>,
    rows: HashSet<Key>,
    /// No end lies before this instant once they are.
    before: Milliseconds,
    is_more: bool,
}

/// The watermark as it was stored.
pub(super) fn decode_watermark(stored: &[u8]) -> Result<Milliseconds> {
    let bytes = <[u8; 8]>::try_from(stored).map_err(|_| damaged("watermark"))?;
    Ok(Milliseconds::from_be_bytes(bytes))
}

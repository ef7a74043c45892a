//! Rows that have ended are removed, with their entries, in the order of their ends.
//!
//! A row that somebody edited may end at another time now, so its files are looked at first. One
//! that cannot be taken as it is stays: its file is somebody's.

use super::commit::Committer;
use super::draft::Draft;
use super::error::poisoned;
use super::memory::Slot;
use super::row::Content;
use data::Result;
use data::clock::Milliseconds;
use data::store::Key;

/// Rows that are removed with one frame of the journal.
const ROWS_AT_ONCE: usize = 500;

/// What a sweep came to.
pub(super) struct Swept {
    pub(super) rows: usize,
    pub(super) is_more: bool,
}

impl Committer {
    /// Removes some rows that ended at or before `now`.
    pub(super) fn sweep(&mut self, now: Milliseconds, rows: usize) -> Result<Swept> {
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        let ended = self.ended(now, rows.min(ROWS_AT_ONCE))?;
        let is_more = ended.len() == ROWS_AT_ONCE;
        let mut effects = Vec::with_capacity(ended.len());
        for key in ended {
            self.notice(&key)?;
            let memory = self.shared.memory()?;
            let has_ended = memory.slot(&key).is_some_and(|slot| is_over(slot, now));
            if has_ended {
                effects.push((key, None));
            }
        }
        let count = effects.len();
        if count > 0 {
            let mut draft = Draft::default();
            draft.take(&*self.shared.memory()?, self.shared.disk.as_ref(), effects)?;
            self.write(draft)?;
        }
        Ok(Swept { rows: count, is_more })
    }

    fn ended(&self, now: Milliseconds, rows: usize) -> Result<Vec<Key>> {
        let memory = self.shared.memory()?;
        let due = memory.endings.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| key);
        let over = due.filter(|key| memory.slot(key).is_some_and(|slot| is_over(slot, now)));
        Ok(over.take(rows).cloned().collect())
    }
}

fn is_over(slot: &Slot, now: Milliseconds) -> bool {
    match slot {
        Slot::Entry(row) => row.is_expired(now),
        Slot::Row(known) => {
            let is_damaged = matches!(known.content, Content::Damaged(_));
            !is_damaged && known.expires.is_some_and(|expires| expires <= now)
        }
    }
}

//! The cleaner: removes entries and claims whose attempt can never commit, and only those.
//!
//! ```text
//! its row holds it                      keep
//! its row has another version           remove: the attempt expects one that never comes back
//! its row has the version it expects    young: leave it;  old: fence the row, then remove
//! ```

use super::Rules;
use super::claim::expected;
use super::fence::fence;
use super::ids::{attempt_of, derived};
use super::readers::belongs;
use super::send::release;
use crate::clock::Milliseconds;
use crate::entries;
use crate::error::Result;
use crate::schema::{IndexSchema, Space};
use crate::session::Session;
use crate::store::{Batch, CommitId, Key, Keyed, Outcome, Row, Write};
use std::sync::Arc;

/// How long an attempt may be under way, in milliseconds.
const ATTEMPT_KEPT: Milliseconds = 10 * 60 * 1_000;

/// Times a row is fenced for one entry before it is left for another visit.
const FENCE_TRIES: u32 = 2;

/// Removes what belongs to no row, of these entries and claims, and says how many went.
pub async fn clean(session: &mut Session<'_>, keys: &[Key]) -> Result<usize> {
    clean_by(session, keys, Rules::SOUND).await
}

pub(super) async fn clean_by(
    session: &mut Session<'_>,
    keys: &[Key],
    rules: Rules,
) -> Result<usize> {
    let rows = session.get(keys).await?;
    let mut suspects = Vec::new();
    for (key, row) in keys.iter().zip(rows) {
        let Some(row) = row else { continue };
        if let Some(suspect) = Suspect::of(session, Keyed { key: key.clone(), row })? {
            suspects.push(suspect);
        }
    }
    let owners: Vec<Key> = suspects.iter().map(|suspect| suspect.owner.clone()).collect();
    let rows = session.get(&owners).await?;
    let mut removals = Vec::new();
    for (suspect, row) in suspects.iter().zip(rows) {
        if suspect.may_go(session, row, rules).await? {
            removals.push(suspect.removal(session));
        }
    }
    let outcomes = session.commit_together(&removals).await?;
    let gone = |outcome: &&Outcome| matches!(outcome, Outcome::Committed { .. });
    Ok(outcomes.iter().filter(gone).count())
}

/// An entry or a claim that may belong to no row.
struct Suspect {
    index: Arc<IndexSchema>,
    entry: Keyed,
    owner: Key,
    attempt: CommitId,
}

impl Suspect {
    /// Nothing for what names no attempt: the cleaner does not know about it.
    fn of(session: &Session<'_>, entry: Keyed) -> Result<Option<Suspect>> {
        let Space::Entries(collection, number) = session.schema().space(entry.key.space())? else {
            return Ok(None);
        };
        let Some(index) = collection.indexes.get(*number) else { return Ok(None) };
        let attempt = match index.model.unique {
            true => entry.row.version,
            false => attempt_of(index, &entry.key)?,
        };
        let Some(attempt) = attempt else { return Ok(None) };
        let owner = entries::owner(collection, index, &entry)?;
        Ok(Some(Suspect { index: index.clone(), entry, owner, attempt }))
    }

    /// Whether it belongs to no row and never will; its row is fenced if need be.
    async fn may_go(
        &self,
        session: &mut Session<'_>,
        row: Option<Row>,
        rules: Rules,
    ) -> Result<bool> {
        let mut row = row;
        for _ in 0..FENCE_TRIES {
            if row.as_ref().map_or(Ok(false), |row| belongs(&self.index, &self.entry, row))? {
                return Ok(false);
            }
            let version = row.as_ref().and_then(|row| row.version);
            if version != expected(&self.entry.row) || !rules.fences {
                return Ok(true);
            }
            let age = session.now.saturating_sub(self.attempt.time());
            if age < ATTEMPT_KEPT {
                return Ok(false);
            }
            if fence(session, self.attempt, &self.owner, row.as_ref()).await? {
                return Ok(true);
            }
            // The row has moved, perhaps by the fence for another entry.
            row = session.get(std::slice::from_ref(&self.owner)).await?.pop().flatten();
        }
        Ok(false)
    }

    fn removal(&self, session: &Session<'_>) -> Batch {
        let key = &self.entry.key;
        let now = session.now;
        let id = derived(self.attempt, "clean", &[&now.to_be_bytes(), key.as_ref()]);
        if self.index.model.unique {
            return release((now, session.deadline), key, self.attempt, id);
        }
        let writes = vec![Write::Delete { key: key.clone() }];
        Batch { id, now, checks: Vec::new(), writes, deadline: session.deadline }
    }
}

//! Rows without versions: nothing can be lost to another writer, so nothing is compared.
//!
//! ```text
//! a blind commit reaches the store   rows + entries ─▶ one batch
//! it reaches one place               rows, which have no entries there ─▶ one batch
//! ```
//!
//! Rows with entries that no blind commit reaches are not for here: they are kept with versions,
//! though nobody sees these ([`CollectionSchema::kept`](crate::schema::CollectionSchema::kept)).
//! Entries written before such a row and removed after it would not do. Whoever removes a row could
//! remove the entry that another has written for a row which is about to come.

use super::{Rules, slices};
use crate::change::{RowChange, WriteSet};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Verdict;
use crate::session::Session;
use crate::store::{Batch, Key, Outcome, Reach, Write};
use bytes::Bytes;

/// Whether a set asks for nothing and keeps no versions.
pub(super) fn is_plain(set: &WriteSet) -> bool {
    let plain =
        |change: &RowChange| change.collection.kept.is_unconditional() && change.expect.is_none();
    set.checks.is_empty() && set.adds.is_empty() && set.changes.iter().all(plain)
}

/// Commits a plain set.
pub(super) async fn commit(
    session: &mut Session<'_>,
    set: &WriteSet,
    rules: Rules,
) -> Result<Verdict> {
    if rules.announces_first {
        slices::announce_set(session, set).await?;
    }
    if session.store().describe().blind == Reach::Place {
        super::check_one_place(session, set)?;
    }
    let entered = set.changes.iter().flat_map(entered);
    let left = set.changes.iter().flat_map(left);
    let writes = entered.chain(set.changes.iter().map(row)).chain(left).collect();
    let verdict = verdict(session.commit(&batch(set, writes)).await?, set)?;
    if !rules.announces_first {
        slices::announce_set(session, set).await?;
    }
    Ok(verdict)
}

fn batch(set: &WriteSet, writes: Vec<Write>) -> Batch {
    Batch { id: set.id, now: set.now, checks: Vec::new(), writes, deadline: set.deadline }
}

fn verdict(outcome: Outcome, set: &WriteSet) -> Result<Verdict> {
    match outcome {
        Outcome::Committed { totals } => Ok(Verdict::Committed { id: set.id, totals }),
        Outcome::Indeterminate { id } => Ok(Verdict::Indeterminate { id }),
        Outcome::Conflict(_) => {
            Err(Error::new(ErrorKind::Internal, "a batch without checks conflicts"))
        }
    }
}

/// A row without a version, as it becomes.
pub(super) fn row(change: &RowChange) -> Write {
    match &change.after {
        Some(after) => put(change, &change.key, &after.value),
        None => Write::Delete { key: change.key.clone() },
    }
}

/// The entries it gains.
pub(super) fn entered(change: &RowChange) -> impl Iterator<Item = Write> {
    change.gained.iter().map(|entry| put(change, &entry.key, &entry.value))
}

/// The entries it loses.
pub(super) fn left(change: &RowChange) -> impl Iterator<Item = Write> {
    change.lost.iter().map(|entry| Write::Delete { key: entry.key.clone() })
}

fn put(change: &RowChange, key: &Key, value: &Bytes) -> Write {
    Write::Put {
        key: key.clone(),
        value: value.clone(),
        expires: change.after.as_ref().and_then(|after| after.expires),
        versioned: false,
        trail: None,
    }
}

//! A new version for a row that an attempt may be about to set: from then on it cannot.

use super::ids::{derived, version_bytes};
use super::send::commit_known;
use super::target::{dead, previous};
use crate::error::Result;
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Key, Outcome, Row, Trail, Version, Write};

/// Gives a row a new version, if it still has the one it was read with; true if it is certain.
///
/// A live row keeps its content. Where there is none, or an ended one, a dead row stays: an ended
/// row could otherwise be renewed by an attempt that read it before it ended.
pub(super) async fn fence(
    session: &mut Session<'_>,
    by: CommitId,
    key: &Key,
    row: Option<&Row>,
) -> Result<bool> {
    let version: Option<Version> = row.and_then(|row| row.version);
    let id = derived(by, "fence", &[version_bytes(version.as_ref()), key.as_ref()]);
    let previous = previous(row);
    let write = match row.filter(|row| row.is_live(session.now)) {
        None => dead(key.clone(), session.now, previous),
        Some(row) => {
            let held = row.trail.as_ref().map(|trail| trail.held.clone()).unwrap_or_default();
            Write::Put {
                key: key.clone(),
                value: row.value.clone(),
                expires: row.expires,
                versioned: true,
                trail: Some(Box::new(Trail { previous, dead: false, held })),
            }
        }
    };
    let batch = Batch {
        id,
        now: session.now,
        checks: vec![Check { key: key.clone(), expect: Expect::Physical(version) }],
        writes: vec![write],
        deadline: session.deadline,
    };
    Ok(match commit_known(session, &batch).await? {
        Outcome::Committed { .. } => true,
        // A reply was lost, and the fence is there.
        Outcome::Conflict(conflict) => conflict.found == crate::store::Found::Row(Some(id)),
        Outcome::Indeterminate { .. } => false,
    })
}

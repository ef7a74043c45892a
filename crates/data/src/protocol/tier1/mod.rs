//! Write sets on group-atomic stores: rows of one place, with entries and claims in other places.
//!
//! ```text
//! read P ─▶ claim, in key order ─▶ enter ─▶ compare and set P ─▶ remove what P lost
//!               │                    │           │ linearization point
//!               └────────────────────┴───────────┴─ failed ─▶ take back what was claimed, entered
//! ```
//!
//! Four rules carry it; a test breaks each of them and must find what then goes wrong.
//!
//! 1. An entry is written once and removed once: the id of its attempt ends its key. It counts
//!    only while its row holds that very attempt, so early, late and repeated writes of entries
//!    change nothing that is read.
//! 2. An attempt commits only if P still has the version it read, and versions never come back:
//!    a removed row stays, dead, until no attempt can remember what was before it.
//! 3. Nobody removes an entry or takes a claim of an attempt that may still commit. Whoever wants
//!    to gives P a new version first (*fences* it), and then it cannot.
//! 4. Nothing is taken back before it is certain that P was not set.
//!
//! Waits are for politeness only; safety needs no clock.
//!
//! A caller may make one call twice, even at once, and so one set may run twice under one id. Each
//! run names its entries and claims by attempts of its own, so that neither takes back what is the
//! other's; the row's version, which is the id, tells either that the set is done.

mod attempt;
mod claim;
mod clean;
mod fence;
mod ids;
mod plain;
mod readers;
mod repair;
mod send;
mod settle;
mod slices;
mod target;

#[cfg(test)]
pub(super) mod tests;

pub(super) use clean::clean;
pub(super) use ids::attempt_of;
#[cfg(feature = "suite")]
pub(crate) use ids::with_attempt;
pub(super) use readers::{belongs, rows, stored_entry_key};
pub(super) use repair::repair;
pub(super) use slices::{announce, unknown};

use super::Verdict;
use crate::change::WriteSet;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use attempt::Attempt;

/// How long a dead row stays, in milliseconds: far longer than any attempt lives.
const DEAD_KEPT: Milliseconds = 24 * 60 * 60 * 1_000;

/// The rules of the protocol. There is one sound set of them; tests break one at a time.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Attempts that may be in flight are fenced before their entries and claims are touched.
    fences: bool,
    /// Removed rows stay, dead.
    leaves_dead: bool,
    /// Nothing is taken back before the outcome is known.
    settles_first: bool,
    /// A claim is taken over only from the attempt that was looked at.
    compares_claims: bool,
    /// Claims come before the row.
    claims_first: bool,
    /// Entries come before the row.
    enters_first: bool,
    /// Two runs of one set have different attempts.
    runs_apart: bool,
    /// Rows whose versions no caller sees are compared like all others.
    compares_unseen: bool,
    /// A slice is in its directory before anything is in the slice.
    announces_first: bool,
    /// Checks are judged by the commit that sets the rows.
    checks_with_rows: bool,
    /// A commit whose reply was lost is sent again under the id it had.
    keeps_ids: bool,
    /// Whoever comes through an index asks the row whether it holds the entry.
    readers_verify: bool,
}

impl Rules {
    const SOUND: Rules = Rules {
        fences: true,
        leaves_dead: true,
        settles_first: true,
        compares_claims: true,
        claims_first: true,
        enters_first: true,
        runs_apart: true,
        compares_unseen: true,
        announces_first: true,
        checks_with_rows: true,
        keeps_ids: true,
        readers_verify: true,
    };
}

/// Commits a write set on a group-atomic store.
pub(super) async fn commit(session: &mut Session<'_>, set: &WriteSet) -> Result<Verdict> {
    commit_by(session, set, Rules::SOUND).await
}

async fn commit_by(session: &mut Session<'_>, set: &WriteSet, rules: Rules) -> Result<Verdict> {
    if plain::is_plain(set) {
        return plain::commit(session, set, rules).await;
    }
    check_one_place(session, set)?;
    Attempt::new(session, set, rules).run().await
}

/// A commit reaches the rows of one place; the planner refuses patterns that need more.
fn check_one_place(session: &Session<'_>, set: &WriteSet) -> Result<()> {
    let changes = set.changes.iter().map(|change| &change.key);
    let checks = set.checks.iter().map(|check| &check.key);
    let adds = set.adds.iter().map(|add| &add.key);
    let mut keys = changes.chain(checks).chain(adds);
    let Some(first) = keys.next() else { return Ok(()) };
    let place = session.schema().place(first)?;
    for key in keys {
        if session.schema().place(key)? != place {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "rows that change together lie in several groups, and a commit reaches one",
            ));
        }
    }
    Ok(())
}

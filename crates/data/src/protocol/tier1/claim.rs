//! Claims of unique values: taken if free, taken over if their attempt can never commit.
//!
//! ```text
//! not there ─▶ mine
//! there ─▶ look at its owner ─┬─ holds it, live                taken
//!                             ├─ has the version it expects    in flight: wait, then fence
//!                             ├─ holds it, ended               fence: no one may renew it
//!                             └─ has moved on                  mine, if it is still that attempt's
//! ```

use super::Rules;
use super::fence::fence;
use super::ids::is_about;
use super::send::commit_known;
use crate::clock::Milliseconds;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Found, Key, Outcome, Row, Version, Write};

/// Times one claim is tried in one attempt.
const CLAIM_TRIES: u32 = 3;
/// Times a call waits for a claim in flight before it fences.
const CLAIM_WAITS: u32 = 3;
/// The first wait for a claim in flight, in milliseconds; each is three times the one before.
const CLAIM_WAIT_MILLISECONDS: u64 = 100;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// It is this attempt's.
    Mine,
    /// A live row holds it.
    Taken,
    /// It is in other hands for the moment.
    Contended,
    /// The same, and its attempt may be under way: worth a wait.
    InFlight,
}

/// A claim that is wanted.
#[derive(Debug)]
pub(super) struct Wanted<'w> {
    /// The position of the change.
    pub change: usize,
    /// The position of the index in its collection.
    pub index: usize,
    /// The row that wants it.
    pub owner: &'w Key,
    /// The attempt.
    pub attempt: CommitId,
    /// The attempt that wrote the claim the row holds already, if it does.
    pub before: Option<CommitId>,
    /// The claim as it is to be.
    pub write: Write,
}

/// Takes a claim.
pub(super) async fn claim(
    session: &mut Session<'_>,
    wanted: &Wanted<'_>,
    rules: Rules,
) -> Result<Claimed> {
    let mut expect = match wanted.before {
        Some(before) => Some(Expect::Physical(Some(before))),
        None => Some(Expect::Absent),
    };
    let mut write = wanted.write.clone();
    for _ in 0..CLAIM_TRIES {
        let key = write.key().clone();
        let batch = Batch {
            id: wanted.attempt,
            now: session.now,
            checks: expect.map(|expect| Check { key, expect }).into_iter().collect(),
            writes: vec![write.clone()],
            deadline: session.deadline,
        };
        let found = match commit_known(session, &batch).await? {
            Outcome::Committed { .. } => return Ok(Claimed::Mine),
            Outcome::Conflict(conflict) => conflict.found,
            Outcome::Indeterminate { .. } => {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "the store does not say whether a unique value was claimed",
                ));
            }
        };
        expect = match found {
            // A reply was lost.
            Found::Row(Some(attempt)) if attempt == wanted.attempt => return Ok(Claimed::Mine),
            Found::Row(_) => match look(session, wanted, rules).await? {
                Look::Absent => Some(Expect::Absent),
                Look::Free(attempt) => {
                    rules.compares_claims.then_some(Expect::Physical(Some(attempt)))
                }
                Look::Own(attempt, ends) => {
                    extend(&mut write, ends);
                    Some(Expect::Physical(Some(attempt)))
                }
                Look::Not(claimed) => return Ok(claimed),
            },
            _ => Some(Expect::Absent),
        };
    }
    Ok(Claimed::Contended)
}

/// What a look at a claim in other hands shows.
enum Look {
    /// It is gone.
    Absent,
    /// Its attempt can never commit.
    Free(CommitId),
    /// Another attempt of the row that holds it has written it, to end then.
    Own(CommitId, Option<Milliseconds>),
    /// It cannot be had now.
    Not(Claimed),
}

async fn look(session: &mut Session<'_>, wanted: &Wanted<'_>, rules: Rules) -> Result<Look> {
    let key = wanted.write.key();
    let claim = session.get(std::slice::from_ref(key)).await?.pop().flatten();
    let Some(claim) = claim else { return Ok(Look::Absent) };
    let Some(attempt) = claim.version else {
        return Err(Error::new(ErrorKind::Mismatch, "a claim of a unique value has no version"));
    };
    let (owner, _) = entries::split_claim(&claim.value)?;
    if owner == *wanted.owner && wanted.before.is_some() {
        return Ok(Look::Own(attempt, claim.expires));
    }
    let row = session.get(std::slice::from_ref(&owner)).await?.pop().flatten();
    let holds = row.as_ref().is_some_and(|row| holds(row, key));
    let live = row.as_ref().is_some_and(|row| row.is_live(session.now));
    if holds && live {
        // A row that finds its own value taken by itself has read an older state of itself.
        let own = owner == *wanted.owner;
        return Ok(Look::Not(if own { Claimed::Contended } else { Claimed::Taken }));
    }
    let version = row.as_ref().and_then(|row| row.version);
    let in_flight = version == expected(&claim);
    if !rules.fences || !(in_flight || holds) {
        return Ok(Look::Free(attempt));
    }
    if in_flight && session.claim_waits < CLAIM_WAITS && session.shared().is_some() {
        return Ok(Look::Not(Claimed::InFlight));
    }
    fence(session, wanted.attempt, &owner, row.as_ref()).await?;
    session.claim_waits = 0;
    Ok(Look::Not(Claimed::Contended))
}

/// Lets a claim end no sooner than then: the attempt that wrote it last may have committed.
fn extend(write: &mut Write, ends: Option<Milliseconds>) {
    if let Write::Put { expires, .. } = write {
        *expires = expires.zip(ends).map(|(one, other)| one.max(other));
    }
}

/// Waits for a claim in flight, a little longer each time, and never as long as another caller.
pub(super) async fn wait(session: &mut Session<'_>, by: CommitId) {
    let Some(shared) = session.shared() else { return };
    let longest = CLAIM_WAIT_MILLISECONDS * 3_u64.saturating_pow(session.claim_waits);
    let [.., chance] = *by.as_bytes();
    session.claim_waits += 1;
    shared.clock().wait(longest / 2 + longest * u64::from(chance) / 512).await;
}

/// Whether a row holds a unique value, whichever of its attempts claimed it.
pub(super) fn holds(row: &Row, claim: &Key) -> bool {
    let trail = row.trail.as_ref().filter(|trail| !trail.dead);
    trail.is_some_and(|trail| {
        trail.held.iter().any(|held| is_about(held, claim.space(), claim.as_ref()))
    })
}

/// The version that the attempt behind an entry or a claim expects its row to have.
pub(super) fn expected(row: &Row) -> Option<Version> {
    row.trail.as_ref().and_then(|trail| trail.previous.first().copied())
}

//! Batches that must arrive, and batches that should.

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Place;
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Key, Outcome, Write};
use std::collections::BTreeMap;

/// Times a batch is sent again where there is no clock.
const REPEATS_WITHOUT_CLOCK: u32 = 3;
/// The longest wait before a batch is sent again, in milliseconds.
const REPEAT_MILLISECONDS_MAX: u64 = 1_000;

/// Waits before the next try; false if there is no time for one.
pub(super) async fn pause(session: &Session<'_>, tries: u32) -> bool {
    let Some(shared) = session.shared() else { return tries < REPEATS_WITHOUT_CLOCK };
    if shared.clock().now() >= session.deadline {
        return false;
    }
    let wait = 5_u64.checked_shl(tries.min(16)).unwrap_or(REPEAT_MILLISECONDS_MAX);
    shared.clock().wait(wait.min(REPEAT_MILLISECONDS_MAX)).await;
    true
}

/// Commits a batch that may be sent again, until its outcome is known or time is up. Asking again
/// after a lost reply is not counted.
pub(super) async fn commit_known(session: &mut Session<'_>, batch: &Batch) -> Result<Outcome> {
    let outcome = session.commit(batch).await?;
    until_known(session, batch, outcome).await
}

async fn until_known(
    session: &Session<'_>,
    batch: &Batch,
    mut outcome: Outcome,
) -> Result<Outcome> {
    let mut tries = 0;
    while matches!(outcome, Outcome::Indeterminate { .. }) && pause(session, tries).await {
        tries += 1;
        let answer = session.store().commit(batch).await;
        session.touched(batch);
        outcome = match answer {
            Ok(outcome) => outcome,
            // The first one is still under way for all that is known.
            Err(error) if error.is_retryable() => Outcome::Indeterminate { id: batch.id },
            Err(error) => return Err(error),
        };
    }
    Ok(outcome)
}

/// Sends batches without checks together; they are all there, or it is an error.
pub(super) async fn send_all(session: &mut Session<'_>, batches: &[Batch]) -> Result<()> {
    let outcomes = session.commit_together(batches).await?;
    for (batch, outcome) in batches.iter().zip(outcomes) {
        match until_known(session, batch, outcome).await? {
            Outcome::Committed { .. } => {}
            Outcome::Indeterminate { .. } => {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "the store does not say whether an entry was written",
                ));
            }
            Outcome::Conflict(_) => {
                return Err(Error::new(ErrorKind::Internal, "a batch without checks conflicts"));
            }
        }
    }
    Ok(())
}

/// Writes without checks, one batch a place.
pub(super) fn by_place(
    session: &Session<'_>,
    writes: Vec<Write>,
    id: impl Fn(&Key) -> CommitId,
) -> Result<Vec<Batch>> {
    let mut places: BTreeMap<Place, Vec<Write>> = BTreeMap::new();
    for write in writes {
        let place = session.schema().place(write.key())?;
        places.entry(place).or_default().push(write);
    }
    let batches = places.into_values().filter_map(|writes| {
        let id = writes.first().map(|write| id(write.key()))?;
        Some(Batch { id, now: session.now, checks: Vec::new(), writes, deadline: session.deadline })
    });
    Ok(batches.collect())
}

/// The removal of a claim, if it is still this attempt's.
pub(super) fn release(
    (now, deadline): (Milliseconds, Milliseconds),
    key: &Key,
    attempt: CommitId,
    id: CommitId,
) -> Batch {
    Batch {
        id,
        now,
        checks: vec![Check { key: key.clone(), expect: Expect::Physical(Some(attempt)) }],
        writes: vec![Write::Delete { key: key.clone() }],
        deadline,
    }
}

/// Sends removals together. What is not certain to be gone is left to the cleaner: no caller waits
/// for it, and no error of it is theirs.
pub(super) async fn remove_all(session: &mut Session<'_>, batches: &[Batch]) {
    let outcomes = session.commit_together(batches).await.unwrap_or_default();
    let Some(shared) = session.shared() else { return };
    for (number, batch) in batches.iter().enumerate() {
        if !matches!(outcomes.get(number), Some(Outcome::Committed { .. })) {
            batch.writes.iter().for_each(|write| shared.queue(write.key().clone()));
        }
    }
}

//! Entries that a row should have and has not, and entries that no row has: put right one by one.
//!
//! A row that misses an entry is set once more with the same content, and the entry with it: the
//! protocol itself writes it, so a repair is as safe as any change.

use super::claim::holds;
use super::clean::clean;
use super::commit;
use super::ids::{derived, version_bytes};
use crate::change::{After, Entry, RowChange, WriteSet};
use crate::entries;
use crate::error::Result;
use crate::protocol::Verdict;
use crate::protocol::whole::is_claim;
use crate::schema::CollectionSchema;
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Key, Outcome, Row, Trail, Write};
use std::sync::Arc;

/// Puts an entry or a claim right; false if it moved meanwhile, or is young enough to be the work
/// of an attempt under way.
///
/// `entry` is the key without an attempt of an entry that the row should have, or the whole key of
/// one that it should not.
pub async fn repair(
    session: &mut Session<'_>,
    collection: &Arc<CollectionSchema>,
    entry: &Key,
    owner: &Key,
) -> Result<bool> {
    let row = session.get(std::slice::from_ref(owner)).await?.pop().flatten();
    let row = row.filter(|row| row.is_live(session.now));
    let versioned = collection.kept.has_version();
    let id = id(session, row.as_ref(), entry);
    let wanted = match row {
        Some(row) => wanted(collection, owner, &row, entry)?.map(|wanted| (row, wanted)),
        None => None,
    };
    let Some((row, wanted)) = wanted else {
        if versioned {
            return Ok(clean(session, std::slice::from_ref(entry)).await? > 0);
        }
        let write = Write::Delete { key: entry.clone() };
        return one(session, id, None, write).await;
    };
    if !versioned {
        return one(session, id, None, put(&row, &wanted, false)).await;
    }
    let change = RowChange {
        collection: collection.clone(),
        key: owner.clone(),
        expect: row.version.map(Expect::Version),
        after: Some(After { value: row.value.clone(), expires: row.expires }),
        read: true,
        before: Some(row),
        gained: vec![wanted],
        lost: Vec::new(),
    };
    repair_row(session, id, change).await
}

/// Writes an entry of a row with versions anew.
async fn repair_row(session: &mut Session<'_>, id: CommitId, change: RowChange) -> Result<bool> {
    if let (Some(wanted), Some(row)) = (change.gained.first(), &change.before)
        && is_claim(&change, wanted)
        && holds(row, &wanted.key)
    {
        return repair_claim(session, id, &change.key, row, wanted).await;
    }
    let set = WriteSet {
        id,
        now: session.now,
        deadline: session.deadline,
        checks: Vec::new(),
        changes: vec![change],
        adds: Vec::new(),
    };
    Ok(matches!(commit(session, &set).await?, Verdict::Committed { .. }))
}

/// Writes a claim anew that its row holds. If the row lets go of it meanwhile, it is one more claim
/// without an owner.
async fn repair_claim(
    session: &mut Session<'_>,
    id: CommitId,
    owner: &Key,
    row: &Row,
    wanted: &Entry,
) -> Result<bool> {
    let claim = session.get(std::slice::from_ref(&wanted.key)).await?.pop().flatten();
    let expect = match claim {
        None => Expect::Absent,
        Some(claim) if entries::split_claim(&claim.value)?.0 == *owner => {
            Expect::Physical(claim.version)
        }
        // Two rows hold one value, and only their owners know whose it is.
        Some(_) => return Ok(false),
    };
    one(session, id, Some(expect), put(row, wanted, true)).await
}

async fn one(
    session: &mut Session<'_>,
    id: CommitId,
    expect: Option<Expect>,
    write: Write,
) -> Result<bool> {
    let check = expect.map(|expect| Check { key: write.key().clone(), expect });
    let batch = Batch {
        id,
        now: session.now,
        checks: check.into_iter().collect(),
        writes: vec![write],
        deadline: session.deadline,
    };
    Ok(matches!(session.commit(&batch).await?, Outcome::Committed { .. }))
}

fn put(row: &Row, wanted: &Entry, versioned: bool) -> Write {
    let previous = row.version.into_iter().collect();
    Write::Put {
        key: wanted.key.clone(),
        value: wanted.value.clone(),
        expires: row.expires,
        versioned,
        trail: versioned.then(|| Box::new(Trail { previous, ..Trail::default() })),
    }
}

/// The entry with this key that a row should have.
fn wanted(
    collection: &CollectionSchema,
    owner: &Key,
    row: &Row,
    entry: &Key,
) -> Result<Option<Entry>> {
    let segments = collection.key.decode(owner)?;
    let all = entries::entries(collection, &segments, &collection.decode(&row.value)?)?;
    Ok(all.into_iter().find(|wanted| wanted.key == *entry))
}

/// An id for a repair of this row as it is now.
fn id(session: &Session<'_>, row: Option<&Row>, entry: &Key) -> CommitId {
    let mut time = [0; 16];
    let [_, _, now @ ..] = session.now.max(0).to_be_bytes();
    time.iter_mut().zip(now).for_each(|(to, from)| *to = from);
    let version = row.and_then(|row| row.version);
    let parts = [version_bytes(version.as_ref()), entry.as_ref()];
    derived(CommitId::from_bytes(time), "repair", &parts)
}

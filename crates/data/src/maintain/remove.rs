//! Rows taken out of a store with their entries, whoever wrote them: for whoever moves a keyspace.

use crate::change::{RowChange, WriteSet};
use crate::clock::{Clock, Random};
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{self, Verdict};
use crate::schema::{CollectionSchema, Schema};
use crate::session::Session;
use crate::store::{CommitId, Expect, Key, Row, Store, limits};
use keyspace::model::Mode;
use std::sync::Arc;

/// How long one removal may try, in milliseconds.
const REMOVE_MILLISECONDS_MAX: i64 = 30_000;

/// Removes a row, if it is there.
pub(super) async fn remove(
    (store, schema): (&dyn Store, &Arc<Schema>),
    (clock, random): (&dyn Clock, &dyn Random),
    collection: &Arc<CollectionSchema>,
    key: &Key,
) -> Result<()> {
    for _ in 0..limits::COMMIT_ATTEMPTS_MAX {
        let now = clock.now();
        let deadline = now.saturating_add(REMOVE_MILLISECONDS_MAX);
        let mut session = Session::new(store, schema, now, deadline);
        session.repeatable = false;
        let row = session.get(std::slice::from_ref(key)).await?.pop().flatten();
        let Some(row) = row.filter(|row| row.is_live(now)) else { return Ok(()) };
        let changes = vec![change(collection, key, row)?];
        let id = CommitId::new(now, random);
        let (checks, adds) = (Vec::new(), Vec::new());
        let set = WriteSet { id, now, deadline, checks, changes, adds };
        match protocol::commit(&mut session, &set).await? {
            Verdict::Committed { .. } => return Ok(()),
            Verdict::Indeterminate { id } => {
                return Err(
                    Error::new(ErrorKind::Indeterminate, "the outcome is not known").with("id", id)
                );
            }
            Verdict::Obstacle(_) => {}
        }
    }
    Err(Error::new(ErrorKind::Busy, "a row kept changing while it was removed"))
}

fn change(collection: &Arc<CollectionSchema>, key: &Key, row: Row) -> Result<RowChange> {
    let segments = collection.key.decode(key)?;
    let lost = match collection.model.is_counted() {
        true => Vec::new(),
        false => entries::entries(collection, &segments, &collection.decode(&row.value)?)?,
    };
    let expect = row.version.map_or(Expect::Present, Expect::Version);
    Ok(RowChange {
        collection: collection.clone(),
        key: key.clone(),
        expect: (collection.mode == Mode::Conditional).then_some(expect),
        read: true,
        before: Some(row),
        after: None,
        gained: Vec::new(),
        lost,
    })
}

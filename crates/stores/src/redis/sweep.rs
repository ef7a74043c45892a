//! Sweeping: rows that have ended go, and with them what Redis would not drop by itself.
//!
//! ```text
//! SCAN ~x:* ─▶ rows due ─▶ their entries, from their content ─▶ one script: row, entries, helpers
//! ```
//!
//! On a cluster entries and claims lie elsewhere than their row: each says in its own slot when it
//! ends and is swept by itself, a row like any other.
//!
//! Redis drops a row an hour after its end. One that was not swept until then has left entries of
//! which its key alone does not tell; they are looked for in their indexes. Where the database was
//! read to is kept between two calls, so that each reads a bounded part of it.

use super::answers::Questions;
use super::call::Call;
use super::error::unexpected;
use super::fields::instant;
use super::layout::{Layout, Place};
use super::walked::{KEYS_AT_ONCE, scan_names};
use super::{RedisStore, Within};
use data::clock::Milliseconds;
use data::entries;
use data::schema::{CollectionSchema, Schema};
use data::store::{Key, Row};
use data::{Error, Result};
use keyspace::key::encode;
use keyspace::layout::redis::EXPIRY;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

/// Steps through the database that one call makes at most.
const STEPS_MAX: usize = 200;
/// Rows of a group that are looked at together.
const ROWS_AT_ONCE: usize = 100;

/// A row that has ended.
struct Due {
    /// The sorted set that says so.
    set: Vec<u8>,
    /// What it is called there.
    text: String,
    ends: Milliseconds,
    key: Key,
    /// Whose row it is, where its entries go with it.
    collection: Option<Arc<CollectionSchema>>,
}

/// Where the next sweep goes on: at which of the servers, and where in it.
#[derive(Clone, Debug)]
pub(super) struct Swept {
    server: usize,
    cursor: Vec<u8>,
}

impl Swept {
    fn beginning() -> Swept {
        Swept { server: 0, cursor: b"0".to_vec() }
    }

    /// The next step; nothing behind the last server.
    fn after(&self, next: Option<Vec<u8>>, servers: usize) -> Option<Swept> {
        match next {
            Some(cursor) => Some(Swept { server: self.server, cursor }),
            None if self.server + 1 < servers => {
                Some(Swept { server: self.server + 1, ..Swept::beginning() })
            }
            None => None,
        }
    }
}

impl RedisStore {
    /// Removes rows that ended at or before `now`, at most so many.
    pub(super) async fn sweep_some(
        &self,
        (layout, schema): (&Layout, &Schema),
        now: Milliseconds,
        rows: usize,
    ) -> Result<usize> {
        if rows == 0 || layout.places.values().all(|place| place.expiries.is_none()) {
            return Ok(0);
        }
        let glob = [&self.glob_prefix(), EXPIRY.as_bytes(), b"*"].concat();
        let servers = self.servers.masters();
        let begun = self.swept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let begun = begun.filter(|begun| begun.server < servers.len());
        let mut wrapped = begun.is_none();
        let mut cursor = Some(begun.unwrap_or_else(Swept::beginning));
        let mut gone = 0;
        for _ in 0..STEPS_MAX {
            let Some(from) = cursor.take() else { break };
            let Some(server) = servers.get(from.server) else { break };
            let (next, sets) =
                scan_names(server, (&from.cursor, KEYS_AT_ONCE), &glob, Some("zset")).await?;
            for set in sets {
                gone += self.sweep_set((layout, schema), &set, now, rows - gone).await?;
                if gone >= rows {
                    // The same step again: others of its sets were not looked at.
                    self.keep_cursor(Some(from));
                    return Ok(gone);
                }
            }
            cursor = match from.after(next, servers.len()) {
                Some(next) => Some(next),
                // A pass that began in the middle goes once around.
                None if !wrapped => {
                    wrapped = true;
                    Some(Swept::beginning())
                }
                None => None,
            };
        }
        self.keep_cursor(cursor);
        Ok(gone)
    }

    fn keep_cursor(&self, cursor: Option<Swept>) {
        *self.swept.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
    }

    /// Sweeps the rows that one sorted set names.
    async fn sweep_set(
        &self,
        (layout, schema): (&Layout, &Schema),
        set: &[u8],
        now: Milliseconds,
        rows: usize,
    ) -> Result<usize> {
        let mut gone = 0;
        while gone < rows {
            let most = (rows - gone).min(ROWS_AT_ONCE);
            let due = self.due((layout, schema), set, now, most).await?;
            let count = due.len();
            let keys: Vec<Key> = due.iter().map(|due| due.key.clone()).collect();
            let found = self.rows(layout, &keys).await?;
            let mut lost: Vec<Due> = Vec::new();
            let mut swept = 0;
            for (due, row) in due.into_iter().zip(found) {
                let indexed = due.collection.as_ref().is_some_and(|of| !of.indexes.is_empty());
                match row {
                    None if indexed => lost.push(due),
                    row => swept += usize::from(self.sweep_row(layout, due, row, now).await?),
                }
            }
            swept += self.sweep_lost((layout, schema), lost, now).await?;
            gone += swept;
            if count < most || swept == 0 {
                return Ok(gone);
            }
        }
        Ok(gone)
    }

    /// The rows of a sorted set that have ended.
    async fn due(
        &self,
        (layout, schema): (&Layout, &Schema),
        set: &[u8],
        now: Milliseconds,
        most: usize,
    ) -> Result<Vec<Due>> {
        let mut questions = Questions::default();
        let (now, most) = (now.to_string(), most.to_string());
        let words: [&[u8]; 7] =
            [b"-inf", now.as_bytes(), b"BYSCORE", b"LIMIT", b"0", most.as_bytes(), b"WITHSCORES"];
        questions.ask("ZRANGE", set, &words);
        let answered = self.answers(questions).await?;
        let mut members = answered.read().members()?.into_iter();
        let mut due = Vec::new();
        while let (Some(text), Some(score)) = (members.next(), members.next()) {
            let Ok(text) = std::str::from_utf8(text).map(str::to_string) else { continue };
            let found = match self.servers.is_cluster() {
                true => swept_alone(layout, &text).map(|key| (key, None)),
                false => owner(layout, schema, &text).map(|(key, of)| (key, Some(of))),
            };
            let Some((key, collection)) = found else { continue };
            due.push(Due { set: set.to_vec(), text, ends: instant(score)?, key, collection });
        }
        Ok(due)
    }

    /// Removes one row and all that belongs to it; false if it was written again meanwhile.
    async fn sweep_row(
        &self,
        layout: &Layout,
        due: Due,
        row: Option<Row>,
        now: Milliseconds,
    ) -> Result<bool> {
        let mut call = Call::default();
        call.check_due(layout, &due.key, (due.set, &due.text, due.ends))?;
        call.delete(layout, &due.key)?;
        if let (Some(row), Some(collection)) = (row, &due.collection) {
            let segments = collection.key.decode(&due.key)?;
            let slots = collection.decode(&row.value)?;
            for entry in entries::entries(collection, &segments, &slots)? {
                call.delete_entry(layout, &entry.key, &entry.value)?;
            }
        }
        self.removed(call, now).await
    }

    /// Removes what rows have left behind that Redis has dropped already.
    async fn sweep_lost(
        &self,
        (layout, schema): (&Layout, &Schema),
        lost: Vec<Due>,
        now: Milliseconds,
    ) -> Result<usize> {
        let mut gone = 0;
        for collection in schema.collections() {
            let of = |due: &&Due| {
                due.collection.as_ref().is_some_and(|own| Arc::ptr_eq(own, collection))
            };
            let keys: HashSet<&Key> = lost.iter().filter(of).map(|due| &due.key).collect();
            if keys.is_empty() {
                continue;
            }
            for index in &collection.indexes {
                let place = layout.place(index.key.space)?;
                self.remove_entries((layout, place), (collection, index), &keys, now).await?;
            }
        }
        for due in lost {
            gone += usize::from(self.sweep_row(layout, due, None, now).await?);
        }
        Ok(gone)
    }

    /// Removes the entries of an index that belong to rows which are gone.
    async fn remove_entries(
        &self,
        (layout, place): (&Layout, &Place),
        (collection, index): (&CollectionSchema, &data::schema::IndexSchema),
        owners: &HashSet<&Key>,
        now: Milliseconds,
    ) -> Result<()> {
        let mut walk = data::maintain::Walk::over(place.shape.space);
        while let Some(page) = walk.next(self).await? {
            for entry in page.iter().filter(|entry| entry.row.is_expired(now)) {
                let Ok(owner) = entries::owner(collection, index, entry) else { continue };
                if owners.contains(&owner) {
                    let mut call = Call::default();
                    call.delete_entry(layout, &entry.key, &entry.row.value)?;
                    self.removed(call, now).await?;
                }
            }
        }
        Ok(())
    }

    async fn removed(&self, call: Call, now: Milliseconds) -> Result<bool> {
        let call = call.finish(None, now);
        let (answer, _) = self.run(&call, Within::of_reads()).await.map_err(Error::from)?;
        match super::outcome::outcome(&answer, &call)? {
            data::store::Outcome::Committed { .. } => Ok(true),
            data::store::Outcome::Conflict(_) => Ok(false),
            data::store::Outcome::Indeterminate { .. } => Err(unexpected()),
        }
    }
}

/// The row, entry or claim that a text names, among all that end.
fn swept_alone(layout: &Layout, text: &str) -> Option<Key> {
    layout.places.values().find_map(|place| {
        place.expiries.as_ref()?;
        let taken = place.text.take_text(layout.naming.separator(), text)?;
        encode(place.shape.space, &place.shape.segments, &taken.values).ok().map(Key::from)
    })
}

/// The row that a text names, among the collections whose rows end.
fn owner(layout: &Layout, schema: &Schema, text: &str) -> Option<(Key, Arc<CollectionSchema>)> {
    schema.collections().iter().find_map(|collection| {
        let place = layout.place(collection.key.space).ok()?;
        place.expiries.as_ref()?;
        let taken = place.text.take_text(layout.naming.separator(), text)?;
        let key = encode(place.shape.space, &place.shape.segments, &taken.values).ok()?;
        Some((Key::from(key), collection.clone()))
    })
}

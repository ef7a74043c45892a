//! Rows brought into a store as they are: ids, times and owners included, indexes built on the way.
//!
//! A row that is there already is replaced, kept or refused, as asked. Bringing in the same rows
//! twice gives the same store, so an import that was stopped is simply begun again.

use crate::change::{After, CounterAdd, RowChange, WriteSet};
use crate::clock::{Clock, Milliseconds, Random};
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{self, Verdict};
use crate::request::AnswerShape;
use crate::schema::{CollectionSchema, Schema};
use crate::session::Session;
use crate::store::{CommitId, Expect, Key, Row, Store, limits};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::{Atomicity, Mode};
use std::collections::HashMap;
use std::sync::Arc;

/// What happens to rows that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They are replaced.
    Replace,
    /// They stay as they are.
    Keep,
    /// The import ends there.
    Refuse,
}

/// A row to be brought in.
#[derive(Clone, Debug)]
struct Incoming {
    /// Which row of the import it is, counted from 1.
    number: u64,
    collection: Arc<CollectionSchema>,
    key: Key,
    segments: Vec<Value>,
    slots: Vec<Value>,
    content: Bytes,
    expires: Option<Milliseconds>,
}

/// What an import has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedRows {
    /// Rows written.
    pub written: u64,
    /// Rows that were there and stayed as they were.
    pub kept: u64,
}

/// An import into a store. An error about one row has its number, counted from 1, as `row`; rows
/// before it may not have been committed yet, which `finish` does.
pub struct Import<'a> {
    store: &'a dyn Store,
    schema: &'a Arc<Schema>,
    clock: &'a dyn Clock,
    random: &'a dyn Random,
    existing: Existing,
    shapes: HashMap<String, Arc<AnswerShape>>,
    waiting: Vec<Incoming>,
    weight: usize,
    taken_in: u64,
    /// What has been done so far.
    pub rows: ImportedRows,
}

/// Writes of one row at most that are put together with others: far below the limit of a batch.
const BATCH_ROWS: usize = 100;
/// Bytes after which what waits is committed: half of what a batch may hold.
const BATCH_BYTES: usize = (limits::BATCH_BYTES_MAX / 2) as usize;
/// How long one commit may try, in milliseconds.
const COMMIT_MILLISECONDS_MAX: i64 = 30_000;

impl<'a> Import<'a> {
    /// An import that treats rows that are there as asked.
    pub fn new(
        store: &'a dyn Store,
        schema: &'a Arc<Schema>,
        clock: &'a dyn Clock,
        random: &'a dyn Random,
        existing: Existing,
    ) -> Self {
        let shapes = schema.collections().iter().map(|collection| {
            (collection.name().to_string(), Arc::new(AnswerShape::whole(schema, collection)))
        });
        Import {
            store,
            schema,
            clock,
            random,
            existing,
            shapes: shapes.collect(),
            waiting: Vec::new(),
            weight: 0,
            taken_in: 0,
            rows: ImportedRows::default(),
        }
    }

    /// One line of an export. It is committed with others, at the latest by `finish`.
    pub async fn line(&mut self, line: &serde_json::Value) -> Result<()> {
        let name = line.get("collection").and_then(serde_json::Value::as_str);
        let shape = name.and_then(|name| self.shapes.get(name)).cloned();
        let Some(shape) = shape else {
            return Err(Error::new(
                ErrorKind::Argument,
                "a line names no collection of the keyspace",
            )
            .with("collection", name.unwrap_or("(none)")));
        };
        let Some(row) = line.get("row").and_then(serde_json::Value::as_object) else {
            return Err(Error::new(ErrorKind::Argument, "a line has no `row`"));
        };
        let values = members(&shape, row)?;
        let segments_count = shape.collection.key.names.len();
        let mut segments = values;
        let slots = segments.split_off(segments_count);
        let expires = match line.get("expires") {
            None | Some(serde_json::Value::Null) => None,
            Some(at) => Some(at.as_i64().ok_or_else(|| {
                Error::new(ErrorKind::Argument, "`expires` is a number of milliseconds")
            })?),
        };
        self.row(shape.collection.clone(), segments, slots, expires).await
    }

    /// One row, as values.
    pub async fn row(
        &mut self,
        collection: Arc<CollectionSchema>,
        segments: Vec<Value>,
        slots: Vec<Value>,
        expires: Option<Milliseconds>,
    ) -> Result<()> {
        self.taken_in += 1;
        let key = collection.key.encode(&segments)?;
        let content = collection.encode(&slots)?;
        collection.check_size(&content)?;
        self.weight += key.bytes().len() + content.len();
        let number = self.taken_in;
        self.waiting.push(Incoming { number, collection, key, segments, slots, content, expires });
        if self.waiting.len() >= BATCH_ROWS || self.weight >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    /// Commits what waits.
    pub async fn finish(&mut self) -> Result<ImportedRows> {
        self.flush().await?;
        Ok(self.rows)
    }

    async fn flush(&mut self) -> Result<()> {
        self.weight = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        // The last of several lines with one key is the row.
        let mut seen = HashMap::new();
        for (position, incoming) in waiting.iter().enumerate() {
            seen.insert(incoming.key.clone(), position);
        }
        let mut position = 0;
        waiting.retain(|incoming| {
            position += 1;
            seen.get(&incoming.key) == Some(&(position - 1))
        });
        let whole = self.store.describe().atomicity == Atomicity::WholeStore;
        let size = if whole { waiting.len().max(1) } else { 1 };
        let mut rest = waiting;
        while !rest.is_empty() {
            let later = rest.split_off(size.min(rest.len()));
            self.commit(rest).await?;
            rest = later;
        }
        Ok(())
    }

    /// Commits some rows together; where they do not fit into one batch, in halves.
    async fn commit(&mut self, rows: Vec<Incoming>) -> Result<()> {
        let mut todo = vec![rows];
        while let Some(mut rows) = todo.pop() {
            match self.attempt(&rows).await {
                Ok(done) => {
                    self.rows.written += done.written;
                    self.rows.kept += done.kept;
                }
                Err(error) if error.kind() == ErrorKind::TooLarge && rows.len() > 1 => {
                    let later = rows.split_off(rows.len() / 2);
                    todo.push(later);
                    todo.push(rows);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn attempt(&self, rows: &[Incoming]) -> Result<ImportedRows> {
        for _ in 0..limits::COMMIT_ATTEMPTS_MAX {
            let now = self.clock.now();
            let deadline = now.saturating_add(COMMIT_MILLISECONDS_MAX);
            let mut session = Session::new(self.store, self.schema, now, deadline);
            // Every attempt makes an id of its own.
            session.repeatable = false;
            let keys: Vec<Key> = rows.iter().map(|row| row.key.clone()).collect();
            let stored = session.get(&keys).await?;
            let id = CommitId::new(now, self.random);
            let (changes, adds) = (Vec::new(), Vec::new());
            let mut set = WriteSet { id, now, deadline, checks: Vec::new(), changes, adds };
            let mut done = ImportedRows::default();
            for (incoming, stored) in rows.iter().zip(stored) {
                let planned = self.plan(incoming, stored, &mut set, &mut done);
                planned.map_err(|error| error.with("row", incoming.number))?;
            }
            if set.changes.is_empty() && set.adds.is_empty() {
                return Ok(done);
            }
            match protocol::commit(&mut session, &set).await? {
                Verdict::Committed { .. } => return Ok(done),
                Verdict::Indeterminate { id } => {
                    return Err(Error::new(ErrorKind::Indeterminate, "the outcome is not known")
                        .with("id", id));
                }
                Verdict::Obstacle(protocol::Obstacle::Taken { change, index }) => {
                    return Err(taken(&set, change, index, rows));
                }
                Verdict::Obstacle(_) => {}
            }
        }
        Err(Error::new(ErrorKind::Busy, "rows kept changing while they were imported"))
    }

    /// What one row adds to a write set.
    fn plan(
        &self,
        incoming: &Incoming,
        stored: Option<Row>,
        set: &mut WriteSet,
        done: &mut ImportedRows,
    ) -> Result<()> {
        let live = stored.as_ref().filter(|row| row.is_live(set.now));
        match (live, self.existing) {
            (Some(_), Existing::Keep) => {
                done.kept += 1;
                return Ok(());
            }
            (Some(_), Existing::Refuse) => {
                return Err(Error::new(ErrorKind::Conflict, "a row is there already")
                    .with("collection", incoming.collection.name()));
            }
            (Some(row), Existing::Replace)
                if row.value == incoming.content && row.expires == incoming.expires =>
            {
                done.kept += 1;
                return Ok(());
            }
            _ => {}
        }
        done.written += 1;
        if incoming.expires.is_some_and(|expires| expires <= set.now) {
            return Ok(());
        }
        if incoming.collection.model.is_counted() {
            let before = live.map(|row| incoming.collection.read(&row.value, 0)).transpose()?;
            let add = counted(incoming, before)?;
            set.adds.push(add);
            return Ok(());
        }
        let after = entries::entries(&incoming.collection, &incoming.segments, &incoming.slots)?;
        let before = match live {
            Some(row) => {
                let slots = incoming.collection.decode(&row.value)?;
                entries::entries(&incoming.collection, &incoming.segments, &slots)?
            }
            None => Vec::new(),
        };
        let moved = live.is_none_or(|row| row.expires != incoming.expires);
        let (gained, lost) = entries::diff(before, after, moved);
        let expect =
            live.map_or(Expect::Absent, |row| row.version.map_or(Expect::Present, Expect::Version));
        set.changes.push(RowChange {
            collection: incoming.collection.clone(),
            key: incoming.key.clone(),
            expect: (incoming.collection.mode == Mode::Conditional).then_some(expect),
            read: true,
            before: stored,
            after: Some(After { value: incoming.content.clone(), expires: incoming.expires }),
            gained,
            lost,
        });
        Ok(())
    }
}

/// What must be added to a counter so that it becomes what comes in.
fn counted(incoming: &Incoming, before: Option<Value>) -> Result<CounterAdd> {
    let wanted = match incoming.slots.first() {
        Some(Value::I64(wanted)) => *wanted,
        _ => return Err(Error::new(ErrorKind::Argument, "a counter is a whole number")),
    };
    let before = match before {
        Some(Value::I64(before)) => before,
        _ => 0,
    };
    let overflow = || Error::new(ErrorKind::Overflow, "a counter would leave its range");
    let amount = wanted.checked_sub(before).ok_or_else(overflow)?;
    Ok(CounterAdd {
        collection: incoming.collection.clone(),
        key: incoming.key.clone(),
        amount,
        expires: incoming.expires,
        window: None,
    })
}

/// The values of a row, segments first, by the names people see.
fn members(
    shape: &AnswerShape,
    row: &serde_json::Map<String, serde_json::Value>,
) -> Result<Vec<Value>> {
    let unknown = row.keys().find(|name| !shape.members.iter().any(|m| m.shown == **name));
    if let Some(name) = unknown {
        return Err(Error::new(ErrorKind::Argument, "a row has a member its collection has not")
            .with("collection", shape.collection.name())
            .with("member", name));
    }
    let value = |member: &crate::request::AnswerMember| {
        let json = row.get(&member.shown).unwrap_or(&serde_json::Value::Null);
        Value::from_json(json, &member.member_type).map_err(|error| {
            error.with("collection", shape.collection.name()).with("member", &member.shown)
        })
    };
    shape.members.iter().map(value).collect()
}

fn taken(set: &WriteSet, change: usize, index: usize, rows: &[Incoming]) -> Error {
    let error = Error::new(ErrorKind::Taken, "a unique value belongs to another row");
    let Some(change) = set.changes.get(change) else { return error };
    let index = change.collection.indexes.get(index);
    let name = index.map_or("", |index| index.name());
    let error = error.with("collection", change.collection.name()).with("index", name);
    match rows.iter().find(|row| row.key == change.key) {
        Some(row) => error.with("row", row.number),
        None => error,
    }
}

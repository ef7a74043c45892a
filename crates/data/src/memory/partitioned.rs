//! A group-atomic store in memory: the rows of one place change together, those of two do not.
//!
//! ```text
//! batch ─▶ places of its keys ─┬─ one            judged and applied under one lock
//!                              ├─ several, blind  place after place; others may run between
//!                              └─ several, else   refused; like Redis Cluster, blind ones too
//! ```
//!
//! The protocol over group-atomic stores is tested on it, so it must never promise more than the
//! weakest of them: nothing here makes two places change at one instant.

use super::Shared;
use super::faults::others_first;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Place, Schema};
use crate::store::judge::Effect;
use crate::store::limits::CASSANDRA_BATCH_BYTES_MAX;
use crate::store::{
    Batch, CommitId, Description, Durability, Judgement, Key, Memory, Outcome, Page, Range, Reach,
    Row, Scan, Store, Write, door, judge,
};
use async_trait::async_trait;
use keyspace::key::KeyReader;
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A group-atomic store in memory.
#[derive(Debug)]
pub struct PartitionedMemory {
    rows: Shared,
    kind: StoreKind,
}

impl PartitionedMemory {
    /// An empty store, like Cassandra.
    pub fn new() -> Self {
        PartitionedMemory { rows: Shared::new(0), kind: StoreKind::Cassandra }
    }

    /// An empty store like Redis Cluster: no batch reaches two places.
    pub fn of_places() -> Self {
        PartitionedMemory { kind: StoreKind::RedisCluster, ..PartitionedMemory::new() }
    }

    /// The same store, if it forgets the outcome of every batch at once: what it then answers to
    /// one that is sent again is what a store answers after
    /// [`OUTCOME_KEPT`](crate::store::OUTCOME_KEPT). What was added to a counter is known for
    /// longer: a store that knows batches by their rows ([`Memory::Rows`]) knows by the counter
    /// itself, whatever other rows the batch has.
    pub fn forgetting(self) -> Self {
        if let Ok(mut rows) = self.rows.write() {
            rows.forget_outcomes();
        }
        self
    }

    fn reach(&self) -> Reach {
        if self.kind == StoreKind::RedisCluster { Reach::Place } else { Reach::Store }
    }

    fn schema(&self) -> Result<Arc<Schema>> {
        self.rows.read()?.schema.clone().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the store was not made ready for a keyspace")
        })
    }

    /// Applies a blind batch place by place.
    async fn commit_apart(&self, batch: &Batch, schema: &Schema) -> Result<Outcome> {
        if self.rows.read()?.is_committed(&batch.id) {
            return Ok(Outcome::Committed { totals: Vec::new() });
        }
        let Judgement::Commit { effects, totals } = judge(batch, |_| Ok(None))? else {
            return Err(Error::new(ErrorKind::Internal, "a batch without checks met a conflict"));
        };
        let mut places: BTreeMap<Place, Vec<Effect>> = BTreeMap::new();
        for effect in effects {
            places.entry(schema.place(&effect.0)?).or_default().push(effect);
        }
        let left = places.into_values().collect();
        let mut parts = Parts { rows: &self.rows, id: batch.id, left };
        while parts.apply_next()? {
            others_first(1).await;
        }
        self.rows.write()?.remember(batch, &totals);
        Ok(Outcome::Committed { totals })
    }
}

impl Default for PartitionedMemory {
    fn default() -> Self {
        PartitionedMemory::new()
    }
}

#[async_trait]
impl Store for PartitionedMemory {
    fn describe(&self) -> Description {
        Description {
            kind: self.kind,
            address: "memory:partitioned".to_string(),
            atomicity: Atomicity::Group,
            blind: self.reach(),
            remembers: Memory::Batches,
            durability: Durability::None,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.rows.ensure(keyspace, self.kind)
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        Ok(self.rows.read()?.get(keys))
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        self.rows.read()?.scan(scan)
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let schema = self.schema()?;
        if scan.range.is_empty() {
            return self.rows.read()?.scan(scan);
        }
        check_range(&schema, &scan.range)?;
        let page = self.rows.read()?.scan(scan)?;
        let mut rows = page.rows.iter();
        if let Some(first) = rows.next() {
            let place = schema.place(&first.key)?;
            for keyed in rows {
                if schema.place(&keyed.key)? != place {
                    return Err(several("a scan reaches several places"));
                }
            }
        }
        Ok(page)
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let schema = self.schema()?;
        let blind = self.reach() == Reach::Store && is_blind(batch);
        if blind && batch.writes.len() > 1 {
            door::check_batch_bytes(CASSANDRA_BATCH_BYTES_MAX, batch.bytes())?;
        }
        let mut keys =
            batch.checks.iter().map(|check| &check.key).chain(batch.writes.iter().map(Write::key));
        let Some(first) = keys.next() else { return self.rows.write()?.commit(batch) };
        let place = schema.place(first)?;
        for key in keys {
            if schema.place(key)? == place {
                continue;
            }
            return match blind {
                true => self.commit_apart(batch, &schema).await,
                false => Err(several("a batch reaches several places of a group-atomic store")),
            };
        }
        self.rows.write()?.commit(batch)
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        Ok(self.rows.write()?.sweep(now, rows))
    }
}

/// The places a blind batch has still to reach.
///
/// A batch that was begun is finished, even if its caller has gone away: so a server would do.
struct Parts<'s> {
    rows: &'s Shared,
    id: CommitId,
    left: VecDeque<Vec<Effect>>,
}

impl Parts<'_> {
    /// Applies the writes of one place, and says whether more are left.
    fn apply_next(&mut self) -> Result<bool> {
        if let Some(part) = self.left.pop_front() {
            self.rows.write()?.apply(self.id, part);
        }
        Ok(!self.left.is_empty())
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        while matches!(self.apply_next(), Ok(true)) {}
    }
}

/// Whether a batch asks for nothing and keeps no versions: it may reach several places.
fn is_blind(batch: &Batch) -> bool {
    let plain = |write: &Write| match write {
        Write::Put { versioned, trail, .. } => !versioned && trail.is_none(),
        Write::Delete { .. } => true,
        Write::Add { .. } => false,
    };
    batch.checks.is_empty() && batch.writes.iter().all(plain)
}

/// Whether a range fixes a whole group. Which time slice it lies in is seen by its rows only.
fn check_range(schema: &Schema, range: &Range) -> Result<()> {
    let open = || several("a scan does not fix the whole group");
    let number = Key::new(range.start.clone()).space();
    let space = schema.space(number)?;
    let shape = space.key().ok_or_else(open)?;
    let mut reader = KeyReader::new(&range.start).map_err(|_| open())?;
    for segment in shape.segments.iter().take(shape.group) {
        reader.value(*segment).map_err(|_| open())?;
    }
    let front = range.start.get(..reader.offset()).ok_or_else(open)?;
    match shape.children(front).end >= range.end {
        true => Ok(()),
        false => Err(open()),
    }
}

fn several(message: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

//! A store whose calls are refused, delayed or left without a reply, as someone decides.
//!
//! ```text
//! call ─▶ Faults::next ─┬─ Proceed            the store's answer
//!                       ├─ Refuse             unavailable, the store was not asked
//!                       ├─ Wait(n)            others run first
//!                       ├─ Lose               the store did it, nobody learns it
//!                       └─ Late(n)            nobody learns it, the store does it n calls later
//! ```
//!
//! Everything follows from what [`Faults`] answers: the same answers give the same run.

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use crate::store::{
    Batch, Changes, Description, Hold, Key, Outcome, Page, Position, Row, Scan, Store, Stretch,
};
use async_trait::async_trait;
use keyspace::model::Keyspace;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// A call that something may happen to.
#[derive(Clone, Copy, Debug)]
pub enum Call<'c> {
    /// A get of these keys.
    Get(&'c [Key]),
    /// A scan.
    Scan(&'c Scan),
    /// A commit.
    Commit(&'c Batch),
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Proceed,
    /// It does not reach the store.
    Refuse,
    /// Others run first, so many times.
    Wait(u32),
    /// The reply is lost: a commit is there, or met its conflict, and its fate is not known.
    Lose,
    /// A commit arrives only before the call that comes so many calls later, and its fate is not
    /// known until then. Of a read: as `Lose`.
    Late(u32),
}

/// Whoever decides.
pub trait Faults: fmt::Debug + Send + Sync {
    /// What happens to this call.
    fn next(&self, call: Call<'_>) -> Fault;
}

/// A store with faults.
#[derive(Debug)]
pub struct FaultyStore {
    store: Arc<dyn Store>,
    faults: Arc<dyn Faults>,
    /// Batches under way, and how many calls they let pass.
    late: Mutex<Vec<(u32, Batch)>>,
}

impl FaultyStore {
    /// This store, with these faults.
    pub fn new(store: Arc<dyn Store>, faults: Arc<dyn Faults>) -> Self {
        FaultyStore { store, faults, late: Mutex::new(Vec::new()) }
    }

    /// Lets every batch that is under way arrive.
    pub async fn settle(&self) {
        self.arrive(u32::MAX).await;
    }

    /// Lets batches arrive that have let this many calls pass.
    async fn arrive(&self, calls: u32) {
        let arrived = {
            let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            let mut arrived = Vec::new();
            late.retain_mut(|(left, batch)| {
                *left = left.saturating_sub(calls);
                if *left == 0 {
                    arrived.push(batch.clone());
                }
                *left > 0
            });
            arrived
        };
        for batch in arrived {
            // Whoever sent it has gone; its outcome reaches nobody.
            let _ = self.store.commit(&batch).await;
        }
    }

    /// What happens to a read, other than the read.
    async fn before_read(&self, call: Call<'_>) -> Result<()> {
        self.arrive(1).await;
        match self.faults.next(call) {
            Fault::Proceed => Ok(()),
            Fault::Wait(times) => {
                others_first(times).await;
                Ok(())
            }
            Fault::Refuse | Fault::Lose | Fault::Late(_) => Err(unavailable()),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.before_read(Call::Get(keys)).await?;
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        self.before_read(Call::Scan(scan)).await?;
        self.store.scan(scan).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        self.arrive(1).await;
        match self.faults.next(Call::Commit(batch)) {
            Fault::Proceed => self.store.commit(batch).await,
            Fault::Wait(times) => {
                others_first(times).await;
                self.store.commit(batch).await
            }
            Fault::Refuse => Err(unavailable()),
            Fault::Lose => {
                self.store.commit(batch).await?;
                Ok(Outcome::Indeterminate { id: batch.id })
            }
            Fault::Late(calls) => {
                // What the door would refuse never gets under way.
                batch.check_limits()?;
                let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
                late.push((calls.max(1), batch.clone()));
                Ok(Outcome::Indeterminate { id: batch.id })
            }
        }
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        self.store.walk(scan).await
    }

    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        self.store.walk_from(space, mark, rows).await
    }

    async fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        self.store.changes(since, rows).await
    }

    async fn follow(&self) -> Result<Position> {
        self.store.follow().await
    }

    async fn hold(&self, hold: Hold) -> Result<Position> {
        self.store.hold(hold).await
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        self.store.sweep(now, rows).await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "the store does not answer")
}

/// Lets whoever else is ready run, so many times.
pub(super) async fn others_first(times: u32) {
    let mut left = times;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

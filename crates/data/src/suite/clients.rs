//! Clients that work on one store at the same time.

use super::bench::{Bench, Checked, Failure, MINUTE};
use crate::clock::{Milliseconds, SeededRandom};
use crate::store::{Batch, Check, CommitId, Key, Outcome, Row, Store, Write};
use futures_util::future::BoxFuture;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One client.
#[derive(Debug)]
pub struct Client {
    /// The store all clients share.
    pub store: Arc<dyn Store>,
    /// Which client it is, from 0.
    pub number: usize,
    /// A number all clients share: a clock, or a mark.
    pub shared: Arc<AtomicU64>,
    now: Milliseconds,
    random: SeededRandom,
}

impl Client {
    /// A number by chance, below `below`.
    pub fn below(&self, below: usize) -> usize {
        usize::try_from(self.random.number() % (below.max(1) as u64)).unwrap_or_default()
    }

    /// A new id.
    pub fn id(&self) -> CommitId {
        CommitId::new(self.now, &self.random)
    }

    /// The next instant of the clock all clients share.
    pub fn tick(&self) -> u64 {
        self.shared.fetch_add(1, Ordering::SeqCst)
    }

    /// A batch.
    pub fn batch(&self, checks: Vec<Check>, writes: Vec<Write>) -> Batch {
        Batch { id: self.id(), now: self.now, checks, writes, deadline: self.now + MINUTE }
    }

    /// Commits, and says whether it was committed.
    pub async fn commits(&self, checks: Vec<Check>, writes: Vec<Write>) -> Checked<bool> {
        match self.store.commit(&self.batch(checks, writes)).await? {
            Outcome::Committed { .. } => Ok(true),
            Outcome::Conflict(_) => Ok(false),
            Outcome::Indeterminate { .. } => Err(Failure::broken("a reply was lost")),
        }
    }

    /// The row under a key.
    pub async fn row(&self, key: &Key) -> Checked<Option<Row>> {
        let rows = self.store.get(std::slice::from_ref(key)).await?;
        Ok(rows.into_iter().next().flatten())
    }
}

/// What each client answered.
type Answers<T> = Vec<(usize, Checked<T>)>;

/// Runs clients at the same time, and answers what each of them answers, in their order.
pub async fn at_once<T: Send + 'static>(
    bench: &Bench,
    count: usize,
    work: impl Fn(Client) -> BoxFuture<'static, Checked<T>>,
) -> Checked<Vec<T>> {
    let answers: Arc<Mutex<Answers<T>>> = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::new(AtomicU64::new(1));
    let mut clients: Vec<BoxFuture<'static, ()>> = Vec::new();
    for number in 0..count {
        let client = Client {
            store: bench.store.clone(),
            number,
            shared: shared.clone(),
            now: bench.now,
            random: SeededRandom::new(bench.seed ^ bench.below(u64::MAX)),
        };
        let answers = answers.clone();
        let work = work(client);
        clients.push(Box::pin(async move {
            let answer = work.await;
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.push((number, answer));
        }));
    }
    (bench.clients)(clients).await;
    let mut answers = std::mem::take(&mut *answers.lock().unwrap_or_else(PoisonError::into_inner));
    if answers.len() != count {
        return Err(Failure::broken("a client ended without an answer"));
    }
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

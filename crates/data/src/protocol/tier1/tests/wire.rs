//! A store behind a wire that someone else moves: every request waits until it is told what
//! happens to it.
//!
//! ```text
//! request ─▶ waiting ─┬─ arrives, reply comes
//!                     ├─ arrives, reply is lost          commit: not known; read: unavailable
//!                     ├─ reply is lost, arrives later    or never
//!                     └─ does not arrive                 unavailable
//! sender gone ─▶ a commit may still arrive; a read is nobody's business any more
//! ```

use crate::clock::SeededRandom;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::PartitionedMemory;
use crate::schema::Schema;
use crate::store::{Batch, Description, Key, Outcome, Page, Row, Scan, Store, Version, Write};
use async_trait::async_trait;
use futures_util::FutureExt;
use keyspace::model::Keyspace;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

#[derive(Clone, Debug)]
enum Request {
    Get(Vec<Key>),
    Commit(Batch),
}

enum Reply {
    Rows(Result<Vec<Option<Row>>>),
    Outcome(Result<Outcome>),
}

struct State {
    next: u64,
    waiting: BTreeMap<u64, Request>,
    replies: BTreeMap<u64, Reply>,
    /// Commits nobody waits for.
    late: Vec<Batch>,
    /// Every version each row has had, in order.
    versions: BTreeMap<Key, Vec<Version>>,
    /// What happened, if anyone wants to know.
    trace: Option<Vec<String>>,
}

/// A store behind a wire.
pub(super) struct Wire {
    pub store: PartitionedMemory,
    state: Mutex<State>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Wire")
    }
}

impl Wire {
    pub fn new(store: PartitionedMemory) -> Self {
        let trace = std::env::var_os("SIMULATION_TRACE").map(|_| Vec::new());
        let state = State {
            next: 0,
            waiting: BTreeMap::new(),
            replies: BTreeMap::new(),
            late: Vec::new(),
            versions: BTreeMap::new(),
            trace,
        };
        Wire { store, state: Mutex::new(state) }
    }

    /// Something happens to one request, if there is one.
    pub fn step(&self, chance: &SeededRandom, faults: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        let (waiting, late) = (state.waiting.len() as u64, state.late.len() as u64);
        if waiting + late == 0 {
            return false;
        }
        let pick = chance.number() % (waiting + late);
        if pick >= waiting {
            let batch = state.late.remove((pick - waiting) as usize);
            match chance.number() % 4 {
                0 => state.note(|| format!("never arrives {batch:?}")),
                _ => {
                    state.note(|| format!("arrives late {batch:?}"));
                    let _ = self.arrive(&mut state, &batch);
                }
            }
            return true;
        }
        let number = *state.waiting.keys().nth(pick as usize).unwrap();
        let request = state.waiting.remove(&number).unwrap();
        let fault = if faults { chance.number() % 20 } else { 19 };
        state.note(|| format!("request {number} fault {fault} {request:?}"));
        let reply = match (request, fault) {
            (Request::Get(_), 0) => Reply::Rows(Err(unavailable())),
            (Request::Get(keys), _) => Reply::Rows(self.store.get(&keys).now_or_never().unwrap()),
            (Request::Commit(_), 0) => Reply::Outcome(Err(unavailable())),
            (Request::Commit(batch), 1) => {
                let _ = self.arrive(&mut state, &batch);
                Reply::Outcome(Ok(Outcome::Indeterminate { id: batch.id }))
            }
            (Request::Commit(batch), 2) => {
                let id = batch.id;
                state.late.push(batch);
                Reply::Outcome(Ok(Outcome::Indeterminate { id }))
            }
            (Request::Commit(batch), _) => Reply::Outcome(self.arrive(&mut state, &batch)),
        };
        if let Reply::Outcome(outcome) = &reply {
            state.note(|| format!("  reply {outcome:?}"));
        }
        state.replies.insert(number, reply);
        true
    }

    fn arrive(&self, state: &mut State, batch: &Batch) -> Result<Outcome> {
        let version = |key: &Key| {
            let row = self.store.get(std::slice::from_ref(key)).now_or_never().unwrap();
            row.unwrap()[0].as_ref().map(|row| row.version)
        };
        let keys: Vec<&Key> = batch.writes.iter().map(Write::key).collect();
        let before: Vec<_> = keys.iter().map(|key| version(key)).collect();
        let outcome = self.store.commit(batch).now_or_never().unwrap()?;
        for (key, before) in keys.into_iter().zip(before) {
            let after = version(key);
            // A row that is removed for good has no version to tell.
            let set = after == Some(Some(batch.id)) || after.is_none();
            if after != before && set {
                state.versions.entry(key.clone()).or_default().push(batch.id);
            }
        }
        Ok(outcome)
    }

    /// Every version each row has had.
    pub fn versions(&self) -> BTreeMap<Key, Vec<Version>> {
        self.state.lock().unwrap().versions.clone()
    }

    /// What happened, for a failure's report.
    pub fn trace(&self) -> String {
        self.state.lock().unwrap().trace.as_ref().map_or_else(String::new, |trace| trace.join("\n"))
    }

    /// Adds a line to what happened.
    pub fn note(&self, line: impl FnOnce() -> String) {
        self.state.lock().unwrap().note(line);
    }

    async fn ask(&self, request: Request) -> Reply {
        let number = {
            let mut state = self.state.lock().unwrap();
            state.next += 1;
            let number = state.next;
            state.waiting.insert(number, request);
            number
        };
        let sender = Sender { wire: self, number };
        let reply = poll_fn(|_| match self.state.lock().unwrap().replies.remove(&number) {
            Some(reply) => Poll::Ready(reply),
            None => Poll::Pending,
        });
        let reply = reply.await;
        drop(sender);
        reply
    }
}

/// Whoever waits for a reply.
struct Sender<'w> {
    wire: &'w Wire,
    number: u64,
}

impl Drop for Sender<'_> {
    fn drop(&mut self) {
        let mut state = self.wire.state.lock().unwrap();
        state.replies.remove(&self.number);
        if let Some(Request::Commit(batch)) = state.waiting.remove(&self.number) {
            state.late.push(batch);
        }
    }
}

impl State {
    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }
}

#[async_trait]
impl Store for Wire {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        match self.ask(Request::Get(keys.to_vec())).await {
            Reply::Rows(rows) => rows,
            Reply::Outcome(_) => unreachable!(),
        }
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        self.store.scan(scan).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        match self.ask(Request::Commit(batch.clone())).await {
            Reply::Outcome(outcome) => outcome,
            Reply::Rows(_) => unreachable!(),
        }
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "the wire is down")
}

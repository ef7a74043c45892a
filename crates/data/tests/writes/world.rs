//! A keyspace on a store in memory, called by name with JSON.

use data::caller::Caller;
use data::clock::{ManualClock, Random, SeededRandom};
use data::error::{ErrorKind, Result};
use data::maintain::Scrub;
use data::memory::{MemoryStore, PartitionedMemory};
use data::request::{Call, Options, Reply, Runtime};
use data::schema::Schema;
use data::store::{Batch, CommitId, Description, Key, Outcome, Page, Row, Scan, Store, Stretch};
use data::suite::block_on;
use keyspace::model::{Keyspace, StoreKind};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The instant at which every test begins: 2026-11-15T12:00:00Z.
pub const NOON: i64 = 1_794_744_000_000;

/// What happens before a commit reaches the store.
type Meddling = Box<dyn FnOnce() + Send>;

/// A store in memory before whose commits something may happen.
pub struct Meddled {
    store: Arc<dyn Store>,
    before_commit: Mutex<VecDeque<Option<Meddling>>>,
    lost_replies: Mutex<usize>,
}

impl fmt::Debug for Meddled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Meddled({:?})", self.store)
    }
}

#[async_trait::async_trait]
impl Store for Meddled {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        self.store.scan(scan).await
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

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        let meddling = self.before_commit.lock().unwrap().pop_front().flatten();
        if let Some(meddling) = meddling {
            meddling();
        }
        let outcome = self.store.commit(batch).await?;
        let lost = std::mem::take(&mut *self.lost_replies.lock().unwrap());
        match lost {
            0 => Ok(outcome),
            _ => Ok(Outcome::Indeterminate { id: batch.id }),
        }
    }
}

/// A keyspace on a store, and whoever calls.
#[derive(Clone)]
pub struct World {
    runtime: Arc<Runtime>,
    store: Arc<Meddled>,
    pub clock: ManualClock,
    seed: u64,
}

impl Drop for World {
    fn drop(&mut self) {
        // The last one out turns the light on.
        if Arc::strong_count(&self.runtime) == 1 && !std::thread::panicking() {
            self.prove_indexes();
        }
    }
}

/// A keyspace on both classes of store, where the second one serves all of it.
pub fn worlds(file: &str) -> Vec<World> {
    vec![
        world_on(file, Arc::new(MemoryStore::new())),
        world_on(file, Arc::new(PartitionedMemory::new())),
    ]
}

/// A keyspace on a store that is atomic as a whole.
pub fn world(file: &str) -> World {
    world_on(file, Arc::new(MemoryStore::new()))
}

fn world_on(file: &str, store: Arc<dyn Store>) -> World {
    let text = format!("[keyspace]\nname = \"test\"\n{file}");
    let reading = keyspace::read(&text);
    let errors: Vec<String> = reading
        .diagnostics
        .iter()
        .filter(|problem| problem.severity == keyspace::diagnostic::Severity::Error)
        .map(|problem| problem.message.clone())
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    let keyspace = Arc::new(reading.keyspace.expect("a keyspace"));
    let store = Arc::new(Meddled {
        store,
        before_commit: Mutex::default(),
        lost_replies: Mutex::default(),
    });
    let seed = 7;
    let clock = ManualClock::at(NOON);
    let mut options = Options::new(Arc::new(clock.clone()), Arc::new(SeededRandom::new(seed)));
    options.check_bounds = true;
    let runtime = block_on(Runtime::open(store.clone(), keyspace, options)).expect("opens");
    World { runtime: Arc::new(runtime), store, clock, seed }
}

impl World {
    /// What kind of store it is.
    pub fn kind(&self) -> StoreKind {
        self.runtime.schema().kind()
    }

    /// Whether versions, checks and batches reach the whole store.
    pub fn is_whole(&self) -> bool {
        self.kind() == StoreKind::Memory
    }

    /// A call by Ann.
    pub fn call(&self, pattern: &str, arguments: Json) -> Result<Json> {
        self.by(&Caller::user("ann"), pattern, arguments)
    }

    /// The answer to a call by Ann that must succeed.
    pub fn ok(&self, pattern: &str, arguments: Json) -> Json {
        let shown = arguments.to_string();
        match self.call(pattern, arguments) {
            Ok(answer) => answer,
            Err(error) => panic!("{pattern} {shown} on {}: {error}", self.kind()),
        }
    }

    /// The error of a call by Ann that must fail.
    pub fn fails(&self, pattern: &str, arguments: Json) -> (ErrorKind, String) {
        self.fails_by(&Caller::user("ann"), pattern, arguments)
    }

    /// The error of a call that must fail.
    pub fn fails_by(&self, caller: &Caller, pattern: &str, arguments: Json) -> (ErrorKind, String) {
        let shown = arguments.to_string();
        match self.by(caller, pattern, arguments) {
            Ok(answer) => panic!("{pattern} {shown} on {} answered {answer}", self.kind()),
            Err(error) => (error.kind(), error.to_string()),
        }
    }

    /// A call by somebody.
    pub fn by(&self, caller: &Caller, pattern: &str, arguments: Json) -> Result<Json> {
        self.reply(caller, pattern, arguments, None)
            .and_then(|reply| reply.answer.to_json(self.runtime.schema()))
    }

    /// A call by Ann with an id of her choice.
    pub fn with_id(&self, id: CommitId, pattern: &str, arguments: Json) -> Result<Json> {
        let reply = self.reply(&Caller::user("ann"), pattern, arguments, Some(id))?;
        reply.answer.to_json(self.runtime.schema())
    }

    /// A call, with what it cost.
    pub fn reply(
        &self,
        caller: &Caller,
        pattern: &str,
        arguments: Json,
        id: Option<CommitId>,
    ) -> Result<Reply> {
        let prepared = self.runtime.pattern(pattern)?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let given = prepared.given_from_json(self.runtime.keyspace(), &arguments)?;
        let mut call = Call::new(prepared, given, caller);
        call.id = id;
        block_on(self.runtime.call(call))
    }

    /// An id that somebody chooses.
    pub fn id(&self) -> CommitId {
        use data::clock::Clock;
        let chance = SeededRandom::new(self.seed + 1);
        let mut bytes = [0; 8];
        chance.fill(&mut bytes);
        CommitId::new(self.clock.now(), &chance)
    }

    /// Before the next commit reaches the store, this happens.
    pub fn before_next_commit(&self, meddling: impl FnOnce(&World) + Send + 'static) {
        self.before_commit(0, meddling);
    }

    /// Before the commit after so many others reaches the store, this happens.
    pub fn before_commit(&self, later: usize, meddling: impl FnOnce(&World) + Send + 'static) {
        let world = self.clone();
        let mut queue = self.store.before_commit.lock().unwrap();
        while queue.len() <= later {
            queue.push_back(None);
        }
        queue[later] = Some(Box::new(move || {
            // Whoever meddles is not meddled with.
            let held = std::mem::take(&mut *world.store.before_commit.lock().unwrap());
            meddling(&world);
            *world.store.before_commit.lock().unwrap() = held;
        }));
    }

    /// The reply to the next commit is lost, after it was made.
    pub fn lose_next_reply(&self) {
        *self.store.lost_replies.lock().unwrap() = 1;
    }

    /// Rows that lie in the space of a collection or an index, expired ones and dead ones left out.
    pub fn live_rows(&self, space: &str) -> usize {
        use data::clock::Clock;
        let number = self.runtime.schema().catalogue().spaces[space];
        let now = self.clock.now();
        let mut walk = data::maintain::Walk::over(number);
        let mut rows = 0;
        while let Some(page) = block_on(walk.next(self.store.as_ref())).expect("walks") {
            rows += page.iter().filter(|keyed| keyed.row.is_live(now)).count();
        }
        rows
    }

    fn prove_indexes(&self) {
        let random = SeededRandom::new(self.seed);
        let scrub = Scrub {
            store: self.store.as_ref(),
            schema: self.runtime.schema(),
            clock: &self.clock,
            random: &random,
            repair: false,
        };
        let mut problems = Vec::new();
        let mut seen = |problem: Option<&data::maintain::Problem>, _: &_| {
            problems.extend(problem.cloned());
        };
        block_on(scrub.run(&mut seen)).expect("scrubs");
        assert!(problems.is_empty(), "{} on {}", json!(format!("{problems:?}")), self.kind());
    }
}

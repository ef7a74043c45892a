//! A run time over a store in memory, calls as JSON, and a store that fails when it is told to.

use data::clock::{ManualClock, SeededRandom};
use data::maintain::{Problem, Scrub, ScrubCounts};
use data::memory::{Call as StoreCall, Fault, Faults, FaultyStore, MemoryStore, PartitionedMemory};
use data::request::{Call, Options, Runtime};
use data::store::{CommitId, Store};
use data::suite::{block_on, patterns};
use data::{Caller, Error, ErrorKind};
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub const NOW: i64 = 1_800_000_000_000;

pub struct Bench {
    pub runtime: Runtime,
    pub clock: ManualClock,
    pub random: Arc<SeededRandom>,
}

impl Bench {
    /// A keyspace on a store.
    pub fn open(text: &str, store: Arc<dyn Store>) -> Bench {
        let clock = ManualClock::at(NOW);
        let random = Arc::new(SeededRandom::new(7));
        let mut options = Options::new(Arc::new(clock.clone()), random.clone());
        options.check_bounds = true;
        let reading = keyspace::read(text);
        let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let runtime = block_on(Runtime::open(store, Arc::new(keyspace), options)).unwrap();
        Bench { runtime, clock, random }
    }

    /// A keyspace on both kinds of store.
    pub fn both(text: &str) -> [Bench; 2] {
        let whole: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let grouped: Arc<dyn Store> = Arc::new(PartitionedMemory::new());
        [whole, grouped].map(|store| Bench::open(text, store))
    }

    /// The keyspace of the scripts on both kinds of store.
    pub fn scripts() -> [Bench; 2] {
        Bench::both(patterns::KEYSPACE)
    }

    pub fn call(&self, user: &str, pattern: &str, arguments: Json) -> Result<Json, Error> {
        self.call_as(user, pattern, arguments, None)
    }

    pub fn call_as(
        &self,
        user: &str,
        pattern: &str,
        arguments: Json,
        id: Option<CommitId>,
    ) -> Result<Json, Error> {
        let prepared = self.runtime.pattern(pattern)?;
        let object = arguments.as_object().expect("arguments are an object");
        let given = prepared.given_from_json(self.runtime.keyspace(), object)?;
        let caller = Caller::user(user);
        let mut call = Call::new(prepared, given, &caller);
        call.id = id;
        let reply = block_on(self.runtime.call(call))?;
        reply.answer.to_json(self.runtime.schema())
    }

    /// What a call of Ann's is answered.
    pub fn ok(&self, pattern: &str, arguments: Json) -> Json {
        let told = arguments.to_string();
        self.call("ann", pattern, arguments).unwrap_or_else(|e| panic!("{pattern} {told}: {e:?}"))
    }

    /// The kind of error of a call of Ann's.
    pub fn kind(&self, pattern: &str, arguments: Json) -> ErrorKind {
        let told = arguments.to_string();
        match self.call("ann", pattern, arguments) {
            Ok(answer) => panic!("{pattern} {told} answered {answer}"),
            Err(error) => error.kind(),
        }
    }

    /// One member of each row of a page.
    pub fn column(&self, pattern: &str, arguments: Json, member: &str) -> Vec<Json> {
        let page = self.ok(pattern, arguments);
        page["rows"].as_array().unwrap().iter().map(|row| row[member].clone()).collect()
    }

    /// Looks at every row and entry.
    pub fn scrub(&self) -> (Vec<Problem>, ScrubCounts) {
        let scrub = Scrub {
            store: self.runtime.store().as_ref(),
            schema: self.runtime.schema(),
            clock: &self.clock,
            random: self.random.as_ref(),
            repair: false,
        };
        let mut problems = Vec::new();
        let mut seen = |problem: Option<&Problem>, _: &_| problems.extend(problem.cloned());
        let counts = block_on(scrub.run(&mut seen)).unwrap();
        (problems, counts)
    }

    /// The entries that are there; all of them must be true.
    pub fn entries(&self) -> u64 {
        let (problems, counts) = self.scrub();
        assert_eq!(problems, []);
        counts.entries
    }
}

/// Something that happens to one call of a store, once it is told so.
#[derive(Debug)]
pub struct Once {
    fault: Fault,
    /// Calls before it; less than nothing once it has happened, or is not asked for.
    left: AtomicI64,
}

impl Once {
    pub fn new(fault: Fault) -> Arc<Once> {
        Arc::new(Once { fault, left: AtomicI64::new(-1) })
    }

    /// Lets it happen after so many calls.
    pub fn after(&self, calls: i64) {
        self.left.store(calls, Ordering::SeqCst);
    }

    /// Whether it has happened.
    pub fn has_happened(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }

    pub fn over(self: &Arc<Self>, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(FaultyStore::new(store, self.clone()))
    }
}

impl Faults for Once {
    fn next(&self, _: StoreCall<'_>) -> Fault {
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            0 => self.fault,
            _ => Fault::Proceed,
        }
    }
}

//! A run time over a store in memory, rows put into it without verbs, and calls as JSON.

use bytes::Bytes;
use data::change::{After, RowChange, WriteSet};
use data::clock::{Clock, ManualClock, SeededRandom};
use data::memory::{Fault, Faults, FaultyStore, MemoryStore};
use data::protocol::{self, Verdict};
use data::request::{Call, CursorKey, Options, Prepared, Reply, Runtime};
use data::schema::{CollectionSchema, ContentShape};
use data::session::Session;
use data::store::{Batch, CommitId, Expect, Key, Outcome, Row, Store, Write};
use data::suite::shown;
use data::{Caller, Error, Result, Value, entries};
use keyspace::diagnostic::Severity;
use keyspace::model::Keyspace;
use serde_json::{Map, Value as Json};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub const NOW: i64 = 1_794_736_800_000;

/// Runs a future to its end: stores in memory are always ready.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// What a file means, which must be without error.
pub fn keyspace(text: &str) -> Arc<Keyspace> {
    let text = format!("[keyspace]\nname = \"test\"\n{text}");
    let reading = keyspace::read(&text);
    let errors: Vec<String> = reading
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| format!("{}: {:?}", found.message, found.fixes))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    Arc::new(reading.keyspace.unwrap())
}

pub struct Bench {
    pub runtime: Runtime,
    pub clock: ManualClock,
    random: Arc<SeededRandom>,
}

impl Bench {
    pub fn open(text: &str) -> Bench {
        Bench::open_on(Arc::new(MemoryStore::new()), text)
    }

    pub fn open_on(store: Arc<dyn Store>, text: &str) -> Bench {
        Bench::open_with(store, keyspace(text), CursorKey::new([7; 32]))
    }

    pub fn open_with(store: Arc<dyn Store>, keyspace: Arc<Keyspace>, key: CursorKey) -> Bench {
        let clock = ManualClock::at(NOW);
        let random = Arc::new(SeededRandom::new(42));
        let mut options = Options::new(Arc::new(clock.clone()), random.clone());
        options.check_bounds = true;
        options.cursor_key = key;
        let runtime = block_on(Runtime::open(store, keyspace, options)).unwrap();
        Bench { runtime, clock, random }
    }

    pub fn collection(&self, name: &str) -> Arc<CollectionSchema> {
        self.runtime.schema().collection(name).unwrap().clone()
    }

    pub fn pattern(&self, name: &str) -> Arc<Prepared> {
        self.runtime.pattern(name).unwrap().clone()
    }

    /// Puts a row, with its entries.
    pub fn put(&self, collection: &str, row: Json) {
        self.change(collection, &row, true, None);
    }

    /// Puts a row that ends.
    pub fn put_until(&self, collection: &str, row: Json, expires: i64) {
        self.change(collection, &row, true, Some(expires));
    }

    /// Removes a row, with its entries.
    pub fn remove(&self, collection: &str, row: Json) {
        self.change(collection, &row, false, None);
    }

    fn change(&self, collection: &str, row: &Json, there: bool, expires: Option<i64>) {
        let now = self.clock.now();
        let collection = self.collection(collection);
        let (segments, slots) = values(&collection, row);
        let key = collection.key.encode(&segments).unwrap();
        let mut session =
            Session::new(self.runtime.store().as_ref(), self.runtime.schema(), now, now + 30_000);
        let before = block_on(session.get(std::slice::from_ref(&key))).unwrap().pop().unwrap();
        let entries_of = |slots: &[Value]| entries::entries(&collection, &segments, slots).unwrap();
        let live = before.as_ref().filter(|row| row.trail.as_ref().is_none_or(|t| !t.dead));
        let old = live.map(|row| entries_of(&collection.decode(&row.value).unwrap()));
        let new = if there { entries_of(&slots) } else { Vec::new() };
        let (gained, lost) = entries::diff(old.unwrap_or_default(), new, true);
        let expect = collection.mode.has_version().then_some(match live {
            Some(Row { version: Some(version), .. }) => Expect::Version(*version),
            _ => Expect::Absent,
        });
        let value = collection.encode(&slots).unwrap();
        let change = RowChange {
            collection: collection.clone(),
            key,
            expect,
            read: true,
            before,
            after: there.then_some(After { value, expires }),
            gained,
            lost,
        };
        let set = WriteSet {
            id: CommitId::new(now, self.random.as_ref()),
            now,
            deadline: now + 30_000,
            checks: Vec::new(),
            changes: vec![change],
            adds: Vec::new(),
        };
        let verdict = block_on(protocol::commit(&mut session, &set)).unwrap();
        assert!(matches!(verdict, Verdict::Committed { .. }), "{verdict:?}");
    }

    /// Puts many rows at once into a whole-store atomic store.
    pub fn put_all(&self, collection: &str, rows: impl Iterator<Item = (Vec<Value>, Vec<Value>)>) {
        let collection = self.collection(collection);
        let put = |key: Key, value: Bytes, versioned: bool| Write::Put {
            key,
            value,
            expires: None,
            versioned,
            trail: None,
        };
        let mut writes = Vec::new();
        for (segments, slots) in rows {
            let key = collection.key.encode(&segments).unwrap();
            let value = collection.encode(&slots).unwrap();
            for entry in entries::entries(&collection, &segments, &slots).unwrap() {
                writes.push(put(entry.key, entry.value, false));
            }
            writes.push(put(key, value, collection.mode.has_version()));
            if writes.len() > 900 {
                self.commit(std::mem::take(&mut writes));
            }
        }
        self.commit(writes);
    }

    pub fn commit(&self, writes: Vec<Write>) {
        let now = self.clock.now();
        let id = CommitId::new(now, self.random.as_ref());
        let batch = Batch { id, now, checks: Vec::new(), writes, deadline: now + 1_000 };
        let outcome = block_on(self.runtime.store().commit(&batch)).unwrap();
        assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    }

    /// Makes a call with JSON arguments.
    pub fn call(&self, pattern: &str, arguments: Json, caller: &Caller) -> Result<Reply> {
        let prepared = self.pattern(pattern);
        let given = prepared.given_from_json(self.runtime.keyspace(), &object(arguments))?;
        let call = Call::new(&prepared, given, caller);
        let reply = block_on(self.runtime.call(call.clone()));
        block_on(shown::alike(&self.runtime, &call, &reply)).unwrap();
        reply
    }

    /// The answer of a call as JSON.
    pub fn json(&self, pattern: &str, arguments: Json, caller: &Caller) -> Json {
        let reply = self.call(pattern, arguments, caller).unwrap();
        reply.answer.to_json(self.runtime.schema()).unwrap()
    }

    /// The error of a call.
    pub fn error(&self, pattern: &str, arguments: Json, caller: &Caller) -> Error {
        self.call(pattern, arguments, caller).unwrap_err()
    }

    /// One member of each row of one page.
    pub fn page(&self, pattern: &str, arguments: Json, caller: &Caller, member: &str) -> Vec<Json> {
        members(&self.json(pattern, arguments, caller), member)
    }

    /// One member of each row of all pages, and how many pages there were.
    pub fn pages(
        &self,
        pattern: &str,
        arguments: Json,
        caller: &Caller,
        member: &str,
    ) -> (Vec<Json>, usize) {
        let mut arguments = arguments;
        let (mut all, mut pages) = (Vec::new(), 0);
        loop {
            let page = self.json(pattern, arguments.clone(), caller);
            all.extend(members(&page, member));
            pages += 1;
            assert!(pages < 10_000, "a list without an end");
            if page["next"].is_null() {
                return (all, pages);
            }
            arguments["cursor"] = page["next"].clone();
        }
    }
}

pub fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// The values of a row: its segments, and its slots.
pub fn values(collection: &CollectionSchema, row: &Json) -> (Vec<Value>, Vec<Value>) {
    let segments = collection.key.names.iter().zip(&collection.key.types);
    let segments = segments.map(|(name, of)| Value::from_json(&row[name], of).unwrap());
    let missing = |slot: usize| match &collection.content {
        ContentShape::Record(shape) => shape.fields[slot].missing.clone(),
        _ => Value::Null,
    };
    let slots =
        collection.slots.iter().enumerate().map(|(number, slot)| match row.get(&slot.name) {
            None => missing(number),
            Some(Json::Null) => Value::Null,
            Some(json) => Value::from_json(json, &slot.slot_type).unwrap(),
        });
    (segments.collect(), slots.collect())
}

fn members(page: &Json, member: &str) -> Vec<Json> {
    page["rows"].as_array().unwrap().iter().map(|row| row[member].clone()).collect()
}

pub fn ann() -> Caller {
    Caller::user("ann")
}

pub fn bob() -> Caller {
    Caller::user("bob")
}

#[derive(Debug)]
struct Always(Fault);

impl Faults for Always {
    fn next(&self, _call: data::memory::Call<'_>) -> Fault {
        self.0
    }
}

/// A store that cannot be reached.
pub fn away() -> Arc<dyn Store> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), Arc::new(Always(Fault::Refuse))))
}

/// A store that reads entries and the rows they name one after the other.
pub fn apart() -> Arc<dyn Store> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), Arc::new(Always(Fault::Proceed))))
}

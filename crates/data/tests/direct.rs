//! The direct way of inserts and puts does what the ordinary one does: the same batches, answers
//! and errors, for every pattern of the applications and of a keyspace that has all kinds of rows.
//!
//! Arguments are made by chance from few values each, some of them wrong, so that rows meet rows
//! and calls are refused for every reason there is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use async_trait::async_trait;
use bytes::Bytes;
use data::clock::{ManualClock, Random, SeededRandom};
use data::memory::{MemoryStore, PartitionedMemory};
use data::request::{Answer, Call, Changed, Given, Options, Reply, Runtime};
use data::schema::Schema;
use data::store::{Batch, CommitId, Description, Key, Outcome, Page, Row, Scan, Store};
use data::suite::block_on;
use data::{Caller, Result, Value};
use keyspace::model::{Argument, ArgumentRole, Atomicity, Keyspace, Type, Verb};
use std::sync::{Arc, Mutex};

const ALL_KINDS: &str = r#"
[keyspace]
name = "kinds"

[collection.photos]
key    = "album:{album: text} | {at: timestamp desc}:{photo: u64}"
expect = { rows_per_group = 100 }
index.by_email        = { key = "email:{lower(email)}", unique = true, keep = ["state", "email"] }
index.by_title.key    = "title:{lower(title)} | {size desc}:{at}"
index.by_title.keep   = ["title", "size"]
index.by_person.key   = "person:{person = lower(each(tags, painter))} | {at}"
index.by_place.key    = "place:{area = cell(lat, lon, 12)} | {photo}"
index.by_place.keep   = ["lat", "lon"]
index.by_place.expect = { rows_per_group = 100 }
index.by_hash.key     = "near:{geohash(lat, lon, 5)} | {photo}"
index.by_hash.expect  = { rows_per_group = 100 }
index.by_spot         = { key = "spot:{spot} | {at}", when = "state = 'open' and size > 1" }

[collection.photos.fields]
title   = "text"
email   = "text?"
tags    = "[text] = []"
painter = "text?"
lat     = "f64"
lon     = "f64?"
size    = "u64 = 2"
state   = "open|done = 'open'"
spot    = "text?"
made    = "timestamp = now"
touched = "timestamp = touch"
data    = "json = {}"
note    = "text? = 'none'"

[collection.events]
key       = "user:{owner: text}:events | {event: ulid = new}"
owner     = "owner"
fields    = { what = "text", by = "text = caller", day = "date = now" }
immutable = true
ttl       = "1h"
expect    = { rows_per_group = 100 }

[collection.orders]
key    = "order:{order: text = new('order')}"
fields = { what = "text" }

[collection.mottos]
key   = "motto:{family: text}"
value = "text"
index.by_motto.key = "same:{motto = hash(value)} | {family}"

[collection.pages]
key    = "pages:{site: text} | {path: text..}"
expect = { rows_per_group = 100 }
fields = { title = "text?", until = "timestamp?" }
body   = "bytes"
ttl    = "until"

[collection.blobs]
key   = "blob:{name: text}"
value = "bytes"

[collection.likes]
key    = "likes:{of: uuid} | {by: text}"
expect = { rows_per_group = 100 }
index.by_user = { key = "liked:{by} | {of}", expect = { rows_per_group = 100 } }

[pattern]
add_photo   = { insert = "photos", allow = "user" }
add_photos  = { insert = "photos", many = 4, allow = "user" }
add_titled  = { insert = "photos", allow = "user", bind = { title = "'T'", size = "7" } }
photos      = { list = "photos", page = 10 }
titles      = { list = "photos.by_title", page = 10 }
persons     = { list = "photos.by_person", page = 10 }
places      = { near = "photos.by_place", max_radius = 1_000, page = 10 }
hashes      = { near = "photos.by_hash", max_radius = 1_000, page = 10 }
spots       = { list = "photos.by_spot", page = 10 }
by_email    = { get = "photos.by_email" }
add_event   = { insert = "events" }
add_events  = { insert = "events", many = 3 }
events      = { list = "events", page = 10 }
add_order   = { insert = "orders", allow = "user" }
put_motto   = { put = "mottos", allow = "user" }
add_motto   = { insert = "mottos", allow = "user" }
mottos      = { list = "mottos.by_motto", page = 10 }
put_page    = { put = "pages", allow = "user" }
page        = { get = "pages" }
put_blob    = { put = "blobs", allow = "user" }
blob        = { get = "blobs" }
put_like    = { put = "likes", allow = "user" }
put_likes   = { put = "likes", many = 5, allow = "user" }
likes       = { list = "likes", page = 10 }
liked       = { list = "likes.by_user", page = 10 }
"#;

/// Calls of each pattern.
const CALLS: usize = 120;
const NOON: i64 = 1_794_700_800_000;

/// Chance that both ways are given anew for each call: what is refused may have used some.
#[derive(Debug)]
struct Anew(Mutex<SeededRandom>);

impl Random for Anew {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap().fill(bytes);
    }
}

/// A store that remembers what it was sent.
#[derive(Debug)]
struct Recorder {
    store: Box<dyn Store>,
    sent: Mutex<Vec<Batch>>,
}

#[async_trait]
impl Store for Recorder {
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

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        self.sent.lock().unwrap().push(batch.clone());
        self.store.commit(batch).await
    }
}

/// One of the two ways.
struct Way {
    runtime: Runtime,
    store: Arc<Recorder>,
    random: Arc<Anew>,
    clock: ManualClock,
}

impl Way {
    fn open(keyspace: &Arc<Keyspace>, atomicity: Atomicity, direct: bool) -> Way {
        let store: Box<dyn Store> = match atomicity {
            Atomicity::WholeStore => Box::new(MemoryStore::default()),
            Atomicity::Group => Box::new(PartitionedMemory::new()),
        };
        let store = Arc::new(Recorder { store, sent: Mutex::default() });
        let random = Arc::new(Anew(Mutex::new(SeededRandom::new(0))));
        let clock = ManualClock::at(NOON);
        let mut options = Options::new(Arc::new(clock.clone()), random.clone());
        options.check_bounds = true;
        options.direct = direct;
        let runtime = block_on(Runtime::open(store.clone(), keyspace.clone(), options)).unwrap();
        Way { runtime, store, random, clock }
    }

    fn call(&self, seed: u64, pattern: usize, given: &[Given], caller: &Caller) -> Result<Reply> {
        *self.random.0.lock().unwrap() = SeededRandom::new(seed);
        // Ids with a time in them go on from the last one made, unless the time has.
        self.clock.advance(1_000);
        let pattern = &self.runtime.patterns()[pattern];
        block_on(self.runtime.call(Call::new(pattern, given.to_vec(), caller)))
    }

    /// What was sent since the last call, and whether all of it was in the order of its keys.
    fn sent(&self) -> (Vec<Batch>, bool) {
        let mut sent = std::mem::take(&mut *self.store.sent.lock().unwrap());
        let in_order = sent.iter().all(|batch| batch.writes.is_sorted_by_key(|write| write.key()));
        for batch in &mut sent {
            batch.writes.sort_by(|one, other| one.key().cmp(other.key()));
        }
        (sent, in_order)
    }
}

/// Everything of an answer.
fn told(reply: &Result<Reply>, schema: &Schema) -> String {
    let changed = |changed: &Changed| {
        let row = changed.row.as_ref();
        let row = row.map(|row| (&row.key, &row.content, row.version, row.expires));
        format!("{:?} {:?} {row:?} {}", changed.key, changed.version, changed.existed)
    };
    match reply {
        Ok(reply) => {
            let rows: Vec<String> = match &reply.answer {
                Answer::Changed(row) => vec![changed(row)],
                Answer::ChangedRows(rows) => rows.iter().map(changed).collect(),
                other => panic!("{other:?}"),
            };
            format!("{} {rows:?} {:?}", reply.answer.to_json(schema).unwrap(), reply.usage)
        }
        Err(error) => format!("{error:?}"),
    }
}

struct Maker(SeededRandom);

impl Maker {
    fn below(&self, limit: u64) -> u64 {
        self.0.number() % limit
    }

    fn one_of<T: Clone>(&self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    fn given(&self, arguments: &[Argument]) -> Vec<Given> {
        let given = arguments.iter().map(|argument| {
            let left_out = if argument.required { 60 } else { 3 };
            if self.below(left_out) == 0 {
                return Given::Missing;
            }
            match &argument.role {
                ArgumentRole::Rows(each) => {
                    let rows = self.below(6);
                    Given::Rows((0..rows).map(|_| self.given(each)).collect())
                }
                _ if self.below(50) == 0 => Given::Value(Value::Null),
                // What is no value of the type is a mistake that the run time still meets.
                _ if self.below(200) == 0 => Given::Value(Value::Bool(true)),
                _ => Given::Value(self.value(&argument.argument_type)),
            }
        });
        let mut given: Vec<Given> = given.collect();
        while given.last() == Some(&Given::Missing) {
            given.pop();
        }
        given
    }

    fn value(&self, of: &Type) -> Value {
        let id = |byte: u64| {
            let mut id = [byte as u8; 16];
            (id[6], id[8]) = (0x17, 0x81);
            id
        };
        let texts = ["a", "B", "ann", "Ann", "straße", "a\0b", "https://example.org/x?y=1"];
        match of {
            Type::Text if self.below(40) == 0 => Value::from(""),
            Type::Text if self.below(80) == 0 => Value::Text("long".repeat(600)),
            Type::Text => Value::from(self.one_of(&texts)),
            Type::Bytes => Value::Bytes(Bytes::from(vec![7; self.below(100) as usize])),
            Type::Bool => Value::Bool(self.below(2) == 0),
            Type::I64 => Value::I64(self.one_of(&[0, -1, 5, i64::MIN])),
            Type::U64 => Value::U64(self.one_of(&[0, 1, 2, 300, u64::MAX])),
            Type::F64 => Value::F64(self.one_of(&[0.0, -0.0, 47.25, -80.5, 91.0, 1e300])),
            Type::Uuid => Value::Uuid(id(self.below(4))),
            Type::TimeUuid => Value::TimeUuid(id(self.below(4))),
            Type::Ulid => Value::Ulid(id(self.below(4))),
            Type::Timestamp => Value::Timestamp(NOON + 3_600_000 * self.below(4) as i64),
            Type::Date => Value::Date(self.below(3) as i32),
            Type::Enum(words) => Value::from(self.one_of(words).as_str()),
            Type::Path => Value::Path((0..self.below(4)).map(|n| format!("p{n}")).collect()),
            Type::Json => Value::Json(serde_json::json!({ "b": self.below(3), "a": [null, "x"] })),
            Type::List(item) => Value::List((0..self.below(4)).map(|_| self.value(item)).collect()),
            Type::Optional(_) if self.below(4) == 0 => Value::Null,
            Type::Optional(inner) => self.value(inner),
            Type::Duration => Value::Duration(1_000 * self.below(3) as i64),
        }
    }
}

/// Takes the ids out of batches. Where stores are atomic by group, the ordinary way gives each
/// attempt an id of its own: by that it can be told which way was gone.
fn nameless(batches: &mut [Batch]) -> Vec<CommitId> {
    let nobody = CommitId::from_stored([0; 16]);
    batches.iter_mut().map(|batch| std::mem::replace(&mut batch.id, nobody)).collect()
}

/// Makes the same calls both ways; answers how many were committed.
fn compare(text: &str, atomicity: Atomicity, seed: u64) -> usize {
    let reading = keyspace::read(text);
    let problems: Vec<String> = reading.diagnostics.iter().map(|d| d.message.clone()).collect();
    let keyspace = Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{problems:#?}")));
    let [direct, ordinary] = [true, false].map(|direct| Way::open(&keyspace, atomicity, direct));
    let maker = Maker(SeededRandom::new(seed));
    let ann = Caller::user("ann").of_tenant("t1");
    let other = Caller::user("00000000-0000-1700-8100-000000000000").of_tenant("t2");
    let callers = [ann.with_role("admin"), other.with_role("staff")];
    let patterns = direct.runtime.patterns().to_vec();
    let changes = |verb: Verb| matches!(verb, Verb::Insert | Verb::Put);
    let (mut number, mut committed) = (0, 0);
    for _ in 0..CALLS {
        for (position, pattern) in patterns.iter().enumerate() {
            if !changes(pattern.pattern.verb) {
                continue;
            }
            number += 1;
            let given = maker.given(&pattern.pattern.arguments);
            let caller = maker.one_of(&callers);
            let one = direct.call(number, position, &given, &caller);
            let other = ordinary.call(number, position, &given, &caller);
            let (told_one, told_other) =
                (told(&one, direct.runtime.schema()), told(&other, ordinary.runtime.schema()));
            assert_eq!(told_one, told_other, "{} {given:?}", pattern.name());
            let ((mut sent, mut is_direct), (mut expected, _)) = (direct.sent(), ordinary.sent());
            if pattern.is_direct() && atomicity == Atomicity::Group {
                is_direct = nameless(&mut sent) != nameless(&mut expected);
            }
            assert_eq!(sent, expected, "{} {given:?}", pattern.name());
            if one.is_ok() && pattern.is_direct() {
                assert!(is_direct, "{} went the ordinary way: {given:?}", pattern.name());
                committed += usize::from(!sent.is_empty());
            }
        }
    }
    committed
}

#[test]
fn both_ways_do_the_same_to_every_kind_of_row() {
    for seed in 0..3 {
        let committed = compare(ALL_KINDS, Atomicity::WholeStore, seed);
        assert!(committed > 300, "only {committed} calls were committed");
        let committed = compare(ALL_KINDS, Atomicity::Group, seed);
        assert!(committed > 50, "only {committed} calls were committed by group");
    }
}

#[test]
fn both_ways_do_the_same_in_every_application() {
    let apps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps");
    for atomicity in [Atomicity::WholeStore, Atomicity::Group] {
        let mut committed = 0;
        for app in ["chat", "documents", "keri", "scaffold", "spreadapi"] {
            let text = std::fs::read_to_string(format!("{apps}/{app}/keyspace.toml")).unwrap();
            committed += compare(&text, atomicity, 1);
        }
        assert!(committed > 300, "only {committed} calls were committed, {atomicity:?}");
    }
}

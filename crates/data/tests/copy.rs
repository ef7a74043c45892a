//! A copy holds the same, goes on after an interruption, and a difference is found.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use data::clock::{ManualClock, SeededRandom};
use data::maintain::{Comparison, Copy, CopyMark, Existing, Import, Problem, Scrub, Side};
use data::memory::{MemoryStore, PartitionedMemory};
use data::schema::Schema;
use data::store::Store;
use data::suite::block_on;
use keyspace::model::Keyspace;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NOW: i64 = 1_800_000_000_000;

const FILE: &str = r#"
[keyspace]
name = "copied"

[collection.users]
key = "user:{user_id: text}"
fields = { email = "text", tags = "[text]", note = "text?" }
index.email = { key = "index:email:{lower(email)}", unique = true }
index.by_tag = { key = "tagged:{each(tags)} | {user_id}" }

[collection.views]
key = "views:{page: text}"
value = "counter"

[collection.sessions]
key = "user:{user_id: text}:sessions | {session_id: text}"
fields = { agent = "text" }
ttl = "30d"

[pattern]
add_user = { insert = "users" }
by_email = { get = "users.email" }
by_tag = { list = "users.by_tag", page = 50 }
view = { add = "views" }
start = { insert = "sessions" }
sessions_of = { list = "sessions", page = 50 }
"#;

/// Other ids each time: a batch with a known id is not applied again.
fn chance() -> SeededRandom {
    static SEED: AtomicU64 = AtomicU64::new(1);
    SeededRandom::new(SEED.fetch_add(1, Ordering::SeqCst))
}

struct Place {
    store: Arc<dyn Store>,
    schema: Arc<Schema>,
}

impl Place {
    fn new(store: Arc<dyn Store>) -> Place {
        let read = keyspace::read(FILE);
        let keyspace: Keyspace = read.keyspace.unwrap_or_else(|| panic!("{:?}", read.diagnostics));
        let schema = block_on(store.ensure(&Arc::new(keyspace))).unwrap();
        Place { store, schema }
    }

    fn side(&self) -> Side<'_> {
        Side { store: self.store.as_ref(), schema: &self.schema }
    }

    fn scrub(&self) {
        let (clock, random) = (ManualClock::at(NOW), chance());
        let (store, schema) = (self.store.as_ref(), &self.schema);
        let scrub = Scrub { store, schema, clock: &clock, random: &random, repair: false };
        let mut problems = Vec::new();
        let mut seen = |problem: Option<&Problem>, _: &_| problems.extend(problem.cloned());
        block_on(scrub.run(&mut seen)).unwrap();
        assert_eq!(problems, []);
    }

    fn fill(&self, lines: &[Json]) {
        let (clock, random) = (ManualClock::at(NOW), chance());
        let store = self.store.as_ref();
        let mut import = Import::new(store, &self.schema, &clock, &random, Existing::Replace);
        block_on(async {
            for line in lines {
                import.line(line).await.unwrap();
            }
            import.finish().await.unwrap();
        });
    }
}

fn rows(users: usize) -> Vec<Json> {
    let user = |number: usize| {
        let name = format!("user {number:05}");
        let row = json!({
            "user_id": name, "email": format!("U{number}@x.org"), "tags": ["all", name],
        });
        json!({ "collection": "users", "row": row })
    };
    let mut lines: Vec<Json> = (0..users).map(user).collect();
    lines.push(json!({ "collection": "views", "row": { "page": "home", "value": 12 } }));
    let session = |expires: i64, name: &str| {
        let row = json!({ "user_id": "user 00001", "session_id": name, "agent": "a" });
        json!({ "collection": "sessions", "row": row, "expires": expires })
    };
    lines.push(session(NOW + 86_400_000, "long"));
    lines.push(session(NOW + 1_000, "nearly over"));
    lines
}

/// Copies until the end, or for so many steps; answers how far it then is.
fn copy(from: &Place, to: &Place, mark: Option<&CopyMark>, steps: usize) -> Option<CopyMark> {
    let (clock, random) = (ManualClock::at(NOW), chance());
    let mut copy = Copy::new(from.side(), to.side(), (&clock, &random), mark).unwrap();
    let mut last = None;
    for _ in 0..steps {
        match block_on(copy.next()).unwrap() {
            Some(mark) => last = Some(mark),
            None => return None,
        }
    }
    last
}

fn differing(from: &Place, to: &Place) -> Vec<(String, u64, u64)> {
    let clock = ManualClock::at(NOW);
    let mut comparison = Comparison::new(from.side(), to.side(), &clock);
    let mut differ = Vec::new();
    while let Some(one) = block_on(comparison.next(&mut |_| ())).unwrap() {
        if !one.is_same() {
            differ.push((one.collection, one.from.rows, one.to.rows));
        }
    }
    differ
}

fn places() -> [Place; 2] {
    [Place::new(Arc::new(MemoryStore::new())), Place::new(Arc::new(PartitionedMemory::new()))]
}

#[test]
fn a_copy_holds_the_same_on_either_class_of_store() {
    for from in places() {
        from.fill(&rows(1_300));
        for to in places() {
            assert_eq!(differing(&from, &to).len(), 3, "an empty store is no copy");
            assert_eq!(copy(&from, &to, None, usize::MAX), None);
            assert_eq!(differing(&from, &to), []);
            to.scrub();
            // Once more changes nothing.
            assert_eq!(copy(&from, &to, None, usize::MAX), None);
            assert_eq!(differing(&from, &to), []);
        }
    }
}

#[test]
fn an_interrupted_copy_goes_on_where_it_was() {
    let [from, to] = places();
    from.fill(&rows(1_300));
    // Three stretches of users, and one of each of the others.
    for steps in 1..8 {
        let to = Place::new(Arc::new(MemoryStore::new()));
        let mark = copy(&from, &to, None, steps);
        if let Some(mark) = &mark {
            assert_eq!(differing(&from, &to).is_empty(), steps == 5, "after {steps} steps");
            assert_eq!(copy(&from, &to, Some(mark), usize::MAX), None);
        } else {
            assert!(steps > 5);
        }
        assert_eq!(differing(&from, &to), [], "interrupted after {steps} steps");
    }
    let gone = CopyMark { collection: "gone".to_string(), after: None };
    let (clock, random) = (ManualClock::at(NOW), chance());
    let refused = Copy::new(from.side(), to.side(), (&clock, &random), Some(&gone));
    assert!(refused.is_err());
}

#[test]
fn a_row_that_differs_is_missing_or_is_too_much_is_found() {
    let [from, to] = places();
    from.fill(&rows(40));
    copy(&from, &to, None, usize::MAX);
    let user = |email: &str| {
        let row = json!({ "user_id": "user 00001", "email": email, "tags": [] });
        json!({ "collection": "users", "row": row })
    };
    to.fill(&[user("other@x.org")]);
    assert_eq!(differing(&from, &to), [("users".to_string(), 40, 40)]);
    to.fill(&rows(41));
    assert_eq!(differing(&from, &to), [("users".to_string(), 40, 41)]);
    from.fill(&rows(43));
    assert_eq!(differing(&from, &to), [("users".to_string(), 43, 41)]);
    to.fill(&[json!({ "collection": "views", "row": { "page": "home", "value": 13 } })]);
    assert_eq!(differing(&from, &to).len(), 2);
}

#[test]
fn rows_that_end_soon_are_not_compared_but_counted() {
    let [from, to] = places();
    from.fill(&rows(3));
    copy(&from, &to, None, usize::MAX);
    let clock = ManualClock::at(NOW);
    let mut comparison = Comparison::new(from.side(), to.side(), &clock);
    let mut found = Vec::new();
    while let Some(one) = block_on(comparison.next(&mut |_| ())).unwrap() {
        assert!(one.is_same());
        found.push((one.from.rows, one.from.ending, one.to.ending));
    }
    assert_eq!(found, [(3, 0, 0), (1, 0, 0), (1, 1, 1)]);
}

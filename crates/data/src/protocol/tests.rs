//! Write sets on a whole-store atomic store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use super::{Obstacle, Verdict, commit};
use crate::change::{After, CounterAdd, RowChange, RowCheck, WriteSet};
use crate::clock::{Milliseconds, SeededRandom};
use crate::entries;
use crate::memory::MemoryStore;
use crate::schema::{CollectionSchema, Schema};
use crate::session::Session;
use crate::store::{CommitId, Expect, Found, Key, Row, Store, WindowRule};
use crate::value::Value;
use futures_util::FutureExt;
use std::sync::Arc;

const NOW: Milliseconds = 1_700_000_000_000;

struct Whole {
    store: MemoryStore,
    schema: Arc<Schema>,
    people: Arc<CollectionSchema>,
    chance: SeededRandom,
}

impl Whole {
    fn new() -> Self {
        let store = MemoryStore::new();
        let keyspace = super::tier1::tests::keyspace();
        let schema = store.ensure(&keyspace).now_or_never().unwrap().unwrap();
        let people = schema.collection("people").unwrap().clone();
        Whole { store, schema, people, chance: SeededRandom::new(1) }
    }

    fn key(&self, collection: &CollectionSchema, name: &str) -> Key {
        let segments = [Value::Text("r".into()), Value::Text(name.into())];
        collection.key.encode(&segments).unwrap()
    }

    fn get(&self, key: &Key) -> Option<Row> {
        let rows = self.store.get(std::slice::from_ref(key)).now_or_never().unwrap();
        rows.unwrap().pop().flatten()
    }

    /// A person as a verb would change it that has read the row.
    fn change(&self, name: &str, to: Option<[&str; 2]>, ends: Option<i64>, now: i64) -> RowChange {
        let key = self.key(&self.people, name);
        let before = self.get(&key);
        let live = before.as_ref().filter(|row| row.is_live(now));
        let slots = |to: [&str; 2]| to.map(|of| Value::Text(of.into()));
        let after =
            to.map(|to| After { value: self.people.encode(&slots(to)).unwrap(), expires: ends });
        let segments = self.people.key.decode(&key).unwrap();
        let all = |value| {
            let slots = self.people.decode(value).unwrap();
            entries::entries(&self.people, &segments, &slots).unwrap()
        };
        // Entries of an ended row are still there, and go as well.
        let old = before.as_ref().map_or_else(Vec::new, |row| all(&row.value));
        let new = after.as_ref().map_or_else(Vec::new, |row| all(&row.value));
        let moved = before.as_ref().is_some_and(|row| row.expires != ends);
        let (gained, lost) = entries::diff(old, new, moved);
        let expect = Some(match live.and_then(|row| row.version) {
            Some(version) => Expect::Version(version),
            None => Expect::Absent,
        });
        let collection = self.people.clone();
        RowChange { collection, key, expect, read: true, before, after, gained, lost }
    }

    fn set(&self, changes: Vec<RowChange>, now: i64) -> WriteSet {
        let id = CommitId::new(now, &self.chance);
        let (checks, adds) = (Vec::new(), Vec::new());
        WriteSet { id, now, deadline: now + 1_000, checks, changes, adds }
    }

    fn commit(&self, set: &WriteSet) -> Verdict {
        let mut session = Session::new(&self.store, &self.schema, set.now, set.deadline);
        let verdict = commit(&mut session, set).now_or_never().unwrap().unwrap();
        assert!(session.usage.round_trips <= 1);
        verdict
    }

    fn change_now(&self, name: &str, to: Option<[&str; 2]>) -> Verdict {
        self.commit(&self.set(vec![self.change(name, to, None, NOW)], NOW))
    }
}

fn is_done(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Committed { .. })
}

#[test]
fn a_unique_value_is_taken_once() {
    let whole = Whole::new();
    assert!(is_done(&whole.change_now("ann", Some(["red", "a@x"]))));
    let taken = Verdict::Obstacle(Obstacle::Taken { change: 0, index: 1 });
    assert_eq!(whole.change_now("bob", Some(["red", "a@x"])), taken);
    // Its owner may change what the claim keeps, and everyone may have it when it is let go.
    assert!(is_done(&whole.change_now("ann", Some(["blue", "a@x"]))));
    assert!(is_done(&whole.change_now("ann", Some(["blue", "b@x"]))));
    assert!(is_done(&whole.change_now("bob", Some(["red", "a@x"]))));
    let both = ["cid", "dan"].map(|name| whole.change(name, Some(["red", "c@x"]), None, NOW));
    let verdict = whole.commit(&whole.set(both.to_vec(), NOW));
    assert_eq!(verdict, Verdict::Obstacle(Obstacle::Taken { change: 1, index: 1 }));
}

#[test]
fn a_unique_value_passes_from_row_to_row_in_one_set() {
    let whole = Whole::new();
    assert!(is_done(&whole.change_now("ann", Some(["red", "a@x"]))));
    assert!(is_done(&whole.change_now("bob", Some(["red", "b@x"]))));
    let swapped = vec![
        whole.change("ann", Some(["red", "b@x"]), None, NOW),
        whole.change("bob", Some(["red", "a@x"]), None, NOW),
    ];
    assert!(is_done(&whole.commit(&whole.set(swapped, NOW))));
    let taken = Verdict::Obstacle(Obstacle::Taken { change: 0, index: 1 });
    assert_eq!(whole.change_now("cid", Some(["red", "a@x"])), taken);
    let given = vec![
        whole.change("ann", None, None, NOW),
        whole.change("cid", Some(["red", "b@x"]), None, NOW),
    ];
    assert!(is_done(&whole.commit(&whole.set(given, NOW))));
    assert_eq!(whole.change_now("ann", Some(["red", "b@x"])), taken);
}

#[test]
fn a_claim_ends_with_its_row_and_may_then_be_anothers() {
    let whole = Whole::new();
    let short = whole.change("ann", Some(["red", "a@x"]), Some(NOW + 10), NOW);
    assert!(is_done(&whole.commit(&whole.set(vec![short], NOW))));
    let later = NOW + 10;
    let bob = whole.change("bob", Some(["red", "a@x"]), None, later);
    assert!(is_done(&whole.commit(&whole.set(vec![bob], later))));
    // The ended row comes back with another value: what it had is not its own to remove.
    let ann = whole.change("ann", Some(["red", "b@x"]), None, later);
    assert!(ann.lost.iter().any(|entry| entry.index == 1));
    assert!(is_done(&whole.commit(&whole.set(vec![ann], later))));
    let taken = Verdict::Obstacle(Obstacle::Taken { change: 0, index: 1 });
    let cid = whole.change("cid", Some(["red", "a@x"]), None, later);
    assert_eq!(whole.commit(&whole.set(vec![cid], later)), taken);
    // Nor is it when the row asks for it again.
    let ann = whole.change("ann", Some(["red", "a@x"]), None, later);
    assert_eq!(whole.commit(&whole.set(vec![ann], later)), taken);
}

#[test]
fn obstacles_name_what_they_met() {
    let whole = Whole::new();
    assert!(is_done(&whole.change_now("ann", Some(["red", "a@x"]))));
    let stale = whole.change("ann", Some(["blue", "a@x"]), None, NOW);
    assert!(is_done(&whole.change_now("ann", Some(["green", "a@x"]))));
    let found = whole.get(&whole.key(&whole.people, "ann")).unwrap().version;
    let bob = whole.change("bob", Some(["red", "b@x"]), None, NOW);
    let mut set = whole.set(vec![bob, stale], NOW);
    assert_eq!(whole.commit(&set), Verdict::Obstacle(Obstacle::Row { change: 1, found }));

    set = whole.set(vec![whole.change("bob", Some(["red", "b@x"]), None, NOW)], NOW);
    let check = |name: &str, expect| RowCheck {
        collection: whole.people.clone(),
        key: whole.key(&whole.people, name),
        expect,
    };
    set.checks = vec![check("ann", Expect::Present), check("zoe", Expect::Present)];
    let obstacle = Obstacle::Check { check: 1, found: Found::Absent };
    assert_eq!(whole.commit(&set), Verdict::Obstacle(obstacle));

    set.checks.truncate(1);
    let counts = whole.schema.collection("counts").unwrap().clone();
    let add = |name: &str, limit: i64| CounterAdd {
        collection: counts.clone(),
        key: whole.key(&counts, name),
        amount: 2,
        expires: None,
        window: Some(WindowRule { limit }),
    };
    set.adds = vec![add("one", 2), add("two", 1)];
    let Verdict::Obstacle(Obstacle::Counter { add: 1, found: Found::Full(_) }) = whole.commit(&set)
    else {
        panic!("a full window let something through");
    };
    set.adds = vec![add("one", 2), add("two", 2)];
    let Verdict::Committed { totals, id } = whole.commit(&set) else { panic!("refused") };
    assert_eq!((totals.len(), id), (2, set.id));
    // The same set again is the same commit.
    assert_eq!(whole.commit(&set), Verdict::Committed { id, totals });
}

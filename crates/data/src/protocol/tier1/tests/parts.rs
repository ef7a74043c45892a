//! The protocol without misfortune: what it costs, what it leaves, and what it refuses.

use super::world::LONG;
use crate::change::{After, CounterAdd, Entry, RowChange, RowCheck, WriteSet};
use crate::clock::{ManualClock, Milliseconds, SeededRandom};
use crate::entries;
use crate::error::ErrorKind;
use crate::maintain::{Problem, ProblemKind, Scrub};
use crate::memory::PartitionedMemory;
use crate::protocol::tier1::ids::{attempt_of, derived, split_attempt, with_attempt};
use crate::protocol::tier1::settle::{Fate, fate};
use crate::protocol::tier1::target::Target;
use crate::protocol::{self, Obstacle, Shared, Verdict};
use crate::schema::{CollectionSchema, Schema};
use crate::session::{Session, Usage};
use crate::store::{
    Batch, CommitId, Expect, Found, Held, Key, Keyed, Range, Row, Scan, Store, Trail, Version,
    Write,
};
use crate::value::Value;
use bytes::Bytes;
use futures_util::FutureExt;
use keyspace::model::{Keyspace, StoreKind};
use std::sync::{Arc, OnceLock};

/// The keyspace of these tests.
pub(in crate::protocol) fn keyspace() -> Arc<Keyspace> {
    static KEYSPACE: OnceLock<Arc<Keyspace>> = OnceLock::new();
    let read = || {
        let text = include_str!("keyspace.toml");
        let reading = keyspace::check::read_for(text, &[StoreKind::Cassandra]);
        let problems: Vec<&String> = reading.diagnostics.iter().map(|of| &of.message).collect();
        Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{problems:#?}")))
    };
    KEYSPACE.get_or_init(read).clone()
}

const NOW: Milliseconds = 1_700_000_000_000;

/// A store without faults.
struct Calm {
    store: PartitionedMemory,
    schema: Arc<Schema>,
    shared: Shared,
    chance: SeededRandom,
}

impl Calm {
    fn new() -> Self {
        Calm::on(PartitionedMemory::new())
    }

    fn on(store: PartitionedMemory) -> Self {
        let schema = store.ensure(&keyspace()).now_or_never().unwrap().unwrap();
        let clock = Arc::new(ManualClock::at(NOW));
        let shared = Shared::new(clock, Arc::new(SeededRandom::new(1)));
        Calm { store, schema, shared, chance: SeededRandom::new(2) }
    }

    fn collection(&self, name: &str) -> Arc<CollectionSchema> {
        self.schema.collection(name).unwrap().clone()
    }

    fn session(&self, now: Milliseconds) -> Session<'_> {
        let session = Session::new(&self.store, &self.schema, now, now + 1_000);
        let mut session = session.sharing(&self.shared);
        session.repeatable = false;
        session
    }

    fn key(&self, collection: &str, room: &str, name: &str) -> Key {
        let segments = [Value::Text(room.into()), Value::Text(name.into())];
        self.collection(collection).key.encode(&segments).unwrap()
    }

    fn get(&self, key: &Key) -> Option<Row> {
        let rows = self.store.get(std::slice::from_ref(key)).now_or_never().unwrap();
        rows.unwrap().pop().flatten()
    }

    fn all(&self, space: u16) -> Vec<Keyed> {
        let bound = |space: u16| Bytes::copy_from_slice(&space.to_be_bytes());
        let range = Range { start: bound(space), end: bound(space + 1) };
        let scan = Scan { range, reverse: false, rows: 100 };
        self.store.walk(&scan).now_or_never().unwrap().unwrap().rows
    }

    fn entries(&self, change: &RowChange, value: &Bytes) -> Vec<Entry> {
        let segments = change.collection.key.decode(&change.key).unwrap();
        let slots = change.collection.decode(value).unwrap();
        entries::entries(&change.collection, &segments, &slots).unwrap()
    }

    /// A row as a verb would change it that has read it.
    fn change(&self, collection: &str, name: &str, to: Option<&[&str]>) -> RowChange {
        let mut change = RowChange {
            collection: self.collection(collection),
            key: self.key(collection, "r", name),
            expect: None,
            read: true,
            before: None,
            after: None,
            gained: Vec::new(),
            lost: Vec::new(),
        };
        let slots = |to: &[&str]| to.iter().map(|of| Value::Text((*of).into())).collect::<Vec<_>>();
        change.after = to.map(|to| After {
            value: change.collection.encode(&slots(to)).unwrap(),
            expires: None,
        });
        let before = self.get(&change.key);
        let live = before.as_ref().filter(|row| row.is_live(NOW));
        if change.collection.mode.has_version() {
            change.expect = Some(match live.and_then(|row| row.version) {
                Some(version) => Expect::Version(version),
                None => Expect::Absent,
            });
        }
        let of =
            |value: Option<&Bytes>| value.map_or_else(Vec::new, |of| self.entries(&change, of));
        let old = of(live.map(|row| &row.value));
        let new = of(change.after.as_ref().map(|after| &after.value));
        (change.gained, change.lost) = entries::diff(old, new, false);
        change.before = before;
        change
    }

    fn set(&self, changes: Vec<RowChange>) -> WriteSet {
        WriteSet {
            id: CommitId::new(NOW, &self.chance),
            now: NOW,
            deadline: NOW + 1_000,
            checks: Vec::new(),
            changes,
            adds: Vec::new(),
        }
    }

    fn commit(&self, set: &WriteSet) -> (Verdict, Usage) {
        let mut session = self.session(NOW);
        let mut commit = Box::pin(protocol::commit(&mut session, set));
        // A blind batch lets others run between two places.
        let verdict = std::iter::repeat_with(|| commit.as_mut().now_or_never()).flatten().next();
        drop(commit);
        (verdict.unwrap().unwrap(), session.usage)
    }

    fn done(&self, changes: Vec<RowChange>) -> Usage {
        let (verdict, usage) = self.commit(&self.set(changes));
        assert!(matches!(verdict, Verdict::Committed { .. }), "{verdict:?}");
        usage
    }

    fn write(&self, write: Write) {
        let id = CommitId::new(NOW, &self.chance);
        let batch = Batch { id, now: NOW, checks: Vec::new(), writes: vec![write], deadline: NOW };
        self.store.commit(&batch).now_or_never().unwrap().unwrap();
    }

    /// What a caller leaves that dies before it has set its row.
    fn leave(&self, set: &WriteSet) {
        let row = set.changes[0].before.clone();
        let left = Target::new(set, &[], &set.changes[0], row).unwrap();
        left.enter.iter().cloned().for_each(|write| self.write(write));
        left.claim.iter().for_each(|claiming| self.write(left.claim(claiming)));
    }

    /// What a scrub finds.
    fn scrubbed(&self, repair: bool) -> Vec<Problem> {
        let clock = ManualClock::at(NOW + LONG);
        let (store, schema, random) = (&self.store, &self.schema, &self.chance);
        let scrub = Scrub { store, schema, clock: &clock, random, repair };
        let mut found = Vec::new();
        let mut seen = |problem: Option<&Problem>, _: &_| found.extend(problem.cloned());
        scrub.run(&mut seen).now_or_never().unwrap().unwrap();
        found
    }

    /// How many entries and claims people have.
    fn count(&self) -> (usize, usize) {
        let people = self.collection("people");
        let count = |index: usize| self.all(people.indexes[index].key.space).len();
        (count(0), count(1))
    }
}

fn costs(usage: Usage) -> (u64, u64, u64) {
    (usage.round_trips, usage.rows_read, usage.rows_written)
}

#[test]
fn an_insert_claims_enters_and_sets() {
    let calm = Calm::new();
    let mut change = calm.change("people", "ann", Some(&["red", "a@x"]));
    // Claim, enter, set: nothing to remove.
    assert_eq!(costs(calm.done(vec![change.clone()])), (3, 0, 3));
    // A verb that has not looked, or saw less than there is.
    (change.read, change.expect) = (false, Some(Expect::Absent));
    let set = calm.set(vec![change.clone()]);
    let found = calm.get(&change.key).unwrap().version;
    let obstacle = Verdict::Obstacle(Obstacle::Row { change: 0, found });
    let (verdict, usage) = calm.commit(&set);
    assert_eq!((verdict, costs(usage)), (obstacle.clone(), (1, 1, 0)));
    change.read = true;
    change.gained.clear();
    assert_eq!(calm.commit(&calm.set(vec![change])).0, obstacle);
    assert_eq!(calm.count(), (1, 1));
    let row = calm.get(&calm.key("people", "r", "ann")).unwrap();
    let trail = row.trail.unwrap();
    assert_eq!((trail.previous.len(), trail.held.len(), trail.dead), (0, 2, false));
}

#[test]
fn an_update_touches_only_what_changes() {
    let calm = Calm::new();
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    // The verb has read the row: enter, set, remove; and the claim keeps the color.
    let usage = calm.done(vec![calm.change("people", "ann", Some(&["blue", "a@x"]))]);
    assert_eq!(costs(usage), (3, 0, 4));
    let people = calm.collection("people");
    let claim = calm.all(people.indexes[1].key.space).pop().unwrap();
    let kept = entries::kept(&people.indexes[1], &claim.row).unwrap();
    let color = people.indexes[1].keep.read(&kept, 0).unwrap();
    assert_eq!(color, Value::Text("blue".into()));
    // Claim, set, release.
    let usage = calm.done(vec![calm.change("people", "ann", Some(&["blue", "b@x"]))]);
    assert_eq!(costs(usage), (3, 0, 3));
    assert_eq!(calm.count(), (1, 1));
    // What is put unread and does not change keeps its entries.
    let mut change = calm.change("people", "ann", None);
    let after = calm.get(&change.key).unwrap().value;
    change.gained = calm.entries(&change, &after);
    change.lost.clear();
    (change.read, change.before, change.expect) = (false, None, None);
    change.after = Some(After { value: after, expires: None });
    assert_eq!(costs(calm.done(vec![change])), (2, 1, 1));
}

#[test]
fn a_removed_row_stays_dead_and_loses_everything() {
    let calm = Calm::new();
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let mut change = calm.change("people", "ann", None);
    // A verb that knows the key only.
    (change.read, change.before, change.lost) = (false, None, Vec::new());
    assert_eq!(costs(calm.done(vec![change])), (3, 1, 3));
    assert_eq!(calm.count(), (0, 0));
    let row = calm.get(&calm.key("people", "r", "ann")).unwrap();
    assert!(row.value.is_empty() && !row.is_live(NOW) && row.version.is_some());
    assert_eq!(row.trail.as_ref().unwrap().previous.len(), 1);
    // And comes back with another version.
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let again = calm.get(&calm.key("people", "r", "ann")).unwrap();
    assert!(again.is_live(NOW) && again.version != row.version);
    assert_eq!(again.trail.unwrap().previous.len(), 2);
}

#[test]
fn a_unique_value_is_taken_once() {
    let calm = Calm::new();
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let set = calm.set(vec![calm.change("people", "bob", Some(&["red", "a@x"]))]);
    assert_eq!(calm.commit(&set).0, Verdict::Obstacle(Obstacle::Taken { change: 0, index: 1 }));
    assert_eq!(calm.count(), (1, 1));
    let two = |name| calm.change("people", name, Some(&["red", "b@x"]));
    let set = calm.set(vec![two("bob"), two("cid")]);
    assert_eq!(calm.commit(&set).0, Verdict::Obstacle(Obstacle::Taken { change: 1, index: 1 }));
    // Nor does it pass from one row to another at once: on failure it would be nobody's.
    let lost = calm.change("people", "ann", None);
    let set = calm.set(vec![lost, calm.change("people", "bob", Some(&["red", "a@x"]))]);
    let error = protocol::commit(&mut calm.session(NOW), &set).now_or_never().unwrap();
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn rows_of_several_groups_do_not_change_together() {
    let calm = Calm::new();
    let mut other = calm.change("people", "bob", Some(&["red", "b@x"]));
    other.key = calm.key("people", "elsewhere", "bob");
    let set = calm.set(vec![calm.change("people", "ann", Some(&["red", "a@x"])), other]);
    let error = protocol::commit(&mut calm.session(NOW), &set).now_or_never().unwrap();
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(calm.count(), (0, 0));
}

#[test]
fn what_is_not_as_expected_leaves_nothing() {
    let calm = Calm::new();
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let stale = calm.set(vec![calm.change("people", "ann", Some(&["blue", "b@x"]))]);
    calm.done(vec![calm.change("people", "ann", Some(&["green", "a@x"]))]);
    let row = calm.get(&calm.key("people", "r", "ann")).unwrap();
    let obstacle = Obstacle::Row { change: 0, found: row.version };
    assert_eq!(calm.commit(&stale).0, Verdict::Obstacle(obstacle));
    assert_eq!(calm.count(), (1, 1));

    let mut set = calm.set(vec![calm.change("people", "bob", Some(&["blue", "b@x"]))]);
    let key = calm.key("people", "r", "ann");
    let people = calm.collection("people");
    set.checks.push(RowCheck { collection: people, key, expect: Expect::Absent });
    let obstacle = Obstacle::Check { check: 0, found: Found::Row(row.version) };
    assert_eq!(calm.commit(&set).0, Verdict::Obstacle(obstacle));
    assert_eq!(calm.count(), (1, 1));
}

#[test]
fn counters_count_in_the_same_commit() {
    let calm = Calm::new();
    let add = |amount: i64| CounterAdd {
        collection: calm.collection("counts"),
        key: calm.key("counts", "r", "people"),
        amount,
        expires: None,
        window: None,
    };
    let mut set = calm.set(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    set.adds = vec![add(2), add(i64::MAX - 2)];
    let Verdict::Committed { totals, .. } = calm.commit(&set).0 else { panic!("refused") };
    assert_eq!(totals.iter().map(|of| of.value).collect::<Vec<_>>(), [2, i64::MAX]);
    let mut set = calm.set(vec![calm.change("people", "bob", Some(&["red", "b@x"]))]);
    set.adds = vec![add(0), add(1)];
    let (verdict, _) = calm.commit(&set);
    let Verdict::Obstacle(Obstacle::Counter { add, found: Found::Overflow(_) }) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!((add, calm.count()), (1, (1, 1)));
    assert!(calm.get(&calm.key("people", "r", "bob")).is_none());
}

#[test]
fn plain_rows_go_in_one_blind_batch() {
    let calm = Calm::new();
    let usage = calm.done(vec![calm.change("logs", "one", Some(&["red"]))]);
    assert_eq!(costs(usage), (1, 0, 2));
    let space = calm.collection("logs").indexes[0].key.space;
    let entries = calm.all(space);
    assert_eq!(entries.len(), 1);
    assert!(entries[0].row.trail.is_none() && entries[0].row.version.is_none());
    let usage = calm.done(vec![calm.change("logs", "one", None)]);
    assert_eq!(costs(usage), (1, 0, 2));
    assert!(calm.all(space).is_empty() && calm.get(&calm.key("logs", "r", "one")).is_none());
}

#[test]
fn a_slice_is_announced_once_and_first() {
    let calm = Calm::new();
    let events = calm.collection("events");
    let event = |time: u8| {
        let bytes = [0, 0, 0, time, 0x11, 0x11, 0x1e, 0xee, 0x80, 0, 0, 0, 0, 0, 0, 0];
        let segments = [Value::Text("r".into()), Value::TimeUuid(bytes)];
        RowChange {
            key: events.key.encode(&segments).unwrap(),
            after: Some(After { value: Bytes::from_static(b"x"), expires: None }),
            ..calm.change("logs", "unused", None)
        }
    };
    let event = |time: u8| RowChange { collection: events.clone(), ..event(time) };
    assert_eq!(costs(calm.done(vec![event(1)])), (2, 0, 2));
    assert_eq!(costs(calm.done(vec![event(2)])), (1, 0, 1));
    let directory = &events.key.slices.as_ref().unwrap().directory;
    let slices = calm.all(directory.space);
    assert_eq!(slices.len(), 1);
    assert_eq!(directory.decode(&slices[0].key).unwrap()[0], Value::Text("r".into()));
}

#[test]
fn what_a_dead_caller_left_is_cleaned_when_it_is_old() {
    let calm = Calm::new();
    let people = calm.collection("people");
    let change = calm.change("people", "ann", Some(&["red", "a@x"]));
    let set = calm.set(vec![change]);
    let mut session = calm.session(NOW);
    calm.leave(&set);
    assert_eq!(calm.count(), (1, 1));
    let keys: Vec<Key> = people
        .indexes
        .iter()
        .flat_map(|index| calm.all(index.key.space))
        .map(|keyed| keyed.key)
        .collect();
    let clean = |session: &mut Session<'_>| {
        protocol::clean(session, &keys).now_or_never().unwrap().unwrap()
    };
    assert_eq!(clean(&mut session), 0);
    assert_eq!(clean(&mut calm.session(NOW + LONG)), 2);
    assert_eq!(calm.count(), (0, 0));
    // Its row was fenced: the dead cannot come back.
    let row = calm.get(&calm.key("people", "r", "ann")).unwrap();
    assert!(row.trail.unwrap().dead);
}

#[test]
fn a_claim_of_a_dead_caller_is_waited_for_fenced_and_taken_over() {
    let calm = Calm::new();
    calm.leave(&calm.set(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]));
    let mut session = calm.session(NOW);
    let mut attempt = || {
        let set = calm.set(vec![calm.change("people", "bob", Some(&["red", "a@x"]))]);
        let before = session.usage;
        let verdict = protocol::commit(&mut session, &set).now_or_never().unwrap().unwrap();
        (verdict, session.usage.round_trips - before.round_trips)
    };
    // Claim, look at the claim and at its owner; the fourth attempt fences.
    for trips in [3, 3, 3, 4] {
        assert_eq!(attempt(), (Verdict::Obstacle(Obstacle::Contended), trips));
    }
    // Then the claim is free: take it over, enter, set.
    let (verdict, trips) = attempt();
    assert!(matches!(verdict, Verdict::Committed { .. }), "{verdict:?}");
    assert_eq!(trips, 6);
    assert!(calm.get(&calm.key("people", "r", "ann")).unwrap().trail.unwrap().dead);
}

#[test]
fn a_repair_writes_what_is_missing_and_removes_what_is_nobodys() {
    let calm = Calm::new();
    let people = calm.collection("people");
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let owner = calm.key("people", "r", "ann");
    let repair = |entry: &Key, now: Milliseconds| {
        let mut session = calm.session(now);
        let repaired = protocol::repair(&mut session, &people, Some(0), entry, &owner);
        repaired.now_or_never().unwrap().unwrap()
    };
    let row = calm.get(&owner).unwrap();
    for entry in calm.entries(&calm.change("people", "ann", None), &row.value) {
        let stored = protocol::stored_entry_key(&people, &entry, &row).unwrap();
        calm.write(Write::Delete { key: stored });
        assert!(repair(&entry.key, NOW));
        let row = calm.get(&owner).unwrap();
        let stored = protocol::stored_entry_key(&people, &entry, &row).unwrap();
        let found = Keyed { row: calm.get(&stored).unwrap(), key: stored };
        assert_eq!(found.row.value, entry.value);
        let index = &people.indexes[entry.index];
        assert!(protocol::belongs(&people, index, &found, &row).unwrap());
    }
    assert_eq!(calm.count(), (1, 1));
    calm.leave(&calm.set(vec![calm.change("people", "ann", Some(&["blue", "a@x"]))]));
    let left = calm.all(people.indexes[0].key.space);
    assert_eq!(left.len(), 2);
    let row = calm.get(&owner).unwrap();
    let is_nobodys =
        |keyed: &&Keyed| !protocol::belongs(&people, &people.indexes[0], keyed, &row).unwrap();
    let nobodys = &left.iter().find(is_nobodys).unwrap().key;
    assert!(!repair(nobodys, NOW));
    assert!(repair(nobodys, NOW + LONG));
    assert_eq!(calm.count(), (1, 1));
}

/// What a failover may do: a claim is lost, and its value is given to a second row.
#[test]
fn a_value_that_two_rows_hold_is_reported_until_one_of_them_has_another() {
    let calm = Calm::new();
    calm.done(vec![calm.change("people", "ann", Some(&["red", "a@x"]))]);
    let claims = calm.collection("people").indexes[1].key.space;
    let claim = calm.all(claims).pop().unwrap().key;
    calm.write(Write::Delete { key: claim.clone() });
    calm.done(vec![calm.change("people", "bob", Some(&["blue", "a@x"]))]);
    let bobs = calm.get(&claim).unwrap();
    let problem = Problem {
        kind: ProblemKind::Different,
        collection: "people".to_string(),
        index: Some("people_by_email".to_string()),
        key: claim.clone(),
        repaired: false,
    };
    // Nobody but their owners knows whose it is: it is reported, and nothing is taken from either.
    for repair in [false, true, false] {
        assert_eq!(calm.scrubbed(repair), std::slice::from_ref(&problem), "repair: {repair}");
        assert_eq!(calm.get(&claim), Some(bobs.clone()));
    }
    // Whoever has no claim takes none away that is another's.
    calm.done(vec![calm.change("people", "ann", Some(&["red", "b@x"]))]);
    assert_eq!(calm.get(&claim), Some(bobs));
    assert_eq!((calm.scrubbed(false), calm.count()), (Vec::new(), (2, 2)));
}

/// Whoever puts a row anew keeps its entries, and nobody is shown a version.
#[test]
fn plain_rows_are_compared_where_a_blind_batch_reaches_one_place() {
    let calm = Calm::on(PartitionedMemory::of_places());
    let logs = calm.collection("logs");
    let unread = |to: Option<&[&str]>| {
        let mut change = calm.change("logs", "one", to);
        (change.read, change.before) = (false, None);
        let value = logs.encode(&[Value::Text("red".into())]).unwrap();
        let entries = calm.entries(&change, &value);
        (change.gained, change.lost) = match to {
            Some(_) => (entries, Vec::new()),
            None => (Vec::new(), entries),
        };
        change
    };
    // Read, enter, set; read, set; read, set, remove.
    assert_eq!(costs(calm.done(vec![unread(Some(&["red"]))])), (3, 1, 2));
    assert_eq!(costs(calm.done(vec![unread(Some(&["blue"]))])), (2, 1, 1));
    let row = calm.get(&calm.key("logs", "r", "one")).unwrap();
    assert!(row.version.is_some() && logs.shown_version(row.version).is_none());
    assert_eq!(costs(calm.done(vec![unread(None)])), (3, 1, 2));
    assert!(calm.all(logs.indexes[0].key.space).is_empty());
    // Nothing is there to remove.
    assert_eq!(costs(calm.done(vec![unread(None)])), (1, 1, 0));
}

/// A put that has entered, a removal of the row that was there, the put, and what the removal
/// leaves to do: the entry is another one.
#[test]
fn a_removal_leaves_the_entry_of_a_row_that_is_put_meanwhile() {
    let calm = Calm::on(PartitionedMemory::of_places());
    let logs = calm.collection("logs");
    calm.done(vec![calm.change("logs", "one", Some(&["red"]))]);
    let removal = calm.set(vec![calm.change("logs", "one", None)]);
    let target = Target::new(&removal, &[], &removal.changes[0], removal.changes[0].before.clone());
    let removed = target.unwrap().remove;
    // The put reads the row as it was, and must read it again when the removal came first.
    let put = calm.set(vec![calm.change("logs", "one", Some(&["blue"]))]);
    calm.done(removal.changes.clone());
    assert!(matches!(calm.commit(&put).0, Verdict::Obstacle(Obstacle::Row { .. })));
    calm.done(vec![calm.change("logs", "one", Some(&["blue"]))]);
    removed.into_iter().for_each(|key| calm.write(Write::Delete { key }));
    let row = calm.get(&calm.key("logs", "r", "one")).unwrap();
    let entries = calm.entries(&put.changes[0], &row.value);
    let stored = protocol::stored_entry_key(&logs, &entries[0], &row).unwrap();
    assert!(calm.get(&stored).is_some());
}

/// A removal of nothing that is made again must not remove what was put since.
#[test]
fn a_removal_that_is_made_again_removes_no_later_row() {
    let calm = Calm::on(PartitionedMemory::of_places().forgetting());
    let mut removal = calm.set(vec![calm.change("logs", "one", None)]);
    removal.changes[0].read = false;
    let commit = || {
        let mut session = calm.session(NOW);
        session.repeatable = true;
        protocol::commit(&mut session, &removal).now_or_never().unwrap().unwrap()
    };
    assert!(matches!(commit(), Verdict::Committed { .. }));
    calm.done(vec![calm.change("logs", "one", Some(&["red"]))]);
    assert!(matches!(commit(), Verdict::Committed { .. }));
    assert!(calm.get(&calm.key("logs", "r", "one")).unwrap().is_live(NOW));
}

#[test]
fn an_entry_ends_with_its_attempt() {
    let calm = Calm::new();
    let people = calm.collection("people");
    let (by_color, by_email) = (&people.indexes[0], &people.indexes[1]);
    let change = calm.change("people", "ann", Some(&["red", "a@x"]));
    let attempt = CommitId::new(NOW, &calm.chance);
    let key = with_attempt(&change.gained[0].key, &attempt).unwrap();
    assert_eq!(attempt_of(by_color, &key).unwrap(), Some(attempt));
    let (entry, _) = split_attempt(by_color, &key).unwrap().unwrap();
    assert_eq!(entry, change.gained[0].key.as_ref());
    assert_eq!(attempt_of(by_email, &change.gained[1].key).unwrap(), None);
    assert_eq!(by_color.key.decode(&key).unwrap().len(), 3);
    let one = derived(attempt, "one", &[b"a"]);
    assert_eq!(one.time(), attempt.time());
    assert_ne!(one, derived(attempt, "two", &[b"a"]));
    assert_ne!(one, derived(attempt, "one", &[b"b"]));
    assert_ne!(derived(attempt, "one", &[b"a", b""]), derived(attempt, "one", &[b"", b"a"]));
}

#[test]
fn a_row_tells_what_became_of_an_attempt() {
    let chance = SeededRandom::new(3);
    let ids: Vec<Version> = (0..12).map(|_| CommitId::new(NOW, &chance)).collect();
    let row = |version: usize, previous: &[usize]| Row {
        value: Bytes::new(),
        version: Some(ids[version]),
        expires: None,
        trail: Some(Box::new(Trail {
            previous: previous.iter().map(|number| ids[*number]).collect(),
            dead: false,
            held: vec![Held { space: 1, entry: [0; 8], attempt: ids[0] }],
        })),
    };
    let mine = ids[0];
    let told = |row: Option<Row>, expected: Option<usize>| {
        fate(row.as_ref(), mine, expected.map(|number| ids[number]))
    };
    assert_eq!(told(Some(row(0, &[1])), Some(1)), Fate::Committed);
    assert_eq!(told(Some(row(2, &[3, 0, 1])), Some(1)), Fate::Committed);
    assert_eq!(told(Some(row(2, &[3, 1])), Some(1)), Fate::Failed);
    assert_eq!(told(Some(row(1, &[2])), Some(1)), Fate::Open);
    assert_eq!(told(Some(row(2, &[3, 4])), Some(1)), Fate::Forgotten);
    assert_eq!(told(None, Some(1)), Fate::Forgotten);
    assert_eq!(told(None, None), Fate::Open);
    assert_eq!(told(Some(row(2, &[3, 4])), None), Fate::Failed);
    let full = [3, 4, 5, 6, 7, 8, 9, 10];
    assert_eq!(told(Some(row(2, &full)), None), Fate::Forgotten);
}

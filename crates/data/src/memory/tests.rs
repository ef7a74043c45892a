//! Tests of what only the stores in memory have; what all stores have is tested by the suite.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use super::outcomes::Outcomes;
use super::{Call, Fault, Faults, FaultyStore, MemoryStore, PartitionedMemory};
use crate::clock::{Milliseconds, SeededRandom};
use crate::error::ErrorKind;
use crate::store::{
    Batch, Check, CommitId, Expect, Judgement, Key, Outcome, Position, Row, Store, Total, Trail,
    Write, judge,
};
use crate::suite::{self, block_on};
use bytes::Bytes;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const NOW: Milliseconds = 1_800_000_000_000;
const MINUTE: Milliseconds = 60_000;
const DAY: Milliseconds = 24 * 60 * MINUTE;

fn key(name: &str) -> Key {
    Key::from([&[0, 1][..], name.as_bytes()].concat())
}

fn plain(key: &Key, value: &'static str) -> Write {
    let (key, value) = (key.clone(), Bytes::from(value));
    Write::Put { key, value, expires: None, versioned: false, trail: None }
}

fn add(key: &Key, amount: i64) -> Write {
    Write::Add { key: key.clone(), amount, expires: None, window: None }
}

/// Batches with ids that repeat from run to run.
struct Ids(SeededRandom);

impl Ids {
    fn batch(&self, writes: Vec<Write>) -> Batch {
        let id = CommitId::new(NOW, &self.0);
        Batch { id, now: NOW, checks: Vec::new(), writes, deadline: NOW + MINUTE }
    }
}

fn ids() -> Ids {
    Ids(SeededRandom::new(7))
}

fn committed(store: &dyn Store, batch: &Batch) -> Vec<Total> {
    match block_on(store.commit(batch)).unwrap() {
        Outcome::Committed { totals } => totals,
        other => panic!("{other:?}"),
    }
}

fn value(store: &dyn Store, key: &Key) -> Option<Bytes> {
    block_on(store.get(std::slice::from_ref(key))).unwrap().pop().unwrap().map(|row| row.value)
}

fn count(store: &dyn Store, key: &Key) -> i64 {
    i64::from_be_bytes(value(store, key).unwrap().as_ref().try_into().unwrap())
}

#[test]
fn the_log_says_when_it_no_longer_reaches_back() {
    let (store, ids) = (MemoryStore::keeping(3), ids());
    for number in 0..5 {
        committed(&store, &ids.batch(vec![plain(&key(&number.to_string()), "value")]));
    }
    let gone = block_on(store.changes(Position::START, 10)).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Mismatch);
    assert_eq!(gone.value("first"), Some("2"));
    let kept = block_on(store.changes(Position(2), 10)).unwrap();
    assert_eq!((kept.changes.len(), kept.next), (3, Position(5)));
}

#[test]
fn the_log_keeps_the_last_commit_however_large() {
    let (store, ids) = (MemoryStore::keeping(3), ids());
    let writes = (0..10).map(|number| plain(&key(&number.to_string()), "value")).collect();
    committed(&store, &ids.batch(writes));
    assert_eq!(block_on(store.changes(Position::START, 1)).unwrap().changes.len(), 10);
}

#[test]
fn outcomes_are_forgotten_after_twice_the_time_they_are_owed() {
    let mut outcomes = Outcomes::default();
    let random = SeededRandom::new(1);
    let first = CommitId::new(NOW, &random);
    outcomes.remember(first, NOW, &[]);
    for minute in 1..=20 {
        assert!(outcomes.of(&first).is_some() || minute > 11, "minute {minute}");
        outcomes.remember(CommitId::new(NOW, &random), NOW + minute * MINUTE, &[]);
    }
    outcomes.remember(CommitId::new(NOW, &random), NOW + 25 * MINUTE, &[]);
    assert!(outcomes.of(&first).is_none());
}

#[test]
fn a_put_without_a_check_looks_nothing_up() {
    let ids = ids();
    let delete = Write::Delete { key: key("b") };
    let batch = ids.batch(vec![plain(&key("a"), "value"), delete]);
    let judged = judge(&batch, |_| panic!("looked up")).unwrap();
    assert!(matches!(judged, Judgement::Commit { effects, .. } if effects.len() == 2));
}

#[test]
fn only_a_counter_is_added_to() {
    let (store, ids) = (MemoryStore::new(), ids());
    committed(&store, &ids.batch(vec![plain(&key("a"), "nine bytes")]));
    let error = block_on(store.commit(&ids.batch(vec![add(&key("a"), 1)]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}

#[test]
fn a_row_with_a_trail_stays_a_day_after_its_end() {
    let store = PartitionedMemory::new();
    let schema = block_on(store.ensure(&suite::keyspace().unwrap())).unwrap();
    let shape = &schema.collection("leases").unwrap().key;
    let name = |name: &str| crate::Value::Text(name.to_string());
    let key = shape.encode(&[name("room"), name("lease")]).unwrap();
    let write = Write::Put {
        key: key.clone(),
        value: Bytes::new(),
        expires: Some(NOW),
        versioned: true,
        trail: Some(Box::new(Trail::default())),
    };
    let batch = ids().batch(vec![write]);
    committed(&store, &batch);
    assert_eq!(block_on(store.sweep(NOW + DAY - 1, 10)).unwrap(), 0);
    let lies = block_on(store.get(std::slice::from_ref(&key))).unwrap().pop().unwrap();
    assert_eq!(lies.and_then(|row: Row| row.version), Some(batch.id));
    assert_eq!(block_on(store.sweep(NOW + DAY, 10)).unwrap(), 1);
    assert_eq!(value(&store, &key), None);
}

/// A blind batch over three places, and its keys.
fn blind(store: &PartitionedMemory) -> (Batch, Vec<Key>) {
    let schema = block_on(store.ensure(&suite::keyspace().unwrap())).unwrap();
    let shape = &schema.collection("blobs").unwrap().key;
    let name = |name: &str| crate::Value::Text(name.to_string());
    let keys: Vec<Key> = ["a", "b", "c"]
        .iter()
        .map(|room| shape.encode(&[name(room), name("row")]).unwrap())
        .collect();
    (ids().batch(keys.iter().map(|key| plain(key, "value")).collect()), keys)
}

fn there(store: &dyn Store, keys: &[Key]) -> usize {
    block_on(store.get(keys)).unwrap().into_iter().flatten().count()
}

#[test]
fn a_blind_batch_reaches_one_place_after_the_other() {
    let store = PartitionedMemory::new();
    let (batch, keys) = blind(&store);
    let mut context = Context::from_waker(Waker::noop());
    let mut commit = pin!(store.commit(&batch));
    for reached in 1..3 {
        assert!(matches!(commit.as_mut().poll(&mut context), Poll::Pending));
        assert_eq!(there(&store, &keys), reached);
    }
    assert!(matches!(commit.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert_eq!(there(&store, &keys), 3);
}

#[test]
fn a_blind_batch_is_finished_when_its_caller_goes_away() {
    let store = PartitionedMemory::new();
    let (batch, keys) = blind(&store);
    let mut commit = Box::pin(store.commit(&batch));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(commit.as_mut().poll(&mut context), Poll::Pending));
    drop(commit);
    assert_eq!(there(&store, &keys), 3);
}

/// Faults from a list; nothing happens behind its end.
#[derive(Debug)]
struct Listed(Mutex<VecDeque<Fault>>);

impl Faults for Listed {
    fn next(&self, _: Call<'_>) -> Fault {
        self.0.lock().unwrap().pop_front().unwrap_or(Fault::Proceed)
    }
}

fn faulty(faults: &[Fault]) -> (FaultyStore, Arc<dyn Store>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let faults = Arc::new(Listed(Mutex::new(faults.iter().copied().collect())));
    (FaultyStore::new(store.clone(), faults), store)
}

#[test]
fn a_lost_reply_is_found_out_by_asking_again() {
    let (store, sound) = faulty(&[Fault::Lose]);
    let batch = ids().batch(vec![add(&key("a"), 5)]);
    let lost = block_on(store.commit(&batch)).unwrap();
    assert_eq!(lost, Outcome::Indeterminate { id: batch.id });
    assert_eq!(count(&*sound, &key("a")), 5);
    assert_eq!(committed(&store, &batch), [Total { value: 5, expires: None }]);
    assert_eq!(count(&*sound, &key("a")), 5);
}

#[test]
fn a_refused_call_does_nothing() {
    let (store, sound) = faulty(&[Fault::Refuse, Fault::Refuse]);
    let batch = ids().batch(vec![add(&key("a"), 5)]);
    let refused = block_on(store.commit(&batch)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert!(refused.is_retryable());
    assert!(block_on(store.get(&[key("a")])).is_err());
    assert_eq!(value(&*sound, &key("a")), None);
}

#[test]
fn a_late_batch_arrives_once_even_if_it_was_sent_again() {
    let (store, sound) = faulty(&[Fault::Late(2)]);
    let batch = ids().batch(vec![add(&key("a"), 5)]);
    assert!(matches!(block_on(store.commit(&batch)).unwrap(), Outcome::Indeterminate { .. }));
    assert_eq!(value(&*sound, &key("a")), None);
    assert_eq!(value(&store, &key("a")), None);
    // The next call lets it arrive first.
    assert_eq!(committed(&store, &batch), [Total { value: 5, expires: None }]);
    block_on(store.settle());
    assert_eq!(count(&*sound, &key("a")), 5);
}

#[test]
fn a_late_batch_meets_what_was_written_before_it() {
    let (store, sound) = faulty(&[Fault::Late(9)]);
    let ids = ids();
    let mut late = ids.batch(vec![plain(&key("a"), "late")]);
    late.checks.push(Check { key: key("a"), expect: Expect::Absent });
    assert!(matches!(block_on(store.commit(&late)).unwrap(), Outcome::Indeterminate { .. }));
    committed(&store, &ids.batch(vec![plain(&key("a"), "early")]));
    block_on(store.settle());
    assert_eq!(value(&*sound, &key("a")), Some(Bytes::from("early")));
}

/// Every kind of fault, by chance.
#[derive(Debug)]
struct ByChance(SeededRandom);

impl Faults for ByChance {
    fn next(&self, call: Call<'_>) -> Fault {
        match (self.0.number() % 12, call) {
            (0, _) => Fault::Refuse,
            (1, Call::Commit(_)) => Fault::Lose,
            (2, Call::Commit(_)) => Fault::Late(3),
            (3, _) => Fault::Wait(2),
            _ => Fault::Proceed,
        }
    }
}

#[test]
fn with_any_faults_a_counter_is_exact_in_the_end() {
    for seed in 0..50 {
        let sound: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let faults = Arc::new(ByChance(SeededRandom::new(seed)));
        let store = FaultyStore::new(sound.clone(), faults);
        let ids = Ids(SeededRandom::new(seed));
        for _ in 0..40 {
            let batch = ids.batch(vec![add(&key("a"), 1)]);
            while !matches!(block_on(store.commit(&batch)), Ok(Outcome::Committed { .. })) {}
        }
        block_on(store.settle());
        assert_eq!(count(&*sound, &key("a")), 40, "seed {seed}");
    }
}

//! A million ids of each kind over several threads: no two alike, each larger than the last.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::*;
use crate::clock::{Clock, ManualClock, SeededRandom};
use keyspace::key::{KeyType, encode};
use std::thread;

const THREADS: usize = 4;
const EACH: usize = 250_000;
const SEED: u64 = 4_122;
const START: Milliseconds = 1_794_736_800_000;

fn ids() -> Ids {
    println!("seed {SEED}");
    Ids::new(Arc::new(SeededRandom::new(SEED)))
}

/// Ids as stores compare them, by thread, in the order they were made.
fn made(of: &Type, prefix: Option<&str>) -> Vec<Vec<Vec<u8>>> {
    let (ids, clock) = (ids(), ManualClock::at(START));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| (0..EACH).map(|n| one(&ids, &clock, n, of, prefix)).collect()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The clock mostly stands still, sometimes goes, and sometimes falls back.
fn one(ids: &Ids, clock: &ManualClock, number: usize, of: &Type, prefix: Option<&str>) -> Vec<u8> {
    match number % 1_000 {
        10 => clock.advance(3),
        510 => clock.advance(-2),
        _ => {}
    }
    let kind = match of {
        Type::Uuid => KeyType::Uuid,
        Type::TimeUuid => KeyType::TimeUuid,
        Type::Ulid => KeyType::Ulid,
        _ => KeyType::Text,
    };
    let id = ids.make(of, prefix, clock.now()).unwrap();
    encode(1, &[kind.ascending()], &[id.as_segment().unwrap()]).unwrap()
}

fn unique(made: &[Vec<Vec<u8>>]) {
    let mut all: Vec<&Vec<u8>> = made.iter().flatten().collect();
    assert_eq!(all.len(), THREADS * EACH);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
}

fn sorted(made: &[Vec<Vec<u8>>]) {
    for thread in made {
        assert!(thread.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn a_million_uuids_are_unique() {
    unique(&made(&Type::Uuid, None));
}

#[test]
fn a_million_time_uuids_are_unique_and_sorted() {
    let made = made(&Type::TimeUuid, None);
    unique(&made);
    sorted(&made);
}

#[test]
fn a_million_ulids_are_unique_and_sorted() {
    let made = made(&Type::Ulid, None);
    unique(&made);
    sorted(&made);
}

#[test]
fn a_million_texts_are_unique_and_sorted() {
    let made = made(&Type::Text, Some("note"));
    unique(&made);
    sorted(&made);
}

#[test]
fn ids_have_their_forms() {
    let ids = ids();
    let Value::Uuid(uuid) = ids.make(&Type::Uuid, None, START).unwrap() else { panic!() };
    assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 2));
    let Value::TimeUuid(time) = ids.make(&Type::TimeUuid, None, START).unwrap() else { panic!() };
    assert_eq!((time[6] >> 4, time[8] >> 6, time[10] & 1), (1, 2, 1));
    let Value::Text(text) = ids.make(&Type::Text, Some("note"), START).unwrap() else { panic!() };
    assert!(text.starts_with("note_01") && text.len() == 31, "{text}");
    let Value::Text(text) = ids.make(&Type::Text, None, START).unwrap() else { panic!() };
    assert_eq!(text.len(), 26);
    assert!(ids.make(&Type::I64, None, START).is_err());
}

#[test]
fn ids_hold_the_time_they_were_made_at() {
    let ids = ids();
    for now in [START, START + 1, START + 86_400_000] {
        for of in [Type::TimeUuid, Type::Ulid] {
            let id = ids.make(&of, None, now).unwrap();
            assert_eq!(crate::schema::time_of(&id.as_segment().unwrap()), now);
        }
    }
}

#[test]
fn times_that_no_id_can_hold_are_refused() {
    for (of, last) in [(Type::TimeUuid, 103_072_857_660_684), (Type::Ulid, (1 << 48) - 1)] {
        assert!(ids().make(&of, None, last).is_ok(), "{of}");
        let ids = ids();
        let error = ids.make(&of, None, last + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Overflow, "{of}");
        assert!(ids.make(&of, None, START).is_ok(), "{of}");
        // A clock before 1970, or before 1582, still gives ids.
        assert!(ids.make(&of, None, i64::MIN).is_ok(), "{of}");
    }
}

#[test]
fn two_processes_have_different_nodes() {
    let of = |seed| Ids::new(Arc::new(SeededRandom::new(seed)));
    let ids: Vec<Value> =
        (0..100).map(|seed| of(seed).make(&Type::TimeUuid, None, START).unwrap()).collect();
    for (number, id) in ids.iter().enumerate() {
        assert!(!ids[..number].contains(id));
    }
}

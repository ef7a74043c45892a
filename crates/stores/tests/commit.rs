//! Commits and reads under concurrency, outcomes over time, sweeping, and the log of changes.

#![cfg(feature = "engine")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, add, batch, check, id, key, put, space, totals, wait};
use data::ErrorKind;
use data::store::{
    Durability, End, Expect, Hold, Key, Outcome, Position, Range, Scan, Store, Trail, Write,
};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stores::engine::{EngineStore, Options};

const ALL: [Durability; 3] = [Durability::None, Durability::Process, Durability::Power];
const KEPT: i64 = 600_000;

fn open(folder: &Folder, durability: Durability) -> EngineStore {
    EngineStore::open(folder.path(), &Options { durability, ..Options::default() }).unwrap()
}

fn scan(range: Range, reverse: bool, rows: usize) -> Scan {
    Scan { range, reverse, rows }
}

#[test]
fn commits_of_many_threads_are_in_one_order() {
    for durability in ALL {
        let folder = Folder::new();
        let store = open(&folder, durability);
        let (threads, each) = (8, 25);
        let seen: Vec<i64> = std::thread::scope(|scope| {
            let spawned: Vec<_> = (0..threads)
                .map(|thread| {
                    let store = &store;
                    scope.spawn(move || {
                        let numbers = 0..each;
                        let added = numbers.map(|number| {
                            let writes = vec![add(key(1, "counter"), 1)];
                            let batch = batch(1 + thread * each + number, NOW, writes);
                            totals(wait(store.commit(&batch)))[0].value
                        });
                        added.collect::<Vec<_>>()
                    })
                })
                .collect();
            spawned.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let count = threads * each;
        let expected: BTreeSet<i64> = (1..=i64::try_from(count).unwrap()).collect();
        assert_eq!(seen.len(), expected.len());
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), expected, "{durability}");
    }
}

#[test]
fn commits_of_many_tasks_are_in_one_order() {
    for durability in ALL {
        let folder = Folder::new();
        let store = Arc::new(open(&folder, durability));
        let (tasks, each) = (64, 25);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(4).build().unwrap();
        let seen: Vec<i64> = runtime.block_on(async {
            let spawned: Vec<_> = (0..tasks)
                .map(|task| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        let mut seen = Vec::new();
                        for number in 0..each {
                            let writes = vec![add(key(1, "counter"), 1)];
                            let batch = batch(1 + task * each + number, NOW, writes);
                            seen.push(totals(store.commit_new(&batch).await)[0].value);
                            // A second time it is known, whoever has written it.
                            let again = totals(store.commit(&batch).await)[0].value;
                            assert_eq!(seen.last(), Some(&again));
                        }
                        seen
                    })
                })
                .collect();
            let mut seen = Vec::new();
            for task in spawned {
                seen.extend(task.await.unwrap());
            }
            seen
        });
        let expected: BTreeSet<i64> = (1..=i64::try_from(tasks * each).unwrap()).collect();
        assert_eq!(seen.len(), expected.len());
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), expected, "{durability}");
    }
}

#[test]
fn no_reader_sees_half_of_a_batch() {
    for durability in ALL {
        let folder = Folder::new();
        let store = open(&folder, durability);
        let is_done = AtomicBool::new(false);
        // Long values let the engine write tables out in the middle of it.
        let rounds: u64 = if durability == Durability::Power { 150 } else { 1_500 };
        let keys: Vec<Key> = (1..=5).map(|space| key(space, "row")).collect();
        let everything =
            Range { start: key(1, "").bytes().clone(), end: key(9, "").bytes().clone() };
        std::thread::scope(|scope| {
            for reverse in [false, true] {
                let (store, is_done, keys, everything) = (&store, &is_done, &keys, &everything);
                scope.spawn(move || {
                    while !is_done.load(Ordering::Relaxed) {
                        let rows = wait(store.get(keys)).unwrap();
                        let versions: BTreeSet<_> = rows
                            .iter()
                            .map(|row| row.as_ref().and_then(|row| row.version))
                            .collect();
                        assert_eq!(versions.len(), 1, "{durability}: {versions:?}");
                        let page =
                            wait(store.scan(&scan(everything.clone(), reverse, 10))).unwrap();
                        let versions: BTreeSet<_> =
                            page.rows.iter().map(|found| found.row.version).collect();
                        assert!(versions.len() <= 1, "{durability}: {versions:?}");
                        assert!(matches!(page.rows.len(), 0 | 5));
                    }
                });
            }
            for round in 1..=rounds {
                let value = vec![u8::try_from(round % 251).unwrap(); 8 << 10];
                let writes = keys.iter().map(|key| put(key.clone(), value.clone(), None)).collect();
                totals(wait(store.commit(&batch(round, NOW, writes))));
                // What was acknowledged is seen at once.
                let row = wait(store.get(&keys[4..])).unwrap().remove(0).unwrap();
                assert_eq!(row.version, Some(id(round)));
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_batch_sent_again_answers_as_before_for_ten_minutes() {
    for durability in [Durability::Process, Durability::Power] {
        let folder = Folder::new();
        let counter = || vec![add(key(1, "counter"), 5)];
        let mut store = open(&folder, durability);
        assert_eq!(totals(wait(store.commit(&batch(1, NOW, counter()))))[0].value, 5);
        let mut time = NOW;
        for step in 0..5 {
            // Another commit at each end of what must be remembered, and a new process between.
            time += KEPT / 5;
            totals(wait(store.commit(&batch(100 + step, time, counter()))));
            drop(store);
            store = open(&folder, durability);
            assert_eq!(totals(wait(store.commit(&batch(1, time, counter()))))[0].value, 5);
        }
        // Two tables later it is a new batch.
        for step in 1..=2 {
            time += KEPT + 1;
            totals(wait(store.commit(&batch(200 + step, time, Vec::new()))));
        }
        assert_eq!(totals(wait(store.commit(&batch(1, time, counter()))))[0].value, 35);
        drop(store);
        drop(open(&folder, durability));
        // rows, two tables of outcomes, and the engine's own.
        let tables = fs::read_dir(folder.path().join("fjall/keyspaces")).unwrap().count();
        assert_eq!(tables, 4);
    }
}

#[test]
fn a_conflict_changes_nothing_and_is_not_remembered() {
    let folder = Folder::new();
    let store = open(&folder, Durability::Power);
    let row = key(1, "row");
    let mut wanted = batch(1, NOW, vec![put(row.clone(), "one", None), add(key(2, "n"), 1)]);
    wanted.checks = vec![check(row.clone(), Expect::Present)];
    assert!(matches!(wait(store.commit(&wanted)).unwrap(), Outcome::Conflict(_)));
    let found = wait(store.get(&[row.clone(), key(2, "n")])).unwrap();
    assert_eq!(found, [None, None]);
    totals(wait(store.commit(&batch(2, NOW, vec![put(row.clone(), "zero", None)]))));
    assert_eq!(totals(wait(store.commit(&wanted)))[0].value, 1);
}

#[test]
fn trails_are_refused() {
    let folder = Folder::new();
    let store = open(&folder, Durability::Process);
    let trail = Some(Box::new(Trail::default()));
    let write =
        Write::Put { key: key(1, "a"), value: "v".into(), expires: None, versioned: true, trail };
    let error = wait(store.commit(&batch(1, NOW, vec![write]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn pages_end_where_they_say() {
    let folder = Folder::new();
    let store = open(&folder, Durability::Process);
    let value = vec![1; 1 << 20];
    for number in 0..12_u8 {
        let writes = vec![put(key(3, [number]), value.clone(), None)];
        totals(wait(store.commit(&batch(u64::from(number) + 1, NOW, writes))));
    }
    let page = wait(store.scan(&scan(space(3), false, 3))).unwrap();
    assert_eq!((page.rows.len(), page.end), (3, End::Rows));
    let page = wait(store.scan(&scan(space(3), true, 100))).unwrap();
    assert_eq!((page.rows.len(), page.end), (8, End::Bytes));
    assert_eq!(page.rows[0].key, key(3, [11]));
    let rest = space(3).after(&page.rows[7].key, true);
    let page = wait(store.scan(&scan(rest, true, 100))).unwrap();
    assert_eq!((page.rows.len(), page.end), (4, End::Range));
    // The store's own rows are in no range, not even in one of everything.
    let all = Range { start: Vec::new().into(), end: vec![0xff; 4].into() };
    let page = wait(store.scan(&scan(all, false, 1))).unwrap();
    assert_eq!(page.rows[0].key, key(3, [0]));
    let none = Range { start: Vec::new().into(), end: vec![0, 1].into() };
    let page = wait(store.scan(&scan(none, false, 1))).unwrap();
    assert_eq!((page.rows.len(), page.end), (0, End::Range));
}

#[test]
fn sweeping_removes_what_has_ended_and_nothing_else() {
    for durability in [Durability::Process, Durability::Power] {
        let folder = Folder::new();
        let mut store = open(&folder, durability);
        let row = |name: &str| key(1, name);
        let ends =
            [("a", Some(10)), ("b", Some(20)), ("c", Some(30)), ("d", None), ("e", Some(10))];
        let writes = ends.iter().map(|(name, end)| put(row(name), "v", end.map(|end| NOW + end)));
        totals(wait(store.commit(&batch(1, NOW, writes.collect()))));
        // The end of `a` moves, that of `b` goes, and `c` ends earlier.
        let writes = vec![
            put(row("a"), "w", Some(NOW + 40)),
            put(row("b"), "w", None),
            put(row("c"), "w", Some(NOW + 5)),
        ];
        totals(wait(store.commit(&batch(2, NOW, writes))));
        let names = |store: &EngineStore| {
            let page = wait(store.scan(&scan(space(1), false, 100))).unwrap();
            let last = |found: &data::store::Keyed| found.key.bytes()[2];
            page.rows.iter().map(|found| char::from(last(found))).collect::<String>()
        };
        assert_eq!(wait(store.sweep(NOW + 4, 100)).unwrap(), 0);
        assert_eq!(wait(store.sweep(NOW + 39, 1)).unwrap(), 1);
        assert_eq!(names(&store), "abde");
        drop(store);
        store = open(&folder, durability);
        assert_eq!(wait(store.sweep(NOW + 39, 100)).unwrap(), 1);
        assert_eq!(names(&store), "abd");
        // An end before all those that were swept.
        totals(wait(store.commit(&batch(3, NOW, vec![put(row("f"), "v", Some(NOW + 1))]))));
        drop(store);
        store = open(&folder, durability);
        assert_eq!(wait(store.sweep(NOW + 39, 100)).unwrap(), 1);
        assert_eq!(wait(store.sweep(NOW + 39, 100)).unwrap(), 0);
        assert_eq!(names(&store), "abd");
        assert_eq!(wait(store.sweep(NOW + 40, 100)).unwrap(), 1);
        assert_eq!(names(&store), "bd");
    }
}

#[test]
fn sweeping_passes_over_any_number_of_stale_ends() {
    let folder = Folder::new();
    let store = open(&folder, Durability::Process);
    // One row that moved its end 2,500 times, and one that ends after all of them.
    for number in 0..2_500 {
        let end = NOW + i64::try_from(number).unwrap();
        totals(wait(store.commit(&batch(number + 1, NOW, vec![put(key(1, "a"), "v", Some(end))]))));
    }
    let writes = vec![put(key(1, "a"), "v", None), put(key(1, "b"), "v", Some(NOW + 5_000))];
    totals(wait(store.commit(&batch(9_999, NOW, writes))));
    assert_eq!(wait(store.sweep(NOW + 5_000, 10)).unwrap(), 1);
    let found = wait(store.get(&[key(1, "a"), key(1, "b")])).unwrap();
    assert!(found[0].is_some() && found[1].is_none());
}

#[test]
fn changes_are_told_in_order_and_forgotten_with_age() {
    let folder = Folder::new();
    let kept = Some(Duration::from_secs(60));
    let options = Options { durability: Durability::Process, changes: kept, ..Options::default() };
    let mut store = EngineStore::open(folder.path(), &options).unwrap();
    for number in 1..=4_u64 {
        let now = NOW + i64::try_from(number).unwrap() * 20_000;
        let writes =
            vec![put(key(1, [1]), "v", None), put(key(1, number.to_be_bytes()), "v", None)];
        totals(wait(store.commit(&batch(number, now, writes))));
    }
    let changes = wait(store.changes(Position::START, 100)).unwrap();
    let told: Vec<_> = changes.changes.iter().map(|change| change.id).collect();
    assert_eq!(told, [1, 1, 2, 2, 3, 3, 4, 4].map(id));
    // Whole commits only, one at least.
    let changes = wait(store.changes(Position::START, 1)).unwrap();
    assert_eq!((changes.changes.len(), changes.next), (2, Position(1)));
    let changes = wait(store.changes(changes.next, 5)).unwrap();
    assert_eq!((changes.changes.len(), changes.next), (4, Position(3)));
    drop(store);
    store = EngineStore::open(folder.path(), &options).unwrap();
    assert_eq!(wait(store.changes(Position(3), 5)).unwrap().changes.len(), 2);
    assert!(wait(store.changes(Position(4), 5)).unwrap().changes.is_empty());
    // The first two are a minute old.
    wait(store.sweep(NOW + 100_000, 10)).unwrap();
    for (position, is_kept) in [(0, false), (1, false), (2, true), (4, true), (5, false)] {
        let told = wait(store.changes(Position(position), 5));
        match is_kept {
            true => drop(told.unwrap()),
            false => assert_eq!(told.unwrap_err().kind(), ErrorKind::Mismatch, "{position}"),
        }
    }
    // Switched off and on again, it begins where the store is.
    drop(store);
    drop(open(&folder, Durability::Process));
    store = EngineStore::open(folder.path(), &options).unwrap();
    assert_eq!(wait(store.changes(Position(3), 5)).unwrap_err().kind(), ErrorKind::Mismatch);
    assert!(wait(store.changes(Position(4), 5)).unwrap().changes.is_empty());
}

#[test]
fn a_log_can_begin_while_the_store_is_used() {
    for durability in ALL {
        let folder = Folder::new();
        let store = open(&folder, durability);
        for number in 1..=3 {
            totals(wait(store.commit(&batch(number, NOW, vec![put(key(1, [1]), "v", None)]))));
        }
        assert_eq!(wait(store.changes(Position(3), 5)).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(wait(store.follow()).unwrap(), Position(3));
        assert!(wait(store.changes(Position(3), 5)).unwrap().changes.is_empty());
        totals(wait(store.commit(&batch(4, NOW, vec![put(key(1, [4]), "v", None)]))));
        assert_eq!(wait(store.follow()).unwrap(), Position(4));
        let told = wait(store.changes(Position(3), 5)).unwrap();
        assert_eq!((told.changes[0].id, told.changes[0].key.clone()), (id(4), key(1, [4])));
        assert_eq!(wait(store.changes(Position(2), 5)).unwrap_err().kind(), ErrorKind::Mismatch);
        // Nobody asked for it when the store is opened next.
        drop(store);
        let store = open(&folder, durability);
        assert_eq!(wait(store.changes(Position(4), 5)).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(wait(store.follow()).unwrap(), Position(4));
    }
}

#[test]
fn a_store_that_is_held_takes_no_writes_and_one_that_has_moved_never_again() {
    for durability in ALL {
        let folder = Folder::new();
        let store = open(&folder, durability);
        let write = |store: &EngineStore, number: u64| {
            wait(store.commit(&batch(number, NOW, vec![put(key(1, "a"), "v", None)])))
        };
        totals(write(&store, 1));
        assert_eq!(wait(store.hold(Hold::Paused)).unwrap(), Position(1));
        let refused = write(&store, 2).unwrap_err();
        assert!(Hold::is_pause(&refused) && refused.is_retryable(), "{refused}");
        // What was done before is still known.
        totals(write(&store, 1));
        // A pause ends with the process.
        drop(store);
        let store = open(&folder, durability);
        totals(write(&store, 2));
        wait(store.hold(Hold::Paused)).unwrap();
        wait(store.hold(Hold::Open)).unwrap();
        totals(write(&store, 3));
        assert_eq!(wait(store.hold(Hold::Moved("there".into()))).unwrap(), Position(3));
        drop(store);
        let store = open(&folder, durability);
        let refused = write(&store, 4).unwrap_err();
        assert_eq!((refused.kind(), refused.value("to")), (ErrorKind::Moved, Some("there")));
        assert_eq!(wait(store.hold(Hold::Open)).unwrap_err().kind(), ErrorKind::Moved);
        assert!(wait(store.get(&[key(1, "a")])).unwrap()[0].is_some());
        assert!(store.remarks()[0].contains("there"));
    }
}

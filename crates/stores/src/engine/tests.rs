//! What happens when the disk refuses a write: tests that need the inside of a store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::commit::{Committer, Fault, Sent};
use super::*;
use crate::common::{self, NOW, add, batch, check, key, put, totals, wait};
use data::store::Expect;

fn store(folder: &common::Folder, durability: Durability) -> EngineStore {
    EngineStore::open(folder.path(), &Options { durability, ..Options::default() }).unwrap()
}

fn set(store: &EngineStore, fault: Option<Fault>) {
    wait(store.run(move |committer: &mut Committer| {
        committer.fault = fault;
        Ok(())
    }))
    .unwrap();
}

#[test]
fn after_a_failed_write_nothing_is_written_and_reads_go_on() {
    for durability in [Durability::None, Durability::Process, Durability::Power] {
        for fault in [Fault::Before, Fault::After] {
            let folder = common::Folder::new();
            let broken = store(&folder, durability);
            totals(wait(broken.commit(&batch(1, NOW, vec![put(key(1, "a"), "old", None)]))));
            set(&broken, Some(fault));
            let failed = batch(2, NOW, vec![put(key(1, "a"), "new", None)]);
            let outcome = wait(broken.commit(&failed)).unwrap();
            assert_eq!(outcome, Outcome::Indeterminate { id: failed.id });
            // The disk works again, but what it holds is not known: no second attempt.
            set(&broken, None);
            for number in 3..5 {
                let error = wait(broken.commit(&batch(number, NOW, Vec::new()))).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Poisoned);
            }
            assert_eq!(wait(broken.sweep(NOW, 10)).unwrap_err().kind(), ErrorKind::Poisoned);
            let row = wait(broken.get(&[key(1, "a")])).unwrap().remove(0).unwrap();
            assert_eq!(row.value, "old", "what may be lost is not shown");
            assert_eq!(wait(broken.close()).unwrap_err().kind(), ErrorKind::Poisoned);
            // Opened anew, the same batch finds out what became of it, and is there once.
            let mended = store(&folder, durability);
            totals(wait(mended.commit(&failed)));
            let row = wait(mended.get(&[key(1, "a")])).unwrap().remove(0).unwrap();
            assert_eq!(row.value, "new");
        }
    }
}

#[test]
fn a_group_is_judged_in_order_and_fails_together() {
    let folder = common::Folder::new();
    let store = store(&folder, Durability::Power);
    let known = batch(1, NOW, vec![add(key(1, "n"), 10)]);
    totals(wait(store.commit(&known)));
    let group = |from: u64| {
        let mut absent = batch(from + 2, NOW, vec![put(key(1, "b"), "v", None)]);
        absent.checks = vec![check(key(1, [u8::try_from(from).unwrap()]), Expect::Absent)];
        vec![
            batch(from, NOW, vec![add(key(1, "n"), 1)]),
            batch(from + 1, NOW, vec![put(key(1, [u8::try_from(from).unwrap()]), "v", None)]),
            absent,
            batch(from, NOW, vec![add(key(1, "n"), 1)]),
            batch(from + 3, NOW, vec![add(key(1, "n"), 1), add(key(1, "n"), 1)]),
            batch(1, NOW, vec![add(key(1, "n"), 10)]),
        ]
    };
    let commit = |batches: Vec<Batch>| {
        wait(store.run(move |committer: &mut Committer| {
            Ok(committer.commit(batches.iter().map(|batch| Sent { batch, is_new: false })))
        }))
        .unwrap()
    };
    let values = |outcome: &Result<Outcome>| match outcome {
        Ok(Outcome::Committed { totals }) => totals.iter().map(|total| total.value).collect(),
        _ => vec![-1],
    };
    let answers = commit(group(20));
    assert_eq!(
        answers.iter().map(values).collect::<Vec<_>>(),
        [vec![11], vec![], vec![-1], vec![11], vec![12, 13], vec![10],]
    );
    assert!(matches!(answers[2], Ok(Outcome::Conflict(_))));
    set(&store, Some(Fault::After));
    let answers = commit(group(30));
    for at in [0, 1, 3, 4] {
        assert!(matches!(answers[at], Ok(Outcome::Indeterminate { .. })), "{at}");
    }
    // Judged by a batch that may be lost, but itself certainly not there.
    assert_eq!(answers[2].as_ref().unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(values(&answers[5]), [10]);
}

#[test]
fn a_task_leaves_its_batch_to_whoever_commits() {
    let folder = common::Folder::new();
    let store = Arc::new(store(&folder, Durability::Process));
    let (hold, held) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel();
    let other = store.clone();
    let holder = std::thread::spawn(move || {
        wait(other.run(move |_: &mut Committer| {
            hold.send(()).unwrap();
            Ok(released.recv_timeout(Duration::from_secs(20)).is_ok())
        }))
        .unwrap()
    });
    held.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let own = store.clone();
        let first = batch(1, NOW, vec![put(key(1, "a"), "v", None)]);
        let commit = tokio::spawn(async move { own.commit(&first).await });
        // Comes behind the commit on the same thread, which that must not keep.
        tokio::spawn(async move { release.send(()).unwrap() }).await.unwrap();
        totals(commit.await.unwrap());
    });
    assert!(holder.join().unwrap(), "the task kept its thread until the holder gave up");
    assert!(wait(store.get(&[key(1, "a")])).unwrap()[0].is_some());
}

#[test]
fn readers_get_a_fresh_snapshot_between_commits() {
    let folder = common::Folder::new();
    let store = store(&folder, Durability::Process);
    totals(wait(store.commit(&batch(1, NOW, vec![put(key(1, "a"), "v", None)]))));
    let inner = store.inner().unwrap();
    let before = inner.published.snapshot();
    wait(store.run(|committer: &mut Committer| {
        committer.publish();
        Ok(())
    }))
    .unwrap();
    assert!(!Arc::ptr_eq(&before, &inner.published.snapshot()));
    drop(inner);
    assert!(wait(store.get(&[key(1, "a")])).unwrap()[0].is_some());
}

#[test]
fn outcomes_are_missed_though_the_rows_are_in_a_table() {
    let folder = common::Folder::new();
    let first = store(&folder, Durability::Process);
    for number in 1..=20_u64 {
        let write = put(key(1, number.to_be_bytes()), "v", None);
        totals(wait(first.commit(&batch(number, NOW, vec![write]))));
    }
    wait(first.run(|committer: &mut Committer| {
        committer.number().unwrap();
        committer.tables.rows.rotate_memtable_and_wait().unwrap();
        Ok(())
    }))
    .unwrap();
    wait(first.close()).unwrap();
    // All rows survive an empty journal, but which batches were committed is forgotten.
    std::fs::write(folder.path().join("fjall/0.jnl"), "").unwrap();
    let error = EngineStore::open(folder.path(), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.value("table"), Some("outcomes"));
}

/// A table was made for a commit that never was. It is dropped when the store is opened, and the
/// next table of its name must not be taken for it.
#[test]
fn a_table_in_place_of_a_dropped_one_keeps_its_rows() {
    let folder = common::Folder::new();
    let hour = 3_600_000;
    let commit = |store: &EngineStore, number: u64| {
        let now = NOW + i64::try_from(number).unwrap() * hour;
        wait(store.commit(&batch(number, now, vec![put(key(1, number.to_be_bytes()), "v", None)])))
    };
    for number in [1, 3, 5] {
        let first = store(&folder, Durability::Power);
        totals(commit(&first, number));
        set(&first, Some(Fault::Before));
        commit(&first, number + 1).unwrap();
        drop(first);
        drop(store(&folder, Durability::Power));
        totals(commit(&store(&folder, Durability::Power), number + 1));
    }
    let last = store(&folder, Durability::Power);
    let keys: Vec<Key> = (1..=6_u64).map(|number| key(1, number.to_be_bytes())).collect();
    assert!(wait(last.get(&keys)).unwrap().iter().all(Option::is_some));
}

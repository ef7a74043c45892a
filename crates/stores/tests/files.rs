//! The tree of files keeps every promise of the suite, whatever a commit is declared to survive.

#![cfg(all(feature = "files", unix))]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Folder;
use data::store::{Durability, Store};
use data::suite::random::{self, Effort};
use data::suite::{self, block_on};
use futures_util::future::BoxFuture;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use stores::files::{FilesStore, Options};

fn options(durability: Durability) -> Options {
    Options { durability, ..Options::default() }
}

fn run(durability: Durability) {
    let folder = Folder::new();
    let store = FilesStore::open(folder.path(), &options(durability)).unwrap();
    let store = Arc::new(store);
    let make = || {
        let store: Arc<dyn Store> = store.clone();
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::run(&make, &suite::Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("not_offered/files.txt"));
    assert_eq!(store.problems(), []);
}

#[test]
fn it_keeps_its_promises_with_power() {
    run(Durability::Power);
}

#[test]
fn it_keeps_its_promises_with_process() {
    run(Durability::Process);
}

#[test]
fn it_keeps_its_promises_with_none() {
    run(Durability::None);
}

/// Makes a tree of its own for every case.
fn fresh(folder: &Folder) -> impl Fn() -> BoxFuture<'static, Arc<dyn Store>> {
    let number = AtomicU32::new(0);
    let path = folder.path().to_path_buf();
    move || {
        let path = path.join(number.fetch_add(1, Ordering::SeqCst).to_string());
        let store: Arc<dyn Store> =
            Arc::new(FilesStore::open(path, &options(Durability::Process)).unwrap());
        Box::pin(async { store })
    }
}

#[test]
fn patterns_run_on_it() {
    let folder = Folder::new();
    let make = fresh(&folder);
    let make = || make();
    let report = block_on(suite::patterns::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    let folder = Folder::new();
    let make = fresh(&folder);
    let make = || make();
    let report = block_on(suite::together::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty(), "{report}");
}

/// `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.
#[test]
fn it_answers_as_the_oracle() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = 12 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 2_000_000, keyspaces, operations: 200 }
        }
    };
    // The tree of a keyspace goes when the next one comes.
    let folder: Mutex<Option<(Arc<FilesStore>, Folder)>> = Mutex::new(None);
    let make = || {
        let mut folder = folder.lock().unwrap();
        drop(folder.take());
        let next = Folder::new();
        let store = FilesStore::open(next.path(), &options(Durability::None)).unwrap();
        let store = Arc::new(store);
        *folder = Some((store.clone(), next));
        Box::pin(async move { store as Arc<dyn Store> }) as _
    };
    let report = block_on(random::run(&make, &effort));
    println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    for durability in [Durability::Power, Durability::Process, Durability::None] {
        let folder = Folder::new();
        let open = || {
            let store = FilesStore::open(folder.path(), &options(durability)).unwrap();
            let store: Arc<dyn Store> = Arc::new(store);
            Box::pin(async { store }) as _
        };
        let found = block_on(suite::lasts::run(&open, &suite::Options::default()));
        assert_eq!(found, Ok(()), "{durability}");
    }
}

//! SQLite keeps every promise of the suite, whatever a commit is declared to survive.

#![cfg(feature = "sqlite")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Folder;
use data::store::{Durability, Store};
use data::suite::{self, block_on};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stores::sqlite::{Options, SqliteStore};

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

fn run(durability: Durability) {
    let folder = Folder::new();
    let path = folder.path().join("suite.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, &Options { durability }).unwrap());
    let make = || {
        let store = store.clone();
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::run(&make, &suite::Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("not_offered/sqlite.txt"));
}

/// Makes a store of its own each time.
fn make(folder: &Folder) -> impl Fn() -> Arc<dyn Store> + '_ {
    let number = AtomicU32::new(0);
    let options = Options { durability: Durability::Process };
    move || {
        let name = format!("{}.db", number.fetch_add(1, Ordering::SeqCst));
        Arc::new(SqliteStore::open(folder.path().join(name), &options).unwrap())
    }
}

#[test]
fn patterns_run_on_it() {
    let folder = Folder::new();
    let new = make(&folder);
    let make = || {
        let store = new();
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::patterns::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    let folder = Folder::new();
    let new = make(&folder);
    let make = || {
        let store = new();
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::together::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty(), "{report}");
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    for durability in [Durability::Power, Durability::Process, Durability::None] {
        let folder = Folder::new();
        let path = folder.path().join("lasts.db");
        let open = || {
            let options = Options { durability };
            let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, &options).unwrap());
            Box::pin(async { store }) as _
        };
        let found = block_on(suite::lasts::run(&open, &suite::Options::default()));
        assert_eq!(found, Ok(()), "{durability}");
    }
}

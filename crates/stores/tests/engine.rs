//! The engine keeps every promise of the suite, whatever a commit is declared to survive.

#![cfg(feature = "engine")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Folder;
use data::store::{Durability, Store};
use data::suite::{self, block_on};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use stores::engine::{EngineStore, Options};

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
    let changes = Some(Duration::from_secs(3_600));
    let options = Options { durability, changes, ..Options::default() };
    let store: Arc<dyn Store> = Arc::new(EngineStore::open(folder.path(), &options).unwrap());
    let make = || {
        let store = store.clone();
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::run(&make, &suite::Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("not_offered/engine.txt"));
}

#[test]
fn patterns_run_on_it() {
    let folder = Folder::new();
    let number = AtomicU32::new(0);
    let options = Options { durability: Durability::Process, ..Options::default() };
    let make = || {
        let path = folder.path().join(number.fetch_add(1, Ordering::SeqCst).to_string());
        let store: Arc<dyn Store> = Arc::new(EngineStore::open(path, &options).unwrap());
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::patterns::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    let folder = Folder::new();
    let number = AtomicU32::new(0);
    let options = Options { durability: Durability::Process, ..Options::default() };
    let make = || {
        let path = folder.path().join(number.fetch_add(1, Ordering::SeqCst).to_string());
        let store: Arc<dyn Store> = Arc::new(EngineStore::open(path, &options).unwrap());
        Box::pin(async { store }) as _
    };
    let report = block_on(suite::together::run(&make, &suite::Options::default())).unwrap();
    assert!(report.failed.is_empty(), "{report}");
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    for durability in [Durability::Power, Durability::Process, Durability::None] {
        let folder = Folder::new();
        let options = Options { durability, ..Options::default() };
        let open = || {
            let store: Arc<dyn Store> =
                Arc::new(EngineStore::open(folder.path(), &options).unwrap());
            Box::pin(async { store }) as _
        };
        let found = block_on(suite::lasts::run(&open, &suite::Options::default()));
        assert_eq!(found, Ok(()), "{durability}");
    }
}

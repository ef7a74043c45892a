//! The store in memory keeps every promise of the suite.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use data::memory::MemoryStore;
use data::store::Store;
use data::suite::{self, Options, block_on};
use std::sync::Arc;

#[test]
fn the_memory_store_keeps_its_promises() {
    let make = || Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::run(&make, &Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("not_offered/memory.txt"));
}

#[test]
fn patterns_run_on_the_memory_store() {
    let make = || Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::patterns::run(&make, &Options::default())).expect("scripts");
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.not_offered.len(), 0, "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_the_memory_store() {
    let make = || Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::together::run(&make, &Options::default())).expect("a keyspace");
    assert!(report.failed.is_empty(), "{report}");
}

//! The group-atomic store in memory keeps every promise of the suite.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use data::memory::PartitionedMemory;
use data::store::Store;
use data::suite::{self, Options, block_on};
use std::sync::Arc;

#[test]
fn the_partitioned_store_keeps_its_promises() {
    let make = || Box::pin(async { Arc::new(PartitionedMemory::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::run(&make, &Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("not_offered/partitioned.txt"));
}

#[test]
fn patterns_run_on_the_partitioned_store() {
    let make = || Box::pin(async { Arc::new(PartitionedMemory::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::patterns::run(&make, &Options::default())).expect("scripts");
    assert!(report.failed.is_empty(), "{report}");
    // Rows of several places in one call.
    assert_eq!(report.not_offered.len(), 0, "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_the_partitioned_store() {
    let make = || Box::pin(async { Arc::new(PartitionedMemory::new()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::together::run(&make, &Options::default())).expect("a keyspace");
    assert!(report.failed.is_empty(), "{report}");
}

/// Where no batch reaches two places, as on Redis Cluster.
#[test]
fn patterns_run_where_batches_reach_one_place() {
    let make =
        || Box::pin(async { Arc::new(PartitionedMemory::of_places()) as Arc<dyn Store> }) as _;
    let report = block_on(suite::run(&make, &Options::default()));
    assert!(report.failed.is_empty(), "{report}");
    let report = block_on(suite::patterns::run(&make, &Options::default())).expect("scripts");
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    let report = block_on(suite::together::run(&make, &Options::default())).expect("a keyspace");
    assert!(report.failed.is_empty(), "{report}");
}

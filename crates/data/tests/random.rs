//! Keyspaces and calls by chance are answered by the stores in memory as the oracle says.
//!
//! `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use data::memory::{MemoryStore, PartitionedMemory};
use data::store::Store;
use data::suite::random::{self, Effort, Report};
use data::suite::{Make, block_on};
use std::sync::Arc;

fn run(make: Make<'_>, keyspaces: u64) -> Report {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = keyspaces * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 1, keyspaces, operations: 200 }
        }
    };
    let report = block_on(random::run(make, &effort));
    let (played, refused) = (report.keyspaces, report.refused_files);
    println!("{played} keyspaces, {refused} files refused, {:?}", report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    assert_eq!(report.keyspaces as u64, effort.keyspaces);
    report
}

fn answers(report: &Report, kind: &str) -> usize {
    report.tally.answers.get(kind).copied().unwrap_or_default()
}

#[test]
fn the_memory_store_answers_as_the_oracle() {
    let make = || Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }) as _;
    let report = run(&make, 300);
    assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
    if report.keyspaces > 1 {
        // A generator that loses its way would pass in silence.
        for kind in ["conflict", "taken", "not found", "overflow", "argument"] {
            assert!(answers(&report, kind) > 20, "{kind}: {report:?}");
        }
        assert!(report.tally.listed > 2_000, "{report:?}");
        assert!(report.refused_files < report.keyspaces / 4, "{report:?}");
    }
}

#[test]
fn the_partitioned_store_answers_as_the_oracle() {
    let make = || Box::pin(async { Arc::new(PartitionedMemory::new()) as Arc<dyn Store> }) as _;
    let report = run(&make, 200);
    let called: usize = report.tally.answers.values().sum();
    assert!(report.tally.refused < called / 4, "{report:?}");
}

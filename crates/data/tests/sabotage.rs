//! The suite refuses every store that is broken on purpose, by the case that says what is broken.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use data::memory::{MemoryStore, PartitionedMemory};
use data::store::Store;
use data::suite::sabotage::{Sabotage, SabotagedStore};
use data::suite::{self, Case, Options, Report, block_on};
use std::sync::Arc;

fn run(cases: &[Case], sabotage: Sabotage, options: &Options) -> Report {
    let make = || {
        let sound: Arc<dyn Store> = match sabotage.is_of_groups() {
            true => Arc::new(PartitionedMemory::new()),
            false => Arc::new(MemoryStore::new()),
        };
        let broken: Arc<dyn Store> = Arc::new(SabotagedStore::new(sound, sabotage));
        Box::pin(async move { broken }) as _
    };
    block_on(suite::run_cases(cases, &make, options))
}

#[test]
fn each_sabotage_is_caught_by_its_case() {
    let cases = suite::cases();
    let mut missed = Vec::new();
    for sabotage in Sabotage::ALL {
        let name = sabotage.caught_by();
        let case = cases.iter().find(|case| case.name == name).expect(name);
        // What only shows when clients meet is tried harder, and again on a busy machine.
        let rejects = |seed| {
            let options = Options { effort: 3, seed, ..Options::default() };
            run(std::slice::from_ref(case), *sabotage, &options).rejects(name)
        };
        if !(1..=5).any(rejects) {
            missed.push(format!("{sabotage:?} was not seen by: {name}"));
        }
    }
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}

#[test]
fn random_sequences_alone_find_most_of_them() {
    let mut cases = suite::cases();
    cases.retain(|case| case.name.starts_with("random:"));
    let found: Vec<Sabotage> = Sabotage::ALL
        .iter()
        .copied()
        .filter(|sabotage| !run(&cases, *sabotage, &Options::default()).failed.is_empty())
        .collect();
    assert!(found.len() >= 30, "found by chance: {found:?}");
}

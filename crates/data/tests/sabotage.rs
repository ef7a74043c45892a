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

/// Opens the same store each time, broken so.
fn lasts(sabotage: Option<Forgets>) -> suite::Checked {
    let kept: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let kept: Arc<dyn Store> = match sabotage {
        Some(Forgets::Outcomes) => Arc::new(SabotagedStore::new(kept, Sabotage::DoneAgain)),
        _ => kept,
    };
    let make = || {
        let store: Arc<dyn Store> = match sabotage {
            Some(Forgets::Everything) => Arc::new(MemoryStore::new()),
            _ => kept.clone(),
        };
        Box::pin(async move { store }) as _
    };
    block_on(suite::lasts::run(&make, &Options::default()))
}

/// What a store forgets when it is closed.
#[derive(Clone, Copy, Debug)]
enum Forgets {
    Everything,
    Outcomes,
}

#[test]
fn a_store_that_forgets_when_it_is_closed_is_refused() {
    assert_eq!(lasts(None), Ok(()));
    for forgets in [Forgets::Everything, Forgets::Outcomes] {
        assert!(lasts(Some(forgets)).is_err(), "{forgets:?} was not seen");
    }
}

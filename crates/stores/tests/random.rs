//! Keyspaces and calls by chance are answered by each store as the oracle says.
//!
//! `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.

#![cfg(all(feature = "engine", feature = "sqlite"))]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Folder;
use data::store::{Durability, Store};
use data::suite::block_on;
use data::suite::random::{self, Effort};
use std::path::Path;
use std::sync::{Arc, Mutex};
use stores::engine::{self, EngineStore};
use stores::sqlite::{self, SqliteStore};

#[test]
fn the_engine_answers_as_the_oracle() {
    let options = engine::Options { durability: Durability::None, ..engine::Options::default() };
    answers_as_the_oracle(12, &|folder| Arc::new(EngineStore::open(folder, &options).unwrap()));
}

#[test]
fn sqlite_answers_as_the_oracle() {
    let options = sqlite::Options { durability: Durability::None };
    let open = |folder: &Path| SqliteStore::open(folder.join("x.db"), &options).unwrap();
    answers_as_the_oracle(12, &|folder| Arc::new(open(folder)));
}

/// What opens a store in a folder.
type Open<'o> = &'o dyn Fn(&Path) -> Arc<dyn Store>;

fn answers_as_the_oracle(keyspaces: u64, open: Open<'_>) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = keyspaces * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 1_000_000, keyspaces, operations: 200 }
        }
    };
    // The folder of a keyspace goes when the next one comes.
    let folder: Mutex<Option<(Arc<dyn Store>, Folder)>> = Mutex::new(None);
    let make = || {
        let mut folder = folder.lock().unwrap();
        let last = folder.take();
        drop(last);
        let next = Folder::new();
        let store = open(next.path());
        *folder = Some((store.clone(), next));
        Box::pin(async move { store }) as _
    };
    let report = block_on(random::run(&make, &effort));
    println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
}

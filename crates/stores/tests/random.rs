//! Keyspaces and calls by chance are answered by the engine as the oracle says.
//!
//! `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.

#![cfg(feature = "engine")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Folder;
use data::store::{Durability, Store};
use data::suite::block_on;
use data::suite::random::{self, Effort};
use std::sync::{Arc, Mutex};
use stores::engine::{EngineStore, Options};

#[test]
fn the_engine_answers_as_the_oracle() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = 12 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 1_000_000, keyspaces, operations: 200 }
        }
    };
    // The folder of a keyspace goes when the next one comes.
    let folder: Mutex<Option<(Arc<EngineStore>, Folder)>> = Mutex::new(None);
    let make = || {
        let mut folder = folder.lock().unwrap();
        let last = folder.take();
        drop(last);
        let next = Folder::new();
        let options = Options { durability: Durability::None, ..Options::default() };
        let store = Arc::new(EngineStore::open(next.path(), &options).unwrap());
        *folder = Some((store.clone(), next));
        Box::pin(async move { store as Arc<dyn Store> }) as _
    };
    let report = block_on(random::run(&make, &effort));
    println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
}

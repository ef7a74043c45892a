//! What the kernel is asked for before a commit to SQLite is acknowledged, seen by `strace`, which
//! must be there and may look.
//!
//! ```text
//! power     pages into the log ─▶ log synced ─▶ acknowledged
//! process   pages into the log ───────────────▶ acknowledged
//! ```

#![cfg(all(feature = "sqlite", target_os = "linux"))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod common;

use common::strace::{Seen, between, look};
use common::{Folder, NOW, batch, kill, put, totals, wait};
use data::Value;
use data::store::{Durability, Store};
use std::path::Path;
use stores::sqlite::{Options, SqliteStore};

const COMMITS: u64 = 12;

/// The child: commits, each acknowledged.
fn commit_some(told: &str, folder: &Path) {
    let durability = match told {
        "power" => Durability::Power,
        _ => Durability::Process,
    };
    std::fs::create_dir_all(folder).unwrap();
    let store = SqliteStore::open(folder.join("synced.db"), &Options { durability }).unwrap();
    let schema = wait(store.ensure(&data::suite::keyspace().unwrap())).unwrap();
    let notes = schema.collection("notes").unwrap();
    for number in 1..=COMMITS {
        let segments = [Value::Text("room".to_string()), Value::Text(number.to_string())];
        let write = put(notes.key.encode(&segments).unwrap(), "text", None);
        totals(wait(store.commit(&batch(number, NOW, vec![write]))));
        kill::acknowledge(0, number);
    }
}

/// Of each acknowledged commit, whether the log was synced between its last page and the answer.
fn synced(told: &str) -> Vec<bool> {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let seen = look("acknowledged_is_synced", told, folder.path());
    let mut synced = Vec::new();
    let mut last: Option<&Seen> = None;
    for answer in seen.iter().filter(|call| call.acknowledges()) {
        let mut pages = seen.iter().filter(|call| call.writes() && call.handle().ends_with("-wal"));
        let page = pages.rfind(|page| page.is_before(answer)).expect("there is a log");
        let is_own = last.replace(answer).is_none_or(|last| last.is_before(page));
        assert!(is_own, "a commit that is not in the log: {answer:?}");
        synced.push(between(&seen, page, answer, |call| call.syncs(page.handle())));
    }
    synced
}

#[test]
fn acknowledged_is_synced() {
    if let Some((told, folder)) = kill::told() {
        return commit_some(&told, &folder);
    }
    let power = synced("power");
    assert_eq!(power.len() as u64, COMMITS);
    assert!(power.iter().all(|synced| *synced), "acknowledged before a sync: {power:?}");
    // It is seen that there are none where none are asked for.
    let process = synced("process");
    assert_eq!(process.len() as u64, COMMITS);
    assert!(process.iter().all(|synced| !synced), "{process:?}");
}

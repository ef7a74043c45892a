//! What the kernel is asked for before a commit to a tree of files is acknowledged, seen by
//! `strace`, which must be there and may look.
//!
//! ```text
//! parent ─strace─▶ child: commits, one after the other, and says so after each
//!    └─ between two of its lines: was the journal synced?
//! ```
//!
//! That every sync is needed is proven on a disk that loses power; here it is seen that the real
//! one makes them.

#![cfg(all(feature = "files", target_os = "linux"))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, batch, kill, put, totals, wait};
use data::Value;
use data::store::{Durability, Store};
use std::process::Command;
use stores::files::{FilesStore, Options};

const COMMITS: u64 = 12;

/// The child: commits, each acknowledged.
fn commit_some(told: &str, folder: &std::path::Path) {
    let durability = match told {
        "power" => Durability::Power,
        _ => Durability::None,
    };
    let store = FilesStore::open(folder, &Options { durability, ..Options::default() }).unwrap();
    let schema = wait(store.ensure(&data::suite::keyspace().unwrap())).unwrap();
    let notes = schema.collection("notes").unwrap();
    for number in 1..=COMMITS {
        let segments = [Value::Text("room".to_string()), Value::Text(number.to_string())];
        let write = put(notes.key.encode(&segments).unwrap(), "text", None);
        totals(wait(store.commit(&batch(number, NOW, vec![write]))));
        kill::acknowledge(0, number);
    }
}

/// The syncs before each acknowledgement, as `strace` has seen them.
fn syncs(told: &str) -> Vec<usize> {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let seen = folder.path().join("seen");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs,write", "-o"]).arg(&seen);
    strace.arg(std::env::current_exe().unwrap());
    strace.args(["acknowledged_is_synced", "--exact", "--nocapture"]);
    kill::tell(&mut strace, told, &folder.path().join("tree"));
    let output = strace.output().expect("strace is missing: ./scripts/servers installs it");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("write("), "strace may not look: {output:?}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let (mut counts, mut count) = (Vec::new(), 0);
    for line in seen.lines() {
        if line.contains("\"ack 0 ") {
            counts.push(std::mem::take(&mut count));
        }
        // One that another thread interrupts is told twice; its end says that it was done.
        let is_sync = ["fsync", "fdatasync", "syncfs"].iter().any(|call| line.contains(call));
        count += usize::from(is_sync && !line.contains("unfinished") && line.contains("= 0"));
    }
    counts
}

#[test]
fn acknowledged_is_synced() {
    if let Some((told, folder)) = kill::told() {
        return commit_some(&told, &folder);
    }
    let power = syncs("power");
    assert_eq!(power.len() as u64, COMMITS);
    assert!(power.iter().all(|count| *count > 0), "acknowledged before a sync: {power:?}");
    // It is seen that there are none where none are asked for.
    let none = syncs("none");
    assert!(none.iter().skip(1).all(|count| *count == 0), "{none:?}");
}

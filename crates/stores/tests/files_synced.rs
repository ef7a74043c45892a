//! What the kernel is asked for before a commit to a tree of files is acknowledged, and before a
//! journal goes, seen by `strace`, which must be there and may look.
//!
//! ```text
//! journal made ─▶ its directory synced ─▶ frame ─▶ synced ─▶ acknowledged
//! files named ─▶ they and their directories synced, or all at once ─▶ journal unlinked
//! ```
//!
//! That every sync is needed is proven on a disk that loses power; here it is seen that the real
//! one makes them.

#![cfg(all(feature = "files", target_os = "linux"))]
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
use data::store::{Durability, Store, Write};
use std::path::Path;
use stores::files::{FilesStore, Options};

const COMMITS: u64 = 16;
/// Commits after which the tree is closed and opened again: so few files that each is synced by
/// itself. Those of the others are synced together.
const FEW: u64 = 2;
const OWN: &str = "/.keyway";

/// The child: commits, each acknowledged.
fn commit_some(told: &str, folder: &Path) {
    let durability = match told {
        "power" => Durability::Power,
        _ => Durability::None,
    };
    for numbers in [1..=FEW, FEW + 1..=COMMITS] {
        let options = Options { durability, ..Options::default() };
        let store = FilesStore::open(folder, &options).unwrap();
        let schema = wait(store.ensure(&data::suite::keyspace().unwrap())).unwrap();
        let notes = schema.collection("notes").unwrap();
        let key = |number: u64| {
            let segments = [Value::Text("room".to_string()), Value::Text(number.to_string())];
            notes.key.encode(&segments).unwrap()
        };
        for number in numbers {
            let write = match number {
                COMMITS => Write::Delete { key: key(1) },
                number => put(key(number), "text", None),
            };
            totals(wait(store.commit(&batch(number, NOW, vec![write]))));
            kill::acknowledge(0, number);
        }
        wait(store.close()).unwrap();
    }
}

/// What the child has asked for.
fn seen(told: &str) -> Vec<Seen> {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    look("acknowledged_is_synced", told, folder.path())
}

#[test]
fn acknowledged_is_synced() {
    if let Some((told, folder)) = kill::told() {
        return commit_some(&told, &folder);
    }
    let power = seen("power");
    let synced = synced_commits(&power);
    assert_eq!(synced.len() as u64, COMMITS);
    assert!(synced.iter().all(|synced| *synced), "acknowledged before a sync: {synced:?}");
    new_journals_are_synced(&power);
    placed_files_are_synced(&power);
    // It is seen that they are missing where none are asked for, but for what closing the tree
    // syncs, and what goes into files after half a second.
    let none = synced_commits(&seen("none"));
    let synced = none.iter().filter(|synced| **synced).count();
    assert!(synced < none.len() / 2, "{none:?}");
}

/// Of each acknowledged commit, whether the journal was synced between its frame and the answer.
fn synced_commits(seen: &[Seen]) -> Vec<bool> {
    let mut synced = Vec::new();
    let mut last: Option<&Seen> = None;
    for answer in seen.iter().filter(|call| call.acknowledges()) {
        let mut frames = seen.iter().filter(|call| call.writes() && is_journal(call.handle()));
        let frame = frames.rfind(|frame| frame.is_before(answer));
        let last = last.replace(answer);
        let frame = frame.filter(|frame| last.is_none_or(|last| last.is_before(frame)));
        synced.push(
            frame.is_some_and(|frame| {
                between(seen, frame, answer, |call| call.syncs(frame.handle()))
            }),
        );
    }
    synced
}

/// The directory knows each journal before anybody is answered whose commit is in it.
fn new_journals_are_synced(seen: &[Seen]) {
    let mut met = 0;
    for made in seen.iter().filter(|call| makes_journal(call)) {
        let path = made.path(0);
        let is_frame = |call: &&Seen| call.writes() && call.handle() == path;
        let Some(frame) = seen.iter().filter(is_frame).find(|call| made.is_before(call)) else {
            continue;
        };
        let mut answers = seen.iter().filter(|call| call.acknowledges());
        let Some(answer) = answers.find(|answer| frame.is_before(answer)) else { continue };
        let is_synced = between(seen, made, answer, |call| call.syncs(made.handle()));
        assert!(is_synced, "the directory was not synced after {made:?}");
        met += 1;
    }
    assert!(met >= 2, "{met} journals");
}

/// What a journal holds is in files, by name and content, before it goes.
fn placed_files_are_synced(seen: &[Seen]) {
    let (mut alone, mut together, mut gone) = (0, 0, 0);
    for unlinked in seen.iter().filter(|call| call.name == "unlinkat" && is_journal(&call.path(0)))
    {
        // What was named after the next journal was begun is held by that.
        let next =
            seen.iter().filter(|call| makes_journal(call)).rfind(|made| made.is_before(unlinked));
        let next = next.expect("a journal follows");
        for change in seen.iter().filter(|change| change.is_before(next)) {
            let Some((directory, file)) = changed(change) else { continue };
            let is_synced = |path: &str| between(seen, change, unlinked, |call| call.syncs(path));
            assert!(is_synced(&directory), "{directory}: not synced after {change:?}");
            let Some(file) = file else { continue };
            assert!(is_synced(&file), "{file}: not synced after {change:?}");
            let is_fsync = |call: &Seen| call.name != "syncfs" && call.syncs(&file);
            match between(seen, change, unlinked, is_fsync) {
                true => alone += 1,
                false => together += 1,
            }
        }
        gone += 1;
    }
    assert!(alone > 0 && together > 0 && gone >= 2, "{alone}, {together}, {gone}");
}

/// The directory in which a name was changed, and the file that was given one. The store's own are
/// synced before they are named.
fn changed(call: &Seen) -> Option<(String, Option<String>)> {
    let place = match call.name.as_str() {
        "renameat" | "renameat2" => 2,
        "mkdirat" => 0,
        "unlinkat" if !is_journal(&call.path(0)) => 0,
        _ => return None,
    };
    let file = (place == 2 && !call.arguments[place].ends_with(OWN)).then(|| call.path(place));
    Some((call.arguments[place].clone(), file))
}

fn is_journal(path: &str) -> bool {
    path.contains(&format!("{OWN}/journal-"))
}

fn makes_journal(call: &Seen) -> bool {
    call.name == "openat" && call.arguments[2].contains("O_CREAT") && is_journal(&call.path(0))
}

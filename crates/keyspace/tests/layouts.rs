//! What each store would hold of each keyspace, kept as text: `golden/layout/<app>/<store>.txt`.
//!
//! `KEYWAY_BLESS=1 cargo test --test layouts` writes the expectations anew.

#![allow(clippy::unwrap_used, clippy::panic)]

use keyspace::layout;
use keyspace::model::{Keyspace, StoreKind};
use std::path::{Path, PathBuf};

/// The applications, whose keyspaces stand in `apps/`, then keyspaces written for these tests.
const APPS: [&str; 5] = ["chat", "documents", "keri", "scaffold", "spreadapi"];
const OURS: [&str; 1] = ["shapes"];
const STORES: [StoreKind; 6] = [
    StoreKind::Memory,
    StoreKind::Engine,
    StoreKind::Files,
    StoreKind::Redis,
    StoreKind::RedisCluster,
    StoreKind::IndexedDb,
];

#[test]
fn layouts_are_as_expected() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = here.join("tests/golden/layout");
    let apps = APPS.iter().map(|app| (*app, here.join("../../apps").join(app)));
    let ours = OURS.iter().map(|name| (*name, golden.join(name)));
    let mut differences = Vec::new();
    for (name, folder) in apps.chain(ours) {
        let keyspace = read_file(&folder.join("keyspace.toml"));
        for store in STORES {
            let expected = golden.join(name).join(format!("{store}.txt"));
            differences.extend(compare(&layout::print(&keyspace, store), &expected));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn read_file(path: &Path) -> Keyspace {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let reading = keyspace::read(&text);
    reading.keyspace.unwrap_or_else(|| panic!("{path:?}: {:#?}", reading.diagnostics))
}

/// The first differing line, or nothing; with `KEYWAY_BLESS` the file is written instead.
fn compare(found: &str, path: &PathBuf) -> Option<String> {
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::create_dir_all(path.parent()?).unwrap();
        std::fs::write(path, found).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == found {
        return None;
    }
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    let (number, expected, found) = match lines.find(|(_, (expected, found))| expected != found) {
        Some((number, (expected, found))) => (number + 1, expected, found),
        None => (expected.lines().count().min(found.lines().count()) + 1, "…", "…"),
    };
    Some(format!("{}:{number}\n  expected {expected}\n  found    {found}", path.display()))
}

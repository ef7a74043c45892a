//! `delete`.

use crate::world::worlds;
use data::error::ErrorKind;
use serde_json::json;

const FILES: &str = r#"
    [collection.files]
    key = "folder:{folder: text}:files | {file: text}"
    fields = { size = "u64", locked = "bool = false" }
    expect = { rows_per_group = 100 }
    index.by_size = { key = "folder:{folder}:sizes | {size}" }
    index.names = { key = "file:{file}", unique = true }

    [pattern.add]
    insert = "files"
    allow = "user"
    [pattern.remove]
    delete = "files"
    allow = "user"
    [pattern.remove_unlocked]
    delete = "files"
    if = "not locked"
    allow = "user"
    [pattern.remove_at]
    delete = "files"
    if_version = true
    allow = "user"
    [pattern.sizes]
    list = "files.by_size"
    page = 10
"#;

#[test]
fn a_row_goes_with_all_its_entries_and_frees_its_values() {
    for world in worlds(FILES) {
        world.ok("add", json!({ "folder": "a", "file": "f", "size": 1 }));
        let gone = world.ok("remove", json!({ "folder": "a", "file": "f" }));
        assert_eq!(gone["row"], json!(null));
        assert_eq!(gone["version"], json!(null));
        assert_eq!(world.live_rows("files.by_size"), 0);
        assert_eq!(world.live_rows("files.names"), 0);
        assert_eq!(world.ok("sizes", json!({ "folder": "a" }))["rows"], json!([]));
        world.ok("add", json!({ "folder": "b", "file": "f", "size": 2 }));
    }
}

#[test]
fn deleting_twice_is_deleting_once() {
    for world in worlds(FILES) {
        let key = json!({ "folder": "a", "file": "f" });
        let first = world.ok("remove", key.clone());
        assert!(first.get("existed").is_none());
        world.ok("add", json!({ "folder": "a", "file": "f", "size": 1 }));
        world.ok("remove", key.clone());
        assert_eq!(world.ok("remove", key.clone()), first);
        // A condition says nothing about a row that is not there.
        assert_eq!(world.ok("remove_unlocked", key), first);
    }
}

#[test]
fn conditions_and_versions_hold_a_row_back() {
    for world in worlds(FILES) {
        let key = json!({ "folder": "a", "file": "f" });
        let row = json!({ "folder": "a", "file": "f", "size": 1, "locked": true });
        let added = world.ok("add", row);
        assert_eq!(world.fails("remove_unlocked", key.clone()).0, ErrorKind::Conflict);
        let mut at = key.clone();
        at["if_version"] = json!("00000000-0000-7000-8000-000000000000");
        assert_eq!(world.fails("remove_at", at.clone()).0, ErrorKind::Conflict);
        at["if_version"] = added["version"].clone();
        world.ok("remove_at", at.clone());
        assert_eq!(world.fails("remove_at", at).0, ErrorKind::Conflict);
        world.ok("remove_at", key);
    }
}

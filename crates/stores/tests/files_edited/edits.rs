//! Files that are changed: a row has a new version, and its entries follow.

use crate::common::{Folder, NOW, wait};
use crate::support::{World, read, replace};
use data::ErrorKind;
use data::store::Store;
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn an_edit_gets_a_new_version_and_new_entries_while_the_tree_is_open() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let made = world.ann();
    let world = world.settle(&folder);
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["version"], made["version"]);
    assert_eq!(read(&world.file("tag/red")), "ann\n");
    replace(&world.file("user/ann.json"), "\"red\"", "\"blue\",\n    \"green\"");
    // A caller that read before the edit must not overwrite it.
    let late = json!({"user_id": "ann", "name": "Late", "if_version": made["version"]});
    assert_eq!(world.kind("change_user", late), ErrorKind::Conflict);
    let found = world.ok("user", json!({"user_id": "ann"}));
    assert_eq!(found["row"]["tags"], json!(["blue", "green"]));
    assert_ne!(found["version"], made["version"]);
    assert_eq!(world.ok("by_tag", json!({"tags": "red"}))["rows"], json!([]));
    assert_eq!(world.ok("by_tag", json!({"tags": "green"}))["rows"][0]["user_id"], "ann");
    assert_eq!(world.scrub(), []);
    // The version stays as long as the file does, and files of indexes follow.
    let version = found["version"].clone();
    let world = world.settle(&folder);
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["version"], version);
    assert_eq!(read(&world.file("tag/green")), "ann\n");
    assert!(!world.file("tag/red").exists());
    let change = json!({"user_id": "ann", "name": "Anna", "if_version": version});
    world.ok("change_user", change);
    assert_eq!(world.problems(), "");
}

#[test]
fn indexes_of_an_open_tree_learn_of_an_edit_when_its_row_is_read() {
    let edited = || {
        let folder = Folder::new();
        let world = World::open(&folder);
        world.ann();
        let world = world.settle(&folder);
        replace(&world.file("user/ann.json"), "Ann@x.org", "new@x.org");
        // Nobody has read the row since.
        assert_eq!(world.ok("by_email", json!({"email": "new@x.org"}))["row"], Json::Null);
        (folder, world)
    };
    let found = |world: &World| {
        world.ok("by_email", json!({"email": "new@x.org"}))["row"]["user_id"].clone()
    };
    let (_folder, world) = edited();
    world.ok("user", json!({"user_id": "ann"}));
    assert_eq!(found(&world), "ann");
    // Whoever looks through everything reads it too.
    let (_folder, world) = edited();
    world.scrub();
    assert_eq!((found(&world), world.scrub()), (json!("ann"), vec![]));
    // So a value that only the file has can be taken. Then both files are named.
    let (_folder, world) = edited();
    world.ok("add_user", json!({"user_id": "bob", "email": "new@x.org", "name": "Bob"}));
    world.ok("user", json!({"user_id": "ann"}));
    assert_eq!(found(&world), "bob");
    let problems = world.problems();
    for part in ["user/ann.json", "users_by_email", "user/bob.json"] {
        assert!(problems.contains(part), "{problems}");
    }
}

#[test]
fn an_edit_in_place_is_noticed_by_its_stamp() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ann();
    let world = world.settle(&folder);
    world.ok("user", json!({"user_id": "ann"}));
    let path = world.file("user/ann.json");
    fs::write(&path, read(&path).replace("\"Ann\"", "\"Nan\"")).unwrap();
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["row"]["name"], "Nan");
    assert_eq!(world.ok("by_email", json!({"email": "ANN@x.org"}))["row"]["name"], "Nan");
}

#[test]
fn an_edit_while_the_tree_is_closed_is_noticed_by_its_hash() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let made = world.ann();
    let path = world.file("user/ann.json");
    wait(world.store.close()).unwrap();
    replace(&path, "Ann@x.org", "nan@x.org");
    let world = World::open(&folder);
    let found = world.ok("by_email", json!({"email": "nan@x.org"}));
    assert_ne!(found["version"], made["version"]);
    assert!(world.ok("by_email", json!({"email": "ann@x.org"}))["row"].is_null());
    assert_eq!(world.scrub(), []);
}

#[test]
fn a_file_that_was_only_touched_keeps_its_version() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let made = world.ann();
    let world = world.settle(&folder);
    let path = world.file("user/ann.json");
    let text = read(&path);
    fs::remove_file(&path).unwrap();
    fs::write(&path, text).unwrap();
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["version"], made["version"]);
}

#[test]
fn an_edited_end_is_the_end() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ok("add_session", json!({"session": "s", "until": "2030-01-01T00:00:00.000Z"}));
    let world = world.settle(&folder);
    assert!(!world.ok("session", json!({"session": "s"}))["row"].is_null());
    replace(&world.file("session/s.json"), "2030", "2020");
    assert!(world.ok("session", json!({"session": "s"}))["row"].is_null());
    assert_eq!(wait(world.store.sweep(NOW, 10)).unwrap(), 1);
    let world = world.settle(&folder);
    assert!(!world.file("session").exists(), "its directory is empty and goes too");
}

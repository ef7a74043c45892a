//! Files that come and go: so do their rows.

use crate::common::{Folder, wait};
use crate::support::World;
use data::ErrorKind;
use data::store::Store;
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn a_new_file_is_a_row() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ann();
    let bob = r#"{"tags": ["red"], "name": "Bob", "email": "bob@x.org"}"#;
    fs::create_dir_all(world.file("user")).unwrap();
    fs::write(world.file("user/bob.json"), bob).unwrap();
    // Asked for by its key, it is found at once; in its entries too.
    let found = world.ok("user", json!({"user_id": "bob"}));
    assert_eq!((&found["row"]["name"], &found["row"]["born"]), (&json!("Bob"), &Json::Null));
    assert!(!found["version"].is_null());
    assert_eq!(world.ok("by_tag", json!({"tags": "red"}))["rows"].as_array().unwrap().len(), 2);
    assert_eq!(world.scrub(), []);
    wait(world.store.close()).unwrap();
    fs::write(folder.path().join("user/%43on.json"), bob.replace("bob@", "con@")).unwrap();
    fs::write(folder.path().join("hits/front"), "41\n").unwrap_or_else(|_| {
        fs::create_dir_all(folder.path().join("hits")).unwrap();
        fs::write(folder.path().join("hits/front"), "41\n").unwrap();
    });
    let world = World::open(&folder);
    assert_eq!(world.ok("by_email", json!({"email": "con@x.org"}))["row"]["user_id"], "Con");
    assert_eq!(world.ok("hit", json!({"page": "front"}))["total"], 42);
    assert_eq!(world.scrub(), []);
    assert_eq!(world.problems(), "");
}

#[test]
fn an_insert_meets_a_file_that_somebody_put_there() {
    let folder = Folder::new();
    let world = World::open(&folder);
    fs::create_dir_all(world.file("user")).unwrap();
    fs::write(world.file("user/ann.json"), r#"{"name": "Mine", "email": "m@x.org"}"#).unwrap();
    let ann = json!({"user_id": "ann", "email": "Ann@x.org", "name": "Ann"});
    assert_eq!(world.kind("add_user", ann), ErrorKind::Conflict);
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["row"]["name"], "Mine");
}

#[test]
fn a_deleted_file_is_a_deleted_row() {
    for is_open in [true, false] {
        let folder = Folder::new();
        let mut world = World::open(&folder);
        world.ann();
        world = world.settle(&folder);
        if !is_open {
            wait(world.store.close()).unwrap();
        }
        fs::remove_file(folder.path().join("user/ann.json")).unwrap();
        if !is_open {
            world = World::open(&folder);
        }
        assert!(world.ok("user", json!({"user_id": "ann"}))["row"].is_null());
        assert!(world.ok("by_email", json!({"email": "ann@x.org"}))["row"].is_null());
        assert_eq!(world.scrub(), []);
        world.ann();
        assert_eq!(world.scrub(), []);
    }
}

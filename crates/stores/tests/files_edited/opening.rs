//! Whose a folder is, and what is known of it, when a tree is opened.

use crate::common::{self, Folder, wait};
use crate::support::{KEYSPACE, World, read};
use data::request::Call;
use data::store::Store;
use data::{Caller, ErrorKind};
use serde_json::json;
use std::fs;
use stores::files::{FilesStore, Options};

#[test]
fn a_second_process_is_told_who_has_the_tree() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let error = World::try_open(&folder, KEYSPACE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert_eq!(error.value("pid"), Some(std::process::id().to_string().as_str()), "{error}");
    wait(world.store.close()).unwrap();
    World::open(&folder);
}

#[test]
fn a_directory_of_somebody_else_is_refused_and_left_alone() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    fs::write(folder.path().join("mine"), "mine").unwrap();
    let error = World::try_open(&folder, KEYSPACE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let file = FilesStore::open(folder.path().join("mine"), &Options::default()).unwrap_err();
    assert_eq!(file.kind(), ErrorKind::Mismatch, "{file}");
}

#[test]
fn a_keyspace_that_looks_elsewhere_for_its_rows_is_refused() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ann();
    let event = json!({"log": "l", "event": "E1", "kind": "a", "body": "Ym9keQ"});
    world.ok("add_event", event);
    wait(world.store.close()).unwrap();
    let changes = [
        (
            "fields_file = \"meta/{log}/{event}.json\"",
            "fields_file = \"about/{log}/{event}.json\"",
            "about/",
        ),
        (
            "file      = \"{event}.{kind}.bin\"",
            "file      = \"{event}.{kind}\"",
            "log/{log}/{event}.{kind}",
        ),
        ("name = \"edited\"", "name = \"edited\"\nnames = \"camelCase\"", "CamelCase"),
        ("user:{user_id: text}\"", "person:{user_id: text}\"", "person"),
    ];
    for (was, is, part) in changes {
        assert!(KEYSPACE.contains(was), "{was}");
        let error = World::try_open(&folder, &KEYSPACE.replace(was, is)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    // A field that is new answers its default for the files that lack it.
    let more = KEYSPACE.replace("born = \"date?\"", "born = \"date?\", stars = \"i64 = 3\"");
    let world = World::try_open(&folder, &more).unwrap();
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["row"]["stars"], 3);
}

#[test]
fn the_outcome_of_a_batch_is_known_after_a_restart() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let id = common::id(9);
    let prepared = world.runtime.pattern("hit").unwrap().clone();
    let hit = |world: &World| {
        let given = json!({"page": "front", "amount": 2});
        let given = prepared.given_from_json(world.runtime.keyspace(), given.as_object().unwrap());
        let caller = Caller::user("u");
        let mut call = Call::new(&prepared, given.unwrap(), &caller);
        call.id = Some(id);
        wait(world.runtime.call(call)).unwrap().answer.to_json(world.runtime.schema()).unwrap()
    };
    assert_eq!(hit(&world)["total"], 2);
    let world = world.settle(&folder);
    assert_eq!(hit(&world)["total"], 2);
    assert_eq!(world.ok("hits", json!({"page": "front"}))["row"]["value"], 2);
}

#[test]
fn a_folder_of_that_name_that_is_somebody_elses_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join(".keyway/notes")).unwrap();
    fs::write(folder.path().join(".keyway/.gitignore"), "*\n").unwrap();
    let error = World::try_open(&folder, KEYSPACE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert_eq!(read(&folder.path().join(".keyway/.gitignore")), "*\n");
    // What an attempt that was cut off left is begun anew.
    let begun = Folder::new();
    fs::create_dir_all(begun.path().join(".keyway")).unwrap();
    fs::write(begun.path().join(".keyway/journal-000001"), "").unwrap();
    World::open(&begun).ann();
}

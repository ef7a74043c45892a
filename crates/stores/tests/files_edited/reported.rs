//! What cannot be respected is reported, and no file is lost.

use crate::common::{Folder, wait};
use crate::support::{KEYSPACE, World, read, replace};
use data::ErrorKind;
use data::store::Store;
use serde_json::json;
use std::fs;

#[test]
fn a_changed_file_of_an_immutable_row_is_reported_and_never_taken() {
    for is_open in [true, false] {
        let folder = Folder::new();
        let mut world = World::open(&folder);
        let event = json!({"log": "l", "event": "E1", "kind": "a", "body": "Ym9keQ"});
        let made = world.ok("add_event", event);
        world = world.settle(&folder);
        let path = world.file("log/l/E1.a.bin");
        assert_eq!(read(&path), "body");
        if !is_open {
            wait(world.store.close()).unwrap();
        }
        fs::write(&path, "bony").unwrap();
        if !is_open {
            world = World::open(&folder);
        }
        let key = json!({"log": "l", "event": "E1"});
        let error = world.call("event", key.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(error.value("file"), Some("log/l/E1.a.bin"), "{error}");
        assert_eq!(world.kind("events", json!({"log": "l"})), ErrorKind::Corrupt);
        assert_eq!(world.kind("of_kind", json!({"kind": "a"})), ErrorKind::Corrupt);
        assert!(world.problems().contains("immutable"), "{}", world.problems());
        assert_eq!(read(&path), "bony", "it is left where it is");
        // Put right, it is the row it was.
        fs::write(&path, "body").unwrap();
        let found = world.ok("event", key);
        assert_eq!(
            (&found["version"], &found["row"]["body"]),
            (&made["version"], &json!("Ym9keQ"))
        );
    }
}

#[test]
fn a_file_that_says_nothing_is_set_aside_with_the_reason() {
    let cases = [
        ("{ not json", "no JSON"),
        ("[1]", "no JSON object"),
        (r#"{"email": "x@x.org"}"#, "a field is missing (name)"),
        (r#"{"email": "x@x.org", "name": 7}"#, "not of its type (name)"),
        (r#"{"email": "x@x.org", "name": "X", "nmae": "X"}"#, "no field (nmae)"),
    ];
    for (text, why) in cases {
        let folder = Folder::new();
        let world = World::open(&folder);
        world.ann();
        let world = world.settle(&folder);
        fs::write(world.file("user/ann.json"), text).unwrap();
        // Open, it is left where it is and the row says why.
        let error = world.call("user", json!({"user_id": "ann"})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{text}: {error}");
        assert!(error.to_string().contains(why), "{error}, not {why}");
        wait(world.store.close()).unwrap();
        let world = World::open(&folder);
        assert!(world.ok("user", json!({"user_id": "ann"}))["row"].is_null(), "{text}");
        assert!(!world.file("user/ann.json").exists());
        let aside = world.file(".keyway/quarantine/user~ann%2ejson");
        assert_eq!(read(&aside), text);
        let reason = read(&world.file(".keyway/quarantine/user~ann%2ejson.why"));
        assert!(reason.contains("user/ann.json") && reason.contains(why), "{reason}");
        assert!(world.problems().contains(why), "{}", world.problems());
        assert_eq!(world.scrub(), []);
    }
}

#[test]
fn two_rows_with_one_unique_value_are_reported_and_the_first_keeps_it() {
    for is_open in [true, false] {
        let folder = Folder::new();
        let mut world = World::open(&folder);
        world.ann();
        world.ok("add_user", json!({"user_id": "bob", "email": "bob@x.org", "name": "Bob"}));
        world = world.settle(&folder);
        if !is_open {
            wait(world.store.close()).unwrap();
        }
        replace(&folder.path().join("user/bob.json"), "bob@x.org", "ann@x.org");
        if !is_open {
            world = World::open(&folder);
        }
        let found = world.ok("user", json!({"user_id": "bob"}));
        assert_eq!(found["row"]["email"], "ann@x.org");
        assert_eq!(world.ok("by_email", json!({"email": "ann@x.org"}))["row"]["user_id"], "ann");
        let problems = world.problems();
        for part in ["user/bob.json", "users_by_email", "user/ann.json"] {
            assert!(problems.contains(part), "{problems}");
        }
        let index = Some("users_by_email".to_string());
        assert!(world.scrub().iter().any(|(_, of)| *of == index), "{:?}", world.scrub());
        // Changed again, all is well.
        replace(&folder.path().join("user/bob.json"), "ann@x.org", "robert@x.org");
        assert_eq!(world.ok("user", json!({"user_id": "bob"}))["row"]["email"], "robert@x.org");
        assert_eq!(world.scrub(), []);
    }
}

#[test]
fn a_body_without_its_fields_says_so() {
    let folder = Folder::new();
    let world = World::open(&folder);
    let event = json!({"log": "l", "event": "E1", "kind": "a", "body": "Ym9keQ"});
    world.ok("add_event", event);
    let world = world.settle(&folder);
    let fields = world.file("meta/l/E1.json");
    let text = read(&fields);
    fs::remove_file(&fields).unwrap();
    let key = json!({"log": "l", "event": "E1"});
    let error = world.call("event", key.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("fields is missing"), "{error}");
    fs::write(&fields, text).unwrap();
    assert_eq!(world.ok("event", key)["row"]["kind"], "a");
    // Without its body there is no row, and its fields are kept for whoever wants them.
    fs::remove_file(world.file("log/l/E1.a.bin")).unwrap();
    assert_eq!(world.ok("events", json!({"log": "l"}))["rows"], json!([]));
    assert!(world.file(".keyway/quarantine/meta~l~E1%2ejson").exists());
    assert_eq!(world.scrub(), []);
}

#[test]
fn other_files_are_left_alone() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ann();
    wait(world.store.close()).unwrap();
    fs::write(folder.path().join("README.md"), "mine").unwrap();
    fs::create_dir_all(folder.path().join(".git/objects")).unwrap();
    fs::write(folder.path().join("user/ann.json~"), "mine").unwrap();
    let world = World::open(&folder);
    assert!(world.problems().contains("README.md"), "{}", world.problems());
    assert!(!world.problems().contains(".git"), "{}", world.problems());
    for path in ["README.md", "user/ann.json~"] {
        assert_eq!(read(&world.file(path)), "mine");
    }
    assert_eq!(world.ok("user", json!({"user_id": "ann"}))["row"]["name"], "Ann");
}

#[test]
fn a_symbolic_link_is_refused_and_nothing_is_written_through_it() {
    let folder = Folder::new();
    let outside = Folder::new();
    fs::create_dir_all(outside.path()).unwrap();
    let world = World::open(&folder);
    world.ann();
    wait(world.store.close()).unwrap();
    let link = folder.path().join("session");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let error = World::try_open(&folder, KEYSPACE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(error.value("file"), Some("session"));
    fs::remove_file(&link).unwrap();
    // While it is open: the commit is in the journal, and never outside.
    let world = World::open(&folder);
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let _ = world.call("add_session", json!({"session": "s", "until": null}));
    let _ = wait(world.store.close());
    drop(world);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(World::try_open(&folder, KEYSPACE).is_err());
    fs::remove_file(&link).unwrap();
    let world = World::open(&folder);
    assert!(!world.ok("session", json!({"session": "s"}))["row"].is_null());
}

#[test]
fn a_file_far_too_large_is_set_aside_unread() {
    let folder = Folder::new();
    let world = World::open(&folder);
    world.ann();
    let world = world.settle(&folder);
    let file = fs::File::options().write(true).open(world.file("user/ann.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(world.kind("user", json!({"user_id": "ann"})), ErrorKind::Corrupt);
    wait(world.store.close()).unwrap();
    let world = World::open(&folder);
    assert!(world.problems().contains("larger than a row can be"), "{}", world.problems());
    assert!(world.ok("user", json!({"user_id": "ann"}))["row"].is_null());
}

//! What somebody else does to the files of a tree is noticed and respected, or reported; never
//! overlooked, and no file of theirs is lost.

#![cfg(all(feature = "files", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, wait};
use data::clock::{ManualClock, SeededRandom};
use data::maintain::{ProblemKind, Scrub};
use data::request::{self, Call, Runtime};
use data::store::{Durability, Store};
use data::{Caller, ErrorKind};
use serde_json::{Map, Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stores::files::{FilesStore, Options};

const KEYSPACE: &str = r#"
[keyspace]
name = "edited"

[collection.users]
key    = "user:{user_id: text}"
fields = { email = "text", name = "text", tags = "[text] = []", born = "date?" }
index.users_by_email = { key = "email:{lower(email)}", unique = true }
index.users_by_tag   = { key = "tag:{each(tags)} | {user_id}", file = "{tags}", expect = { rows_per_group = 10 } }

[collection.events]
key       = "log:{log: text} | {event: text}"
fields    = { kind = "a|b" }
body      = "bytes"
immutable = true
file      = "{event}.{kind}.bin"
fields_file = "meta/{log}/{event}.json"
expect    = { rows_per_group = 10 }
index.events_by_kind = { key = "kind:{kind} | {log}:{event}", expect = { rows_per_group = 10 } }

[collection.sessions]
key    = "session:{session: text}"
fields = { until = "timestamp?" }
ttl    = "until"

[collection.hits]
key   = "hits:{page: text}"
value = "counter"

[pattern]
add_user    = { insert = "users", allow = "user" }
change_user = { update = "users", set = ["name", "email", "tags"], if_version = true, allow = "user" }
user        = { get = "users" }
by_email    = { get = "users.users_by_email" }
by_tag      = { list = "users.users_by_tag", page = 10 }
add_event   = { insert = "events", allow = "user" }
event       = { get = "events" }
events      = { list = "events", page = 10 }
of_kind     = { list = "events.events_by_kind", page = 10 }
add_session = { insert = "sessions", allow = "user" }
session     = { get = "sessions" }
hit         = { add = "hits", allow = "user" }
hits        = { get = "hits" }
"#;

struct World {
    store: Arc<FilesStore>,
    runtime: Runtime,
    root: PathBuf,
}

impl World {
    fn open(folder: &Folder) -> World {
        World::try_open(folder, KEYSPACE).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn try_open(folder: &Folder, text: &str) -> data::Result<World> {
        let root = folder.path().to_path_buf();
        let options = Options { durability: Durability::Process, ..Options::default() };
        let store = Arc::new(FilesStore::open(&root, &options)?);
        let clock = Arc::new(ManualClock::at(NOW));
        // Ids of one opening are none of another.
        static SEED: AtomicU64 = AtomicU64::new(7);
        let random = SeededRandom::new(SEED.fetch_add(1, Ordering::Relaxed));
        let options = request::Options::new(clock, Arc::new(random));
        let reading = keyspace::read(text);
        let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let runtime = wait(Runtime::open(store.clone(), Arc::new(keyspace), options))?;
        Ok(World { store, runtime, root })
    }

    fn call(&self, pattern: &str, arguments: Json) -> data::Result<Json> {
        let prepared = self.runtime.pattern(pattern)?;
        let none = Map::new();
        let given = arguments.as_object().unwrap_or(&none);
        let given = prepared.given_from_json(self.runtime.keyspace(), given)?;
        let reply = wait(self.runtime.call(Call::new(prepared, given, &Caller::user("u"))))?;
        reply.answer.to_json(self.runtime.schema())
    }

    fn ok(&self, pattern: &str, arguments: Json) -> Json {
        self.call(pattern, arguments).unwrap_or_else(|error| panic!("{pattern}: {error:?}"))
    }

    fn kind(&self, pattern: &str, arguments: Json) -> ErrorKind {
        self.call(pattern, arguments).unwrap_err().kind()
    }

    fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Lets everything reach its file, and goes on.
    fn settle(self, folder: &Folder) -> World {
        wait(self.store.close()).unwrap();
        drop(self);
        World::open(folder)
    }

    fn ann(&self) -> Json {
        let ann = json!({"user_id": "ann", "email": "Ann@x.org", "name": "Ann", "tags": ["red"]});
        self.ok("add_user", ann)
    }

    /// What a scrub finds.
    fn scrub(&self) -> Vec<(ProblemKind, Option<String>)> {
        let mut problems = Vec::new();
        let scrub = Scrub {
            store: self.store.as_ref(),
            schema: self.runtime.schema(),
            clock: &ManualClock::at(NOW),
            random: &SeededRandom::new(1),
            repair: false,
        };
        let mut seen = |problem: Option<&data::maintain::Problem>, _: &_| {
            problems.extend(problem.map(|problem| (problem.kind, problem.index.clone())));
        };
        wait(scrub.run(&mut seen)).unwrap();
        problems
    }

    fn problems(&self) -> String {
        self.store.remarks().join("\n")
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Changes a text as an editor does: another file under the same name.
fn replace(path: &Path, from: &str, to: &str) {
    let text = read(path);
    assert!(text.contains(from), "{text}");
    let beside = path.with_extension("edited");
    fs::write(&beside, text.replace(from, to)).unwrap();
    fs::rename(beside, path).unwrap();
}

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

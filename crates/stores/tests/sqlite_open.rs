//! Opening, and being made ready: what is refused and left alone, and what moves with its rows.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;
#[path = "common/like.rs"]
mod like;
#[path = "common/runtime.rs"]
mod runtime;

use common::{Folder, NOW, batch, totals, wait};
use data::store::{Durability, Store, Write};
use data::{Error, ErrorKind, Value};
use keyspace::model::StoreKind;
use runtime::{call, keyspace, open, scrub};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stores::sqlite::{Options, SqliteStore};

const BASE: &str = r#"
[keyspace]
name = "base"

[collection.people]
key    = "person:{id: text}"
fields = { name = "text", mood = "glad|sad" }
index.by_name = { key = "name:{name} | {id}", expect = { rows_per_group = 100 } }
index.by_mood = { key = "mood:{mood} | {id}", expect = { rows_per_group = 100 } }

[pattern.put_person]
put   = "people"
allow = "user"
[pattern.get_person]
get = "people"
[pattern.people_by_name]
list = "people.by_name"
page = 10
[pattern.people_by_mood]
list = "people.by_mood"
page = 10
"#;

fn try_store(path: &Path) -> Result<Arc<dyn Store>, Error> {
    let options = Options { durability: Durability::Process };
    Ok(Arc::new(SqliteStore::open(path, &options)?))
}

fn store(path: &Path) -> Arc<dyn Store> {
    try_store(path).unwrap()
}

fn made(folder: &Folder) -> PathBuf {
    let path = folder.path().join("base.db");
    let store = store(&path);
    let runtime = open(&store, &keyspace(BASE)).unwrap();
    for (id, name) in [("p1", "Ann"), ("p2", "Bo")] {
        let person = json!({"id": id, "name": name, "mood": "glad"});
        call(&runtime, "x", "put_person", &person).unwrap();
    }
    wait(store.close()).unwrap();
    path
}

/// The base, changed.
fn changed(pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(BASE.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "the base has no {from}");
        text.replace(from, to)
    })
}

/// Opens a file with another keyspace file; answers one person, having held the tables against the
/// layout and the indexes against the rows.
fn reopened(path: &Path, text: &str) -> Json {
    let store = store(path);
    let keyspace = keyspace(text);
    let runtime = open(&store, &keyspace).unwrap();
    scrub(store.as_ref(), &runtime);
    let person = call(&runtime, "x", "get_person", &json!({"id": "p1"})).unwrap()["row"].take();
    let more = json!({"id": "p3", "name": "Cy", "mood": "sad"});
    call(&runtime, "x", "put_person", &more).unwrap();
    scrub(store.as_ref(), &runtime);
    wait(store.close()).unwrap();
    person
}

fn schema(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    let text = "SELECT group_concat(sql || ';', char(10)) FROM \
                (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)";
    connection.query_row(text, [], |row| row.get(0)).unwrap()
}

fn run(path: &Path, text: &str) {
    Connection::open(path).unwrap().execute_batch(text).unwrap();
}

/// Whether every statement of the printed layout made what is in the file.
fn is_as_printed(path: &Path, text: &str) -> bool {
    let layout = keyspace::layout::print(&keyspace(text), StoreKind::Sqlite);
    let found = schema(path);
    let lines: Vec<&str> = layout.lines().filter(|line| !line.starts_with("--")).collect();
    let all = lines.join("\n").replace(" IF NOT EXISTS", "");
    all.split(";\n")
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .all(|statement| found.contains(statement.trim_end_matches(';')))
}

#[test]
fn a_field_a_word_and_an_end_are_added_to_rows_that_are_there() {
    let folder = Folder::new();
    let path = made(&folder);
    let text = changed(&[
        (r#"mood = "glad|sad""#, r#"mood = "glad|sad|calm", age = "u64 = 7", town = "text?""#),
        ("index.by_name", "ttl = \"1h\"\nindex.by_name"),
    ]);
    let person = reopened(&path, &text);
    assert_eq!((&person["name"], &person["age"]), (&json!("Ann"), &json!(7)));
    assert!(is_as_printed(&path, &text), "{}", schema(&path));
    let ends = "SELECT group_concat(_expires) FROM people WHERE id < 'p3'";
    let ends: String =
        Connection::open(&path).unwrap().query_row(ends, [], |row| row.get(0)).unwrap();
    assert_eq!(ends, "never,never");
}

#[test]
fn a_field_that_is_removed_keeps_its_column_and_may_come_back() {
    let folder = Folder::new();
    let path = made(&folder);
    let index = "index.by_mood = { key = \"mood:{mood} | {id}\", \
                 expect = { rows_per_group = 100 } }\n";
    let pattern = "[pattern.people_by_mood]\nlist = \"people.by_mood\"\npage = 10\n";
    let without = changed(&[(", mood = \"glad|sad\"", ""), (index, ""), (pattern, "")]);
    {
        let store = store(&path);
        let runtime = open(&store, &keyspace(&without)).unwrap();
        let more = json!({"id": "p9", "name": "Di"});
        call(&runtime, "x", "put_person", &more).unwrap();
        scrub(store.as_ref(), &runtime);
        wait(store.close()).unwrap();
    }
    assert!(schema(&path).contains("no longer declared"));
    assert!(!schema(&path).contains("by_mood"), "the table of an index goes with it");
    let back = without.replace(r#"name = "text""#, r#"name = "text", mood = "glad|sad = 'sad'""#);
    let store = store(&path);
    let runtime = open(&store, &keyspace(&back)).unwrap();
    let mood = |id: &str| {
        call(&runtime, "x", "get_person", &json!({"id": id})).unwrap()["row"]["mood"].take()
    };
    assert_eq!(mood("p1"), json!("glad"), "what was stored is still there");
}

#[test]
fn a_table_that_is_named_anew_moves_with_its_rows() {
    let folder = Folder::new();
    let path = made(&folder);
    let text = changed(&[("[collection.people]", "[collection.people]\ntable = \"persons\"")]);
    assert_eq!(reopened(&path, &text)["name"], json!("Ann"));
    assert!(is_as_printed(&path, &text) && !schema(&path).contains("CREATE TABLE people"));
    // And names are exchanged: the collection takes that of its index, and the reverse.
    let other = changed(&[
        ("[collection.people]", "[collection.crowd]\nwas = \"people\"\ntable = \"by_name\""),
        ("index.by_name = {", "index.persons = { was = \"by_name\","),
        ("\"people.by_name\"", "\"crowd.persons\""),
        ("\"people.by_mood\"", "\"crowd.by_mood\""),
        ("put   = \"people\"", "put   = \"crowd\""),
        ("get = \"people\"", "get = \"crowd\""),
    ]);
    assert_eq!(reopened(&path, &other)["name"], json!("Ann"));
    assert!(is_as_printed(&path, &other), "{}", schema(&path));
}

#[test]
fn what_others_made_on_a_table_survives_its_rebuilding() {
    let folder = Folder::new();
    let path = made(&folder);
    run(
        &path,
        "CREATE INDEX theirs ON people (mood); CREATE VIEW glad AS SELECT id FROM people;
         CREATE TABLE log (id TEXT);
         CREATE TRIGGER logged AFTER INSERT ON people BEGIN INSERT INTO log VALUES (new.id); END;",
    );
    reopened(&path, &changed(&[("\"glad|sad\"", "\"glad|sad|calm\"")]));
    let found = schema(&path);
    for name in ["INDEX theirs", "VIEW glad", "TABLE log", "TRIGGER logged"] {
        assert!(found.contains(name), "{name} is gone:\n{found}");
    }
    let count = |text: &str| {
        Connection::open(&path).unwrap().query_row(text, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count("SELECT count(*) FROM glad"), 3);
    assert_eq!(count("SELECT count(*) FROM log"), 1, "copying rows is no insert of theirs");
}

#[test]
fn another_programs_tables_are_reported_and_left_alone() {
    for theirs in [
        "CREATE TABLE people (x)",
        "CREATE VIEW people AS SELECT 1",
        "CREATE TABLE by_mood (x)",
        "CREATE TABLE keyway (name TEXT)",
    ] {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path()).unwrap();
        let path = folder.path().join("theirs.db");
        run(&path, &format!("{theirs}; CREATE TABLE other (x); INSERT INTO other VALUES (1)"));
        let before = schema(&path);
        let error = wait(store(&path).ensure(&keyspace(BASE))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{theirs}: {error}");
        assert!(theirs.contains(error.value("name").unwrap()), "{error}");
        assert_eq!(schema(&path), before, "{theirs}: something was changed");
    }
    // Beside tables of other names, it lives in the same file.
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join("shared.db");
    run(&path, "CREATE TABLE other (x); INSERT INTO other VALUES (1)");
    let store = store(&path);
    assert!(open(&store, &keyspace(BASE)).is_ok());
}

#[test]
fn what_is_no_database_is_refused_with_the_reason() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "nothing of SQLite's, and long enough to see it. ".repeat(20)).unwrap();
    let error = try_store(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error:?}");
    assert_eq!(try_store(folder.path()).unwrap_err().kind(), ErrorKind::Mismatch);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("nothing"));
}

#[test]
fn a_newer_format_and_another_keyspace_are_refused() {
    let folder = Folder::new();
    let path = made(&folder);
    let other = changed(&[("name = \"base\"", "name = \"other\"")]);
    let error = wait(store(&path).ensure(&keyspace(&other))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    run(&path, "UPDATE keyway SET format = 2");
    let error = wait(store(&path).ensure(&keyspace(BASE))).unwrap_err();
    assert_eq!((error.kind(), error.value("format")), (ErrorKind::Mismatch, Some("2")));
}

#[test]
fn a_value_written_by_hand_in_another_form_is_named() {
    let folder = Folder::new();
    let path = made(&folder);
    run(&path, "UPDATE people SET _v = 'new' WHERE id = 'p1'");
    let store = store(&path);
    let runtime = open(&store, &keyspace(BASE)).unwrap();
    let error = call(&runtime, "x", "get_person", &json!({"id": "p1"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!((error.value("table"), error.value("column")), (Some("people"), Some("_v")));
    assert!(call(&runtime, "x", "get_person", &json!({"id": "p2"})).is_ok());
}

#[test]
fn closed_it_is_one_file_and_says_so() {
    let folder = Folder::new();
    let path = made(&folder);
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["base.db"], "the log was written back");
    let store = store(&path);
    let runtime = open(&store, &keyspace(BASE)).unwrap();
    wait(store.close()).unwrap();
    wait(store.close()).unwrap();
    let error = call(&runtime, "x", "get_person", &json!({"id": "p1"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn whoever_holds_the_file_too_long_is_a_reason_to_try_again() {
    let folder = Folder::new();
    let path = made(&folder);
    let store = store(&path);
    let schema = wait(store.ensure(&keyspace(BASE))).unwrap();
    let people = schema.collection("people").unwrap();
    let key = people.key.encode([&Value::Text("p9".to_string())]).unwrap();
    let write = Write::Delete { key };
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = wait(store.commit(&batch(1, NOW, vec![write.clone()]))).unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("try again"), "{error}");
    other.execute_batch("COMMIT").unwrap();
    totals(wait(store.commit(&batch(1, NOW, vec![write]))));
}

#[test]
fn k9_signs_of_like_are_letters() {
    let folder = Folder::new();
    wait(like::check(store(&folder.path().join("like.db")).as_ref()));
}

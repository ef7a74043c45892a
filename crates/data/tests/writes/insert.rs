//! `insert`.

use crate::world::{NOON, worlds};
use data::error::ErrorKind;
use serde_json::json;

const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: text}:notes | {note_id: text = new('note')}"
    owner = "user_id"
    fields.title = "text"
    fields.state = "open|done = 'open'"
    fields.tags = "[text] = []"
    fields.by = "text = caller"
    fields.created_at = "timestamp = now"
    fields.updated_at = "timestamp = touch"
    fields.extra = "json?"
    index.by_title = { key = "user:{user_id}:titles | {title}" }
    expect = { rows_per_group = 1000 }

    [collection.tags]
    key = "tag:{tag: text}"
    fields = { color = "text?", made_at = "timestamp = now" }

    [collection.facts]
    key = "fact:{fact_id: text}"
    fields.text = "text"
    fields.weight = "i64 = 1"
    fields.seen_at = "timestamp = now"
    fields.by = "text = caller"
    body = "text"
    immutable = true

    [pattern.write]
    insert = "notes"

    [pattern.titles]
    list = "notes.by_title"
    page = 10

    [pattern.read]
    get = "notes"

    [pattern.tag]
    insert = "tags"
    allow = "user"

    [pattern.tag_once]
    insert = "tags"
    existing = "return"
    allow = "user"

    [pattern.state]
    insert = "facts"
    allow = "user"

    [pattern.get_fact]
    get = "facts"

    [pattern.get_tag]
    get = "tags"
"#;

#[test]
fn defaults_fill_what_a_call_leaves_out() {
    for world in worlds(NOTES) {
        let answer = world.ok("write", json!({ "title": "First" }));
        let row = &answer["row"];
        assert_eq!(row["user_id"], "ann");
        assert!(row["note_id"].as_str().unwrap().starts_with("note_"), "{row}");
        assert_eq!(row["state"], "open");
        assert_eq!(row["tags"], json!([]));
        assert_eq!(row["by"], "ann");
        assert_eq!(row["created_at"], "2026-11-15T12:00:00.000Z");
        assert_eq!(row["updated_at"], row["created_at"]);
        assert_eq!(row["extra"], json!(null));
        assert!(answer["version"].is_string());
        assert!(answer.get("existed").is_none());
        let read = world.ok("read", json!({ "note_id": row["note_id"] }));
        assert_eq!(read["row"], *row);
        assert_eq!(read["version"], answer["version"]);
        let titles = world.ok("titles", json!({}));
        assert_eq!(titles["rows"], json!([row]));
    }
}

#[test]
fn a_row_that_is_there_is_a_conflict() {
    for world in worlds(NOTES) {
        world.ok("tag", json!({ "tag": "red", "color": "f00" }));
        let (kind, text) = world.fails("tag", json!({ "tag": "red", "color": "e00" }));
        assert_eq!(kind, ErrorKind::Conflict);
        assert_eq!(text, "the row is already there (collection: tags)");
        assert_eq!(world.ok("get_tag", json!({ "tag": "red" }))["row"]["color"], "f00");
    }
}

#[test]
fn existing_return_answers_the_row_there() {
    for world in worlds(NOTES) {
        let first = world.ok("tag_once", json!({ "tag": "red", "color": "f00" }));
        world.clock.advance(1_000);
        let again = world.ok("tag_once", json!({ "tag": "red", "color": "e00" }));
        assert_eq!(again["existed"], true);
        assert_eq!(again["row"], first["row"]);
        assert_eq!(again["version"], first["version"]);
    }
}

#[test]
fn the_same_immutable_row_again_is_the_stored_one() {
    for world in worlds(NOTES) {
        let fact = json!({ "fact_id": "f", "text": "water is wet", "body": "…" });
        let first = world.ok("state", fact.clone());
        world.clock.advance(60_000);
        // The clock and the caller differ, and are not compared.
        let bob = data::caller::Caller::user("bob");
        let again = world.by(&bob, "state", fact.clone()).unwrap();
        assert_eq!(again["existed"], true);
        assert_eq!(again["row"], first["row"]);
        // A constant that is given is the same as the one left out.
        let mut same = fact.clone();
        same["weight"] = json!(1);
        assert_eq!(world.ok("state", same)["existed"], true);
        for (name, value) in [("weight", json!(2)), ("text", json!("dry")), ("body", json!("."))] {
            let mut other = fact.clone();
            other[name] = value;
            assert_eq!(world.fails("state", other).0, ErrorKind::Conflict, "{name}");
        }
        assert_eq!(world.ok("get_fact", json!({ "fact_id": "f" }))["row"], first["row"]);
    }
}

#[test]
fn arguments_are_held_to_their_types() {
    for world in worlds(NOTES) {
        assert_eq!(world.fails("write", json!({})).0, ErrorKind::Argument);
        assert_eq!(world.fails("write", json!({ "title": null })).0, ErrorKind::Argument);
        let (kind, text) = world.fails("write", json!({ "title": "x", "state": null }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("argument: state"), "{text}");
        assert_eq!(world.fails("tag", json!({ "tag": "" })).0, ErrorKind::Argument);
        // Who owns a row, and when it was made, is never an argument.
        for name in ["user_id", "note_id", "created_at", "updated_at", "by"] {
            let (kind, _) = world.fails("write", json!({ "title": "x", name: "bob" }));
            assert_eq!(kind, ErrorKind::Argument, "{name}");
        }
        assert_eq!(world.live_rows("notes"), 0);
    }
}

#[test]
fn ids_are_never_made_twice() {
    for world in worlds(NOTES) {
        let mut ids: Vec<String> = (0..100)
            .map(|number| {
                let answer = world.ok("write", json!({ "title": format!("{number}") }));
                answer["row"]["note_id"].as_str().unwrap().to_string()
            })
            .collect();
        let made = ids.clone();
        ids.sort();
        assert_eq!(ids, made, "in the order of time");
        ids.dedup();
        assert_eq!(ids.len(), 100);
    }
}

const LIVES: &str = r#"
    [collection.sessions]
    key = "user:{user_id: text}:sessions | {session_id: text}"
    owner = "user_id"
    fields = { agent = "text" }
    ttl = "1h"
    index.by_agent = { key = "user:{user_id}:agents | {agent}" }
    expect = { rows_per_group = 100 }

    [collection.tokens]
    key = "token:{token: text}"
    fields = { ends_at = "timestamp?" }
    ttl = "ends_at"

    [pattern.begin]
    insert = "sessions"
    [pattern.sessions]
    list = "sessions.by_agent"
    page = 10
    [pattern.session]
    get = "sessions"
    [pattern.issue]
    insert = "tokens"
    allow = "user"
    [pattern.token]
    get = "tokens"
"#;

#[test]
fn rows_end_when_their_time_is_over_and_may_be_inserted_anew() {
    for world in worlds(LIVES) {
        world.ok("begin", json!({ "session_id": "s", "agent": "cat" }));
        world.clock.advance(3_599_999);
        assert_eq!(
            world.fails("begin", json!({ "session_id": "s", "agent": "dog" })).0,
            ErrorKind::Conflict
        );
        world.clock.advance(1);
        assert_eq!(world.ok("session", json!({ "session_id": "s" }))["row"], json!(null));
        // The entries of the row that ended go with it.
        world.ok("begin", json!({ "session_id": "s", "agent": "dog" }));
        let rows = world.ok("sessions", json!({}));
        assert_eq!(rows["rows"].as_array().unwrap().len(), 1);
        assert_eq!(rows["rows"][0]["agent"], "dog");
    }
}

#[test]
fn a_field_may_say_when_a_row_ends() {
    for world in worlds(LIVES) {
        world.ok("issue", json!({ "token": "never" }));
        let soon = "2026-11-15T12:00:10.000Z";
        world.ok("issue", json!({ "token": "soon", "ends_at": soon }));
        world.clock.advance(10_000);
        assert_eq!(world.ok("token", json!({ "token": "soon" }))["row"], json!(null));
        assert!(world.ok("token", json!({ "token": "never" }))["row"].is_object());
        assert_eq!(NOON % 1_000, 0);
    }
}

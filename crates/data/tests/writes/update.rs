//! `update`.

use crate::world::worlds;
use data::error::ErrorKind;
use serde_json::json;

const TASKS: &str = r#"
    [collection.tasks]
    key = "list:{list: text}:tasks | {task: text}"
    fields.title = "text"
    fields.note = "text?"
    fields.state = "open|done = 'open'"
    fields.tries = "u64 = 0"
    fields.made_at = "timestamp = now"
    fields.changed_at = "timestamp = touch"
    fields.tags = "[text] = []"
    fields.until = "timestamp?"
    body = "text"
    expect = { rows_per_group = 100 }
    index.open = { key = "list:{list}:open | {title}", when = "state = 'open'" }
    index.tagged = { key = "list:{list}:tag:{each(tags)} | {task}" }

    [collection.visits]
    key = "visit:{page: text}"
    fields = { count = "i64 = 0", last = "text?", kind = "text" }
    ttl = "1h"

    [pattern.add]
    insert = "tasks"
    allow = "user"
    [pattern.edit]
    update = "tasks"
    set = ["title", "note", "tags", "body"]
    allow = "user"
    [pattern.finish]
    update = "tasks"
    compute = { state = "'done'", tries = "tries + 1", note = "$why" }
    arguments = { why = "text?" }
    if = "state = 'open'"
    if_version = true
    allow = "user"
    [pattern.task]
    get = "tasks"
    [pattern.open]
    list = "tasks.open"
    page = 10
    [pattern.tagged]
    list = "tasks.tagged"
    page = 10
    [pattern.visit]
    update = "visits"
    set = ["last", "kind"]
    compute = { count = "count + 1" }
    missing = "create"
    allow = "user"
    [pattern.visits]
    get = "visits"
"#;

#[test]
fn only_what_is_given_changes() {
    for world in worlds(TASKS) {
        let key = json!({ "list": "l", "task": "t" });
        let added = world.ok(
            "add",
            json!({
                "list": "l", "task": "t", "title": "A", "note": "n",
                "tags": ["x", "y"], "body": "b",
            }),
        );
        world.clock.advance(1_000);
        let edited =
            world.ok("edit", json!({ "list": "l", "task": "t", "note": null, "tags": ["y", "z"] }));
        let mut wanted = added["row"].clone();
        wanted["note"] = json!(null);
        wanted["tags"] = json!(["y", "z"]);
        wanted["changed_at"] = json!("2026-11-15T12:00:01.000Z");
        assert_eq!(edited["row"], wanted);
        assert_ne!(edited["version"], added["version"]);
        assert_eq!(world.ok("task", key)["row"], wanted);
        let tagged = |tag: &str| {
            let page = world.ok("tagged", json!({ "list": "l", "tags": tag }));
            page["rows"].as_array().unwrap().len()
        };
        assert_eq!([tagged("x"), tagged("y"), tagged("z")], [0, 1, 1]);
        let body = world.ok("edit", json!({ "list": "l", "task": "t", "body": "other" }));
        assert_eq!(body["row"]["body"], "other");
    }
}

#[test]
fn an_update_of_nothing_is_a_mistake() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "list": "l", "task": "t", "title": "A", "body": "" }));
        let (kind, text) = world.fails("edit", json!({ "list": "l", "task": "t" }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("title, note, tags, body"), "{text}");
        let cleared = json!({ "list": "l", "task": "t", "title": null });
        assert_eq!(world.fails("edit", cleared).0, ErrorKind::Argument);
    }
}

#[test]
fn what_is_computed_sees_the_stored_row_and_the_arguments() {
    for world in worlds(TASKS) {
        let key = json!({ "list": "l", "task": "t" });
        let added = world.ok("add", json!({ "list": "l", "task": "t", "title": "A", "body": "" }));
        assert_eq!(world.ok("open", json!({ "list": "l" }))["rows"].as_array().unwrap().len(), 1);
        let mut finish = key.clone();
        finish["why"] = json!("because");
        let done = world.ok("finish", finish.clone());
        assert_eq!(done["row"]["state"], "done");
        assert_eq!(done["row"]["tries"], 1);
        assert_eq!(done["row"]["note"], "because");
        assert_eq!(world.ok("open", json!({ "list": "l" }))["rows"], json!([]));
        assert_eq!(world.fails("finish", finish.clone()).0, ErrorKind::Conflict);
        finish["if_version"] = added["version"].clone();
        assert_eq!(world.fails("finish", finish).0, ErrorKind::Conflict);
    }
}

#[test]
fn a_missing_row_is_not_found() {
    for world in worlds(TASKS) {
        let (kind, text) = world.fails("edit", json!({ "list": "l", "task": "t", "note": "x" }));
        assert_eq!(kind, ErrorKind::NotFound);
        assert_eq!(text, "there is no such row (collection: tasks)");
    }
}

#[test]
fn a_missing_row_is_created_where_the_pattern_says_so() {
    for world in worlds(TASKS) {
        let (kind, text) = world.fails("visit", json!({ "page": "p", "last": "ann" }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("argument: kind"), "{text}");
        assert_eq!(world.live_rows("visits"), 0);
        let first = world.ok("visit", json!({ "page": "p", "kind": "k" }));
        assert_eq!(first["row"], json!({ "page": "p", "count": 1, "last": null, "kind": "k" }));
        world.clock.advance(3_000_000);
        let second = world.ok("visit", json!({ "page": "p", "last": "bob" }));
        assert_eq!(second["row"], json!({ "page": "p", "count": 2, "last": "bob", "kind": "k" }));
        // Only the creation sets the end.
        world.clock.advance(600_000);
        assert_eq!(world.ok("visits", json!({ "page": "p" }))["row"], json!(null));
        let anew = world.ok("visit", json!({ "page": "p", "kind": "n" }));
        assert_eq!(anew["row"]["count"], 1);
        world.clock.advance(3_599_999);
        assert!(world.ok("visits", json!({ "page": "p" }))["row"].is_object());
    }
}

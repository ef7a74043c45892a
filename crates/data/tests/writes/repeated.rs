//! Calls that are made again with the same id: nothing happens twice, and the answer is the row.

use crate::world::{world, worlds};
use data::error::ErrorKind;
use serde_json::json;

const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: text}:notes | {note_id: ulid = new}"
    owner = "user_id"
    fields = { title = "text", state = "open|done = 'open'", edits = "u64 = 0" }
    index.due = { key = "user:{user_id}:due | {state}" }
    expect = { rows_per_group = 100 }

    [collection.log]
    key = "user:{user_id: text}:log | {entry: timeuuid = new}"
    owner = "user_id"
    fields = { what = "text" }
    immutable = true
    expect = { rows_per_group = 100 }

    [collection.counters]
    key = "counter:{name: text}"
    value = "counter"

    [pattern.write]
    insert = "notes"
    [pattern.finish]
    update = "notes"
    compute = { state = "'done'", edits = "edits + 1" }
    if = "state = 'open'"
    [pattern.remove]
    delete = "notes"
    if = "state = 'open'"
    [pattern.get]
    get = "notes"
    [pattern.list]
    list = "notes"
    page = 10
    [pattern.append]
    insert = "log"
    [pattern.logged]
    list = "log"
    page = 10
    [pattern.count]
    add = "counters"
    allow = "user"
    [pattern.counter]
    get = "counters"
    [pattern.take_one]
    take = "notes.due"
    if = "state = 'open'"
    compute = { state = "'done'" }
"#;

#[test]
fn an_insert_made_again_names_the_same_row() {
    for world in worlds(NOTES) {
        let id = world.id();
        let first = world.with_id(id, "write", json!({ "title": "A" })).unwrap();
        world.clock.advance(5_000);
        let again = world.with_id(id, "write", json!({ "title": "A" })).unwrap();
        assert_eq!(again, first, "on {}", world.kind());
        if world.is_whole() {
            assert_eq!(first["version"], json!(id.to_string()));
        }
        assert_eq!(world.live_rows("notes"), 1);
        let other = world.ok("write", json!({ "title": "B" }));
        assert_ne!(other["row"]["note_id"], first["row"]["note_id"]);
    }
}

#[test]
fn plain_rows_are_appended_once() {
    for world in worlds(NOTES) {
        let id = world.id();
        let first = world.with_id(id, "append", json!({ "what": "a" })).unwrap();
        let again = world.with_id(id, "append", json!({ "what": "a" })).unwrap();
        assert_eq!(again, first);
        assert_eq!(world.live_rows("log"), 1);
    }
}

#[test]
fn another_caller_or_pattern_with_the_same_id_makes_other_ids() {
    let world = world(NOTES);
    let id = world.id();
    let first = world.with_id(id, "write", json!({ "title": "A" })).unwrap();
    let made = first["row"]["note_id"].as_str().unwrap().to_string();
    world.clock.advance(11 * 60_000);
    // Long after, the id says nothing any more: what it made is not made again.
    let later = world.with_id(id, "write", json!({ "title": "B" })).unwrap();
    assert_ne!(later["row"]["note_id"], json!(made));
}

#[test]
fn an_update_made_again_answers_the_row_as_it_is() {
    for world in worlds(NOTES) {
        let note = world.ok("write", json!({ "title": "A" }))["row"]["note_id"].clone();
        let id = world.id();
        let first = world.with_id(id, "finish", json!({ "note_id": note })).unwrap();
        assert_eq!(first["row"]["edits"], 1);
        // Its condition no longer holds, because of itself.
        let again = world.with_id(id, "finish", json!({ "note_id": note })).unwrap();
        assert_eq!(again, first);
        let (kind, _) = world.fails("finish", json!({ "note_id": note }));
        assert_eq!(kind, ErrorKind::Conflict);
    }
}

#[test]
fn a_delete_made_again_is_still_a_delete() {
    for world in worlds(NOTES) {
        let note = world.ok("write", json!({ "title": "A" }))["row"]["note_id"].clone();
        let id = world.id();
        for _ in 0..2 {
            let gone = world.with_id(id, "remove", json!({ "note_id": note })).unwrap();
            assert_eq!(gone["row"], json!(null));
        }
    }
}

#[test]
fn a_counter_counts_a_call_once() {
    for world in worlds(NOTES) {
        let id = world.id();
        let add = json!({ "name": "c", "amount": 5 });
        assert_eq!(world.with_id(id, "count", add.clone()).unwrap(), json!({ "total": 5 }));
        assert_eq!(world.with_id(id, "count", add).unwrap(), json!({ "total": 5 }));
        assert_eq!(world.ok("counter", json!({ "name": "c" }))["row"]["value"], 5);
    }
}

#[test]
fn a_lost_reply_is_found_out_by_asking_again() {
    let world = world(NOTES);
    world.lose_next_reply();
    let id = world.id();
    let error = world.with_id(id, "write", json!({ "title": "A" })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Indeterminate);
    assert_eq!(error.value("id"), Some(id.to_string().as_str()));
    assert!(error.is_retryable());
    let again = world.with_id(id, "write", json!({ "title": "A" })).unwrap();
    assert_eq!(again["row"]["title"], "A");
    assert_eq!(world.live_rows("notes"), 1);
}

#[test]
fn one_id_for_two_calls_spoils_no_index() {
    for world in worlds(NOTES) {
        let notes: Vec<_> = ["A", "B"]
            .map(|title| world.ok("write", json!({ "title": title }))["row"]["note_id"].clone())
            .to_vec();
        let id = world.id();
        for note in &notes {
            // Whether the second is done is the store's affair; what it answers is the row.
            let done = world.with_id(id, "finish", json!({ "note_id": note })).unwrap();
            let stored = world.ok("get", json!({ "note_id": note }));
            assert_eq!(done["row"], stored["row"]);
        }
    }
}

#[test]
fn a_counter_is_never_answered_by_another_call() {
    let world = world(NOTES);
    let id = world.id();
    world.with_id(id, "write", json!({ "title": "A" })).unwrap();
    let error = world.with_id(id, "count", json!({ "name": "c" })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert_eq!(error.value("id"), Some(id.to_string().as_str()));
    assert_eq!(world.ok("counter", json!({ "name": "c" }))["row"]["value"], 0);
}

#[test]
fn a_take_made_again_never_claims_a_row_that_it_did_not_take() {
    let world = world(NOTES);
    world.ok("write", json!({ "title": "A" }));
    world.ok("write", json!({ "title": "B" }));
    let id = world.id();
    let first = world.with_id(id, "take_one", json!({})).unwrap();
    assert_eq!(first["row"]["title"], "A");
    // The store remembers the id, and the row that would be next is still free.
    let error = world.with_id(id, "take_one", json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let rows = world.ok("list", json!({}))["rows"].clone();
    assert_eq!((&rows[0]["state"], &rows[1]["state"]), (&json!("done"), &json!("open")));
}

#[test]
fn a_take_has_no_id_where_only_its_row_would_know_it() {
    for world in worlds(NOTES).into_iter().filter(|world| !world.is_whole()) {
        world.ok("write", json!({ "title": "A" }));
        let error = world.with_id(world.id(), "take_one", json!({})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

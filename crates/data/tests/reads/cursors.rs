//! A cursor goes on with the list it was made for, for whoever it was made for, and nowhere else.

use crate::support::{Bench, ann, away, bob, keyspace, object};
use data::memory::MemoryStore;
use data::request::{Call, CursorKey};
use data::store::Versions;
use data::{Caller, ErrorKind, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: text}:notes | {folder: text}:{note: u64}"
    owner = "user_id"
    fields = { title = "text = ''" }
    expect = { rows_per_group = 1_000 }
    index.shared = { key = "shared:{folder} | {note}", expect = { rows_per_group = 1_000 } }

    [pattern.write]
    put = "notes"

    [pattern.notes]
    list = "notes"
    page = 2

    [pattern.other_notes]
    list = "notes"
    page = 2

    [pattern.in_folder]
    list = "notes"
    by = ["user_id", "folder"]
    page = 2

    [pattern.everybody]
    list = "notes.shared"
    page = 2
    allow = "public"
"#;

fn fill(bench: &Bench) {
    for user in ["ann", "bob"] {
        for note in 0..6 {
            let folder = if note < 3 { "a" } else { "b" };
            bench.put("notes", json!({"user_id": user, "folder": folder, "note": note}));
        }
    }
}

fn notes() -> Bench {
    let bench = Bench::open(NOTES);
    fill(&bench);
    bench
}

fn first(bench: &Bench, pattern: &str, arguments: Json, caller: &Caller) -> Json {
    let page = bench.json(pattern, arguments, caller);
    assert!(page["next"].is_string(), "{page}");
    page["next"].clone()
}

fn refused(bench: &Bench, pattern: &str, arguments: Json, caller: &Caller) -> String {
    let error = bench.error(pattern, arguments, caller);
    assert_eq!(error.kind(), ErrorKind::Cursor, "{error}");
    error.to_string()
}

#[test]
fn c5_a_cursor_of_another_caller_pattern_or_query_is_refused() {
    let bench = notes();
    let cursor = first(&bench, "notes", json!({}), &ann());
    let mut said = Vec::new();
    said.push(refused(&bench, "notes", json!({"cursor": cursor}), &bob()));
    said.push(refused(&bench, "notes", json!({"cursor": cursor}), &ann().of_tenant("x")));
    said.push(refused(&bench, "other_notes", json!({"cursor": cursor}), &ann()));
    said.push(refused(&bench, "notes", json!({"cursor": cursor, "reverse": true}), &ann()));
    for (name, value) in [("from", "a"), ("before", "z"), ("starts", "a")] {
        let mut arguments = json!({"cursor": cursor});
        arguments[name] = json!(value);
        said.push(refused(&bench, "notes", arguments, &ann()));
    }
    let cursor = first(&bench, "in_folder", json!({"folder": "a"}), &ann());
    said.push(refused(&bench, "in_folder", json!({"folder": "b", "cursor": cursor}), &ann()));
    said.push(refused(&bench, "in_folder", json!({"folder": "a", "cursor": "AAAA"}), &ann()));
    said.push(refused(&bench, "in_folder", json!({"folder": "a", "cursor": ""}), &ann()));
    said.dedup();
    assert_eq!(said.len(), 1, "whatever is wrong, the answer is the same: {said:?}");
}

#[test]
fn roles_and_limits_may_change_between_pages() {
    let bench = notes();
    let cursor = first(&bench, "notes", json!({}), &ann());
    let arguments = json!({"cursor": cursor, "limit": 1, "reverse": false});
    let page = bench.page("notes", arguments, &ann().with_role("admin"), "note");
    assert_eq!(page, [json!(2)]);
}

#[test]
fn a_public_cursor_is_still_of_its_caller() {
    let bench = notes();
    let arguments = json!({"folder": "a"});
    let cursor = first(&bench, "everybody", arguments, &Caller::nobody());
    let next = json!({"folder": "a", "cursor": cursor});
    assert_eq!(bench.page("everybody", next.clone(), &Caller::nobody(), "note").len(), 2);
    refused(&bench, "everybody", next, &ann());
}

#[test]
fn a_cursor_that_is_too_old_is_refused() {
    let bench = notes();
    let cursor = first(&bench, "notes", json!({}), &ann());
    bench.clock.advance(24 * 60 * 60 * 1_000 - 1);
    assert_eq!(bench.page("notes", json!({"cursor": cursor}), &ann(), "note").len(), 2);
    bench.clock.advance(1);
    refused(&bench, "notes", json!({"cursor": cursor}), &ann());
}

#[test]
fn an_exchanged_key_is_accepted_once_more() {
    let store = Arc::new(MemoryStore::new());
    let open = |key| Bench::open_with(store.clone(), keyspace(NOTES), key);
    let old = open(CursorKey::new([1; 32]));
    fill(&old);
    let cursor = first(&old, "notes", json!({}), &ann());
    let exchanged = open(CursorKey::new([2; 32]).after([1; 32]));
    assert_eq!(exchanged.page("notes", json!({"cursor": cursor}), &ann(), "note").len(), 2);
    let later = open(CursorKey::new([3; 32]).after([2; 32]));
    refused(&later, "notes", json!({"cursor": cursor}), &ann());
}

#[test]
fn a_keyspace_whose_key_changed_refuses_older_cursors() {
    let before = notes();
    let cursor = first(&before, "notes", json!({}), &ann());
    let changed = Bench::open(
        &NOTES.replace("{folder: text}:{note: u64}", "{folder: text desc}:{note: u64}"),
    );
    fill(&changed);
    refused(&changed, "notes", json!({"cursor": cursor}), &ann());
    let same = notes();
    assert_eq!(same.page("notes", json!({"cursor": cursor}), &ann(), "note").len(), 2);
}

#[test]
fn a_megabyte_is_refused_like_anything_else() {
    let bench = notes();
    let short = refused(&bench, "notes", json!({"cursor": "x"}), &ann());
    let long = refused(&bench, "notes", json!({"cursor": "A".repeat(1 << 20)}), &ann());
    assert_eq!(short, long);
}

#[test]
fn a_cursor_is_judged_before_anything_is_read() {
    // A store that refuses every call is never asked.
    let bench = Bench::open_on(away(), NOTES);
    assert_eq!(bench.error("notes", json!({}), &ann()).kind(), ErrorKind::Unavailable);
    refused(&bench, "notes", json!({"cursor": "x"}), &ann());
}

/// The notes that a list shows where they lie, page by page, each by the cursor of the one before.
fn shown(bench: &Bench, pattern: &str, arguments: Json) -> (Vec<Value>, usize) {
    let prepared = bench.pattern(pattern);
    let (mut all, mut pages) = (Vec::new(), 0);
    let mut arguments = arguments;
    loop {
        let given = prepared.given_from_json(bench.runtime.keyspace(), &object(arguments.clone()));
        let (given, caller) = (given.unwrap(), ann());
        let call = Call::new(&prepared, given, &caller);
        let next = bench.runtime.show(&call, Versions::Unwanted, &mut |row| {
            let mut reader = row.reader()?;
            all.push((0..3).map(|_| reader.next_value().unwrap()).last().unwrap());
            Ok(())
        });
        pages += 1;
        match next.expect("a list that is shown").unwrap().0 {
            Some(next) => arguments["cursor"] = json!(next.to_string()),
            None => return (all, pages),
        }
    }
}

#[test]
fn what_is_shown_goes_on_by_its_own_cursors() {
    let bench = notes();
    let numbers = |range: &[u64]| range.iter().map(|number| Value::U64(*number)).collect();
    assert_eq!(shown(&bench, "notes", json!({})), (numbers(&[0, 1, 2, 3, 4, 5]), 3));
    let one = json!({"limit": 1, "reverse": true});
    assert_eq!(shown(&bench, "notes", one), (numbers(&[5, 4, 3, 2, 1, 0]), 6));
    let index = json!({"folder": "b"});
    assert_eq!(shown(&bench, "everybody", index), (numbers(&[3, 3, 4, 4, 5, 5]), 3));
    let index = json!({"folder": "a", "reverse": true, "limit": 1});
    assert_eq!(shown(&bench, "everybody", index), (numbers(&[2, 2, 1, 1, 0, 0]), 6));
}

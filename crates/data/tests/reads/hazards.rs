//! Mistakes of other systems, each with the test that would fail if it were made here.

use crate::support::{Bench, NOW, ann, bob, object};
use data::request::{Answer, Call, Given};
use data::{Caller, ErrorKind, Value};
use keyspace::diagnostic::codes;
use serde_json::{Value as Json, json};

const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: text}:notes | {n: i64}"
    owner = "user_id"
    fields = { title = "text = ''" }
    ttl = "30d"
    expect = { rows_per_group = 1_000 }

    [pattern.write]
    put = "notes"

    [pattern.note]
    get = "notes"

    [pattern.notes]
    list = "notes"
    page = 10
"#;

fn notes(users: &[&str], numbers: &[i64]) -> Bench {
    let bench = Bench::open(NOTES);
    for user in users {
        for n in numbers {
            bench.put_until("notes", json!({"user_id": user, "n": n, "title": user}), NOW + 10_000);
        }
    }
    bench
}

#[test]
fn k2_a_prefix_is_whole_segments() {
    let users = ["doc1", "doc10", "doc", "doc1:notes", "doc1\u{0}"];
    let bench = notes(&users, &[1]);
    for user in users {
        let titles = bench.page("notes", json!({}), &Caller::user(user), "title");
        assert_eq!(titles, [json!(user)]);
    }
}

#[test]
fn k3_numbers_sort_as_numbers() {
    let numbers = [10, 2, -1, 0, i64::MIN, i64::MAX, -300, 255, 256];
    let bench = notes(&["ann"], &numbers);
    let mut sorted = numbers;
    sorted.sort_unstable();
    let json = |n: &i64| Value::I64(*n).to_json(&keyspace::model::Type::I64);
    let sorted: Vec<Json> = sorted.iter().map(json).collect();
    assert_eq!(bench.page("notes", json!({}), &ann(), "n"), sorted);
    let negative = json!({"from": -300, "before": 0});
    assert_eq!(bench.page("notes", negative, &ann(), "n"), [json!(-300), json!(-1)]);
}

#[test]
fn x8_order_by_creation_needs_a_key_that_has_it() {
    let text = r#"
        [keyspace]
        name = "test"

        [collection.notes]
        key = "user:{user_id: text}:notes | {note_id: uuid = new}"
        fields = { title = "text", created_at = "timestamp = now" }
        expect = { rows_per_group = 1_000 }

        [pattern.write]
        insert = "notes"
        allow = "user"

        [pattern.notes]
        list = "notes"
        order = "created_at"
        page = 10
    "#;
    let reading = keyspace::read(text);
    assert!(reading.keyspace.is_none());
    let codes: Vec<_> = reading.diagnostics.iter().map(|found| found.code.number).collect();
    assert!(codes.contains(&codes::ORDER_NOT_GIVEN.number), "{codes:?}");
}

#[test]
fn w6_pages_go_on_behind_a_key_not_behind_a_number() {
    let numbers: Vec<i64> = (0..30).collect();
    let bench = notes(&["ann"], &numbers);
    let mut arguments = json!({"limit": 3});
    let mut seen = Vec::new();
    loop {
        let page = bench.json("notes", arguments.clone(), &ann());
        for row in page["rows"].as_array().unwrap() {
            seen.push(row["n"].as_i64().unwrap());
            bench.remove("notes", row.clone());
        }
        if page["next"].is_null() {
            break;
        }
        arguments["cursor"] = page["next"].clone();
    }
    assert_eq!(seen, numbers, "whoever deletes what was listed leaves nothing behind");
}

#[test]
fn w8_what_has_ended_is_gone_before_anybody_sweeps() {
    let bench = notes(&["ann"], &[1, 2]);
    bench.put_until("notes", json!({"user_id": "ann", "n": 3}), NOW + 20_000);
    bench.clock.advance(9_999);
    assert_eq!(bench.page("notes", json!({}), &ann(), "n").len(), 3);
    bench.clock.advance(1);
    assert_eq!(bench.page("notes", json!({}), &ann(), "n"), [json!(3)]);
    assert!(bench.json("note", json!({"n": 1}), &ann())["row"].is_null());
}

#[test]
fn c1_nobody_says_whose_rows_are_meant() {
    let bench = notes(&["ann", "bob"], &[1]);
    let error = bench.error("notes", json!({"user_id": "bob"}), &ann());
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert_eq!(error.value("argument"), Some("user_id"));
    let error = bench.error("notes", json!({"limit": 11}), &ann());
    assert_eq!(error.kind(), ErrorKind::Argument);
    let error = bench.runtime.pattern("notes; drop").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn c4_nothing_of_a_call_is_left_for_the_next() {
    let bench = notes(&["ann", "bob"], &[1, 2, 3]);
    let prepared = bench.pattern("notes");
    let keyspace = bench.runtime.keyspace();
    let given = |json: Json| prepared.given_from_json(keyspace, &object(json)).unwrap();
    for _ in 0..3 {
        for (caller, name) in [(ann(), "ann"), (bob(), "bob")] {
            let call = Call::new(&prepared, given(json!({"from": 2})), &caller);
            let reply = crate::support::block_on(bench.runtime.call(call)).unwrap();
            let Answer::Page { rows, next } = reply.answer else { panic!() };
            assert!(next.is_none());
            let titles: Vec<Value> = rows.iter().map(|row| row.get("title").unwrap()).collect();
            assert_eq!(titles, vec![Value::Text(name.to_string()); 2]);
        }
    }
    assert_eq!(given(json!({})), vec![Given::Missing; prepared.pattern.arguments.len()]);
}

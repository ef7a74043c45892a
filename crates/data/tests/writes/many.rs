//! Several rows of a group in one call.

use crate::world::{world, worlds};
use data::error::ErrorKind;
use serde_json::json;

const LINES: &str = r#"
    [collection.lines]
    key = "order:{order: text}:lines | {line: u64}"
    fields = { sku = "text", count = "u64 = 1" }
    expect = { rows_per_group = 100 }
    index.by_sku = { key = "order:{order}:skus | {sku}", unique = true }

    [collection.events]
    key = "day:{day: date}:events | {event: ulid = new}"
    fields = { what = "text" }
    immutable = true
    expect = { rows_per_group = 1000 }

    [collection.hits]
    key = "site:{site: text}:hits | {page: text}"
    value = "counter"
    expect = { rows_per_group = 1000 }

    [pattern.insert_lines]
    insert = "lines"
    many = 10
    allow = "user"
    [pattern.put_lines]
    put = "lines"
    many = 10
    allow = "user"
    [pattern.count_lines]
    update = "lines"
    set = ["count"]
    many = 10
    allow = "user"
    [pattern.add_lines]
    add = "lines.count"
    many = 10
    allow = "user"
    [pattern.remove_lines]
    delete = "lines"
    many = 10
    allow = "user"
    [pattern.lines]
    list = "lines"
    page = 10
    [pattern.record]
    insert = "events"
    many = 3
    allow = "user"
    [pattern.events]
    list = "events"
    page = 10
    [pattern.hit]
    add = "hits"
    many = 5
    allow = "user"
    [pattern.hits]
    list = "hits"
    page = 10
"#;

fn line(number: u64, sku: &str) -> serde_json::Value {
    json!({ "line": number, "sku": sku })
}

#[test]
fn all_rows_are_written_or_none() {
    for world in worlds(LINES) {
        let rows = json!([line(1, "a"), line(2, "b")]);
        let answer = world.ok("insert_lines", json!({ "order": "o", "rows": rows }));
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(results[0]["row"], json!({ "order": "o", "line": 1, "sku": "a", "count": 1 }));
        assert_eq!(results[0]["version"], results[1]["version"]);
        let rows = json!([line(3, "c"), line(2, "d")]);
        let (kind, text) = world.fails("insert_lines", json!({ "order": "o", "rows": rows }));
        assert_eq!(kind, ErrorKind::Conflict);
        assert_eq!(text, "the row is already there (collection: lines, row: 1)");
        assert_eq!(world.live_rows("lines"), 2);
        let empty = world.ok("insert_lines", json!({ "order": "o", "rows": [] }));
        assert_eq!(empty["results"], json!([]));
    }
}

#[test]
fn a_taken_value_names_its_row_and_index() {
    for world in worlds(LINES) {
        world.ok("insert_lines", json!({ "order": "o", "rows": [line(1, "a")] }));
        let rows = json!([line(2, "b"), line(3, "a")]);
        let (kind, text) = world.fails("insert_lines", json!({ "order": "o", "rows": rows }));
        assert_eq!(kind, ErrorKind::Taken);
        assert_eq!(
            text,
            "a unique value belongs to another row (collection: lines, index: by_sku, row: 1)"
        );
        assert_eq!(world.live_rows("lines"), 1);
    }
    // Two rows of one call want the same value.
    let world = world(LINES);
    let rows = json!([line(2, "b"), line(3, "b")]);
    assert_eq!(
        world.fails("insert_lines", json!({ "order": "o", "rows": rows })).0,
        ErrorKind::Taken
    );
}

#[test]
fn one_key_twice_is_a_mistake_of_the_call() {
    for world in worlds(LINES) {
        let rows = json!([line(1, "a"), line(2, "b"), line(1, "c")]);
        let (kind, text) = world.fails("put_lines", json!({ "order": "o", "rows": rows }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("row: 2, same_as: 0"), "{text}");
        let rows: Vec<_> = (0..11).map(|number| line(number, "x")).collect();
        let (kind, text) = world.fails("put_lines", json!({ "order": "o", "rows": rows }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("most: 10"), "{text}");
    }
}

#[test]
fn every_verb_takes_rows() {
    for world in worlds(LINES) {
        let rows = json!([line(1, "a"), line(2, "b"), line(3, "c")]);
        world.ok("put_lines", json!({ "order": "o", "rows": rows }));
        if world.is_whole() {
            // A value changes hands inside one call.
            world.ok("put_lines", json!({ "order": "o", "rows": [line(1, "z"), line(2, "a")] }));
        }
        let rows = json!([{ "line": 1, "count": 5 }, { "line": 3, "count": 7 }]);
        world.ok("count_lines", json!({ "order": "o", "rows": rows }));
        let added =
            world.ok("add_lines", json!({ "order": "o", "rows": [{ "line": 1, "amount": 10 }] }));
        assert_eq!(added["results"][0]["row"]["count"], 15);
        let missing = json!({ "order": "o", "rows": [{ "line": 1 }, { "line": 9 }] });
        let (kind, text) = world.fails("add_lines", missing);
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(text.contains("row: 1"), "{text}");
        world.ok("remove_lines", json!({ "order": "o", "rows": [{ "line": 2 }, { "line": 8 }] }));
        let left = world.ok("lines", json!({ "order": "o" }));
        let counts: Vec<_> =
            left["rows"].as_array().unwrap().iter().map(|row| &row["count"]).collect();
        assert_eq!(counts, [&json!(15), &json!(7)]);
    }
}

#[test]
fn rows_of_counters_answer_their_totals() {
    let world = world(LINES);
    let rows = json!([{ "page": "a" }, { "page": "b", "amount": 3 }]);
    world.ok("hit", json!({ "site": "s", "rows": rows }));
    let totals = world.ok("hit", json!({ "site": "s", "rows": rows }));
    assert_eq!(totals, json!({ "results": [{ "total": 2 }, { "total": 6 }] }));
}

#[test]
fn plain_rows_with_new_ids_are_appended_without_a_look() {
    for world in worlds(LINES) {
        let ann = data::caller::Caller::user("ann");
        let rows = json!({ "day": "2026-11-15", "rows": [{ "what": "a" }, { "what": "b" }] });
        let reply = world.reply(&ann, "record", rows, None).unwrap();
        assert_eq!(reply.usage.rows_read, 0);
        let events = world.ok("events", json!({ "day": "2026-11-15" }));
        let whats: Vec<_> =
            events["rows"].as_array().unwrap().iter().map(|row| &row["what"]).collect();
        assert_eq!(whats, [&json!("a"), &json!("b")]);
    }
}

#[test]
fn what_no_batch_holds_is_refused_before_anything_is_written() {
    let file = r#"
        [collection.blobs]
        key = "set:{set: text} | {blob: text}"
        fields = { name = "text" }
        body = "bytes"
        expect = { rows_per_group = 10, row_bytes = 1000 }
        [pattern.put_blobs]
        put = "blobs"
        many = 4
        allow = "user"
        [pattern.blobs]
        list = "blobs"
        page = 10
    "#;
    let world = world(file);
    let body = "A".repeat(1_200_000);
    let blob = |name: &str| json!({ "blob": name, "name": "n", "body": body });
    let rows = json!([blob("a"), blob("b"), blob("c")]);
    assert_eq!(
        world.fails("put_blobs", json!({ "set": "s", "rows": rows })).0,
        ErrorKind::TooLarge
    );
    assert_eq!(world.live_rows("blobs"), 0);
    world.ok("put_blobs", json!({ "set": "s", "rows": [blob("a"), blob("b")] }));
}

//! `list`: ranges, directions, pages and their ends, through keys and through indexes.

use crate::support::{Bench, NOW, ann, apart, block_on};
use data::memory::MemoryStore;
use data::store::Store;
use data::{Caller, ErrorKind};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const ROOMS: &str = r#"
    [collection.messages]
    key = "room:{room: text} | {at: timestamp desc}:{id: u64}"
    fields = { words = "text" }
    expect = { rows_per_group = 1_000 }
    index.messages_by_words.key = "words:{room} | {lower(words)}"
    index.messages_by_words.expect = { rows_per_group = 1_000 }
    index.messages_in_order.key = "order:{room} | {at}"
    index.messages_in_order.keep = ["words"]
    index.messages_in_order.expect = { rows_per_group = 1_000 }

    [pattern.say]
    put = "messages"
    allow = "user"

    [pattern.messages]
    list = "messages"
    page = 5
    order = "at desc"

    [pattern.at_once]
    list = "messages"
    by = ["room", "at"]
    page = 5

    [pattern.words]
    list = "messages.messages_by_words"
    page = 5

    [pattern.in_order]
    list = "messages.messages_in_order"
    fields = ["id", "words"]
    page = 5
"#;

fn at(minute: i64) -> Json {
    json!(format!("2026-11-15T10:{minute:02}:00.000Z"))
}

/// A message each minute from 0 to 19, and one of a room whose name begins alike.
fn rooms() -> Bench {
    let bench = Bench::open(ROOMS);
    for minute in 0..20 {
        let words = ["Apple", "apricot", "banana", "ÉCLAIR"][minute as usize % 4];
        bench.put("messages", json!({"room": "a", "at": at(minute), "id": minute, "words": words}));
    }
    bench.put("messages", json!({"room": "ab", "at": at(3), "id": 99, "words": "apple"}));
    bench
}

fn ids(range: impl Iterator<Item = i64>) -> Vec<Json> {
    range.map(|id| json!(id)).collect()
}

#[test]
fn pages_follow_the_key_in_both_directions() {
    let bench = rooms();
    let (all, pages) = bench.pages("messages", json!({"room": "a"}), &ann(), "id");
    assert_eq!(all, ids((0..20).rev()));
    assert_eq!(pages, 4);
    let (all, pages) = bench.pages("messages", json!({"room": "a", "reverse": true}), &ann(), "id");
    assert_eq!(all, ids(0..20));
    assert_eq!(pages, 4);
    assert_eq!(bench.pages("messages", json!({"room": "b"}), &ann(), "id"), (vec![], 1));
}

#[test]
fn a_page_that_ends_with_its_group_is_the_last() {
    let bench = rooms();
    let page = |limit: u64| bench.json("messages", json!({"room": "ab", "limit": limit}), &ann());
    assert!(page(1)["next"].is_null());
    let last = json!({"room": "a", "before": at(5), "limit": 5});
    let page = bench.json("messages", last, &ann());
    assert_eq!(page["rows"].as_array().unwrap().len(), 5);
    assert!(page["next"].is_null());
}

#[test]
fn from_is_inside_and_before_is_not_whatever_the_direction() {
    let bench = rooms();
    for (from, before, low, high) in [
        (Some(3), Some(9), 3, 9),
        (None, Some(4), 0, 4),
        (Some(17), None, 17, 20),
        (Some(9), Some(3), 9, 9),
    ] {
        let mut arguments = json!({"room": "a"});
        if let Some(from) = from {
            arguments["from"] = at(from);
        }
        if let Some(before) = before {
            arguments["before"] = at(before);
        }
        let down = bench.pages("messages", arguments.clone(), &ann(), "id").0;
        assert_eq!(down, ids((low..high).rev()), "{arguments}");
        arguments["reverse"] = json!(true);
        let up = bench.pages("messages", arguments.clone(), &ann(), "id").0;
        assert_eq!(up, ids(low..high), "{arguments}");
        // The same through an index that is sorted the other way.
        let up = bench.pages("in_order", arguments.clone(), &ann(), "id").0;
        assert_eq!(up, ids((low..high).rev()), "{arguments}");
    }
}

#[test]
fn what_by_fixes_narrows_the_range() {
    let bench = rooms();
    bench.put("messages", json!({"room": "a", "at": at(7), "id": 70, "words": "x"}));
    bench.put("messages", json!({"room": "a", "at": at(7), "id": 3, "words": "x"}));
    let arguments = json!({"room": "a", "at": at(7)});
    assert_eq!(bench.page("at_once", arguments, &ann(), "id"), ids([3, 7, 70].into_iter()));
    let arguments = json!({"room": "a", "at": at(7), "from": 4, "before": 70});
    assert_eq!(bench.page("at_once", arguments, &ann(), "id"), ids([7].into_iter()));
}

#[test]
fn texts_are_found_by_how_they_start() {
    let bench = rooms();
    let starting = |start: &str| {
        let arguments = json!({"room": "a", "starts": start});
        bench.pages("words", arguments, &ann(), "words").0
    };
    assert_eq!(starting("ap").len(), 10);
    assert_eq!(starting("AP").len(), 10, "folded as the entries are");
    assert_eq!(starting("éc"), vec![json!("ÉCLAIR"); 5]);
    assert_eq!(starting("").len(), 20);
    assert!(starting("apple pie").is_empty());
    let arguments = json!({"room": "a", "from": "B", "before": "c"});
    let found = bench.pages("words", arguments, &ann(), "words").0;
    assert_eq!(found, vec![json!("banana"); 5]);
    let arguments = json!({"room": "a", "starts": "a", "from": "apr"});
    assert_eq!(bench.pages("words", arguments, &ann(), "words").0, vec![json!("apricot"); 5]);
}

#[test]
fn an_index_answers_records_in_its_own_order() {
    let bench = rooms();
    let found = bench.pages("words", json!({"room": "a"}), &ann(), "words").0;
    let words: Vec<&str> = found.iter().map(|word| word.as_str().unwrap()).collect();
    let each = |word| std::iter::repeat_n(word, 5);
    let expected: Vec<&str> =
        each("Apple").chain(each("apricot")).chain(each("banana")).chain(each("ÉCLAIR")).collect();
    assert_eq!(words, expected);
}

#[test]
fn a_covered_list_reads_no_records() {
    let bench = rooms();
    let reply = bench.call("in_order", json!({"room": "a", "limit": 4}), &ann()).unwrap();
    assert_eq!((reply.usage.round_trips, reply.usage.rows_read), (1, 5));
    let page = reply.answer.to_json(bench.runtime.schema()).unwrap();
    assert_eq!(page["rows"][1], json!({"id": 1, "words": "apricot"}));
    let reply = bench.call("words", json!({"room": "a", "limit": 4}), &ann()).unwrap();
    assert_eq!((reply.usage.round_trips, reply.usage.rows_read), (1, 9));
}

#[test]
fn a_limit_is_between_one_and_the_page() {
    let bench = rooms();
    for limit in [json!(0), json!(6), json!(-1), json!("x")] {
        let error = bench.error("messages", json!({"room": "a", "limit": limit}), &ann());
        assert_eq!(error.kind(), ErrorKind::Argument, "{limit}");
        assert_eq!(error.value("argument"), Some("limit"));
    }
    let page =
        |limit: Json| bench.page("messages", json!({"room": "a", "limit": limit}), &ann(), "id");
    assert_eq!(page(json!(2)).len(), 2);
    assert_eq!(page(json!(null)).len(), 5);
}

#[test]
fn the_size_of_a_page_may_change_between_pages() {
    let bench = rooms();
    let first = bench.json("messages", json!({"room": "a", "limit": 2}), &ann());
    let next = json!({"room": "a", "limit": 4, "cursor": first["next"]});
    assert_eq!(bench.page("messages", next, &ann(), "id"), ids((14..18).rev()));
}

#[test]
fn paths_are_found_beneath_whole_elements() {
    let bench = Bench::open(
        r#"
        [collection.files]
        key = "disk:{disk: text} | {path: text..}"
        fields = { size = "u64" }
        expect = { rows_per_group = 1_000 }

        [pattern.write]
        put = "files"
        allow = "user"

        [pattern.files]
        list = "files"
        page = 10
        "#,
    );
    for (size, path) in
        [json!(["a"]), json!(["a", "b"]), json!(["a", "b", "c"]), json!(["ab"]), json!([])]
            .into_iter()
            .enumerate()
    {
        bench.put("files", json!({"disk": "d", "path": path, "size": size}));
    }
    let under =
        |path: Json| bench.page("files", json!({"disk": "d", "under": path}), &ann(), "size");
    assert_eq!(under(json!(["a"])), ids(0..3));
    assert_eq!(under(json!(["a", "b"])), ids(1..3));
    assert_eq!(under(json!(["ab"])), ids(3..4));
    assert_eq!(under(json!(["b"])), ids(0..0));
    assert_eq!(under(json!([])).len(), 5);
    let reverse = json!({"disk": "d", "under": ["a"], "reverse": true});
    assert_eq!(bench.page("files", reverse, &ann(), "size"), ids((0..3).rev()));
}

const PHOTOS: &str = r#"
    [collection.photos]
    key = "photo:{photo_id: u64}"
    fields.made_at = "timestamp"
    fields.title = "text"
    fields.tags = "[text] = []"
    fields.state = "draft|public = 'draft'"
    index.photos_by_tag.key = "tag:{lower(each(tags))} | {made_at desc}"
    index.photos_by_tag.expect = { rows_per_group = 100 }
    index.photos_by_hour.key = "hour:{hour = floor(made_at, '1h')} | {photo_id}"
    index.photos_by_hour.expect = { rows_per_group = 100 }
    index.photos_by_day.key = "day:{taken_on = day(made_at)} | {photo_id}"
    index.photos_by_day.expect = { rows_per_group = 100 }
    index.photos_by_month.key = "month:{taken_in = month(made_at)} | {photo_id}"
    index.photos_by_month.expect = { rows_per_group = 100 }
    index.public_photos.key = "public:{state} | {photo_id desc}"
    index.public_photos.when = "state = 'public'"
    index.public_photos.expect = { rows_per_group = 100 }
    index.photos_by_title = { key = "title:{title}", unique = true }

    [pattern]
    add = { put = "photos", allow = "user" }
    tagged = { list = "photos.photos_by_tag", page = 10 }
    of_hour = { list = "photos.photos_by_hour", page = 10 }
    of_day = { list = "photos.photos_by_day", page = 10 }
    of_month = { list = "photos.photos_by_month", page = 10 }
    public = { list = "photos.public_photos", bind = { state = "'public'" }, page = 10 }
    titled = { list = "photos.photos_by_title", page = 10 }
"#;

fn photos(store: Arc<dyn Store>) -> Bench {
    let bench = Bench::open_on(store, PHOTOS);
    for (id, time, tags, state) in [
        (1, "2026-11-15T10:05:00.000Z", json!(["Sea", "sea", "sun"]), "public"),
        (2, "2026-11-15T10:55:00.000Z", json!(["SUN"]), "draft"),
        (3, "2026-11-15T11:00:00.000Z", json!([]), "public"),
        (4, "2026-12-01T10:30:00.000Z", json!(["sun"]), "public"),
    ] {
        let mut row = json!({"photo_id": id, "made_at": time, "tags": tags, "state": state});
        row["title"] = json!(format!("t{id}"));
        bench.put("photos", row);
    }
    bench
}

#[test]
fn arguments_of_computed_segments_are_computed_alike() {
    let bench = photos(Arc::new(MemoryStore::new()));
    let list = |pattern: &str, arguments: Json| bench.page(pattern, arguments, &ann(), "photo_id");
    assert_eq!(list("tagged", json!({"tags": "sun"})), ids([4, 2, 1].into_iter()));
    assert_eq!(list("tagged", json!({"tags": "SEA"})), ids([1].into_iter()));
    for minute in ["00", "05", "59"] {
        let hour = json!({"hour": format!("2026-11-15T10:{minute}:00.000Z")});
        assert_eq!(list("of_hour", hour), ids(1..3));
    }
    assert_eq!(list("of_day", json!({"taken_on": "2026-11-15"})), ids(1..4));
    assert_eq!(list("of_month", json!({"taken_in": "2026-12"})), ids(4..5));
    assert_eq!(list("public", json!({})), ids([4, 3, 1].into_iter()));
    assert_eq!(list("titled", json!({"title": "t3"})), ids(3..4));
    assert_eq!(list("titled", json!({"title": "t"})), ids(0..0));
}

#[test]
fn an_entry_whose_row_has_moved_on_is_passed_over() {
    let bench = photos(apart());
    let collection = bench.collection("photos");
    // The rows change, their entries stay: what a reader meets between its scan and its fetch.
    let rewrite = |id: u64, row: Json| {
        let (segments, slots) = crate::support::values(&collection, &row);
        let key = collection.key.encode(&segments).unwrap();
        let value = collection.encode(&slots).unwrap();
        assert_eq!(row["photo_id"], json!(id));
        bench.commit(vec![data::store::Write::Put {
            key,
            value,
            expires: None,
            versioned: true,
            trail: None,
        }]);
    };
    let moved = |state: &str, time: &str, tags: Json| {
        let title = "new";
        json!({"photo_id": 4, "made_at": time, "title": title, "tags": tags, "state": state})
    };
    rewrite(4, moved("draft", "2027-01-01T00:00:00.000Z", json!(["moon"])));
    let list = |pattern: &str, arguments: Json| bench.page(pattern, arguments, &ann(), "photo_id");
    assert_eq!(list("tagged", json!({"tags": "sun"})), ids([2, 1].into_iter()));
    assert_eq!(list("of_month", json!({"taken_in": "2026-12"})), ids(0..0));
    assert_eq!(list("public", json!({})), ids([3, 1].into_iter()));
    assert_eq!(list("titled", json!({"title": "t4"})), ids(0..0));
    // One that moved back is there again.
    rewrite(4, moved("public", "2026-12-01T10:30:00.000Z", json!(["Sun"])));
    assert_eq!(list("tagged", json!({"tags": "sun"})), ids([4, 2, 1].into_iter()));
    let schema = bench.runtime.schema();
    let key = schema.collection("photos").unwrap().key.encode(&[data::Value::U64(4)]).unwrap();
    bench.commit(vec![data::store::Write::Delete { key }]);
    assert_eq!(list("tagged", json!({"tags": "sun"})), ids([2, 1].into_iter()));
}

const SESSIONS: &str = r#"
    [collection.sessions]
    key = "user:{user: text}:sessions | {id: u64}"
    fields = { words = "text" }
    ttl = "1h"
    expect = { rows_per_group = 1_000 }
    index.sessions_by_words = { key = "words:{words} | {id}", expect = { rows_per_group = 1_000 } }

    [pattern.open]
    put = "sessions"
    allow = "user"

    [pattern.sessions]
    list = "sessions"
    page = 4

    [pattern.by_words]
    list = "sessions.sessions_by_words"
    page = 4
"#;

#[test]
fn rows_that_ended_are_passed_over_within_bounds() {
    let bench = Bench::open(SESSIONS);
    for id in 0..60 {
        let row = json!({"user": "u", "id": id, "words": "w"});
        // Long stretches of rows that end, and a few that stay between them.
        let expires = if id % 20 == 19 { NOW + 10_000_000 } else { NOW + 1_000 };
        bench.put_until("sessions", row, expires);
    }
    let all = |pattern: &str, arguments: Json| bench.pages(pattern, arguments, &ann(), "id");
    assert_eq!(all("sessions", json!({"user": "u"})), (ids(0..60), 15));
    assert_eq!(all("by_words", json!({"words": "w"})), (ids(0..60), 15));
    bench.clock.advance(1_000);
    for (pattern, arguments) in
        [("sessions", json!({"user": "u"})), ("by_words", json!({"words": "w"}))]
    {
        let (found, pages) = all(pattern, arguments.clone());
        assert_eq!(found, ids([19, 39, 59].into_iter()));
        // 16 reads a page: some pages are short, or empty, and still not the last.
        assert!(pages > 1, "{pages}");
        let mut reverse = arguments.clone();
        reverse["reverse"] = json!(true);
        assert_eq!(all(pattern, reverse).0, ids([59, 39, 19].into_iter()));
        let first = bench.json(pattern, arguments, &ann());
        assert!(first["rows"].as_array().unwrap().is_empty());
        assert!(!first["next"].is_null());
    }
}

#[test]
fn rows_that_were_swept_change_nothing() {
    let bench = Bench::open(SESSIONS);
    for id in 0..10 {
        let row = json!({"user": "u", "id": id, "words": "w"});
        bench.put_until("sessions", row, NOW + 1_000 * (id + 1));
    }
    let first = bench.json("sessions", json!({"user": "u", "limit": 2}), &ann());
    bench.clock.advance(5_000);
    block_on(bench.runtime.store().sweep(NOW + 5_000, 100)).unwrap();
    let next = json!({"user": "u", "cursor": first["next"]});
    let (rest, _) = bench.pages("sessions", next, &ann(), "id");
    assert_eq!(rest, ids(5..10));
}

#[test]
fn a_page_of_large_rows_ends_early_and_goes_on() {
    let bench = Bench::open(
        r#"
        [collection.blobs]
        key = "blobs:{of: text} | {id: u64}"
        value = "text"
        expect = { rows_per_group = 100 }

        [pattern.write]
        put = "blobs"
        allow = "user"

        [pattern.blobs]
        list = "blobs"
        page = 100
        "#,
    );
    let large = "x".repeat(1_000_000);
    for id in 0..20 {
        bench.put("blobs", json!({"of": "a", "id": id, "value": large}));
    }
    let page = bench.json("blobs", json!({"of": "a"}), &ann());
    assert!(page["rows"].as_array().unwrap().len() < 20);
    assert!(!page["next"].is_null());
    assert_eq!(bench.pages("blobs", json!({"of": "a"}), &ann(), "id").0, ids(0..20));
}

/// Rows that nobody touches come exactly once, in both directions, whatever happens to others.
#[test]
fn paging_under_changes_answers_untouched_rows_once() {
    for seed in 0..20u64 {
        let bench = Bench::open(SESSIONS);
        let chance = data::clock::SeededRandom::new(seed);
        let put = |id: u64| {
            let row = json!({"user": "u", "id": id, "words": "w"});
            bench.put_until("sessions", row, NOW + 10_000_000);
        };
        (0..100).for_each(|id| put(id * 10));
        let untouched: Vec<u64> = (0..100).filter(|id| id % 3 != 0).map(|id| id * 10).collect();
        for (pattern, by) in
            [("sessions", json!({"user": "u"})), ("by_words", json!({"words": "w"}))]
        {
            for reverse in [false, true] {
                let mut arguments = by.clone();
                arguments["reverse"] = json!(reverse);
                let mut seen: Vec<u64> = Vec::new();
                loop {
                    arguments["limit"] = json!(1 + chance.number() % 4);
                    let page = bench.json(pattern, arguments.clone(), &ann());
                    let rows = page["rows"].as_array().unwrap();
                    seen.extend(rows.iter().map(|row| row["id"].as_u64().unwrap()));
                    if page["next"].is_null() {
                        break;
                    }
                    arguments["cursor"] = page["next"].clone();
                    for _ in 0..3 {
                        let id = chance.number() % 1_000;
                        match (id % 30, chance.number() % 2) {
                            (0, 0) => put(id),
                            (0, _) => {
                                let row = json!({"user": "u", "id": id, "words": "w"});
                                bench.remove("sessions", row);
                            }
                            (number, _) if number % 10 != 0 => put(id),
                            _ => {}
                        }
                    }
                }
                let mut sorted = seen.clone();
                sorted.sort_unstable();
                if reverse {
                    sorted.reverse();
                }
                assert_eq!(seen, sorted, "seed {seed}: in order");
                sorted.dedup();
                assert_eq!(seen.len(), sorted.len(), "seed {seed}: none twice");
                for id in &untouched {
                    assert!(seen.contains(id), "seed {seed}: {id} is missing");
                }
            }
        }
    }
}

#[test]
fn a_bound_may_depend_on_the_time() {
    let bench = Bench::open(
        r#"
        [collection.jobs]
        key = "queue:{queue: text} | {due: timestamp}:{id: u64}"
        fields = { words = "text = ''" }
        expect = { rows_per_group = 1_000 }

        [pattern.add]
        put = "jobs"
        allow = "user"

        [pattern.due]
        list = "jobs"
        bind = { before = "now" }
        page = 2
        "#,
    );
    let clock =
        ["2026-11-15T09:59:58.000Z", "2026-11-15T09:59:59.000Z", "2026-11-15T10:00:00.000Z"];
    for (id, due) in clock.iter().enumerate() {
        bench.put("jobs", json!({"queue": "q", "due": due, "id": id}));
    }
    let from = bench.json("due", json!({"queue": "q", "limit": 1}), &ann());
    assert_eq!(bench.pages("due", json!({"queue": "q"}), &ann(), "id").0, ids(0..2));
    // A cursor holds although the bound has moved.
    bench.clock.advance(1_000);
    let next = json!({"queue": "q", "cursor": from["next"]});
    assert_eq!(bench.pages("due", next, &ann(), "id").0, ids(1..3));
}

#[test]
fn nobody_reads_what_is_not_public() {
    let bench = rooms();
    let error = bench.error("messages", json!({"room": "a"}), &Caller::nobody());
    assert_eq!(error.kind(), ErrorKind::Denied);
}

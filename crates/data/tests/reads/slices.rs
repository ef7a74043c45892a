//! Groups that are cut in time slices, and entries that lie apart, on a group-atomic store.

use crate::support::{Bench, ann};
use data::clock::SeededRandom;
use data::memory::PartitionedMemory;
use data::store::Write;
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn rooms(time: &str) -> String {
    format!(
        r#"
    [collection.messages]
    key = "room:{{room: text}} | {{at: {time}}}:{{id: u64}}"
    fields = {{ words = "text = ''", author = "text = ''" }}
    bucket = {{ by = "at", every = "1h" }}
    expect = {{ rows_per_day = 100 }}
    index.by_author.key = "author:{{author}} | {{at desc}}"
    index.by_author.bucket = {{ by = "at", every = "2h" }}
    index.by_author.expect = {{ rows_per_day = 100 }}

    [pattern.say]
    put = "messages"
    allow = "user"

    [pattern.correct]
    update = "messages"
    set = ["words"]
    allow = "user"

    [pattern.messages]
    list = "messages"
    page = 4

    [pattern.of_author]
    list = "messages.by_author"
    page = 4

    [pattern.at_once]
    list = "messages"
    by = ["room", "at"]
    page = 4
"#
    )
}

/// Hours of 2026-11 with a message, in minutes since its begin, in order.
fn minutes(seed: u64) -> Vec<i64> {
    let random = SeededRandom::new(seed);
    let mut minute = 0;
    let mut all = Vec::new();
    for _ in 0..60 {
        // Now a few in one slice, now many empty slices between two.
        minute +=
            1 + (random.number() % 10 * (random.number() % 2) * 60 + random.number() % 30) as i64;
        all.push(minute);
    }
    all
}

fn at(minute: i64) -> Json {
    let (day, rest) = (1 + minute / 1_440, minute % 1_440);
    json!(format!("2026-11-{day:02}T{:02}:{:02}:00.000Z", rest / 60, rest % 60))
}

fn filled(text: &str, seed: u64) -> (Bench, Vec<i64>) {
    let bench = Bench::open_on(Arc::new(PartitionedMemory::new()), text);
    let minutes = minutes(seed);
    for minute in &minutes {
        let row = json!({"room": "r", "at": at(*minute), "id": minute, "author": "ann"});
        bench.put("messages", row);
    }
    bench.put("messages", json!({"room": "s", "at": at(5), "id": 5, "author": "bob"}));
    (bench, minutes)
}

fn ids<'m>(minutes: impl Iterator<Item = &'m i64>) -> Vec<Json> {
    minutes.map(|minute| json!(minute)).collect()
}

#[test]
fn slices_are_walked_in_both_directions() {
    for (time, seed) in [("timestamp", 1), ("timestamp desc", 2), ("timestamp", 3)] {
        let (bench, minutes) = filled(&rooms(time), seed);
        let descending = time.ends_with("desc");
        for (pattern, by, latest_first) in [
            ("messages", json!({"room": "r"}), descending),
            ("of_author", json!({"author": "ann"}), true),
        ] {
            for reverse in [false, true] {
                for (from, before) in
                    [(None, None), (Some(20), None), (None, Some(40)), (Some(10), Some(50))]
                {
                    let mut arguments = by.clone();
                    arguments["reverse"] = json!(reverse);
                    let (low, high) = (from.unwrap_or(0), before.unwrap_or(minutes.len()));
                    if let Some(from) = from {
                        arguments["from"] = at(minutes[from]);
                    }
                    if let Some(before) = before {
                        arguments["before"] = at(minutes[before]);
                    }
                    let mut expected = ids(minutes[low..high].iter());
                    if latest_first != reverse {
                        expected.reverse();
                    }
                    let (found, _) = bench.pages(pattern, arguments.clone(), &ann(), "id");
                    assert_eq!(found, expected, "seed {seed}, {pattern}: {arguments}");
                }
            }
        }
    }
}

#[test]
fn only_slices_that_are_there_are_read() {
    let text = rooms("timestamp");
    let bench = Bench::open_on(Arc::new(PartitionedMemory::new()), &text);
    for minute in [0, 20_000, 40_000] {
        let row = json!({"room": "r", "at": at(minute), "id": minute, "author": "ann"});
        bench.put("messages", row);
    }
    let reply = bench.call("messages", json!({"room": "r"}), &ann()).unwrap();
    // The directory, and three slices over four weeks.
    assert_eq!(reply.usage.round_trips, 4);
    let page = reply.answer.to_json(bench.runtime.schema()).unwrap();
    assert_eq!(page["rows"].as_array().unwrap().len(), 3);
    assert!(page["next"].is_null());
    // One instant lies in one slice.
    let usage =
        bench.call("at_once", json!({"room": "r", "at": at(20_000)}), &ann()).unwrap().usage;
    assert_eq!((usage.round_trips, usage.rows_read), (1, 1));
}

#[test]
fn slices_that_hold_nothing_any_more_end_pages_but_not_lists() {
    let text = rooms("timestamp");
    let bench = Bench::open_on(Arc::new(PartitionedMemory::new()), &text);
    let row = |hour: i64| json!({"room": "r", "at": at(hour * 60), "id": hour, "author": "ann"});
    (0..40).for_each(|hour| bench.put("messages", row(hour)));
    (1..39).for_each(|hour| bench.remove("messages", row(hour)));
    for reverse in [false, true] {
        let arguments = json!({"room": "r", "reverse": reverse});
        let (mut found, pages) = bench.pages("messages", arguments, &ann(), "id");
        if reverse {
            found.reverse();
        }
        assert_eq!(found, [json!(0), json!(39)]);
        assert_eq!(pages, 5, "eight slices a page");
    }
    let (found, _) = bench.pages("of_author", json!({"author": "ann"}), &ann(), "id");
    assert_eq!(found, [json!(39), json!(0)]);
}

#[test]
fn entries_apart_are_true_only_if_their_row_says_so() {
    let (bench, minutes) = filled(&rooms("timestamp"), 4);
    let author = |author: &str| bench.pages("of_author", json!({"author": author}), &ann(), "id").0;
    assert_eq!(author("ann").len(), minutes.len());
    for minute in &minutes[..10] {
        let row = json!({"room": "r", "at": at(*minute), "id": minute, "author": "eve"});
        bench.put("messages", row);
    }
    let mut expected = ids(minutes[10..].iter());
    expected.reverse();
    assert_eq!(author("ann"), expected);
    let mut expected = ids(minutes[..10].iter());
    expected.reverse();
    assert_eq!(author("eve"), expected);
}

#[test]
fn every_type_of_time_is_cut_alike() {
    for (time, text) in [
        ("ulid", |n: i64| {
            let ms = 1_794_736_800_000u128 + n as u128 * 1_000_000;
            let bytes = ((ms << 80) | n as u128).to_be_bytes();
            data::Value::Ulid(bytes).to_json(&keyspace::model::Type::Ulid)
        }),
        ("date", |n: i64| data::Value::Date(n as i32 - 20).to_json(&keyspace::model::Type::Date)),
        ("timeuuid", |n: i64| {
            let ticks = (1_794_736_800_000u64 + 12_219_292_800_000 + n as u64 * 1_000_000) * 10_000;
            let [h0, h1, m0, m1, l0, l1, l2, l3] = ticks.to_be_bytes();
            let node = [0x80 | n as u8 & 0x3f, 0xff, 0, 0x80, 0x7f, 1, 2, n as u8];
            let [a, b, c, d, e, f, g, h] = node;
            let bytes = [l0, l1, l2, l3, m0, m1, h0 | 0x10, h1, a, b, c, d, e, f, g, h];
            data::Value::TimeUuid(bytes).to_json(&keyspace::model::Type::TimeUuid)
        }),
    ] as [(&str, fn(i64) -> Json); 3]
    {
        for direction in ["", " desc"] {
            let text_of = text;
            let every = if time == "date" { "every = \"2d\"" } else { "every = \"36h\"" };
            let file = rooms(&format!("{time}{direction}"));
            let file = file.replace("every = \"1h\"", every).replace("every = \"2h\"", every);
            let bench = Bench::open_on(Arc::new(PartitionedMemory::new()), &file);
            for n in 0..50 {
                bench.put(
                    "messages",
                    json!({"room": "r", "at": text_of(n), "id": n, "author": "a"}),
                );
            }
            let (mut found, _) = bench.pages("messages", json!({"room": "r"}), &ann(), "id");
            if !direction.is_empty() {
                found.reverse();
            }
            let all: Vec<Json> = (0..50).map(|n| json!(n)).collect();
            assert_eq!(found, all, "{time}{direction}");
            let arguments = json!({"room": "r", "from": text_of(13), "before": text_of(37)});
            let (mut found, _) = bench.pages("messages", arguments, &ann(), "id");
            if !direction.is_empty() {
                found.reverse();
            }
            assert_eq!(found, all[13..37], "{time}{direction}");
        }
    }
}

#[test]
fn claims_apart_are_true_only_if_their_row_says_so() {
    let bench = Bench::open_on(
        Arc::new(PartitionedMemory::new()),
        r#"
        [collection.users]
        key = "user:{user_id: u64}"
        fields = { email = "text", name = "text" }
        index.users_by_email = { key = "email:{lower(email)}", unique = true, keep = ["name"] }

        [pattern.add_user]
        insert = "users"
        allow = "user"

        [pattern.find_user]
        get = "users.users_by_email"

        [pattern.find_names]
        get = "users.users_by_email"
        fields = ["name"]
        many = 3
        "#,
    );
    let put = |id: u64, email: &str| {
        bench.put("users", json!({"user_id": id, "email": email, "name": email}));
    };
    put(1, "Ann@x");
    put(2, "bob@x");
    let find = |email: &str| {
        bench.json("find_user", json!({"email": email}), &ann())["row"]["user_id"].clone()
    };
    assert_eq!(find("ANN@X"), json!(1));
    put(1, "eve@x");
    assert_eq!((find("ann@x"), find("eve@x"), find("bob@x")), (json!(null), json!(1), json!(2)));
    let rows = json!({"rows": [{"email": "eve@x"}, {"email": "ann@x"}, {"email": "bob@x"}]});
    let reply = bench.call("find_names", rows, &ann()).unwrap();
    // The claim keeps the name, but only the row says whether the claim is true.
    assert_eq!(reply.usage.round_trips, 2);
    let names = reply.answer.to_json(bench.runtime.schema()).unwrap();
    assert_eq!(names, json!({"rows": [{"name": "eve@x"}, null, {"name": "bob@x"}]}));
    bench.remove("users", json!({"user_id": 1, "email": "eve@x", "name": "eve@x"}));
    assert_eq!(find("eve@x"), json!(null));
}

#[test]
fn entries_of_plain_rows_are_the_answer_where_they_hold_it() {
    let bench = Bench::open_on(
        Arc::new(PartitionedMemory::new()),
        r#"
        [collection.events]
        key = "event:{event_id: ulid = new}"
        fields = { kind = "text", words = "text" }
        immutable = true
        index.by_kind.key = "kind:{kind} | {event_id}"
        index.by_kind.keep = ["words"]
        index.by_kind.expect = { rows_per_group = 1_000 }

        [pattern.add]
        insert = "events"
        allow = "user"

        [pattern.of_kind]
        list = "events.by_kind"
        fields = ["words"]
        page = 10
        "#,
    );
    for n in 0..15u128 {
        let id = data::Value::Ulid(n.to_be_bytes()).to_json(&keyspace::model::Type::Ulid);
        bench.put("events", json!({"event_id": id, "kind": "k", "words": n.to_string()}));
    }
    let usage = bench.call("of_kind", json!({"kind": "k"}), &ann()).unwrap().usage;
    assert_eq!((usage.round_trips, usage.rows_read), (1, 11));
    let (words, _) = bench.pages("of_kind", json!({"kind": "k"}), &ann(), "words");
    let expected: Vec<Json> = (0..15).map(|n| json!(n.to_string())).collect();
    assert_eq!(words, expected);
}

#[test]
fn circles_are_exact_although_entries_lie_apart() {
    let bench = Bench::open_on(
        Arc::new(PartitionedMemory::new()),
        r#"
        [collection.places]
        key = "place:{id: u64}"
        fields = { lat = "f64", lon = "f64" }
        index.by_cell.key = "cell:{area = cell(lat, lon, 10)} | {id}"
        index.by_cell.keep = ["lat", "lon"]
        index.by_cell.expect = { rows_per_group = 100 }

        [pattern.move]
        update = "places"
        set = ["lat", "lon"]
        allow = "user"

        [pattern.around]
        near = "places.by_cell"
        max_radius = 10_000
        page = 10
        "#,
    );
    let put = |id: u64, lat: f64| bench.put("places", json!({"id": id, "lat": lat, "lon": 9.0}));
    (0..30).for_each(|id| put(id, 48.0 + id as f64 / 1_000.0));
    // Moved far away, and nearer than all others.
    put(0, 10.0);
    put(20, 48.0);
    let arguments = json!({"lat": 48.0, "lon": 9.0, "radius": 1_000.0});
    let found = bench.page("around", arguments, &ann(), "id");
    assert_eq!(found[..3], [json!(20), json!(1), json!(2)]);
}

#[test]
fn what_no_row_holds_is_passed_over_and_left_to_the_cleaner() {
    let bench = Bench::open_on(
        Arc::new(PartitionedMemory::new()),
        r#"
        [collection.users]
        key = "user:{user_id: u64}"
        fields = { email = "text", town = "text" }
        index.users_by_email = { key = "email:{email}", unique = true }
        index.users_by_town = { key = "town:{town} | {user_id}", expect = { rows_per_group = 100 } }

        [pattern.add_user]
        insert = "users"
        allow = "user"

        [pattern.find_user]
        get = "users.users_by_email"

        [pattern.of_town]
        list = "users.users_by_town"
        page = 10
        "#,
    );
    let row = |id: u64| json!({"user_id": id, "email": format!("{id}@x"), "town": "t"});
    (1..4).for_each(|id| bench.put("users", row(id)));
    let town = || bench.page("of_town", json!({"town": "t"}), &ann(), "user_id");
    let find =
        |email: &str| bench.json("find_user", json!({"email": email}), &ann())["row"].clone();
    assert_eq!(town().len(), 3);
    // The same row again, by an attempt that held no entries: those that lie there are not its own.
    let collection = bench.collection("users");
    let (segments, slots) = crate::support::values(&collection, &row(2));
    bench.commit(vec![Write::Put {
        key: collection.key.encode(&segments).unwrap(),
        value: collection.encode(&slots).unwrap(),
        expires: None,
        versioned: true,
        trail: Some(Box::default()),
    }]);
    assert_eq!(town(), [json!(1), json!(3)]);
    assert_eq!(find("2@x"), json!(null));
    assert_eq!(find("3@x")["user_id"], json!(3));
    assert_eq!(bench.runtime.shared().take_orphans(10).len(), 2);
}

//! What goes wrong in systems of this kind, by the names of `hazards`: indexes (X) and writes (W).

use crate::world::{World, worlds};
use data::error::ErrorKind;
use serde_json::json;

const FILE: &str = r#"
    [collection.users]
    key = "user:{user: text}"
    fields.email = "text"
    fields.name = "text = ''"
    fields.tags = "[text] = []"
    fields.seen_at = "timestamp = touch"
    fields.ends = "timestamp?"
    ttl = "ends"
    index.by_email = { key = "email:{lower(email)}", unique = true }
    index.tagged = { key = "tag:{each(tags)} | {user}", expect = { rows_per_group = 1000 } }
    index.recent = { key = "all:recent | {seen_at desc}", expect = { rows_per_group = 1000 } }

    [collection.hits]
    key = "hit:{page: text}"
    value = "counter"
    ttl = "10s"

    [collection.rate]
    key = "rate:{client: text}"
    value = "window"
    limit = 5
    per = "1s"

    [collection.scores]
    key = "score:{user: text}"
    fields = { sum = "i64 = 0", count = "u64 = 0" }
    ttl = "10s"

    [pattern.sign_up]
    insert = "users"
    allow = "user"
    [pattern.replace]
    put = "users"
    allow = "user"
    [pattern.edit]
    update = "users"
    set = ["email", "name", "tags", "ends"]
    if_version = true
    allow = "user"
    [pattern.leave]
    delete = "users"
    allow = "user"
    [pattern.user]
    get = "users"
    [pattern.by_email]
    get = "users.by_email"
    [pattern.tagged]
    list = "users.tagged"
    page = 100
    [pattern.recent]
    list = "users.recent"
    page = 100
    [pattern.hit]
    add = "hits"
    allow = "user"
    [pattern.hits]
    get = "hits"
    [pattern.request]
    add = "rate"
    allow = "user"
    [pattern.score]
    update = "scores"
    compute = { sum = "sum + $points", count = "count + 1" }
    arguments = { points = "i64" }
    missing = "create"
    allow = "user"
    [pattern.more]
    add = "scores.sum"
    allow = "user"
    [pattern.scores]
    get = "scores"
"#;

fn found(world: &World, email: &str) -> serde_json::Value {
    world.ok("by_email", json!({ "email": email }))["row"]["user"].clone()
}

fn tagged(world: &World, tag: &str) -> usize {
    world.ok("tagged", json!({ "tags": tag }))["rows"].as_array().unwrap().len()
}

/// The indexes change with their row or not at all: the commit is one, and a commit that does not
/// happen leaves nothing behind. What a crash between the steps of a group-atomic store leaves is
/// the protocol's own test.
#[test]
fn x1_an_index_is_never_updated_apart_from_its_row() {
    for world in worlds(FILE) {
        world.ok("sign_up", json!({ "user": "a", "email": "a@x", "tags": ["t"] }));
        let (kind, _) =
            world.fails("sign_up", json!({ "user": "b", "email": "A@X", "tags": ["t"] }));
        assert_eq!(kind, ErrorKind::Taken);
        assert_eq!(tagged(&world, "t"), 1);
        assert_eq!(world.live_rows("users"), 1);
    }
}

#[test]
fn x2_a_partial_update_leaves_no_old_entry() {
    for world in worlds(FILE) {
        world.ok("sign_up", json!({ "user": "a", "email": "a@x", "tags": ["one", "two"] }));
        world.ok("edit", json!({ "user": "a", "email": "b@x" }));
        assert_eq!(found(&world, "a@x"), json!(null));
        assert_eq!(found(&world, "b@x"), "a");
        assert_eq!([tagged(&world, "one"), tagged(&world, "two")], [1, 1], "the others stay");
        world.ok("edit", json!({ "user": "a", "tags": ["two", "two"] }));
        assert_eq!([tagged(&world, "one"), tagged(&world, "two")], [0, 1]);
        world.ok("sign_up", json!({ "user": "b", "email": "a@x" }));
    }
}

#[test]
fn x3_a_unique_value_has_one_winner() {
    for world in worlds(FILE) {
        let workers: Vec<_> = (0..6)
            .map(|number| {
                let world = world.clone();
                std::thread::spawn(move || {
                    let user = json!({ "user": format!("u{number}"), "email": "same@x" });
                    loop {
                        match world.call("sign_up", user.clone()) {
                            Ok(_) => return 1,
                            Err(error) if error.kind() == ErrorKind::Taken => return 0,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
                        }
                    }
                })
            })
            .collect();
        let winners: i32 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!(winners, 1, "on {}", world.kind());
        assert_eq!(world.live_rows("users"), 1);
    }
}

#[test]
fn x4_a_delete_leaves_no_orphans() {
    for world in worlds(FILE) {
        world.ok("sign_up", json!({ "user": "a", "email": "a@x", "tags": ["one", "two"] }));
        world.ok("leave", json!({ "user": "a" }));
        for index in ["users.by_email", "users.tagged", "users.recent"] {
            assert_eq!(world.live_rows(index), 0, "{index} on {}", world.kind());
        }
    }
}

#[test]
fn x5_tags_and_recent_entries_are_removed() {
    for world in worlds(FILE) {
        world.ok("sign_up", json!({ "user": "a", "email": "a@x", "tags": ["one"] }));
        for number in 0..5 {
            world.clock.advance(1_000);
            world.ok(
                "edit",
                json!({ "user": "a", "name": format!("{number}"), "tags": [format!("t{number}")] }),
            );
        }
        assert_eq!(world.ok("recent", json!({}))["rows"].as_array().unwrap().len(), 1);
        assert_eq!(world.live_rows("users.recent"), 1);
        assert_eq!(world.live_rows("users.tagged"), 1);
        world.ok("replace", json!({ "user": "a", "email": "a@x" }));
        assert_eq!(world.live_rows("users.tagged"), 0);
    }
}

#[test]
fn w1_a_counter_and_its_end_are_one_step() {
    for world in worlds(FILE) {
        let before =
            world.reply(&data::caller::Caller::user("ann"), "hit", json!({ "page": "p" }), None);
        assert_eq!(before.unwrap().usage.rows_written, 1);
        world.clock.advance(10_000);
        assert_eq!(world.ok("hits", json!({ "page": "p" }))["row"]["value"], 0);
    }
}

#[test]
fn w2_a_window_counts_every_request_of_an_instant_and_no_refused_one() {
    for world in worlds(FILE) {
        let allowed =
            |_: i32| world.ok("request", json!({ "client": "c" }))["allowed"] == json!(true);
        assert_eq!((0..9).filter(|number| allowed(*number)).count(), 5);
        world.clock.advance(1_000);
        assert_eq!((0..9).filter(|number| allowed(*number)).count(), 5);
    }
}

#[test]
fn w3_an_expired_row_is_not_brought_back_by_adding_to_it() {
    for world in worlds(FILE) {
        world.ok("score", json!({ "user": "u", "points": 5 }));
        world.clock.advance(10_000);
        assert_eq!(world.fails("more", json!({ "user": "u" })).0, ErrorKind::NotFound);
        let anew = world.ok("score", json!({ "user": "u", "points": 1 }));
        assert_eq!(anew["row"]["sum"], 1, "nothing of the old row is left");
        world.clock.advance(10_000);
        assert_eq!(world.ok("scores", json!({ "user": "u" }))["row"], json!(null), "and it ends");
    }
}

#[test]
fn w4_a_version_never_comes_back() {
    for world in worlds(FILE) {
        let first = world.ok("sign_up", json!({ "user": "a", "email": "a@x" }));
        world.ok("leave", json!({ "user": "a" }));
        world.ok("sign_up", json!({ "user": "a", "email": "a@x" }));
        let stale = json!({ "user": "a", "name": "x", "if_version": first["version"] });
        assert_eq!(world.fails("edit", stale).0, ErrorKind::Conflict);
        // Creating what is there is a conflict, never a quiet overwrite.
        let again = json!({ "user": "a", "email": "other@x" });
        assert_eq!(world.fails("sign_up", again).0, ErrorKind::Conflict);
        assert_eq!(found(&world, "a@x"), "a");
    }
}

#[test]
fn w5_a_retry_after_a_lost_reply_applies_nothing_twice() {
    for world in worlds(FILE) {
        let id = world.id();
        let score = json!({ "user": "u", "points": 5 });
        world.with_id(id, "score", score.clone()).unwrap();
        let again = world.with_id(id, "score", score).unwrap();
        assert_eq!(again["row"]["sum"], 5);
        assert_eq!(again["row"]["count"], 1);
    }
}

#[test]
fn w7_an_average_is_a_sum_and_a_count() {
    for world in worlds(FILE) {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let world = world.clone();
                std::thread::spawn(move || {
                    let mut done = 0;
                    while done < 10 {
                        match world.call("score", json!({ "user": "u", "points": 3 })) {
                            Ok(_) => done += 1,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let row = world.ok("scores", json!({ "user": "u" }))["row"].clone();
        if row.is_null() {
            // Waiting moves the clock of these tests, and the row ended meanwhile.
            continue;
        }
        let count = row["count"].as_i64().unwrap();
        assert_eq!(row["sum"], count * 3);
    }
}

#[test]
fn w8_an_end_is_judged_at_every_read_and_write() {
    for world in worlds(FILE) {
        let ends = "2026-11-15T12:00:01.000Z";
        world.ok("sign_up", json!({ "user": "a", "email": "a@x", "tags": ["t"], "ends": ends }));
        world.clock.advance(999);
        assert_eq!(
            world.fails("sign_up", json!({ "user": "b", "email": "a@x" })).0,
            ErrorKind::Taken
        );
        world.clock.advance(1);
        // No sweep has run: the row is gone all the same, and its value is free.
        assert_eq!(world.ok("user", json!({ "user": "a" }))["row"], json!(null));
        assert_eq!(tagged(&world, "t"), 0);
        world.ok("sign_up", json!({ "user": "b", "email": "a@x" }));
        assert_eq!(found(&world, "a@x"), "b");
        // The old owner comes back without its value.
        let (kind, _) = world.fails("sign_up", json!({ "user": "a", "email": "a@x" }));
        assert_eq!(kind, ErrorKind::Taken);
        world.ok("sign_up", json!({ "user": "a", "email": "c@x" }));
        assert_eq!(found(&world, "a@x"), "b");
    }
}

#[test]
fn w9_what_is_published_again_keeps_its_count() {
    for world in worlds(FILE) {
        world.ok("score", json!({ "user": "u", "points": 2 }));
        let row = world.ok("score", json!({ "user": "u", "points": 3 }))["row"].clone();
        assert_eq!((&row["sum"], &row["count"]), (&json!(5), &json!(2)));
    }
}

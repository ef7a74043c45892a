//! `add`: counters, windows, numbers in rows.

use crate::world::{World, worlds};
use data::error::ErrorKind;
use serde_json::{Value as Json, json};

const COUNTED: &str = r#"
    [collection.stats]
    key = "stat:{name: text}"
    value = "counter"

    [collection.daily]
    key = "daily:{name: text}"
    value = "counter"
    ttl = "1d"

    [collection.rate]
    key = "rate:{client: text}"
    value = "window"
    limit = 3
    per = "10s"

    [collection.accounts]
    key = "account:{account: text}"
    fields.balance = "i64 = 0"
    fields.seen = "u64 = 0"
    fields.closed = "bool = false"
    fields.at = "timestamp = touch"

    [pattern.count]
    add = "stats"
    allow = "user"
    [pattern.stat]
    get = "stats"
    [pattern.forget]
    delete = "stats"
    allow = "user"
    [pattern.count_daily]
    add = "daily"
    allow = "user"
    [pattern.today]
    get = "daily"
    [pattern.request]
    add = "rate"
    allow = "user"
    [pattern.open]
    insert = "accounts"
    allow = "user"
    [pattern.move]
    add = "accounts.balance"
    if = "not closed"
    if_version = true
    allow = "user"
    [pattern.see]
    add = "accounts.seen"
    allow = "user"
    [pattern.account]
    get = "accounts"
"#;

fn request(world: &World, amount: i64) -> Json {
    world.ok("request", json!({ "client": "c", "amount": amount }))
}

#[test]
fn counters_are_exact_and_begin_at_nothing() {
    for world in worlds(COUNTED) {
        assert_eq!(world.ok("count", json!({ "name": "a" })), json!({ "total": 1 }));
        assert_eq!(world.ok("count", json!({ "name": "a", "amount": 41 })), json!({ "total": 42 }));
        assert_eq!(
            world.ok("count", json!({ "name": "a", "amount": -50 })),
            json!({ "total": -8 })
        );
        assert_eq!(world.ok("stat", json!({ "name": "a" }))["row"]["value"], -8);
        world.ok("forget", json!({ "name": "a" }));
        assert_eq!(world.ok("count", json!({ "name": "a" })), json!({ "total": 1 }));
        assert_eq!(
            world.fails("count", json!({ "name": "a", "amount": null })).0,
            ErrorKind::Argument
        );
    }
}

#[test]
fn an_overflow_changes_nothing() {
    for world in worlds(COUNTED) {
        world.ok("count", json!({ "name": "a", "amount": i64::MAX }));
        let (kind, text) = world.fails("count", json!({ "name": "a" }));
        assert_eq!(kind, ErrorKind::Overflow);
        assert!(text.contains("collection: stats"), "{text}");
        let total = world.ok("count", json!({ "name": "a", "amount": 0 }));
        assert_eq!(total, json!({ "total": i64::MAX.to_string() }), "larger than JSON's numbers");
    }
}

#[test]
fn a_counter_ends_when_its_creation_says() {
    for world in worlds(COUNTED) {
        world.ok("count_daily", json!({ "name": "a" }));
        world.clock.advance(86_399_999);
        assert_eq!(world.ok("count_daily", json!({ "name": "a" })), json!({ "total": 2 }));
        world.clock.advance(1);
        assert_eq!(world.ok("today", json!({ "name": "a" }))["row"]["value"], 0);
        assert_eq!(world.ok("count_daily", json!({ "name": "a" })), json!({ "total": 1 }));
    }
}

#[test]
fn a_window_refuses_what_goes_over_and_does_not_count_it() {
    for world in worlds(COUNTED) {
        let resets = "2026-11-15T12:00:10.000Z";
        let answer = |allowed: bool, remaining: i64| {
            let mut answer = json!({ "allowed": allowed, "remaining": remaining });
            answer["resets_at"] = json!(resets);
            answer
        };
        assert_eq!(request(&world, 1), answer(true, 2));
        world.clock.advance(1_000);
        assert_eq!(request(&world, 3), answer(false, 2));
        assert_eq!(request(&world, 2), answer(true, 0));
        assert_eq!(request(&world, 1), answer(false, 0));
        world.clock.advance(8_999);
        assert_eq!(request(&world, 1), answer(false, 0), "the end does not move");
        world.clock.advance(1);
        assert_eq!(request(&world, 3)["allowed"], true);
        // Giving back would let a caller choose its own limit.
        let back = json!({ "client": "c", "amount": -3 });
        assert_eq!(world.fails("request", back).0, ErrorKind::Argument);
    }
}

#[test]
fn a_number_of_a_row_is_added_to_in_place() {
    for world in worlds(COUNTED) {
        assert_eq!(world.fails("move", json!({ "account": "a" })).0, ErrorKind::NotFound);
        let opened = world.ok("open", json!({ "account": "a" }));
        world.clock.advance(1_000);
        let moved = world.ok("move", json!({ "account": "a", "amount": -7 }));
        assert_eq!(moved["row"]["balance"], -7);
        assert_eq!(moved["row"]["at"], "2026-11-15T12:00:01.000Z");
        assert_ne!(moved["version"], opened["version"]);
        let stale = json!({ "account": "a", "if_version": opened["version"] });
        assert_eq!(world.fails("move", stale).0, ErrorKind::Conflict);
        for (pattern, amount) in [("see", -1), ("move", i64::MIN)] {
            let (kind, _) = world.fails(pattern, json!({ "account": "a", "amount": amount }));
            assert_eq!(kind, ErrorKind::Overflow);
        }
        let row = world.ok("account", json!({ "account": "a" }))["row"].clone();
        assert_eq!((&row["balance"], &row["seen"]), (&json!(-7), &json!(0)));
    }
}

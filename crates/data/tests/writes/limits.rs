//! Counters and windows in batches.

use crate::world::world;
use data::error::ErrorKind;
use serde_json::json;

const LIMITS: &str = r#"
    [collection.services]
    key = "service:{service: text}"
    fields = { state = "text", most = "u64", seconds = "u64" }

    [collection.rate]
    key = "service:{service: text}:rate | {client: text}"
    value = "window"
    expect = { rows_per_group = 100 }

    [collection.calls]
    key = "service:{service: text}:calls | {client: text}"
    value = "counter"
    expect = { rows_per_group = 100 }

    [pattern.publish]
    put = "services"
    allow = "user"
    [pattern.count_request]
    add = "rate"
    allow = "step"
    [pattern.count_call]
    add = "calls"
    allow = "step"
    [pattern.calls]
    list = "calls"
    page = 10
    [pattern.admit]
    atomic = [
        { check = "services", as = "s", if = "state = 'live'" },
        { run = "count_request", bind = { limit = "s.most", per = "s.seconds", amount = "1" } },
        { run = "count_call", bind = { amount = "1" } },
    ]
    allow = "user"
"#;

#[test]
fn a_full_window_refuses_the_whole_batch_and_says_when() {
    let world = world(LIMITS);
    world.ok("publish", json!({ "service": "s", "state": "live", "most": 2, "seconds": 30 }));
    let admit = json!({ "service": "s", "client": "c" });
    let first = world.ok("admit", admit.clone());
    let resets = "2026-11-15T12:00:30.000Z";
    assert_eq!(
        first["results"][0],
        json!({ "allowed": true, "remaining": 1, "resets_at": resets })
    );
    assert_eq!(first["results"][1], json!({ "total": 1 }));
    world.ok("admit", admit.clone());
    let error = world.call("admit", admit.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limited);
    assert_eq!(error.value("step"), Some("count_request"));
    assert_eq!(error.value("resets_at"), Some("1794744030000"));
    assert_eq!(world.ok("calls", json!({ "service": "s" }))["rows"][0]["value"], 2);
    world.clock.advance(30_000);
    assert_eq!(world.ok("admit", admit)["results"][1], json!({ "total": 3 }));
}

#[test]
fn a_repeated_batch_answers_the_totals_it_had() {
    let world = world(LIMITS);
    world.ok("publish", json!({ "service": "s", "state": "live", "most": 9, "seconds": 30 }));
    let id = world.id();
    let admit = json!({ "service": "s", "client": "c" });
    let first = world.with_id(id, "admit", admit.clone()).unwrap();
    assert_eq!(world.with_id(id, "admit", admit.clone()).unwrap(), first);
    assert_eq!(world.ok("admit", admit)["results"][1], json!({ "total": 2 }));
}

//! Writes, counters and ends.

use crate::support::{Bench, NOW, Once};
use data::memory::{Fault, MemoryStore, PartitionedMemory};
use data::request::Call;
use data::store::{CommitId, Store};
use data::suite::{block_on, patterns};
use data::{Caller, ErrorKind};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const DAY: i64 = 86_400_000;

const PAGES: &str = r#"
    [keyspace]
    name = "hazards"

    [collection.pages]
    key = "page:{page: text}"
    fields = { title = "text", calls = "i64 = 0", sum = "i64 = 0", ratings = "i64 = 0" }
    [collection.pages.index.pages_titled]
    key = "title:{title} | {page}"
    keep = ["calls"]
    expect = { rows_per_group = 100 }
    [pattern.create]
    insert = "pages"
    allow = "user"
    [pattern.remove]
    delete = "pages"
    allow = "user"
    [pattern.edit]
    update = "pages"
    set = ["title"]
    if_version = true
    allow = "user"
    [pattern.publish]
    update = "pages"
    set = ["title"]
    missing = "create"
    allow = "user"
    [pattern.called]
    add = "pages.calls"
    allow = "user"
    [pattern.rate]
    update = "pages"
    compute = { sum = "sum + $stars", ratings = "ratings + 1" }
    arguments = { stars = "i64" }
    allow = "user"
    [pattern.page]
    get = "pages"
    [pattern.titled]
    list = "pages.pages_titled"
    fields = ["page", "calls"]
    page = 10
"#;

#[test]
fn w1_a_counter_and_its_end_are_one_step() {
    for bench in Bench::scripts() {
        let prepared = bench.runtime.pattern("count_daily").unwrap();
        let arguments = json!({"site": "s"});
        let arguments = arguments.as_object().unwrap();
        let given = prepared.given_from_json(bench.runtime.keyspace(), arguments).unwrap();
        let caller = Caller::user("ann");
        let reply = block_on(bench.runtime.call(Call::new(prepared, given, &caller))).unwrap();
        assert_eq!(reply.usage.round_trips, 1, "nothing lies between the count and its end");
        bench.clock.advance(DAY);
        assert_eq!(bench.ok("daily", json!({"site": "s"}))["row"]["value"], 0);
    }
}

#[test]
fn w2_a_window_counts_every_call_and_no_refused_one() {
    for bench in Bench::scripts() {
        let call = || bench.ok("call", json!({"client": "c"}))["allowed"] == true;
        // All in one millisecond.
        assert_eq!((0..10).filter(|_| call()).count(), 3);
        bench.clock.advance(59_999);
        assert!(!call());
        bench.clock.advance(1);
        assert!(call(), "those that were refused have not made it longer");
    }
}

#[test]
fn w2_a_window_is_shut_while_the_store_is_away() {
    let once = Once::new(Fault::Refuse);
    let bench = Bench::open(patterns::KEYSPACE, once.over(Arc::new(MemoryStore::new())));
    once.after(0);
    assert_eq!(bench.kind("call", json!({"client": "c"})), ErrorKind::Unavailable);
    assert_eq!(bench.ok("call", json!({"client": "c"}))["remaining"], 2, "nothing was counted");
}

#[test]
fn w3_no_write_brings_an_ended_row_back() {
    for bench in Bench::scripts() {
        bench.ok("open_session", json!({"session_id": "s", "user": "u", "token": "t"}));
        bench.ok("count_daily", json!({"site": "s", "amount": 5}));
        bench.clock.advance(DAY);
        let touched = bench.kind("touch_session", json!({"session_id": "s", "user": "v"}));
        assert_eq!(touched, ErrorKind::NotFound);
        assert!(bench.ok("session", json!({"session_id": "s"}))["row"].is_null());
        assert_eq!(bench.ok("count_daily", json!({"site": "s"}))["total"], 1, "from nothing");
        bench.clock.advance(DAY);
        let count = bench.ok("daily", json!({"site": "s"}));
        assert_eq!(count["row"]["value"], 0, "with an end of its own");
    }
}

#[test]
fn w4_a_version_never_comes_back() {
    for bench in Bench::both(PAGES) {
        let mut versions = BTreeSet::new();
        for _ in 0..20 {
            let made = bench.ok("create", json!({"page": "p", "title": "same"}));
            let version = made["version"].as_str().unwrap().to_string();
            let again = bench.kind("create", json!({"page": "p", "title": "same"}));
            assert_eq!(again, ErrorKind::Conflict);
            for old in &versions {
                let edit = json!({"page": "p", "title": "new", "if_version": old});
                assert_eq!(bench.kind("edit", edit), ErrorKind::Conflict, "of a row before it");
            }
            assert!(versions.insert(version));
            bench.ok("remove", json!({"page": "p"}));
        }
    }
}

#[test]
fn w5_a_call_that_is_repeated_is_done_once() {
    let make: [fn() -> Arc<dyn Store>; 2] =
        [|| Arc::new(MemoryStore::new()), || Arc::new(PartitionedMemory::new())];
    for (make, calls) in make.into_iter().flat_map(|make| (0..4).map(move |calls| (make, calls))) {
        let once = Once::new(Fault::Lose);
        let bench = Bench::open(patterns::KEYSPACE, once.over(make()));
        let id = CommitId::new(NOW, bench.random.as_ref());
        let hit = || json!({"site": "s", "page": "p"});
        once.after(calls);
        // A reply is lost: either the run time finds out, or the caller asks again.
        for _ in 0..6 {
            match bench.call_as("ann", "hit", hit(), Some(id)) {
                Ok(answer) => assert_eq!(answer["total"], 1),
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        }
        assert!(once.has_happened());
        assert_eq!(bench.ok("hit_count", hit())["row"]["value"], 1);
        assert_eq!(bench.ok("hit", hit())["total"], 2, "another call is another");
    }
}

#[test]
fn w7_an_average_is_a_sum_and_a_count() {
    for bench in Bench::both(PAGES) {
        bench.ok("create", json!({"page": "p", "title": "t"}));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let bench = &bench;
                scope.spawn(move || {
                    for stars in 1..=5 {
                        let rate = json!({"page": "p", "stars": stars + thread});
                        let mut tries = 0;
                        while let Err(error) = bench.call("ann", "rate", rate.clone()) {
                            tries += 1;
                            assert!(error.kind() == ErrorKind::Busy && tries < 500, "{error:?}");
                        }
                    }
                });
            }
        });
        let row = bench.ok("page", json!({"page": "p"}))["row"].clone();
        assert_eq!((&row["sum"], &row["ratings"]), (&json!(4 * 15 + 5 * 6), &json!(20)));
    }
}

#[test]
fn w9_a_record_published_again_keeps_its_counters_everywhere() {
    for bench in Bench::both(PAGES) {
        bench.ok("publish", json!({"page": "p", "title": "one"}));
        for calls in 1..=3 {
            bench.ok("called", json!({"page": "p"}));
            let kept = bench.column("titled", json!({"title": "one"}), "calls");
            assert_eq!(kept, [json!(calls)], "the copy in the index is the same number");
        }
        bench.ok("publish", json!({"page": "p", "title": "two"}));
        assert_eq!(bench.ok("page", json!({"page": "p"}))["row"]["calls"], 3);
        assert_eq!(bench.column("titled", json!({"title": "two"}), "calls"), [json!(3)]);
        assert_eq!(bench.column("titled", json!({"title": "one"}), "calls"), [Json::Null; 0]);
    }
}

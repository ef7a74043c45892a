//! Rows that end: what Redis drops by itself, what a sweep removes, and what nobody may see.

use crate::support::{in_runtime, store};
use data::caller::Caller;
use data::clock::{ManualClock, SeededRandom};
use data::maintain::Scrub;
use data::request::{self, Call, Runtime};
use data::store::Store;
use serde_json::{Value as Json, json};
use servers::redis::RedisServer;
use std::sync::Arc;

const FILE: &str = r#"
[keyspace]
name = "ending"

[collection.offers]
key = "shop:{shop: text} | offer:{offer: text}"
fields = { price = "i64", code = "text" }
ttl = "1h"
index.offers_by_price = { key = "prices:{shop} | {price}" }
index.offers_by_code = { key = "code:{code}", unique = true }

[collection.seats]
key = "seat:{seat: text}"
value = "text"
ttl = "1h"

[collection.notices]
key = "notice:{notice: text}"
value = "text"
ttl = "1h"

[collection.badges]
key = "badge:{badge: text}"
fields = { name = "text" }
ttl = "1h"

[collection.tries]
key = "door:{door: text}:tries | {who: text}"
value = "window"
limit = 3
per = "1m"

[pattern.offer]
insert = "offers"
allow = "user"
[pattern.offers_of]
list = "offers"
page = 10
[pattern.cheapest]
list = "offers.offers_by_price"
page = 10
[pattern.prices]
list = "offers.offers_by_price"
fields = ["offer", "price"]
page = 10
[pattern.by_code]
get = "offers.offers_by_code"
[pattern.take_seat]
insert = "seats"
allow = "user"
[pattern.seat]
get = "seats"
[pattern.put_notice]
put = "notices"
allow = "user"
[pattern.notice]
get = "notices"
[pattern.put_badge]
put = "badges"
allow = "user"
[pattern.badge]
get = "badges"
[pattern.try]
add = "tries"
allow = "user"
[pattern.tries_of]
list = "tries"
page = 10
"#;

struct Ending {
    runtime: Runtime,
    clock: Arc<ManualClock>,
}

impl Ending {
    async fn open(store: Arc<dyn Store>) -> Ending {
        let keyspace = Arc::new(keyspace::read(FILE).keyspace.expect("the file is right"));
        let now = store.time().await.unwrap().unwrap();
        let clock = Arc::new(ManualClock::at(now));
        let random = Arc::new(SeededRandom::new(7));
        let options = request::Options::new(clock.clone(), random);
        Ending { runtime: Runtime::open(store, keyspace, options).await.unwrap(), clock }
    }

    async fn call(&self, pattern: &str, arguments: Json) -> Json {
        let prepared = self.runtime.pattern(pattern).unwrap();
        let arguments = arguments.as_object().unwrap();
        let given = prepared.given_from_json(self.runtime.keyspace(), arguments).unwrap();
        let caller = Caller::user("ann");
        let reply = self.runtime.call(Call::new(prepared, given, &caller)).await.unwrap();
        reply.answer.to_json(self.runtime.schema()).unwrap()
    }

    async fn scrub(&self) {
        let random = SeededRandom::new(8);
        let scrub = Scrub {
            store: self.runtime.store().as_ref(),
            schema: self.runtime.schema(),
            clock: self.clock.as_ref(),
            random: &random,
            repair: false,
        };
        let mut found = Vec::new();
        scrub.run(&mut |problem, _| found.extend(problem.cloned())).await.unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

/// Names of all keys but the marker and remembered calls.
fn keys(server: &RedisServer) -> Vec<String> {
    let all = server.cli(&["--raw", "KEYS", "*"]);
    let own = |key: &&str| !key.starts_with("~keyway") && !key.starts_with("~call");
    let mut keys: Vec<String> = all.lines().filter(own).map(str::to_string).collect();
    keys.sort();
    keys
}

#[test]
fn redis_is_told_when_rows_end() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let ending = Ending::open(store(&server).await).await;
        let offer = json!({"shop": "s", "offer": "o", "price": 3, "code": "c"});
        ending.call("offer", offer).await;
        ending.call("take_seat", json!({"seat": "a", "value": "ann"})).await;
        ending.call("try", json!({"door": "d", "who": "ann"})).await;
        ending.call("put_notice", json!({"notice": "n", "value": "x"})).await;
        ending.call("put_badge", json!({"badge": "b", "name": "x"})).await;
        let left = |key: &str| server.cli(&["PTTL", key]).parse::<i64>().unwrap();
        let minute = 60_000;
        // With entries, or a version beside it: an hour more.
        for key in ["shop:s:offer:o", "code:c", "seat:a"] {
            let left = left(key);
            assert!(left > 119 * minute && left <= 120 * minute, "{key}: {left}");
        }
        // Rows that nothing else goes by end with their keys.
        for key in ["notice:n", "badge:b"] {
            let left = left(key);
            assert!(left > 59 * minute && left <= 60 * minute, "{key}: {left}");
        }
        let left = left("door:d:tries:ann");
        assert!(left > 50_000 && left <= minute, "{left}");
        let ends = server.cli(&["HGET", "shop:s:offer:o", "~x"]);
        assert_eq!(server.cli(&["ZSCORE", "~x:shop:s", "shop:s:offer:o"]), ends);
    });
}

#[test]
fn a_sweep_removes_all_that_belongs_to_a_row() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let ending = Ending::open(store(&server).await).await;
        for number in 0..30 {
            let (offer, code) = (format!("o{number}"), format!("c{number}"));
            let shop = format!("s{}", number % 4);
            let offer = json!({"shop": shop, "offer": offer, "price": number, "code": code});
            ending.call("offer", offer).await;
        }
        ending.call("take_seat", json!({"seat": "a", "value": "ann"})).await;
        ending.call("try", json!({"door": "d", "who": "ann"})).await;
        let store = ending.runtime.store().clone();
        let now = || data::clock::Clock::now(ending.clock.as_ref());
        assert_eq!(store.sweep(now(), 100).await.unwrap(), 0);
        ending.clock.advance(2 * 60 * 60_000);
        assert_eq!(ending.call("cheapest", json!({"shop": "s1"})).await["rows"], json!([]));
        assert_eq!(ending.call("prices", json!({"shop": "s1"})).await["rows"], json!([]));
        ending.scrub().await;
        assert_eq!(store.sweep(now(), 5).await.unwrap(), 5);
        let mut gone = 5;
        loop {
            match store.sweep(now(), 7).await.unwrap() {
                0 => break,
                more => gone += more,
            }
        }
        assert_eq!(gone, 32);
        assert_eq!(keys(&server), Vec::<String>::new());
    });
}

#[test]
fn a_claim_that_another_row_has_taken_is_left_to_it() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let ending = Ending::open(store(&server).await).await;
        let offer = |offer: &str| json!({"shop": "s", "offer": offer, "price": 1, "code": "c"});
        ending.call("offer", offer("old")).await;
        ending.clock.advance(61 * 60_000);
        ending.call("offer", offer("new")).await;
        let now = data::clock::Clock::now(ending.clock.as_ref());
        assert_eq!(ending.runtime.store().sweep(now, 10).await.unwrap(), 1);
        let found = ending.call("by_code", json!({"code": "c"})).await;
        assert_eq!(found["row"]["offer"], "new");
        ending.scrub().await;
    });
}

#[test]
fn entries_of_rows_that_redis_dropped_are_found_and_removed() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let ending = Ending::open(store(&server).await).await;
        for number in 0..3 {
            let (offer, code) = (format!("o{number}"), format!("c{number}"));
            let offer = json!({"shop": "s", "offer": offer, "price": number, "code": code});
            ending.call("offer", offer).await;
        }
        ending.clock.advance(3 * 60 * 60_000);
        // What Redis does an hour after the end, if no sweep came by.
        server.cli(&["DEL", "shop:s:offer:o0", "shop:s:offer:o1", "code:c0", "code:c1"]);
        assert_eq!(ending.call("prices", json!({"shop": "s"})).await["rows"], json!([]));
        ending.scrub().await;
        let now = data::clock::Clock::now(ending.clock.as_ref());
        let mut gone = 0;
        while gone < 3 {
            gone += ending.runtime.store().sweep(now, 10).await.unwrap();
        }
        assert_eq!(keys(&server), Vec::<String>::new());
    });
}

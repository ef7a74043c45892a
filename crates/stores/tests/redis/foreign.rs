//! Keys of other programs: reported by their name, never overwritten; prefixes keep them apart.

use crate::app::{App, SHOP, item};
use crate::support::{RealClock, at, in_runtime, store};
use data::ErrorKind;
use data::clock::{Clock, SystemRandom};
use data::maintain::Scrub;
use data::store::{CommitId, Store, Write};
use data::value::Value;
use serde_json::json;
use servers::redis::RedisServer;
use std::sync::Arc;
use stores::redis::{Options, RedisStore};

#[test]
fn a_foreign_key_is_named_and_left_as_it_is() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        // The record, its claim, its entries, a Hash of counters and its order.
        for (name, command) in [
            ("item:i1", vec!["SET", "item:i1", "theirs"]),
            ("name:name of i1", vec!["LPUSH", "name:name of i1", "theirs"]),
            ("shelf:a", vec!["HSET", "shelf:a", "their", "field"]),
        ] {
            server.cli(&["FLUSHDB"]);
            app.runtime.store().ensure(app.runtime.keyspace()).await.unwrap();
            server.cli(&command);
            let error = app.call("add_item", item("i1", "a", 1)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            // Nothing of the batch is there: neither the record nor what goes with it.
            let keys = server.cli(&["--raw", "KEYS", "*"]);
            let mut keys: Vec<&str> = keys.lines().collect();
            keys.sort_unstable();
            assert_eq!(keys, [name, "~keyway"].map(String::from), "{keys:?}");
        }
        server.cli(&["FLUSHDB"]);
        for (name, command) in [
            ("shelf:a:sold", vec!["SET", "shelf:a:sold", "1"]),
            ("~k:shelf:a:sold", vec!["SET", "~k:shelf:a:sold", "1"]),
        ] {
            server.cli(&["FLUSHDB"]);
            app.runtime.store().ensure(app.runtime.keyspace()).await.unwrap();
            server.cli(&command);
            let sell = json!({"shelf": "a", "item_id": "i1"});
            let error = app.call("sell", sell).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(server.cli(&["GET", name]), "1");
        }
    });
}

/// Rows with every helper: the version of a value, when rows end that have entries, slices.
const HELPED: &str = r#"
[keyspace]
name = "helped"

[collection.seats]
key = "seat:{seat: text}"
value = "text"

[collection.offers]
key = "shop:{shop: text} | offer:{offer: text}"
fields = { price = "i64" }
ttl = "1h"
index.offers_by_price = { key = "prices:{shop} | {price}" }

[collection.messages]
key = "channel:{channel: text} | {sent_at: timestamp}:{message: text}"
fields = { content = "text" }
bucket = { by = "sent_at", every = "1h" }

[collection.sold]
key = "shelf:{shelf: text} | {item: text}"
value = "counter"

[pattern.take_seat]
insert = "seats"
allow = "user"
[pattern.offer]
put = "offers"
allow = "user"
[pattern.offers_of]
list = "offers"
page = 10
[pattern.cheapest]
list = "offers.offers_by_price"
page = 10
[pattern.send]
put = "messages"
allow = "user"
[pattern.messages_of]
list = "messages"
page = 10
[pattern.sell]
add = "sold"
allow = "user"
[pattern.sold_of]
list = "sold"
page = 10
"#;

#[test]
fn a_foreign_key_in_the_place_of_a_helper_is_named_and_left_as_it_is() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let store = store(&server).await as Arc<dyn Store>;
        let app = App::of(HELPED, store, |_| {}).await.unwrap();
        let id = CommitId::new(RealClock.now(), &SystemRandom::start().unwrap());
        let sent = json!({
            "channel": "c", "sent_at": "2026-01-01T10:00:00Z", "message": "m", "content": "said",
        });
        let sell = json!({"shelf": "a", "item": "i"});
        app.call_as(Some(id), "sell", sell.clone()).await.unwrap();
        let outcome = server.cli(&["KEYS", "~call:*"]);
        for (name, pattern, arguments) in [
            ("~v:seat:s", "take_seat", json!({"seat": "s", "value": "ann"})),
            ("~x:shop:s", "offer", json!({"shop": "s", "offer": "o", "price": 1})),
            ("~b:channel:c", "send", sent),
            ("~k:shelf:a", "sell", sell.clone()),
            (outcome.as_str(), "sell", sell),
        ] {
            server.cli(&["FLUSHDB"]);
            app.runtime.store().ensure(app.runtime.keyspace()).await.unwrap();
            server.cli(&["LPUSH", name, "theirs"]);
            let error = app.call_as(Some(id), pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{name}: {error}");
            assert!(error.to_string().contains(name), "{name}: {error}");
            assert_eq!(server.cli(&["LRANGE", name, "0", "-1"]), "theirs");
            assert_eq!(server.cli(&["DBSIZE"]), "2", "{name}: something of the batch is there");
        }
        server.cli(&["FLUSHDB"]);
        server.cli(&["LPUSH", "~keyway", "theirs"]);
        let error = app.runtime.store().ensure(app.runtime.keyspace()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.to_string().contains("~keyway"), "{error}");
        assert_eq!(server.cli(&["LRANGE", "~keyway", "0", "-1"]), "theirs");
    });
}

#[test]
fn reads_name_a_foreign_key() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        app.call("add_item", item("i2", "a", 2)).await.unwrap();
        server.cli(&["DEL", "item:i2"]);
        server.cli(&["SET", "item:i2", "theirs"]);
        for (pattern, arguments) in [
            ("item", json!({"item_id": "i2"})),
            ("items", json!({"rows": [{"item_id": "i1"}, {"item_id": "i2"}]})),
            ("items_of", json!({"shelf": "a"})),
        ] {
            let error = app.call(pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{pattern}: {error}");
            assert!(error.to_string().contains("item:i2"), "{pattern}: {error}");
        }
    });
}

#[test]
fn whoever_looks_through_everything_is_told_of_a_foreign_key() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        // A record, a claim, entries, and a Hash of counters.
        for (name, command) in [
            ("item:i2", vec!["SET", "item:i2", "theirs"]),
            ("name:i2", vec!["LPUSH", "name:i2", "theirs"]),
            ("shelf:b", vec!["HSET", "shelf:b", "their", "field"]),
            ("shelf:b:sold", vec!["SET", "shelf:b:sold", "1"]),
        ] {
            server.cli(&["FLUSHDB"]);
            let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
            app.call("add_item", item("i1", "a", 1)).await.unwrap();
            // What begins as names of ours do, and goes on otherwise, is nobody's business.
            server.cli(&["SET", "item:i1:more", "theirs"]);
            assert_eq!(app.scrub().await, (1, 2));
            server.cli(&command);
            let random = SystemRandom::start().unwrap();
            let scrub = Scrub {
                store: app.runtime.store().as_ref(),
                schema: app.runtime.schema(),
                clock: &RealClock,
                random: &random,
                repair: true,
            };
            let error = scrub.run(&mut |_, _| {}).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{name}: {error}");
            assert!(error.to_string().contains(name), "{name}: {error}");
            assert_eq!(server.cli(&["EXISTS", name]), "1");
        }
    });
}

#[test]
fn a_counter_that_is_no_number_is_named_and_kept() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        for wrong in ["many", "1.5", "007", "-0", "9223372036854775808", ""] {
            server.cli(&["HSET", "shelf:a:sold", "i1", wrong]);
            let sell = json!({"shelf": "a", "item_id": "i1"});
            let error = app.call("sell", sell).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{wrong}: {error}");
            assert!(error.to_string().contains("shelf:a:sold"), "{error}");
            assert_eq!(server.cli(&["HGET", "shelf:a:sold", "i1"]), wrong);
        }
        // A number that somebody else wrote counts on.
        server.cli(&["HSET", "shelf:a:sold", "i1", "-7"]);
        let sold = app.call("sell", json!({"shelf": "a", "item_id": "i1", "amount": 5})).await;
        assert_eq!(sold.unwrap()["total"], -2);
    });
}

#[test]
fn another_keyspace_is_refused_and_prefixes_keep_two_apart() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let one = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        one.call("add_item", item("i1", "a", 1)).await.unwrap();
        let other = SHOP.replace("name = \"shop\"", "name = \"other\"");
        let other = Arc::new(keyspace::read(&other).keyspace.unwrap());
        let error = store(&server).await.ensure(&other).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("shop"), "{error}");
        let prefix = "app[2]*:".to_string();
        let second = RedisStore::open(Options { prefix, ..at(server.port()) }).await.unwrap();
        let two = App::open(Arc::new(second) as Arc<dyn Store>).await.unwrap();
        assert!(two.call("item", json!({"item_id": "i1"})).await.unwrap()["row"].is_null());
        two.call("add_item", item("i2", "a", 1)).await.unwrap();
        assert_eq!(server.cli(&["EXISTS", "app[2]*:item:i2", "item:i1"]), "2");
        assert_eq!((one.scrub().await, two.scrub().await), ((1, 2), (1, 2)));
    });
}

#[test]
fn a_set_takes_ten_thousand_members_and_no_more() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let file = r#"
            [keyspace]
            name = "likes"
            [collection.likes]
            key = "post:{post: text}:likes | {user: text}"
            expect = { rows_per_group = 1_000 }
            [pattern.like]
            put = "likes"
            allow = "user"
            [pattern.unlike]
            delete = "likes"
            allow = "user"
            [pattern.likes_of]
            list = "likes"
            page = 100
        "#;
        let store = store(&server).await;
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let schema = store.ensure(&keyspace).await.unwrap();
        let key = |user: usize| {
            let values = [Value::Text("p".to_string()), Value::Text(format!("u{user}"))];
            schema.collection("likes").unwrap().key.encode(&values).unwrap()
        };
        let like = |user: usize| Write::Put {
            key: key(user),
            value: bytes::Bytes::new(),
            expires: None,
            versioned: false,
            trail: None,
        };
        let random = data::clock::SeededRandom::new(1);
        let commit = async |writes: Vec<Write>| {
            let id = CommitId::new(1, &random);
            let batch = data::store::Batch { id, now: 1, checks: vec![], writes, deadline: 30_000 };
            store.commit(&batch).await
        };
        for hundred in 0..100 {
            commit((0..100).map(|user| like(hundred * 100 + user)).collect()).await.unwrap();
        }
        assert_eq!(server.cli(&["SCARD", "post:p:likes"]), "10000");
        let error = commit(vec![like(10_000)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.to_string().contains("post:p:likes"), "{error}");
        assert!(error.to_string().contains("rows_per_group"), "{error}");
        // What is there already, and one for another, still go.
        commit(vec![like(7)]).await.unwrap();
        commit(vec![like(10_000), Write::Delete { key: key(8) }]).await.unwrap();
        assert_eq!(server.cli(&["SCARD", "post:p:likes"]), "10000");
    });
}

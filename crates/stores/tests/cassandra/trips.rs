//! Round trips, counted by a proxy between the driver and its server. What a lightweight
//! transaction must know is read by the protocol or by the store, and only here is seen that both
//! have read.

use crate::app::App;
use crate::wire::behind;
use crate::{empty, new_place, options, runtime};
use data::store::Store;
use data::suite;
use data::suite::patterns::{play, play_counted, read};
use serde_json::json;
use servers::cassandra::Cassandra;
use servers::cql;
use servers::cql::tap::Tap;
use servers::proxy::Proxy;
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

/// Holds every call of some scripts to its plan.
fn hold(file: &'static str, calls: &'static str) {
    let (server, place) = (Cassandra::shared(), new_place());
    let proxy = Proxy::start(&server.address(1));
    proxy.count_by(cql::turn);
    let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
    let scripts = read(calls).unwrap();
    // On one thread: what is sent together is not overtaken by the answer to its first part.
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = alone.block_on(async {
        let nodes = vec![proxy.address()];
        let options = Options { nodes, ..options(server, &place) };
        let store: Arc<dyn Store> = Arc::new(CassandraStore::open(options).unwrap());
        let make = || {
            empty(server, &place);
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let first = suite::Options::default();
        // The first UUIDs say which version all have, which is noted once.
        play(&scripts, &keyspace, &make, &first).await.unwrap();
        // Under other ids: a commit that is made again has the timestamp that it had.
        let again = suite::Options { seed: first.seed + 1, ..first };
        let turns = || proxy.turns();
        play_counted(&scripts, &keyspace, &make, &again, Some(&turns)).await.unwrap()
    });
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    assert_eq!(report.passed.len(), scripts.len());
    assert!(proxy.turns() > 0);
}

#[test]
fn the_calls_of_the_chat_wait_no_longer_than_their_plans_say() {
    let file = include_str!("../../../../apps/chat/keyspace.toml");
    hold(file, include_str!("../../../../apps/chat/calls.cases"));
}

const SEATS: &str = r#"
[keyspace]
name = "seats"

[collection.seats]
key = "seat:{seat_id: uuid = new}"
fields = { holder = "text", room = "text" }
ttl = "1h"
index.seats_by_holder = { key = "holder:{holder}", unique = true }
index.seats_by_room = { key = "room:{room} | {seat_id}", expect = { rows_per_group = 100 } }

[pattern.take_seat]
insert = "seats"
allow = "user"
[pattern.seat_of]
get = "seats.seats_by_holder"
[pattern.seats_in]
list = "seats.seats_by_room"
page = 10
"#;

const SEATED: &str = r#"
= a claim that has ended lies in the way [seats]
ann> take_seat {"holder": "ann", "room": "a"} -> {}
ann> take_seat {"holder": "ann", "room": "a"} -> !taken
+2h
ann> take_seat {"holder": "ann", "room": "b"} -> {}
ann> seat_of {"holder": "ann"} -> {"row": {"room": "b"}}
ann> seats_in {"room": "b"} -> {"rows": ["*"]}
"#;

#[test]
fn a_claim_in_the_way_costs_no_more_than_the_plan_says() {
    hold(SEATS, SEATED);
}

/// Years of slices lie between them in which nothing was ever written: to ask for one of an hour
/// each would take a hundred thousand requests, to ask for one too many is a fault already.
#[test]
fn no_slice_is_asked_for_in_which_nothing_was_written() {
    runtime().block_on(async {
        let tap = Tap::start(&Cassandra::shared().address(1));
        let app = App::open(behind(&tap, &new_place())).await.unwrap();
        for year in [2014, 2020, 2026] {
            for id in ["a", "b"] {
                let sent_at = format!("{year}-05-01T12:00:00Z");
                let message = json!({
                    "channel": "c", "sent_at": sent_at, "message_id": id, "content": "said",
                });
                app.call("send", message).await.unwrap();
            }
        }
        let asked = async |channel: &str, limit: usize, rows: usize| {
            tap.take();
            let page = json!({"channel": channel, "limit": limit});
            let page = app.call("messages_of", page).await.unwrap();
            assert_eq!(page["rows"].as_array().unwrap().len(), rows);
            let said = tap.take();
            let of = |table: &str| said.iter().filter(|one| one.holds(table)).count();
            let slices = of(" messages ");
            // The directory says which there are.
            assert_eq!(of(" messages_buckets "), said.len() - slices, "{said:?}");
            (said.len() - slices, slices)
        };
        assert_eq!(asked("c", 50, 6).await, (1, 3));
        assert_eq!(asked("c", 3, 3).await, (1, 2));
        assert_eq!(asked("c", 1, 1).await, (1, 1));
        assert_eq!(asked("another", 50, 0).await, (1, 0));
    });
}

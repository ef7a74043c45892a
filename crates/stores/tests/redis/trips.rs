//! Round trips, counted by a proxy between the store and its server.

use crate::app::{App, item};
use crate::support::{at, in_runtime};
use data::store::Store;
use serde_json::json;
use servers::proxy::Proxy;
use servers::redis::RedisServer;
use std::sync::Arc;
use stores::redis::RedisStore;

/// What a call costs.
async fn cost(proxy: &Proxy, app: &App, pattern: &str, arguments: serde_json::Value) -> u64 {
    let before = proxy.turns();
    app.call(pattern, arguments).await.unwrap();
    proxy.turns() - before
}

#[test]
fn calls_take_no_more_round_trips_than_they_must() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = RedisStore::open(at(proxy.port())).await.unwrap();
        let store = Arc::new(store) as Arc<dyn Store>;
        let app = App::open_with(store, |options| options.check_bounds = true).await.unwrap();
        // The first commit brings the script to the server.
        app.call("add_item", item("first", "a", 0)).await.unwrap();
        for number in 1..60 {
            app.call("add_item", item(&format!("i{number}"), "a", number)).await.unwrap();
        }
        app.call("sell", json!({"shelf": "a", "item_id": "i1"})).await.unwrap();

        // A record with a claim and an entry: one script. An insert reads nothing before it.
        assert_eq!(cost(&proxy, &app, "add_item", item("new", "a", 70)).await, 1);
        // The old record is read for its entries.
        let change = json!({"item_id": "new", "shelf": "b"});
        assert_eq!(cost(&proxy, &app, "change_item", change).await, 2);
        assert_eq!(cost(&proxy, &app, "put_item", item("new", "c", 71)).await, 2);
        assert_eq!(cost(&proxy, &app, "drop_item", json!({"item_id": "new"})).await, 2);
        assert_eq!(cost(&proxy, &app, "sell", json!({"shelf": "a", "item_id": "i1"})).await, 1);
        assert_eq!(cost(&proxy, &app, "item", json!({"item_id": "i1"})).await, 1);
        let many: Vec<_> = (1..50).map(|n| json!({"item_id": format!("i{n}")})).collect();
        assert_eq!(cost(&proxy, &app, "items", json!({"rows": many})).await, 1);
        assert_eq!(cost(&proxy, &app, "item_named", json!({"name": "name of I1"})).await, 2);
        // The entries of the page, then their records.
        assert_eq!(cost(&proxy, &app, "items_of", json!({"shelf": "a"})).await, 2);
        // A Hash with an order beside it: the order, then the counts.
        assert_eq!(cost(&proxy, &app, "sold_of", json!({"shelf": "a"})).await, 2);
    });
}

#[test]
fn a_forgotten_script_costs_one_more() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = RedisStore::open(at(proxy.port())).await.unwrap();
        let app = App::open(Arc::new(store) as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("first", "a", 0)).await.unwrap();
        server.cli(&["SCRIPT", "FLUSH"]);
        assert_eq!(cost(&proxy, &app, "add_item", item("i1", "a", 1)).await, 2);
        assert_eq!(cost(&proxy, &app, "add_item", item("i2", "a", 2)).await, 1);
    });
}

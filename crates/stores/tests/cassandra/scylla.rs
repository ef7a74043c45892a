//! A store that is opened as ScyllaDB's. There is none of those servers here, so this is no test of
//! one: it shows that such a store says what it is, works, and sends what Cassandra takes too.

use crate::app::{App, item};
use crate::{new_place, options, runtime};
use data::store::Store;
use keyspace::model::StoreKind;
use serde_json::json;
use servers::cassandra::Cassandra;
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

#[test]
fn a_store_opened_as_scylla_works_as_one_of_cassandra() {
    runtime().block_on(async {
        let (server, place) = (Cassandra::shared(), new_place());
        let asked = Options { is_scylla: true, ..options(server, &place) };
        let store = Arc::new(CassandraStore::open(asked).unwrap());
        let described = store.describe();
        assert_eq!(described.kind, StoreKind::Scylla);
        let address = format!("scylla://{}/{place}", server.address(1));
        assert_eq!(described.address, address);
        let app = App::open(store).await.unwrap();
        app.call("add_item", item("i1", "s", 1)).await.unwrap();
        app.call("change_item", json!({"item_id": "i1", "price": 2})).await.unwrap();
        let found = app.call("item_named", json!({"name": "name of i1"})).await.unwrap();
        assert_eq!(found["row"]["price"], json!(2));
        let on_shelf = app.call("items_of", json!({"shelf": "s"})).await.unwrap();
        assert_eq!(on_shelf["rows"].as_array().unwrap().len(), 1);
        assert_eq!(
            app.call("sell", json!({"shelf": "s", "item_id": "i1"})).await.unwrap()["total"],
            json!(1)
        );
        app.call("like", json!({"post": "p", "reader": "r", "note": "n"})).await.unwrap();
        app.call("unlike", json!({"post": "p", "reader": "r"})).await.unwrap();
        app.call("place", json!({"shelf": "s", "item_id": "i1", "note": "n"})).await.unwrap();
        // An item, a place, and the counts of sales and likes.
        assert_eq!(app.scrub().await, (4, 3));
        app.call("drop_item", json!({"item_id": "i1"})).await.unwrap();
        app.call("unplace", json!({"shelf": "s", "item_id": "i1"})).await.unwrap();
        assert_eq!(app.scrub().await, (2, 0));
    });
}

//! Files that change: what would look for rows elsewhere is refused while there are rows.

use crate::app::{App, SHOP, item};
use crate::support::{in_runtime, store};
use data::ErrorKind;
use data::store::Store;
use keyspace::model::Keyspace;
use servers::redis::RedisServer;
use std::sync::Arc;

fn changed(changes: &[(&str, &str)]) -> Arc<Keyspace> {
    let text = changes.iter().fold(SHOP.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    Arc::new(keyspace::read(&text).keyspace.expect(&text))
}

/// A file in which items are listed too.
fn with_list() -> Arc<Keyspace> {
    changed(&[(
        "key = \"item:{item_id: text}\"",
        "key = \"item | {item_id: text}\"\nexpect = { rows_per_group = 100 }",
    )])
}

#[test]
fn a_file_that_moves_rows_is_refused_while_there_are_rows() {
    let cases: Vec<(&str, Arc<Keyspace>, &str)> = vec![
        (
            "names",
            changed(&[
                ("name = \"shop\"", "name = \"shop\"\nnames = \"camelCase\""),
                ("price = \"i64\"", "price = \"i64\", sold_at = \"timestamp?\""),
            ]),
            "",
        ),
        ("a literal", changed(&[("\"item:{item_id: text}\"", "\"items:{item_id: text}\"")]), "key"),
        ("the bar", with_list(), "key"),
        ("an end", changed(&[("price = \"i64\" }", "price = \"i64\" }\nttl = \"1d\"")]), "~x"),
        ("a list", changed(&[("[pattern.sold_of]\nlist = \"sold\"\npage = 100", "")]), "~k:shelf"),
    ];
    let server = RedisServer::start(&[]);
    in_runtime(async {
        for (what, keyspace, named) in cases {
            server.cli(&["FLUSHDB"]);
            let store = store(&server).await;
            let app = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
            // Without rows any file will do, and the old one again.
            store.ensure(&keyspace).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            store.ensure(app.runtime.keyspace()).await.unwrap();
            // A store without rows may give other numbers.
            let app = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
            app.call("add_item", item("i1", "a", 1)).await.unwrap();
            let sell = serde_json::json!({"shelf": "a", "item_id": "i1"});
            app.call("sell", sell).await.unwrap();
            let again = store.ensure(&keyspace).await;
            // Names without an underscore are shown alike either way.
            if named.is_empty() {
                again.unwrap();
                continue;
            }
            let error = again.expect_err(what);
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{what}: {error}");
            assert!(error.to_string().contains(named), "{what}: {error}");
            assert!(error.to_string().contains("items") || error.to_string().contains("sold"));
            store.ensure(app.runtime.keyspace()).await.unwrap();
            assert_eq!(app.scrub().await, (2, 2));
        }
    });
}

#[test]
fn fields_are_added_to_rows_that_are_there() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let store = store(&server).await;
        let app = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        let more = changed(&[
            (
                "price = \"i64\" }",
                "price = \"i64\", stock = \"i64 = 5\", colour = \"text? = 'red'\" }",
            ),
            ("\"price\"]", "\"price\", \"stock\", \"colour\"]"),
        ]);
        let options = app.runtime.options().clone();
        let runtime = data::request::Runtime::open(store, more, options).await.unwrap();
        let app = App::around(runtime);
        let get = serde_json::json!({"item_id": "i1"});
        let found = app.call("item", get.clone()).await.unwrap();
        assert_eq!((&found["row"]["stock"], &found["row"]["colour"]), (&5.into(), &"red".into()));
        // A null that is written stays null, and is no default.
        let clear = serde_json::json!({"item_id": "i1", "colour": null});
        app.call("change_item", clear).await.unwrap();
        let found = app.call("item", get).await.unwrap();
        assert!(found["row"]["colour"].is_null(), "{found}");
        assert_eq!(server.cli(&["HGET", "item:i1", "~n"]), "colour");
        assert_eq!(app.scrub().await, (1, 2));
    });
}

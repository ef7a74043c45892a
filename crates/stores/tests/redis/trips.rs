//! Round trips, counted by a proxy between the store and its server.

use crate::app::{App, item};
use crate::seen_common::APPS;
use crate::support::{ahead, at, in_runtime, options};
use data::store::Store;
use data::suite::patterns::{play_counted, read};
use serde_json::{Value as Json, json};
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
fn a_script_comes_along_and_costs_one_more_if_it_is_forgotten() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = RedisStore::open(at(proxy.port())).await.unwrap();
        let app = App::open(Arc::new(store) as Arc<dyn Store>).await.unwrap();
        assert_eq!(cost(&proxy, &app, "add_item", item("first", "a", 0)).await, 1);
        server.cli(&["SCRIPT", "FLUSH"]);
        assert_eq!(cost(&proxy, &app, "add_item", item("i1", "a", 1)).await, 2);
        assert_eq!(cost(&proxy, &app, "add_item", item("i2", "a", 2)).await, 1);
    });
}

const LIBRARY: &str = r#"
[keyspace]
name = "library"

[collection.books]
key = "books:{library: text} | {book: text}"
expect = { rows_per_group = 100_000 }
fields = { title = "text", shelf = "text", pages = "i64", note = "text" }
index.books_by_pages.key = "pages:{shelf} | {pages}"
index.books_by_pages.expect = { rows_per_group = 100_000 }
index.books_kept = { key = "kept:{shelf} | {pages}", keep = ["title"] }
index.books_by_title = { key = "titles:{shelf} | {title}", unique = true }

[collection.lines]
key = "log:{log: text} | {line: text}"
value = "text"
expect = { rows_per_group = 100_000 }

[collection.marks]
key = "marks:{board: text} | {mark: text}"
expect = { rows_per_group = 100_000 }

[collection.likes]
key = "likes:{board: text} | {user: text}"
expect = { rows_per_group = 2_000 }

[pattern.add_books]
insert = "books"
many = 100
allow = "user"
[pattern.add_lines]
put = "lines"
many = 100
allow = "user"
[pattern.add_marks]
put = "marks"
many = 100
allow = "user"
[pattern.add_likes]
put = "likes"
many = 100
allow = "user"
[pattern.by_pages]
list = "books.books_by_pages"
page = 500
[pattern.kept]
list = "books.books_kept"
page = 500
[pattern.kept_alone]
list = "books.books_kept"
fields = ["book", "title"]
page = 500
[pattern.by_title]
list = "books.books_by_title"
page = 500
[pattern.lines_of]
list = "lines"
page = 500
[pattern.marks_of]
list = "marks"
page = 500
[pattern.likes_of]
list = "likes"
page = 500
"#;

/// The library, opened anew.
async fn opened(proxy: &Proxy) -> App {
    let store = Arc::new(RedisStore::open(at(proxy.port())).await.unwrap());
    App::of(LIBRARY, store, |options| options.check_bounds = true).await.unwrap()
}

#[test]
fn large_pages_take_no_more_round_trips_than_small_ones() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let app = opened(&proxy).await;
        for hundred in 0..6 {
            let each = |group: Json, row: fn(u32) -> Json| -> Json {
                let rows: Vec<Json> = (hundred * 100..hundred * 100 + 100).map(row).collect();
                let mut arguments = group;
                arguments["rows"] = Json::Array(rows);
                arguments
            };
            let book = |number: u32| {
                json!({"book": format!("b{number}"), "title": format!("t{number}"),
                    "shelf": "s", "pages": number, "note": "n"})
            };
            app.call("add_books", each(json!({"library": "l"}), book)).await.unwrap();
            let line = |number: u32| json!({"line": number.to_string(), "value": "x"});
            app.call("add_lines", each(json!({"log": "l"}), line)).await.unwrap();
            let mark = |number: u32| json!({"mark": number.to_string()});
            app.call("add_marks", each(json!({"board": "b"}), mark)).await.unwrap();
            let like = |number: u32| json!({"user": number.to_string()});
            app.call("add_likes", each(json!({"board": "b"}), like)).await.unwrap();
        }
        let counted = [
            // What a list says is all there is.
            ("marks_of", json!({"board": "b"}), 1),
            ("likes_of", json!({"board": "b"}), 1),
            // The order, then the rows.
            ("lines_of", json!({"log": "l"}), 2),
            // The entries, then their records; those that keep fields come with them.
            ("by_pages", json!({"shelf": "s"}), 2),
            ("kept", json!({"shelf": "s"}), 2),
            ("kept_alone", json!({"shelf": "s"}), 2),
            // Only a claim says whose it is: the server finds its record.
            ("by_title", json!({"shelf": "s"}), 2),
        ];
        for (pattern, arguments, trips) in counted {
            let (mut first, mut later) = (u64::MAX, u64::MAX);
            // A request of several packets may be answered from its first on, which counts as two.
            for _ in 0..4 {
                // One that has seen no row yet knows nothing of how large they are.
                let app = opened(&proxy).await;
                for least in [&mut first, &mut later] {
                    let before = proxy.turns();
                    let page = app.call(pattern, arguments.clone()).await.unwrap();
                    assert_eq!(page["rows"].as_array().unwrap().len(), 500, "{pattern}");
                    *least = proxy.turns().saturating_sub(before).min(*least);
                }
            }
            assert_eq!((first, later), (trips, trips), "the first page of {pattern}, and the next");
            let planned = app.runtime.pattern(pattern).unwrap().bounds().unwrap().round_trips;
            assert_eq!(planned, trips, "the plan of {pattern}");
        }
    });
}

#[test]
fn the_calls_of_the_applications_wait_no_longer_than_their_plans_say() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    for (name, file, calls) in APPS {
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let scripts = read(calls).unwrap();
        let report = in_runtime(async {
            let make = || {
                server.cli(&["FLUSHALL"]);
                let port = proxy.port();
                Box::pin(async move {
                    let store = RedisStore::open(at(port)).await.unwrap();
                    ahead(Arc::new(store) as Arc<dyn Store>)
                }) as _
            };
            let turns = || proxy.turns();
            play_counted(&scripts, &keyspace, &make, &options(), Some(&turns)).await.unwrap()
        });
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        assert!(!report.passed.is_empty());
    }
}

//! What is counted of calls.

use crate::support::Shelf;
use axum::http::{Method, StatusCode};
use data::Caller;
use serde_json::{Value as Json, json};

#[tokio::test(flavor = "multi_thread")]
async fn traffic_is_counted() {
    let shelf = Shelf::open().await;
    assert_eq!(shelf.get("/-/api/traffic").await["patterns"], json!([]));
    let token = shelf.service.sessions.begin(Caller::user("ann"), false).reveal();
    for path in ["/my_books", "/my_books", "/my_books?limit=no"] {
        shelf.ask(Method::GET, path, Some(&token), None).await;
    }
    let traffic = shelf.get("/-/api/traffic").await;
    assert_eq!((&traffic["answered"], &traffic["failed"]), (&json!(2), &json!(1)));
    assert_eq!(traffic["patterns"][0]["name"], "my_books");
    assert_eq!(traffic["problems"]["argument"], 1);
    assert_eq!(traffic["microseconds"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_used_of_bounds_is_told_while_it_is_new() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..60).await;
    assert_eq!(shelf.get("/-/api/traffic").await["bound_percent"], json!(null));
    let token = shelf.service.sessions.begin(Caller::user("ann"), false).reveal();
    for path in ["/my_books?limit=1", "/my_books?limit=1", "/my_books?limit=50"] {
        let (status, _) = shelf.ask(Method::GET, path, Some(&token), None).await;
        assert_eq!(status, StatusCode::OK);
    }
    let patterns = shelf.get("/-/api/keyspace").await["patterns"].clone();
    let is_asked = |pattern: &&Json| pattern["name"] == "my_books";
    let pattern = patterns.as_array().unwrap().iter().find(is_asked).unwrap();
    let most = pattern["bounds"]["rows_read"].as_u64().unwrap();
    // One row more may be read, to know whether there are others.
    let is_of = |told: &Json, rows: u64| {
        let percents = (rows * 100 / most)..=((rows + 1) * 100 / most);
        percents.contains(&told.as_u64().unwrap())
    };
    let traffic = shelf.get("/-/api/traffic").await;
    let bound = &traffic["bound_percent"];
    assert!(is_of(&bound[0], 1) && is_of(&bound[2], 50) && bound[0] != bound[2], "{bound}");
    assert_eq!(traffic["patterns"][0]["bound_percent_now"], bound[2]);
    assert_eq!(traffic["patterns"][0]["bound_percent"], bound[2]);
}

//! Rows of everybody, page by page.

use crate::support::{Folder, Shelf};
use axum::http::{Method, StatusCode};
use serde_json::{Value as Json, json};
use servers::redis::RedisServer;
use std::collections::BTreeSet;

/// Every key of the books, page by page.
async fn keys(shelf: &Shelf, more: &str, limit: usize) -> Vec<String> {
    keys_of(shelf, "books", more, limit).await
}

/// Every key of a collection, page by page.
async fn keys_of(shelf: &Shelf, collection: &str, more: &str, limit: usize) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/-/api/rows/{collection}?limit={limit}{more}{after}");
        let page = shelf.get(&path).await;
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.len() <= limit);
        keys.extend(rows.iter().map(|row| row["key"].as_str().unwrap().to_string()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return keys,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_rows_leave_nothing_out() {
    let (folder, redis) = (Folder::new("pages"), RedisServer::start(&[]));
    for url in ["memory:".to_string(), folder.engine(), redis.url()] {
        pages_of(&Shelf::on(&url).await).await;
    }
}

async fn pages_of(shelf: &Shelf) {
    shelf.add("ann", 0..23).await;
    shelf.add("bob", 0..7).await;
    for limit in [1, 4, 23, 30, 500] {
        let all = keys(shelf, "", limit).await;
        assert_eq!(all.len(), 30, "by {limit}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 30);
        assert_eq!(keys(shelf, "&under=user:bob", limit).await.len(), 7);
        assert_eq!(keys(shelf, "&under=user:bob:books", limit).await.len(), 7);
    }
    assert_eq!(keys(shelf, "&under=user:ann:books:0003", 9).await, ["user:ann:books:0003"]);
    assert_eq!(keys(shelf, "&under=user", 9).await.len(), 30);
    assert_eq!(keys(shelf, "&under=user:bo", 9).await.len(), 0);
    let page = shelf.get("/-/api/rows/books?limit=1&under=user:ann").await;
    let id = page["rows"][0]["id"].as_str().unwrap();
    let row = shelf.get(&format!("/-/api/rows/books/{id}")).await;
    assert_eq!(row, page["rows"][0]);
    assert_eq!(row["row"]["isbn"], "ann0");
}

/// A group of two segments: stores that keep rows in order find them by the first alone.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_by_as_much_of_a_group_as_the_store_can() {
    let (folder, redis) = (Folder::new("groups"), RedisServer::start(&[]));
    for url in ["memory:".to_string(), folder.engine(), redis.url()] {
        let shelf = Shelf::on(&url).await;
        shelf.place("hall", "left", 0..7).await;
        shelf.place("hall", "right", 0..4).await;
        shelf.place("attic", "left", 0..2).await;
        for limit in [1, 3, 50] {
            let found = async |under: &str| keys_of(&shelf, "places", under, limit).await.len();
            assert_eq!(found("").await, 13, "{url} by {limit}");
            assert_eq!(found("&under=room").await, 13, "{url} by {limit}");
            assert_eq!(found("&under=room:hall:shelf:left").await, 7, "{url} by {limit}");
            assert_eq!(found("&under=room:hall:shelf:left:03").await, 1, "{url} by {limit}");
            assert_eq!(found("&under=room:cellar:shelf:left").await, 0, "{url} by {limit}");
        }
        let path = "/-/api/rows/places?under=room:hall";
        let (status, body) = shelf.ask(Method::GET, path, Some(&shelf.operator), None).await;
        let body: Json = serde_json::from_str(&body).unwrap();
        if url.starts_with("redis") {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
            let told = (&body["argument"], &body["group"]);
            assert_eq!(told, (&json!("under"), &json!("room:{room}:shelf:{shelf}")));
        } else {
            assert_eq!(keys_of(&shelf, "places", "&under=room:hall", 3).await.len(), 11, "{url}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_ended_are_not_shown() {
    let folder = Folder::new("ended");
    for url in ["memory:".to_string(), folder.engine()] {
        ended_rows_of(&Shelf::on(&url).await).await;
    }
}

async fn ended_rows_of(shelf: &Shelf) {
    shelf.add("ann", 0..5).await;
    let page = shelf.get("/-/api/rows/books").await;
    let id = page["rows"][0]["id"].as_str().unwrap().to_string();
    shelf.clock.advance(3_600_000);
    shelf.add("ann", 7..9).await;
    assert_eq!(keys(shelf, "", 1).await, ["user:ann:books:0007", "user:ann:books:0008"]);
    let path = format!("/-/api/rows/books/{id}");
    let (status, _) = shelf.ask(Method::GET, &path, Some(&shelf.operator), None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_of_rows_is_refused() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..2).await;
    let counts = shelf.get("/-/api/rows/books?limit=1").await["next"].as_str().unwrap().to_string();
    let cases = [
        ("/-/api/rows/nothing".to_string(), StatusCode::NOT_FOUND),
        ("/-/api/rows/books?limit=0".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/rows/books?limit=501".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/rows/books?after=!".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/rows/books?under=other:ann".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/rows/books?under=user:a:books:b:c".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/rows/books?sort=title".to_string(), StatusCode::BAD_REQUEST),
        // A cursor of another collection.
        (format!("/-/api/rows/counts?after={counts}"), StatusCode::BAD_REQUEST),
        ("/-/export?collection=nothing".to_string(), StatusCode::NOT_FOUND),
        ("/-/export?where=x".to_string(), StatusCode::BAD_REQUEST),
        ("/-/api/layouts/paper".to_string(), StatusCode::NOT_FOUND),
        ("/-/api/plans/nothing".to_string(), StatusCode::NOT_FOUND),
    ];
    for (path, expected) in cases {
        let (status, body) = shelf.ask(Method::GET, &path, Some(&shelf.operator), None).await;
        assert_eq!(status, expected, "{path}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_rows_is_noted() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..3).await;
    assert_eq!(keys(&shelf, "&under=user:ann", 1).await.len(), 3);
    let noted = shelf.service.book.recent().await.unwrap();
    let subjects: Vec<String> = noted.into_iter().filter_map(|noted| noted.subject).collect();
    assert_eq!(
        subjects,
        [
            "books under user:ann after user:ann:books:0002",
            "books under user:ann after user:ann:books:0001",
            "books under user:ann after user:ann:books:0000",
            "books under user:ann",
        ]
    );
}

//! Rows as lines, as long as somebody takes them and may.

use crate::support::Shelf;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_whole() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..1_203).await;
    let path = "/-/export?collection=books";
    let (status, text) = shelf.ask(Method::GET, path, Some(&shelf.operator), None).await;
    assert_eq!(status, StatusCode::OK);
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["collections"], json!(["books"]));
    assert_eq!(lines.last().unwrap(), &json!({ "end": { "rows": 1_203 } }));
    let ids: BTreeSet<&str> = lines[1..lines.len() - 1]
        .iter()
        .map(|line| line["row"]["book_id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), lines.len()), (1_203, 1_205));
    let request = Request::builder().uri(path).header("accept-encoding", "gzip");
    let request = request.header("authorization", format!("Bearer {}", shelf.operator));
    let response = shelf.endpoints.answer(None, &mut request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert!(response.into_body().collect().await.unwrap().to_bytes().len() < text.len() / 4);
    assert_eq!(shelf.actions().await, ["exported", "exported"]);
}

/// What was read before the first line was taken cannot have a row that was written after it.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_read_while_it_is_taken() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..4_000).await;
    let mut body = shelf.respond(Method::GET, "/-/export?collection=books").await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"{\"keyway\":1,"), "{first:?}");
    // Whoever takes nothing for a while is waited for, however much time there would be to read.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    shelf.add("ann", 9_000..9_001).await;
    let rest = body.collect().await.unwrap().to_bytes();
    let rest = String::from_utf8(rest.to_vec()).unwrap();
    assert!(rest.contains("\"book_id\":\"9000\""), "the last row was read too early");
    assert_eq!(rest.lines().last().unwrap(), r#"{"end":{"rows":4001}}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_ends_with_its_token() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..6_000).await;
    let mut body = shelf.respond(Method::GET, "/-/export").await.into_body();
    let mut text = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
    let id = shelf.operator.split('_').nth(2).unwrap();
    assert!(shelf.service.book.revoke(id).await.unwrap());
    let cut = loop {
        match body.frame().await {
            Some(Ok(frame)) => text.extend(frame.into_data().unwrap()),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(cut && !String::from_utf8(text).unwrap().contains("\"end\""));
}

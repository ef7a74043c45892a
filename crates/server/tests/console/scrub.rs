//! A scrub in the background, and how it is stopped.

use crate::support::Shelf;
use axum::http::StatusCode;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_scrub_runs_in_the_background() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..9).await;
    let (status, _) = shelf.post("/-/api/scrub", json!({ "repair": true })).await;
    assert_eq!(status, StatusCode::OK);
    let done = loop {
        let state = shelf.get("/-/api/scrub").await;
        if state["state"] != "running" {
            break state;
        }
        tokio::task::yield_now().await;
    };
    let found = (&done["state"], &done["rows"], &done["entries"], &done["found"]);
    assert_eq!(found, (&json!("done"), &json!(9), &json!(9), &json!(0)));
    // Three collections, and one index.
    assert_eq!((&done["parts"], &done["parts_done"]), (&json!(4), &json!(4)));
    let (status, _) = shelf.post("/-/api/scrub/stop", json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(shelf.actions().await.contains(&"scrub started".to_string()));
}

/// On one thread the scrub does not begin before the test waits for something.
#[tokio::test]
async fn a_scrub_can_be_stopped() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..9).await;
    let begun = shelf.post("/-/api/scrub", json!({})).await.1;
    assert_eq!(begun["state"], "running");
    assert_eq!((&begun["parts"], &begun["parts_done"]), (&json!(4), &json!(0)));
    let (status, second) = shelf.post("/-/api/scrub", json!({})).await;
    assert_eq!(
        (status, &second["type"]),
        (StatusCode::CONFLICT, &json!("urn:keyway:problem:scrub_runs"))
    );
    assert_eq!(shelf.post("/-/api/scrub/stop", json!({})).await.1["state"], "stopped");
    assert_eq!(shelf.get("/-/api/scrub").await["rows"], 0);
    assert_eq!(shelf.post("/-/api/scrub", json!({})).await.1["state"], "running");
}

//! Live reads.

use crate::support::{Setup, get};
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use std::time::Duration;

/// A stream of one caller.
struct Stream {
    body: Body,
    left: String,
}

impl Stream {
    async fn open(setup: &Setup, token: &str, path: &str) -> Stream {
        let mut request = get(token, path).body(Body::empty()).unwrap();
        let response = setup.service.endpoints().answer(None, &mut request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert!(!response.headers().contains_key("content-encoding"));
        Stream { body: response.into_body(), left: String::new() }
    }

    /// The next event; the test hangs, and so fails, if none comes.
    async fn next(&mut self) -> (String, Json) {
        loop {
            if let Some((event, rest)) = self.left.split_once("\n\n") {
                let (event, rest) = (event.to_string(), rest.to_string());
                self.left = rest;
                if event.starts_with(':') {
                    continue;
                }
                let (name, data) = event.split_once('\n').unwrap();
                let data = data.strip_prefix("data: ").unwrap();
                let name = name.strip_prefix("event: ").unwrap().to_string();
                return (name, serde_json::from_str(data).unwrap());
            }
            let frame = self.body.frame().await.expect("the stream goes on").unwrap();
            self.left.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_list_is_answered_again_whenever_it_changes() {
    let setup = Setup::new().await;
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    assert_eq!(stream.next().await, ("answer".to_string(), json!({"rows": [], "next": null})));
    // Another's note wakes nobody, and is seen by nobody.
    setup.write(&setup.bob, "/write_note", json!({"title": "hidden"})).await;
    let written = setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let id = written["row"]["note_id"].clone();
    assert_eq!(stream.next().await.1["rows"], json!([written["row"]]));
    let changed = setup.write(&setup.ann, "/star", json!({"note_id": id})).await;
    assert_eq!(stream.next().await.1["rows"], json!([changed["row"]]));
    setup.write(&setup.ann, "/drop_note", json!({"note_id": id})).await;
    assert_eq!(stream.next().await.1["rows"], json!([]));
}

#[tokio::test]
async fn a_row_is_watched_from_before_it_is_there() {
    let setup = Setup::new().await;
    let mut stream = Stream::open(&setup, "", "/card?card_id=a&watch=true").await;
    assert_eq!(stream.next().await.0, "missing");
    setup.write(&setup.admin, "/pin", json!({"card_id": "b", "text": "other"})).await;
    setup.write(&setup.admin, "/pin", json!({"card_id": "a", "text": "one"})).await;
    assert_eq!(stream.next().await.1["row"]["text"], "one");
    setup.write(&setup.admin, "/pin", json!({"card_id": "a", "text": "two"})).await;
    assert_eq!(stream.next().await.1["row"]["text"], "two");
}

#[tokio::test]
async fn rows_found_through_an_index_are_watched_themselves() {
    let setup = Setup::new().await;
    let note = json!({"title": "Milk", "tags": ["shop"]});
    let written = setup.write(&setup.ann, "/write_note", note).await;
    let id = written["row"]["note_id"].clone();
    let mut stream = Stream::open(&setup, &setup.ann, "/tagged?tags=shop&watch").await;
    assert_eq!(stream.next().await.1["rows"][0]["stars"], json!(0));
    // The entry of the index does not change by this.
    setup.write(&setup.ann, "/star", json!({"note_id": id})).await;
    assert_eq!(stream.next().await.1["rows"][0]["stars"], json!(1));
    let more = json!({"title": "Bread", "tags": ["shop"]});
    let more = setup.write(&setup.ann, "/write_note", more).await;
    assert_eq!(stream.next().await.1["rows"][1], more["row"]);
    // What was found a moment ago is watched as well.
    setup.write(&setup.ann, "/star", json!({"note_id": more["row"]["note_id"]})).await;
    assert_eq!(stream.next().await.1["rows"][1]["stars"], json!(1));
}

#[tokio::test]
async fn a_stream_that_is_dropped_waits_no_more() {
    let setup = Setup::new().await;
    let watchers = setup.service.keyway.runtime().shared().watchers().clone();
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
        stream.next().await;
        streams.push(stream);
    }
    assert_eq!(watchers.count(), 50);
    setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    for stream in &mut streams {
        assert_eq!(stream.next().await.1["rows"].as_array().unwrap().len(), 1);
    }
    drop(streams);
    assert_eq!(watchers.count(), 0);
    let numbers = String::from_utf8(setup.get(&setup.operator, "/metrics").await.body).unwrap();
    assert!(numbers.contains("keyway_watchers 0"), "{numbers}");
}

#[tokio::test]
async fn writers_in_a_hurry_are_seen_at_last() {
    let setup = Setup::new().await;
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    stream.next().await;
    let writes = async {
        for number in 0..40 {
            setup.write(&setup.ann, "/write_note", json!({"title": format!("{number}")})).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let reads = async {
        let mut events = 0;
        loop {
            events += 1;
            if stream.next().await.1["rows"].as_array().unwrap().len() == 40 {
                return events;
            }
        }
    };
    let ((), events) = tokio::join!(writes, reads);
    assert!(events <= 40, "{events}");
}

#[tokio::test]
async fn a_page_with_more_behind_it_is_not_told_twice() {
    let setup = Setup::new().await;
    for number in 0..3 {
        setup.write(&setup.ann, "/write_note", json!({"title": format!("{number}")})).await;
    }
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?limit=2&watch").await;
    assert!(stream.next().await.1["next"].is_string());
    // It lies behind the page: whoever watches is woken, and has nothing to tell.
    let last = setup.write(&setup.ann, "/write_note", json!({"title": "last"})).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let page = setup.get(&setup.ann, "/notes?limit=1").await.json();
    let first = setup.write(&setup.ann, "/star", json!({"note_id": page["rows"][0]["note_id"]}));
    let first = first.await;
    let told = stream.next().await.1;
    assert_eq!(told["rows"][0], first["row"]);
    assert_ne!(told["rows"][1], last["row"]);
}

#[tokio::test]
async fn what_is_wrong_is_told_before_the_stream_begins() {
    let setup = Setup::new().await;
    for (token, path, status) in [
        ("", "/notes?watch", 401),
        (setup.ann.as_str(), "/notes?watch&limit=x", 400),
        (setup.ann.as_str(), "/notes?watch=maybe", 400),
        (setup.ann.as_str(), "/notes?watch&cursor=x", 400),
    ] {
        assert_eq!(setup.get(token, path).await.status.as_u16(), status, "{path}");
    }
    let settings = server::Settings { watchers_max: 1, ..server::Settings::default() };
    let setup = Setup::with(settings).await;
    let stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    let refused = setup.get(&setup.ann, "/notes?watch").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("retry-after"), Some("5"));
    drop(stream);
    Stream::open(&setup, &setup.ann, "/notes?watch").await;
}

//! Live reads.

use crate::club::club;
use crate::support::{KEYSPACE, Setup, get};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use data::Caller;
use data::clock::Clock;
use http_body_util::BodyExt;
use keyway::Keyway;
use serde_json::{Value as Json, json};
use server::Settings;
use server::access::NewToken;
use std::time::Duration;

/// A stream of one caller.
pub(crate) struct Stream {
    body: Body,
    left: String,
}

impl Stream {
    pub(crate) async fn open(setup: &Setup, token: &str, path: &str) -> Stream {
        Stream::begin(setup, get(token, path).body(Body::empty()).unwrap()).await
    }

    async fn begin(setup: &Setup, mut request: Request<Body>) -> Stream {
        let response = setup.service.endpoints().answer(None, &mut request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert!(!response.headers().contains_key("content-encoding"));
        Stream { body: response.into_body(), left: String::new() }
    }

    /// The next event; the test hangs, and so fails, if none comes.
    pub(crate) async fn next(&mut self) -> (String, Json) {
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

    /// The stream says that its token is worth nothing, and ends.
    async fn is_ended(&mut self) {
        let (name, problem) = self.next().await;
        assert_eq!((name.as_str(), &problem["status"]), ("problem", &json!(401)), "{problem}");
        assert!(self.left.is_empty() && self.body.frame().await.is_none());
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
    let numbers = String::from_utf8(setup.get(&setup.operator, "/metrics").await.body).unwrap();
    assert!(numbers.contains("keyway_watchers 0"), "{numbers}");
    let settings = Settings { watchers_max: 1, ..Settings::default() };
    let setup = Setup::with(settings).await;
    let stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    let refused = setup.get(&setup.ann, "/notes?watch").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("retry-after"), Some("5"));
    drop(stream);
    Stream::open(&setup, &setup.ann, "/notes?watch").await;
}

/// The id of a token.
fn id(token: &str) -> &str {
    token.split('_').nth(2).unwrap()
}

#[tokio::test]
async fn nothing_is_told_to_a_token_that_was_revoked() {
    let setup = Setup::new().await;
    let second = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let second = setup.service.book.create(second).await.unwrap().0.reveal();
    let mut ended = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    let mut goes_on = Stream::open(&setup, &second, "/notes?watch").await;
    let mut public = Stream::open(&setup, "", "/board?watch").await;
    for stream in [&mut ended, &mut goes_on, &mut public] {
        stream.next().await;
    }
    assert!(setup.service.book.revoke(id(&setup.ann)).await.unwrap());
    setup.write(&second, "/write_note", json!({"title": "secret"})).await;
    ended.is_ended().await;
    assert_eq!(goes_on.next().await.1["rows"][0]["title"], "secret");
    setup.write(&setup.admin, "/pin", json!({"card_id": "a", "text": "hello"})).await;
    assert_eq!(public.next().await.1["rows"][0]["text"], "hello");
}

#[tokio::test]
async fn a_silent_stream_ends_with_its_token() {
    let looks_every = Duration::from_millis(50);
    let setup = Setup::with(Settings { looks_every, ..Settings::default() }).await;
    let now = keyway::SystemClock::start().now();
    let short = NewToken {
        user: Some("ann".to_string()),
        expires_at: Some(now + 1_500),
        ..NewToken::default()
    };
    let short = setup.service.book.create(short).await.unwrap().0.reveal();
    let session = setup.service.sessions.begin(Caller::user("ann"), false);
    let mut streams = Vec::new();
    for token in [short, session.reveal(), setup.bob.clone()] {
        let mut stream = Stream::open(&setup, &token, "/notes?watch").await;
        stream.next().await;
        streams.push(stream);
    }
    assert!(setup.service.sessions.end(&session.id));
    assert!(setup.service.book.revoke(id(&setup.bob)).await.unwrap());
    // Nothing is written: each is ended by the time alone.
    for stream in &mut streams {
        stream.is_ended().await;
    }
}

#[tokio::test]
async fn only_get_and_list_are_watched() {
    let (setup, _) = club(Settings::default()).await;
    let path = "/nearby?lat=59.9&lon=10.7&radius=1000";
    assert_eq!(setup.get(&setup.ann, path).await.status, StatusCode::OK);
    let by_word = get(&setup.ann, &format!("{path}&watch"));
    let by_header = get(&setup.ann, path).header("accept", "text/event-stream");
    for request in [by_word, by_header] {
        let refused = setup.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (StatusCode::BAD_REQUEST, "watch")
        );
    }
}

#[tokio::test]
async fn a_stream_is_not_compressed_for_whoever_could_read_that() {
    let setup = Setup::new().await;
    let long = "long ".repeat(1_000);
    setup.write(&setup.ann, "/write_note", json!({"title": long})).await;
    let asks = |path| get(&setup.ann, path).header("accept-encoding", "gzip").body(Body::empty());
    // The same answer is compressed where it is not watched.
    let plain = setup.send(asks("/notes").unwrap()).await;
    assert_eq!(plain.header("content-encoding"), Some("gzip"));
    let mut stream = Stream::begin(&setup, asks("/notes?watch").unwrap()).await;
    assert_eq!(stream.next().await.1["rows"][0]["title"], long);
    // An event that is held back until there are more would never come.
    setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    assert_eq!(stream.next().await.1["rows"][1]["title"], "Milk");
}

#[tokio::test]
async fn what_another_program_writes_to_a_shared_store_is_seen() {
    let name = format!("keyway-shared-{}.sqlite", std::process::id());
    let file = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&file);
    let url = format!("sqlite:{}", file.display());
    let looks_every = Duration::from_millis(50);
    let settings = Settings { looks_every, ..Settings::default() };
    let setup = Setup::on(Keyway::builder(), KEYSPACE, &url, settings).await;
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    assert_eq!(stream.next().await.1["rows"], json!([]));
    // It shares the file alone: nobody tells the server.
    let other = keyway::open_text(KEYSPACE, &url).await.unwrap();
    let ann = Caller::user("ann");
    other.call_json("write_note", json!({"title": "Milk"}), &ann).await.unwrap();
    assert_eq!(stream.next().await.1["rows"][0]["title"], "Milk");
    drop(stream);
    other.close().await.unwrap();
    setup.service.keyway.close().await.unwrap();
    for more in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{more}", file.display()));
    }
}

#[tokio::test]
async fn reads_of_a_stream_are_counted_as_others_are() {
    let setup = Setup::new().await;
    setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let answered = "keyway_calls_answered_total{pattern=\"notes\"}";
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    stream.next().await;
    // Once to learn what is to be watched, and once when it is.
    assert_eq!(setup.number(answered).await, 2.0);
    assert_eq!(setup.number("keyway_call_rows_sum{pattern=\"notes\"}").await, 2.0);
    assert_eq!(setup.number("keyway_call_seconds_count{pattern=\"notes\"}").await, 2.0);
    setup.write(&setup.ann, "/write_note", json!({"title": "Bread"})).await;
    stream.next().await;
    assert!(setup.number(answered).await >= 3.0);
    assert_eq!(setup.number("keyway_watchers").await, 1.0);
    // One that cannot begin has failed, and was no stream.
    assert_eq!(setup.get(&setup.ann, "/notes?watch&cursor=x").await.status.as_u16(), 400);
    assert_eq!(setup.number("keyway_calls_failed_total{pattern=\"notes\"}").await, 1.0);
    assert_eq!(setup.number("keyway_watchers").await, 1.0);
}

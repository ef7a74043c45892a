//! What the console asks for: who may, and that nothing is left out or shown twice.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use data::Caller;
use data::clock::ManualClock;
use http_body_util::BodyExt;
use keyway::Keyway;
use serde_json::{Value as Json, json};
use server::access::{Book, NewToken, Peppers};
use server::{Endpoints, Service, Settings};
use std::collections::BTreeSet;
use std::sync::Arc;

const KEYSPACE: &str = r#"
[keyspace]
name = "shelf"

[collection.books]
key    = "user:{user_id: text}:books | {book_id: text}"
owner  = "user_id"
fields = { title = "text", isbn = "text" }
ttl    = "1h"
index.isbn = { key = "isbn:{isbn}", unique = true }

[collection.counts]
key   = "count:{name: text}"
value = "counter"

[pattern.add_book]
insert = "books"

[pattern.my_books]
list = "books"
page = 100

[pattern.count_up]
add   = "counts"
allow = "user"

[pattern.counted]
get = "counts"
"#;

struct Shelf {
    service: Arc<Service>,
    endpoints: Endpoints,
    operator: String,
    clock: ManualClock,
}

impl Shelf {
    async fn open() -> Shelf {
        let clock = ManualClock::at(1_800_000_000_000);
        let builder = Keyway::builder().clock(clock.clone()).sweep_every(None);
        let keyway = builder.open_text(KEYSPACE, "memory:").await.unwrap();
        let random = data::clock::SystemRandom::start().unwrap();
        let book = Book::open("memory:", Peppers::random(&random)).await.unwrap();
        let settings = Settings { calls_a_second: None, ..Settings::default() };
        let service = Service::new(keyway, book, settings).unwrap();
        let wanted = NewToken { is_operator: true, ..NewToken::default() };
        let operator = service.book.create(wanted).await.unwrap().0.reveal();
        Shelf { endpoints: service.endpoints(), service, operator, clock }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<Json>,
    ) -> (StatusCode, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let response = self.endpoints.answer(None, &mut request.body(body).unwrap()).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> Json {
        let (status, body) = self.ask(Method::GET, path, Some(&self.operator), None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn post(&self, path: &str, body: Json) -> (StatusCode, Json) {
        let (status, body) = self.ask(Method::POST, path, Some(&self.operator), Some(body)).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    async fn add(&self, user: &str, books: std::ops::Range<usize>) {
        for number in books {
            let book = json!({
                "book_id": format!("{number:04}"), "title": "T", "isbn": format!("{user}{number}")
            });
            self.service.keyway.call_json("add_book", book, &Caller::user(user)).await.unwrap();
        }
    }

    async fn actions(&self) -> Vec<String> {
        let noted = self.service.book.recent().await.unwrap();
        noted.into_iter().map(|noted| noted.action).collect()
    }
}

/// Every endpoint that only operators may use, with a body for those that change something.
fn guarded() -> Vec<(Method, &'static str, Option<Json>)> {
    let get = |path| (Method::GET, path, None);
    let post = |path| (Method::POST, path, Some(json!({})));
    vec![
        get("/-/api/keyspace"),
        get("/-/api/plans/my_books"),
        get("/-/api/layouts/memory"),
        get("/-/api/rows/books"),
        get("/-/api/rows/books/AAEA"),
        get("/-/api/traffic"),
        get("/-/api/scrub"),
        get("/-/api/tokens"),
        get("/-/api/audit"),
        get("/-/export"),
        post("/-/api/sessions"),
        post("/-/api/sessions/x/end"),
        post("/-/api/scrub"),
        post("/-/api/scrub/stop"),
        post("/-/api/tokens"),
        post("/-/api/tokens/x/revoke"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_may() {
    let shelf = Shelf::open().await;
    let user = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let user = shelf.service.book.create(user).await.unwrap().0.reveal();
    let session = shelf.service.sessions.begin(Caller::user("ann"), false).reveal();
    for (method, path, body) in guarded() {
        let asked = |token| shelf.ask(method.clone(), path, token, body.clone());
        assert_eq!(asked(None).await.0, StatusCode::UNAUTHORIZED, "{path} without a token");
        assert_eq!(asked(Some(&user)).await.0, StatusCode::FORBIDDEN, "{path} by a user");
        assert_eq!(asked(Some(&session)).await.0, StatusCode::FORBIDDEN, "{path} by a session");
        let (status, body) = asked(Some(&shelf.operator)).await;
        let is_let_in = status != StatusCode::UNAUTHORIZED && status != StatusCode::FORBIDDEN;
        assert!(is_let_in && !status.is_server_error(), "{path}: {status} {body}");
    }
    let actions = shelf.actions().await;
    assert!(!actions.iter().any(|action| action == "token revoked"), "{actions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_parts_are_public() {
    let shelf = Shelf::open().await;
    let (status, page) = shelf.ask(Method::GET, "/", None, None).await;
    assert_eq!(status, StatusCode::OK);
    let mut parts: BTreeSet<String> = BTreeSet::new();
    let mut unread: Vec<String> = vec![page];
    while let Some(text) = unread.pop() {
        let quoted = text.split('"').filter(|word| word.len() < 60 && !word.contains(' '));
        let named = quoted
            .filter_map(|word| word.strip_prefix("/-/assets/").or_else(|| word.strip_prefix("./")));
        for name in named {
            if parts.insert(name.to_string()) {
                let path = format!("/-/assets/{name}");
                let (status, text) = shelf.ask(Method::GET, &path, None, None).await;
                assert_eq!(status, StatusCode::OK, "{path}");
                unread.push(text);
            }
        }
    }
    assert!(parts.len() > 15 && parts.contains("tokens.js"), "{parts:?}");
    let (status, _) = shelf.ask(Method::GET, "/-/assets/other.js", None, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, about) = shelf.ask(Method::GET, "/-/about", None, None).await;
    assert!(status == StatusCode::OK && about.contains("shelf"), "{about}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_opens_one_console() {
    let shelf = Shelf::open().await;
    let code = json!({ "code": shelf.service.sessions.code() });
    let open = || shelf.ask(Method::POST, "/-/open", None, Some(code.clone()));
    let (status, body) = open().await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let token = serde_json::from_str::<Json>(&body).unwrap()["token"].as_str().unwrap().to_string();
    let asked = shelf.ask(Method::GET, "/-/api/keyspace", Some(&token), None).await;
    assert_eq!(asked.0, StatusCode::OK);
    assert_eq!(open().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(shelf.actions().await, ["console opened"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_other_sites_do_nothing() {
    let shelf = Shelf::open().await;
    let request = Request::builder().method(Method::POST).uri("/-/api/scrub");
    let request = request.header("authorization", format!("Bearer {}", shelf.operator));
    let request = request.header("content-type", "text/plain");
    let response = shelf.endpoints.answer(None, &mut request.body(Body::from("{}")).unwrap()).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(shelf.get("/-/api/scrub").await["state"], "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_calls_as_somebody_else() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..2).await;
    let wanted = json!({ "user": "ann", "roles": ["reader"] });
    let (status, begun) = shelf.post("/-/api/sessions", wanted).await;
    assert_eq!(status, StatusCode::OK);
    let token = begun["token"].as_str().unwrap();
    let (_, books) = shelf.ask(Method::GET, "/my_books", Some(token), None).await;
    let books: Json = serde_json::from_str(&books).unwrap();
    assert_eq!(books["rows"].as_array().unwrap().len(), 2);
    let path = format!("/-/api/sessions/{}/end", begun["id"].as_str().unwrap());
    assert_eq!(shelf.post(&path, json!({})).await.1["ended"], true);
    let (status, _) = shelf.ask(Method::GET, "/my_books", Some(token), None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(shelf.actions().await, ["session ended", "called as"]);
}

/// Every key of a collection, page by page.
async fn keys(shelf: &Shelf, more: &str, limit: usize) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/-/api/rows/books?limit={limit}{more}{after}");
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
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..23).await;
    shelf.add("bob", 0..7).await;
    for limit in [1, 4, 23, 30, 500] {
        let all = keys(&shelf, "", limit).await;
        assert_eq!(all.len(), 30, "by {limit}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 30);
        assert_eq!(keys(&shelf, "&under=user:bob", limit).await.len(), 7);
        assert_eq!(keys(&shelf, "&under=user:bob:books", limit).await.len(), 7);
    }
    assert_eq!(keys(&shelf, "&under=user:ann:books:0003", 9).await, ["user:ann:books:0003"]);
    assert_eq!(keys(&shelf, "&under=user", 9).await.len(), 30);
    assert_eq!(keys(&shelf, "&under=user:bo", 9).await.len(), 0);
    let page = shelf.get("/-/api/rows/books?limit=1").await;
    let id = page["rows"][0]["id"].as_str().unwrap();
    let row = shelf.get(&format!("/-/api/rows/books/{id}")).await;
    assert_eq!(row, page["rows"][0]);
    assert_eq!(row["row"]["isbn"], "ann0");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_ended_are_not_shown() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..5).await;
    let page = shelf.get("/-/api/rows/books").await;
    let id = page["rows"][0]["id"].as_str().unwrap().to_string();
    shelf.clock.advance(3_600_000);
    shelf.add("ann", 7..9).await;
    assert_eq!(keys(&shelf, "", 1).await, ["user:ann:books:0007", "user:ann:books:0008"]);
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
    let (status, _) = shelf.post("/-/api/scrub/stop", json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(shelf.actions().await.contains(&"scrub started".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_and_revoked() {
    let shelf = Shelf::open().await;
    let wanted = json!({ "user": "ann", "label": "phone", "expires_in": 60 });
    let (status, made) = shelf.post("/-/api/tokens", wanted).await;
    assert_eq!(status, StatusCode::OK);
    let text = made["token"].as_str().unwrap();
    assert_eq!(shelf.ask(Method::GET, "/my_books", Some(text), None).await.0, StatusCode::OK);
    let id = made["kept"]["id"].as_str().unwrap();
    let listed = shelf.get("/-/api/tokens").await;
    let listed = listed["tokens"].as_array().unwrap();
    assert!(listed.iter().any(|token| token["id"] == id && token["label"] == "phone"));
    assert!(!serde_json::to_string(listed).unwrap().contains(text));
    let path = format!("/-/api/tokens/{id}/revoke");
    assert_eq!(shelf.post(&path, json!({})).await.0, StatusCode::OK);
    assert_eq!(shelf.post(&path, json!({})).await.0, StatusCode::NOT_FOUND);
    let refused = shelf.ask(Method::GET, "/my_books", Some(text), None).await.0;
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
    let (status, _) = shelf.post("/-/api/tokens", json!({ "expires_in": 0 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let actions = shelf.get("/-/api/audit").await;
    let actions: Vec<(&str, &str)> = actions["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["action"].as_str().unwrap(), one["subject"].as_str().unwrap()))
        .collect();
    assert_eq!(actions, [("token revoked", id), ("token created", id)]);
}

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

/// On one thread the scrub does not begin before the test waits for something.
#[tokio::test]
async fn a_scrub_can_be_stopped() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..9).await;
    assert_eq!(shelf.post("/-/api/scrub", json!({})).await.1["state"], "running");
    let (status, second) = shelf.post("/-/api/scrub", json!({})).await;
    assert_eq!(
        (status, &second["type"]),
        (StatusCode::CONFLICT, &json!("urn:keyway:problem:scrub_runs"))
    );
    assert_eq!(shelf.post("/-/api/scrub/stop", json!({})).await.1["state"], "stopped");
    assert_eq!(shelf.get("/-/api/scrub").await["rows"], 0);
    assert_eq!(shelf.post("/-/api/scrub", json!({})).await.1["state"], "running");
}

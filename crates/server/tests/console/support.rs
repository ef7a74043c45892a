//! A shelf of books, a server of it, and what an operator asks.

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use data::Caller;
use data::clock::ManualClock;
use http_body_util::BodyExt;
use keyway::Keyway;
use serde_json::{Value as Json, json};
use server::access::{Book, NewToken, Peppers};
use server::{Endpoints, Service, Settings};
use std::path::PathBuf;
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

[collection.places]
key    = "room:{room: text}:shelf:{shelf: text} | {place: text}"
fields = { book_id = "text" }
expect = { rows_per_group = 100 }

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

[pattern.place_book]
put   = "places"
allow = "user"

[pattern.shelf]
list  = "places"
page  = 100
allow = "user"
"#;

pub struct Shelf {
    pub service: Arc<Service>,
    pub endpoints: Endpoints,
    pub operator: String,
    pub clock: ManualClock,
}

impl Shelf {
    pub async fn open() -> Shelf {
        Shelf::on("memory:").await
    }

    pub async fn on(url: &str) -> Shelf {
        let clock = ManualClock::at(1_800_000_000_000);
        let builder = Keyway::builder().clock(clock.clone()).sweep_every(None);
        let keyway = builder.open_text(KEYSPACE, url).await.unwrap();
        let random = data::clock::SystemRandom::start().unwrap();
        let book = Book::open("memory:", Peppers::random(&random)).await.unwrap();
        let settings = Settings { calls_a_second: None, ..Settings::default() };
        let service = Service::new(keyway, book, settings).unwrap();
        let wanted = NewToken { is_operator: true, ..NewToken::default() };
        let operator = service.book.create(wanted).await.unwrap().0.reveal();
        Shelf { endpoints: service.endpoints(), service, operator, clock }
    }

    pub async fn ask(
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

    /// What an operator is answered who sends nothing.
    pub async fn respond(&self, method: Method, path: &str) -> Response<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {}", self.operator));
        self.endpoints.answer(None, &mut request.body(Body::empty()).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Json {
        let (status, body) = self.ask(Method::GET, path, Some(&self.operator), None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    pub async fn post(&self, path: &str, body: Json) -> (StatusCode, Json) {
        let (status, body) = self.ask(Method::POST, path, Some(&self.operator), Some(body)).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    pub async fn add(&self, user: &str, books: std::ops::Range<usize>) {
        for number in books {
            let book = json!({
                "book_id": format!("{number:04}"), "title": "T", "isbn": format!("{user}{number}")
            });
            self.service.keyway.call_json("add_book", book, &Caller::user(user)).await.unwrap();
        }
    }

    pub async fn place(&self, room: &str, shelf: &str, places: std::ops::Range<usize>) {
        for number in places {
            let place = json!({
                "room": room, "shelf": shelf, "place": format!("{number:02}"), "book_id": "b"
            });
            self.service.keyway.call_json("place_book", place, &Caller::user("ann")).await.unwrap();
        }
    }

    pub async fn actions(&self) -> Vec<String> {
        let noted = self.service.book.recent().await.unwrap();
        noted.into_iter().map(|noted| noted.action).collect()
    }
}

/// A folder that is removed with everything in it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let name = format!("keyway-console-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// The URL of an engine in it.
    pub fn engine(&self) -> String {
        format!("engine:{}", self.0.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

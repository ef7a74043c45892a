//! A server over a small keyspace in memory, and requests to it.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use keyway::{Builder, Keyway};
use serde_json::Value as Json;
use server::access::{Book, NewToken, Peppers};
use server::{Service, Settings};
use std::sync::Arc;

/// Notes of users, a public board, a counter; `club.toml` has members and windows.
pub const KEYSPACE: &str = include_str!("keyspace.toml");

/// A server and tokens for it.
pub struct Setup {
    /// The server.
    pub service: Arc<Service>,
    /// Tokens of two users, of an administrator and of an operator.
    pub ann: String,
    pub bob: String,
    pub admin: String,
    pub operator: String,
}

/// What was answered.
#[derive(Debug)]
pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answered {
    /// The body as JSON.
    pub fn json(&self) -> Json {
        let shown = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {shown}"))
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The name of the problem that it tells.
    pub fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status.as_u16());
        let name = json["type"].as_str().unwrap().strip_prefix("urn:keyway:problem:");
        name.unwrap_or_else(|| panic!("{json}")).to_string()
    }
}

impl Setup {
    /// With the usual settings, but no limit of calls.
    pub async fn new() -> Setup {
        Setup::with(Settings { calls_a_second: None, ..Settings::default() }).await
    }

    /// With these settings.
    pub async fn with(settings: Settings) -> Setup {
        Setup::on(Keyway::builder(), KEYSPACE, "memory:", settings).await
    }

    /// Of a keyspace on a store.
    pub async fn on(builder: Builder, keyspace: &str, url: &str, settings: Settings) -> Setup {
        let keyway = builder.check_bounds(true).open_text(keyspace, url).await;
        Setup::of(keyway.unwrap(), settings).await
    }

    /// Of an open keyspace.
    pub async fn of(keyway: Keyway, settings: Settings) -> Setup {
        let random = keyway::SystemRandom::start().unwrap();
        let book = Book::open("memory:", Peppers::random(&random)).await.unwrap();
        let token = async |user: &str, role: Option<&str>, is_operator: bool| {
            let roles = role.map(str::to_string).into_iter().collect();
            let user = Some(user.to_string());
            let wanted = NewToken { user, roles, is_operator, ..NewToken::default() };
            book.create(wanted).await.unwrap().0.reveal()
        };
        let (ann, bob) = (token("ann", None, false).await, token("bob", None, false).await);
        let admin = token("root", Some("admin"), false).await;
        let operator = token("operator", None, true).await;
        let service = Service::new(keyway, book, settings).unwrap();
        Setup { service, ann, bob, admin, operator }
    }

    /// A token of a user of a tenant.
    pub async fn token_of(&self, user: &str, tenant: &str) -> String {
        let (user, tenant) = (Some(user.to_string()), Some(tenant.to_string()));
        let wanted = NewToken { user, tenant, ..NewToken::default() };
        self.service.book.create(wanted).await.unwrap().0.reveal()
    }

    /// What Prometheus reads.
    pub async fn numbers(&self) -> String {
        let answered = self.get(&self.operator, "/metrics").await;
        assert_eq!(answered.status, StatusCode::OK);
        String::from_utf8(answered.body).unwrap()
    }

    /// One of those numbers, such as `keyway_call_rows_sum{pattern="notes"}`.
    pub async fn number(&self, name: &str) -> f64 {
        let numbers = self.numbers().await;
        let mut lines = numbers.lines().filter_map(|line| line.strip_prefix(name));
        let value = lines.find_map(|rest| rest.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name} is not in\n{numbers}")).parse().unwrap()
    }

    /// Makes a request.
    pub async fn send(&self, mut request: Request<Body>) -> Answered {
        let response = self.service.endpoints().answer(None, &mut request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answered { status: parts.status, headers: parts.headers, body }
    }

    /// Reads.
    pub async fn get(&self, token: &str, path: &str) -> Answered {
        self.send(get(token, path).body(Body::empty()).unwrap()).await
    }

    /// Writes.
    pub async fn post(&self, token: &str, path: &str, body: Json) -> Answered {
        self.send(post(token, path).body(Body::from(body.to_string())).unwrap()).await
    }

    /// Writes, which goes well.
    pub async fn write(&self, token: &str, path: &str, body: Json) -> Json {
        let answered = self.post(token, path, body).await;
        assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
        answered.json()
    }
}

/// A request that reads; without a token if it is empty.
pub fn get(token: &str, path: &str) -> axum::http::request::Builder {
    with_token(Request::get(path), token)
}

/// A request that writes JSON.
pub fn post(token: &str, path: &str) -> axum::http::request::Builder {
    with_token(Request::post(path), token).header("content-type", "application/json")
}

fn with_token(request: axum::http::request::Builder, token: &str) -> axum::http::request::Builder {
    match token.is_empty() {
        true => request,
        false => request.header("authorization", format!("Bearer {token}")),
    }
}

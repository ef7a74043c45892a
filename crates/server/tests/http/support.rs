//! A server over a small keyspace in memory, and requests to it.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use keyway::Keyway;
use serde_json::Value as Json;
use server::access::{Book, NewToken, Peppers};
use server::{Service, Settings};
use std::sync::Arc;

/// Notes of users, a public board, a counter, a window, a queue.
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
        json["type"].as_str().unwrap().trim_start_matches("urn:keyway:problem:").to_string()
    }
}

impl Setup {
    /// With the usual settings, but no limit of calls.
    pub async fn new() -> Setup {
        Setup::with(Settings { calls_a_second: None, ..Settings::default() }).await
    }

    /// With these settings.
    pub async fn with(settings: Settings) -> Setup {
        let keyway = Keyway::builder().check_bounds(true).open_text(KEYSPACE, "memory:").await;
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
        let service = Service::new(keyway.unwrap(), book, settings).unwrap();
        Setup { service, ann, bob, admin, operator }
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

//! Problems as RFC 9457 has them: JSON that says what is wrong, where, and whether to try again.

use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use data::{Error, ErrorKind};
use serde_json::{Map, Value as Json};

/// A problem, ready to be answered.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status of the response.
    pub status: StatusCode,
    /// Which problem it is, for programs.
    name: &'static str,
    /// What is wrong, in a sentence.
    title: String,
    /// What varies.
    members: Box<Map<String, Json>>,
    /// Seconds to wait before the same request.
    retry_after: Option<u64>,
}

impl Problem {
    /// A problem of the request itself.
    pub fn new(status: StatusCode, name: &'static str, title: impl Into<String>) -> Problem {
        let title = title.into();
        Problem { status, name, title, members: Box::default(), retry_after: None }
    }

    /// The same with something that varies.
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Problem {
        self.members.insert(name.to_string(), value.into());
        self
    }

    /// The same request may be right after so many seconds.
    pub fn after(mut self, seconds: u64) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    /// Whoever asks must say who they are.
    pub fn unauthorized() -> Problem {
        let title = "a token is needed: send it as `Authorization: Bearer TOKEN`";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title)
    }

    /// A token that opens nothing, whatever the reason.
    pub fn worthless() -> Problem {
        let title = "the token is not known, has ended or was revoked";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title)
    }

    /// The row is not there, or is another's: both are answered with the same bytes.
    pub fn not_found() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", "the row is not there")
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        json.insert("type".to_string(), format!("urn:keyway:problem:{}", self.name).into());
        json.insert("title".to_string(), self.title.as_str().into());
        json.insert("status".to_string(), self.status.as_u16().into());
        for (name, value) in self.members.iter() {
            // Nothing that varies takes the place of what every problem has.
            json.entry(name).or_insert_with(|| value.clone());
        }
        Json::Object(json)
    }

    /// As a sentence, for whoever reads no JSON.
    pub fn sentence(&self) -> String {
        let mut sentence = self.title.clone();
        for (name, value) in self.members.iter() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            sentence.push_str(&format!("; {name}: {value}"));
        }
        sentence
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::from(&error)
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Problem {
        let (status, name) = kind(error.kind());
        if error.kind() == ErrorKind::NotFound {
            return Problem::not_found();
        }
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            // What went wrong inside concerns whoever looks after the server.
            tracing::error!(?error, "a call failed");
            return Problem::new(status, name, "the server cannot do this: its log says why");
        }
        let mut problem = Problem::new(status, name, error.message());
        for (name, value) in error.context() {
            // The type of a problem is which problem it is; of a value, what was expected.
            let name = if *name == "type" { "expected" } else { *name };
            problem = problem.with(&name.replace(' ', "_"), value.as_str());
        }
        if error.is_retryable() {
            let wait = if error.kind() == ErrorKind::Limited { 0 } else { 1 };
            problem = problem.with("retryable", true).after(wait);
        }
        problem
    }
}

fn kind(kind: ErrorKind) -> (StatusCode, &'static str) {
    match kind {
        ErrorKind::Argument => (StatusCode::BAD_REQUEST, "argument"),
        ErrorKind::Cursor => (StatusCode::BAD_REQUEST, "cursor"),
        ErrorKind::Denied => (StatusCode::FORBIDDEN, "denied"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict"),
        ErrorKind::Taken => (StatusCode::CONFLICT, "taken"),
        ErrorKind::Overflow => (StatusCode::CONFLICT, "overflow"),
        ErrorKind::Limited => (StatusCode::TOO_MANY_REQUESTS, "limited"),
        ErrorKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        ErrorKind::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        ErrorKind::Unavailable | ErrorKind::Locked | ErrorKind::Moved => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
        ErrorKind::Indeterminate => (StatusCode::GATEWAY_TIMEOUT, "indeterminate"),
        ErrorKind::Unsupported => (StatusCode::NOT_IMPLEMENTED, "unsupported"),
        ErrorKind::Mismatch
        | ErrorKind::Corrupt
        | ErrorKind::Poisoned
        | ErrorKind::Bound
        | ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.to_json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"keyway\""));
        }
        if let Some(method) = self.members.get("allow").and_then(Json::as_str)
            && let Ok(method) = HeaderValue::from_str(method)
        {
            headers.insert(ALLOW, method);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(Told(self.name));
        response
    }
}

/// Which problem a response tells, for logs and meters.
#[derive(Clone, Copy, Debug)]
pub struct Told(pub &'static str);

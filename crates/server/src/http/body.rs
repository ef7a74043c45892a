//! Bodies of requests: JSON, no larger than it may be, and here in time.
//!
//! Whoever sends a body has a place among the requests under way. A body without an end, or without
//! a next byte, would keep it.

use super::problem::Problem;
use crate::service::Service;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Limited};

/// The body of a request, if it is JSON or empty, and not too large.
pub async fn read(service: &Service, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let body = arrived(service, headers, body, service.settings.body_bytes_max).await?;
    match is_json(headers) || body.is_empty() {
        true => Ok(body),
        false => Err(no_json()),
    }
}

/// The body of a request as it is, if it is not too large. A body that says it is too large is not
/// read at all.
pub async fn arrived(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let title = "the body is larger than it may be";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", title).with("bytes_max", most)
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    if headers.contains_key(CONTENT_ENCODING) {
        let title = "bodies are read as they are: send it without Content-Encoding";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", title));
    }
    let collected = Limited::new(body, most).collect();
    match tokio::time::timeout(service.settings.arrives_within, collected).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            let title = "the body did not arrive whole";
            Err(Problem::new(StatusCode::BAD_REQUEST, "body", title))
        }
        Err(_) => {
            let title = "the body took too long to arrive";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body", title))
        }
    }
}

/// Whether a body is said to be JSON. A page of another site can send forms and plain text without
/// asking first, but not JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// The problem of a body that is not said to be JSON.
pub fn no_json() -> Problem {
    let title = "send JSON, with Content-Type: application/json";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", title)
}

//! The page and its parts, as they were when the program was built.

use crate::http::InPath;
use crate::http::problem::Problem;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Name, type and content of each part.
macro_rules! parts {
    ($($name:literal: $kind:expr),* $(,)?) => {
        &[$(($name, $kind, include_bytes!(concat!("assets/", $name)).as_slice())),*]
    };
}

const PARTS: &[(&str, &str, &[u8])] = parts![
    "index.html": HTML,
    "console.css": STYLE,
    "views.css": STYLE,
    "key.svg": PICTURE,
    "answer.js": SCRIPT,
    "app.js": SCRIPT,
    "ask.js": SCRIPT,
    "chart.js": SCRIPT,
    "diagram.js": SCRIPT,
    "find.js": SCRIPT,
    "form.js": SCRIPT,
    "health.js": SCRIPT,
    "layout.js": SCRIPT,
    "make.js": SCRIPT,
    "overview.js": SCRIPT,
    "patterns.js": SCRIPT,
    "pulse.js": SCRIPT,
    "rows.js": SCRIPT,
    "run.js": SCRIPT,
    "theme.js": SCRIPT,
    "tokens.js": SCRIPT,
    "traffic.js": SCRIPT,
];

/// The page itself.
pub async fn page(headers: HeaderMap) -> Response {
    part("index.html", &headers)
}

/// One of its parts.
pub async fn asset(InPath(name): InPath<String>, headers: HeaderMap) -> Response {
    part(&name, &headers)
}

fn part(name: &str, headers: &HeaderMap) -> Response {
    let Some((_, kind, content)) = PARTS.iter().find(|(own, ..)| *own == name) else {
        let title = "there is nothing at this address";
        return Problem::new(StatusCode::NOT_FOUND, "no_endpoint", title).into_response();
    };
    // A newer program has other parts: a browser asks each time, and is told to keep its own.
    let tag = format!("\"{:08x}\"", crc32fast::hash(content));
    let is_known =
        headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => (*content).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

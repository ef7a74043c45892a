//! Requests and responses.
//!
//! ```text
//! door.rs      host, load, token, rate ─▶ next ─▶ headers, log, meters
//! pattern.rs   one endpoint a pattern: arguments from the query or the body, the answer as JSON
//! watch.rs     the same answer as a stream, again whenever it changes
//! own.rs       health, metrics, the description of the endpoints
//! ```

mod conditions;
mod door;
mod own;
pub(crate) mod pattern;
pub(crate) mod problem;
pub(crate) mod query;
mod stream;
pub(crate) mod strict;

pub use door::Peer;
pub(crate) use door::{Known, Operator};
pub(crate) use pattern::{Asked, call, is_offered};

use crate::service::Service;
use crate::{console, mcp};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::routing::{any, get};
use axum::{Router, middleware};
use problem::Problem;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Every endpoint of a server.
pub fn router(service: &Arc<Service>) -> Router {
    let router = Router::new()
        .route("/health", get(own::health))
        .route("/metrics", get(own::metrics))
        .route("/openapi.json", get(own::openapi))
        .merge(console::router())
        .merge(mcp::router(service))
        .route("/{pattern}", any(pattern::answer))
        .fallback(missing)
        .with_state(service.clone());
    let router = router.layer(middleware::from_fn_with_state(service.clone(), door::door));
    // Answers of a few rows travel as they are: to compress them would take longer than to send.
    let router =
        router.layer(CompressionLayer::new().quality(tower_http::CompressionLevel::Fastest));
    match cors(&service.settings.origins) {
        Some(cors) => router.layer(cors),
        None => router,
    }
}

async fn missing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_endpoint", "there is nothing at this address")
}

/// Which pages of other sites may ask; none unless they are named.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|name| name.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let sent = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        conditions::IDEMPOTENCY_KEY,
        HeaderName::from_static("mcp-session-id"),
        HeaderName::from_static("mcp-protocol-version"),
    ];
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(sent)
        .expose_headers([header::ETAG, header::RETRY_AFTER]);
    Some(layer.allow_origin(AllowOrigin::list(origins)))
}

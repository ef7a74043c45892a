//! Endpoints of the server itself.

use super::door::Operator;
use super::problem::Problem;
use crate::service::Service;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How long a store may take to say that it is there.
const STORE_WITHIN: Duration = Duration::from_secs(2);

/// Whether the store answers; nothing that a stranger could use.
pub async fn health(State(service): State<Arc<Service>>) -> Response {
    let is_up = store_is_up(&service).await;
    let status = if is_up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "status": if is_up { "up" } else { "down" } }).to_string();
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (status, headers, body).into_response()
}

async fn store_is_up(service: &Service) -> bool {
    let store = service.keyway.runtime().store().clone();
    let asked = tokio::time::timeout(STORE_WITHIN, store.time()).await;
    let is_up = matches!(asked, Ok(Ok(_)));
    service.meters.store_is_up.set(i64::from(is_up));
    is_up
}

/// Numbers about the traffic, for whoever looks after the server: what is asked how often is
/// nobody else's business.
pub async fn metrics(
    State(service): State<Arc<Service>>,
    _: Operator,
) -> Result<Response, Problem> {
    store_is_up(&service).await;
    service.meters.swept.set(i64::try_from(service.keyway.swept()).unwrap_or(i64::MAX));
    let written = service.meters.text().map_err(|_| {
        let title = "the numbers cannot be written";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", title)
    })?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], written).into_response())
}

/// What can be asked, as OpenAPI 3.1 has it.
pub async fn openapi(State(service): State<Arc<Service>>) -> Response {
    let document = service.description().openapi.clone();
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache")];
    (headers, document).into_response()
}

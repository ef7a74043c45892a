//! Patterns as tools of the Model Context Protocol.

use crate::service::Service;
use axum::Router;
use std::sync::Arc;

/// Its endpoint.
pub fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    let _ = service;
    Router::new()
}

/// Serves a caller over standard input and output, until the input ends.
pub async fn stdio(keyway: keyway::Keyway, caller: data::Caller) -> data::Result<()> {
    let _ = (keyway, caller);
    Ok(())
}

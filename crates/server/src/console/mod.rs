//! The console: a page in the program, and what it asks for under `/-/`.

use crate::service::Service;
use axum::Router;
use std::sync::Arc;

/// What the console does in the background.
#[derive(Debug, Default)]
pub struct Console {}

/// Its endpoints.
pub fn router() -> Router<Arc<Service>> {
    Router::new()
}

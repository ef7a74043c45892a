//! The console: a page in the program, and what it asks for under `/-/`.
//!
//! ```text
//! /            the page, and its parts under /-/assets        page.rs
//! /-/open      a code that was printed ─▶ a session           entry.rs
//! /-/api/…     for operators: the keyspace, rows, traffic, scrubs, tokens
//! /-/export    for operators: rows as JSON Lines, as long as there are any
//! ```
//!
//! Patterns are called by the page as anybody calls them, at their own endpoints: the console has
//! no other way to change rows. Whatever an operator does is noted in the book.

mod entry;
mod export;
mod keyspace;
mod page;
mod rows;
mod scrub;
mod sent;
mod tokens;
mod traffic;

use crate::service::Service;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// What the console does in the background.
#[derive(Debug, Default)]
pub struct Console {
    scrubs: scrub::Scrubs,
}

/// Its endpoints.
pub fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(page::page))
        .route("/-/assets/{name}", get(page::asset))
        .route("/-/about", get(entry::about))
        .route("/-/open", post(entry::open))
        .route("/-/export", get(export::lines))
        .route("/-/api/sessions", post(entry::begin))
        .route("/-/api/sessions/{id}/end", post(entry::end))
        .route("/-/api/keyspace", get(keyspace::whole))
        .route("/-/api/plans/{pattern}", get(keyspace::plan))
        .route("/-/api/layouts/{store}", get(keyspace::layout))
        .route("/-/api/rows/{collection}", get(rows::page))
        .route("/-/api/rows/{collection}/{row}", get(rows::one))
        .route("/-/api/traffic", get(traffic::now))
        .route("/-/api/scrub", get(scrub::state).post(scrub::start))
        .route("/-/api/scrub/stop", post(scrub::stop))
        .route("/-/api/tokens", get(tokens::all).post(tokens::create))
        .route("/-/api/tokens/{id}/revoke", post(tokens::revoke))
        .route("/-/api/audit", get(tokens::audit))
}

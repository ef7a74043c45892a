//! Patterns as tools of the Model Context Protocol.
//!
//! ```text
//! POST /mcp   behind the door: the token of each request says who calls ─┐
//! stdin/out   whoever started the program says who calls, or a token ────┴─▶ handler.rs
//!                                        tools.rs, guide.rs ◀────────────────────┘
//! ```
//!
//! Over HTTP nothing is kept between two requests: there is no session that somebody else could go
//! on with, and any server answers any request. What is wrong with a call is told as the result of
//! the tool, in a sentence that a model can act on; errors of the protocol are about the protocol.

mod guide;
mod handler;
mod tools;

use crate::access::{Book, Token};
use crate::describe::Description;
use crate::http::Known;
use crate::http::body::read;
use crate::http::problem::Problem;
use crate::service::Service;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use data::value::strict;
use data::{Caller, Error, ErrorKind, Result};
use handler::{Handler, Who};
use keyway::Keyway;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;

/// Its endpoint.
pub fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    // The door has looked at the host and the token before, by the settings of the server.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(service.settings.body_bytes_max);
    let shared = service.clone();
    let handler = move || Ok(Handler::new(shared.clone(), Who::Each));
    let endpoint =
        StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route_service("/mcp", endpoint)
        .route_layer(middleware::from_fn_with_state(service.clone(), admit))
}

/// Lets nobody in without a token, and no body that is too large, too slow, or JSON that only
/// strangers send.
async fn admit(
    State(service): State<Arc<Service>>,
    Known(principal): Known,
    request: Request,
    next: Next,
) -> Response {
    let is_known = principal.token.is_some() || service.trusts_callers();
    if !is_known {
        return Problem::unauthorized().into_response();
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match read(&service, &parts.headers, body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    if let Err(reason) = strict::value(&body) {
        let title = "the body is not the JSON that is expected here";
        let problem = Problem::new(StatusCode::BAD_REQUEST, "json", title);
        return problem.with("reason", reason.to_string()).into_response();
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// Serves the tools over standard input and output, all calls made by one caller, until the input
/// ends. Nothing else may write to standard output meanwhile.
pub async fn stdio(keyway: Keyway, caller: Caller) -> Result<()> {
    serve(keyway, Who::Always(caller)).await
}

/// The same, all calls made with one token of a book. A token that is worth nothing is refused
/// before the first word, and one that ends meanwhile from then on.
pub async fn stdio_with_token(keyway: Keyway, book: Book, shown: &str) -> Result<()> {
    let token = Token::parse(shown.trim()).ok_or_else(worthless)?;
    if book.principal(&token).await?.is_none() {
        return Err(worthless());
    }
    let book = Arc::new(book);
    let served = serve(keyway, Who::Token(book.clone(), Arc::new(token))).await;
    let closed = book.close().await;
    served.and(closed)
}

async fn serve(keyway: Keyway, who: Who) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Unavailable, "the client on standard input could not be served")
            .with("reason", error)
    };
    let description = Description::new(keyway.keyspace(), keyway.store().kind);
    let handler = Handler::alone(keyway, description, who);
    let running = handler.serve(rmcp::transport::stdio()).await;
    let running = match running {
        Ok(running) => running,
        // Whoever hangs up before the first word wanted nothing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    running.waiting().await.map(|_| ()).map_err(|error| failed(&error))
}

/// What is said of a token that opens nothing, whatever the reason.
#[cold]
fn worthless() -> Error {
    Error::new(ErrorKind::Denied, "the token is not known, has ended or was revoked")
}

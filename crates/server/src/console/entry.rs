//! The way in: a printed code becomes a session, and an operator becomes a user for a while.

use super::sent::{Sent, answered};
use crate::http::problem::Problem;
use crate::http::{InPath, Operator, Peer};
use crate::service::Service;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use data::Caller;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// What a page must know before anybody has said who they are.
pub async fn about(State(service): State<Arc<Service>>) -> Response {
    answered(&json!({
        "keyspace": service.keyway.keyspace().name.value,
        "trusts_callers": service.trusts_callers(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// A session for the code that was printed where the server was started.
pub async fn open(
    State(service): State<Arc<Service>>,
    peer: Option<Extension<Peer>>,
    sent: Sent,
) -> Result<Response, Problem> {
    let code = sent.text("code")?.unwrap_or_default();
    let Some(token) = service.sessions.open(&code) else {
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.0.ip());
        if service.rates.failure(address).is_err() {
            let title = "too many requests in a short time";
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_often", title);
            return Err(problem.with("retryable", true).after(60));
        }
        let title = "the code was used before, or is too old: start the server again for another, \
                     or show an operator's token";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title));
    };
    service.book.note(&token.id, "console opened", None).await?;
    Ok(answered(&json!({ "token": token.reveal() })))
}

/// A session of somebody else, to call patterns as they would.
pub async fn begin(
    State(service): State<Arc<Service>>,
    operator: Operator,
    sent: Sent,
) -> Result<Response, Problem> {
    let (user, tenant, roles) = (sent.text("user")?, sent.text("tenant")?, sent.texts("roles")?);
    let mut words = Vec::new();
    let mut caller = Caller::nobody();
    if let Some(user) = &user {
        words.push(format!("user {user}"));
        caller = Caller::user(user);
    }
    if let Some(tenant) = &tenant {
        words.push(format!("tenant {tenant}"));
        caller = caller.of_tenant(tenant);
    }
    for role in &roles {
        words.push(format!("role {role}"));
        caller = caller.with_role(role);
    }
    let subject = if words.is_empty() { "nobody".to_string() } else { words.join(", ") };
    operator.note(&service, "called as", &subject).await?;
    let token = service.sessions.begin(caller, false);
    Ok(answered(&json!({ "token": token.reveal(), "id": token.id })))
}

/// Ends such a session, or one's own.
pub async fn end(
    State(service): State<Arc<Service>>,
    operator: Operator,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    operator.note(&service, "session ended", &id).await?;
    Ok(answered(&json!({ "ended": service.sessions.end(&id) })))
}

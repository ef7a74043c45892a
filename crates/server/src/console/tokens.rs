//! Tokens and what operators did, for those who look after them.

use super::sent::{Sent, answered};
use crate::access::{Kept, NewToken};
use crate::http::problem::Problem;
use crate::http::{InPath, Operator};
use crate::service::Service;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Every token, without its secret.
pub async fn all(State(service): State<Arc<Service>>, _: Operator) -> Result<Response, Problem> {
    let tokens: Vec<Json> = service.book.all().await?.iter().map(shown).collect();
    Ok(answered(&json!({ "tokens": tokens })))
}

/// Makes a token; the answer is the only place that has its text.
pub async fn create(
    State(service): State<Arc<Service>>,
    operator: Operator,
    sent: Sent,
) -> Result<Response, Problem> {
    let now = service.keyway.runtime().options().clock.now();
    let seconds = sent.number("expires_in")?;
    let ends_at = |seconds: u64| {
        let milliseconds = i64::try_from(seconds).ok()?.checked_mul(1_000)?;
        now.checked_add(milliseconds)
    };
    let expires_at = seconds.map(|seconds| {
        ends_at(seconds).filter(|at| *at > now).ok_or_else(|| {
            let title = "a token ends after some seconds, and not in another age";
            let problem = Problem::new(StatusCode::BAD_REQUEST, "argument", title);
            problem.with("argument", "expires_in")
        })
    });
    let wanted = NewToken {
        user: sent.text("user")?,
        tenant: sent.text("tenant")?,
        roles: sent.texts("roles")?,
        is_operator: sent.flag("operator")?,
        label: sent.text("label")?,
        expires_at: expires_at.transpose()?,
    };
    let (token, kept) = service.book.create_by(operator.0.name(), wanted).await?;
    Ok(answered(&json!({ "token": token.reveal(), "kept": shown(&kept) })))
}

/// Revokes a token.
pub async fn revoke(
    State(service): State<Arc<Service>>,
    operator: Operator,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    if !service.book.revoke_by(operator.0.name(), &id).await? {
        let title = "there is no such token, or it was revoked before";
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", title));
    }
    Ok(answered(&json!({ "revoked": id })))
}

/// What operators did, newest first.
pub async fn audit(State(service): State<Arc<Service>>, _: Operator) -> Result<Response, Problem> {
    let noted = service.book.recent().await?;
    let actions: Vec<Json> = noted
        .into_iter()
        .map(|noted| {
            json!({
                "at": noted.at,
                "actor": noted.actor,
                "action": noted.action,
                "subject": noted.subject,
            })
        })
        .collect();
    Ok(answered(&json!({ "actions": actions })))
}

fn shown(kept: &Kept) -> Json {
    json!({
        "id": kept.id,
        "user": kept.user,
        "tenant": kept.tenant,
        "roles": kept.roles,
        "operator": kept.is_operator,
        "label": kept.label,
        "created_at": kept.created_at,
        "expires_at": kept.expires_at,
        "used_at": kept.used_at,
        "revoked_at": kept.revoked_at,
    })
}

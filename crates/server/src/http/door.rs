//! What every request passes, on its way in and out.
//!
//! A token is looked at before anything that depends on the caller: no answer is ever made, or
//! found ready, for somebody who is not known yet.

use super::Plain;
use super::problem::{Problem, Told};
use crate::access::Principal;
use crate::service::Service;
use crate::traces;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use data::Caller;
use data::session::Usage;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tracing::Instrument;
use tracing::field::Empty;

const USER: HeaderName = HeaderName::from_static("keyway-user");
const TENANT: HeaderName = HeaderName::from_static("keyway-tenant");
const ROLES: HeaderName = HeaderName::from_static("keyway-roles");

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What a page of the console may load: only what came from here.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                           img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                           form-action 'none'; frame-ancestors 'none'";

/// The same of an answer, which is no page and stands in none.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Whoever makes the request; nobody where no token was shown.
#[derive(Clone, Debug)]
pub struct Known(pub Arc<Principal>);

impl<S: Send + Sync> FromRequestParts<S> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Known, Problem> {
        parts.extensions.get::<Known>().cloned().ok_or_else(Problem::unauthorized)
    }
}

/// Somebody who looks after the server. Others are told what they lack.
#[derive(Clone, Debug)]
pub struct Operator(pub Arc<Principal>);

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Operator, Problem> {
        let Known(principal) = Known::from_request_parts(parts, state).await?;
        match (principal.is_operator, &principal.token) {
            (true, _) => Ok(Operator(principal)),
            (false, None) => Err(Problem::unauthorized()),
            (false, Some(_)) => {
                let title = "this is for operators: `keyway token create --operator` makes a token";
                Err(Problem::new(StatusCode::FORBIDDEN, "denied", title))
            }
        }
    }
}

impl Operator {
    /// Keeps what they are about to do; what cannot be kept is not done.
    pub async fn note(&self, service: &Service, action: &str, subject: &str) -> data::Result<()> {
        service.book.note(self.0.name(), action, Some(subject)).await
    }
}

/// The way in and out.
pub(super) async fn door(endpoints: &Plain, peer: Option<Peer>, request: &mut Request) -> Response {
    let service = &endpoints.service;
    // Whoever answers may take the request away.
    let logged = tracing::enabled!(tracing::Level::INFO)
        .then(|| (Instant::now(), request.method().clone(), request.uri().path().to_string()));
    let span = tracing::info_span!("request", otel.name = request.uri().path(),
        otel.kind = "server", method = %request.method(), status = Empty, round_trips = Empty,
        rows = Empty);
    traces::join(&span, request.headers());
    let passed = match span.is_disabled() {
        true => pass(endpoints, peer, request).await,
        false => pass(endpoints, peer, request).instrument(span.clone()).await,
    };
    let (mut response, usage) =
        passed.unwrap_or_else(|problem| (problem.into_response(), Usage::default()));
    let told = response.extensions().get::<Told>().map(|told| told.0);
    if let Some(problem) = told {
        service.meters.refused(problem);
    }
    let status = response.status().as_u16();
    let (round_trips, rows) = (usage.round_trips, usage.rows_read + usage.rows_written);
    span.record("status", status).record("round_trips", round_trips).record("rows", rows);
    if let Some((begun, method, path)) = logged {
        let microseconds = begun.elapsed().as_micros() as u64;
        tracing::info!(
            %method, path, status, problem = told, microseconds, round_trips, rows, "request"
        );
    }
    // Answers of patterns have their headers already.
    if !response.headers().contains_key(CONTENT_SECURITY_POLICY) {
        // A request that was taken away was for no pattern.
        let name = request.uri().path().strip_prefix('/').unwrap_or_default();
        protect(response.headers_mut(), !service.positions.contains_key(name));
    }
    response
}

async fn pass(
    endpoints: &Plain,
    peer: Option<Peer>,
    request: &mut Request,
) -> Result<(Response, Usage), Problem> {
    let service = &endpoints.service;
    if !is_ours(request, &service.settings.hosts) {
        let title = "the server has not this name: start it with --host NAME to let it have one";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", title));
    }
    let Some(_under_way) = service.meters.enter(service.settings.requests_max) else {
        let title = "the server has as many requests as it can work on";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", title);
        return Err(problem.with("retryable", true).after(1));
    };
    let principal = know(service, peer, request.headers()).await?;
    Ok(endpoints.answer(peer, principal, request).await)
}

/// Whether a request was meant for this server. A name that leads to this machine without its
/// owner's knowledge belongs to somebody who wants a browser to ask here.
fn is_ours(request: &Request, hosts: &[String]) -> bool {
    let in_header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = request.uri().authority().map(|name| name.as_str()).or(in_header) else {
        // Only programs, never browsers, leave it out.
        return true;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok()
        || hosts.iter().any(|own| own == "*" || own.eq_ignore_ascii_case(name))
}

/// Who makes a request.
async fn know(
    service: &Service,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Result<Arc<Principal>, Problem> {
    if service.trusts_callers() {
        return trusted(headers).map(Arc::new);
    }
    let Some(shown) = headers.get(AUTHORIZATION) else {
        return Ok(Arc::new(Principal::nobody()));
    };
    let scheme_and_token = shown.to_str().ok().and_then(|shown| shown.split_once(' '));
    let token = scheme_and_token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let principal = match token {
        Some((_, token)) => service.principal(token.trim()).await?,
        None => None,
    };
    let Some(principal) = principal else { return Err(wrong(service, peer)) };
    if let Some(token) = &principal.token {
        service.rates.call(token).map_err(|limited| too_often(limited.0))?;
    }
    Ok(principal)
}

/// A token that is worth nothing; whoever sends many of them guesses.
fn wrong(service: &Service, peer: Option<Peer>) -> Problem {
    let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    match service.rates.failure(address) {
        Ok(()) => Problem::worthless(),
        Err(limited) => too_often(limited.0),
    }
}

fn too_often(wait: std::time::Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let title = "too many requests in a short time";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_often", title);
    problem.with("retryable", true).after(seconds)
}

/// Whoever the headers say: on a machine of one's own.
fn trusted(headers: &HeaderMap) -> Result<Principal, Problem> {
    let text = |name: &HeaderName| -> Result<Option<&str>, Problem> {
        let unreadable = |_| {
            let title = "a header is not plain text";
            Problem::new(StatusCode::BAD_REQUEST, "header", title).with("header", name.as_str())
        };
        headers.get(name).map(|value| value.to_str().map_err(unreadable)).transpose()
    };
    let mut caller = text(&USER)?.map_or_else(Caller::nobody, Caller::user);
    if let Some(tenant) = text(&TENANT)? {
        caller = caller.of_tenant(tenant);
    }
    let roles = text(&ROLES)?.unwrap_or_default().split(',').map(str::trim);
    let roles = roles.filter(|role| !role.is_empty());
    let caller = roles.fold(caller, |caller, role| caller.with_role(role));
    Ok(Principal { token: None, caller: Arc::new(caller), is_operator: true })
}

/// Headers that keep browsers from doing what nobody asked for. What a page may load and say of
/// itself is of no concern where there is none.
pub(super) fn protect(headers: &mut HeaderMap, is_page: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    let policy = if is_page { PAGE_POLICY } else { DATA_POLICY };
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if is_page {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
}

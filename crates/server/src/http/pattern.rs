//! One endpoint a pattern.

use super::body::read;
use super::problem::Problem;
use super::{conditions, door, query, stream};
use crate::access::Principal;
use crate::service::Service;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use data::request::{Answer, Given, Prepared, Reply, Runtime, Written};
use data::session::Usage;
use data::store::{CommitId, Version};
use data::value::strict;
use data::watch::Interest;
use data::{Caller, Error, ErrorKind};
use keyspace::model::{Allow, Verb};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// A call that can be made, again and again if it reads.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where the pattern is.
    pub position: usize,
    /// The pattern.
    pub prepared: Arc<Prepared>,
    /// What is given for each argument.
    pub given: Vec<Given>,
    /// Who calls.
    pub caller: Arc<Caller>,
    /// The id, where one was chosen.
    pub id: Option<CommitId>,
}

/// Answers a request for a pattern, and says what it cost.
pub(super) async fn answer(
    service: &Arc<Service>,
    position: usize,
    principal: Arc<Principal>,
    request: &mut Request,
) -> (Response, Usage) {
    let answered = match ask(service, position, &principal, request).await {
        // Boxed, so that a read does not carry the room of a stream.
        Ok((asked, true)) => Ok(Box::pin(stream::answer(service.clone(), asked, principal)).await),
        Ok((asked, false)) => return respond(service, asked, request.headers()).await,
        Err(problem) => Err(problem),
    };
    let response = answered.unwrap_or_else(|problem| {
        if let Some(meters) = service.meters.patterns().get(position) {
            meters.failed.inc();
        }
        problem.into_response()
    });
    (response, Usage::default())
}

/// What a request asks for, and whether its answer is to be a stream.
async fn ask(
    service: &Service,
    position: usize,
    principal: &Principal,
    request: &mut Request,
) -> Result<(Asked, bool), Problem> {
    let body = std::mem::take(request.body_mut());
    let headers = request.headers();
    let prepared = service.keyway.runtime().patterns().get(position);
    let prepared = prepared.filter(|prepared| is_offered(prepared)).ok_or_else(|| {
        let title = "this pattern runs only inside others";
        Problem::new(StatusCode::NOT_FOUND, "no_endpoint", title)
    })?;
    check_method(prepared, request.method())?;
    if *principal.caller == Caller::nobody() && prepared.pattern.allow != Allow::Public {
        let known = principal.token.is_some() || service.trusts_callers();
        if !known {
            return Err(Problem::unauthorized());
        }
    }
    let (prepared, caller) = (prepared.clone(), principal.caller.clone());
    if prepared.pattern.verb.is_read() {
        let (given, watches) = from_query(service, &prepared, request.uri().query(), headers)?;
        return Ok((Asked { position, prepared, given, caller, id: None }, watches));
    }
    let body = read(service, headers, body).await?;
    let given = from_body(service, &prepared, headers, &body)?;
    let id = match headers.contains_key(conditions::IDEMPOTENCY_KEY) {
        true => {
            let name = prepared.name();
            Box::pin(conditions::id(service, headers, principal, name, &body)).await?
        }
        false => None,
    };
    Ok((Asked { position, prepared, given, caller, id }, false))
}

/// Whether a pattern can be called by itself.
pub fn is_offered(prepared: &Prepared) -> bool {
    prepared.pattern.allow != Allow::Step && !prepared.pattern.verb.is_history()
}

fn check_method(prepared: &Prepared, method: &Method) -> Result<(), Problem> {
    let reads = prepared.pattern.verb.is_read();
    let fits = match reads {
        true => method == Method::GET || method == Method::HEAD,
        false => method == Method::POST,
    };
    match fits {
        true => Ok(()),
        false => {
            let (does, with) = if reads { ("reads", "GET") } else { ("writes", "POST") };
            let title = format!("this pattern {does}: ask with {with}");
            Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", title).with("allow", with))
        }
    }
}

/// What a query gives, and whether its answer is to be a stream.
fn from_query(
    service: &Service,
    prepared: &Prepared,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<(Vec<Given>, bool), Problem> {
    let mut texts = query::read(query.unwrap_or_default())?;
    let keyspace = service.keyway.keyspace();
    let mut watches = headers.get(ACCEPT).is_some_and(|accept| accept == stream::TYPE);
    if !prepared.takes(stream::PARAMETER) {
        let before = texts.len();
        texts.retain(|(name, value)| {
            name != stream::PARAMETER || !matches!(value.as_ref(), "" | "1" | "true")
        });
        watches |= texts.len() < before;
    }
    if watches && !matches!(prepared.pattern.verb, Verb::Get | Verb::List) {
        let title = "only get and list can be watched";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "watch", title));
    }
    Ok((prepared.given_from_text(keyspace, &texts)?, watches))
}

/// What a body gives.
fn from_body(
    service: &Service,
    prepared: &Prepared,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Vec<Given>, Problem> {
    let mut members = strict::members(body).map_err(|reason| {
        let title = "the body is not the JSON that is expected here";
        Problem::new(StatusCode::BAD_REQUEST, "json", title).with("reason", reason.to_string())
    })?;
    let keyspace = service.keyway.keyspace();
    if let Some(version) = conditions::expected(headers, &prepared.pattern)? {
        let name = keyspace.shown("if_version");
        if members.iter().any(|(given, _)| **given == name) {
            let title = "the version is given twice: as If-Match and in the body";
            return Err(Problem::new(StatusCode::BAD_REQUEST, "if_match", title));
        }
        members.push((Cow::Owned(name), Json::String(version)));
    }
    let members = members.into_iter().map(|(name, json)| (name, Cow::Owned(json)));
    Ok(prepared.given_from_members(keyspace, members)?)
}

/// Makes a call and counts it; says which run time has answered.
pub async fn call(service: &Service, asked: Asked) -> Result<(Reply, &Runtime), Error> {
    let begun = Instant::now();
    let Asked { position, prepared, given, caller, id } = asked;
    let reply = service.keyway.call_on(position, given, &caller, id).await;
    let usage = reply.as_ref().ok().map(|(reply, _)| &reply.usage);
    service.meters.called(position, begun, usage, prepared.bounds());
    reply
}

/// Makes a call that reads, counts it, and says what it looked at.
pub(super) async fn look(service: &Service, asked: &Asked) -> Result<(Reply, Interest), Error> {
    let begun = Instant::now();
    let Asked { position, prepared, given, caller, .. } = asked;
    let looked = service.keyway.look_at(*position, given.clone(), caller).await;
    let usage = looked.as_ref().ok().map(|(reply, _)| &reply.usage);
    service.meters.called(*position, begun, usage, prepared.bounds());
    looked
}

/// What a response is made of.
struct Answered {
    body: Result<Vec<u8>, Problem>,
    version: Option<Version>,
    usage: Usage,
}

/// Makes a call and writes what it is answered: from where the rows lie, if that can be done.
async fn answered(service: &Service, mut asked: Asked) -> Result<Answered, Error> {
    let position = asked.position;
    let mut text = Vec::with_capacity(service.meters.bytes_expected(position));
    let answered = match write_at_once(service, &mut asked, &mut text) {
        Some(written) => {
            let Written { is_there, version, usage } = written?;
            let body = if is_there { Ok(text) } else { Err(Problem::not_found()) };
            Answered { body, version, usage }
        }
        None => {
            let (reply, runtime) = call(service, asked).await?;
            let body = write(runtime, &reply.answer, &mut text).map(|()| text);
            Answered { body, version: version(&reply.answer), usage: reply.usage }
        }
    };
    if let Ok(body) = &answered.body {
        service.meters.answer_has(position, body.len());
    }
    Ok(answered)
}

/// Makes a call that needs no waiting; nothing is done if this is none.
fn write_at_once(
    service: &Service,
    asked: &mut Asked,
    text: &mut Vec<u8>,
) -> Option<Result<Written, Error>> {
    if !asked.prepared.is_shown {
        return None;
    }
    let begun = Instant::now();
    let given = std::mem::take(&mut asked.given);
    match service.keyway.write_json_at(asked.position, given, &asked.caller, text) {
        Ok(written) => {
            let usage = written.as_ref().ok().map(|written| &written.usage);
            let bounds = asked.prepared.bounds();
            service.meters.called(asked.position, begun, usage, bounds);
            Some(written)
        }
        Err(given) => {
            asked.given = given;
            None
        }
    }
}

async fn respond(service: &Service, asked: Asked, headers: &HeaderMap) -> (Response, Usage) {
    let pattern = asked.prepared.pattern.clone();
    let Answered { body, version, usage } = match answered(service, asked).await {
        Ok(answered) => answered,
        Err(error) => return (refusal(&error, headers).into_response(), Usage::default()),
    };
    let is_known = pattern.verb.is_read()
        && version.is_some_and(|version| conditions::is_known(headers, version));
    let tag = version.and_then(conditions::tag);
    let is_json = !is_known && body.is_ok();
    let mut response = match (is_known, body) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, Ok(body)) => json(body, tag.clone()),
        (false, Err(problem)) => problem.into_response(),
    };
    let headers = response.headers_mut();
    if let Some(tag) = tag.filter(|_| !is_json) {
        headers.insert(ETAG, tag);
    }
    // What one caller is answered is nobody else's.
    if pattern.allow == Allow::Public {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
        let vary = HeaderValue::from_static("authorization, accept, accept-encoding");
        headers.insert(header::VARY, vary);
    } else if !is_json {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    (response, usage)
}

/// A response that is JSON, for whoever asked alone.
fn json(body: Vec<u8>, tag: Option<HeaderValue>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    match tag {
        Some(tag) => {
            headers.clone_from(&OF_VERSIONS);
            headers.insert(ETAG, tag);
        }
        None => headers.clone_from(&OF_JSON),
    }
    response
}

/// Headers of every answer that is JSON: to copy them costs less than to put them together.
static OF_JSON: LazyLock<HeaderMap> = LazyLock::new(|| {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    door::protect(&mut headers, false);
    headers
});

/// The same with a place for a tag.
static OF_VERSIONS: LazyLock<HeaderMap> = LazyLock::new(|| {
    let mut headers = OF_JSON.clone();
    headers.insert(ETAG, HeaderValue::from_static("\"\""));
    headers
});

/// The problem that an error is, where a request had conditions.
fn refusal(error: &Error, headers: &HeaderMap) -> Problem {
    let mut problem = Problem::from(error);
    if error.kind() == ErrorKind::Conflict && headers.contains_key(header::IF_MATCH) {
        problem.status = StatusCode::PRECONDITION_FAILED;
    }
    problem
}

/// An answer's body; a row that is not there, and a window that is full, are problems.
pub(super) fn body(service: &Service, answer: &Answer) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::with_capacity(1_024);
    write(service.keyway.runtime(), answer, &mut text).map(|()| text)
}

fn write(runtime: &Runtime, answer: &Answer, text: &mut Vec<u8>) -> Result<(), Problem> {
    match answer {
        Answer::Row(None) => return Err(Problem::not_found()),
        Answer::Window { allowed: false, resets_at, .. } => {
            let now = runtime.options().clock.now();
            let seconds =
                u64::try_from((resets_at - now).max(0)).unwrap_or_default().div_ceil(1_000);
            let title = "the window is full";
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "limited", title);
            return Err(problem.with("retryable", true).after(seconds.max(1)));
        }
        _ => {}
    }
    Ok(answer.write_json(runtime.schema(), text)?)
}

/// The version of the one row that an answer has.
fn version(answer: &Answer) -> Option<Version> {
    match answer {
        Answer::Row(Some(record)) => record.version,
        Answer::Changed(changed) => changed.version,
        _ => None,
    }
}

//! How the console's requests are read, and answered.

use crate::http::body;
use crate::http::problem::Problem;
use crate::service::Service;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use data::Result;
use data::value::strict;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Bytes of a body, at most: the console sends a few words.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// A JSON object that was sent.
#[derive(Debug)]
pub struct Sent(Map<String, Json>);

impl FromRequest<Arc<Service>> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Sent, Problem> {
        let (parts, sent) = request.into_parts();
        if !body::is_json(&parts.headers) {
            return Err(body::no_json());
        }
        let sent = body::arrived(service, &parts.headers, sent, BODY_BYTES_MAX).await?;
        strict::object(&sent).map(Sent).map_err(|reason| {
            let title = "the body is not the JSON that is expected here";
            Problem::new(StatusCode::BAD_REQUEST, "json", title).with("reason", reason.to_string())
        })
    }
}

impl Sent {
    /// A text; an empty one is none.
    pub fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(wrong(name, "a text")),
        }
    }

    /// Several texts.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Problem> {
        let list = match self.0.get(name) {
            None | Some(Json::Null) => return Ok(Vec::new()),
            Some(Json::Array(list)) => list.iter(),
            Some(_) => return Err(wrong(name, "a list of texts")),
        };
        let texts = list.map(|text| text.as_str().map(str::to_string));
        texts.collect::<Option<Vec<_>>>().ok_or_else(|| wrong(name, "a list of texts"))
    }

    /// Yes or no; no if it is not said.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    /// A number that is not negative.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong(name, "a whole number")),
        }
    }
}

fn wrong(name: &str, expected: &str) -> Problem {
    let title = "a value is not of its type";
    let problem = Problem::new(StatusCode::BAD_REQUEST, "argument", title);
    problem.with("argument", name).with("expected", expected)
}

/// JSON that nobody keeps.
pub fn answered(json: &Json) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (headers, json.to_string()).into_response()
}

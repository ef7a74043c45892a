//! Rows as JSON Lines, as `keyway export` writes them and `keyway import` reads them.
//!
//! A page is read when the one before it has been taken: whoever reads slowly costs two pages of
//! memory. Whatever goes wrong on the way cuts the response, and the last line is missing; so does
//! the end of the token, which is looked at before each page.

use super::rows;
use crate::http::Operator;
use crate::http::problem::Problem;
use crate::http::query;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use data::{Error, ErrorKind, maintain};
use futures_util::stream;
use serde_json::json;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The version of the lines: a reader refuses those it does not know.
const FORMAT: u64 = 1;

type Lines = mpsc::Sender<io::Result<Bytes>>;

/// The rows of the collections that are named, or of all.
pub async fn lines(
    State(service): State<Arc<Service>>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let runtime = service.keyway.runtime();
    let mut names = Vec::new();
    for (name, value) in query::read(query.as_deref().unwrap_or_default())? {
        if name != "collection" {
            let title = "an export is asked for by collection";
            let problem = Problem::new(StatusCode::BAD_REQUEST, "argument", title);
            return Err(problem.with("argument", name));
        }
        names.push(rows::collection(runtime, &value)?.name().to_string());
    }
    let subject = if names.is_empty() { "everything".to_string() } else { names.join(", ") };
    operator.note(&service, "exported", &subject).await?;
    if names.is_empty() {
        let all = runtime.schema().collections().iter();
        names = all.map(|collection| collection.name().to_string()).collect();
    }
    let file = match names.as_slice() {
        [one] => format!("{}-{one}.jsonl", service.keyway.keyspace().name.value),
        _ => format!("{}.jsonl", service.keyway.keyspace().name.value),
    };
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        if let Err(error) = write(&service, &operator, &names, &sender).await {
            tracing::error!(%error, "an export was cut");
            let cut = io::Error::other("the export cannot go on");
            // Nobody may be reading any more.
            let _ = sender.send(Err(cut)).await;
        }
    });
    // Whoever compresses asks once more after the end.
    let lines = stream::poll_fn(move |context| receiver.poll_recv(context));
    let headers = [
        (CONTENT_TYPE, "application/jsonl".to_string()),
        (CACHE_CONTROL, "no-store".to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

async fn write(
    service: &Service,
    operator: &Operator,
    names: &[String],
    sender: &Lines,
) -> data::Result<()> {
    let runtime = service.keyway.runtime();
    let (store, clock) = (runtime.store().as_ref(), runtime.options().clock.as_ref());
    let name = &service.keyway.keyspace().name.value;
    let first = json!({ "keyway": FORMAT, "keyspace": name, "collections": names });
    if sender.send(Ok(Bytes::from(format!("{first}\n")))).await.is_err() {
        return Ok(());
    }
    let mut export = maintain::Export::new(store, runtime.schema(), clock, Some(names))?;
    let mut count = 0;
    while let Some(page) = export.next().await? {
        if !service.still_knows(&operator.0).await? {
            return Err(Error::new(ErrorKind::Denied, "the token has ended or was revoked"));
        }
        let mut text = String::new();
        for row in &page {
            text.push_str(&row.to_json()?.to_string());
            text.push('\n');
        }
        count += page.len() as u64;
        if sender.send(Ok(Bytes::from(text))).await.is_err() {
            return Ok(());
        }
    }
    let last = json!({ "end": { "rows": count } });
    // Whoever left before the last line knows that it is missing.
    let _ = sender.send(Ok(Bytes::from(format!("{last}\n")))).await;
    Ok(())
}

//! Rows of any collection, page by page, as the store has them.
//!
//! A page goes on after a key, which its cursor is: whoever may see every row may see every key.
//! What has ended is not shown.

use super::sent::answered;
use crate::http::problem::Problem;
use crate::http::{InPath, Operator, query};
use crate::service::Service;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use data::Value;
use data::request::{AnswerShape, Record, Runtime, key_text};
use data::schema::CollectionSchema;
use data::store::{End, Key, Keyed, Page, Range, Scan, Store};
use keyspace::key::text::{Part, Separator, parse};
use keyspace::layout::engine::segment_shape;
use keyspace::model::{self, StoreKind};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Rows of a page, unless it is said, and at most.
const ROWS_USUAL: usize = 50;
const ROWS_MAX: usize = 500;

/// How often a page looks on where all that it met had ended.
const LOOKS_MAX: usize = 20;

/// What is asked of a collection.
#[derive(Debug, Default)]
struct Asked {
    after: Option<String>,
    under: Option<String>,
    limit: usize,
}

/// A page of a collection's rows.
pub async fn page(
    State(service): State<Arc<Service>>,
    operator: Operator,
    InPath(name): InPath<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let runtime = service.keyway.runtime();
    let collection = collection(runtime, &name)?;
    let asked = read(query.as_deref().unwrap_or_default())?;
    let range = match asked.under.as_deref() {
        None => Way::All(whole(collection.key.space)),
        Some(text) => under(runtime, collection, text)?,
    };
    let after = asked.after.as_deref().map(|text| key(collection, text)).transpose()?;
    let mut subject = name;
    if let Some(under) = &asked.under {
        subject.push_str(&format!(" under {under}"));
    }
    if let Some(after) = &after {
        subject.push_str(&format!(" after {}", key_text(runtime.schema(), after)?));
    }
    operator.note(&service, "rows read", &subject).await?;
    let found = look(runtime, &range, after, asked.limit).await?;
    let shape = Arc::new(AnswerShape::whole(runtime.schema(), collection));
    let rows = found.0.iter().map(|keyed| shown(runtime, &shape, keyed));
    let rows: Vec<Json> = rows.collect::<Result<_, Problem>>()?;
    Ok(answered(&json!({ "rows": rows, "next": found.1.as_ref().map(cursor) })))
}

/// One row.
pub async fn one(
    State(service): State<Arc<Service>>,
    operator: Operator,
    InPath((name, row)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let runtime = service.keyway.runtime();
    let collection = collection(runtime, &name)?;
    let key = key(collection, &row)?;
    operator.note(&service, "row read", &key_text(runtime.schema(), &key)?).await?;
    let found = runtime.store().get(std::slice::from_ref(&key)).await?;
    let now = runtime.options().clock.now();
    let found = found.into_iter().flatten().find(|row| row.is_live(now));
    let row = found.ok_or_else(Problem::not_found)?;
    let shape = Arc::new(AnswerShape::whole(runtime.schema(), collection));
    Ok(answered(&shown(runtime, &shape, &Keyed { key, row })?))
}

fn read(query: &str) -> Result<Asked, Problem> {
    let mut asked = Asked { limit: ROWS_USUAL, ..Asked::default() };
    for (name, value) in query::read(query)? {
        match name.as_ref() {
            "after" => asked.after = Some(value.into_owned()),
            "under" => {
                asked.under = Some(value.into_owned()).filter(|text| !text.trim().is_empty())
            }
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
                let wrong = || argument("limit", "a page has 1 to 500 rows");
                asked.limit = limit.ok_or_else(wrong)?;
            }
            _ => return Err(argument(&name, "rows are asked for by after, under and limit")),
        }
    }
    Ok(asked)
}

fn argument(name: &str, title: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "argument", title).with("argument", name)
}

pub(super) fn collection<'r>(
    runtime: &'r Runtime,
    name: &str,
) -> Result<&'r Arc<CollectionSchema>, Problem> {
    let mut all = runtime.schema().collections().iter();
    all.find(|collection| collection.name() == name).ok_or_else(|| {
        let title = "there is no such collection";
        Problem::new(StatusCode::NOT_FOUND, "no_collection", title)
    })
}

/// How rows are found.
#[derive(Debug)]
enum Way {
    /// All of them, in the store's own order.
    All(Range),
    /// Those of a range of keys, in the order of their keys.
    Some(Range),
    /// The one with this key.
    One(Key),
}

/// Every key of a space.
fn whole(space: u16) -> Range {
    let start = Bytes::copy_from_slice(&space.to_be_bytes());
    let end = match space.checked_add(1) {
        Some(next) => Bytes::copy_from_slice(&next.to_be_bytes()),
        None => Bytes::from_static(&[0xff; 3]),
    };
    Range { start, end }
}

/// The rows whose keys begin with the parts of a text.
fn under(runtime: &Runtime, collection: &CollectionSchema, text: &str) -> Result<Way, Problem> {
    let separator = runtime.keyspace().separator;
    let text = text.trim().trim_end_matches(separator);
    let parts = collection.model.key.parts.iter().map(|part| match part {
        model::Part::Literal(literal) => Part::Literal(literal),
        model::Part::Segment(segment) => Part::Segment(segment_shape(segment).kind),
    });
    let parts: Vec<Part<'_>> = parts.collect();
    let count = text.split(separator).count().min(parts.len());
    let between = if separator == '/' { Separator::Slash } else { Separator::Colon };
    let values = parse(between, parts.get(..count).unwrap_or(&parts), text).map_err(|error| {
        let title = "this is not the beginning of such a key";
        let template = collection.model.key.template(separator);
        argument("under", title).with("key", template).with("reason", error.to_string())
    })?;
    let values: Vec<Value> = values.into_iter().map(Value::from_segment).collect();
    let shape = &collection.key;
    if count == parts.len() {
        return Ok(Way::One(shape.encode(&values)?));
    }
    let is_ordered = matches!(
        runtime.store().describe().kind,
        StoreKind::Memory | StoreKind::Engine | StoreKind::Files | StoreKind::Sqlite
    );
    if values.is_empty() {
        return Ok(Way::All(whole(shape.space)));
    }
    if values.len() < shape.group && !is_ordered {
        let title = "this store finds rows by a whole group: give all of it";
        let group = model::Key::template_of(collection.model.key.group(), separator);
        return Err(argument("under", title).with("group", group));
    }
    Ok(Way::Some(shape.children(&shape.front(&values)?)))
}

/// Live rows, and the key after which there may be more.
async fn look(
    runtime: &Runtime,
    way: &Way,
    after: Option<Key>,
    limit: usize,
) -> Result<(Vec<Keyed>, Option<Key>), Problem> {
    let now = runtime.options().clock.now();
    let store = runtime.store().as_ref();
    let range = match way {
        Way::All(range) | Way::Some(range) => range,
        Way::One(key) => {
            let row = store.get(std::slice::from_ref(key)).await?.into_iter().flatten().next();
            let row = row.filter(|row| row.is_live(now));
            return Ok((
                row.map(|row| Keyed { key: key.clone(), row }).into_iter().collect(),
                None,
            ));
        }
    };
    let (mut rows, mut last) = (Vec::new(), after);
    for _ in 0..LOOKS_MAX {
        let rest = last.as_ref().map_or_else(|| range.clone(), |last| range.after(last, false));
        let scan = Scan { range: rest, reverse: false, rows: limit - rows.len() };
        let page = stretch(store, way, &scan).await?;
        last = page.rows.last().map(|last| last.key.clone()).or(last);
        rows.extend(page.rows.into_iter().filter(|keyed| keyed.row.is_live(now)));
        if page.end == End::Range {
            return Ok((rows, None));
        }
        if rows.len() >= limit {
            break;
        }
    }
    Ok((rows, last))
}

async fn stretch(store: &dyn Store, way: &Way, scan: &Scan) -> data::Result<Page> {
    match way {
        Way::All(_) => store.walk(scan).await,
        Way::Some(_) | Way::One(_) => store.scan(scan).await,
    }
}

fn cursor(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(key.bytes())
}

/// The key that a cursor is, if it is one of this collection.
fn key(collection: &CollectionSchema, text: &str) -> Result<Key, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.map(Key::from).filter(|key| key.space() == collection.key.space);
    key.filter(|key| collection.key.decode(key).is_ok()).ok_or_else(|| {
        let title = "the cursor is not one of this collection: begin without one";
        Problem::new(StatusCode::BAD_REQUEST, "cursor", title)
    })
}

fn shown(runtime: &Runtime, shape: &Arc<AnswerShape>, keyed: &Keyed) -> Result<Json, Problem> {
    let record = Record {
        shape: shape.clone(),
        key: keyed.key.clone(),
        content: keyed.row.value.clone(),
        version: keyed.row.version,
        expires: keyed.row.expires,
    };
    Ok(json!({
        "id": cursor(&keyed.key),
        "key": key_text(runtime.schema(), &keyed.key)?,
        "row": record.to_json()?,
        "bytes": keyed.row.weight(),
        "version": keyed.row.version.map(|version| version.to_string()),
        "expires": keyed.row.expires,
    }))
}

//! Every live row of a store, collection by collection, as values or as JSON.
//!
//! Rows come page by page: each page is one look at the store, the whole is not one instant.

use super::walk::Walk;
use crate::clock::Clock;
use crate::error::Result;
use crate::request::{AnswerShape, Record};
use crate::schema::{CollectionSchema, Schema};
use crate::store::Store;
use std::sync::Arc;

/// An export of a whole store.
pub struct Export<'a> {
    store: &'a dyn Store,
    schema: &'a Arc<Schema>,
    clock: &'a dyn Clock,
    collections: Vec<Arc<CollectionSchema>>,
    current: Option<(Arc<AnswerShape>, Walk)>,
}

/// A row of an export.
#[derive(Clone, Debug)]
pub struct ExportedRow {
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// The row.
    pub record: Record,
}

impl<'a> Export<'a> {
    /// An export of every collection, or of those named.
    pub fn new(
        store: &'a dyn Store,
        schema: &'a Arc<Schema>,
        clock: &'a dyn Clock,
        only: Option<&[String]>,
    ) -> Result<Self> {
        let mut collections = match only {
            None => schema.collections().to_vec(),
            Some(names) => {
                let found = names.iter().map(|name| schema.collection(name).cloned());
                found.collect::<Result<Vec<_>>>()?
            }
        };
        collections.reverse();
        Ok(Export { store, schema, clock, collections, current: None })
    }

    /// The next rows, of one collection; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<ExportedRow>>> {
        loop {
            let Some((shape, walk)) = &mut self.current else {
                let Some(collection) = self.collections.pop() else { return Ok(None) };
                let shape = Arc::new(AnswerShape::whole(self.schema, &collection));
                self.current = Some((shape, Walk::over(collection.key.space)));
                continue;
            };
            let Some(page) = walk.next(self.store).await? else {
                self.current = None;
                continue;
            };
            let now = self.clock.now();
            let live = page.into_iter().filter(|keyed| keyed.row.is_live(now));
            let rows = live.map(|keyed| ExportedRow {
                collection: shape.collection.clone(),
                record: Record {
                    shape: shape.clone(),
                    key: keyed.key,
                    content: keyed.row.value,
                    version: shape.collection.shown_version(keyed.row.version),
                    expires: keyed.row.expires,
                },
            });
            return Ok(Some(rows.collect()));
        }
    }
}

impl ExportedRow {
    /// The row as one line of an export: `{"collection": …, "row": {…}, "expires": …}`.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        let mut line = serde_json::Map::new();
        line.insert("collection".to_string(), self.collection.name().into());
        line.insert("row".to_string(), self.record.to_json()?);
        if let Some(expires) = self.record.expires {
            line.insert("expires".to_string(), expires.into());
        }
        Ok(serde_json::Value::Object(line))
    }
}

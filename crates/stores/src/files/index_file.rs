//! The files of an index: one entry a line, in the order of the entries' keys.
//!
//! They are for people and other programs to read. What an index holds follows from its rows, so
//! these files are written with them and made anew when the tree is opened; nothing is read from
//! them.

use super::path::PathTemplate;
use bytes::Bytes;
use data::entries;
use data::schema::{CollectionSchema, IndexSchema};
use data::store::{Key, Keyed, Row};
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{KeyType, text};
use keyspace::layout::files::name::Case;
use keyspace::model::{FilePart, Keyspace, Part};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The file of the entries of one index.
#[derive(Debug)]
pub(super) struct IndexFile {
    collection: Arc<CollectionSchema>,
    index: usize,
    path: PathTemplate,
    line: Vec<Part>,
    /// The names of the kept fields as people see them.
    kept: Vec<String>,
    separator: text::Separator,
}

impl IndexFile {
    pub(super) fn new(
        keyspace: &Keyspace,
        collection: Arc<CollectionSchema>,
        index: usize,
        (path, line): (&[FilePart], &[Part]),
    ) -> Result<IndexFile> {
        let separator = match keyspace.separator {
            '/' => text::Separator::Slash,
            _ => text::Separator::Colon,
        };
        let schema = collection.indexes.get(index).ok_or_else(unknown)?;
        let path = PathTemplate::of_entries(path, &schema.key)?;
        let kept = schema.model.keep.iter().map(|name| keyspace.shown(&name.value)).collect();
        Ok(IndexFile { collection, index, path, line: line.to_vec(), kept, separator })
    }

    fn index(&self) -> Result<&Arc<IndexSchema>> {
        self.collection.indexes.get(self.index).ok_or_else(unknown)
    }

    /// Which file an entry is in.
    pub(super) fn path(&self, case: Case, entry: &Key) -> Result<String> {
        self.path.path(case, &self.index()?.key.decode(entry)?, &[])
    }

    /// Whether a path can be one of these files.
    pub(super) fn is_path(&self, case: Case, path: &str) -> bool {
        self.path.parse(case, path).is_some()
    }

    /// The content of a file with these entries, which are in the order of their keys.
    pub(super) fn content<'e>(
        &self,
        entries: impl Iterator<Item = (&'e Key, &'e Row)>,
    ) -> Result<Bytes> {
        let mut content = String::new();
        for (key, row) in entries {
            content.push_str(&self.line(key, row)?);
            content.push('\n');
        }
        Ok(Bytes::from(content))
    }

    fn line(&self, key: &Key, row: &Row) -> Result<String> {
        let index = self.index()?;
        let (names, values) = match index.model.unique {
            true => {
                let keyed = Keyed { key: key.clone(), row: row.clone() };
                let owner = entries::owner(&self.collection, index, &keyed)?;
                (&self.collection.key.names, self.collection.key.decode(&owner)?)
            }
            false => (&index.key.names, index.key.decode(key)?),
        };
        let mut parts = Vec::new();
        for part in &self.line {
            match part {
                Part::Literal(literal) => parts.push(literal.clone()),
                Part::Segment(segment) => {
                    let position = names.iter().position(|name| *name == segment.name);
                    let value = position.and_then(|position| values.get(position));
                    self.push_texts(value.ok_or_else(unknown)?, &mut parts)?;
                }
            }
        }
        let mut line = parts.join(self.separator.character().to_string().as_str());
        if !index.keep_slots.is_empty() {
            line.push('\t');
            line.push_str(&self.kept_text(index, row)?);
        }
        Ok(line)
    }

    /// The text of a value as it stands in a key; a path is several.
    fn push_texts(&self, value: &Value, parts: &mut Vec<String>) -> Result<()> {
        if let Value::Path(elements) = value {
            for element in elements {
                parts.push(self.escape(element)?);
            }
            return Ok(());
        }
        let scalar = value.as_segment().ok_or_else(unknown)?;
        parts.push(self.escape(&text::scalar_text(&scalar)?)?);
        Ok(())
    }

    fn escape(&self, raw: &str) -> Result<String> {
        let template = [text::Part::Segment(KeyType::Text)];
        Ok(text::format(self.separator, &template, &[keyspace::key::Value::text(raw)])?)
    }

    fn kept_text(&self, index: &IndexSchema, row: &Row) -> Result<String> {
        let kept = entries::kept(index, row)?;
        let values = index.keep.decode(&kept)?;
        let named = self.kept.iter().zip(&index.keep_slots).zip(&values);
        let members = named.map(|((name, slot), value)| {
            let slot = self.collection.slots.get(*slot).ok_or_else(unknown)?;
            Ok((name.clone(), value.to_json(&slot.slot_type)))
        });
        let members = members.collect::<Result<Map<String, Json>>>()?;
        Ok(Json::Object(members).to_string())
    }
}

fn unknown() -> Error {
    Error::new(ErrorKind::Internal, "an index file names something its entries do not have")
}

//! A table as a driver needs it: what of a row each column holds, and the way back.
//!
//! ```text
//! key ─segments─┐                                       ┌─▶ key
//! value ─slots──┼─▶ a value for each column ─▶ a table ─┼─▶ value: the same bytes
//! version, end ─┘                                       └─▶ version, end
//! ```
//!
//! A field that an entry keeps and that its key holds already has no column of its own, and so has
//! the end of a row that a field says. Stored bytes are canonical, so that values come back as the
//! bytes they were.

use super::content::Of;
use crate::native::key::{from_sort_bytes, sort_bytes};
use bytes::Bytes;
use data::clock::Milliseconds;
use data::schema::{CollectionSchema, ContentShape, KeyShape};
use data::store::{CommitId, Key, Row, Version, Versions};
use data::{Error, ErrorKind, Result, Value};
use keyspace::model::Type;
use std::sync::Arc;

/// A table of rows, entries or claims.
#[derive(Debug)]
pub struct TableShape<N> {
    /// Its name, unquoted.
    pub name: String,
    /// The number of its space.
    pub space: u16,
    /// Its columns, in the order of the table.
    pub columns: Vec<ColumnShape<N>>,
    /// The columns of its primary key, in order.
    pub key: Vec<usize>,
    /// The column by which each segment of the key sorts.
    pub segments: Vec<usize>,
    /// The columns to be read beside those of the key.
    pub content: Vec<usize>,
    /// The column with the end of a row.
    pub expires: Option<usize>,
    /// The columns with the version and the end of a row, as far as it has them.
    pub state: Vec<usize>,
    /// The same as far as they stand in the content: each with its place there.
    pub stateful: Vec<(usize, usize)>,
    pub(super) version: Option<usize>,
    pub(super) of: Of,
}

/// A column.
#[derive(Debug)]
pub struct ColumnShape<N> {
    /// Its name, unquoted.
    pub name: String,
    /// Its type in the store.
    pub native: N,
    /// The type of its values; a value of a cell is a number.
    pub value_type: Type,
    /// Whether it may be null.
    pub optional: bool,
    /// Whether larger values stand first.
    pub descending: bool,
    /// What it holds.
    pub part: Part,
}

/// What of a row a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The literals of a key that has nothing else.
    Literal(String),
    /// A segment of the key.
    Segment(usize),
    /// The bytes by which a segment sorts.
    SortKey(usize),
    /// A slot of the row.
    Slot(usize),
    /// A segment of the key of a claim's owner.
    Owner(usize),
    /// A field that an entry keeps, by its place among them.
    Kept(usize),
    /// The commit that last wrote the row.
    Version,
    /// When the row ends.
    Expires,
}

/// What a row is, as it crosses the waist; a trail is no part of it.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'r> {
    /// Its content.
    pub value: &'r Bytes,
    /// The commit that last wrote it.
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

impl<'r> From<&'r Row> for Parts<'r> {
    fn from(row: &'r Row) -> Self {
        Parts { value: &row.value, version: row.version, expires: row.expires }
    }
}

impl<N> TableShape<N> {
    /// The columns to be read beside those of the key, without the version where that is unwanted
    /// and nothing stands behind it.
    pub fn content_read(&self, versions: Versions) -> &[usize] {
        match (versions, self.content.split_last()) {
            (Versions::Unwanted, Some((last, front))) if Some(*last) == self.version => front,
            _ => &self.content,
        }
    }
}

impl<N: Clone> TableShape<N> {
    /// The shape of its keys.
    pub fn shape(&self) -> &KeyShape {
        self.of.key()
    }

    /// The literal of its key, where it has nothing else.
    pub fn literal(&self) -> Option<&str> {
        self.columns.iter().find_map(|column| match &column.part {
            Part::Literal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether its rows count something.
    pub fn is_counter(&self) -> bool {
        matches!(&self.of, Of::Rows(collection) if collection.content == ContentShape::Count)
    }

    /// Whether its rows are nothing but their keys: entries that keep nothing and never end.
    pub fn is_bare(&self) -> bool {
        let Of::Entries { collection, index, kept, .. } = &self.of else { return false };
        let is_entry = collection.indexes.get(*index).is_some_and(|index| !index.model.unique);
        is_entry && kept.is_empty() && self.expires.is_none()
    }

    /// The collection whose rows they are; none for entries and claims.
    pub fn collection(&self) -> Option<&Arc<CollectionSchema>> {
        match &self.of {
            Of::Rows(collection) => Some(collection),
            Of::Entries { .. } => None,
        }
    }

    /// What rows that were written before a column was added answer for it.
    pub fn missing(&self, place: usize) -> Option<Value> {
        let fields = match &self.of {
            Of::Rows(collection) => match &collection.content {
                ContentShape::Record(record) => &record.fields,
                _ => return None,
            },
            Of::Entries { collection, index, .. } => &collection.indexes.get(*index)?.keep.fields,
        };
        match self.columns.get(place)?.part {
            Part::Slot(number) | Part::Kept(number) => {
                fields.get(number).map(|field| field.missing.clone())
            }
            _ => None,
        }
    }

    /// What a segment is compared by, where its value is not what its column holds.
    pub fn sorted(&self, segment: usize, value: &Value) -> Result<Option<Value>> {
        let column = self.segments.get(segment).and_then(|place| self.columns.get(*place));
        match column.map(|column| &column.part) {
            Some(Part::SortKey(_)) => self.sort_key(value, segment).map(Some),
            _ => Ok(None),
        }
    }

    /// The values of its columns, in their order, for a row with these segments.
    pub fn columns_of(&self, segments: &[Value], row: Parts<'_>) -> Result<Vec<Value>> {
        let (owner, slots) = self.of.take_apart(row.value)?;
        let take = |from: &[Value], place: usize| {
            let value = from.get(place).cloned();
            value.ok_or_else(|| Error::new(ErrorKind::Internal, "a row has too few values"))
        };
        let mut values = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            values.push(match &column.part {
                Part::Literal(text) => Value::Text(text.clone()),
                Part::Segment(place) => take(segments, *place)?,
                Part::SortKey(place) => self.sort_key(&take(segments, *place)?, *place)?,
                Part::Owner(place) => take(&owner, *place)?,
                Part::Slot(place) | Part::Kept(place) => take(&slots, *place)?,
                Part::Version => row.version.map_or(Value::Null, |v| Value::Uuid(*v.as_bytes())),
                Part::Expires => row.expires.map_or(Value::Null, Value::Timestamp),
            });
        }
        self.check(&values, row)?;
        Ok(values)
    }

    fn sort_key(&self, value: &Value, place: usize) -> Result<Value> {
        let segment = self.shape().segments.get(place);
        match (segment, value.as_segment()) {
            (Some(segment), Some(value)) => {
                sort_bytes(*segment, &value).map(|bytes| Value::Bytes(Bytes::from(bytes)))
            }
            _ => Err(Error::new(ErrorKind::Internal, "a value has no place in a key")),
        }
    }

    /// Whether the table has a place for the version and the end of a row.
    fn check(&self, values: &[Value], row: Parts<'_>) -> Result<()> {
        let refused =
            |message| Err(Error::new(ErrorKind::Internal, message).with("table", &self.name));
        // The version of a claim is that of its owner, and nobody asks for it.
        let is_row = matches!(self.of, Of::Rows(_));
        if is_row && row.version.is_some() != self.version.is_some() {
            return refused("a row has a version where its table has none, or the reverse");
        }
        if row.expires != instant(self.expires.and_then(|place| values.get(place))) {
            return refused("a row ends at another instant than its table can say");
        }
        let mut nulls = self.columns.iter().zip(values).filter(|(_, value)| value.is_null());
        // That a row never ends each store says in its own way.
        match nulls.find(|(column, _)| !column.optional && column.part != Part::Expires) {
            Some((column, _)) => Err(Error::new(ErrorKind::Internal, "a column has no value")
                .with("table", &self.name)
                .with("column", &column.name)),
            None => Ok(()),
        }
    }

    /// The values of a key's segments, from what the columns in `segments` hold.
    pub fn segments_of(&self, columns: Vec<Value>) -> Result<Vec<Value>> {
        let shape = self.shape();
        let mut values = Vec::with_capacity(columns.len());
        for ((place, value), segment) in self.segments.iter().zip(columns).zip(&shape.segments) {
            values.push(match (self.columns.get(*place).map(|column| &column.part), value) {
                (Some(Part::SortKey(_)), Value::Bytes(bytes)) => {
                    Value::from_segment(from_sort_bytes(*segment, &bytes)?)
                }
                (_, value) => value,
            });
        }
        Ok(values)
    }

    /// The key of these segments.
    pub fn key_of(&self, segments: &[Value]) -> Result<Key> {
        self.shape().encode(segments)
    }

    /// The row of these segments, and of what the columns in `content` hold.
    pub fn row_of(&self, segments: &[Value], content: Vec<Value>) -> Result<Row> {
        let column = |place: Option<usize>| {
            let place = place?;
            match self.content.iter().position(|known| *known == place) {
                Some(number) => content.get(number),
                // The end of an entry may be a segment of its key.
                None => {
                    self.segments.iter().position(|k| *k == place).and_then(|n| segments.get(n))
                }
            }
        };
        let (version, expires) = (version(column(self.version)), instant(column(self.expires)));
        let value = self.of.value(segments, &content)?;
        Ok(Row { value, version, expires, trail: None })
    }
}

fn version(value: Option<&Value>) -> Option<Version> {
    match value {
        Some(Value::Uuid(bytes)) => Some(CommitId::from_stored(*bytes)),
        _ => None,
    }
}

fn instant(value: Option<&Value>) -> Option<Milliseconds> {
    match value {
        Some(Value::Timestamp(at)) => Some(*at),
        _ => None,
    }
}

pub(crate) fn unmatched(name: &str) -> Error {
    Error::new(ErrorKind::Internal, "a layout has something that its schema has not")
        .with("name", name)
}

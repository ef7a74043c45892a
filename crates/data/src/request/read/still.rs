//! Whether a row, as it now is, still has an entry: it may have changed since the entry was read.
//!
//! ```text
//! entry  │ from the key │ a field as it is │ computed  ─▶ kept fields
//!          never changes   same in the row?   same kept fields in the row? else computed anew
//! ```
//!
//! The row is the one that the entry names, so what both have of its key is not compared.

use super::rows::{Of, RowMembers};
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::{evaluate, holds};
use crate::schema::{CollectionSchema, ContentShape, IndexSchema, Source};
use crate::store::Keyed;
use crate::value::Value;
use keyspace::key::{self, KeyReader};
use keyspace::model::{Expression, Type};

/// What of an index's entries can become untrue.
pub(super) struct Still<'a> {
    collection: &'a CollectionSchema,
    index: &'a IndexSchema,
    /// How many segments of an entry must be read to have seen all that can change.
    changing: usize,
    /// The kept fields, each with its slot, that all computed segments are made of; empty where
    /// they are made of others too.
    kept: Vec<(usize, usize)>,
}

impl<'a> Still<'a> {
    /// What of an index's entries can become untrue.
    pub fn new(collection: &'a CollectionSchema, index: &'a IndexSchema) -> Self {
        let fixed = |source: &Source| matches!(source, Source::Segment(_));
        let last = index.sources.iter().rposition(|source| !fixed(source));
        let changing = last.map_or(0, |last| last + 1);
        let kept = kept_of(collection, index).unwrap_or_default();
        Still { collection, index, changing, kept }
    }

    /// Whether a row has an entry that names it.
    pub fn has(&self, row: &Keyed, entry: &Keyed) -> Result<bool> {
        let members = RowMembers::new(self.collection, &row.key, &row.row.value);
        if let Some(when) = &self.index.model.when
            && !holds(when, &Of(&members))?
        {
            return Ok(false);
        }
        let mut reader = KeyReader::new(entry.key.as_ref()).map_err(unreadable)?;
        let shape = &self.index.key;
        let segments = shape.segments.iter().zip(&shape.types).zip(&self.index.sources);
        for ((segment, of), source) in segments.take(self.changing) {
            let stored = reader.value(*segment).map_err(unreadable)?;
            let same = match source {
                Source::Segment(_) => true,
                Source::Slot(slot) => self.has_slot(row, *slot, stored)?,
                Source::Computed(expression) => {
                    self.has_kept(row, entry)? || computes(expression, of, &members, stored)?
                }
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a slot holds what an entry says of it.
    fn has_slot(&self, row: &Keyed, slot: usize, stored: key::Value<'_>) -> Result<bool> {
        match (&self.collection.content, stored) {
            (ContentShape::Record(shape), key::Value::Text(text)) => {
                Ok(shape.read_text(&row.row.value, slot)? == Some(text.as_ref()))
            }
            (_, stored) => {
                let now = self.collection.read(&row.row.value, slot)?;
                Ok(is_same(&now, &Value::from_segment(stored)))
            }
        }
    }

    /// Whether all that the computed segments are made of is as the entry keeps it.
    fn has_kept(&self, row: &Keyed, entry: &Keyed) -> Result<bool> {
        let ContentShape::Record(shape) = &self.collection.content else { return Ok(false) };
        if self.kept.is_empty() {
            return Ok(false);
        }
        let content = entries::kept(self.index, &entry.row)?;
        for (kept, slot) in &self.kept {
            let now = shape.payload(&row.row.value, *slot)?;
            if now.is_none() || now != self.index.keep.payload(&content, *kept)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The kept fields, each with its slot, that the computed segments of an index are made of.
fn kept_of(collection: &CollectionSchema, index: &IndexSchema) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for source in &index.sources {
        let Source::Computed(expression) = source else { continue };
        for member in expression.members() {
            let slot = collection.slot(member)?;
            let kept = index.keep_slots.iter().position(|kept| *kept == slot)?;
            found.push((kept, slot));
        }
    }
    Some(found)
}

/// Whether an expression now comes to what an entry says; of a list, whether one item does.
fn computes(
    expression: &Expression,
    of: &Type,
    members: &RowMembers<'_>,
    stored: key::Value<'_>,
) -> Result<bool> {
    let stored = Value::from_segment(stored);
    Ok(match evaluate(expression, &Of(members), Some(of))? {
        Value::List(each) => each.iter().any(|one| is_same(one, &stored)),
        one => is_same(&one, &stored),
    })
}

fn is_same(one: &Value, stored: &Value) -> bool {
    match (one, stored) {
        (Value::U64(number), Value::Cell(stored)) => number == stored,
        (one, stored) => one == stored,
    }
}

#[cold]
fn unreadable(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

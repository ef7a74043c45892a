//! An index as bytes: where each segment of an entry's key comes from, and what the entry keeps.
//!
//! ```text
//! entry   index key, missing primary segments, on group-atomic stores the attempt ─▶ kept fields
//! claim   index key ─▶ the owner's key, kept fields
//! ```

use super::collection::{Slot, number, record_field};
use super::key::KeyShape;
use crate::catalogue::Catalogue;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::Quick;
use crate::record::RecordShape;
use keyspace::model::{Atomicity, Collection, Expression, ExpressionKind, Index, Mode, StoreKind};
use std::sync::Arc;

/// An index with a store's numbers.
#[derive(Debug)]
pub struct IndexSchema {
    /// What the file says.
    pub model: Arc<Index>,
    /// Its key.
    pub key: KeyShape,
    /// Where each segment of its key comes from.
    pub sources: Vec<Source>,
    /// For each segment that is computed: its quick form, if there is one.
    pub quick: Vec<Option<Quick>>,
    /// Whether one record may have several entries.
    pub is_plural: bool,
    /// Where the entry's key holds each segment of the primary key; empty for a unique index, whose
    /// claims hold the owner's whole key instead.
    pub primary: Vec<usize>,
    /// The kept fields, in the order of `keep`.
    pub keep: RecordShape,
    /// The slots of the collection that are kept, in the same order.
    pub keep_slots: Vec<usize>,
}

/// Where a segment of an entry's key comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A segment of the primary key, as it is.
    Segment(usize),
    /// A slot of the row, as it is; null means no entry.
    Slot(usize),
    /// A function of members; null means no entry, a list (from `each`) one entry an element.
    Computed(Expression),
}

impl IndexSchema {
    pub(super) fn new(
        kind: StoreKind,
        catalogue: &Catalogue,
        kept: Mode,
        (collection, slots, model): (&Collection, &[Slot], Arc<Index>),
    ) -> Result<Self> {
        let name = format!("{}.{}", collection.name.value, model.name.value);
        let space = number(catalogue, &name)?;
        let mut key = KeyShape::new(space, &model.key, space);
        let grouped = kind.atomicity() == Atomicity::Group;
        if let (Some(bucket), true) = (&model.bucket, kind.cuts_groups()) {
            key = key.sliced(bucket, number(catalogue, &format!("{name}/slices"))?);
        }
        key.attempt = grouped && kept == Mode::Conditional && !model.unique;
        let primary_names: Vec<&str> =
            collection.key.segments().map(|segment| segment.name.as_str()).collect();
        let mut sources = Vec::new();
        for segment in model.key.segments() {
            let member = match segment.source.as_ref().map(|source| &source.kind) {
                None => Some(segment.name.as_str()),
                Some(ExpressionKind::Member(member)) => Some(member.as_str()),
                Some(_) => None,
            };
            let position = member.and_then(|m| primary_names.iter().position(|known| *known == m));
            let slot = member.and_then(|m| slots.iter().position(|slot| slot.name == m));
            sources.push(match (position, slot, &segment.source) {
                (Some(position), _, _) => Source::Segment(position),
                (None, Some(slot), _) => Source::Slot(slot),
                (None, None, Some(source)) => Source::Computed(source.clone()),
                (None, None, None) => return Err(unknown(&segment.name)),
            });
        }
        let quick = sources.iter().map(|source| match source {
            Source::Computed(expression) => Quick::of(expression, &primary_names, slots),
            Source::Segment(_) | Source::Slot(_) => None,
        });
        let (quick, is_plural) = (quick.collect(), model.is_plural());
        let primary = match model.unique {
            true => Vec::new(),
            false => primary_positions(&sources, primary_names.len())?,
        };
        let mut keep = RecordShape { fields: Vec::new() };
        let mut keep_slots = Vec::new();
        for kept in &model.keep {
            let slot = slots.iter().position(|slot| slot.name == kept.value);
            let field = collection.field(&kept.value);
            let (Some(slot), Some(field)) = (slot, field) else { return Err(unknown(&kept.value)) };
            keep_slots.push(slot);
            keep.fields.push(record_field(catalogue, &collection.name.value, field)?);
        }
        Ok(IndexSchema { model, key, sources, quick, is_plural, primary, keep, keep_slots })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.model.name.value
    }
}

/// Where an entry's key holds each segment of the primary key.
fn primary_positions(sources: &[Source], segments: usize) -> Result<Vec<usize>> {
    let find = |segment: usize| {
        let found = sources.iter().position(|source| *source == Source::Segment(segment));
        found.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "an index does not hold its primary key")
        })
    };
    (0..segments).map(find).collect()
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Internal, "an index names something its collection does not have")
        .with("name", name)
}

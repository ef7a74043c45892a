//! From a layout and a schema to a table as a driver needs it.
//!
//! A layout names what each column holds; a schema numbers the segments, slots and kept fields. A
//! column that the schema does not know is a mistake of ours, never of a user.

use super::content::{Of, Place};
use super::table::{ColumnShape, Part, TableShape, unmatched};
use data::Result;
use data::schema::{CollectionSchema, IndexSchema, KeyShape, Schema};
use keyspace::layout::tables::{Column, Holds, Purpose, Role, Table, plain_member};
use keyspace::model::Type;
use std::sync::Arc;

impl<N: Clone> TableShape<N> {
    /// A table of a layout; nothing for helpers, and for histories, whose rows come another way.
    pub fn new(table: &Table<N>, schema: &Schema) -> Result<Option<Self>> {
        let (collection, index) = match &table.purpose {
            Purpose::Rows(members) => {
                let [member] = members.as_slice() else { return Err(unmatched(&table.name)) };
                (schema.collection(&member.collection)?, None)
            }
            Purpose::Entries { collection, index, .. } => {
                let collection = schema.collection(collection)?;
                let place = collection.indexes.iter().position(|known| known.name() == index);
                (collection, Some(place.ok_or_else(|| unmatched(&table.name))?))
            }
            Purpose::Slices { .. } | Purpose::Catalogue | Purpose::Calls => return Ok(None),
        };
        if collection.model.history.is_some() {
            return Ok(None);
        }
        let finder = Finder { collection, index: index.and_then(|i| collection.indexes.get(i)) };
        let mut columns = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let found = finder.column(column, &columns);
            columns.push(found.ok_or_else(|| unmatched(&column.name))?);
        }
        let shape = finder.key();
        let mut made = TableShape {
            name: table.name.clone(),
            space: shape.space,
            key: place_of(&table.columns, |column| column.role != Role::Value),
            segments: Vec::new(),
            content: Vec::new(),
            expires: table.columns.iter().position(|c| Some(&c.name) == table.expires.as_ref()),
            state: Vec::new(),
            stateful: Vec::new(),
            version: columns.iter().position(|column| column.part == Part::Version),
            columns,
            of: Of::Rows(collection.clone()),
        };
        let is_literal = |place: &usize| made.is(*place, |p| matches!(p, Part::Literal(_)));
        made.segments = made.key.iter().copied().filter(|place| !is_literal(place)).collect();
        let is_content = |part: &Part| !matches!(part, Part::Segment(_));
        made.content = (0..made.columns.len())
            .filter(|place| !made.key.contains(place) && made.is(*place, is_content))
            .collect();
        made.state = made.version.into_iter().chain(made.expires).collect();
        let in_content = made.content.iter().copied().enumerate();
        made.stateful = in_content.filter(|(_, place)| made.state.contains(place)).collect();
        if let Some(number) = index {
            made.of = made.entries(&finder, collection.clone(), number)?;
        }
        match made.segments.len() == shape.segments.len() {
            true => Ok(Some(made)),
            false => Err(unmatched(&made.name)),
        }
    }

    fn is(&self, place: usize, is: impl Fn(&Part) -> bool) -> bool {
        self.columns.get(place).is_some_and(|column| is(&column.part))
    }

    /// Where the owner and the kept fields of an entry are.
    fn entries(
        &self,
        finder: &Finder<'_>,
        collection: Arc<CollectionSchema>,
        index: usize,
    ) -> Result<Of> {
        let Some(of) = finder.index else { return Err(unmatched(&self.name)) };
        let place = |part: &Part, name: &str| {
            let column = self.content.iter().position(|place| self.is(*place, |p| p == part));
            let in_key = || of.model.key.segments().position(|s| plain_member(s) == Some(name));
            let place = column.map(Place::Content).or_else(|| in_key().map(Place::Segment));
            place.ok_or_else(|| unmatched(name))
        };
        let mut owner = Vec::new();
        if of.model.unique {
            for (number, name) in collection.key.names.iter().enumerate() {
                owner.push(place(&Part::Owner(number), name)?);
            }
        }
        let mut kept = Vec::new();
        for (number, field) in of.model.keep.iter().enumerate() {
            kept.push(place(&Part::Kept(number), &field.value)?);
        }
        Ok(Of::Entries { collection, index, owner, kept })
    }
}

/// Finds out what a column holds.
pub struct Finder<'s> {
    /// The collection whose rows, entries or claims the table has.
    pub collection: &'s Arc<CollectionSchema>,
    /// The index, of entries and claims.
    pub index: Option<&'s Arc<IndexSchema>>,
}

impl Finder<'_> {
    fn key(&self) -> &KeyShape {
        self.index.map_or(&self.collection.key, |index| &index.key)
    }

    fn column<N: Clone>(
        &self,
        column: &Column<N>,
        before: &[ColumnShape<N>],
    ) -> Option<ColumnShape<N>> {
        let (part, value_type) = match column.role {
            Role::Value => self.value(&column.holds)?,
            Role::Group | Role::Order { .. } => self.segment(&column.holds, before.len())?,
        };
        Some(ColumnShape {
            name: column.name.clone(),
            native: column.native.clone(),
            value_type,
            optional: column.optional,
            descending: column.is_descending(),
            part,
        })
    }

    /// A column of the key: they stand first, in the order of the segments.
    fn segment(&self, holds: &Holds, place: usize) -> Option<(Part, Type)> {
        if let Holds::Literals(text) = holds {
            return Some((Part::Literal(text.clone()), Type::Text));
        }
        let value_type = self.key().types.get(place)?.required().clone();
        match holds {
            Holds::SortKey(_) => Some((Part::SortKey(place), Type::Bytes)),
            _ => Some((Part::Segment(place), value_type)),
        }
    }

    /// A column beside the key.
    pub fn value(&self, holds: &Holds) -> Option<(Part, Type)> {
        let collection = self.collection;
        let slot = |name: &str| {
            let place = collection.slot(name)?;
            Some((Part::Slot(place), collection.slots.get(place)?.slot_type.required().clone()))
        };
        match (holds, self.index) {
            (Holds::Field(name), None) => slot(name),
            (Holds::Field(name), Some(index)) => {
                let place = index.model.keep.iter().position(|kept| kept.value == *name)?;
                let field = index.keep.fields.get(place)?;
                Some((Part::Kept(place), field.field_type.required().clone()))
            }
            (Holds::Content | Holds::Total, None) => slot("value"),
            (Holds::Body, None) => slot("body"),
            (Holds::Version, None) => Some((Part::Version, Type::Uuid)),
            (Holds::Expires | Holds::WindowEnd, _) => Some((Part::Expires, Type::Timestamp)),
            (Holds::Owner(name), Some(index)) if index.model.unique => {
                let place = collection.segment(name)?;
                Some((Part::Owner(place), collection.key.types.get(place)?.required().clone()))
            }
            // The readable form of a segment that sorts by another column.
            (Holds::Segment(name) | Holds::Owner(name), _) => {
                let place = self.key().names.iter().position(|known| known == name)?;
                Some((Part::Segment(place), self.key().types.get(place)?.required().clone()))
            }
            _ => None,
        }
    }
}

fn place_of<N>(columns: &[Column<N>], is: impl Fn(&Column<N>) -> bool) -> Vec<usize> {
    (0..columns.len()).filter(|place| columns.get(*place).is_some_and(&is)).collect()
}

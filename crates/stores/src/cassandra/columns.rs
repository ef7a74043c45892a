//! What the columns of a layout hold, found in a schema. Pure.

use super::view::{Held, KeyPart};
use crate::sql::find::Finder;
use crate::sql::table::Part;
use data::record::RecordShape;
use data::schema::{CollectionSchema, ContentShape, KeyShape, Slot};
use keyspace::key::KeyType;
use keyspace::layout::cql::{CqlTable, CqlType};
use keyspace::layout::tables::{Column, Holds, Role};
use keyspace::model::{Content, Ttl, Type};

/// The record that rows of a collection are, unless a field is a list or a path.
pub(super) fn direct(collection: &CollectionSchema) -> Option<RecordShape> {
    let plain = |slot: &Slot| !matches!(slot.slot_type.required(), Type::List(_) | Type::Path);
    match &collection.content {
        ContentShape::Record(shape) if collection.slots.iter().all(plain) => Some(shape.clone()),
        _ => None,
    }
}

/// Whether rows of a collection have a column.
pub(super) fn is_own(column: &Column<CqlType>, collection: &CollectionSchema) -> bool {
    column.only.is_empty() || column.only.iter().any(|name| name == collection.name())
}

/// The columns in the order in which a [`Table`] has them.
pub(super) fn ordered(layout: &CqlTable) -> Vec<&Column<CqlType>> {
    let columns = &layout.table.columns;
    let value = columns.iter().filter(|column| column.role == Role::Value);
    layout.table.group().chain(layout.table.order()).chain(value).collect()
}

/// What a column of a key holds; segments stand in their order.
pub(super) fn key_part(
    column: &Column<CqlType>,
    before: &[KeyPart],
    kind: Option<&str>,
) -> KeyPart {
    match (&column.holds, kind) {
        (Holds::Literals(text), _) => KeyPart::Text(text.clone()),
        (Holds::Kind, Some(kind)) => KeyPart::Text(kind.to_string()),
        (Holds::Slice, _) => KeyPart::Slice,
        (Holds::Rest, _) => KeyPart::Rest,
        _ => {
            let segments = before.iter().filter(|part| matches!(part, KeyPart::Segment(_)));
            KeyPart::Segment(segments.count())
        }
    }
}

/// What a column beside the key holds, and the type of its values.
pub(super) fn held(finder: &Finder<'_>, holds: &Holds) -> Option<(Type, Held)> {
    Some(match (holds, finder.index) {
        (Holds::Previous, _) => (Type::Uuid, Held::Previous),
        (Holds::Sums, _) => (Type::I64, Held::Sums),
        (Holds::Dead, _) => (Type::Bool, Held::Dead),
        (Holds::Entries, _) => (Type::Bytes, Held::Entries),
        (Holds::Claims, _) => (Type::Bytes, Held::Claims),
        (Holds::Attempt, Some(_)) => (Type::Uuid, Held::Part(Part::Version)),
        _ => {
            let (part, value_type) = finder.value(holds)?;
            (value_type, Held::Part(part))
        }
    })
}

/// The column that says when the rows of a collection end.
pub(super) fn expires(
    layout: &CqlTable,
    columns: &[&Column<CqlType>],
    finder: &Finder<'_>,
) -> Option<usize> {
    let find = |holds: &Holds| {
        let mut columns = columns.iter();
        columns.position(|column| column.holds == *holds && is_own(column, finder.collection))
    };
    let model = &finder.collection.model;
    if finder.index.is_some() {
        let name = layout.table.expires.as_ref()?;
        return columns.iter().position(|column| column.name == *name);
    }
    if let Content::Window { .. } = model.content {
        return find(&Holds::WindowEnd);
    }
    match model.ttl.as_ref()? {
        Ttl::After(_) => find(&Holds::Expires),
        Ttl::Field(name) => {
            let field = find(&Holds::Field(name.clone()));
            let is_time = |place: &usize| {
                columns.get(*place).is_some_and(|column| column.native == CqlType::Timestamp)
            };
            field.filter(is_time).or_else(|| find(&Holds::Expires))
        }
    }
}

/// A shape whose attempt is a segment as the others, and whether it has one.
pub(super) fn with_attempt(mut key: KeyShape) -> (KeyShape, bool) {
    let has_attempt = std::mem::take(&mut key.attempt);
    if has_attempt {
        key.segments.push(KeyType::Uuid.ascending());
        key.names.push("attempt".to_string());
        key.types.push(Type::Uuid);
    }
    (key, has_attempt)
}

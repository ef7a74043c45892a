//! When rows end.

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::CollectionSchema;
use crate::value::Value;
use keyspace::model::Ttl;
use std::borrow::Borrow;

/// When a row that is written anew ends: so long after now, or when its field says; or never.
pub(super) fn ends<V: Borrow<Value>>(
    collection: &CollectionSchema,
    slots: &[V],
    now: Milliseconds,
) -> Result<Option<Milliseconds>> {
    match &collection.model.ttl {
        None => Ok(None),
        Some(Ttl::After(length)) => Ok(Some(after(now, *length))),
        Some(Ttl::Field(name)) => by_field(collection, slots, name),
    }
}

/// When a row ends that was there: when its field says, or when it did before.
pub(super) fn still_ends(
    collection: &CollectionSchema,
    slots: &[Value],
    before: Option<Milliseconds>,
) -> Result<Option<Milliseconds>> {
    match &collection.model.ttl {
        Some(Ttl::Field(name)) => by_field(collection, slots, name),
        _ => Ok(before),
    }
}

/// So many milliseconds after an instant.
pub(super) fn after(now: Milliseconds, length: u64) -> Milliseconds {
    now.saturating_add(i64::try_from(length).unwrap_or(i64::MAX))
}

fn by_field<V: Borrow<Value>>(
    collection: &CollectionSchema,
    slots: &[V],
    name: &str,
) -> Result<Option<Milliseconds>> {
    match collection.slot(name).and_then(|slot| slots.get(slot)).map(Borrow::borrow) {
        Some(Value::Timestamp(at)) => Ok(Some(*at)),
        Some(Value::Null) => Ok(None),
        _ => Err(Error::new(ErrorKind::Internal, "a row ends by something that is no time")
            .with("field", name)),
    }
}

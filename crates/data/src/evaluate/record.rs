//! The scope of a record alone: what index segments, `when`, and conditions on a row see.

use super::quick::At;
use super::{Scope, unseen};
use crate::error::Result;
use crate::schema::CollectionSchema;
use crate::value::Value;
use std::borrow::Borrow;

/// A record's key segments and slots, by name; its values are its own or borrowed ones.
#[derive(Clone, Copy, Debug)]
pub struct RecordScope<'a, V = Value> {
    /// Its collection.
    pub collection: &'a CollectionSchema,
    /// The values of its key, one for each segment.
    pub segments: &'a [V],
    /// The values of its row, one for each slot.
    pub slots: &'a [V],
}

impl<'a, V: Borrow<Value>> RecordScope<'a, V> {
    /// The value of a field, a key segment, `value` or `body`.
    pub fn find(&self, name: &str) -> Option<&'a Value> {
        match self.collection.slot(name) {
            Some(slot) => self.at(At::Slot(slot)),
            None => self.at(At::Segment(self.collection.segment(name)?)),
        }
    }

    /// The value at a position.
    pub fn at(&self, at: At) -> Option<&'a Value> {
        let value = match at {
            At::Segment(segment) => self.segments.get(segment),
            At::Slot(slot) => self.slots.get(slot),
        };
        value.map(Borrow::borrow)
    }
}

impl<V: Borrow<Value>> Scope for RecordScope<'_, V> {
    fn member(&self, name: &str) -> Result<Value> {
        self.find(name).cloned().ok_or_else(|| unseen("member", name))
    }
}

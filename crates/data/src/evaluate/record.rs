//! The scope of a record alone: what index segments, `when`, and conditions on a row see.

use super::{Scope, unseen};
use crate::error::Result;
use crate::schema::CollectionSchema;
use crate::value::Value;

/// A record's key segments and slots, by name.
#[derive(Clone, Copy, Debug)]
pub struct RecordScope<'a> {
    /// Its collection.
    pub collection: &'a CollectionSchema,
    /// The values of its key, one for each segment.
    pub segments: &'a [Value],
    /// The values of its row, one for each slot.
    pub slots: &'a [Value],
}

impl<'a> RecordScope<'a> {
    /// The value of a field, a key segment, `value` or `body`.
    pub fn find(&self, name: &str) -> Option<&'a Value> {
        match self.collection.slot(name) {
            Some(slot) => self.slots.get(slot),
            None => self.collection.segment(name).and_then(|segment| self.segments.get(segment)),
        }
    }
}

impl Scope for RecordScope<'_> {
    fn member(&self, name: &str) -> Result<Value> {
        self.find(name).cloned().ok_or_else(|| unseen("member", name))
    }
}

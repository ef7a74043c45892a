//! Where the values of one row of one step come from, and what later steps know of it.
//!
//! ```text
//! argument of a step ─▶ the step's binding, over the arguments of the call and earlier rows
//!                    ─▶ the pattern's own binding, over the arguments of the step
//!                    ─▶ the argument of the call with this name
//! ```
//!
//! A call of one pattern is a step without bindings of its own.

use super::row::{RowState, member};
use crate::caller::Caller;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::{CallInputs, Inputs, binding, bound_value};
use crate::schema::CollectionSchema;
use crate::value::Value;
use keyspace::model::{Pattern, Step, Type};
use std::sync::Arc;

/// What is known of the rows of steps, by their position.
#[derive(Default)]
pub(super) struct Known {
    rows: Vec<(String, Option<KnownRow>)>,
}

/// What is known of a row.
pub(super) struct KnownRow {
    collection: Arc<CollectionSchema>,
    segments: Vec<Value>,
    slots: Option<Vec<Value>>,
}

impl KnownRow {
    /// All that is known of a row.
    pub fn of(row: &RowState) -> Self {
        KnownRow {
            collection: row.collection.clone(),
            segments: row.segments.clone(),
            slots: row.content().map(|content| content.slots.clone()),
        }
    }

    /// What a row was before the batch.
    pub fn stored(row: &RowState, slots: Vec<Value>) -> Self {
        let (collection, segments) = (row.collection.clone(), row.segments.clone());
        KnownRow { collection, segments, slots: Some(slots) }
    }

    /// What several rows share: the group.
    pub fn of_group(row: &RowState) -> Self {
        let group = row.segments.iter().take(row.collection.key.group).cloned();
        KnownRow { collection: row.collection.clone(), segments: group.collect(), slots: None }
    }
}

impl Known {
    /// Nothing of the steps with these names.
    pub fn nothing_of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Known { rows: names.into_iter().map(|name| (name.to_string(), None)).collect() }
    }

    /// Whether the row of a step is known.
    pub fn has(&self, step: usize) -> bool {
        self.rows.get(step).is_some_and(|(_, row)| row.is_some())
    }

    /// The row of a step is known now.
    pub fn learn(&mut self, step: usize, row: KnownRow) {
        if let Some((_, known)) = self.rows.get_mut(step) {
            *known = Some(row);
        }
    }

    fn member(&self, step: &str, name: &str) -> Result<Value> {
        let found = self.rows.iter().find(|(known, _)| known == step);
        let Some((_, Some(row))) = found else {
            return Err(Error::new(ErrorKind::Internal, "a step is used before it is known")
                .with("step", step));
        };
        member(&row.collection, &row.segments, row.slots.as_deref(), name)
            .map_err(|error| error.with("step", step))
    }
}

/// The inputs of one row of one step.
pub(super) struct RowInputs<'a> {
    /// The call, with what the row gives.
    pub call: CallInputs<'a>,
    /// The step, of an `atomic`.
    pub step: Option<&'a Step>,
    /// The pattern that the step runs.
    pub run: Option<&'a Pattern>,
    /// What is known of earlier steps.
    pub known: &'a Known,
}

impl Inputs for RowInputs<'_> {
    fn argument(&self, name: &str, of: Option<&Type>) -> Result<Option<Value>> {
        let Some(step) = self.step else { return self.call.argument(name, of) };
        if let Some(bound) = binding(&step.bind, name) {
            let outer = Outer { call: &self.call, known: self.known };
            return bound_value(bound, &outer, of).map(Some);
        }
        let own = self.run.map(|run| run.bind.as_slice()).unwrap_or_default();
        if let Some(bound) = binding(own, name) {
            return bound_value(bound, self, of).map(Some);
        }
        match name {
            "if_version" => self.call.argument(&format!("{}.if_version", step.name), of),
            _ => self.call.argument(name, of),
        }
    }

    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        self.known.member(step, name)
    }

    fn now(&self) -> Milliseconds {
        self.call.now()
    }

    fn caller(&self) -> &Caller {
        self.call.caller()
    }
}

/// What a step's bindings see: the arguments of the call, and earlier steps.
struct Outer<'a> {
    call: &'a CallInputs<'a>,
    known: &'a Known,
}

impl Inputs for Outer<'_> {
    fn argument(&self, name: &str, of: Option<&Type>) -> Result<Option<Value>> {
        self.call.argument(name, of)
    }

    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        self.known.member(step, name)
    }

    fn now(&self) -> Milliseconds {
        self.call.now()
    }

    fn caller(&self) -> &Caller {
        self.call.caller()
    }
}

//! One change, alone or as a step of an `atomic`: what the verbs go by.
//!
//! A verb sees a part, its inputs and the state of one row. It never sees a call or another step,
//! so that a pattern does the same wherever it runs.

use super::ids::Maker;
use super::row::RowState;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::holds;
use crate::request::answer::AnswerShape;
use crate::request::inputs::{InputScope, Inputs};
use crate::schema::CollectionSchema;
use crate::store::Version;
use crate::value::Value;
use keyspace::model::{
    Assignment, DefaultValue, Expression, ExpressionKind, Pattern, Segment, Type, Verb,
};
use std::sync::Arc;

/// One change.
pub(super) struct Part<'a> {
    /// The pattern that makes it.
    pub pattern: &'a Pattern,
    /// Whose rows.
    pub collection: &'a Arc<CollectionSchema>,
    /// What an answered row shows.
    pub shape: &'a Arc<AnswerShape>,
    /// The segments and fields that the caller fills.
    pub filled: &'a [String],
    /// Whether the stored row is read first.
    pub reads: bool,
    /// The bindings of the step, and those of the `atomic` around it.
    pub around: Option<(&'a [Assignment], &'a [Assignment])>,
    /// What makes ids.
    pub ids: Maker<'a>,
}

/// What a change came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// The row is written or removed.
    Changed,
    /// It was there, and stays as it is.
    Existed,
    /// There was nothing to remove.
    Nothing,
}

impl Part<'_> {
    /// Whether the caller gives an argument, under its own name or another. What a binding makes of
    /// the clock, of constants or of other rows, nobody gives.
    pub fn is_given(&self, name: &str) -> bool {
        let (step, atomic) = self.around.unwrap_or_default();
        let of_call = |name: &str| binding(atomic, name).is_none();
        let of_step = |name: &str| match binding(step, name) {
            None => of_call(name),
            Some(bound) => argument_named(bound).is_some_and(of_call),
        };
        match binding(&self.pattern.bind, name) {
            Some(own) if binding(step, name).is_none() => {
                argument_named(own).is_some_and(|named| {
                    binding(&self.pattern.bind, named).is_none() && of_step(named)
                })
            }
            _ => of_step(name),
        }
    }

    /// Whether it adds.
    pub fn adds(&self) -> bool {
        self.pattern.verb == Verb::Add
    }

    /// Whether its rows are new, as their keys have just been made.
    pub fn makes_ids(&self) -> bool {
        let made = |segment: &Segment| matches!(segment.default, Some(DefaultValue::New(_)));
        self.pattern.verb == Verb::Insert && self.collection.model.key.segments().any(made)
    }

    /// A problem of this collection.
    pub fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, message).with("collection", self.collection.name())
    }

    /// The row is there and may not be.
    pub fn is_there(&self) -> Error {
        self.error(ErrorKind::Conflict, "the row is already there")
    }

    /// The row is not there, or is another's: nobody can tell which.
    pub fn is_missing(&self) -> Error {
        self.error(ErrorKind::NotFound, "there is no such row")
    }

    /// The row has another version than the caller read.
    pub fn has_moved(&self) -> Error {
        self.error(ErrorKind::Conflict, "the row does not have this version")
    }

    /// The version the caller read, if it gives one.
    pub fn version_given(&self, inputs: &dyn Inputs) -> Result<Option<Version>> {
        if !self.pattern.if_version {
            return Ok(None);
        }
        match inputs.argument("if_version", Some(&Type::Text))? {
            Some(Value::Text(text)) => {
                text.parse().map(Some).map_err(|error: Error| error.with("argument", "if_version"))
            }
            _ => Ok(None),
        }
    }

    /// Holds the version the caller gives against the row; one that was not read is left to the
    /// commit. Nobody's version is that of a row which is not there.
    pub fn judge_version(&self, row: &mut RowState, inputs: &dyn Inputs) -> Result<()> {
        match self.version_given(inputs)? {
            Some(version) if !row.is_version(version) => Err(self.has_moved()),
            _ => Ok(()),
        }
    }

    /// Holds the condition against the stored row, which is there.
    pub fn judge_condition(&self, row: &RowState, inputs: &dyn Inputs) -> Result<()> {
        let Some(condition) = &self.pattern.condition else { return Ok(()) };
        match holds(condition, &InputScope { inputs, row: Some(row) })? {
            true => Ok(()),
            false => Err(self.error(ErrorKind::Conflict, "the row does not fulfil the condition")),
        }
    }
}

fn binding<'b>(bindings: &'b [Assignment], name: &str) -> Option<&'b Expression> {
    bindings.iter().find(|bound| bound.name.value == name).map(|bound| &bound.expression)
}

/// The argument that an expression is, and nothing else.
fn argument_named(expression: &Expression) -> Option<&str> {
    match &expression.kind {
        ExpressionKind::Argument(name) => Some(name),
        _ => None,
    }
}

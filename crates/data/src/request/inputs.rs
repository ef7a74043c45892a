//! Where the values of a call come from: what is given, bound, filled or, in a batch, looked at.
//!
//! ```text
//! segment or field ─▶ filled from the caller │ bound to an expression │ given │ left out
//! ```
//!
//! The verbs ask here by name and never look at a call themselves, so that a pattern behaves the
//! same alone and as a step of an `atomic`.

use super::call::{Call, Given};
use super::prepare::Prepared;
use crate::caller::Caller;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::{Scope, evaluate};
use crate::value::Value;
use keyspace::model::{Argument, ArgumentRole, Assignment, Type};

/// What a verb may ask of its call.
pub trait Inputs: Send + Sync {
    /// The value of an argument: bound or given; nothing if it is left out. Null is a value.
    ///
    /// The type decides what a number or a text of a binding becomes; what is given has its own.
    fn argument(&self, name: &str, of: Option<&Type>) -> Result<Option<Value>>;

    /// What is given for the first segments of the pattern's key, where each is an argument as it
    /// is given; nothing where one has to be asked for by itself.
    fn key_front(&self, segments: usize) -> Option<Vec<&Value>> {
        let _ = segments;
        None
    }

    /// A member of an earlier step of the batch.
    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        let _ = name;
        Err(Error::new(ErrorKind::Internal, "there is no such step").with("step", step))
    }

    /// The instant of the call.
    fn now(&self) -> Milliseconds;

    /// Who calls.
    fn caller(&self) -> &Caller;

    /// The caller's id as a value of a type; an error for somebody without a name.
    fn caller_as(&self, of: &Type) -> Result<Value> {
        match self.caller().id() {
            Some(id) => named(id, of, "caller"),
            None => Err(Error::new(ErrorKind::Denied, "the call must say who calls")),
        }
    }

    /// The tenant's id as a value of a type; an error outside a tenant.
    fn tenant_as(&self, of: &Type) -> Result<Value> {
        match self.caller().tenant() {
            Some(id) => named(id, of, "tenant"),
            None => Err(Error::new(ErrorKind::Denied, "the call must say in which tenant")),
        }
    }
}

/// An id of the caller, typed; one that is not of the type belongs to nobody here.
fn named(id: &str, of: &Type, what: &'static str) -> Result<Value> {
    Value::from_text(id, of).map_err(|error| {
        Error::new(ErrorKind::Denied, "the caller's id is not of the type the keyspace asks for")
            .with("which", what)
            .with("type", of)
            .caused_by(error)
    })
}

/// The inputs of a pattern that is called by itself.
#[derive(Clone, Copy)]
pub struct CallInputs<'a> {
    prepared: &'a Prepared,
    given: &'a [Given],
    row: Option<(&'a [Argument], &'a [Given])>,
    caller: &'a Caller,
    now: Milliseconds,
}

impl<'a> CallInputs<'a> {
    /// The inputs of a call.
    pub fn new(call: &'a Call<'_>, now: Milliseconds) -> Self {
        let (prepared, caller) = (call.pattern, call.caller);
        CallInputs { prepared, given: &call.given, row: None, caller, now }
    }

    /// The inputs of one row of a call with `many`: what the row gives, then what the call gives.
    pub fn row(&self, each: &'a [Argument], row: &'a [Given]) -> CallInputs<'a> {
        CallInputs { row: Some((each, row)), ..*self }
    }

    /// The rows of a call with `many`, with the arguments each has.
    pub fn rows(&self) -> Option<(&'a [Argument], &'a [Vec<Given>])> {
        let arguments = &self.prepared.pattern.arguments;
        arguments.iter().zip(self.given).find_map(|(argument, given)| {
            match (&argument.role, given) {
                (ArgumentRole::Rows(each), Given::Rows(rows)) => {
                    Some((each.as_slice(), rows.as_slice()))
                }
                _ => None,
            }
        })
    }
}

impl Inputs for CallInputs<'_> {
    fn argument(&self, name: &str, of: Option<&Type>) -> Result<Option<Value>> {
        if let Some(bound) = binding(&self.prepared.pattern.bind, name) {
            return bound_value(bound, self, of).map(Some);
        }
        let in_row = self.row.and_then(|(each, row)| find(each, row, name));
        let found = in_row.or_else(|| find(&self.prepared.pattern.arguments, self.given, name));
        Ok(found.and_then(Given::value).cloned())
    }

    fn key_front(&self, segments: usize) -> Option<Vec<&Value>> {
        if self.row.is_some() {
            return None;
        }
        let front = self.prepared.key_arguments.get(..segments)?;
        front.iter().map(|position| self.given.get((*position)?)?.value()).collect()
    }

    fn now(&self) -> Milliseconds {
        self.now
    }

    fn caller(&self) -> &Caller {
        self.caller
    }
}

/// The binding of a name. The checker lets none lead back to itself.
pub(super) fn binding<'b>(bind: &'b [Assignment], name: &str) -> Option<&'b Assignment> {
    bind.iter().find(|bound| bound.name.value == name)
}

/// What is given for a name; nothing if there is no such argument.
pub fn find<'g>(arguments: &[Argument], given: &'g [Given], name: &str) -> Option<&'g Given> {
    let position = arguments.iter().position(|argument| argument.name == name)?;
    given.get(position)
}

/// The value of a binding, of a type where it is known.
pub fn bound_value(bound: &Assignment, inputs: &dyn Inputs, of: Option<&Type>) -> Result<Value> {
    evaluate(&bound.expression, &InputScope { inputs, row: None }, of)
}

/// Inputs, and the stored row if there is one, as the names an expression may use.
pub struct InputScope<'a> {
    /// Arguments, caller, time, steps.
    pub inputs: &'a dyn Inputs,
    /// The members of the stored row.
    pub row: Option<&'a dyn Members>,
}

/// The members of a row.
pub trait Members: Send + Sync {
    /// A segment, field, `value` or `body`.
    fn member(&self, name: &str) -> Result<Value>;
}

impl Scope for InputScope<'_> {
    fn member(&self, name: &str) -> Result<Value> {
        match self.row {
            Some(row) => row.member(name),
            None => Err(Error::new(ErrorKind::Internal, "there is no row here").with("name", name)),
        }
    }

    fn argument(&self, name: &str) -> Result<Value> {
        Ok(self.inputs.argument(name, None)?.unwrap_or(Value::Null))
    }

    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        self.inputs.step_member(step, name)
    }

    fn now(&self) -> i64 {
        self.inputs.now()
    }

    fn caller(&self) -> Result<Value> {
        self.inputs.caller_as(&Type::Text)
    }
}

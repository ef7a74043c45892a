//! A call: a pattern, what is given for its arguments, and who calls.
//!
//! Whatever a call leaves out is `Missing`; whatever it gives has been typed. A call from JSON or
//! from a command line is turned into this at the edge, where names can still be wrong.

use super::prepare::Prepared;
use crate::caller::Caller;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{CommitId, limits};
use crate::value::Value;
use keyspace::model::{Argument, ArgumentRole};

/// What is given for one argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Given {
    /// It is left out.
    #[default]
    Missing,
    /// A value; null is one.
    Value(Value),
    /// The rows of a call with `many`; each has what is given for each of its arguments.
    Rows(Vec<Vec<Given>>),
}

impl Given {
    /// The value, if one is given.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Given::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl<T: Into<Value>> From<T> for Given {
    fn from(value: T) -> Self {
        Given::Value(value.into())
    }
}

/// A call of a pattern.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The pattern.
    pub pattern: &'a Prepared,
    /// What is given for each argument of the pattern, in their order.
    pub given: Vec<Given>,
    /// Who calls.
    pub caller: &'a Caller,
    /// The id of the commit, where the caller chose one: the same id is never applied twice.
    pub id: Option<CommitId>,
}

impl<'a> Call<'a> {
    /// A call with these arguments, in the order of the pattern's.
    pub fn new(pattern: &'a Prepared, given: Vec<Given>, caller: &'a Caller) -> Self {
        Call { pattern, given, caller, id: None }
    }

    /// The same call with an id of the caller's choice.
    pub fn with_id(mut self, id: CommitId) -> Self {
        self.id = Some(id);
        self
    }

    /// What is given for the argument with this name.
    pub fn given(&self, name: &str) -> &Given {
        let arguments = &self.pattern.pattern.arguments;
        let position = arguments.iter().position(|argument| argument.name == name);
        position.and_then(|position| self.given.get(position)).unwrap_or(&Given::Missing)
    }

    /// Whether everything required is given, no more rows than may be, and nothing is null that may
    /// not be.
    pub fn check(&self) -> Result<()> {
        check(&self.pattern.pattern.arguments, &self.given)?;
        let most = self.pattern.pattern.many.unwrap_or(limits::MANY_MAX);
        let rows = self.given.iter().map(|given| match given {
            Given::Rows(rows) => rows.len() as u64,
            _ => 0,
        });
        match rows.max().filter(|rows| *rows > most) {
            None => Ok(()),
            Some(rows) => Err(Error::new(ErrorKind::Argument, "a call has too many rows")
                .with("most", most)
                .with("given", rows)),
        }
    }
}

fn check(arguments: &[Argument], given: &[Given]) -> Result<()> {
    for (position, argument) in arguments.iter().enumerate() {
        match given.get(position).unwrap_or(&Given::Missing) {
            Given::Missing if argument.required => {
                return Err(Error::new(ErrorKind::Argument, "an argument is missing")
                    .with("argument", &argument.name)
                    .with("type", &argument.argument_type));
            }
            Given::Value(Value::Null) if argument.required && !may_be_null(argument) => {
                return Err(Error::new(ErrorKind::Argument, "an argument may not be null")
                    .with("argument", &argument.name)
                    .with("type", &argument.argument_type));
            }
            Given::Rows(rows) => {
                let ArgumentRole::Rows(each) = &argument.role else {
                    return Err(Error::new(
                        ErrorKind::Argument,
                        "an argument is one value, not rows",
                    )
                    .with("argument", &argument.name));
                };
                for (number, row) in rows.iter().enumerate() {
                    check(each, row).map_err(|error| error.with("row", number))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn may_be_null(argument: &Argument) -> bool {
    argument.argument_type.is_optional()
}

//! Expressions to values: conditions, bindings, computed fields, segments of indexes.
//!
//! ```text
//! expression + scope ─▶ operand: exact, without a range ─▶ value of the type that is expected
//! ```
//!
//! The checker has typed every expression; what cannot happen after it is an `Internal` error here
//! and never a guess. Nothing reads a store; the time and the caller come from the scope alone.

mod compare;
mod convert;
mod fold;
mod fold_table;
mod functions;
mod operand;
mod quick;
mod record;
#[cfg(test)]
mod tests;

pub use quick::{At, Quick};
pub use record::RecordScope;

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use compare::compare;
use keyspace::model::limits::EACH_ENTRIES_MAX;
use keyspace::model::{BinaryOperator, Expression, ExpressionKind, Function, Type, UnaryOperator};
use operand::Operand;

/// What the names of an expression mean. Whatever a place does not offer is an error: the checker
/// lets no such name through.
pub trait Scope {
    /// A field or key segment of the stored record, its `value` or its `body`.
    fn member(&self, name: &str) -> Result<Value> {
        Err(unseen("member", name))
    }

    /// An argument of the call.
    fn argument(&self, name: &str) -> Result<Value> {
        Err(unseen("argument", name))
    }

    /// A field of the row of an earlier step.
    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        Err(unseen("step", &format!("{step}.{name}")))
    }

    /// The instant of the call; 1970 where there is none, which no expression can ask for.
    fn now(&self) -> Milliseconds {
        0
    }

    /// The id of whoever calls, as text; null for somebody without a name.
    fn caller(&self) -> Result<Value> {
        Err(unseen("word", "caller"))
    }
}

#[cold]
fn unseen(what: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::Internal, "an expression names what cannot be seen from its place")
        .with(what, name)
}

/// The value of an expression, as the type it is expected to have: a number in range, a whole
/// number of seconds for a length of time, the caller's id as a UUID. Without one it has the type
/// the checker gives it; a number that stands alone is then `i64`, or `u64` if it is larger.
///
/// Null in, null out. An expression with `each` gives a list, without nulls and duplicates.
pub fn evaluate(expression: &Expression, scope: &dyn Scope, of: Option<&Type>) -> Result<Value> {
    let evaluation = Evaluation { scope, element: None };
    if let Some(sources) = plural_sources(expression) {
        return evaluation.plural(expression, sources, of);
    }
    evaluation.value(expression, of)
}

/// Whether a condition holds. Any comparison with null is false.
pub fn holds(expression: &Expression, scope: &dyn Scope) -> Result<bool> {
    Evaluation { scope, element: None }.holds(expression)
}

/// What `each` is called with, if it is called anywhere in an expression; it is called once.
fn plural_sources(expression: &Expression) -> Option<&[Expression]> {
    let mut found = None;
    expression.walk(&mut |inner| {
        if let ExpressionKind::Call(Function::Each, sources) = &inner.kind {
            found = Some(sources.as_slice());
        }
    });
    found
}

struct Evaluation<'a> {
    scope: &'a dyn Scope,
    /// What `each` stands for, inside an expression that is evaluated once for each element.
    element: Option<&'a Value>,
}

impl Evaluation<'_> {
    fn value(&self, expression: &Expression, of: Option<&Type>) -> Result<Value> {
        let operand = self.operand(expression)?;
        match of {
            Some(of) => operand.into_type(of),
            None => operand.into_value(),
        }
    }

    /// The values of an expression with `each`: it as a whole for each element, each value once.
    fn plural(
        &self,
        expression: &Expression,
        sources: &[Expression],
        of: Option<&Type>,
    ) -> Result<Value> {
        let mut values = Vec::new();
        for source in sources {
            let elements = match self.value(source, None)? {
                Value::List(elements) => elements,
                plain => vec![plain],
            };
            for element in elements.iter().filter(|element| !element.is_null()) {
                let inner = Evaluation { scope: self.scope, element: Some(element) };
                let value = inner.value(expression, of)?;
                if !value.is_null() && !values.contains(&value) {
                    values.push(value);
                }
                if values.len() as u64 > EACH_ENTRIES_MAX {
                    return Err(Error::new(ErrorKind::TooLarge, "`each` gives too many values")
                        .with("values_max", EACH_ENTRIES_MAX));
                }
            }
        }
        Ok(Value::List(values))
    }

    fn operand(&self, expression: &Expression) -> Result<Operand> {
        Ok(match &expression.kind {
            ExpressionKind::Number(text) => Operand::literal(text)?,
            ExpressionKind::Text(text) => Operand::Other(Value::Text(text.clone())),
            ExpressionKind::Null => Operand::NULL,
            ExpressionKind::Duration(length) => Operand::Length(i128::from(*length)),
            ExpressionKind::Now => Operand::Instant(i128::from(self.scope.now())),
            ExpressionKind::Caller => self.scope.caller()?.into(),
            ExpressionKind::Member(name) => self.scope.member(name)?.into(),
            ExpressionKind::Argument(name) => self.scope.argument(name)?.into(),
            ExpressionKind::StepMember(step, name) => self.scope.step_member(step, name)?.into(),
            ExpressionKind::Unary(UnaryOperator::Minus, operand) => {
                self.operand(operand)?.negated()?
            }
            ExpressionKind::Binary(BinaryOperator::Add, left, right) => {
                self.operand(left)?.plus(self.operand(right)?)?
            }
            ExpressionKind::Binary(BinaryOperator::Subtract, left, right) => {
                self.operand(left)?.minus(self.operand(right)?)?
            }
            ExpressionKind::Call(function, arguments) => self.call(*function, arguments)?,
            ExpressionKind::Bool(_)
            | ExpressionKind::Unary(UnaryOperator::Not, _)
            | ExpressionKind::Binary(..)
            | ExpressionKind::In(..)
            | ExpressionKind::IsNull(..) => Operand::Other(Value::Bool(self.holds(expression)?)),
            ExpressionKind::Broken => {
                return Err(Error::new(ErrorKind::Internal, "an expression could not be read"));
            }
        })
    }

    fn holds(&self, expression: &Expression) -> Result<bool> {
        Ok(match &expression.kind {
            ExpressionKind::Bool(value) => *value,
            ExpressionKind::Unary(UnaryOperator::Not, operand) => !self.holds(operand)?,
            ExpressionKind::Binary(BinaryOperator::And, left, right) => {
                self.holds(left)? && self.holds(right)?
            }
            ExpressionKind::Binary(BinaryOperator::Or, left, right) => {
                self.holds(left)? || self.holds(right)?
            }
            ExpressionKind::Binary(operator, left, right) if operator.is_comparison() => {
                compare(&self.operand(left)?, &self.operand(right)?)?.is(*operator)
            }
            ExpressionKind::In(operand, items) => {
                let operand = self.operand(operand)?;
                for item in items {
                    if compare(&operand, &self.operand(item)?)?.is(BinaryOperator::Equal) {
                        return Ok(true);
                    }
                }
                false
            }
            ExpressionKind::IsNull(operand, negated) => {
                self.operand(operand)?.is_null() != *negated
            }
            _ => match self.operand(expression)? {
                Operand::Other(Value::Bool(value)) => value,
                operand if operand.is_null() => false,
                _ => return Err(Error::new(ErrorKind::Internal, "a condition is no truth value")),
            },
        })
    }
}

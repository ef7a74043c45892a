//! Functions of members that are called for every row that is written, by position: no name is
//! looked up and no value copied.
//!
//! Each gives what [`evaluate`](super::evaluate) gives for its expression, or nothing: then the
//! expression itself is evaluated, and says what is wrong.

use super::fold::fold;
use super::record::RecordScope;
use crate::geo;
use crate::schema::Slot;
use crate::value::Value;
use keyspace::check::number;
use keyspace::model::{Expression, ExpressionKind, Function};
use std::borrow::Borrow;

/// A function of members, by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quick {
    /// `cell(latitude, longitude, level)`.
    Cell(At, At, u32),
    /// `lower(text)`.
    Lower(At),
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Among the segments of the key.
    Segment(usize),
    /// Among the slots of the row.
    Slot(usize),
}

impl Quick {
    /// The quick form of an expression over these segments and slots, if it has one.
    pub fn of(expression: &Expression, segments: &[&str], slots: &[Slot]) -> Option<Quick> {
        let ExpressionKind::Call(function, arguments) = &expression.kind else { return None };
        // As a scope finds them: a slot first.
        let at = |argument: &Expression| {
            let ExpressionKind::Member(name) = &argument.kind else { return None };
            let slot = slots.iter().position(|slot| slot.name == *name).map(At::Slot);
            let segment = || segments.iter().position(|known| known == name).map(At::Segment);
            slot.or_else(segment)
        };
        match (function, arguments.as_slice()) {
            (Function::Cell, [latitude, longitude, level]) => {
                let level = u32::try_from(number(Some(level))?).ok()?;
                Some(Quick::Cell(at(latitude)?, at(longitude)?, level))
            }
            (Function::Lower, [text]) => at(text).map(Quick::Lower),
            _ => None,
        }
    }

    /// What it gives for a row; nothing where it is not what is expected.
    pub fn value<V: Borrow<Value>>(self, record: &RecordScope<'_, V>) -> Option<Value> {
        match self {
            Quick::Cell(latitude, longitude, level) => {
                match (record.at(latitude)?, record.at(longitude)?) {
                    (Value::F64(latitude), Value::F64(longitude)) => {
                        geo::cell(*latitude, *longitude, level).ok().map(Value::Cell)
                    }
                    (Value::Null, _) | (Value::F64(_), Value::Null) => Some(Value::Null),
                    _ => None,
                }
            }
            Quick::Lower(text) => match record.at(text)? {
                Value::Text(text) => Some(Value::Text(fold(text))),
                Value::Null => Some(Value::Null),
                _ => None,
            },
        }
    }
}

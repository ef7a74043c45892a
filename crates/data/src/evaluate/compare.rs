//! Two operands compared: by value, whatever their types, where the checker lets them meet.

use super::convert::identify;
use super::operand::{Operand, Whole};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::model::{BinaryOperator, Type};
use std::cmp::Ordering;

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// One of the two is null: no comparison holds.
    Null,
    /// They are different, and neither is the larger one.
    Different,
    /// They have an order.
    Ordered(Ordering),
}

impl Compared {
    pub(super) fn is(self, operator: BinaryOperator) -> bool {
        let ordering = match self {
            Compared::Null => return false,
            Compared::Different => return operator == BinaryOperator::NotEqual,
            Compared::Ordered(ordering) => ordering,
        };
        match operator {
            BinaryOperator::Equal => ordering.is_eq(),
            BinaryOperator::NotEqual => ordering.is_ne(),
            BinaryOperator::Less => ordering.is_lt(),
            BinaryOperator::LessOrEqual => ordering.is_le(),
            BinaryOperator::Greater => ordering.is_gt(),
            BinaryOperator::GreaterOrEqual => ordering.is_ge(),
            _ => false,
        }
    }
}

pub(super) fn compare(left: &Operand, right: &Operand) -> Result<Compared> {
    if left.is_null() || right.is_null() {
        return Ok(Compared::Null);
    }
    let ordering = match (left, right) {
        (Operand::Whole(left, _), Operand::Whole(right, _))
        | (Operand::Instant(left), Operand::Instant(right)) => left.cmp(right),
        (Operand::Length(_), _) | (_, Operand::Length(_)) => {
            left.milliseconds()?.cmp(&right.milliseconds()?)
        }
        (Operand::Float(_), _) | (_, Operand::Float(_)) => {
            match left.float()?.partial_cmp(&right.float()?) {
                Some(ordering) => ordering,
                None => return Ok(Compared::Different),
            }
        }
        (Operand::Other(left), Operand::Other(right)) => return values(left, right),
        // A caller's id is text until it meets an id of another type.
        (Operand::Whole(number, of), Operand::Other(Value::Text(text))) => {
            return Ok(
                whole_id(text, *of).map_or(Compared::Different, |id| ordered(number.cmp(&id)))
            );
        }
        (Operand::Other(Value::Text(text)), Operand::Whole(number, of)) => {
            return Ok(
                whole_id(text, *of).map_or(Compared::Different, |id| ordered(id.cmp(number)))
            );
        }
        _ => return Err(incomparable()),
    };
    Ok(Compared::Ordered(ordering))
}

fn ordered(ordering: Ordering) -> Compared {
    Compared::Ordered(ordering)
}

fn values(left: &Value, right: &Value) -> Result<Compared> {
    let ordering = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Uuid(left), Value::Uuid(right)) | (Value::Ulid(left), Value::Ulid(right)) => {
            left.cmp(right)
        }
        (Value::TimeUuid(left), Value::TimeUuid(right)) => by_time(*left).cmp(&by_time(*right)),
        (Value::Text(text), id) => {
            return Ok(match id_like(text, id) {
                Some(own) => values(&own, id)?,
                None if id_type(id).is_some() => Compared::Different,
                None => return Err(incomparable()),
            });
        }
        (id, text @ Value::Text(_)) => {
            return Ok(match values(text, id)? {
                Compared::Ordered(ordering) => Compared::Ordered(ordering.reverse()),
                other => other,
            });
        }
        _ => return Err(incomparable()),
    };
    Ok(Compared::Ordered(ordering))
}

/// A time UUID in the order of its key: the time from high to low, then the rest as signed bytes.
fn by_time(bytes: [u8; 16]) -> ([u8; 8], [i8; 8]) {
    let [l0, l1, l2, l3, m0, m1, h0, h1, rest @ ..] = bytes;
    ([h0, h1, m0, m1, l0, l1, l2, l3], rest.map(u8::cast_signed))
}

/// The type of an id that a caller may have, other than text.
fn id_type(id: &Value) -> Option<Type> {
    match id {
        Value::Uuid(_) => Some(Type::Uuid),
        Value::TimeUuid(_) => Some(Type::TimeUuid),
        Value::Ulid(_) => Some(Type::Ulid),
        _ => None,
    }
}

/// A caller's id, of the type of another id.
fn id_like(text: &str, id: &Value) -> Option<Value> {
    id_type(id).and_then(|of| identify(text, &of))
}

fn whole_id(text: &str, of: Whole) -> Option<i128> {
    let of = if of == Whole::I64 { Type::I64 } else { Type::U64 };
    match identify(text, &of)? {
        Value::I64(number) => Some(i128::from(number)),
        Value::U64(number) => Some(i128::from(number)),
        _ => None,
    }
}

#[cold]
fn incomparable() -> Error {
    Error::new(ErrorKind::Internal, "values of these types do not compare")
}

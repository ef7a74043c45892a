//! Operands to values of the type that is expected.
//!
//! ```text
//! number ─▶ i64 │ u64 │ f64, in range      length ─▶ whole seconds │ duration      all ─▶ json
//! caller ─▶ uuid │ timeuuid │ ulid │ i64 │ u64 │ text
//! ```

use super::operand::{Operand, in_range};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::model::Type;
use serde_json::Value as Json;

impl Operand {
    /// The value as one of a type that the checker lets it go into.
    pub(super) fn into_type(self, of: &Type) -> Result<Value> {
        Ok(match (self, of.required()) {
            (Operand::Other(Value::Null), Type::Json) if !of.is_optional() => {
                Value::Json(Json::Null)
            }
            (Operand::Other(Value::Null), _) => Value::Null,
            (operand, Type::Json) => Value::Json(json(&operand.into_value()?)),
            (Operand::Whole(number, _), Type::I64) => Value::I64(in_range(number)?),
            (Operand::Whole(number, _), Type::U64) => Value::U64(in_range(number)?),
            (operand @ Operand::Whole(..), Type::F64) => Value::F64(operand.float()?),
            (operand @ Operand::Whole(..), Type::Duration) => {
                Value::Duration(in_range(operand.milliseconds()?)?)
            }
            (Operand::Length(length), Type::I64) => Value::I64(in_range(length / 1_000)?),
            (Operand::Length(length), Type::U64) => Value::U64(in_range(length / 1_000)?),
            (Operand::Other(Value::Text(id)), of) if is_id(of) => {
                identify(&id, of).ok_or_else(|| not_an_id(of))?
            }
            (operand, _) => operand.into_value()?,
        })
    }
}

/// A caller's id as a value of the type that ids have where it is needed; nothing if it is no such
/// id.
pub(super) fn identify(id: &str, of: &Type) -> Option<Value> {
    is_id(of).then(|| Value::from_text(id, of).ok())?
}

#[cold]
fn not_an_id(of: &Type) -> Error {
    Error::new(ErrorKind::Denied, "the caller's id is not of the type the keyspace asks for")
        .with("type", of)
}

fn is_id(of: &Type) -> bool {
    matches!(of, Type::Uuid | Type::TimeUuid | Type::Ulid | Type::I64 | Type::U64)
}

/// A value as JSON: as answers write it, but whole numbers as numbers, however large.
fn json(value: &Value) -> Json {
    match value {
        Value::I64(number) => Json::from(*number),
        Value::U64(number) | Value::Cell(number) => Json::from(*number),
        Value::List(values) => values.iter().map(json).collect(),
        other => other.to_json(&Type::Json),
    }
}

//! Operands to values of the type that is expected.
//!
//! ```text
//! number ─▶ i64 │ u64 │ f64, in range      length ─▶ whole seconds │ duration      all ─▶ json
//! caller ─▶ uuid │ timeuuid │ ulid │ i64 │ u64 │ text
//! ```

use super::operand::{Operand, in_range};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::key::KeyType;
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::model::Type;
use serde_json::{Number, Value as Json};

impl Operand {
    /// The value as one of a type that the checker lets it go into.
    pub(super) fn into_type(self, of: &Type) -> Result<Value> {
        Ok(match (self, of.required()) {
            (Operand::Other(Value::Null), Type::Json) if !of.is_optional() => {
                Value::Json(Json::Null)
            }
            (Operand::Other(Value::Null), _) => Value::Null,
            (operand, Type::Json) => Value::Json(json(operand.into_value()?)?),
            (Operand::Whole(number, _), Type::I64) => Value::I64(in_range(number)?),
            (Operand::Whole(number, _), Type::U64) => Value::U64(in_range(number)?),
            (operand @ Operand::Whole(..), Type::F64) => Value::F64(operand.float()?),
            (operand @ Operand::Whole(..), Type::Duration) => {
                Value::Duration(in_range(operand.milliseconds()?)?)
            }
            (Operand::Length(length), Type::I64) => Value::I64(in_range(length / 1_000)?),
            (Operand::Length(length), Type::U64) => Value::U64(in_range(length / 1_000)?),
            (Operand::Other(Value::Text(id)), of) if is_id(of) => identify(&id, of)?,
            (operand, _) => operand.into_value()?,
        })
    }
}

/// A caller's id as a value of the type that ids have where it is needed. Letters of either case
/// spell the same UUID and the same ULID.
pub fn identify(id: &str, of: &Type) -> Result<Value> {
    id_of(id, of).ok_or_else(|| {
        Error::new(ErrorKind::Denied, "the caller's id is not of the type that ids have here")
            .with("type", of)
    })
}

pub(super) fn id_of(id: &str, of: &Type) -> Option<Value> {
    let (kind, id) = match of.required() {
        Type::Text => return Some(Value::Text(id.to_string())),
        Type::Uuid => (KeyType::Uuid, id.to_ascii_lowercase()),
        Type::TimeUuid => (KeyType::TimeUuid, id.to_ascii_lowercase()),
        Type::Ulid => (KeyType::Ulid, id.to_ascii_uppercase()),
        Type::I64 => (KeyType::I64, id.to_string()),
        Type::U64 => (KeyType::U64, id.to_string()),
        _ => return None,
    };
    parse_scalar(kind, &id).ok().map(Value::from_segment)
}

fn is_id(of: &Type) -> bool {
    matches!(of, Type::Uuid | Type::TimeUuid | Type::Ulid | Type::I64 | Type::U64)
}

/// A value as JSON: numbers and texts as they are, everything else as it is written in keys.
fn json(value: Value) -> Result<Json> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::I64(number) => Json::from(number),
        Value::U64(number) | Value::Cell(number) => Json::from(number),
        Value::F64(number) => Number::from_f64(number).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(text),
        // Whole seconds, as everywhere where a length is written as a number.
        Value::Duration(length) => Json::from(length / 1_000),
        Value::Json(json) => json,
        Value::Path(parts) => Json::from(parts),
        Value::List(values) => {
            Json::Array(values.into_iter().map(json).collect::<Result<Vec<Json>>>()?)
        }
        other => match other.as_segment() {
            Some(segment) => Json::String(scalar_text(&segment)?.into_owned()),
            None => return Err(Error::new(ErrorKind::Internal, "a value has no JSON")),
        },
    })
}

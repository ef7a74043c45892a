//! Values from JSON and to JSON, as calls give them and rows answer them.
//!
//! | type | JSON |
//! |---|---|
//! | text, enum | a string |
//! | bytes | a string: base64url without padding |
//! | bool | `true`, `false` |
//! | i64, u64 | a number; beyond 2^53, where readers lose digits, a string (either is read) |
//! | f64 | a number |
//! | uuid, timeuuid, ulid, timestamp, date, duration | a string: their text (see `text`) |
//! | text.., lists | an array |
//! | json | itself, at most [`JSON_DEPTH_MAX`] deep |
//! | optional types | `null`, which is no value of any other type |
//!
//! What is written can be read again, to the last bit.

use super::Value;
use super::text::{mismatch, scalar, scalar_text};
use crate::error::{Error, ErrorKind, Result};
use keyspace::model::limits::JSON_DEPTH_MAX;
use keyspace::model::{Type, duration_text};
use serde_json::Value as Json;

/// Whole numbers up to here are exact in every reader of JSON.
pub(crate) const EXACT_MAX: u64 = 1 << 53;

impl Value {
    /// The value of a type that JSON spells.
    pub fn from_json(json: &Json, of: &Type) -> Result<Value> {
        if json.is_null() {
            return match of {
                Type::Optional(_) => Ok(Value::Null),
                _ => Err(refused(json, of)),
            };
        }
        let of = of.required();
        match (of, json) {
            (Type::Text, Json::String(text)) => Ok(Value::Text(text.clone())),
            (Type::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
            (Type::I64, Json::Number(_)) => {
                whole(json).map(Value::I64).ok_or_else(|| refused(json, of))
            }
            (Type::U64, Json::Number(number)) => {
                let number =
                    number.as_u64().or_else(|| whole(json).and_then(|n| n.try_into().ok()));
                number.map(Value::U64).ok_or_else(|| refused(json, of))
            }
            (Type::F64, Json::Number(number)) => {
                let number = number.as_f64().filter(|number| number.is_finite());
                // Adding zero turns negative zero into zero.
                number.map(|number| Value::F64(number + 0.0)).ok_or_else(|| refused(json, of))
            }
            (Type::Duration, Json::Number(_)) => {
                let milliseconds = whole(json).and_then(|seconds| seconds.checked_mul(1_000));
                milliseconds.map(Value::Duration).ok_or_else(|| refused(json, of))
            }
            (Type::Path, Json::Array(parts)) => {
                let part = |part: &Json| part.as_str().map(str::to_string);
                let parts: Option<Vec<String>> = parts.iter().map(part).collect();
                parts.map(Value::Path).ok_or_else(|| refused(json, of))
            }
            (Type::List(item_type), Json::Array(items)) => {
                let items = items.iter().enumerate().map(|(number, item)| {
                    Value::from_json(item, item_type).map_err(|error| error.with("item", number))
                });
                items.collect::<Result<_>>().map(Value::List)
            }
            (Type::Json, _) => {
                check_depth(json)?;
                Ok(Value::Json(json.clone()))
            }
            // A float is written as a number, a path as an array; other values have one text.
            (Type::F64 | Type::Bool | Type::Path | Type::List(_), _) => Err(refused(json, of)),
            (_, Json::String(text)) => scalar(text, of),
            _ => Err(refused(json, of)),
        }
    }

    /// The JSON of a value of a type.
    pub fn to_json(&self, of: &Type) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::I64(value) if value.unsigned_abs() <= EXACT_MAX => Json::from(*value),
            Value::U64(value) if *value <= EXACT_MAX => Json::from(*value),
            Value::F64(value) => Json::from(value + 0.0),
            Value::Text(text) => Json::String(text.clone()),
            Value::Duration(milliseconds) => Json::String(duration_text(*milliseconds)),
            Value::Path(parts) => parts.iter().map(|part| Json::String(part.clone())).collect(),
            Value::Json(json) => json.clone(),
            Value::List(items) => {
                let item_type = match of.required() {
                    Type::List(item_type) => item_type,
                    other => other,
                };
                items.iter().map(|item| item.to_json(item_type)).collect()
            }
            scalar => Json::String(scalar_text(scalar)),
        }
    }
}

/// The whole number JSON spells: `3`, `3.0` and `3e0` are the same to JSON.
fn whole(json: &Json) -> Option<i64> {
    json.as_i64().or_else(|| {
        let number = json.as_f64()?;
        // At the bound itself, what was written may have been the number behind it.
        let exact = number.fract() == 0.0 && number.abs() < EXACT_MAX as f64;
        exact.then_some(number as i64)
    })
}

/// Refuses JSON whose lists and objects lie too deep inside one another.
pub(crate) fn check_depth(json: &Json) -> Result<()> {
    if is_within(json, JSON_DEPTH_MAX) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Argument, "a JSON value is nested too deeply")
        .with("depth_max", JSON_DEPTH_MAX))
}

fn is_within(json: &Json, depth: usize) -> bool {
    match json {
        Json::Array(items) => depth > 0 && items.iter().all(|item| is_within(item, depth - 1)),
        Json::Object(members) => {
            depth > 0 && members.values().all(|member| is_within(member, depth - 1))
        }
        _ => true,
    }
}

#[cold]
fn refused(json: &Json, of: &Type) -> Error {
    match json {
        Json::String(text) => mismatch(text, of),
        // Writing it would go as deep as it is.
        other if !is_within(other, JSON_DEPTH_MAX) => mismatch("JSON, nested deeply", of),
        other => mismatch(&other.to_string(), of),
    }
}

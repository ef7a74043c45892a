//! Values of Rust programs as values of the notation's types, with their type at hand.
//!
//! A call by name gives what it has: a text for an id, a signed number where none is negative. What
//! cannot be of the type without loss is refused.

use data::request::Given;
use data::{Error, ErrorKind, Result, Value};
use keyspace::model::{Argument, ArgumentRole, Type};

/// What a program gives for an argument.
pub fn given(value: Value, argument: &Argument) -> Result<Given> {
    match &argument.role {
        ArgumentRole::Rows(_) => Err(mismatch(&value, "rows, as a JSON array of objects")),
        _ => fit(value, &argument.argument_type).map(Given::Value),
    }
}

/// A value as one of a type.
fn fit(value: Value, of: &Type) -> Result<Value> {
    if let (Value::Null, Type::Optional(_)) = (&value, of) {
        return Ok(value);
    }
    let of = of.required();
    Ok(match (of, value) {
        (Type::Text, value @ Value::Text(_))
        | (Type::Bytes, value @ Value::Bytes(_))
        | (Type::Bool, value @ Value::Bool(_))
        | (Type::I64, value @ Value::I64(_))
        | (Type::U64, value @ Value::U64(_))
        | (Type::Uuid, value @ Value::Uuid(_))
        | (Type::TimeUuid, value @ Value::TimeUuid(_))
        | (Type::Ulid, value @ Value::Ulid(_))
        | (Type::Timestamp, value @ Value::Timestamp(_))
        | (Type::Date, value @ Value::Date(_))
        | (Type::Duration, value @ Value::Duration(_))
        | (Type::Path, value @ Value::Path(_)) => value,
        (Type::F64, Value::F64(number)) if number.is_finite() => Value::F64(number + 0.0),
        (Type::F64, Value::I64(number)) if number.unsigned_abs() <= 1 << 53 => {
            Value::F64(number as f64)
        }
        (Type::I64, Value::U64(number)) => i64::try_from(number)
            .map(Value::I64)
            .map_err(|_| mismatch(&Value::U64(number), "i64"))?,
        (Type::U64, Value::I64(number)) => u64::try_from(number)
            .map(Value::U64)
            .map_err(|_| mismatch(&Value::I64(number), "u64"))?,
        (Type::List(item), Value::List(items)) => {
            let items = items.into_iter().map(|value| fit(value, item));
            Value::List(items.collect::<Result<_>>()?)
        }
        (Type::Path, Value::List(items)) => {
            let parts = items.into_iter().map(|value| match value {
                Value::Text(part) => Ok(part),
                other => Err(mismatch(&other, "text")),
            });
            Value::Path(parts.collect::<Result<_>>()?)
        }
        (_, Value::Json(json)) => Value::from_json(&json, of)?,
        // A text of JSON is a string to somebody and an object to somebody else.
        (Type::Json | Type::List(_), other @ Value::Text(_)) => {
            return Err(mismatch(&other, &of.to_string()));
        }
        (_, Value::Text(text)) => Value::from_text(&text, of)?,
        (_, other) => return Err(mismatch(&other, &of.to_string())),
    })
}

fn mismatch(given: &Value, expected: &str) -> Error {
    let given: String = format!("{given:?}").chars().take(64).collect();
    Error::new(ErrorKind::Argument, "a value is not of its type")
        .with("expected", expected)
        .with("given", given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loses_nothing_fits() {
        let list = Type::List(Box::new(Type::U64));
        let cases: [(Value, &Type, Value); 8] = [
            (Value::from("a"), &Type::Text, Value::from("a")),
            (Value::from(3), &Type::U64, Value::U64(3)),
            (Value::from(3), &Type::F64, Value::F64(3.0)),
            (Value::from(3u64), &Type::I64, Value::I64(3)),
            (Value::from("2026-11-15"), &Type::Date, Value::Date(20_772)),
            (Value::from(vec![1, 2]), &list, Value::List(vec![Value::U64(1), Value::U64(2)])),
            (Value::from(serde_json::json!(true)), &Type::Bool, Value::Bool(true)),
            (Value::from(vec!["a"]), &Type::Path, Value::Path(vec!["a".to_string()])),
        ];
        for (value, of, expected) in cases {
            assert_eq!(fit(value, of).unwrap(), expected);
        }
        let optional = Type::Optional(Box::new(Type::Bool));
        assert_eq!(fit(Value::Null, &optional).unwrap(), Value::Null);
    }

    #[test]
    fn what_would_lose_something_does_not_fit() {
        let list = Type::List(Box::new(Type::Text));
        let cases: [(Value, &Type); 9] = [
            (Value::Null, &Type::Text),
            (Value::from(1), &Type::Text),
            (Value::from(-1), &Type::U64),
            (Value::from(u64::MAX), &Type::I64),
            (Value::from((1i64 << 53) + 1), &Type::F64),
            (Value::from(f64::NAN), &Type::F64),
            (Value::from("[]"), &list),
            (Value::from("no"), &Type::Enum(vec!["yes".to_string()])),
            (Value::from(serde_json::json!("x")), &Type::Uuid),
        ];
        for (value, of) in cases {
            assert_eq!(fit(value, of).unwrap_err().kind(), ErrorKind::Argument, "{of}");
        }
    }
}

//! Plain Rust values as values of the notation: nothing is guessed beyond what their type says.

use super::Value;
use bytes::Bytes;
use std::time::Duration;

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::I64(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::I64(i64::from(value))
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::U64(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::U64(u64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::F64(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_string())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Value::Text(value.clone())
    }
}

impl From<Bytes> for Value {
    fn from(value: Bytes) -> Self {
        Value::Bytes(value)
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        Value::Json(value)
    }
}

/// In whole milliseconds, and at most the longest that is counted.
impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Value::Duration(i64::try_from(value.as_millis()).unwrap_or(i64::MAX))
    }
}

/// None is null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_its_type_says() {
        assert_eq!(Value::from("1"), Value::Text("1".to_string()));
        assert_eq!(Value::from(1), Value::I64(1));
        assert_eq!(Value::from(1u32), Value::U64(1));
        assert_eq!(Value::from(None::<bool>), Value::Null);
        assert_eq!(Value::from(vec![true]), Value::List(vec![Value::Bool(true)]));
        assert_eq!(Value::from(Duration::from_secs(2)), Value::Duration(2_000));
        assert_eq!(Value::from(Duration::MAX), Value::Duration(i64::MAX));
        assert_eq!(Value::from(Bytes::from_static(b"x")), Value::Bytes(Bytes::from_static(b"x")));
    }
}

//! JSON of strangers: no deeper than it may be, and no name twice in one object.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use std::fmt;

/// How deep lists and objects may lie in each other.
pub const DEPTH_MAX: usize = 64;

/// The one object that the bytes are.
pub fn object(bytes: &[u8]) -> Result<Map<String, Json>, String> {
    match value(bytes)? {
        Json::Object(object) => Ok(object),
        _ => Err("the body is not a JSON object".to_string()),
    }
}

/// The one value that the bytes are.
pub fn value(bytes: &[u8]) -> Result<Json, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Strict { depth: DEPTH_MAX }.deserialize(&mut reader);
    let value = read.and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: Error>(self) -> Result<Strict, E> {
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| E::custom(format!("deeper than {DEPTH_MAX} levels")))?;
        Ok(Strict { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_string()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let inside = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(inside)? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let inside = self.deeper()?;
        let mut members = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            let value = object.next_value_seed(inside)?;
            if members.contains_key(&name) {
                let shown: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!("`{shown}` is given twice")));
            }
            members.insert(name, value);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ordinary_json_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,2.5,18446744073709551615,null,true],"b":{"c":"é\u0000"}}"#;
        let read = Json::Object(object(text.as_bytes()).unwrap());
        assert_eq!(read, serde_json::from_str::<Json>(text).unwrap());
        assert_eq!(value(b" \"x\" "), Ok(json!("x")));
    }

    #[test]
    fn what_only_strangers_send_is_refused() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(value(deep(DEPTH_MAX).as_bytes()).is_ok());
        let refused = |text: &[u8], word: &str| {
            let problem = value(text).unwrap_err();
            assert!(problem.contains(word), "{problem}");
        };
        refused(deep(DEPTH_MAX + 1).as_bytes(), "deeper than 64");
        refused(deep(10_000).as_bytes(), "deeper than 64");
        refused(br#"{"a":{"b":1,"b":2}}"#, "`b` is given twice");
        refused(br#"{"a":1} x"#, "trailing");
        refused(b"1e400", "range");
        refused(b"NaN", "expected");
        refused(b"\"\xff\"", "unicode");
        refused(br#""\ud800""#, "escape");
        refused(b"", "EOF");
        assert!(object(b"[]").is_err());
    }
}

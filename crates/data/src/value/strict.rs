//! JSON of strangers: no deeper than it may be, and no name twice in one object.
//!
//! Bodies, queries and command lines are read by this and by nothing else: two readers that
//! disagree about a name given twice would let one check what the other does not use.

use keyspace::model::limits::JSON_DEPTH_MAX;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Error as Wrong, Map, Number, Value as Json};
use std::borrow::Cow;
use std::fmt;

/// How deep lists and objects may lie in each other.
const DEPTH_MAX: usize = JSON_DEPTH_MAX;

/// The same in a text that is given for one argument: around values that may be as deep as any lie
/// a list of rows and an object a row. How deep each value is, its type judges.
const TEXT_DEPTH_MAX: usize = DEPTH_MAX + 2;

/// Members of an object that gives arguments, at most.
const MEMBERS_MAX: usize = 1_000;

/// As many as most calls give.
const MEMBERS_USUAL: usize = 8;

/// The one object that the bytes are.
pub fn object(bytes: &[u8]) -> Result<Map<String, Json>, Wrong> {
    match value(bytes)? {
        Json::Object(object) => Ok(object),
        _ => Err(Wrong::custom("this is not a JSON object")),
    }
}

/// The members of the one object that the bytes are, in their order; none of no bytes.
pub fn members(bytes: &[u8]) -> Result<Vec<(Cow<'_, str>, Json)>, Wrong> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let members = reader.deserialize_map(Members)?;
    reader.end().map(|()| members)
}

/// The one value that the bytes are.
pub fn value(bytes: &[u8]) -> Result<Json, Wrong> {
    read(bytes, DEPTH_MAX)
}

/// The one value that a text is, as a query or a command line gives it for an argument.
pub fn in_text(text: &str) -> Result<Json, Wrong> {
    read(text.as_bytes(), TEXT_DEPTH_MAX)
}

fn read(bytes: &[u8], depth: usize) -> Result<Json, Wrong> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth }.deserialize(&mut reader)?;
    reader.end().map(|()| value)
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
                return Err(twice(&name));
            }
            members.insert(name, value);
        }
        Ok(Json::Object(members))
    }
}

/// Of an object that gives arguments: few members, looked through one by one.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, Json)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let inside = Strict { depth: DEPTH_MAX }.deeper()?;
        let mut members: Self::Value = Vec::with_capacity(MEMBERS_USUAL);
        while let Some(name) = object.next_key_seed(Name)? {
            if members.len() == MEMBERS_MAX {
                return Err(A::Error::custom(format!("more than {MEMBERS_MAX} members")));
            }
            if members.iter().any(|(known, _)| *known == name) {
                return Err(twice(&name));
            }
            members.push((name, object.next_value_seed(inside)?));
        }
        Ok(members)
    }
}

/// A name, where it stands if it has no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_string()))
    }
}

fn twice<E: Error>(name: &str) -> E {
    let shown: String = name.chars().take(64).collect();
    E::custom(format!("`{shown}` is given twice"))
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
        assert_eq!(value(b" \"x\" ").unwrap(), json!("x"));
    }

    #[test]
    fn what_only_strangers_send_is_refused() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(value(deep(DEPTH_MAX).as_bytes()).is_ok());
        let refused = |text: &[u8], word: &str| {
            let problem = value(text).unwrap_err().to_string();
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

    #[test]
    fn a_text_is_read_as_strictly_with_room_for_a_list_of_rows() {
        assert_eq!(in_text(r#" [{"a":1}] "#).unwrap(), json!([{"a": 1}]));
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(in_text(&deep(TEXT_DEPTH_MAX)).is_ok());
        for text in [r#"[{"a":1,"a":2}]"#, "[] x", "[", "", "NaN", &deep(TEXT_DEPTH_MAX + 1)] {
            assert!(in_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments_are_read_as_any_other_object() {
        assert!(members(b"").unwrap().is_empty());
        let text = br#"{"b":[{"c":1}],"a":"x"}"#;
        let members_of = members(text).unwrap().into_iter();
        let read = Json::Object(members_of.map(|(name, json)| (name.into(), json)).collect());
        assert_eq!(members(br#"{"\u0061":1}"#).unwrap()[0].0, "a");
        assert_eq!(read, Json::Object(object(text).unwrap()));
        let inside = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let deep = |levels: usize| format!(r#"{{"a":{}}}"#, inside(levels));
        assert!(members(deep(DEPTH_MAX - 1).as_bytes()).is_ok());
        let many: Vec<String> =
            (0..=MEMBERS_MAX).map(|number| format!(r#""{number}":1"#)).collect();
        let many = format!("{{{}}}", many.join(","));
        for (text, word) in [
            (deep(DEPTH_MAX).as_str(), "deeper than 64"),
            (r#"{"a":1,"a":2}"#, "`a` is given twice"),
            (r#"{"a":{"b":1,"b":2}}"#, "`b` is given twice"),
            (r#"{"a":1} x"#, "trailing"),
            ("[]", "expected a JSON object"),
            (many.as_str(), "more than 1000 members"),
        ] {
            let problem = members(text.as_bytes()).unwrap_err().to_string();
            assert!(problem.contains(word), "{problem}");
        }
    }
}

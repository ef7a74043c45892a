//! Types of the notation as JSON Schemas.
//!
//! One schema for what is given and for what is answered: whatever an answer holds can be given
//! again. Reading is wider in a few spellings only, such as ids in capitals.

use keyspace::model::Type;
use serde_json::{Map, Value as Json, json};

const UUID: &str = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
const TIMEUUID: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-1[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";
const ULID: &str = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$";
/// The last letter of a part that is not full has no bits to spare.
const BYTES: &str =
    "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$";
/// Years 1 to 9999, as RFC 3339 has them. Others are read and answered too, with a sign, but no
/// reader of JSON Schema knows these as dates.
const DATE: &str = "^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})\
                    -(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";
const TIMESTAMP: &str = "^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})\
                         -(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\
                         [Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?\
                         ([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";
const DURATION: &str = "^-?[0-9]{1,10}(ms|s|m|h|d|w)?$";
/// Whole seconds, as far as milliseconds have room.
const SECONDS_MAX: i64 = i64::MAX / 1_000;

/// Where schemas of types that need more than a word stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the schema itself: whoever reads it has nothing else.
    Inline,
    /// Among the components of an OpenAPI document.
    Components,
}

/// The types that have a name among the components.
pub const NAMED: [Type; 9] = [
    Type::I64,
    Type::U64,
    Type::Bytes,
    Type::Uuid,
    Type::TimeUuid,
    Type::Ulid,
    Type::Timestamp,
    Type::Date,
    Type::Duration,
];

/// The name of a type among the components.
pub fn component(of: &Type) -> Option<&'static str> {
    Some(match of {
        Type::I64 => "I64",
        Type::U64 => "U64",
        Type::Bytes => "Bytes",
        Type::Uuid => "Uuid",
        Type::TimeUuid => "TimeUuid",
        Type::Ulid => "Ulid",
        Type::Timestamp => "Timestamp",
        Type::Date => "Date",
        Type::Duration => "Duration",
        _ => return None,
    })
}

/// The schema of a type, as JSON has its values.
pub fn schema(of: &Type, place: Place) -> Json {
    if let (Place::Components, Some(name)) = (place, component(of)) {
        return reference(name);
    }
    match of {
        Type::Text => json!({ "type": "string" }),
        Type::Bool => json!({ "type": "boolean" }),
        Type::F64 => json!({ "type": "number" }),
        Type::Enum(words) => json!({ "type": "string", "enum": words }),
        Type::Path => json!({ "type": "array", "items": { "type": "string" } }),
        // Null is no value of it.
        Type::Json => json!({ "type": ["array", "boolean", "number", "object", "string"] }),
        Type::List(item) => json!({ "type": "array", "items": schema(item, place) }),
        Type::Optional(inner) => nullable(schema(inner, place)),
        scalar => written(scalar),
    }
}

/// Types whose values have a text of their own.
fn written(of: &Type) -> Json {
    match of {
        Type::I64 => whole(json!(i64::MIN), json!(i64::MAX), &i64_pattern()),
        Type::U64 => whole(json!(0), json!(u64::MAX), &format!("^(0|{})$", up_to(u64::MAX))),
        Type::Bytes => json!({
            "type": "string",
            "contentEncoding": "base64url",
            "pattern": BYTES,
            "description": "Bytes, as base64url without padding",
        }),
        Type::Uuid => json!({ "type": "string", "format": "uuid", "pattern": UUID }),
        Type::TimeUuid => json!({
            "type": "string",
            "pattern": TIMEUUID,
            "description": "A UUID of version 1: it sorts by the time it holds",
        }),
        Type::Ulid => json!({ "type": "string", "pattern": ULID, "description": "A ULID" }),
        Type::Timestamp => json!({
            "type": "string",
            "format": "date-time",
            "pattern": TIMESTAMP,
            "description": "An instant; answered in UTC with milliseconds",
        }),
        Type::Date => json!({ "type": "string", "format": "date", "pattern": DATE }),
        _ => json!({
            "type": ["integer", "string"],
            "minimum": -SECONDS_MAX,
            "maximum": SECONDS_MAX,
            "pattern": DURATION,
            "description": "A length of time: 30s, 15m, 7d, or a number of seconds",
        }),
    }
}

fn whole(least: Json, most: Json, pattern: &str) -> Json {
    json!({
        "type": ["integer", "string"],
        "minimum": least,
        "maximum": most,
        "pattern": pattern,
        "description": "A whole number; beyond 2^53, where readers lose digits, as a text",
    })
}

/// The schema of a type as a parameter of a query has its values, and whether they are JSON there.
pub fn parameter(of: &Type) -> (Json, bool) {
    match of.required() {
        Type::I64 => {
            let (least, most) = (i64::MIN, i64::MAX);
            (json!({ "type": "integer", "minimum": least, "maximum": most }), false)
        }
        Type::U64 => (json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }), false),
        Type::Duration => (json!({ "type": "string", "pattern": DURATION }), false),
        other => {
            let is_json = matches!(other, Type::Json | Type::List(_) | Type::Path);
            (schema(other, Place::Components), is_json)
        }
    }
}

/// The name of versions among the components.
pub const VERSION: &str = "Version";

/// A version of a row.
pub fn version(place: Place) -> Json {
    match place {
        Place::Components => reference(VERSION),
        Place::Inline => json!({ "type": "string", "format": "uuid", "pattern": UUID }),
    }
}

/// A reference to a component.
pub fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The same schema, null included.
pub fn nullable(schema: Json) -> Json {
    let Json::Object(mut object) = schema else { return schema };
    match object.get_mut("type") {
        Some(Json::String(name)) => {
            let name = std::mem::take(name);
            object.insert("type".to_string(), json!([name, "null"]));
        }
        Some(Json::Array(names)) if names.contains(&json!("null")) => {}
        Some(Json::Array(names)) => names.push(json!("null")),
        _ => return json!({ "anyOf": [object, { "type": "null" }] }),
    }
    if let Some(Json::Array(words)) = object.get_mut("enum") {
        words.push(Json::Null);
    }
    Json::Object(object)
}

/// An object with these members and no others.
pub fn object(properties: Map<String, Json>, required: Vec<String>) -> Json {
    let mut schema = Map::new();
    schema.insert("type".to_string(), "object".into());
    schema.insert("properties".to_string(), Json::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_string(), required.into());
    }
    schema.insert("additionalProperties".to_string(), false.into());
    Json::Object(schema)
}

fn i64_pattern() -> String {
    format!("^(0|-?({})|{})$", up_to(i64::MAX.unsigned_abs()), i64::MIN)
}

/// An expression for the whole numbers from 1 to a largest one, without zeros in front.
fn up_to(most: u64) -> String {
    let digits = most.to_string();
    let rest = |count: usize| match count {
        0 => String::new(),
        1 => "[0-9]".to_string(),
        many => format!("[0-9]{{{many}}}"),
    };
    let shorter = digits.len().saturating_sub(2);
    let mut parts = vec![format!("[1-9][0-9]{{0,{shorter}}}")];
    for (at, digit) in digits.bytes().enumerate() {
        let least = if at == 0 { b'1' } else { b'0' };
        let before = digits.get(..at).unwrap_or_default();
        let after = rest(digits.len() - at - 1);
        match digit.checked_sub(least) {
            None | Some(0) => {}
            Some(1) => parts.push(format!("{before}{}{after}", char::from(least))),
            Some(_) => {
                let (least, below) = (char::from(least), char::from(digit - 1));
                parts.push(format!("{before}[{least}-{below}]{after}"));
            }
        }
    }
    parts.push(digits);
    parts.join("|")
}

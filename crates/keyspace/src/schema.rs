//! The JSON Schema of the notation, for completion and inline errors in editors.
//!
//! It is made from the same list of keys that the parser reads by, so that the two cannot differ.
//! Draft 7, which is what TOML editors understand. It knows shapes, not meaning: what a key serves
//! is for the checker to say.

use crate::model::limits::NAME_CHARACTERS_MAX;
use crate::parse::known::{self, KnownTable, Shape};
use serde_json::{Map, Value, json};

/// The schema of a keyspace file.
pub fn schema() -> Value {
    let mut root = table(&known::FILE, &["keyspace"]);
    if let Value::Object(object) = &mut root {
        let mut head = Map::new();
        head.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
        head.insert("title".into(), json!("Keyway keyspace"));
        let about =
            "One file that names every key an application stores and every question it asks.";
        head.insert("description".into(), json!(about));
        head.append(object);
        *object = head;
    }
    root
}

/// A table of known keys, some of them required.
fn table(known: &'static KnownTable, required: &[&str]) -> Value {
    let mut properties = Map::new();
    for key in known.keys {
        let mut value = shape(&key.shape);
        if let Value::Object(object) = &mut value {
            object.insert("description".into(), json!(key.about));
        }
        properties.insert(key.name.into(), value);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// Tables by name.
fn tables(known: &'static KnownTable) -> Value {
    let one = match known.name {
        "a collection" | "an index" | "a history" => table(known, &["key"]),
        "a deferred pattern" => table(known, &["about", "reason"]),
        "a pattern" => pattern(known),
        _ => table(known, &[]),
    };
    // A deferred pattern is called by its id.
    let names =
        if known.name == "a deferred pattern" { "^.+$".to_string() } else { name_pattern() };
    json!({ "type": "object", "patternProperties": { names: one }, "additionalProperties": false })
}

/// A pattern has exactly one verb.
fn pattern(known: &'static KnownTable) -> Value {
    let verbs = crate::model::Verb::ALL.map(|verb| json!({ "required": [verb.name()] }));
    let mut value = table(known, &[]);
    if let Value::Object(object) = &mut value {
        object.insert("oneOf".into(), json!(verbs));
    }
    value
}

fn name_pattern() -> String {
    format!("^[a-z][a-z0-9_]{{0,{}}}$", NAME_CHARACTERS_MAX - 1)
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Template => json!({ "type": "string", "minLength": 1 }),
        Shape::Expression => json!({ "type": ["string", "boolean"] }),
        Shape::Name => {
            let path = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$";
            json!({ "type": "string", "pattern": path })
        }
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Duration => json!({ "type": "string", "pattern": r"^[0-9]+ ?(ms|s|m|h|d|w)$" }),
        Shape::DurationOrName => json!({
            "type": "string",
            "pattern": r"^([0-9]+ ?(ms|s|m|h|d|w)|[a-z][a-z0-9_]*)$",
        }),
        Shape::Keep => json!({ "anyOf": [
            { "type": "string", "pattern": r"^(all|[0-9]+ ?(ms|s|m|h|d|w))$" },
            { "type": "integer", "minimum": 1 },
        ]}),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Shape::Number => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Shape::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Words(words) => {
            json!({ "type": "array", "items": { "type": "string", "enum": words } })
        }
        Shape::Types => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Shape::Expressions => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        }),
        Shape::Table(known) => {
            let required: &[&str] = match known.name {
                "a bucket" => &["by", "every"],
                "[keyspace]" => &["name"],
                _ => &[],
            };
            table(known, required)
        }
        Shape::Tables(known) => tables(known),
        Shape::Steps(known) => json!({
            "type": "array",
            "minItems": 1,
            "items": { "anyOf": [{ "type": "string" }, table(known, &[])] },
        }),
        Shape::Allow(known) => json!({ "anyOf": [
            { "type": "string", "pattern": "^(owner|user|public|step|role:[a-z0-9_-]+)$" },
            table(known, &["member", "caller"]),
        ]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_key_is_in_the_schema() {
        let schema = schema();
        let pattern = &schema["properties"]["pattern"]["patternProperties"][name_pattern()];
        for key in known::PATTERN.keys {
            assert_eq!(pattern["properties"][key.name]["description"], json!(key.about));
        }
        assert_eq!(schema["additionalProperties"], json!(false));
    }
}

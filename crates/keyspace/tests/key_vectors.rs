//! Checks the library against the frozen key vectors, both ways.
//!
//! The vectors are shared with other languages. A failing vector is a broken library, never a
//! vector to be rewritten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::borrow::Cow;

use keyspace::key::text::{self, Part, Separator};
use keyspace::key::{self, KeyType, Segment, Value};
use serde_json::Value as Json;

fn vectors() -> Json {
    serde_json::from_str(include_str!("vectors/keys.json")).expect("keys.json is JSON")
}

fn list(name: &str) -> Vec<Json> {
    vectors()[name].as_array().expect("a list").clone()
}

fn string(json: &Json) -> &str {
    json.as_str().expect("a string")
}

fn bytes(hexadecimal: &Json) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).expect("a hexadecimal digit") as u8;
    let pairs = string(hexadecimal).as_bytes().chunks(2);
    pairs.map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
}

fn kind(name: &str) -> KeyType {
    match name {
        "bool" => KeyType::Bool,
        "i64" => KeyType::I64,
        "u64" => KeyType::U64,
        "f64" => KeyType::F64,
        "bytes" => KeyType::Bytes,
        "text" => KeyType::Text,
        "path" => KeyType::Path,
        "uuid" => KeyType::Uuid,
        "timeuuid" => KeyType::TimeUuid,
        "timestamp" => KeyType::Timestamp,
        "ulid" => KeyType::Ulid,
        "cell" => KeyType::Cell,
        "date" => KeyType::Date,
        other => panic!("unknown type {other}"),
    }
}

fn shape(segments: &Json) -> Vec<Segment> {
    let segment = |json: &Json| {
        let name = string(&json["type"]);
        let kind = kind(name.trim_end_matches('?'));
        let segment = match string(&json["direction"]) {
            "ascending" => kind.ascending(),
            "descending" => kind.descending(),
            other => panic!("unknown direction {other}"),
        };
        if name.ends_with('?') { segment.or_null() } else { segment }
    };
    segments.as_array().expect("segments").iter().map(segment).collect()
}

fn value(kind: KeyType, json: &Json) -> Value<'static> {
    if json.is_null() {
        return Value::Null;
    }
    match kind {
        KeyType::Bool => Value::Bool(json.as_bool().expect("a bool")),
        KeyType::I64 => Value::I64(string(json).parse().unwrap()),
        KeyType::U64 => Value::U64(string(json).parse().unwrap()),
        KeyType::F64 => Value::F64(string(json).parse().unwrap()),
        KeyType::Bytes => Value::Bytes(Cow::Owned(bytes(json))),
        KeyType::Path => {
            let elements = json.as_array().expect("a list").iter();
            Value::Path(elements.map(|element| Cow::Owned(string(element).into())).collect())
        }
        KeyType::Timestamp => Value::Timestamp(string(json).parse().unwrap()),
        KeyType::Cell => Value::Cell(string(json).parse().unwrap()),
        KeyType::Date => Value::Date(string(json).parse().unwrap()),
        KeyType::Text | KeyType::Uuid | KeyType::TimeUuid | KeyType::Ulid => {
            text::parse_scalar(kind, string(json)).expect("canonical text")
        }
    }
}

fn values(shape: &[Segment], segments: &Json) -> Vec<Value<'static>> {
    let segments = segments.as_array().expect("segments").iter();
    shape.iter().zip(segments).map(|(shape, json)| value(shape.kind, &json["value"])).collect()
}

fn template(shape: &[Segment]) -> Vec<Part<'static>> {
    let segments = shape.iter().map(|segment| Part::Segment(segment.kind));
    std::iter::once(Part::Literal("k")).chain(segments).collect()
}

#[test]
fn keys_encode_and_decode_as_the_vectors_say() {
    let keys = list("keys");
    assert!(keys.len() >= 120);
    for vector in &keys {
        let about = string(&vector["about"]);
        let collection = u16::try_from(vector["collection"].as_u64().unwrap()).unwrap();
        let shape = shape(&vector["segments"]);
        let values = values(&shape, &vector["segments"]);
        let bytes = bytes(&vector["bytes"]);
        assert_eq!(key::encode(collection, &shape, &values).unwrap(), bytes, "{about}");
        assert_eq!(key::decode(&bytes, &shape).unwrap(), (collection, values), "{about}");
    }
}

#[test]
fn texts_format_and_parse_as_the_vectors_say() {
    for vector in list("keys") {
        let about = string(&vector["about"]);
        let shape = shape(&vector["segments"]);
        let values = values(&shape, &vector["segments"]);
        let template = template(&shape);
        for (separator, name) in [(Separator::Colon, "text"), (Separator::Slash, "text_slash")] {
            let formatted = text::format(separator, &template, &values);
            if vector[name].is_null() {
                assert!(formatted.is_err(), "{about}");
                continue;
            }
            let expected = string(&vector[name]);
            assert_eq!(formatted.unwrap(), expected, "{about}");
            assert_eq!(text::parse(separator, &template, expected).unwrap(), values, "{about}");
        }
    }
}

#[test]
fn negative_zero_is_stored_as_zero() {
    for vector in list("stored_alike") {
        let shape = shape(&vector["segments"]);
        let values = values(&shape, &vector["segments"]);
        let bytes = bytes(&vector["bytes"]);
        assert_eq!(key::encode(7, &shape, &values).unwrap(), bytes);
        let (_, decoded) = key::decode(&bytes, &shape).unwrap();
        assert_eq!(decoded, values);
        assert!(matches!(decoded[..], [Value::F64(zero)] if zero.is_sign_positive()));
    }
}

#[test]
fn bytes_are_refused_for_the_reason_the_vectors_give() {
    let refused = list("refused");
    assert!(refused.len() >= 30);
    for vector in &refused {
        let error = key::decode(&bytes(&vector["bytes"]), &shape(&vector["segments"])).err();
        let reason = error.map(|error| format!("{:?}", error.kind()));
        assert_eq!(reason.as_deref(), vector["reason"].as_str(), "{}", vector["about"]);
    }
}

#[test]
fn texts_are_refused_for_the_reason_the_vectors_give() {
    for vector in list("refused_texts") {
        let separator = match string(&vector["separator"]) {
            ":" => Separator::Colon,
            _ => Separator::Slash,
        };
        let template = [Part::Literal("k"), Part::Segment(kind(string(&vector["type"])))];
        let error = text::parse(separator, &template, string(&vector["text"])).err();
        let reason = error.map(|error| format!("{:?}", error.kind()));
        assert_eq!(reason.as_deref(), vector["reason"].as_str(), "{}", vector["about"]);
    }
}

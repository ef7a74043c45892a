//! Values from text and to text, as a command line gives and shows them.
//!
//! Scalars have the text they have in keys, and a little more is understood: floats in any
//! spelling, ids in either case, times with an offset or without a fraction. Lists and JSON are
//! JSON. A path is its parts with `/` between them, or a JSON array where a part holds a `/`.
//! `null` is null for optional types, but not for text, to which it is a text like any other.

use super::{Value, strict, time};
use crate::error::{Error, ErrorKind, Result};
use keyspace::key::KeyType;
use keyspace::key::text as key_text;
use keyspace::model::{Type, duration_text};
use std::borrow::Cow;

/// Characters of a refused text that an error shows.
const GIVEN_CHARACTERS_MAX: usize = 64;

impl Value {
    /// The value of a type that a text spells.
    pub fn from_text(text: &str, of: &Type) -> Result<Value> {
        if text == "null" && of.is_optional() && !is_text(of.required()) {
            return Ok(Value::Null);
        }
        let of = of.required();
        match of {
            Type::Text => Ok(Value::Text(text.to_string())),
            Type::Bool => match text {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(mismatch(text, of)),
            },
            Type::F64 => match text.parse::<f64>() {
                // Adding zero turns negative zero into zero.
                Ok(number) if number.is_finite() => Ok(Value::F64(number + 0.0)),
                _ => Err(mismatch(text, of)),
            },
            Type::Path if !text.starts_with('[') => Ok(Value::Path(match text {
                "" => Vec::new(),
                _ => text.split('/').map(str::to_string).collect(),
            })),
            Type::Json | Type::List(_) | Type::Path => {
                let json =
                    strict::in_text(text).map_err(|error| mismatch(text, of).caused_by(error))?;
                Value::from_json(&json, of)
            }
            _ => scalar(text, of),
        }
    }

    /// The text of a value of a type.
    pub fn to_text(&self, of: &Type) -> String {
        match self {
            Value::Null => "null".to_string(),
            Value::Duration(milliseconds) => duration_text(*milliseconds),
            Value::Path(parts) => path_text(parts).unwrap_or_else(|| self.to_json(of).to_string()),
            Value::Json(_) | Value::List(_) => self.to_json(of).to_string(),
            scalar => scalar_text(scalar),
        }
    }
}

/// Whether `null` is a value of the type itself.
fn is_text(of: &Type) -> bool {
    match of {
        Type::Text | Type::Path => true,
        Type::Enum(words) => words.iter().any(|word| word == "null"),
        _ => false,
    }
}

/// The parts with `/` between them, if that reads as the same parts again.
fn path_text(parts: &[String]) -> Option<String> {
    let text = parts.join("/");
    let is_plain = !text.starts_with('[')
        && parts.iter().all(|part| !part.contains('/'))
        && text.is_empty() == parts.is_empty();
    is_plain.then_some(text)
}

/// The value of a type whose text is the same in JSON: numbers, ids, times, bytes, words.
pub(super) fn scalar(text: &str, of: &Type) -> Result<Value> {
    let parse = |kind, text: &str| {
        let value = key_text::parse_scalar(kind, text);
        value.map(Value::from_segment).map_err(|error| mismatch(text, of).caused_by(error))
    };
    match of {
        Type::I64 => parse(KeyType::I64, text),
        Type::U64 => parse(KeyType::U64, text),
        Type::Bytes => parse(KeyType::Bytes, text),
        Type::Uuid => parse(KeyType::Uuid, &in_small_letters(text)),
        Type::TimeUuid => parse(KeyType::TimeUuid, &in_small_letters(text)),
        Type::Ulid => parse(KeyType::Ulid, &in_capitals(text)),
        Type::Date => parse(KeyType::Date, text),
        Type::Timestamp => {
            time::timestamp(text).map(Value::Timestamp).ok_or_else(|| mismatch(text, of))
        }
        Type::Duration => {
            time::duration(text).map(Value::Duration).ok_or_else(|| mismatch(text, of))
        }
        Type::Enum(words) if words.iter().any(|word| word == text) => {
            Ok(Value::Text(text.to_string()))
        }
        _ => Err(mismatch(text, of)),
    }
}

/// A text without capitals, as it almost always is; its letters are looked at together.
fn in_small_letters(text: &str) -> Cow<'_, str> {
    match text.bytes().fold(false, |any, byte| any | byte.is_ascii_uppercase()) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.to_ascii_lowercase()),
    }
}

/// A text without small letters, as it almost always is.
fn in_capitals(text: &str) -> Cow<'_, str> {
    match text.bytes().fold(false, |any, byte| any | byte.is_ascii_lowercase()) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.to_ascii_uppercase()),
    }
}

/// The text of a value that has one in keys.
pub(crate) fn scalar_text(value: &Value) -> String {
    // A UUID of another version than its type asks for is still shown.
    let value = match value {
        Value::TimeUuid(bytes) => Some(keyspace::key::Value::Uuid(*bytes)),
        other => other.as_segment(),
    };
    let text = value.as_ref().map(key_text::scalar_text);
    text.and_then(|text| text.ok()).map(|text| text.into_owned()).unwrap_or_default()
}

/// The error of something that is no value of a type.
#[cold]
pub(super) fn mismatch(given: &str, of: &Type) -> Error {
    Error::new(ErrorKind::Argument, "a value is not of its type")
        .with("expected", expected(of))
        .with("given", given.chars().take(GIVEN_CHARACTERS_MAX).collect::<String>())
}

/// What a value of a type looks like.
fn expected(of: &Type) -> String {
    match of {
        Type::Bytes => "bytes, as base64url without padding".to_string(),
        Type::Bool => "true or false".to_string(),
        Type::I64 => "i64, a whole number".to_string(),
        Type::U64 => "u64, a whole number that is not negative".to_string(),
        Type::F64 => "f64, a number".to_string(),
        Type::Uuid => "uuid, such as 6f9619ff-8b86-4d01-b42d-00cf4fc964ff".to_string(),
        Type::TimeUuid => {
            "timeuuid, of version 1, such as 2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d".to_string()
        }
        Type::Ulid => "ulid, such as 01ARZ3NDEKTSV4RRFFQ69G5FAV".to_string(),
        Type::Timestamp => "timestamp, such as 2026-11-15T10:00:00.000Z".to_string(),
        Type::Date => "date, such as 2026-11-15".to_string(),
        Type::Duration => "duration, such as 30s, 15m or 7d, or whole seconds".to_string(),
        Type::Enum(words) => format!("one of {}", words.join(", ")),
        Type::Path => "text.., a list of texts".to_string(),
        Type::List(_) => format!("{of}, a list"),
        Type::Text | Type::Json | Type::Optional(_) => of.to_string(),
    }
}

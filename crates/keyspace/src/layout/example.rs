//! Example values: the same for the same name and type, so that prints are stable and the keys of
//! one record agree wherever they appear.
//!
//! They are for people to read and for golden files to hold. Nothing may store them.

use super::engine::segment_shape;
use crate::key::text as key_form;
use crate::key::text::scalar_text;
use crate::key::{KeyType, Value};
use crate::model::{
    DefaultValue, ExpressionKind, Field, Function, Keyspace, Part, Pattern, Segment, StepAction,
    Ttl, Type,
};
use crate::parse::parse_duration;
use std::borrow::Cow;

/// The instant of every example: 2026-11-15T10:00:00.000Z.
pub const NOW: i64 = 1_794_736_800_000;
/// An example of a version: 16 bytes in base64url.
pub const VERSION: &str = "AaHg21HMUACAAAAAAAAAAQ";
/// An example of an entry that a row holds: 26 bytes in base64url.
pub const HELD: &str = "AAIBAgMEBQYHCAGh4NtRzFAAgAAAAAAAAAE";
/// The geohash of the example place, 59.9139 N 10.7522 E.
const GEOHASH: &str = "u4xsudvxb2mq";
/// How long after the instant of every example rows end that say when.
pub const END_MILLISECONDS: i64 = 2_592_000_000;
/// The S2 leaf cell near it.
const CELL: u64 = 0x4641_6e61_2f6d_8e35;
/// Milliseconds between 1970 and the epoch of version 1 UUIDs.
const UUID_EPOCH: i64 = -12_219_292_800_000;

/// Names whose text everybody would make up alike.
const TEXTS: [(&str, &str); 17] = [
    ("alias", "alice"),
    ("api_path", "/v1/abc"),
    ("branch", "main"),
    ("client_id", "client"),
    ("content", "hello"),
    ("display_name", "Ann"),
    ("email", "ann@example.org"),
    ("emoji", "+1"),
    ("metric", "total"),
    ("name", "first"),
    ("plan", "free"),
    ("prior", "EPRIOR"),
    ("service_id", "abc"),
    ("tag", "red"),
    ("tags", "red"),
    ("title", "hello"),
    ("workbook_url", "https://example.org/book"),
];

/// The example of a key segment.
pub fn segment(keyspace: &Keyspace, segment: &Segment) -> Value<'static> {
    let Some(source) = &segment.source else {
        return value(keyspace, &segment.name, &segment.segment_type);
    };
    let owned = |text: &str| Value::Text(Cow::Owned(text.to_string()));
    match source.function() {
        Some(Function::Geohash) => {
            let mut count = 0;
            source.walk(&mut |inner| {
                if let ExpressionKind::Number(number) = &inner.kind {
                    count = number.parse().unwrap_or(0);
                }
            });
            owned(GEOHASH.get(..count).unwrap_or(GEOHASH))
        }
        Some(Function::Month) => owned("2026-11"),
        Some(Function::Floor) => {
            let mut length = 1;
            source.walk(&mut |inner| {
                if let ExpressionKind::Text(text) = &inner.kind {
                    length = parse_duration(text).and_then(|l| i64::try_from(l).ok()).unwrap_or(1);
                }
            });
            Value::Timestamp(NOW - NOW.rem_euclid(length))
        }
        _ => {
            let name = source.members().first().copied().unwrap_or(&segment.name).to_string();
            match (segment_shape(segment).kind, source.function()) {
                (KeyType::Cell, _) => Value::Cell(CELL),
                (_, Some(Function::Hash)) => value(keyspace, "hash", &segment.segment_type),
                _ => value(keyspace, &name, &segment.segment_type),
            }
        }
    }
}

/// The example of a named value of a type that fits a key; other types answer as text.
pub fn value(keyspace: &Keyspace, name: &str, value_type: &Type) -> Value<'static> {
    let bits = name_bits(name);
    match value_type.required() {
        Type::Bool => Value::Bool(true),
        Type::I64 => Value::I64(integer(name)),
        Type::U64 => Value::U64(integer(name).unsigned_abs()),
        Type::F64 => Value::F64(match name {
            "lat" | "latitude" => 59.9139,
            "lon" | "lng" | "longitude" => 10.7522,
            _ => 1.5,
        }),
        Type::Uuid => Value::Uuid(uuid(bits, 4).to_be_bytes()),
        Type::TimeUuid => Value::TimeUuid(time_uuid(bits)),
        Type::Ulid => {
            let bits = (u128::from(NOW.unsigned_abs()) << 80) | (bits & ((1 << 80) - 1));
            Value::Ulid(bits.to_be_bytes())
        }
        Type::Timestamp if is_end(keyspace, name) => Value::Timestamp(NOW + END_MILLISECONDS),
        Type::Timestamp | Type::Duration => Value::Timestamp(NOW),
        Type::Date => Value::Date(i32::try_from(NOW / 86_400_000).unwrap_or_default()),
        Type::Bytes => {
            Value::Bytes(Cow::Owned(bits.to_be_bytes().into_iter().take(9).collect::<Vec<u8>>()))
        }
        Type::Enum(words) => Value::Text(Cow::Owned(words.first().cloned().unwrap_or_default())),
        Type::Path => Value::path(&["a", "b"]),
        Type::Text | Type::Json | Type::List(_) | Type::Optional(_) => {
            Value::Text(Cow::Owned(text(keyspace, name)))
        }
    }
}

/// The text of a field's example: its default where that is a constant.
pub fn field(keyspace: &Keyspace, field: &Field) -> String {
    let is_list = matches!(field.field_type, Type::List(_));
    match &field.default {
        Some(DefaultValue::Number(text) | DefaultValue::Text(text)) => text.clone(),
        Some(DefaultValue::Bool(value)) => value.to_string(),
        Some(DefaultValue::EmptyList) if !is_list => "[]".to_string(),
        Some(DefaultValue::EmptyObject) => "{}".to_string(),
        _ => field_text(keyspace, &field.name, &field.field_type),
    }
}

/// A field's example as JSON.
pub fn json(keyspace: &Keyspace, found: &Field) -> String {
    let text = field(keyspace, found);
    match found.field_type.required() {
        Type::Bool | Type::Json | Type::List(_) | Type::I64 | Type::U64 | Type::F64 => text,
        _ => format!("\"{text}\""),
    }
}

/// The text of a named value, as JSON writes it or as it stands: lists and objects are JSON.
pub fn field_text(keyspace: &Keyspace, name: &str, field_type: &Type) -> String {
    match field_type.required() {
        Type::Json => "{\"any\":\"thing\"}".to_string(),
        Type::List(inner) => {
            let element = field_text(keyspace, name, inner);
            let plain = inner.is_number()
                || matches!(inner.required(), Type::Bool | Type::Json | Type::List(_));
            if plain { format!("[{element}]") } else { format!("[\"{element}\"]") }
        }
        other => scalar(&value(keyspace, name, other)),
    }
}

/// The text of a value, not escaped; a path's parts are joined by `/`.
pub fn scalar(value: &Value<'_>) -> String {
    match value {
        Value::Path(parts) => parts.join("/"),
        other => scalar_text(other).map(Cow::into_owned).unwrap_or_default(),
    }
}

/// The text form of some parts of a key, with example values.
pub fn key_text(keyspace: &Keyspace, parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| part_text(keyspace, part));
    texts.collect::<Vec<_>>().join(&keyspace.separator.to_string())
}

/// The text form of one part of a key, escaped, with an example value.
pub fn part_text(keyspace: &Keyspace, part: &Part) -> String {
    match part {
        Part::Literal(literal) => literal.clone(),
        Part::Segment(found) => match segment(keyspace, found) {
            Value::Path(elements) => {
                let elements = elements.iter().map(|element| escape(keyspace.separator, element));
                elements.collect::<Vec<_>>().join(&keyspace.separator.to_string())
            }
            other => escape(keyspace.separator, &scalar(&other)),
        },
    }
}

/// A part's text as it stands in a key.
pub(super) fn escape(separator: char, raw: &str) -> String {
    let separator =
        if separator == '/' { key_form::Separator::Slash } else { key_form::Separator::Colon };
    let template = [key_form::Part::Segment(KeyType::Text)];
    key_form::format(separator, &template, &[Value::text(raw)]).unwrap_or_default()
}

/// Whether rows of some collection end at the instant of this name.
fn is_end(keyspace: &Keyspace, name: &str) -> bool {
    let mut ends = keyspace.collections.iter().filter_map(|collection| collection.ttl.as_ref());
    ends.any(|ttl| matches!(ttl, Ttl::Field(field) if field == name))
}

fn integer(name: &str) -> i64 {
    match name {
        "sn" => 0,
        "cache_duration" => 300,
        _ => 7,
    }
}

/// The text of a name: well known, or as `new` makes it, or what a call would bind to it, or made
/// from the name itself.
pub fn text(keyspace: &Keyspace, name: &str) -> String {
    if let Some((_, known)) = TEXTS.iter().find(|(known, _)| *known == name) {
        return (*known).to_string();
    }
    if let Some(prefix) = new_prefix(keyspace, name) {
        let id = scalar(&value(keyspace, name, &Type::Ulid));
        return prefix.map_or(id.clone(), |prefix| format!("{prefix}_{id}"));
    }
    plain_text(bound_name(keyspace, name).unwrap_or(name))
}

/// `user_id` is `u1`, `said` is `ESAID`, `plan` is `plan-1`.
fn plain_text(name: &str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    match words.last() {
        Some(&"aid" | &"said") => format!("E{}", words.concat().to_uppercase()),
        Some(&"id") if words.len() > 1 => {
            format!("{}1", name.chars().next().unwrap_or('x'))
        }
        _ => format!("{name}-1"),
    }
}

/// The prefix of the ids that `insert` makes for a segment of this name, if it makes any.
fn new_prefix<'a>(keyspace: &'a Keyspace, name: &str) -> Option<Option<&'a str>> {
    let segments = keyspace.collections.iter().flat_map(|collection| collection.key.segments());
    segments.filter(|segment| segment.name == name).find_map(|segment| match &segment.default {
        Some(DefaultValue::New(prefix)) => Some(prefix.as_deref()),
        _ => None,
    })
}

/// The argument some `atomic` gives under this name: `id` is an `aid` where `id = "$aid"`.
fn bound_name<'a>(keyspace: &'a Keyspace, name: &str) -> Option<&'a str> {
    let steps =
        keyspace.patterns.iter().flat_map(|pattern: &std::sync::Arc<Pattern>| &pattern.steps);
    let runs = steps.filter(|step| matches!(step.action, StepAction::Run(_)));
    runs.flat_map(|step| &step.bind).filter(|bind| bind.name.value == name).find_map(|bind| {
        match &bind.expression.kind {
            ExpressionKind::Argument(argument) if argument != name => Some(argument.as_str()),
            _ => None,
        }
    })
}

/// 128 bits that depend on the name alone (FNV-1a).
fn name_bits(name: &str) -> u128 {
    name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |bits: u128, byte| {
        (bits ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    })
}

fn uuid(bits: u128, version: u128) -> u128 {
    let cleared = bits & !(0xf << 76) & !(0x3 << 62);
    cleared | (version << 76) | (0x2 << 62)
}

/// A version 1 UUID of the example instant.
fn time_uuid(bits: u128) -> [u8; 16] {
    let ticks = u128::from((NOW - UUID_EPOCH).unsigned_abs()) * 10_000;
    let low = ticks & 0xffff_ffff;
    let mid = (ticks >> 32) & 0xffff;
    let high = (ticks >> 48) & 0x0fff;
    let time = (low << 96) | (mid << 80) | (high << 64);
    uuid(time | (bits & u128::from(u64::MAX)), 1).to_be_bytes()
}

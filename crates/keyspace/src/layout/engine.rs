//! Ordered bytes, in the embedded engine and in memory: what a key and a value are made of.
//!
//! ```text
//! key    collection number, 2 bytes │ segment │ segment …       literals are left out
//! value  schema-numbered record     │ number │ JSON │ bytes     entries: what they keep
//! ```
//!
//! Numbers of collections and fields are given by the store's catalogue, by name, and never used
//! again; those here are what an empty store would give. The bytes of segments are made by `key`
//! alone.

use super::Serves;
use super::example;
use super::sheet::Sheet;
use crate::key::{Direction, KeyType, Segment as Shape, Value, encode};
use crate::model::{
    Collection, Content, Function, Index, Key, Keyspace, Mode, Segment, StoreKind, Type,
};
use std::fmt::Write;

/// A stretch of keys with one number: a collection or an index.
#[derive(Clone, Debug)]
pub struct Space {
    /// The number an empty store would give it.
    pub number: u16,
    /// What it serves.
    pub serves: Serves,
    /// The segments of its keys, in order.
    pub segments: Vec<(String, Shape)>,
    /// What a key leads to.
    pub value: Held,
}

/// What a key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A schema-numbered record of these fields; a body is its last.
    Record(Vec<(u16, String)>),
    /// JSON text.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// A signed 64-bit number.
    Count,
    /// A signed 64-bit number and the instant at which it ends.
    Window,
    /// Nothing: the key says it all.
    Nothing,
    /// The encoded key of the owner, and a record of what the index keeps.
    Owner(Vec<(u16, String)>),
}

/// Every collection and index of a keyspace with its keys and values, in file order.
pub fn spaces(keyspace: &Keyspace) -> Vec<Space> {
    let mut found = Vec::new();
    for collection in &keyspace.collections {
        found.push(space(&found, collection, None));
        for index in &collection.indexes {
            found.push(space(&found, collection, Some(index)));
        }
    }
    found
}

/// The shape of a segment in the key encoding.
pub fn segment_shape(segment: &Segment) -> Shape {
    let kind = match segment.segment_type.required() {
        _ if segment.function() == Some(Function::Cell) => KeyType::Cell,
        Type::Bytes => KeyType::Bytes,
        Type::Bool => KeyType::Bool,
        Type::I64 => KeyType::I64,
        Type::U64 => KeyType::U64,
        Type::F64 => KeyType::F64,
        Type::Uuid => KeyType::Uuid,
        Type::TimeUuid => KeyType::TimeUuid,
        Type::Ulid => KeyType::Ulid,
        Type::Timestamp => KeyType::Timestamp,
        Type::Date => KeyType::Date,
        Type::Path => KeyType::Path,
        // Enums are the text of their word; the checker lets nothing else into a key.
        _ => KeyType::Text,
    };
    if segment.descending { kind.descending() } else { kind.ascending() }
}

fn space(before: &[Space], collection: &Collection, index: Option<&Index>) -> Space {
    let key = index.map_or(&collection.key, |index| &index.key);
    let number = u16::try_from(before.len() + 1).unwrap_or(u16::MAX);
    let segments = key.segments().map(|s| (s.name.clone(), segment_shape(s))).collect();
    let value = match index {
        None => row_value(collection),
        Some(index) => {
            let kept = numbered(index.keep.iter().map(|field| field.value.clone()));
            if index.unique {
                Held::Owner(kept)
            } else if kept.is_empty() {
                Held::Nothing
            } else {
                Held::Record(kept)
            }
        }
    };
    Space { number, serves: Serves::new(collection, index), segments, value }
}

fn row_value(collection: &Collection) -> Held {
    match &collection.content {
        Content::Fields(fields) => {
            let names = fields.iter().map(|field| field.name.clone());
            numbered_record(names.chain(collection.body.map(|_| "body".to_string())))
        }
        Content::Keys if collection.body.is_some() => {
            numbered_record(std::iter::once("body".to_string()))
        }
        Content::Keys => Held::Nothing,
        Content::Json => Held::Json,
        Content::Text => Held::Text,
        Content::Bytes => Held::Bytes,
        Content::Counter => Held::Count,
        Content::Window { .. } => Held::Window,
    }
}

fn numbered_record(names: impl Iterator<Item = String>) -> Held {
    Held::Record(numbered(names))
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(u16, String)> {
    (1..).zip(names).collect()
}

/// The layout of a keyspace in the engine or in memory, as text.
pub fn print(keyspace: &Keyspace, store: StoreKind) -> String {
    let mut sheet = Sheet::new(keyspace, store);
    sheet.gap();
    sheet.line(
        0,
        "Keys are compared byte by byte: a number of 2 bytes, then each segment as a tag and",
    );
    sheet.line(
        0,
        "its value, every byte complemented where the segment is desc. Literals are left out.",
    );
    sheet.line(0, "Numbers are given by name and never used again; these are an empty store's.");
    let all = spaces(keyspace);
    tags(&mut sheet, &all);
    for collection in &keyspace.collections {
        sheet.collection(keyspace, collection);
        for space in all.iter().filter(|s| s.serves.collection == collection.name.value) {
            print_space(&mut sheet, keyspace, collection, space);
        }
    }
    sheet.gap();
    sheet.line(0, "for the whole store (helpers)");
    if store == StoreKind::Engine {
        sheet.line(
            1,
            "catalogue    the keyspace, and the numbers of its collections, indexes and fields",
        );
    }
    sheet.line(1, "calls        ids of calls that were done, remembered for 10 minutes");
    sheet.line(1, "expiries     instant and key of rows that end, for the sweep");
    sheet.finish()
}

/// The tags of the types that occur.
fn tags(sheet: &mut Sheet, all: &[Space]) {
    let used: Vec<KeyType> =
        all.iter().flat_map(|space| &space.segments).map(|(_, shape)| shape.kind).collect();
    sheet.gap();
    for (kind, tag, payload) in TAGS {
        if used.contains(&kind) {
            sheet.line(1, &format!("{:<10} {tag:<6} {payload}", kind_name(kind)));
        }
    }
}

/// Types, their tags and what follows them.
const TAGS: [(KeyType, &str, &str); 13] = [
    (KeyType::Bool, "0a 0b", "nothing: false, true"),
    (KeyType::I64, "10–20", "18 ± how many bytes, then those; negative ones complemented"),
    (KeyType::U64, "18–20", "18 + how many bytes, then those"),
    (KeyType::F64, "28", "8 bytes, the sign flipped; all of them if negative"),
    (KeyType::Bytes, "30", "the bytes, 00 as 00 ff, then 00 01"),
    (KeyType::Text, "31", "UTF-8, 00 as 00 ff, then 00 01"),
    (KeyType::Path, "32", "each part as text, then 00 00"),
    (KeyType::Uuid, "38", "16 bytes"),
    (KeyType::TimeUuid, "39", "16 bytes, time from high to low, signs of the last 8 flipped"),
    (KeyType::Timestamp, "3a", "8 bytes, milliseconds, the sign flipped"),
    (KeyType::Ulid, "3b", "16 bytes"),
    (KeyType::Cell, "3c", "8 bytes"),
    (KeyType::Date, "3d", "4 bytes, days, the sign flipped"),
];

fn kind_name(kind: KeyType) -> &'static str {
    match kind {
        KeyType::Bool => "bool",
        KeyType::I64 => "i64",
        KeyType::U64 => "u64",
        KeyType::F64 => "f64",
        KeyType::Bytes => "bytes",
        KeyType::Text => "text",
        KeyType::Path => "text..",
        KeyType::Uuid => "uuid",
        KeyType::TimeUuid => "timeuuid",
        KeyType::Timestamp => "timestamp",
        KeyType::Ulid => "ulid",
        KeyType::Cell => "cell",
        KeyType::Date => "date",
    }
}

fn print_space(sheet: &mut Sheet, keyspace: &Keyspace, collection: &Collection, space: &Space) {
    let index = space.serves.index.as_deref().and_then(|name| collection.index(name));
    let key = index.map_or(&collection.key, |index| &index.key);
    let template = key.template(keyspace.separator);
    sheet.line(1, &format!("{:<3} {:<24} {template}", space.number, space.serves.name()));
    let segments = space.segments.iter().map(|(name, shape)| {
        let direction = if shape.direction == Direction::Descending { " desc" } else { "" };
        format!("{name}: {}{direction}", kind_name(shape.kind))
    });
    sheet.line(2, &format!("key    {}", segments.collect::<Vec<_>>().join(" │ ")));
    if let Some(bytes) = key_example(keyspace, key, space) {
        sheet.line(2, &format!("     > {bytes}"));
    }
    let version = match keyspace.mode(collection) {
        Mode::Conditional if index.is_none() => ", with its version",
        _ => "",
    };
    sheet.line(2, &format!("value  {}{version}", value_about(&space.value)));
    sheet.patterns(keyspace, &space.serves);
}

fn value_about(value: &Held) -> String {
    let fields = |fields: &[(u16, String)]| {
        let fields = fields.iter().map(|(number, name)| format!("{number} {name}"));
        fields.collect::<Vec<_>>().join(", ")
    };
    match value {
        Held::Record(numbers) => format!("schema-numbered record: {}", fields(numbers)),
        Held::Json => "JSON text".to_string(),
        Held::Text => "the text".to_string(),
        Held::Bytes => "the bytes".to_string(),
        Held::Count => "a signed 64-bit number".to_string(),
        Held::Window => "a signed 64-bit number and when it ends".to_string(),
        Held::Nothing => "nothing".to_string(),
        Held::Owner(kept) if kept.is_empty() => "the key of its owner".to_string(),
        Held::Owner(kept) => format!("the key of its owner, and a record: {}", fields(kept)),
    }
}

/// The bytes of the example key in hexadecimal, a bar between segments.
fn key_example(keyspace: &Keyspace, key: &Key, space: &Space) -> Option<String> {
    let shape: Vec<Shape> = space.segments.iter().map(|(_, shape)| *shape).collect();
    let values: Vec<Value<'static>> =
        key.segments().map(|segment| example::segment(keyspace, segment)).collect();
    let mut text = String::new();
    let mut done = 0;
    for count in 0..=shape.len() {
        let front = encode(space.number, shape.get(..count)?, values.get(..count)?).ok()?;
        if count > 0 {
            text.push_str(" │");
        }
        for (place, byte) in front.get(done..)?.iter().enumerate() {
            let gap = if place > 0 || count > 0 { " " } else { "" };
            let _ = write!(text, "{gap}{byte:02x}");
        }
        done = front.len();
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_the_encoding() {
        let samples = [
            (KeyType::Bool, vec![Value::Bool(false), Value::Bool(true)]),
            (KeyType::I64, vec![Value::I64(i64::MIN), Value::I64(i64::MAX)]),
            (KeyType::U64, vec![Value::U64(0), Value::U64(u64::MAX)]),
            (KeyType::F64, vec![Value::F64(1.5)]),
            (KeyType::Bytes, vec![Value::bytes(b"a")]),
            (KeyType::Text, vec![Value::text("a")]),
            (KeyType::Path, vec![Value::path(&["a"])]),
            (KeyType::Uuid, vec![Value::Uuid([7; 16])]),
            (KeyType::TimeUuid, vec![Value::TimeUuid(*b"aaaaaa\x11\x11\x81aaaaaaa")]),
            (KeyType::Timestamp, vec![Value::Timestamp(7)]),
            (KeyType::Ulid, vec![Value::Ulid([7; 16])]),
            (KeyType::Cell, vec![Value::Cell(7)]),
            (KeyType::Date, vec![Value::Date(7)]),
        ];
        for ((kind, values), (printed, tags, _)) in samples.into_iter().zip(TAGS) {
            assert_eq!(kind, printed);
            let first = |value| {
                let bytes = encode(0, &[kind.ascending()], &[value]).unwrap();
                format!("{:02x}", bytes[2])
            };
            let found: Vec<String> = values.into_iter().map(first).collect();
            let expected: Vec<&str> = tags.split([' ', '–']).collect();
            assert_eq!(found, expected);
        }
    }
}

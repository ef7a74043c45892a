//! IndexedDB, in a browser: an object store a collection and an index, keys as arrays.
//!
//! ```text
//! user:{user_id}:notes | {note_id}      notes   ["u1", "note_01M…"]  →  { title: "…" }
//! email:{lower(email)}, unique          email   ["ann@example.org"]  →  { key: ["u1"] }
//! ```
//!
//! IndexedDB compares numbers as floats and strings by UTF-16 code unit, so integers are sortable
//! text and text has its code units shifted ([`code_units`]). Its own indexes are not used: they
//! cannot compute, keep or claim what an index of a keyspace does.

use super::example;
use super::sheet::Sheet;
use super::sortable;
use super::{Serves, body_name};
use crate::key::{Value, encode};
use crate::layout::engine::segment_shape;
use crate::model::{
    Collection, Content, Function, Index, Key, Keyspace, Mode, Part, Segment, StoreKind, Type,
};

/// An object store with keys of its own (no key path, no generator).
#[derive(Clone, Debug)]
pub struct ObjectStore {
    /// Its name.
    pub name: String,
    /// What it serves.
    pub serves: Serves,
    /// The elements of its keys, in order.
    pub elements: Vec<(String, Element)>,
    /// How a group is walked in key order.
    pub cursor: Cursor,
}

/// How an element of a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A string with shifted code units.
    Text,
    /// A string: sortable text, which is ASCII.
    Sortable,
    /// A number.
    Number,
    /// 0 or 1.
    Bool,
    /// A `Date`.
    Date,
    /// An `ArrayBuffer`.
    Binary,
    /// An array of strings with shifted code units.
    Array,
    /// All segments after the bar in the key encoding, as one `ArrayBuffer`.
    Encoded,
}

impl Element {
    /// What JavaScript calls it.
    pub fn name(self) -> &'static str {
        match self {
            Element::Text => "string",
            Element::Sortable => "sortable string",
            Element::Number => "number",
            Element::Bool => "0 or 1",
            Element::Date => "Date",
            Element::Binary => "ArrayBuffer",
            Element::Array => "array of strings",
            Element::Encoded => "ArrayBuffer in the key encoding",
        }
    }
}

/// How a group is walked in key order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// `next`.
    Next,
    /// `prev`: the segments after the bar are all descending.
    Previous,
}

/// Every object store of a keyspace, in file order.
pub fn object_stores(keyspace: &Keyspace) -> Vec<ObjectStore> {
    let mut found = Vec::new();
    for collection in &keyspace.collections {
        found.push(object_store(collection, None));
        found.extend(collection.indexes.iter().map(|index| object_store(collection, Some(index))));
    }
    found
}

/// The code units of a text, shifted so that they sort as its UTF-8 does: surrogates above all
/// others. Text below U+D800 is unchanged.
pub fn code_units(text: &str) -> Vec<u16> {
    let shift = |unit: u16| match unit {
        0xd800..=0xdfff => unit + 0x2000,
        0xe000..=0xffff => unit - 0x0800,
        _ => unit,
    };
    text.encode_utf16().map(shift).collect()
}

/// The text of shifted code units, if they are one's.
pub fn text_of(units: &[u16]) -> Option<String> {
    let back = |unit: &u16| match *unit {
        0xf800..=0xffff => unit - 0x2000,
        0xd800..=0xf7ff => unit + 0x0800,
        _ => *unit,
    };
    String::from_utf16(&units.iter().map(back).collect::<Vec<_>>()).ok()
}

/// How a segment is kept.
pub fn element(segment: &Segment) -> Element {
    match &segment.segment_type {
        _ if segment.function() == Some(Function::Cell) => Element::Sortable,
        Type::Bool => Element::Bool,
        Type::F64 => Element::Number,
        Type::Timestamp => Element::Date,
        Type::Bytes => Element::Binary,
        Type::Path => Element::Array,
        Type::I64 | Type::U64 | Type::Uuid | Type::TimeUuid | Type::Ulid | Type::Date => {
            Element::Sortable
        }
        _ => Element::Text,
    }
}

fn object_store(collection: &Collection, index: Option<&Index>) -> ObjectStore {
    let key = index.map_or(&collection.key, |index| &index.key);
    let serves = Serves::new(collection, index);
    let named = |segment: &Segment| (segment.name.clone(), element(segment));
    let mut elements: Vec<(String, Element)> = key.group_segments().map(named).collect();
    let directions: Vec<bool> = key.rest_segments().map(|segment| segment.descending).collect();
    let mixed = directions.contains(&true) && directions.contains(&false);
    if mixed {
        let names: Vec<&str> = key.rest_segments().map(|s| s.name.as_str()).collect();
        elements.push((names.join(", "), Element::Encoded));
    } else {
        elements.extend(key.rest_segments().map(named));
    }
    let back = directions.contains(&true) && !mixed;
    let cursor = if back { Cursor::Previous } else { Cursor::Next };
    ObjectStore { name: serves.name().to_string(), serves, elements, cursor }
}

/// The layout of a keyspace in IndexedDB, as text.
pub fn print(keyspace: &Keyspace) -> String {
    let mut sheet = Sheet::new(keyspace, StoreKind::IndexedDb);
    sheet.gap();
    for line in [
        "Object stores have no key path: keys are arrays of the segments, literals left out.",
        "In strings UTF-16 code units above U+D7FF are shifted, so that they sort as UTF-8 does.",
        "Sortable strings: u64 has 20 digits; i64 p or n and 19; a timeuuid has its time first.",
        "Fields of i64 and u64 are BigInt, times Date, bytes ArrayBuffer; null is absent.",
    ] {
        sheet.line(0, line);
    }
    let all = object_stores(keyspace);
    for collection in &keyspace.collections {
        sheet.collection(keyspace, collection);
        for store in all.iter().filter(|s| s.serves.collection == collection.name.value) {
            print_store(&mut sheet, keyspace, collection, store);
        }
    }
    sheet.gap();
    sheet.line(0, "for the whole database (helpers)");
    sheet.line(1, "~keyway   the keyspace and the format, under one key");
    sheet.line(1, "~calls    [id]  calls that were done, remembered for 10 minutes");
    if keyspace.collections.iter().any(|collection| ends(collection)) {
        sheet.line(1, "~expires  [Date, store, key]  when rows end, for the sweep");
    }
    sheet.finish()
}

fn print_store(
    sheet: &mut Sheet,
    keyspace: &Keyspace,
    collection: &Collection,
    store: &ObjectStore,
) {
    let index = store.serves.index.as_deref().and_then(|name| collection.index(name));
    let key = index.map_or(&collection.key, |index| &index.key);
    let elements = store.elements.iter().map(|(name, kind)| format!("{name}: {}", kind.name()));
    sheet.line(1, &format!("{}  [{}]", store.name, elements.collect::<Vec<_>>().join(", ")));
    let about = match index {
        Some(index) if index.unique => {
            "index, unique: an entry is added, never replaced".to_string()
        }
        Some(_) => "index".to_string(),
        None => row_about(keyspace, collection),
    };
    let walked = match store.cursor {
        Cursor::Previous => "; a group is read with the cursor \"prev\"",
        Cursor::Next => "",
    };
    sheet.line(2, &format!("{about}{walked}"));
    let value = value_example(keyspace, collection, index.map(AsRef::as_ref));
    let array = array_example(keyspace, key, store);
    let verb = if index.is_some_and(|index| index.unique) { "add" } else { "put" };
    sheet.line(2, &format!("> {verb}({value}, {array})"));
    sheet.patterns(keyspace, &store.serves);
}

/// Whether rows end; nothing but the sweep removes them here.
fn ends(collection: &Collection) -> bool {
    collection.ttl.is_some() || matches!(collection.content, Content::Window { .. })
}

fn row_about(keyspace: &Keyspace, collection: &Collection) -> String {
    let mut extra = Vec::new();
    extra.extend((keyspace.mode(collection) == Mode::Conditional).then_some("~v"));
    extra.extend(ends(collection).then_some("~x"));
    let fields = collection.fields().iter().map(|field| keyspace.shown(&field.name));
    let body = collection.body.map(|_| body_name(keyspace, collection).to_string());
    let value = collection.has_value().then(|| "value".to_string());
    let names = fields.chain(body).chain(value).chain(extra.iter().map(|name| name.to_string()));
    let names: Vec<String> = names.collect();
    if names.is_empty() { "rows, empty".to_string() } else { format!("rows: {}", names.join(" ")) }
}

fn value_example(keyspace: &Keyspace, collection: &Collection, index: Option<&Index>) -> String {
    let mut pairs = Vec::new();
    match index {
        Some(index) => {
            if index.unique {
                let owner = object_store(collection, None);
                let owner = array_example(keyspace, &collection.key, &owner);
                pairs.push(format!("key: {owner}"));
            }
            for name in &index.keep {
                pairs.push(format!("{}: …", keyspace.shown(&name.value)));
            }
        }
        None => {
            if let Some(field) = collection.fields().first() {
                let end = if field.field_type.is_integer() { "n" } else { "" };
                let value = example::json(keyspace, field);
                pairs.push(format!("{}: {value}{end}", keyspace.shown(&field.name)));
            }
            if collection.fields().len() > 1 {
                pairs.push("…".to_string());
            }
            let body = collection.body.map(|_| format!("{}: …", body_name(keyspace, collection)));
            pairs.extend(body);
            match &collection.content {
                Content::Counter | Content::Window { .. } => pairs.push("value: 7n".to_string()),
                Content::Keys | Content::Fields(_) => {}
                _ => pairs.push("value: …".to_string()),
            }
        }
    }
    if pairs.is_empty() { "{}".to_string() } else { format!("{{ {} }}", pairs.join(", ")) }
}

fn array_example(keyspace: &Keyspace, key: &Key, store: &ObjectStore) -> String {
    let encoded = store.elements.iter().any(|(_, kind)| *kind == Element::Encoded);
    let parts = if encoded { key.group() } else { key.parts.as_slice() };
    let mut texts: Vec<String> = parts
        .iter()
        .filter_map(Part::segment)
        .map(|segment| element_example(element(segment), &example::segment(keyspace, segment)))
        .collect();
    if encoded {
        let shape: Vec<_> = key.rest_segments().map(segment_shape).collect();
        let values: Vec<Value<'static>> =
            key.rest_segments().map(|segment| example::segment(keyspace, segment)).collect();
        let bytes = encode(0, &shape, &values).unwrap_or_default();
        texts.push(buffer(bytes.get(2..).unwrap_or_default()));
    }
    format!("[{}]", texts.join(", "))
}

fn element_example(kind: Element, value: &Value<'_>) -> String {
    match (kind, value) {
        (Element::Bool, Value::Bool(flag)) => u8::from(*flag).to_string(),
        (Element::Number, number) => example::scalar(number),
        (Element::Date, instant) => format!("new Date(\"{}\")", example::scalar(instant)),
        (Element::Binary, Value::Bytes(bytes)) => buffer(bytes),
        (Element::Array, Value::Path(parts)) => {
            let parts = parts.iter().map(|part| format!("\"{part}\""));
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        }
        (_, other) => format!("\"{}\"", sortable::text(other).unwrap_or_default()),
    }
}

/// Bytes as JavaScript reads them.
fn buffer(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("Uint8Array.fromHex(\"{}\")", bytes.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_code_units_sort_as_utf8_and_come_back() {
        let texts = [
            "",
            "a",
            "é",
            "\u{d7ff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
            "a\u{fffd}",
            "a\u{1f600}",
        ];
        for left in texts {
            assert_eq!(text_of(&code_units(left)).as_deref(), Some(left));
            for right in texts {
                assert_eq!(code_units(left).cmp(&code_units(right)), left.cmp(right));
            }
        }
        assert_eq!(String::from_utf16(&code_units("Ann, é")).unwrap(), "Ann, é");
    }
}

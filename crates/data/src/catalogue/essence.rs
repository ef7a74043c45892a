//! The essence of a keyspace: as much of the file as decides about stored bytes, in words.
//!
//! It is kept as text, never as the types of the model: a catalogue must be readable by versions
//! whose model has moved on. Defaults, ends of rows, patterns, callers and words for the documents
//! are no part of it.

use crate::schema::constant;
use crate::value::Value;
use keyspace::model::{
    BodyType, Bucket, Collection, Content, Field, Index, Key, Keyspace, Mode, Part, Type,
    duration_text,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a collection's numbers were given for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectionEssence {
    pub key: KeyEssence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub mode: String,
    /// Why it is conditional; only said, never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The largest number any field was given.
    pub last_field: u16,
    pub fields: BTreeMap<String, FieldEssence>,
    pub indexes: BTreeMap<String, IndexEssence>,
}

/// What a field's number was given for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldEssence {
    #[serde(rename = "type")]
    pub field_type: String,
    /// What records that lack the field answer; fixed once there may be some.
    pub missing: serde_json::Value,
    /// Whether the file no longer has it. Its number waits for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
}

/// What an index's number was given for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IndexEssence {
    pub key: KeyEssence,
    pub unique: bool,
    /// In the order of their names: the file's order decides about nothing.
    pub keep: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
}

/// A key, its bar among its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct KeyEssence(pub Vec<PartEssence>);

/// A literal, which may be the bar, or a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum PartEssence {
    Literal(String),
    Segment(SegmentEssence),
}

/// A segment: of a collection's key with its type, of an index's with what it is computed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentEssence {
    pub name: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub segment_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub descending: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// How the bar is written; no literal is.
const BAR: &str = "|";

impl CollectionEssence {
    pub(super) fn of(keyspace: &Keyspace, collection: &Collection) -> Self {
        let mode = keyspace.mode(collection);
        let because = keyspace.why_conditional(collection).filter(|_| mode == Mode::Conditional);
        let fields = collection.fields().iter();
        let indexes = collection.indexes.iter();
        CollectionEssence {
            key: KeyEssence::of(&collection.key),
            bucket: collection.bucket.as_ref().map(bucket),
            content: content(&collection.content).to_string(),
            body: collection.body.map(|body| match body {
                BodyType::Bytes => "bytes".to_string(),
                BodyType::Text => "text".to_string(),
            }),
            mode: mode.to_string(),
            because: because.map(str::to_string),
            last_field: 0,
            fields: fields.map(|field| (field.name.clone(), FieldEssence::of(field))).collect(),
            indexes: indexes
                .map(|index| (index.name.value.clone(), IndexEssence::of(index)))
                .collect(),
        }
    }
}

impl FieldEssence {
    pub(super) fn of(field: &Field) -> Self {
        let missing = constant_default(field).to_json(&field.field_type);
        FieldEssence { field_type: field.field_type.to_string(), missing, removed: false }
    }
}

impl IndexEssence {
    fn of(index: &Index) -> Self {
        let mut keep: Vec<String> = index.keep.iter().map(|kept| kept.value.clone()).collect();
        keep.sort_unstable();
        IndexEssence {
            key: KeyEssence::of(&index.key),
            unique: index.unique,
            keep,
            when: index.when.as_ref().map(ToString::to_string),
            bucket: index.bucket.as_ref().map(bucket),
        }
    }
}

impl KeyEssence {
    fn of(key: &Key) -> Self {
        let mut parts = Vec::new();
        let own = |part: &&Part| part.segment().is_none_or(|segment| !segment.appended);
        parts.extend(key.group().iter().filter(own).map(part));
        // A key without a bar is all group, as one whose bar stands last.
        parts.push(PartEssence::Literal(BAR.to_string()));
        parts.extend(key.rest().iter().filter(own).map(part));
        KeyEssence(parts)
    }

    /// The key as a file would write it.
    pub(super) fn template(&self, separator: &str) -> String {
        let mut text = String::new();
        for part in &self.0 {
            let part = match part {
                PartEssence::Literal(literal) if literal == BAR => {
                    text.push_str(" |");
                    continue;
                }
                PartEssence::Literal(literal) => literal.clone(),
                PartEssence::Segment(segment) => segment.template(),
            };
            match text.ends_with('|') {
                true => text.push(' '),
                false if text.is_empty() => {}
                false => text.push_str(separator),
            }
            text.push_str(&part);
        }
        text
    }
}

impl SegmentEssence {
    fn template(&self) -> String {
        let name = &self.name;
        let descending = if self.descending { " desc" } else { "" };
        match (&self.segment_type, &self.from) {
            (Some(of), _) => format!("{{{name}: {of}{descending}}}"),
            (None, Some(from)) if from != name => format!("{{{name} = {from}{descending}}}"),
            (None, _) => format!("{{{name}{descending}}}"),
        }
    }
}

fn part(part: &Part) -> PartEssence {
    match part {
        Part::Literal(literal) => PartEssence::Literal(literal.clone()),
        Part::Segment(segment) => PartEssence::Segment(SegmentEssence {
            name: segment.name.clone(),
            // The type of an index's segment is that of the fields it is computed from.
            segment_type: segment.source.is_none().then(|| segment.segment_type.to_string()),
            from: segment.source.as_ref().map(ToString::to_string),
            descending: segment.descending,
        }),
    }
}

fn content(content: &Content) -> &'static str {
    match content {
        Content::Keys => "keys",
        Content::Fields(_) => "fields",
        Content::Json => "json",
        Content::Text => "text",
        Content::Bytes => "bytes",
        Content::Counter => "counter",
        Content::Window { .. } => "window",
    }
}

fn bucket(bucket: &Bucket) -> String {
    let every = i64::try_from(bucket.every).unwrap_or(i64::MAX);
    format!("{} every {}", bucket.by, duration_text(every))
}

/// The value of a field's constant default; null if it has none.
pub(super) fn constant_default(field: &Field) -> Value {
    field.default.as_ref().map_or(Value::Null, |default| constant(default, &field.field_type))
}

/// Whether every value of a type, by its name, is one of another: they are the same, or words were
/// added to an enum.
pub(super) fn is_widened(was: &str, is: &Type) -> bool {
    match is {
        Type::Optional(inner) => was.strip_suffix('?').is_some_and(|was| is_widened(was, inner)),
        Type::List(inner) => was
            .strip_prefix('[')
            .and_then(|was| was.strip_suffix(']'))
            .is_some_and(|was| is_widened(was, inner)),
        // No enum has one word only, and no word is the name of a type.
        Type::Enum(words) => {
            was.contains('|') && was.split('|').all(|word| words.iter().any(|known| known == word))
        }
        other => was == other.to_string(),
    }
}

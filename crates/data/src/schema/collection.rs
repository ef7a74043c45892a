//! A collection as bytes: the shape of its key, the slots of its rows, its indexes.

use super::index::IndexSchema;
use super::key::KeyShape;
use crate::catalogue::{BODY_NUMBER, Catalogue};
use crate::error::{Error, ErrorKind, Result};
use crate::record::{RecordField, RecordShape};
use crate::store::Version;
use crate::store::door::check_value;
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::{
    BodyType, Collection, Content, DefaultValue, Field, Key, Keyspace, Mode, Part, StoreKind, Type,
};
use keyspace::plan::place;
use std::sync::Arc;

/// A collection with a store's numbers.
#[derive(Debug)]
pub struct CollectionSchema {
    /// What the file says.
    pub model: Arc<Collection>,
    /// How its rows are written, as callers see it.
    pub mode: Mode,
    /// How its rows are kept on this store, which may compare what callers write unseen.
    pub kept: Mode,
    /// Its key.
    pub key: KeyShape,
    /// What a row holds beside its key: its fields and then its body, or its one value.
    pub slots: Vec<Slot>,
    /// How the slots are written.
    pub content: ContentShape,
    /// Its indexes, in the order of the file.
    pub indexes: Vec<Arc<IndexSchema>>,
}

/// A named place for a value in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The field's name, or `body`, or `value`.
    pub name: String,
    /// Its type.
    pub slot_type: Type,
}

/// How the content of a row is written.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentShape {
    /// No bytes: the key says it all.
    Nothing,
    /// A record; a body is its last field.
    Record(RecordShape),
    /// JSON text.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// A signed 64-bit number, big endian: a counter, or what a window has counted.
    Count,
}

impl CollectionSchema {
    pub(super) fn new(
        keyspace: &Keyspace,
        kind: StoreKind,
        catalogue: &Catalogue,
        model: Arc<Collection>,
    ) -> Result<Self> {
        let name = model.name.value.as_str();
        let (mode, kept) = (keyspace.mode(&model), keyspace.kept_mode(kind, &model));
        let family = family(keyspace, kind, catalogue, &model)?;
        let mut key = KeyShape::new(number(catalogue, name)?, &model.key, family);
        if let (Some(bucket), true) = (&model.bucket, kind.cuts_groups()) {
            key = key.sliced(bucket, number(catalogue, &format!("{name}/slices"))?);
        }
        let slots = slots(&model);
        let content = content(catalogue, &model)?;
        let mut indexes = Vec::new();
        for index in &model.indexes {
            let parts = (model.as_ref(), slots.as_slice(), index.clone());
            let of = IndexSchema::new(kind, catalogue, kept, parts)?;
            indexes.push(Arc::new(of));
        }
        Ok(CollectionSchema { model, mode, kept, key, slots, content, indexes })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.model.name.value
    }

    /// The version of a row as callers see it: none where the store keeps it for itself.
    pub fn shown_version(&self, version: Option<Version>) -> Option<Version> {
        version.filter(|_| self.mode.has_version())
    }

    /// The slot with this name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }

    /// The position of the key segment with this name.
    pub fn segment(&self, name: &str) -> Option<usize> {
        self.key.names.iter().position(|known| known == name)
    }

    /// The bytes of a row; `values` has a value for each slot.
    pub fn encode(&self, values: &[Value]) -> Result<Bytes> {
        match (&self.content, values) {
            (ContentShape::Record(shape), values) => shape.encode(values),
            (_, [value]) => self.encode_value(Some(value)),
            (ContentShape::Nothing, _) => self.encode_value(None),
            _ => Err(of_other_types()),
        }
    }

    /// The bytes of a row that is no record: its one value, or nothing.
    pub(crate) fn encode_value(&self, value: Option<&Value>) -> Result<Bytes> {
        Ok(match (&self.content, value) {
            (ContentShape::Nothing, _) => Bytes::new(),
            (ContentShape::Json, Some(Value::Json(json))) => Bytes::from(json.to_string()),
            (ContentShape::Text, Some(Value::Text(text))) => Bytes::from(text.clone()),
            (ContentShape::Bytes, Some(Value::Bytes(bytes))) => bytes.clone(),
            (ContentShape::Count, Some(Value::I64(number))) => {
                Bytes::copy_from_slice(&number.to_be_bytes())
            }
            _ => return Err(of_other_types()),
        })
    }

    /// Whether a row of these bytes may be written. Fields and a body were looked at when they were
    /// encoded, each for itself.
    pub fn check_size(&self, row: &Bytes) -> Result<()> {
        match &self.content {
            ContentShape::Record(_) => Ok(()),
            _ => check_value("a value is too large", row.len()),
        }
    }

    /// One slot of a stored row.
    pub fn read(&self, row: &Bytes, slot: usize) -> Result<Value> {
        let corrupt = || Error::new(ErrorKind::Corrupt, "a stored value cannot be read");
        Ok(match &self.content {
            ContentShape::Record(shape) => return shape.read(row, slot),
            ContentShape::Nothing => {
                return Err(Error::new(ErrorKind::Internal, "a bare key has no slots"));
            }
            ContentShape::Json => {
                Value::Json(serde_json::from_slice(row).map_err(|e| corrupt().caused_by(e))?)
            }
            ContentShape::Text => Value::Text(
                std::str::from_utf8(row).map_err(|e| corrupt().caused_by(e))?.to_string(),
            ),
            ContentShape::Bytes => Value::Bytes(row.clone()),
            ContentShape::Count => {
                let number: [u8; 8] = row.as_ref().try_into().map_err(|_| corrupt())?;
                Value::I64(i64::from_be_bytes(number))
            }
        })
    }

    /// Every slot of a stored row.
    pub fn decode(&self, row: &Bytes) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.slots.len());
        self.decode_into(row, &mut values)?;
        Ok(values)
    }

    /// Adds every slot of a stored row.
    pub fn decode_into(&self, row: &Bytes, values: &mut Vec<Value>) -> Result<()> {
        if let ContentShape::Record(shape) = &self.content {
            return shape.decode_into(row, values);
        }
        for slot in 0..self.slots.len() {
            values.push(self.read(row, slot)?);
        }
        Ok(())
    }
}

fn of_other_types() -> Error {
    Error::new(ErrorKind::Internal, "a row has values of other types")
}

/// The number of a name in the catalogue.
pub(super) fn number(catalogue: &Catalogue, name: &str) -> Result<u16> {
    catalogue.spaces.get(name).copied().ok_or_else(|| {
        Error::new(ErrorKind::Internal, "a name has no number in the catalogue").with("name", name)
    })
}

/// The smallest number among the collections whose rows live in the same place.
fn family(
    keyspace: &Keyspace,
    kind: StoreKind,
    catalogue: &Catalogue,
    model: &Collection,
) -> Result<u16> {
    let by_name = kind == StoreKind::RedisCluster;
    let apart = |of: &Collection| !by_name && (of.bucket.is_some() || of.history.is_some());
    let mut smallest = number(catalogue, &model.name.value)?;
    if apart(model) {
        return Ok(smallest);
    }
    for other in &keyspace.collections {
        let together = match by_name {
            true => is_named_alike(&other.key, &model.key),
            false => other.key.shares_group_with(&model.key),
        };
        if !apart(other) && together {
            smallest = smallest.min(number(catalogue, &other.name.value)?);
        }
    }
    Ok(smallest)
}

/// Whether the places of two keys have one name if their values are the same: a cluster knows a
/// place by its name alone, whatever its segments are called.
fn is_named_alike(one: &Key, other: &Key) -> bool {
    let (one, other) = (place(one), place(other));
    one.len() == other.len()
        && one.iter().zip(other).all(|parts| match parts {
            (Part::Literal(one), Part::Literal(other)) => one == other,
            (Part::Segment(one), Part::Segment(other)) => {
                one.segment_type == other.segment_type && one.descending == other.descending
            }
            _ => false,
        })
}

fn slots(model: &Collection) -> Vec<Slot> {
    let value = |slot_type: Type| vec![Slot { name: "value".to_string(), slot_type }];
    match &model.content {
        Content::Keys if model.body.is_none() => Vec::new(),
        Content::Json => value(Type::Json),
        Content::Text => value(Type::Text),
        Content::Bytes => value(Type::Bytes),
        Content::Counter | Content::Window { .. } => value(Type::I64),
        Content::Keys | Content::Fields(_) => {
            let fields = model.fields().iter();
            let fields = fields.map(|field| Slot {
                name: field.name.clone(),
                slot_type: field.field_type.clone(),
            });
            let body = model.body.map(|body| Slot {
                name: "body".to_string(),
                slot_type: match body {
                    BodyType::Bytes => Type::Bytes,
                    BodyType::Text => Type::Text,
                },
            });
            fields.chain(body).collect()
        }
    }
}

fn content(catalogue: &Catalogue, model: &Collection) -> Result<ContentShape> {
    Ok(match &model.content {
        Content::Keys if model.body.is_none() => ContentShape::Nothing,
        Content::Json => ContentShape::Json,
        Content::Text => ContentShape::Text,
        Content::Bytes => ContentShape::Bytes,
        Content::Counter | Content::Window { .. } => ContentShape::Count,
        Content::Keys | Content::Fields(_) => {
            let mut fields = Vec::new();
            for field in model.fields() {
                fields.push(record_field(catalogue, &model.name.value, field)?);
            }
            if let Some(body) = model.body {
                let (field_type, missing) = match body {
                    BodyType::Bytes => (Type::Bytes, Value::Bytes(Bytes::new())),
                    BodyType::Text => (Type::Text, Value::Text(String::new())),
                };
                fields.push(RecordField { number: BODY_NUMBER, field_type, missing });
            }
            ContentShape::Record(RecordShape { fields })
        }
    })
}

/// A field with its number, and what older records answer for it.
pub(super) fn record_field(
    catalogue: &Catalogue,
    collection: &str,
    field: &Field,
) -> Result<RecordField> {
    let numbers = catalogue.fields.get(collection);
    let Some(number) = numbers.and_then(|fields| fields.get(&field.name)).copied() else {
        return Err(Error::new(ErrorKind::Internal, "a field has no number in the catalogue")
            .with("field", &field.name));
    };
    let missing = catalogue.missing(collection, field);
    Ok(RecordField { number, field_type: field.field_type.clone(), missing })
}

/// The value of a constant default; null for those that depend on the call.
pub fn constant(default: &DefaultValue, of: &Type) -> Value {
    if *of.required() == Type::Json {
        return constant_json(default).map_or(Value::Null, Value::Json);
    }
    match (default, of.required()) {
        (DefaultValue::Number(text), Type::I64) => text.parse().map_or(Value::Null, Value::I64),
        (DefaultValue::Number(text), Type::U64) => text.parse().map_or(Value::Null, Value::U64),
        (DefaultValue::Number(text), Type::F64) => text.parse().map_or(Value::Null, Value::F64),
        (DefaultValue::Text(text), _) => Value::Text(text.clone()),
        (DefaultValue::Bool(value), _) => Value::Bool(*value),
        (DefaultValue::EmptyList, _) => Value::List(Vec::new()),
        _ => Value::Null,
    }
}

/// The JSON of a constant default.
fn constant_json(default: &DefaultValue) -> Option<serde_json::Value> {
    Some(match default {
        DefaultValue::Number(text) => match text.parse::<i64>() {
            Ok(whole) => serde_json::Value::from(whole),
            Err(_) => serde_json::Value::from(text.parse::<f64>().ok()?),
        },
        DefaultValue::Text(text) => serde_json::Value::from(text.as_str()),
        DefaultValue::Bool(value) => serde_json::Value::from(*value),
        DefaultValue::EmptyList => serde_json::Value::Array(Vec::new()),
        DefaultValue::EmptyObject => serde_json::Value::Object(serde_json::Map::new()),
        DefaultValue::New(_) | DefaultValue::Now | DefaultValue::Touch | DefaultValue::Caller => {
            return None;
        }
    })
}

//! Records as Hashes: the values of a row as the fields of a Hash, and back.
//!
//! ```text
//! record ─decode─▶ values ─▶ email ann@example.org  created_at 2026-11-15T10:00:00.000Z
//! record ◀─encode─ values ◀─ fields in any order
//! ```
//!
//! Null is an absent field. Where an absent field would mean the default of a record that is older
//! than it, the null is named in `~n`. Texts are those of the command line, a body is its bytes.

use super::error::damaged;
use bytes::Bytes;
use data::record::RecordShape;
use data::value::Value;
use data::{Error, Result};
use keyspace::layout::redis::NULLS;
use keyspace::model::Type;

/// The fields of a Hash that holds a record.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    shape: RecordShape,
    slots: Vec<FieldSlot>,
}

#[derive(Clone, Debug)]
struct FieldSlot {
    /// As people see it.
    name: Vec<u8>,
    of: Type,
    /// Whether it is a body, kept byte for byte.
    is_body: bool,
    /// What an absent field means.
    missing: Value,
}

/// A name and a value of a Hash.
pub(super) type Field = (Vec<u8>, Vec<u8>);

impl Fields {
    /// The fields of a record: for each slot its name, and whether it is a body. An entry is as old
    /// as the fields it keeps, so that what it lacks is null.
    pub(super) fn new(shape: RecordShape, names: Vec<(String, bool)>, is_entry: bool) -> Fields {
        let slots = shape.fields.iter().zip(names).map(|(field, (name, is_body))| FieldSlot {
            name: name.into_bytes(),
            of: field.field_type.clone(),
            is_body,
            missing: if is_entry { Value::Null } else { field.missing.clone() },
        });
        Fields { slots: slots.collect(), shape }
    }

    /// The fields of a record.
    pub(super) fn write(&self, record: &Bytes) -> Result<Vec<Field>> {
        let values = self.shape.decode(record)?;
        let mut fields = Vec::with_capacity(values.len() + 3);
        let mut nulls = Vec::new();
        for (slot, value) in self.slots.iter().zip(values) {
            match value {
                Value::Null if slot.missing.is_null() => {}
                Value::Null => {
                    if !nulls.is_empty() {
                        nulls.push(b' ');
                    }
                    nulls.extend_from_slice(&slot.name);
                }
                value => fields.push((slot.name.clone(), slot.text(value))),
            }
        }
        if !nulls.is_empty() {
            fields.push((NULLS.as_bytes().to_vec(), nulls));
        }
        Ok(fields)
    }

    /// The record of some fields; those that are not its own are passed over.
    pub(super) fn read(&self, fields: &[Field]) -> Result<Bytes> {
        let find = |name: &[u8]| fields.iter().find(|(known, _)| known == name).map(|(_, v)| v);
        let nulls = find(NULLS.as_bytes());
        let is_null = |name: &[u8]| {
            nulls.is_some_and(|nulls| nulls.split(|byte| *byte == b' ').any(|null| null == name))
        };
        let mut values = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            values.push(match find(&slot.name) {
                Some(text) => slot.value(text)?,
                None if slot.missing.is_null() || is_null(&slot.name) => Value::Null,
                None => slot.missing.clone(),
            });
        }
        self.shape.encode(&values).map_err(|error| {
            damaged("a record lacks a field, or has one of another type").caused_by(error)
        })
    }
}

impl FieldSlot {
    fn text(&self, value: Value) -> Vec<u8> {
        match value {
            Value::Text(text) => text.into_bytes(),
            Value::Bytes(bytes) if self.is_body => bytes.to_vec(),
            value => value.to_text(&self.of).into_bytes(),
        }
    }

    fn value(&self, text: &[u8]) -> Result<Value> {
        let of = self.of.required();
        if self.is_body && *of == Type::Bytes {
            return Ok(Value::Bytes(Bytes::copy_from_slice(text)));
        }
        let wrong = |error: Option<Error>| {
            let shown = damaged("a field").with("field", self.name.escape_ascii());
            match error {
                Some(error) => shown.caused_by(error),
                None => shown,
            }
        };
        let text = std::str::from_utf8(text).map_err(|_| wrong(None))?;
        // The required type: `null` is a text like any other here.
        Value::from_text(text, of).map_err(|error| wrong(Some(error)))
    }
}

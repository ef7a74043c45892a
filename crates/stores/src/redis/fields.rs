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
use super::script::Texts;
use bytes::Bytes;
use data::clock::Milliseconds;
use data::record::{Payload, RecordShape};
use data::value::Value;
use data::{Error, ErrorKind, Result};
use keyspace::layout::redis::NULLS;
use keyspace::model::Type;

/// The fields of a Hash that holds a record.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    shape: RecordShape,
    slots: Vec<FieldSlot>,
    /// Whether a record holds every field nearly as the Hash does.
    is_direct: bool,
    /// Whether it is an entry that keeps no fields, and has no content.
    is_nothing: bool,
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

/// A name and a value of a Hash that was read.
pub(super) type Field<'r> = (&'r [u8], &'r [u8]);

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
        let slots: Vec<FieldSlot> = slots.collect();
        let is_direct = slots.iter().all(FieldSlot::is_direct);
        let is_nothing = is_entry && slots.is_empty();
        Fields { slots, shape, is_direct, is_nothing }
    }

    /// Adds the names and values of a record's fields; answers how many texts that are.
    pub(super) fn write(&self, record: &Bytes, texts: &mut Texts) -> Result<usize> {
        if self.is_nothing {
            return Ok(0);
        }
        let before = texts.len();
        let mut nulls = Vec::new();
        for (slot, value) in self.slots.iter().zip(self.shape.decode(record)?) {
            match value {
                Value::Null if slot.missing.is_null() => {}
                Value::Null => {
                    if !nulls.is_empty() {
                        nulls.push(b' ');
                    }
                    nulls.extend_from_slice(&slot.name);
                }
                value => {
                    texts.push(&slot.name);
                    slot.add_text(&value, texts);
                }
            }
        }
        if !nulls.is_empty() {
            texts.push(NULLS);
            texts.push(nulls);
        }
        Ok(texts.len() - before)
    }

    /// The record of some fields; those that are not its own are passed over.
    pub(super) fn read(&self, fields: &[Field<'_>]) -> Result<Bytes> {
        if self.is_nothing {
            return Ok(Bytes::new());
        }
        // What goes wrong here is said by the longer way.
        if let Some(Ok(record)) = self.direct(fields) {
            return Ok(record);
        }
        let mut values = Vec::with_capacity(self.slots.len());
        for (number, slot) in self.slots.iter().enumerate() {
            values.push(match text_of(fields, number, &slot.name) {
                Some(text) => slot.value(text)?,
                None if slot.missing.is_null() || is_null(fields, &slot.name) => Value::Null,
                None => slot.missing.clone(),
            });
        }
        self.shape.encode(&values).map_err(|error| {
            damaged("a record lacks a field, or has one of another type").caused_by(error)
        })
    }
}

impl Fields {
    /// The record of some fields without values in between; nothing where they are needed.
    fn direct(&self, fields: &[Field<'_>]) -> Option<Result<Bytes>> {
        let text = |number: usize, slot: &FieldSlot| text_of(fields, number, &slot.name);
        let is_known = |(number, slot): (usize, &FieldSlot)| {
            slot.missing.is_null() || text(number, slot).is_some()
        };
        if !self.is_direct || !self.slots.iter().enumerate().all(is_known) {
            return None;
        }
        Some(self.shape.encode_payloads(|number, _| {
            let slot = self.slots.get(number);
            match slot.and_then(|slot| Some((slot, text(number, slot)?))) {
                Some((slot, text)) => slot.payload(text).map(Some),
                None => Ok(None),
            }
        }))
    }
}

/// The text of a field: as long as there are few, they come in the order in which they were
/// written.
fn text_of<'r>(fields: &[Field<'r>], number: usize, name: &[u8]) -> Option<&'r [u8]> {
    let is_it = |(known, text): &Field<'r>| (*known == name).then_some(*text);
    fields.get(number).and_then(is_it).or_else(|| fields.iter().find_map(is_it))
}

/// Whether a Hash names this field as null.
fn is_null(fields: &[Field<'_>], name: &[u8]) -> bool {
    let nulls = fields.iter().find(|(known, _)| *known == NULLS.as_bytes());
    nulls.is_some_and(|(_, nulls)| nulls.split(|byte| *byte == b' ').any(|null| null == name))
}

impl FieldSlot {
    /// Whether a record holds the field nearly as the Hash does.
    fn is_direct(&self) -> bool {
        matches!(self.of.required(), Type::Text | Type::Bool | Type::I64 | Type::U64 | Type::F64)
            || self.is_body
    }

    /// The field as a record holds it, if it is direct.
    fn payload<'t>(&self, text: &'t [u8]) -> Result<Payload<'t>> {
        let of = self.of.required();
        if self.is_body && *of == Type::Bytes {
            return Ok(Payload::Borrowed(text));
        }
        let read = std::str::from_utf8(text).map_err(|_| damaged("a field"))?;
        if *of == Type::Text {
            return Ok(Payload::Borrowed(text));
        }
        Ok(match Value::from_text(read, of)? {
            Value::Bool(value) => Payload::short([u8::from(value)]),
            Value::I64(value) => Payload::short(value.to_be_bytes()),
            Value::U64(value) => Payload::short(value.to_be_bytes()),
            Value::F64(value) => Payload::short((value + 0.0).to_be_bytes()),
            _ => return Err(damaged("a field")),
        })
    }

    fn add_text(&self, value: &Value, texts: &mut Texts) {
        match value {
            Value::Text(text) => texts.push(text),
            Value::Bytes(bytes) if self.is_body => texts.push(bytes),
            value => texts.push(value.to_text(&self.of)),
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
        match of {
            Type::Text => Ok(Value::Text(text.to_string())),
            // The required type: `null` is a text like any other here.
            of => Value::from_text(text, of).map_err(|error| wrong(Some(error))),
        }
    }
}

/// An instant in milliseconds; scores are written as floats.
pub(super) fn instant(text: &[u8]) -> Result<Milliseconds> {
    let wrong = || damaged("an instant").with("instant", text.escape_ascii());
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    let float: f64 = text.parse().map_err(|_| wrong())?;
    Ok(float as Milliseconds)
}

/// A number as rows hold it.
pub(super) fn count(text: &[u8]) -> Result<Bytes> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let number = number.ok_or_else(|| {
        Error::new(
            ErrorKind::Mismatch,
            "something that is no whole number lies where a counter should be",
        )
        .with("found", text.escape_ascii().take(64).map(char::from).collect::<String>())
    })?;
    Ok(Bytes::copy_from_slice(&number.to_be_bytes()))
}

//! What is in the files of a row: from its slots to the content of one or two files, and back.
//!
//! ```text
//! record          a JSON object, a member a field, over several lines
//! body            the bytes as they are, and the fields as JSON in a second file
//! text, bytes     as they are            json, over several lines
//! counter         decimal digits         bare key, an empty file
//! ```
//!
//! What was written reads as the same slots, to the last bit. What people write may have other
//! spaces and another order; whatever has no meaning is refused with the reason, never guessed.

use super::path::PathTemplate;
use bytes::Bytes;
use data::catalogue::Catalogue;
use data::schema::{CollectionSchema, ContentShape};
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::files::{Holds, TreeFile};
use keyspace::model::{BodyType, Keyspace, Type};
use serde_json::Value as Json;
use std::sync::Arc;

/// The largest JSON that is written over several lines. Lists inside one another can make a value
/// of the largest size sixty times as long.
const PRETTY_BYTES_MAX: usize = 4 << 20;
/// The largest file that can be a row: nothing larger is ever written, in either form.
pub(super) const FILE_BYTES_MAX: u64 = 16 << 20;

/// The files of the rows of one collection.
#[derive(Debug)]
pub(super) struct RowFiles {
    pub(super) collection: Arc<CollectionSchema>,
    /// Where the row is.
    pub(super) main: PathTemplate,
    /// Where its fields are, if the row is a body.
    pub(super) fields: Option<PathTemplate>,
    holds: Holds,
    /// The names of the fields as people see them, by slot.
    names: Vec<Name>,
}

/// The name of a field, and as JSON has it.
#[derive(Debug)]
struct Name {
    text: String,
    json: Vec<u8>,
}

/// The content of a row's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) main: Bytes,
    pub(super) fields: Option<Bytes>,
}

impl RowFiles {
    pub(super) fn new(
        keyspace: &Keyspace,
        collection: &Arc<CollectionSchema>,
        main: &TreeFile,
        fields: Option<&TreeFile>,
    ) -> Result<RowFiles> {
        let fields = fields.map(|file| PathTemplate::of_rows(&file.path, collection));
        let names = collection.model.fields().iter().map(|field| {
            let text = keyspace.shown(&field.name);
            Ok(Name { json: serde_json::to_vec(&text).map_err(no_text)?, text })
        });
        Ok(RowFiles {
            collection: collection.clone(),
            main: PathTemplate::of_rows(&main.path, collection)?,
            fields: fields.transpose()?,
            holds: main.holds.clone(),
            names: names.collect::<Result<_>>()?,
        })
    }

    /// The content of the files of a row with these slots.
    pub(super) fn contents(&self, slots: &[Value]) -> Result<Contents> {
        let value = || slots.last().ok_or_else(no_value);
        let main = match &self.holds {
            Holds::Record => self.object(slots)?,
            Holds::Body(_) | Holds::Text | Holds::Bytes => match value()? {
                Value::Text(text) => Bytes::from(text.clone()),
                Value::Bytes(bytes) => bytes.clone(),
                _ => return Err(no_value()),
            },
            Holds::Json => match value()? {
                Value::Json(json) => pretty(json)?,
                _ => return Err(no_value()),
            },
            Holds::Count => match value()? {
                Value::I64(number) => Bytes::from(number.to_string()),
                _ => return Err(no_value()),
            },
            Holds::Nothing => Bytes::new(),
            Holds::Fields | Holds::Entries(_) => return Err(no_value()),
        };
        let fields = match &self.fields {
            None => None,
            Some(_) => Some(self.object(slots)?),
        };
        Ok(Contents { main, fields })
    }

    /// The slots that files say, or why they say none.
    pub(super) fn slots(&self, contents: &Contents, catalogue: &Catalogue) -> Result<Vec<Value>> {
        let main = &contents.main;
        Ok(match &self.holds {
            Holds::Record => self.members(main, catalogue)?,
            Holds::Body(body) => {
                let mut slots = match &contents.fields {
                    Some(fields) => self.members(fields, catalogue)?,
                    None => Vec::new(),
                };
                slots.push(match body {
                    BodyType::Bytes => Value::Bytes(main.clone()),
                    BodyType::Text => Value::Text(text(main)?),
                });
                slots
            }
            Holds::Text => vec![Value::Text(text(main)?)],
            Holds::Bytes => vec![Value::Bytes(main.clone())],
            Holds::Json => vec![Value::Json(json(main)?)],
            Holds::Count => {
                let digits = text(main)?;
                let number = digits.trim().parse().map_err(|_| not_said("it is no number"))?;
                vec![Value::I64(number)]
            }
            Holds::Nothing if main.iter().all(u8::is_ascii_whitespace) => Vec::new(),
            Holds::Nothing => return Err(not_said("its key is all it can say, so it is empty")),
            Holds::Fields | Holds::Entries(_) => return Err(no_value()),
        })
    }

    /// The row that slots which were committed once make: what may be committed was asked then.
    pub(super) fn encode(&self, slots: &[Value]) -> Result<Bytes> {
        match (&self.collection.content, slots) {
            (ContentShape::Text, [Value::Text(text)]) => Ok(Bytes::from(text.clone())),
            (ContentShape::Bytes, [Value::Bytes(bytes)]) => Ok(bytes.clone()),
            (ContentShape::Json, [Value::Json(json)]) => Ok(Bytes::from(json.to_string())),
            _ => self.collection.encode(slots),
        }
    }

    /// The fields as a JSON object, over several lines.
    fn object(&self, slots: &[Value]) -> Result<Bytes> {
        let mut text = Vec::with_capacity(512);
        let members = self.names.iter().zip(&self.collection.slots).zip(slots);
        for (number, ((name, slot), value)) in members.enumerate() {
            text.extend_from_slice(if number == 0 { b"{\n  " } else { b",\n  " });
            text.extend_from_slice(&name.json);
            text.extend_from_slice(b": ");
            push_member(&mut text, value, &slot.slot_type)?;
        }
        text.extend_from_slice(if text.is_empty() { b"{}\n" } else { b"\n}\n" });
        match text.len() > PRETTY_BYTES_MAX {
            false => Ok(Bytes::from(text)),
            true => pretty(&parsed(&Bytes::from(text))?),
        }
    }

    /// The fields of a JSON object, by slot. A field that is not there answers what records
    /// answer that were written before it was declared.
    fn members(&self, content: &Bytes, catalogue: &Catalogue) -> Result<Vec<Value>> {
        let Json::Object(mut members) = parsed(content)? else {
            return Err(not_said("it is no JSON object"));
        };
        let mut slots = Vec::with_capacity(self.collection.slots.len());
        let missing = match &self.collection.content {
            ContentShape::Record(shape) => shape.fields.as_slice(),
            _ => &[],
        };
        for ((name, slot), field) in self.names.iter().zip(&self.collection.slots).zip(missing) {
            let name = &name.text;
            slots.push(match members.shift_remove(name) {
                Some(Json::String(text)) if *slot.slot_type.required() == Type::Text => {
                    Value::Text(text)
                }
                Some(json) => Value::from_json(&json, &slot.slot_type)
                    .map_err(|error| not_said("a field is not of its type").caused_by(error))
                    .map_err(|error| error.with("field", name))?,
                None if field.missing.is_null() && !slot.slot_type.is_optional() => {
                    return Err(not_said("a field is missing").with("field", name));
                }
                None => field.missing.clone(),
            });
        }
        // What an older file declared may still be there; a name that nobody declared is a slip.
        let declared = catalogue.fields.get(self.collection.name());
        let keyspace_name = |shown: &str| {
            declared.is_some_and(|known| known.keys().any(|name| is_shown_as(name, shown)))
        };
        match members.keys().find(|name| !keyspace_name(name)) {
            None => Ok(slots),
            Some(unknown) => {
                Err(not_said("it has a member that is no field").with("member", unknown))
            }
        }
    }
}

/// Whether a field of this name is shown so: as it is written, or in camel case.
fn is_shown_as(name: &str, shown: &str) -> bool {
    let plain = |text: &str| {
        text.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    name == shown || plain(name) == plain(shown)
}

/// Adds the JSON of a value, as it stands in an object over several lines.
fn push_member(text: &mut Vec<u8>, value: &Value, of: &Type) -> Result<()> {
    let json = match value {
        Value::Text(value) => return serde_json::to_writer(text, value).map_err(no_text),
        value => value.to_json(of),
    };
    match json {
        Json::Array(_) | Json::Object(_) => {
            // A line break is never inside of a text: there it is escaped.
            for byte in serde_json::to_vec_pretty(&json).map_err(no_text)? {
                match byte {
                    b'\n' => text.extend_from_slice(b"\n  "),
                    byte => text.push(byte),
                }
            }
            Ok(())
        }
        plain => serde_json::to_writer(text, &plain).map_err(no_text),
    }
}

/// JSON over several lines; on one, where its lines would be mostly spaces.
fn pretty(json: &Json) -> Result<Bytes> {
    let mut content = serde_json::to_vec_pretty(json).map_err(no_text)?;
    if content.len() > PRETTY_BYTES_MAX {
        content = serde_json::to_vec(json).map_err(no_text)?;
    }
    content.push(b'\n');
    Ok(Bytes::from(content))
}

fn no_text(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, "a JSON value has no text").caused_by(error)
}

fn parsed(content: &Bytes) -> Result<Json> {
    serde_json::from_slice(content).map_err(|error| not_said("it is no JSON").caused_by(error))
}

/// A JSON value as deep as one may be, and no deeper.
fn json(content: &Bytes) -> Result<Json> {
    match Value::from_json(&parsed(content)?, &Type::Json)? {
        Value::Json(json) => Ok(json),
        _ => Err(no_value()),
    }
}

fn text(content: &Bytes) -> Result<String> {
    let text = std::str::from_utf8(content);
    text.map(str::to_string).map_err(|error| not_said("it is not UTF-8").caused_by(error))
}

/// A file that says nothing a row can hold.
fn not_said(why: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "a file does not say what its row holds").with("why", why)
}

fn no_value() -> Error {
    Error::new(ErrorKind::Internal, "a row has values of other types than its files")
}

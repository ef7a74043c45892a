//! The edge where calls come as JSON or text and answers leave as JSON.
//!
//! ```text
//! {"noteId": "…", "limit": 10}  ─▶ what is given for each argument     names may be wrong here
//! note_id=… limit=10            ─▶
//! answer ─▶ {"row": …, "version": …} │ {"rows": […], "next": …} │ {"key": …, "row": …} │ …
//! ```
//!
//! Names of arguments and members are those people see; `row`, `next` and their like are words of
//! the protocol and never change. Two members of one name are refused in a text, and otherwise the
//! business of whoever parses.

use super::answer::{Answer, Changed, Record};
use super::call::Given;
use super::next::Cursor;
use super::prepare::Prepared;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Schema, Space, corrupt};
use crate::store::{Key, Version};
use crate::value::{Value, strict};
use keyspace::diagnostic::{listed, nearest};
use keyspace::key::KeyReader;
use keyspace::key::text::{Part, Separator, format};
use keyspace::layout::engine::segment_shape;
use keyspace::model::{self, Argument, ArgumentRole, Keyspace, Type};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;

impl Prepared {
    /// What a JSON object gives for each argument.
    pub fn given_from_json(
        &self,
        keyspace: &Keyspace,
        arguments: &Map<String, Json>,
    ) -> Result<Vec<Given>> {
        let members = arguments.iter().map(|(name, json)| (name, Cow::Borrowed(json)));
        self.given_from_members(keyspace, members)
    }

    /// The same of members that need not be an object any more; of two with one name the last
    /// counts. Texts that nobody else needs are taken as they are.
    pub fn given_from_members<'j>(
        &self,
        keyspace: &Keyspace,
        members: impl IntoIterator<Item = (impl AsRef<str>, Cow<'j, Json>)>,
    ) -> Result<Vec<Given>> {
        let mut given = vec![Given::Missing; self.pattern.arguments.len()];
        for (name, json) in members {
            let name = name.as_ref();
            let (argument, slot) = self.place(keyspace, &mut given, name)?;
            *slot = match (argument.argument_type.required(), json) {
                (Type::Text, Cow::Owned(Json::String(text))) => Given::Value(Value::Text(text)),
                (_, json) => from_json(keyspace, argument, &json)
                    .map_err(|error| error.with("argument", name))?,
            };
        }
        Ok(given)
    }

    /// What names and texts, as a command line has them, give for each argument.
    pub fn given_from_text(
        &self,
        keyspace: &Keyspace,
        arguments: &[(impl AsRef<str>, impl AsRef<str>)],
    ) -> Result<Vec<Given>> {
        let mut given = vec![Given::Missing; self.pattern.arguments.len()];
        for (name, text) in arguments {
            let (name, text) = (name.as_ref(), text.as_ref());
            let (argument, slot) = self.place(keyspace, &mut given, name)?;
            if *slot != Given::Missing {
                return Err(Error::new(ErrorKind::Argument, "an argument is given twice")
                    .with("argument", name));
            }
            *slot = from_text(keyspace, argument, text).map_err(|e| e.with("argument", name))?;
        }
        Ok(given)
    }

    /// Whether there is an argument that people know by this name.
    pub fn takes(&self, name: &str) -> bool {
        self.shown.iter().any(|shown| shown == name)
    }

    /// The argument with a name, and the place for what is given for it. Whoever tries to say whose
    /// row it is should know why that is no argument.
    fn place<'p>(
        &'p self,
        keyspace: &Keyspace,
        given: &'p mut [Given],
        name: &str,
    ) -> Result<(&'p Argument, &'p mut Given)> {
        let position = self.shown.iter().position(|shown| shown == name);
        let found = position.and_then(|at| self.pattern.arguments.get(at).zip(given.get_mut(at)));
        match found {
            Some(found) => Ok(found),
            None if self.never_given.iter().any(|filled| filled == name) => {
                let message = "the caller says this by calling: it is never an argument";
                Err(Error::new(ErrorKind::Argument, message).with("argument", name))
            }
            None => Err(unknown(keyspace, &self.pattern.arguments, name)),
        }
    }
}

fn find<'a>(
    keyspace: &Keyspace,
    arguments: &'a [Argument],
    name: &str,
) -> Result<(usize, &'a Argument)> {
    let mut known = arguments.iter().enumerate();
    let found = known.find(|(_, argument)| keyspace.shown(&argument.name) == name);
    found.ok_or_else(|| unknown(keyspace, arguments, name))
}

#[cold]
fn unknown(keyspace: &Keyspace, arguments: &[Argument], name: &str) -> Error {
    let names: Vec<String> = arguments.iter().map(|a| keyspace.shown(&a.name)).collect();
    let names = || names.iter().map(String::as_str);
    let shown: String = name.chars().take(64).collect();
    let error = Error::new(ErrorKind::Argument, "there is no such argument");
    match nearest(name, names()) {
        Some(near) => error.with("argument", shown).with("did you mean", near),
        None => error.with("argument", shown).with("arguments", listed(names())),
    }
}

fn from_object(
    keyspace: &Keyspace,
    arguments: &[Argument],
    object: &Map<String, Json>,
) -> Result<Vec<Given>> {
    let mut given = vec![Given::Missing; arguments.len()];
    for (name, json) in object {
        let (position, argument) = find(keyspace, arguments, name)?;
        let value = from_json(keyspace, argument, json).map_err(|e| e.with("argument", name))?;
        if let Some(slot) = given.get_mut(position) {
            *slot = value;
        }
    }
    Ok(given)
}

fn from_json(keyspace: &Keyspace, argument: &Argument, json: &Json) -> Result<Given> {
    match &argument.role {
        ArgumentRole::Rows(each) => rows_from_json(keyspace, each, json),
        // What steers a page is left out by null.
        ArgumentRole::Page if json.is_null() => Ok(Given::Missing),
        _ => Value::from_json(json, &argument.argument_type).map(Given::Value),
    }
}

fn rows_from_json(keyspace: &Keyspace, each: &[Argument], json: &Json) -> Result<Given> {
    let wrong = || Error::new(ErrorKind::Argument, "rows are a list of objects");
    let rows = json.as_array().ok_or_else(wrong)?;
    let rows = rows.iter().enumerate().map(|(number, row)| {
        let row = row.as_object().ok_or_else(wrong);
        let given = row.and_then(|row| from_object(keyspace, each, row));
        given.map_err(|error| error.with("row", number))
    });
    rows.collect::<Result<Vec<_>>>().map(Given::Rows)
}

fn from_text(keyspace: &Keyspace, argument: &Argument, text: &str) -> Result<Given> {
    match &argument.role {
        ArgumentRole::Rows(each) => {
            let wrong = |error: serde_json::Error| {
                Error::new(ErrorKind::Argument, "rows are a list of objects, as JSON")
                    .caused_by(error)
            };
            rows_from_json(keyspace, each, &strict::in_text(text).map_err(wrong)?)
        }
        _ => Value::from_text(text, &argument.argument_type).map(Given::Value),
    }
}

impl Answer {
    /// The answer as JSON, with the names people see.
    pub fn to_json(&self, schema: &Schema) -> Result<Json> {
        Ok(match self {
            Answer::Row(record) => {
                let record = record.as_ref();
                json!({
                    "row": row(record)?,
                    "version": version(record.and_then(|record| record.version)),
                })
            }
            Answer::Rows(records) => {
                let rows = records.iter().map(|record| row(record.as_ref()));
                json!({ "rows": rows.collect::<Result<Vec<_>>>()? })
            }
            Answer::Page { rows, next } => {
                let rows = rows.iter().map(Record::to_json);
                let next = next.as_ref().map(Cursor::as_str);
                json!({ "rows": rows.collect::<Result<Vec<_>>>()?, "next": next })
            }
            Answer::Changed(changed) => changed.to_json(schema)?,
            Answer::ChangedRows(all) => {
                let all = all.iter().map(|changed| changed.to_json(schema));
                json!({ "results": all.collect::<Result<Vec<_>>>()? })
            }
            Answer::Total(total) => json!({ "total": number(*total) }),
            Answer::Window { allowed, remaining, resets_at } => json!({
                "allowed": allowed,
                "remaining": number(*remaining),
                "resets_at": Value::Timestamp(*resets_at).to_json(&Type::Timestamp),
            }),
            Answer::Results(answers) => {
                let answers = answers.iter().map(|answer| answer.to_json(schema));
                json!({ "results": answers.collect::<Result<Vec<_>>>()? })
            }
        })
    }
}

impl Changed {
    fn to_json(&self, schema: &Schema) -> Result<Json> {
        let mut json = json!({
            "key": key_text(schema, &self.key)?,
            "version": version(self.version),
            "row": row(self.row.as_ref())?,
        });
        if let (true, Some(object)) = (self.existed, json.as_object_mut()) {
            object.insert("existed".to_string(), Json::Bool(true));
        }
        Ok(json)
    }
}

fn row(record: Option<&Record>) -> Result<Json> {
    record.map_or(Ok(Json::Null), Record::to_json)
}

fn version(version: Option<Version>) -> Option<String> {
    version.map(|version| version.to_string())
}

fn number(number: i64) -> Json {
    Value::I64(number).to_json(&Type::I64)
}

/// The text form of a row's key: literals and segments.
pub fn key_text(schema: &Schema, key: &Key) -> Result<String> {
    let Space::Rows(collection) = schema.space(key.space())? else {
        return Err(Error::new(ErrorKind::Internal, "only keys of rows have a text"));
    };
    let parts = collection.model.key.parts.iter().map(|part| match part {
        model::Part::Literal(literal) => Part::Literal(literal),
        model::Part::Segment(segment) => Part::Segment(segment_shape(segment).kind),
    });
    let parts: Vec<Part<'_>> = parts.collect();
    let separator = match schema.keyspace().separator {
        '/' => Separator::Slash,
        _ => Separator::Colon,
    };
    let mut reader = KeyReader::new(key.as_ref()).map_err(corrupt)?;
    let mut values = Vec::with_capacity(parts.len());
    for segment in &collection.key.segments {
        values.push(reader.value(*segment).map_err(corrupt)?);
    }
    reader.finish().map_err(corrupt)?;
    Ok(format(separator, &parts, &values)?)
}

//! Answers as the text of JSON, without a tree of it in between: what a server sends.
//!
//! It is the text of [`Answer::to_json`], byte for byte; the suite holds the two together.

use super::answer::{Answer, AnswerShape, Changed, Record};
use super::json::key_text;
use super::members::MemberReader;
use super::next::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use crate::store::Version;
use crate::value::json::EXACT_MAX;
use crate::value::{Value, scalar_text};
use keyspace::model::Type;
use serde::Serialize;

impl Answer {
    /// Writes the answer as JSON, with the names people see.
    pub fn write_json(&self, schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Answer::Row(record) => {
                out.extend_from_slice(b"{\"row\":");
                write_row(record.as_ref(), out)?;
                out.extend_from_slice(b",\"version\":");
                write_version(record.as_ref().and_then(|record| record.version), out);
                out.push(b'}');
            }
            Answer::Rows(records) => {
                out.extend_from_slice(b"{\"rows\":");
                write_list(records, out, |record, out| write_row(record.as_ref(), out))?;
                out.push(b'}');
            }
            Answer::Page { rows, next } => {
                out.extend_from_slice(b"{\"rows\":");
                write_list(rows, out, |record, out| record.write_json(out))?;
                out.extend_from_slice(b",\"next\":");
                write(&next.as_ref().map(Cursor::as_str), out)?;
                out.push(b'}');
            }
            Answer::Changed(changed) => changed.write_json(schema, out)?,
            Answer::ChangedRows(all) => {
                out.extend_from_slice(b"{\"results\":");
                write_list(all, out, |changed, out| changed.write_json(schema, out))?;
                out.push(b'}');
            }
            Answer::Results(answers) => {
                out.extend_from_slice(b"{\"results\":");
                write_list(answers, out, |answer, out| answer.write_json(schema, out))?;
                out.push(b'}');
            }
            Answer::Total(_) | Answer::Window { .. } => write(&self.to_json(schema)?, out)?,
        }
        Ok(())
    }
}

impl Changed {
    fn write_json(&self, schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"{\"key\":");
        write(&key_text(schema, &self.key)?, out)?;
        out.extend_from_slice(b",\"version\":");
        write_version(self.version, out);
        out.extend_from_slice(b",\"row\":");
        write_row(self.row.as_ref(), out)?;
        if self.existed {
            out.extend_from_slice(b",\"existed\":true");
        }
        out.push(b'}');
        Ok(())
    }
}

impl Record {
    /// Writes the row as JSON, with the names people see.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        write_members(&self.shape, self.reader()?, out)
    }
}

/// The members of a row in the order of its shape.
fn write_members(
    shape: &AnswerShape,
    mut reader: MemberReader<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut before = b'{';
    for member in &shape.members {
        out.push(before);
        before = b',';
        out.extend_from_slice(member.label.as_bytes());
        let of = &member.member_type;
        let is_written = match of.required() {
            Type::Text | Type::Enum(_) => reader.text(|text| write(text, out))?.is_some(),
            _ => false,
        };
        if !is_written {
            reader.next_value()?.write_json(of, out)?;
        }
    }
    if before == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}

impl Value {
    /// Writes the JSON of a value of a type.
    fn write_json(&self, of: &Type, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Value::Null => write(&(), out),
            Value::Bool(value) => write(value, out),
            Value::I64(value) if value.unsigned_abs() <= EXACT_MAX => write(value, out),
            Value::U64(value) if *value <= EXACT_MAX => write(value, out),
            Value::F64(value) => write(&(value + 0.0), out),
            Value::Text(text) => write(text, out),
            Value::Json(json) => write(json, out),
            // Of these, every text is letters, digits and signs that stand for themselves.
            Value::Uuid(_) | Value::TimeUuid(_) | Value::Ulid(_) | Value::Timestamp(_) => {
                out.push(b'"');
                out.extend_from_slice(scalar_text(self).as_bytes());
                out.push(b'"');
                Ok(())
            }
            other => write(&other.to_json(of), out),
        }
    }
}

fn write_row(record: Option<&Record>, out: &mut Vec<u8>) -> Result<()> {
    match record {
        Some(record) => record.write_json(out),
        None => {
            out.extend_from_slice(b"null");
            Ok(())
        }
    }
}

fn write_version(version: Option<Version>, out: &mut Vec<u8>) {
    match version {
        Some(version) => {
            out.push(b'"');
            out.extend_from_slice(&version.text());
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
}

fn write_list<T>(
    items: &[T],
    out: &mut Vec<u8>,
    mut write_item: impl FnMut(&T, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    out.push(b'[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write_item(item, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, value)
        .map_err(|error| Error::new(ErrorKind::Internal, "an answer has no JSON").caused_by(error))
}

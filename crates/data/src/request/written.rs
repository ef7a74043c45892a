//! Answers as the text of JSON, without a tree of it in between: what a server sends.
//!
//! It is the text of [`Answer::to_json`], byte for byte; the suite holds the two together.

use super::answer::{Answer, AnswerShape, Changed, Record};
use super::json::key_text;
use super::members::MemberReader;
use super::next::Cursor;
use super::{Call, Runtime};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use crate::session::Usage;
use crate::store::{Version, Versions};
use crate::value::json::EXACT_MAX;
use crate::value::{Value, scalar_text};
use keyspace::key::text::{ulid_letters, uuid_letters};
use keyspace::model::{Type, Verb};
use serde::Serialize;

impl Answer {
    /// Writes the answer as JSON, with the names people see.
    pub fn write_json(&self, schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Answer::Row(record) => {
                out.extend_from_slice(b"{\"row\":");
                write_row(record.as_ref(), out)?;
                write_version_behind(record.as_ref().and_then(|record| record.version), out);
            }
            Answer::Rows(records) => {
                out.extend_from_slice(b"{\"rows\":");
                write_list(records, out, |record, out| write_row(record.as_ref(), out))?;
                out.push(b'}');
            }
            Answer::Page { rows, next } => {
                out.extend_from_slice(b"{\"rows\":[");
                write_items(rows, out, |record, out| record.write_json(out))?;
                write_next(next.as_ref(), out)?;
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

/// What was written of a call, and what it cost.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Whether it has an answer: the row of a `get` may not be there.
    pub is_there: bool,
    /// The version of the row of a `get`, if it has one.
    pub version: Option<Version>,
    /// What it cost.
    pub usage: Usage,
}

impl Runtime {
    /// Makes a call that needs no waiting and answers rows as they are stored, and writes its
    /// answer as JSON, each row from where it lies. Nothing is done if this is no such call; of an
    /// error, half of an answer may be written.
    pub fn write_json(&self, call: &Call<'_>, out: &mut Vec<u8>) -> Option<Result<Written>> {
        if !call.pattern.is_shown {
            return None;
        }
        let shape = call.pattern.shape.as_ref()?;
        let lists = call.pattern.pattern.verb == Verb::List;
        let begun = out.len();
        out.extend_from_slice(if lists { b"{\"rows\":[" } else { b"{\"row\":" });
        let (mut is_first, mut version) = (true, None);
        let versions = if lists { Versions::Unwanted } else { Versions::Wanted };
        let shown = self.show(call, versions, &mut |row| {
            if !is_first {
                out.push(b',');
            }
            (is_first, version) = (false, row.version());
            write_members(shape, row.reader()?, out)
        });
        let Some(shown) = shown else {
            out.truncate(begun);
            return None;
        };
        Some(shown.and_then(|(next, usage)| {
            if lists {
                write_next(next.as_ref(), out)?;
                return Ok(Written { is_there: true, version: None, usage });
            }
            if is_first {
                out.extend_from_slice(b"null");
            }
            write_version_behind(version, out);
            Ok(Written { is_there: !is_first, version, usage })
        }))
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
            Type::Text | Type::Enum(_) => reader.text(|text| write_text(text, out)).is_some(),
            Type::U64 => match reader.u64() {
                Some(number) => Value::U64(number).write_json(of, out).map(|()| true)?,
                None => false,
            },
            Type::F64 => match reader.f64() {
                Some(number) => write(&(number + 0.0), out).map(|()| true)?,
                None => false,
            },
            Type::Ulid => {
                reader.ulid().map(|ulid| write_letters(&ulid_letters(ulid), out)).is_some()
            }
            Type::Uuid => {
                reader.uuid().map(|uuid| write_letters(&uuid_letters(uuid), out)).is_some()
            }
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
            Value::Text(text) => write_text(text, out),
            Value::Json(json) => write(json, out),
            // Of these, every text is letters, digits and signs that stand for themselves.
            Value::Uuid(_) | Value::TimeUuid(_) | Value::Ulid(_) | Value::Timestamp(_) => {
                write_letters(scalar_text(self).as_bytes(), out);
                Ok(())
            }
            other => write(&other.to_json(of), out),
        }
    }
}

/// A text in quotes. Most have nothing in them that must be escaped, which is found out for many
/// letters at a time.
fn write_text(text: &str, out: &mut Vec<u8>) -> Result<()> {
    match stands_for_itself(text.as_bytes()) {
        true => {
            write_letters(text.as_bytes(), out);
            Ok(())
        }
        false => write(text, out),
    }
}

/// Whether JSON writes these letters as they are.
fn stands_for_itself(letters: &[u8]) -> bool {
    let escaped = |letter: &u8| u8::from(*letter < b' ' || *letter == b'"' || *letter == b'\\');
    // Without a way out in the middle, so that a processor looks at all of them at once.
    let none = |letters: &[u8]| letters.iter().fold(0, |any, letter| any | escaped(letter)) == 0;
    let (many, rest) = letters.as_chunks::<16>();
    many.iter().all(|letters| none(letters)) && none(rest)
}

/// Letters that stand for themselves, in quotes.
fn write_letters(letters: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(letters);
    out.push(b'"');
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
        Some(version) => write_letters(&version.text(), out),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_list<T>(
    items: &[T],
    out: &mut Vec<u8>,
    write_item: impl FnMut(&T, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    out.push(b'[');
    write_items(items, out, write_item)?;
    out.push(b']');
    Ok(())
}

fn write_items<T>(
    items: &[T],
    out: &mut Vec<u8>,
    mut write_item: impl FnMut(&T, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write_item(item, out)?;
    }
    Ok(())
}

/// The end of a page, behind its rows.
fn write_next(next: Option<&Cursor>, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(b"],\"next\":");
    write(&next.map(Cursor::as_str), out)?;
    out.push(b'}');
    Ok(())
}

/// The end of a row that is answered alone.
fn write_version_behind(version: Option<Version>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"version\":");
    write_version(version, out);
    out.push(b'}');
}

fn write(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, value)
        .map_err(|error| Error::new(ErrorKind::Internal, "an answer has no JSON").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_json_has_them() {
        let letters = ["a", "\"", "\\", "\n", "\u{1f}", " ", "\u{7f}", "ü", "€", "😀", "\u{2028}"];
        for length in 0..40 {
            for at in 0..=length {
                for letter in letters {
                    let text = format!("{}{letter}{}", "x".repeat(at), "x".repeat(length - at));
                    let mut written = Vec::new();
                    write_text(&text, &mut written).unwrap();
                    assert_eq!(written, serde_json::to_vec(&text).unwrap(), "{text:?}");
                }
            }
        }
    }
}

//! Values as columns hold them, and back: the forms are those of the layout.
//!
//! ```text
//! u64 42 ◀─▶ '00000000000000000042'     timestamp ◀─▶ '2026-11-15T10:00:00.000Z'
//! ```
//!
//! What is put into a table must have the form of its column. What is only compared with one may
//! lie outside: a time before the year 0 or behind 9999 has a text that sorts around all others.

use super::error::foreign;
use super::short::{self, INSTANTS, Short};
use crate::sql::table::{ColumnShape, Part};
use bytes::Bytes;
use data::clock::Milliseconds;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyType, text::parse_scalar};
use keyspace::layout::sortable;
use keyspace::layout::sqlite::{NEVER, SqliteType};
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::ops::RangeInclusive;

/// The days of the same years.
const DAYS: RangeInclusive<i32> = -719_528..=2_932_896;

/// A column of SQLite.
pub(super) type Column = ColumnShape<SqliteType>;

/// Refuses a value that a column cannot hold.
pub(super) fn check(column: &Column, value: &Value) -> Result<()> {
    let fits = match value {
        Value::Timestamp(at) => INSTANTS.contains(at),
        Value::Date(day) => DAYS.contains(day),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => {
            let message = "SQLite keeps times of the years 0000 to 9999 only";
            Err(Error::new(ErrorKind::Argument, message).with("column", &column.name))
        }
    }
}

/// The form of a value in a column, where that is a short text.
pub(super) fn short_form(column: &Column, value: &Value) -> Option<Short> {
    match (value, &column.native) {
        (Value::U64(number) | Value::Cell(number), SqliteType::Digits) => {
            Some(short::digits(*number))
        }
        (Value::Uuid(bytes), SqliteType::Uuid) => Some(short::uuid(bytes)),
        (Value::Ulid(bytes), SqliteType::Ulid) => Some(short::ulid(bytes)),
        // Outside of the usual years it is longer.
        (Value::Timestamp(at), SqliteType::Timestamp) => short::timestamp(*at),
        _ => None,
    }
}

/// The form of a value in a column.
pub(super) fn form<'v>(column: &Column, value: &'v Value) -> Result<ToSqlOutput<'v>> {
    match short_form(column, value) {
        Some(short) => Ok(ToSqlOutput::from(short.to_text())),
        None => long_form(column, value),
    }
}

/// The form of a value in a column, where it is no [`short_form`].
pub(super) fn long_form<'v>(column: &Column, value: &'v Value) -> Result<ToSqlOutput<'v>> {
    let text = |text: &'v str| Ok(ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())));
    match (value, &column.native) {
        (Value::Null, _) if column.part == Part::Expires => text(NEVER),
        (Value::Null, _) => Ok(ToSqlOutput::Borrowed(ValueRef::Null)),
        (Value::Text(value), SqliteType::Text | SqliteType::Word(_)) => text(value),
        (Value::Bytes(bytes), SqliteType::Blob) => Ok(ToSqlOutput::Borrowed(ValueRef::Blob(bytes))),
        (Value::Bool(value), SqliteType::Bool) => Ok(ToSqlOutput::from(i64::from(*value))),
        (Value::I64(number) | Value::Duration(number), SqliteType::Integer) => {
            Ok(ToSqlOutput::from(*number))
        }
        (Value::F64(number), SqliteType::Real) => Ok(ToSqlOutput::from(*number)),
        (
            Value::TimeUuid(_) | Value::Ulid(_) | Value::Timestamp(_) | Value::Date(_),
            SqliteType::TimeUuid | SqliteType::Ulid | SqliteType::Timestamp | SqliteType::Date,
        ) => {
            let text = value.as_segment().as_ref().and_then(sortable::text);
            text.map(ToSqlOutput::from).ok_or_else(|| unfit(column))
        }
        (Value::Path(_), SqliteType::Path) => {
            Ok(ToSqlOutput::from(value.to_text(&column.value_type)))
        }
        (Value::Json(json), SqliteType::Json) => Ok(ToSqlOutput::from(json.to_string())),
        (Value::List(_), SqliteType::Json) => {
            Ok(ToSqlOutput::from(value.to_json(&column.value_type).to_string()))
        }
        _ => Err(unfit(column)),
    }
}

/// What a column holds.
pub(super) fn read(table: &str, column: &Column, stored: ValueRef<'_>) -> Result<Value> {
    let found = match (&column.native, stored) {
        (_, ValueRef::Null) if column.optional => Some(Value::Null),
        (SqliteType::Blob, ValueRef::Blob(bytes)) => {
            Some(Value::Bytes(Bytes::copy_from_slice(bytes)))
        }
        (SqliteType::Bool, ValueRef::Integer(number @ (0 | 1))) => Some(Value::Bool(number == 1)),
        (SqliteType::Integer, ValueRef::Integer(number)) => Some(match column.value_type {
            keyspace::model::Type::Duration => Value::Duration(number),
            _ => Value::I64(number),
        }),
        (SqliteType::Real, ValueRef::Real(number)) if !number.is_nan() => Some(Value::F64(number)),
        (_, ValueRef::Text(text)) if column.part == Part::Expires && text == NEVER.as_bytes() => {
            Some(Value::Null)
        }
        (native, ValueRef::Text(text)) => {
            std::str::from_utf8(text).ok().and_then(|text| read_text(native, column, text))
        }
        _ => None,
    };
    found.ok_or_else(|| foreign(table, &column.name))
}

/// The value of a text; nothing if it is not the one text of a value.
fn read_text(native: &SqliteType, column: &Column, text: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    match native {
        SqliteType::Text => Some(Value::Text(text.to_string())),
        SqliteType::Word(words) => {
            words.iter().any(|word| word == text).then(|| Value::Text(text.to_string()))
        }
        SqliteType::Digits => short::digits_of(bytes).map(Value::U64),
        SqliteType::Uuid => short::uuid_of(bytes).map(Value::Uuid),
        SqliteType::TimeUuid => {
            short::uuid_of(bytes).and_then(sortable::time_uuid_of).map(Value::TimeUuid)
        }
        SqliteType::Ulid => short::ulid_of(bytes).map(Value::Ulid),
        SqliteType::Timestamp => short::timestamp_of(bytes).map(Value::Timestamp),
        SqliteType::Date => parse_scalar(KeyType::Date, text).ok().map(Value::from_segment),
        SqliteType::Path => Value::from_text(text, &column.value_type).ok(),
        SqliteType::Json => {
            let json = serde_json::from_str(text).ok()?;
            match &column.value_type {
                keyspace::model::Type::Json => Some(Value::Json(json)),
                list => Value::from_json(&json, list).ok(),
            }
        }
        SqliteType::Blob | SqliteType::Bool | SqliteType::Integer | SqliteType::Real => None,
    }
}

/// The instant in a text of this form.
pub(super) fn timestamp_text(at: Milliseconds) -> String {
    sortable::text(&key::Value::Timestamp(at)).unwrap_or_default()
}

fn unfit(column: &Column) -> Error {
    Error::new(ErrorKind::Internal, "a value has not the form of its column")
        .with("column", &column.name)
}

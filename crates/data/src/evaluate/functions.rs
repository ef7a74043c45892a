//! The functions of the notation. A missing value in, a missing value out; all times are UTC.
//!
//! What they give is stored in the keys of indexes: for a value they must answer the same for ever,
//! on every machine.

use super::fold::fold;
use super::operand::{Operand, in_range, incalculable};
use super::{Evaluation, unseen};
use crate::error::{Error, ErrorKind, Result};
use crate::geo;
use crate::schema::time_of;
use crate::value::Value;
use bytes::Bytes;
use keyspace::check::number;
use keyspace::key::{self, text::scalar_text};
use keyspace::model::{Expression, ExpressionKind, Function};
use keyspace::parse::parse_duration;
use std::borrow::Cow;

const DAY_MILLISECONDS: i128 = 86_400_000;
/// Bytes of a `hash`: none of a trillion values shares one with another.
const HASH_BYTES: usize = 16;

impl Evaluation<'_> {
    pub(super) fn call(&self, function: Function, arguments: &[Expression]) -> Result<Operand> {
        if function == Function::Each {
            let element = self.element.ok_or_else(|| unseen("function", function.name()))?;
            return Ok(element.clone().into());
        }
        let Some(first) = arguments.first() else { return Err(misused(function)) };
        let first = self.operand(first)?;
        if first.is_null() {
            return Ok(Operand::NULL);
        }
        match function {
            Function::Lower => match &first {
                Operand::Other(Value::Text(text)) => Ok(Operand::Other(Value::Text(fold(text)))),
                _ => Err(misused(function)),
            },
            Function::Geohash | Function::Cell => self.area(function, &first, arguments),
            Function::Floor => {
                let length = length(arguments.get(1)).ok_or_else(|| misused(function))?;
                let at = instant(&first)?;
                Ok(Operand::Instant(at.div_euclid(length) * length))
            }
            Function::Day => day(&first).map(|day| Operand::Other(Value::Date(day))),
            Function::Month => {
                let date = Value::Date(day(&first)?).as_segment().map(|date| month(&date));
                date.unwrap_or_else(|| Err(misused(function))).map(Operand::Other)
            }
            Function::Hash => hash(first.into_value()?).map(Operand::Other),
            Function::Each => Err(misused(function)),
        }
    }

    fn area(
        &self,
        function: Function,
        latitude: &Operand,
        arguments: &[Expression],
    ) -> Result<Operand> {
        let longitude = arguments.get(1).ok_or_else(|| misused(function))?;
        let longitude = self.operand(longitude)?;
        if longitude.is_null() {
            return Ok(Operand::NULL);
        }
        let fineness = number(arguments.get(2)).and_then(|number| u32::try_from(number).ok());
        let fineness = fineness.ok_or_else(|| misused(function))?;
        let (latitude, longitude) = (latitude.float()?, longitude.float()?);
        Ok(match function {
            Function::Geohash => {
                Operand::Other(Value::Text(geo::geohash(latitude, longitude, fineness)?))
            }
            _ => Value::Cell(geo::cell(latitude, longitude, fineness)?).into(),
        })
    }
}

/// The length of a `floor`, in milliseconds: a word in quotes, or a length.
fn length(argument: Option<&Expression>) -> Option<i128> {
    match &argument?.kind {
        ExpressionKind::Text(text) => parse_duration(text).map(i128::from),
        ExpressionKind::Duration(length) => Some(i128::from(*length)).filter(|length| *length > 0),
        _ => None,
    }
}

/// The instant a value holds, in milliseconds.
fn instant(operand: &Operand) -> Result<i128> {
    match operand {
        Operand::Instant(at) => Ok(*at),
        Operand::Other(value @ (Value::TimeUuid(_) | Value::Ulid(_) | Value::Date(_))) => {
            let segment = value.as_segment().ok_or_else(incalculable)?;
            Ok(i128::from(time_of(&segment)))
        }
        _ => Err(incalculable()),
    }
}

/// The calendar day of an instant.
fn day(operand: &Operand) -> Result<i32> {
    in_range(instant(operand)?.div_euclid(DAY_MILLISECONDS))
}

/// The month of a date: its text without the day.
fn month(date: &key::Value<'_>) -> Result<Value> {
    let text = scalar_text(date)?;
    let month = text.rsplit_once('-').map(|(month, _)| month.to_string());
    month.map(Value::Text).ok_or_else(incalculable)
}

/// The first bytes of the BLAKE3 hash of a value: of text its UTF-8, of bytes themselves, of JSON
/// its text without spaces and with the names of objects sorted, of a path that of a list, of
/// everything else the text it has in keys.
fn hash(value: Value) -> Result<Value> {
    let bytes: Cow<'_, [u8]> = match &value {
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::Bytes(bytes) => Cow::Borrowed(bytes),
        Value::Json(json) => {
            let mut json = json.clone();
            json.sort_all_objects();
            Cow::Owned(json.to_string().into_bytes())
        }
        Value::Path(parts) => Cow::Owned(serde_json::Value::from(parts.clone()).to_string().into()),
        Value::Duration(length) => Cow::Owned(length.to_string().into_bytes()),
        // A cell is a number to whoever writes an expression.
        Value::Cell(number) => Cow::Owned(number.to_string().into_bytes()),
        // Minus zero is zero, as it is in keys.
        Value::F64(number) => {
            let segment = key::Value::F64(number + 0.0);
            Cow::Owned(scalar_text(&segment)?.into_owned().into_bytes())
        }
        other => {
            let segment = other.as_segment().ok_or_else(|| misused(Function::Hash))?;
            Cow::Owned(scalar_text(&segment)?.into_owned().into_bytes())
        }
    };
    let hash = blake3::hash(&bytes);
    Ok(Value::Bytes(Bytes::copy_from_slice(
        hash.as_bytes().first_chunk::<HASH_BYTES>().map_or(&[], |short| short.as_slice()),
    )))
}

#[cold]
fn misused(function: Function) -> Error {
    Error::new(ErrorKind::Internal, "a function does not take these values")
        .with("function", function.name())
}

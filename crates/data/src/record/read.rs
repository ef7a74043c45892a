//! The bytes of a field back to its value.
//!
//! Bytes are a slice of their record where that is held, not a copy. Nothing here may panic, or
//! reserve more than the bytes at hand can fill.

use super::corrupt;
use crate::error::Result;
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Type;

/// Items for which room is made before they are read, whatever a list says of itself.
const ITEMS_RESERVED_MAX: usize = 256;

/// The value of a payload, which is a part of `held` if there is such, of a required type.
#[inline]
pub(super) fn value(held: Option<&Bytes>, payload: &[u8], of: &Type) -> Result<Value> {
    Ok(match of {
        Type::Text => Value::Text(text(payload)?.to_string()),
        Type::Bytes => Value::Bytes(match held {
            Some(held) => held.slice_ref(payload),
            None => Bytes::copy_from_slice(payload),
        }),
        Type::Bool => Value::Bool(truth(payload)?),
        Type::I64 => Value::I64(signed(payload)?),
        Type::U64 => Value::U64(unsigned(payload)?),
        Type::F64 => Value::F64(float(payload)?),
        Type::Uuid => Value::Uuid(array(payload)?),
        Type::TimeUuid => Value::TimeUuid(array(payload)?),
        Type::Ulid => Value::Ulid(array(payload)?),
        Type::Timestamp => Value::Timestamp(signed(payload)?),
        Type::Duration => Value::Duration(signed(payload)?),
        Type::Date => Value::Date(days(payload)?),
        Type::Enum(words) => {
            let word = text(payload)?;
            if !words.iter().any(|known| known == word) {
                return Err(corrupt("a word is not one of its enum"));
            }
            Value::Text(word.to_string())
        }
        Type::Path => {
            let part = |part| text(part).map(str::to_string);
            Value::Path(items(payload, |item| {
                item.map_or_else(|| Err(corrupt("a part of a path is null")), part)
            })?)
        }
        Type::Json => Value::Json(
            serde_json::from_slice(payload)
                .map_err(|error| corrupt("it holds what is no JSON").caused_by(error))?,
        ),
        Type::List(item_type) => {
            let item_of = item_type.required();
            Value::List(items(payload, |item| match item {
                Some(item) => value(held, item, item_of),
                None if item_type.is_optional() => Ok(Value::Null),
                None => Err(corrupt("an item of a list is null")),
            })?)
        }
        Type::Optional(inner) => value(held, payload, inner)?,
    })
}

/// The text of a payload.
#[inline(always)]
pub(crate) fn text(payload: &[u8]) -> Result<&str> {
    std::str::from_utf8(payload).map_err(|error| corrupt("a text is not UTF-8").caused_by(error))
}

/// The truth value of a payload.
#[inline(always)]
pub(crate) fn truth(payload: &[u8]) -> Result<bool> {
    match payload {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(corrupt("a truth value is neither 0 nor 1")),
    }
}

/// The signed number of a payload.
#[inline(always)]
pub(crate) fn signed(payload: &[u8]) -> Result<i64> {
    array(payload).map(i64::from_be_bytes)
}

/// The unsigned number of a payload.
#[inline(always)]
pub(crate) fn unsigned(payload: &[u8]) -> Result<u64> {
    array(payload).map(u64::from_be_bytes)
}

/// The day of a payload.
#[inline(always)]
pub(crate) fn days(payload: &[u8]) -> Result<i32> {
    array(payload).map(i32::from_be_bytes)
}

/// The bytes of a payload whose length its type gives.
#[inline(always)]
pub(crate) fn array<const N: usize>(payload: &[u8]) -> Result<[u8; N]> {
    payload.try_into().map_err(|_| corrupt("a value has another length than its type"))
}

/// The float of a payload.
#[inline(always)]
pub(crate) fn float(payload: &[u8]) -> Result<f64> {
    let value = f64::from_be_bytes(array(payload)?);
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    if !value.is_finite() || is_negative_zero {
        return Err(corrupt("a float is infinite, no number, or negative zero"));
    }
    Ok(value)
}

/// The items of a list or a path, each its bytes or nothing for null.
fn items<'r, T>(payload: &'r [u8], read: impl Fn(Option<&'r [u8]>) -> Result<T>) -> Result<Vec<T>> {
    let mut rest = payload;
    let number = count(&mut rest)?;
    // Every item takes a byte at least.
    if number > rest.len() {
        return Err(corrupt("a list says that it is longer than it is"));
    }
    let mut items = Vec::with_capacity(number.min(ITEMS_RESERVED_MAX));
    for _ in 0..number {
        items.push(match count(&mut rest)?.checked_sub(1) {
            None => read(None)?,
            Some(length) => {
                let (item, after) = rest
                    .split_at_checked(length)
                    .ok_or_else(|| corrupt("an item of a list is cut short"))?;
                rest = after;
                read(Some(item))?
            }
        });
    }
    if !rest.is_empty() {
        return Err(corrupt("bytes follow the last item of a list"));
    }
    Ok(items)
}

/// A count, in the fewest bytes that hold it; four of them hold more than any record.
fn count(rest: &mut &[u8]) -> Result<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let (byte, after) = rest.split_first().ok_or_else(|| corrupt("a count is cut short"))?;
        *rest = after;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let is_short = *byte != 0 || shift == 0;
            return is_short.then_some(number).ok_or_else(|| corrupt("a count is too long"));
        }
    }
    Err(corrupt("a count is too long"))
}

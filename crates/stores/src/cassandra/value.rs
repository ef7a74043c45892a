//! Values as Cassandra's protocol writes them, and back: the forms are those of the layout.
//!
//! ```text
//! u64 42 ◀─▶ varint 2a      date ◀─▶ days from 2^31      text.. ◀─▶ frozen<list<text>>
//! ```
//!
//! A cell is bytes that the server takes as they are. What cannot be read back as the one value it
//! came from was written by somebody else, and is reported.

use crate::native::ulid;
use bytes::Bytes;
use data::record::Scalar;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyType, KeyWriter};
use keyspace::layout::cql::CqlType;
use keyspace::model::Type;
use scylla::cluster::metadata::ColumnType;
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};

/// A value in a statement. What it holds stands behind a whole word, so that it is moved in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Cell {
    /// No value: what is there goes.
    Null,
    /// Nothing is said about it: what is there stays.
    Unset,
    /// So many of these bytes: ids and numbers need no place of their own.
    Short(u8, [u8; SHORT_BYTES_MAX]),
    /// These bytes.
    Bytes(Bytes),
}

/// The longest value that lies in its cell.
const SHORT_BYTES_MAX: usize = 16;

impl Cell {
    /// Its bytes, if it has some.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Cell::Short(length, bytes) => bytes.get(..usize::from(*length)),
            Cell::Bytes(bytes) => Some(bytes),
            Cell::Null | Cell::Unset => None,
        }
    }
}

impl SerializeValue for Cell {
    fn serialize<'b>(
        &self,
        _: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        match (self, self.bytes()) {
            (_, Some(bytes)) => writer.set_value(bytes).map_err(SerializationError::new),
            (Cell::Unset, None) => Ok(writer.set_unset()),
            (_, None) => Ok(writer.set_null()),
        }
    }
}

/// A number.
pub(super) fn big(number: i64) -> Cell {
    copied(&number.to_be_bytes())
}

/// A small number.
pub(super) fn int(number: usize) -> Cell {
    copied(&i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes())
}

/// A UUID.
pub(super) fn uuid(bytes: &[u8; 16]) -> Cell {
    copied(bytes)
}

/// A text.
pub(super) fn text(text: &str) -> Cell {
    copied(text.as_bytes())
}

pub(super) fn copied(bytes: &[u8]) -> Cell {
    let mut short = [0; SHORT_BYTES_MAX];
    match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
        (Some(place), Ok(length)) => {
            place.copy_from_slice(bytes);
            Cell::Short(length, short)
        }
        _ => Cell::Bytes(Bytes::copy_from_slice(bytes)),
    }
}

/// A list of cells, each written whole; also a list of tuples of cells.
pub(super) fn list<'c>(cells: impl ExactSizeIterator<Item = &'c [u8]>) -> Cell {
    let mut bytes = Vec::with_capacity(4 + cells.len() * 20);
    bytes.extend_from_slice(&length(cells.len()));
    for cell in cells {
        part(&mut bytes, cell);
    }
    Cell::Bytes(Bytes::from(bytes))
}

/// Adds a part of a list or a tuple.
pub(super) fn part(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&length(part.len()));
    bytes.extend_from_slice(part);
}

fn length(length: usize) -> [u8; 4] {
    i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes()
}

/// The parts of a list.
pub(super) fn parts(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, mut rest) = take_length(bytes)?;
    let mut parts = Vec::with_capacity(count.min(1_000));
    for _ in 0..count {
        let (length, after) = take_length(rest)?;
        let (part, after) = after.split_at_checked(length)?;
        parts.push(part);
        rest = after;
    }
    rest.is_empty().then_some(parts)
}

fn take_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(i32::from_be_bytes(*length)).ok()?, rest))
}

/// The cell of a value in a column of this type.
pub(super) fn cell(native: &CqlType, value_type: &Type, value: &Value) -> Result<Cell> {
    Ok(match (value, native) {
        (Value::Null, _) => Cell::Null,
        (Value::Text(value), CqlType::Text) => text(value),
        (Value::Bytes(bytes), CqlType::Blob) => Cell::Bytes(bytes.clone()),
        (Value::Uuid(bytes), CqlType::Blob | CqlType::Uuid) => uuid(bytes),
        (Value::TimeUuid(bytes), CqlType::TimeUuid) => uuid(bytes),
        (Value::Bool(value), CqlType::Boolean) => copied(&[u8::from(*value)]),
        (Value::I64(number) | Value::Duration(number), CqlType::BigInt) => big(*number),
        (Value::U64(number) | Value::Cell(number), CqlType::VarInt) => varint(*number),
        (Value::F64(number), CqlType::Double) => copied(&number.to_be_bytes()),
        (Value::Timestamp(at), CqlType::Timestamp) => big(*at),
        (Value::Date(days), CqlType::Date) => {
            copied(&(days.cast_unsigned() ^ 1 << 31).to_be_bytes())
        }
        (Value::Ulid(bytes), CqlType::Text) => copied(&ulid::text(bytes)),
        (Value::Path(parts), CqlType::List(_)) => list(parts.iter().map(|part| part.as_bytes())),
        (Value::List(values), CqlType::List(inner)) => {
            let Type::List(element) = value_type.required() else { return Err(unfit()) };
            let cells: Result<Vec<Cell>> =
                values.iter().map(|value| cell(inner, element, value)).collect();
            let cells = cells?;
            list(cells.iter().map(|cell| cell.bytes().unwrap_or_default()))
        }
        (Value::Json(json), CqlType::Json) => Cell::Bytes(Bytes::from(json.to_string())),
        (Value::List(_), CqlType::Json) => {
            Cell::Bytes(Bytes::from(value.to_json(value_type).to_string()))
        }
        _ => return Err(unfit()),
    })
}

/// The cell of a key's segment where its bytes are the cell's, as those of most types are.
pub(super) fn key_cell(native: &CqlType, segment: &key::Value<'_>) -> Option<Cell> {
    Some(match (segment, native) {
        (key::Value::Uuid(bytes), CqlType::Blob | CqlType::Uuid)
        | (key::Value::TimeUuid(bytes), CqlType::TimeUuid) => uuid(bytes),
        (key::Value::Text(words), CqlType::Text) => text(words),
        (key::Value::I64(number), CqlType::BigInt)
        | (key::Value::Timestamp(number), CqlType::Timestamp) => big(*number),
        _ => return None,
    })
}

/// The cell of a record's field where its bytes are the cell's, as those of most types are. They
/// are a part of the record.
pub(super) fn field_cell(
    native: &CqlType,
    of: &Type,
    record: &Bytes,
    payload: &[u8],
) -> Option<Cell> {
    let is_same = match native {
        CqlType::Text => matches!(of.required(), Type::Text | Type::Enum(_)),
        CqlType::Blob => matches!(of.required(), Type::Bytes | Type::Uuid),
        CqlType::Uuid | CqlType::TimeUuid | CqlType::Boolean => true,
        CqlType::BigInt | CqlType::Double | CqlType::Timestamp => true,
        _ => false,
    };
    is_same.then(|| match payload.len() <= SHORT_BYTES_MAX {
        true => copied(payload),
        false => Cell::Bytes(record.slice_ref(payload)),
    })
}

/// The shortest two's complement of a number that is not negative.
fn varint(number: u64) -> Cell {
    let bytes = number.to_be_bytes();
    let zeros = usize::try_from(number.leading_zeros() / 8).unwrap_or(0).min(7);
    let rest = bytes.get(zeros..).unwrap_or_default();
    match rest.first() {
        Some(first) if *first >= 0x80 => {
            let mut signed = vec![0];
            signed.extend_from_slice(rest);
            copied(&signed)
        }
        _ => copied(rest),
    }
}

/// The value of a cell in a column of this type.
pub(super) fn read(native: &CqlType, value_type: &Type, bytes: &[u8]) -> Option<Value> {
    let words = || std::str::from_utf8(bytes).ok();
    let sixteen = || <[u8; 16]>::try_from(bytes).ok();
    let number = || <[u8; 8]>::try_from(bytes).ok().map(i64::from_be_bytes);
    Some(match native {
        CqlType::Text => match value_type.required() {
            Type::Ulid => Value::Ulid(ulid::from_text(bytes)?),
            _ => Value::Text(words()?.to_string()),
        },
        CqlType::Blob => match value_type.required() {
            Type::Uuid => Value::Uuid(sixteen()?),
            _ => Value::Bytes(Bytes::copy_from_slice(bytes)),
        },
        CqlType::Uuid => Value::Uuid(sixteen()?),
        CqlType::TimeUuid => Value::TimeUuid(sixteen()?),
        CqlType::Boolean => match bytes {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return None,
        },
        CqlType::Int => return None,
        CqlType::BigInt => match value_type.required() {
            Type::Duration => Value::Duration(number()?),
            _ => Value::I64(number()?),
        },
        CqlType::VarInt => Value::U64(read_varint(bytes)?),
        CqlType::Double => {
            let number = f64::from_be_bytes(<[u8; 8]>::try_from(bytes).ok()?);
            (!number.is_nan()).then_some(Value::F64(number))?
        }
        CqlType::Timestamp => Value::Timestamp(number()?),
        CqlType::Date => {
            let days = u32::from_be_bytes(<[u8; 4]>::try_from(bytes).ok()?);
            Value::Date((days ^ 1 << 31).cast_signed())
        }
        CqlType::Json => read_json(value_type, bytes)?,
        CqlType::List(inner) => read_list(inner, value_type, bytes)?,
    })
}

/// Adds a cell to a record as its field is written there; nothing if it is not the cell of a value.
/// Not of lists and paths, which are made anew.
pub(super) fn write_payload(of: &Type, cell: &[u8], record: &mut Vec<u8>) -> Option<()> {
    match of.required() {
        // Whether an enum still has a word is asked by who reads it.
        Type::Enum(_) => record.extend_from_slice(std::str::from_utf8(cell).ok()?.as_bytes()),
        Type::Json => record.extend_from_slice(cell),
        _ => _ = scalar(of, cell)?.put(record),
    }
    Some(())
}

/// The value of a cell where it is; nothing if it is not the cell of a value, or a list of them.
#[inline]
pub(super) fn scalar<'c>(of: &Type, cell: &'c [u8]) -> Option<Scalar<'c>> {
    let number = || <[u8; 8]>::try_from(cell).ok().map(i64::from_be_bytes);
    Some(match of.required() {
        Type::Text => Scalar::Text(std::str::from_utf8(cell).ok()?),
        Type::Enum(words) => {
            let word = std::str::from_utf8(cell).ok()?;
            words.iter().find(|known| *known == word).map(|_| Scalar::Text(word))?
        }
        Type::Bytes => Scalar::Bytes(cell),
        Type::Bool => match cell {
            [value @ (0 | 1)] => Scalar::Bool(*value == 1),
            _ => return None,
        },
        Type::I64 => Scalar::I64(number()?),
        Type::Duration => Scalar::Duration(number()?),
        Type::Timestamp => Scalar::Timestamp(number()?),
        Type::Uuid => Scalar::Uuid(cell.try_into().ok()?),
        Type::TimeUuid => Scalar::TimeUuid(cell.try_into().ok()?),
        Type::U64 => Scalar::U64(read_varint(cell)?),
        Type::F64 => {
            let number = f64::from_be_bytes(cell.try_into().ok()?);
            // Somebody else may have written a negative zero, which no record has.
            number.is_finite().then_some(Scalar::F64(number + 0.0))?
        }
        Type::Date => {
            let days = u32::from_be_bytes(cell.try_into().ok()?) ^ 1 << 31;
            Scalar::Date(days.cast_signed())
        }
        Type::Ulid => Scalar::Ulid(ulid::from_text(cell)?),
        Type::Json | Type::Path | Type::List(_) | Type::Optional(_) => return None,
    })
}

/// Adds a cell to a key as its segment is written there; nothing if it is not the cell of a value.
pub(super) fn write_segment(
    writer: &mut KeyWriter<'_>,
    segment: key::Segment,
    (native, of): (&CqlType, &Type),
    cell: &[u8],
) -> Option<()> {
    let direction = segment.direction;
    let written = match segment.kind {
        KeyType::Text => writer.text(std::str::from_utf8(cell).ok()?, direction),
        KeyType::Uuid => writer.uuid(cell.try_into().ok()?, direction),
        KeyType::TimeUuid => writer.time_uuid(cell.try_into().ok()?, direction),
        KeyType::Ulid => writer.ulid(&ulid::from_text(cell)?, direction),
        KeyType::I64 => writer.i64(i64::from_be_bytes(cell.try_into().ok()?), direction),
        KeyType::U64 => writer.u64(read_varint(cell)?, direction),
        KeyType::Cell => writer.cell(read_varint(cell)?, direction),
        KeyType::Timestamp => {
            writer.timestamp(i64::from_be_bytes(cell.try_into().ok()?), direction)
        }
        _ => writer.value(segment, &read(native, of, cell)?.as_segment()?),
    };
    written.ok()
}

fn read_json(value_type: &Type, bytes: &[u8]) -> Option<Value> {
    let json = serde_json::from_slice(bytes).ok()?;
    match value_type.required() {
        Type::Json => Some(Value::Json(json)),
        list => Value::from_json(&json, list).ok(),
    }
}

fn read_list(inner: &CqlType, value_type: &Type, bytes: &[u8]) -> Option<Value> {
    let parts = parts(bytes)?;
    match value_type.required() {
        Type::Path => {
            let parts = parts.into_iter().map(|part| String::from_utf8(part.to_vec()).ok());
            Some(Value::Path(parts.collect::<Option<Vec<String>>>()?))
        }
        Type::List(element) => {
            let values = parts.into_iter().map(|part| read(inner, element, part));
            Some(Value::List(values.collect::<Option<Vec<Value>>>()?))
        }
        _ => None,
    }
}

/// A number that is not negative and fits.
fn read_varint(bytes: &[u8]) -> Option<u64> {
    let digits = match bytes {
        [0, rest @ ..] if rest.len() >= 8 => rest,
        [first, ..] if *first < 0x80 => bytes,
        _ => return None,
    };
    if digits.len() > 8 {
        return None;
    }
    Some(digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn unfit() -> Error {
    Error::new(ErrorKind::Internal, "a value has not the form of its column")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_without_a_sign_come_back() {
        for number in [0, 1, 127, 128, 255, 256, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let cell = varint(number);
            let bytes = cell.bytes().unwrap();
            assert_eq!(read_varint(bytes), Some(number));
            assert!(bytes.len() == 1 || bytes[0] != 0 || bytes[1] >= 0x80, "{number} is not short");
        }
        assert_eq!(read_varint(&[0xff]), None);
        assert_eq!(read_varint(&[]), None);
        assert_eq!(read_varint(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn cells_have_the_bytes_they_are_made_of() {
        for length in [0, 1, 8, 15, 16, 17, 300] {
            let bytes: Vec<u8> = (0..length).map(|number| number as u8).collect();
            assert_eq!(copied(&bytes).bytes(), Some(bytes.as_slice()));
        }
        assert_eq!((Cell::Null.bytes(), Cell::Unset.bytes()), (None, None));
    }

    #[test]
    fn lists_are_taken_apart_as_they_were_put_together() {
        let Cell::Bytes(bytes) = list([&b"a"[..], b"", b"bcd"].into_iter()) else { unreachable!() };
        assert_eq!(parts(&bytes).unwrap(), [&b"a"[..], b"", b"bcd"]);
        assert_eq!(parts(&bytes[..bytes.len() - 1]), None);
    }
}

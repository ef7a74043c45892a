//! Records: fields to bytes and back, so that one can be read without the rest.
//!
//! ```text
//! format │ fields n │ nulls m │ n × (number,    end)       │ m × number │ payload │ payload …
//! 1 byte │ 1, or 2  │ 0, or 2 │      0, 1, 2    1, 2, or 4 │ 2          │ in the order of numbers
//! ```
//!
//! All numbers are big endian. An `end` counts from the first payload. Every part of the table has
//! the fewest bytes that hold it: most records have all fields, 1 to n, and need no numbers at all.
//!
//! | bits of `format` | |
//! |---|---|
//! | `07` | the version, 2 |
//! | `08` | there is a list of nulls |
//! | `30` | ends have 1, 2 or 4 bytes: 0, 1 or 2 |
//! | `c0` | bytes of a number: 0, 1 or 2; with 2, `n` has 2 as well |
//!
//! A field that is not in the table was null, or unknown when the record was written. Both are the
//! same to a reader whose field answers null when it is missing; for any other, a null that was
//! written stands in the list of nulls. So fields come and go without a row being written anew.
//!
//! | type | payload |
//! |---|---|
//! | bool | 1 byte, 0 or 1 |
//! | i64, u64, f64, timestamp, duration | 8 bytes |
//! | date | 4 bytes |
//! | uuid, timeuuid, ulid | 16 bytes |
//! | text, enum, bytes, json | the text or bytes as they are |
//! | list, path | how many; then each: 0 for null, or its length + 1 and its payload |
//!
//! Counts in lists are LEB128: seven bits a byte, the lowest first.
//!
//! A reader never trusts the bytes: whatever they are, it answers values or `Corrupt`.

mod behind;
mod form;
mod front;
mod payload;
mod point;
mod read;
mod reader;
mod scalar;
mod table;
#[cfg(test)]
mod tests;

use crate::catalogue::BODY_NUMBER;
use crate::error::{Error, ErrorKind, Result};
use crate::store::door::check_value;
use crate::value::Value;
use bytes::Bytes;
use form::Form;
use keyspace::model::Type;
pub use payload::Payload;
pub(crate) use point::Points;
pub use reader::{FieldReader, RecordReader};
pub use scalar::{SCALARS_MAX, Scalar, ScalarReader};
use table::{Stored, Table, Walk};

/// The fields of a record, each with the number it has in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordShape {
    /// The fields, in the order in which values are given and returned: a *slot* is a place here.
    pub fields: Vec<RecordField>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordField {
    /// Its number; never used again.
    pub number: u16,
    /// Its type.
    pub field_type: Type,
    /// What a record written before the field was added answers. It never changes once records
    /// were written with the field: whether a null is listed depends on it.
    pub missing: Value,
}

impl RecordShape {
    /// The bytes of a record; `values` has a value for each slot.
    pub fn encode(&self, values: &[Value]) -> Result<Bytes> {
        if values.len() != self.fields.len() {
            return Err(Error::new(ErrorKind::Internal, "a record has too few or too many values"));
        }
        self.encode_payloads(|slot, field| match values.get(slot) {
            Some(Value::Null) | None => Ok(None),
            Some(value) => Payload::of(value, field.field_type.required()).map(Some),
        })
    }

    /// Adds the bytes of a record to a buffer; `value` is asked for each slot.
    pub(crate) fn append<'v>(
        &self,
        value: impl Fn(usize) -> Option<&'v Value>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        self.encode_behind(buffer, |slot, field, record| match value(slot) {
            Some(Value::Null) | None => Ok(false),
            Some(value) => {
                let payload = Payload::of(value, field.field_type.required())?;
                record.extend_from_slice(payload.as_ref());
                Ok(true)
            }
        })
    }

    /// The bytes of a record whose fields are at hand as they are written, or nothing where one is
    /// null: for stores that keep fields in forms of their own. `payload` is asked for each slot.
    pub fn encode_payloads<'p>(
        &self,
        mut payload: impl FnMut(usize, &RecordField) -> Result<Option<Payload<'p>>>,
    ) -> Result<Bytes> {
        let mut payloads = Vec::with_capacity(self.fields.len());
        let mut nulls = Vec::new();
        for (slot, field) in self.fields.iter().enumerate() {
            let found = payload(slot, field).map_err(|error| error.with("field", field.number))?;
            if let Some(payload) = found {
                payloads.push((field.number, payload));
            } else if !field.field_type.is_optional() {
                return Err(payload::wrong_kind(&field.field_type).with("field", field.number));
            } else if !field.missing.is_null() {
                nulls.push(field.number);
            }
        }
        // Fields that were added to the middle of a file have larger numbers than those behind.
        if !payloads.is_sorted_by_key(|(number, _)| *number) {
            payloads.sort_unstable_by_key(|(number, _)| *number);
        }
        nulls.sort_unstable();
        let bytes: usize = payloads.iter().map(|(_, payload)| payload.as_ref().len()).sum();
        let form = Form::of(payloads.iter().map(|(number, _)| *number), bytes);
        let size = form.size(payloads.len(), nulls.len()) + bytes;
        // The number of a body is the last there is.
        let body = payloads.last().filter(|(number, _)| *number == BODY_NUMBER);
        let body = body.map_or(0, |(_, payload)| payload.as_ref().len());
        check_value("a body is too large", body)?;
        check_value("a record is too large", size - body)?;
        let mut record = Vec::with_capacity(size);
        let lengths = payloads.iter().map(|(number, payload)| (*number, payload.as_ref().len()));
        front::write(form, lengths, &nulls, &mut record);
        for (_, payload) in &payloads {
            record.extend_from_slice(payload.as_ref());
        }
        Ok(Bytes::from(record))
    }

    /// One field, without decoding the others.
    pub fn read(&self, record: &Bytes, slot: usize) -> Result<Value> {
        let field = self.field(slot)?;
        let table = Table::open(record)?;
        // Numbers begin at 1 and most records have all of them.
        field.read(record, &table, usize::from(field.number.saturating_sub(1)))
    }

    /// All fields, by slot.
    pub fn decode(&self, record: &Bytes) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.fields.len());
        self.decode_into(record, &mut values)?;
        Ok(values)
    }

    /// Adds all fields, by slot.
    pub fn decode_into(&self, record: &Bytes, values: &mut Vec<Value>) -> Result<()> {
        let mut reader = self.reader(record, Some(record))?;
        reader.check()?;
        for _ in 0..self.fields.len() {
            values.push(reader.next_value()?);
        }
        Ok(())
    }

    /// One field of text or of an enum's words, borrowed; none where it is null.
    pub fn read_text<'a>(&'a self, record: &'a Bytes, slot: usize) -> Result<Option<&'a str>> {
        let field = self.field(slot)?;
        match (field.field_type.required(), field.find(record)?) {
            (Type::Text | Type::Enum(_), Stored::Payload(payload)) => {
                read::text(payload).map(Some).map_err(|error| error.with("field", field.number))
            }
            (Type::Text | Type::Enum(_), Stored::Null) => Ok(None),
            (Type::Text | Type::Enum(_), Stored::Unknown) => Ok(field.missing.as_text()),
            _ => Err(payload::wrong_kind(&Type::Text).with("field", field.number)),
        }
    }

    /// One field of whole numbers, instants or lengths of time; none where it is null.
    pub fn read_i64(&self, record: &Bytes, slot: usize) -> Result<Option<i64>> {
        let field = self.field(slot)?;
        match (field.field_type.required(), field.find(record)?) {
            (Type::I64 | Type::Timestamp | Type::Duration, Stored::Payload(payload)) => {
                let bytes = read::array(payload).map_err(|e| e.with("field", field.number))?;
                Ok(Some(i64::from_be_bytes(bytes)))
            }
            (Type::I64 | Type::Timestamp | Type::Duration, Stored::Null) => Ok(None),
            (Type::I64 | Type::Timestamp | Type::Duration, Stored::Unknown) => {
                Ok(match field.missing {
                    Value::I64(value) | Value::Timestamp(value) | Value::Duration(value) => {
                        Some(value)
                    }
                    _ => None,
                })
            }
            _ => Err(payload::wrong_kind(&Type::I64).with("field", field.number)),
        }
    }

    /// Two fields of floats; none where one is null.
    #[inline]
    pub fn read_point(
        &self,
        record: &[u8],
        (one, other): (usize, usize),
    ) -> Result<Option<(f64, f64)>> {
        let table = Table::open(record)?;
        let mut walk = Walk::default();
        let one = self.field(one)?.float(&table, &mut walk)?;
        let other = self.field(other)?.float(&table, &mut walk)?;
        Ok(one.zip(other))
    }

    /// The bytes of one field; none where it is null, or was not known when the record was written.
    pub fn payload<'a>(&self, record: &'a Bytes, slot: usize) -> Result<Option<&'a [u8]>> {
        match self.field(slot)?.find(record)? {
            Stored::Payload(payload) => Ok(Some(payload)),
            Stored::Null | Stored::Unknown => Ok(None),
        }
    }

    fn field(&self, slot: usize) -> Result<&RecordField> {
        self.fields.get(slot).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a record has no such slot").with("slot", slot)
        })
    }
}

impl RecordField {
    fn find<'r>(&self, record: &'r [u8]) -> Result<Stored<'r>> {
        let near = usize::from(self.number.saturating_sub(1));
        Table::open(record)?.find(self.number, near)
    }

    #[inline]
    fn float(&self, table: &Table<'_>, walk: &mut Walk) -> Result<Option<f64>> {
        match (self.field_type.required(), table.next(walk, self.number)?) {
            (Type::F64, Stored::Payload(payload)) => {
                read::float(payload).map(Some).map_err(|error| error.with("field", self.number))
            }
            (Type::F64, Stored::Null) => Ok(None),
            (Type::F64, Stored::Unknown) => Ok(match self.missing {
                Value::F64(value) => Some(value),
                _ => None,
            }),
            _ => Err(payload::wrong_kind(&Type::F64).with("field", self.number)),
        }
    }

    fn read(&self, record: &Bytes, table: &Table<'_>, near: usize) -> Result<Value> {
        self.value(Some(record), table.find(self.number, near)?)
    }

    #[inline]
    fn value(&self, held: Option<&Bytes>, stored: Stored<'_>) -> Result<Value> {
        match stored {
            Stored::Payload(payload) => read::value(held, payload, self.field_type.required())
                .map_err(|error| error.with("field", self.number)),
            Stored::Null => Ok(Value::Null),
            Stored::Unknown => Ok(self.missing.clone()),
        }
    }
}

/// What a record holds, without its types: each field's number with its payload, or nothing for a
/// null that was written. For tools that look at what is stored.
pub fn fields_of(record: &Bytes) -> Result<Vec<(u16, Option<Bytes>)>> {
    let table = Table::open(record)?;
    table.check()?;
    let mut fields: Vec<(u16, Option<Bytes>)> = table
        .numbers()
        .map(|number| match table.find(number, 0)? {
            Stored::Payload(payload) => Ok((number, Some(record.slice_ref(payload)))),
            Stored::Null | Stored::Unknown => Ok((number, None)),
        })
        .collect::<Result<_>>()?;
    fields.sort_unstable_by_key(|(number, _)| *number);
    Ok(fields)
}

/// The one error of bytes that no encoder wrote.
#[cold]
fn corrupt(why: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored record cannot be read").with("why", why)
}

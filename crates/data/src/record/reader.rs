//! The fields of a record one after the other, without a value in between where one is stored as
//! Rust has it: in the bytes of a record, or in columns.
//!
//! A method of a type takes the next field only if it is of that type, not null, and can be read;
//! whoever gets nothing asks for the value, and finds out what else it is. These methods are put
//! into whoever calls them, so that a reader of which nothing else is asked stays in registers.

use super::table::{Table, Walk};
use super::{RecordField, RecordShape, read};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Type;

/// Reads the fields of a record by slot, one after the other, wherever they lie.
pub trait FieldReader {
    /// The next field.
    fn next_value(&mut self) -> Result<Value>;

    /// The next field, read from its text, if it is a text or a word of an enum that knows it.
    fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T>;

    /// Passes the next field if it is null in the way most are; says whether it did.
    fn null(&mut self) -> bool;

    /// The next field, if it is `true` or `false`.
    fn bool(&mut self) -> Option<bool>;

    /// The next field, if it is a signed integer.
    fn i64(&mut self) -> Option<i64>;

    /// The next field, if it is an unsigned integer.
    fn u64(&mut self) -> Option<u64>;

    /// The next field, if it is a float.
    fn f64(&mut self) -> Option<f64>;

    /// The next field, if it is a UUID.
    fn uuid(&mut self) -> Option<[u8; 16]>;

    /// The next field, if it is a UUID that holds its time.
    fn time_uuid(&mut self) -> Option<[u8; 16]>;

    /// The next field, if it is a ULID.
    fn ulid(&mut self) -> Option<[u8; 16]>;

    /// The next field, if it is an instant.
    fn timestamp(&mut self) -> Option<i64>;

    /// The next field, if it is a day.
    fn date(&mut self) -> Option<i32>;
}

/// Reads fields from the bytes of a record.
#[derive(Debug)]
pub struct RecordReader<'r> {
    held: Option<&'r Bytes>,
    table: Table<'r>,
    walk: Walk,
    fields: &'r [RecordField],
}

impl RecordShape {
    /// A reader of all fields, one after the other. What the record is a part of, where that is
    /// held, is not copied for fields of bytes.
    pub fn reader<'r>(
        &'r self,
        record: &'r [u8],
        held: Option<&'r Bytes>,
    ) -> Result<RecordReader<'r>> {
        let table = Table::open(record)?;
        Ok(RecordReader { held, table, walk: Walk::default(), fields: &self.fields })
    }

    /// The same of a record that is short and has all of its fields, as most are and do.
    #[inline(always)]
    pub(crate) fn short_reader<'r>(
        &'r self,
        record: &'r [u8],
        held: Option<&'r Bytes>,
    ) -> Option<RecordReader<'r>> {
        let table = Table::open_short(record)?;
        Some(RecordReader { held, table, walk: Walk::default(), fields: &self.fields })
    }
}

impl RecordReader<'_> {
    /// Whether the record is as an encoder writes it.
    pub(super) fn check(&self) -> Result<()> {
        self.table.check()
    }
}

/// Methods for the types whose payload has a length of its own.
macro_rules! plain {
    ($($name:ident, $kind:ident, $rust:ty, $payload:path;)*) => {
        $(#[inline(always)]
        fn $name(&mut self) -> Option<$rust> {
            let (field, behind) = self.fields.split_first()?;
            let Type::$kind = field.field_type.required() else { return None };
            let (payload, walk) = self.table.ahead(self.walk, field.number)?;
            let value = $payload(payload).ok()?;
            (self.walk, self.fields) = (walk, behind);
            Some(value)
        }
        )*
    };
}

impl FieldReader for RecordReader<'_> {
    fn next_value(&mut self) -> Result<Value> {
        let (field, behind) = self.fields.split_first().ok_or_else(no_more)?;
        self.fields = behind;
        let stored = self.table.next(&mut self.walk, field.number)?;
        field.value(self.held, stored)
    }

    #[inline(always)]
    fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        let (field, behind) = self.fields.split_first()?;
        let (payload, walk) = self.table.ahead(self.walk, field.number)?;
        let text = match field.field_type.required() {
            Type::Text => read::text(payload).ok()?,
            Type::Enum(words) => {
                let word = read::text(payload).ok()?;
                words.iter().find(|known| *known == word).map(|_| word)?
            }
            _ => return None,
        };
        let value = read_text(text).ok()?;
        (self.walk, self.fields) = (walk, behind);
        Some(value)
    }

    /// Most are null by not being there.
    #[inline(always)]
    fn null(&mut self) -> bool {
        let Some((field, behind)) = self.fields.split_first() else { return false };
        let is_null = field.missing.is_null() && self.table.lacks(self.walk, field.number);
        if is_null {
            self.fields = behind;
        }
        is_null
    }

    plain! {
        bool, Bool, bool, read::truth;
        i64, I64, i64, read::signed;
        u64, U64, u64, read::unsigned;
        f64, F64, f64, read::float;
        uuid, Uuid, [u8; 16], read::array;
        time_uuid, TimeUuid, [u8; 16], read::array;
        ulid, Ulid, [u8; 16], read::array;
        timestamp, Timestamp, i64, read::signed;
        date, Date, i32, read::days;
    }
}

/// The error of who asks for more fields than there are.
#[cold]
pub(super) fn no_more() -> Error {
    Error::new(ErrorKind::Internal, "a record has no more slots")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_shape, random_values};
    use super::*;
    use crate::value::sample::Sample;

    /// The next field as its type's own method reads it.
    fn plainly(reader: &mut RecordReader<'_>, of: &Type) -> Option<Value> {
        Some(match of {
            Type::Bool => Value::Bool(reader.bool()?),
            Type::I64 => Value::I64(reader.i64()?),
            Type::U64 => Value::U64(reader.u64()?),
            Type::F64 => Value::F64(reader.f64()?),
            Type::Uuid => Value::Uuid(reader.uuid()?),
            Type::TimeUuid => Value::TimeUuid(reader.time_uuid()?),
            Type::Ulid => Value::Ulid(reader.ulid()?),
            Type::Timestamp => Value::Timestamp(reader.timestamp()?),
            Type::Date => Value::Date(reader.date()?),
            Type::Text | Type::Enum(_) => Value::Text(reader.text(|text| Ok(text.to_string()))?),
            _ => return None,
        })
    }

    /// Every field, plainly where it is plain; and how many were.
    fn read(shape: &RecordShape, reader: &mut RecordReader<'_>) -> Result<(Vec<Value>, usize)> {
        let mut plain = 0;
        let one = |field: &RecordField| {
            // Of another type nothing is taken.
            if *field.field_type.required() != Type::Bool {
                assert_eq!(reader.bool(), None);
            }
            if field.field_type.is_optional() && reader.null() {
                plain += 1;
                return Ok(Value::Null);
            }
            match plainly(reader, field.field_type.required()) {
                Some(value) => {
                    plain += 1;
                    Ok(value)
                }
                None => reader.next_value(),
            }
        };
        let values = shape.fields.iter().map(one).collect::<Result<_>>()?;
        Ok((values, plain))
    }

    #[test]
    fn fields_read_plainly_are_what_was_written() {
        let (mut all, mut plain, mut short) = (0, 0, 0);
        for seed in 0..10_000 {
            let sample = Sample::new(seed);
            let shape = random_shape(&sample);
            let values = random_values(&sample, &shape);
            let record = shape.encode(&values).unwrap();
            let found = read(&shape, &mut shape.reader(&record, None).unwrap()).unwrap();
            assert_eq!(found.0, values, "seed {seed}");
            (all, plain) = (all + values.len(), plain + found.1);
            if let Some(mut reader) = shape.short_reader(&record, None) {
                short += 1;
                assert_eq!(read(&shape, &mut reader).unwrap(), found, "seed {seed}");
            }
        }
        assert!(short > 500 && plain > all / 3, "{short} short, {plain} of {all} plain");
    }

    #[test]
    fn no_bytes_are_read_plainly_that_are_refused_otherwise() {
        let mut read_both = 0;
        for seed in 0..20_000 {
            let sample = Sample::new(seed);
            let shape = random_shape(&sample);
            let mut record = shape.encode(&random_values(&sample, &shape)).unwrap().to_vec();
            let bit = sample.below(record.len() * 8);
            record[bit / 8] ^= 1 << (bit % 8);
            let record = Bytes::from(record);
            let opened = shape.reader(&record, Some(&record));
            let Ok(plainly) = opened.and_then(|mut reader| read(&shape, &mut reader)) else {
                continue;
            };
            // A decoder looks at the whole table, a reader at what it passes.
            if let Ok(decoded) = shape.decode(&record) {
                assert_eq!(plainly.0, decoded, "seed {seed}");
                read_both += 1;
            }
        }
        assert!(read_both > 1_000, "{read_both}");
    }
}

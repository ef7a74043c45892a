//! The fields of a record as a store has them that keeps each in a column: read from there, without
//! the bytes of a record in between.
//!
//! ```text
//! columns ─▶ scalars, by slot ─┬─▶ members of a struct, letters of JSON
//!                              └─▶ a record, for whoever keeps one
//! ```

use super::RecordShape;
use super::form::Form;
use super::reader::{FieldReader, no_more};
use crate::error::Result;
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Type;

/// A field that is one thing and no list of them, where its store has it.
///
/// What it holds stands behind a whole word, whatever it is: ids would begin at the second byte
/// otherwise, and a processor waits when it reads words across those it has just written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(u64)]
pub enum Scalar<'r> {
    /// Nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A float; zero has one form.
    F64(f64),
    /// A text, or a word that its enum knows.
    Text(&'r str),
    /// Bytes.
    Bytes(&'r [u8]),
    /// A UUID.
    Uuid([u8; 16]),
    /// A UUID that holds its time.
    TimeUuid([u8; 16]),
    /// A ULID.
    Ulid([u8; 16]),
    /// An instant.
    Timestamp(i64),
    /// A length of time.
    Duration(i64),
    /// A day.
    Date(i32),
}

impl Scalar<'_> {
    /// Whether values of a type are scalars.
    pub fn has(of: &Type) -> bool {
        !matches!(of.required(), Type::List(_) | Type::Path | Type::Json)
    }

    /// Bytes of its payload.
    #[inline]
    fn payload_bytes(&self) -> usize {
        match self {
            Scalar::Null => 0,
            Scalar::Bool(_) => 1,
            Scalar::I64(_) | Scalar::U64(_) | Scalar::F64(_) => 8,
            Scalar::Timestamp(_) | Scalar::Duration(_) => 8,
            Scalar::Text(text) => text.len(),
            Scalar::Bytes(bytes) => bytes.len(),
            Scalar::Uuid(_) | Scalar::TimeUuid(_) | Scalar::Ulid(_) => 16,
            Scalar::Date(_) => 4,
        }
    }

    /// Adds its payload, as a record has it; says whether there is one, which null has not.
    #[inline]
    pub fn put(&self, record: &mut Vec<u8>) -> bool {
        match self {
            Scalar::Null => return false,
            Scalar::Bool(value) => record.push(u8::from(*value)),
            Scalar::I64(number) | Scalar::Timestamp(number) | Scalar::Duration(number) => {
                record.extend_from_slice(&number.to_be_bytes());
            }
            Scalar::U64(number) => record.extend_from_slice(&number.to_be_bytes()),
            Scalar::F64(number) => record.extend_from_slice(&number.to_be_bytes()),
            Scalar::Text(text) => record.extend_from_slice(text.as_bytes()),
            Scalar::Bytes(bytes) => record.extend_from_slice(bytes),
            Scalar::Uuid(id) | Scalar::TimeUuid(id) | Scalar::Ulid(id) => {
                record.extend_from_slice(id);
            }
            Scalar::Date(day) => record.extend_from_slice(&day.to_be_bytes()),
        }
        true
    }

    /// The value.
    pub fn value(&self) -> Value {
        match *self {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::I64(number) => Value::I64(number),
            Scalar::U64(number) => Value::U64(number),
            Scalar::F64(number) => Value::F64(number),
            Scalar::Text(text) => Value::Text(text.to_string()),
            Scalar::Bytes(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes)),
            Scalar::Uuid(id) => Value::Uuid(id),
            Scalar::TimeUuid(id) => Value::TimeUuid(id),
            Scalar::Ulid(id) => Value::Ulid(id),
            Scalar::Timestamp(at) => Value::Timestamp(at),
            Scalar::Duration(length) => Value::Duration(length),
            Scalar::Date(day) => Value::Date(day),
        }
    }
}

impl RecordShape {
    /// Whether all of its fields are scalars, of which a store may show so many in their columns.
    pub fn is_of_scalars(&self) -> bool {
        self.fields.len() <= SCALARS_MAX
            && self.fields.iter().all(|field| Scalar::has(&field.field_type))
    }

    /// Bytes of the record that these fields are.
    #[inline]
    pub(crate) fn weight_of(&self, scalars: &[Scalar<'_>]) -> usize {
        let (mut count, mut last, mut nulls, mut bytes) = (0, 0, 0, 0);
        for (field, scalar) in self.fields.iter().zip(scalars) {
            match scalar {
                Scalar::Null => nulls += usize::from(!field.missing.is_null()),
                _ => {
                    (count, last) = (count + 1, field.number.max(last));
                    bytes += scalar.payload_bytes();
                }
            }
        }
        Form::new(count, last, bytes).size(count.into(), nulls) + bytes
    }

    /// The record that these fields are.
    pub(crate) fn encode_scalars(&self, scalars: &[Scalar<'_>]) -> Result<Vec<u8>> {
        let mut record = Vec::new();
        self.encode_behind(&mut record, |slot, _, record| {
            Ok(scalars.get(slot).is_some_and(|scalar| scalar.put(record)))
        })?;
        Ok(record)
    }
}

/// Fields that a store shows in their columns at most; records with more are shown as such.
pub const SCALARS_MAX: usize = 16;

/// Reads the fields of a record that lie in columns, one after the other.
#[derive(Debug)]
pub struct ScalarReader<'r>(&'r [Scalar<'r>]);

impl<'r> ScalarReader<'r> {
    /// A reader of these fields, which are in the order of slots.
    #[inline(always)]
    pub(crate) fn new(scalars: &'r [Scalar<'r>]) -> Self {
        ScalarReader(scalars)
    }
}

/// Methods for the types that are one scalar.
macro_rules! plain {
    ($($name:ident, $kind:ident, $rust:ty;)*) => {
        $(#[inline(always)]
        fn $name(&mut self) -> Option<$rust> {
            let (Scalar::$kind(value), behind) = self.0.split_first()? else { return None };
            self.0 = behind;
            Some(*value)
        }
        )*
    };
}

impl FieldReader for ScalarReader<'_> {
    fn next_value(&mut self) -> Result<Value> {
        let (scalar, behind) = self.0.split_first().ok_or_else(no_more)?;
        self.0 = behind;
        Ok(scalar.value())
    }

    #[inline(always)]
    fn text<T>(&mut self, read_text: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        let (Scalar::Text(text), behind) = self.0.split_first()? else { return None };
        let value = read_text(text).ok()?;
        self.0 = behind;
        Some(value)
    }

    #[inline(always)]
    fn null(&mut self) -> bool {
        let Some((Scalar::Null, behind)) = self.0.split_first() else { return false };
        self.0 = behind;
        true
    }

    plain! {
        bool, Bool, bool;
        i64, I64, i64;
        u64, U64, u64;
        f64, F64, f64;
        uuid, Uuid, [u8; 16];
        time_uuid, TimeUuid, [u8; 16];
        ulid, Ulid, [u8; 16];
        timestamp, Timestamp, i64;
        date, Date, i32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_shape, random_values};
    use super::*;
    use crate::record::RecordField;
    use crate::value::sample::Sample;

    /// The scalar of a value; nothing of a list.
    fn scalar(value: &Value) -> Option<Scalar<'_>> {
        Some(match value {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(*value),
            Value::I64(number) => Scalar::I64(*number),
            Value::U64(number) => Scalar::U64(*number),
            Value::F64(number) => Scalar::F64(*number),
            Value::Text(text) => Scalar::Text(text),
            Value::Bytes(bytes) => Scalar::Bytes(bytes),
            Value::Uuid(id) => Scalar::Uuid(*id),
            Value::TimeUuid(id) => Scalar::TimeUuid(*id),
            Value::Ulid(id) => Scalar::Ulid(*id),
            Value::Timestamp(at) => Scalar::Timestamp(*at),
            Value::Duration(length) => Scalar::Duration(*length),
            Value::Date(day) => Scalar::Date(*day),
            _ => return None,
        })
    }

    /// The next field by the method of its type, which no other takes.
    fn plainly(reader: &mut ScalarReader<'_>, value: &Value) -> Option<Value> {
        if !matches!(value, Value::Null) {
            assert!(!reader.null());
        }
        if !matches!(value, Value::Date(_)) {
            assert_eq!(reader.date(), None);
        }
        Some(match value {
            Value::Null if reader.null() => Value::Null,
            Value::Bool(_) => Value::Bool(reader.bool()?),
            Value::I64(_) => Value::I64(reader.i64()?),
            Value::U64(_) => Value::U64(reader.u64()?),
            Value::F64(_) => Value::F64(reader.f64()?),
            Value::Text(_) => Value::Text(reader.text(|text| Ok(text.to_string()))?),
            Value::Uuid(_) => Value::Uuid(reader.uuid()?),
            Value::TimeUuid(_) => Value::TimeUuid(reader.time_uuid()?),
            Value::Ulid(_) => Value::Ulid(reader.ulid()?),
            Value::Timestamp(_) => Value::Timestamp(reader.timestamp()?),
            Value::Date(_) => Value::Date(reader.date()?),
            _ => return None,
        })
    }

    #[test]
    fn fields_in_columns_are_the_record_that_they_would_be() {
        let mut plain = 0;
        for seed in 0..10_000 {
            let sample = Sample::new(seed);
            let mut shape = random_shape(&sample);
            shape.fields.retain(|field: &RecordField| Scalar::has(&field.field_type));
            let values = random_values(&sample, &shape);
            let record = shape.encode(&values).unwrap();
            let scalars: Vec<Scalar<'_>> = values.iter().map(|v| scalar(v).unwrap()).collect();
            assert_eq!(shape.encode_scalars(&scalars).unwrap(), record, "seed {seed}");
            assert_eq!(shape.weight_of(&scalars), record.len(), "seed {seed}");
            let mut reader = ScalarReader::new(&scalars);
            for value in &values {
                let found = plainly(&mut reader, value);
                plain += usize::from(found.is_some());
                let found = found.map_or_else(|| reader.next_value(), Ok).unwrap();
                assert_eq!(found, *value, "seed {seed}");
            }
            assert!(reader.next_value().is_err());
        }
        assert!(plain > 10_000, "{plain}");
    }
}

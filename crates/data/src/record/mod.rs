//! Records: fields to bytes and back, so that one can be read without the rest.

use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Type;

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
    /// What a record written before the field was added answers.
    pub missing: Value,
}

impl RecordShape {
    /// The bytes of a record; `values` has a value for each slot.
    pub fn encode(&self, values: &[Value]) -> Result<Bytes> {
        let _ = values;
        Err(Error::new(ErrorKind::Internal, "records cannot be encoded yet"))
    }

    /// One field, without decoding the others.
    pub fn read(&self, record: &Bytes, slot: usize) -> Result<Value> {
        let _ = (record, slot);
        Err(Error::new(ErrorKind::Internal, "records cannot be decoded yet"))
    }

    /// All fields, by slot.
    pub fn decode(&self, record: &Bytes) -> Result<Vec<Value>> {
        (0..self.fields.len()).map(|slot| self.read(record, slot)).collect()
    }
}

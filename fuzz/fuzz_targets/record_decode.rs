//! Any bytes, read as a record of any shape: never a panic, and what is accepted can be written and
//! read again.
//!
//! The first byte says how many fields there are and one byte for each says its type; the rest is
//! the record.

#![no_main]

use bytes::Bytes;
use data::record::{RecordField, RecordShape, fields_of};
use data::{ErrorKind, Value};
use keyspace::model::Type;
use libfuzzer_sys::fuzz_target;

fn field(number: usize, byte: u8) -> RecordField {
    let words = || ["open", "done"].map(str::to_string).to_vec();
    let types = [
        Type::Text,
        Type::Bytes,
        Type::Bool,
        Type::I64,
        Type::U64,
        Type::F64,
        Type::Uuid,
        Type::TimeUuid,
        Type::Ulid,
        Type::Timestamp,
        Type::Date,
        Type::Duration,
        Type::Enum(words()),
        Type::Path,
        Type::Json,
    ];
    let mut field_type = types[usize::from(byte & 0x3f) % types.len()].clone();
    if byte & 0x40 != 0 {
        field_type = Type::List(Box::new(Type::Optional(Box::new(field_type))));
    }
    if byte & 0x80 != 0 {
        field_type = Type::List(Box::new(field_type));
    }
    let number = number as u16 + 1;
    // Nothing but null fits every type, and every field must be able to hold what it answers.
    let field_type = Type::Optional(Box::new(field_type));
    RecordField { number, field_type, missing: Value::Null }
}

fuzz_target!(|data: &[u8]| {
    let Some((count, data)) = data.split_first() else { return };
    let Some((types, bytes)) = data.split_at_checked(usize::from(count % 8)) else { return };
    let fields = types.iter().enumerate().map(|(number, byte)| field(number, *byte)).collect();
    let shape = RecordShape { fields };
    let record = Bytes::copy_from_slice(bytes);
    let known = fields_of(&record).is_ok();
    for slot in 0..shape.fields.len() {
        if let Err(error) = shape.read(&record, slot) {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
    }
    match shape.decode(&record) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
        Ok(values) => {
            assert!(known, "what can be decoded can be listed");
            match shape.encode(&values) {
                Ok(again) => assert_eq!(shape.decode(&again).expect("just written"), values),
                // JSON may be stored deeper than it may be written.
                Err(error) => assert_eq!(error.kind(), ErrorKind::Argument),
            }
        }
    }
});

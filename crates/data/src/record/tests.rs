//! Records: nothing is lost, fields come and go, and no bytes make a reader panic.

use super::{Payload, RecordField, RecordShape, fields_of};
use crate::catalogue::BODY_NUMBER;
use crate::error::ErrorKind;
use crate::value::Value;
use crate::value::sample::Sample;
use bytes::Bytes;
use keyspace::model::Type;
use keyspace::model::limits::VALUE_BYTES_MAX;
use serde_json::json;

fn field(number: u16, field_type: Type) -> RecordField {
    RecordField { number, field_type, missing: Value::Null }
}

fn optional(of: Type) -> Type {
    Type::Optional(Box::new(of))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Fields with distinct numbers in any order, some of which answer something when missing.
pub(super) fn random_shape(sample: &Sample) -> RecordShape {
    let mut numbers: Vec<u16> = (1..=12).chain([u16::MAX]).collect();
    let count = sample.below(9);
    let mut fields = Vec::new();
    for _ in 0..count {
        let number = numbers.swap_remove(sample.below(numbers.len()));
        let field_type = sample.field_type(2);
        let missing = match sample.below(2) {
            0 => Value::Null,
            _ => sample.value(field_type.required()),
        };
        fields.push(RecordField { number, field_type, missing });
    }
    if sample.below(2) == 0 {
        fields.sort_by_key(|field| field.number);
    }
    RecordShape { fields }
}

pub(super) fn random_values(sample: &Sample, shape: &RecordShape) -> Vec<Value> {
    shape.fields.iter().map(|field| sample.value(&field.field_type)).collect()
}

#[test]
fn what_is_encoded_is_decoded_again_whole_and_field_by_field() {
    for seed in 0..10_000 {
        let sample = Sample::new(seed);
        let shape = random_shape(&sample);
        let values = random_values(&sample, &shape);
        let record = shape.encode(&values).unwrap();
        assert_eq!(shape.decode(&record).unwrap(), values, "seed {seed}");
        for (slot, value) in values.iter().enumerate() {
            assert_eq!(shape.read(&record, slot).unwrap(), *value, "seed {seed}, slot {slot}");
        }
        assert_eq!(shape.encode(&values).unwrap(), record, "seed {seed}: one spelling");
    }
}

/// The record of these values, added behind other bytes.
fn behind(shape: &RecordShape, values: &[Value], bytes: &mut Vec<u8>) -> crate::Result<()> {
    shape.encode_behind(bytes, |slot, field, bytes| {
        let value = &values[slot];
        if !value.is_null() {
            let payload = Payload::of(value, field.field_type.required())?;
            bytes.extend_from_slice(payload.as_ref());
        }
        Ok(!value.is_null())
    })
}

#[test]
fn a_record_behind_other_bytes_is_the_same() {
    let mut all = Vec::new();
    for seed in 0..10_000 {
        let sample = Sample::new(seed);
        let shape = random_shape(&sample);
        let values = random_values(&sample, &shape);
        let start = all.len();
        behind(&shape, &values, &mut all).unwrap();
        assert_eq!(shape.encode(&values).unwrap(), all[start..], "seed {seed}");
    }
}

#[test]
fn a_long_record_behind_other_bytes_is_the_same_and_a_refused_one_adds_nothing() {
    let fields = vec![
        field(4, Type::Bytes),
        field(1, Type::Bytes),
        RecordField { number: 2, field_type: optional(Type::Bool), missing: Value::Bool(true) },
        field(3, optional(Type::Bytes)),
        field(BODY_NUMBER, Type::Bytes),
    ];
    let shape = RecordShape { fields };
    let bytes = |length: usize| Value::Bytes(Bytes::from(vec![7; length]));
    let half = usize::from(u16::MAX) / 2;
    let most = usize::try_from(VALUE_BYTES_MAX).unwrap();
    for first in [0, 1, half, half + 1, half + 2, 2 * half, 2 * half + 1, 2 * half + 2, most] {
        for second in [half, most - 100, most] {
            for third in [Value::Null, bytes(half)] {
                let values = [bytes(first), bytes(half), Value::Null, third, bytes(second)];
                let mut added = vec![1, 2, 3];
                match (shape.encode(&values), behind(&shape, &values, &mut added)) {
                    (Ok(record), Ok(())) => assert_eq!(added[3..], record),
                    (Err(one), Err(other)) => {
                        assert_eq!(one.to_string(), other.to_string());
                        assert_eq!(added, [1, 2, 3]);
                    }
                    (one, other) => panic!("{one:?} and {other:?}"),
                }
            }
        }
    }
}

#[test]
fn the_bytes_are_these() {
    let shape = RecordShape {
        fields: vec![
            field(3, Type::Text),
            field(1, Type::I64),
            RecordField { number: 2, field_type: optional(Type::Bool), missing: Value::Bool(true) },
            field(4, optional(Type::Date)),
            field(u16::MAX, Type::List(Box::new(optional(Type::Text)))),
        ],
    };
    let tags = Value::List(vec![text("x"), Value::Null]);
    let values = [text("hi"), Value::I64(-2), Value::Null, Value::Null, tags];
    let record = shape.encode(&values).unwrap();
    let expected: &[u8] = &[
        0x8a, 0, 3, 0,
        1, // version 2 with nulls, ends of 1 byte, numbers of 2; 3 fields, 1 null
        0, 1, 8, 0, 3, 10, 0xff, 0xff, 14, // numbers and ends
        0, 2, // the null that was written
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, // -2
        b'h', b'i', // hi
        2, 2, b'x', 0, // two items: one byte, null
    ];
    assert_eq!(record.as_ref(), expected);
    assert_eq!(shape.decode(&record).unwrap(), values);
    let fields = fields_of(&record).unwrap();
    let numbers: Vec<_> = fields.iter().map(|(number, bytes)| (*number, bytes.is_some())).collect();
    assert_eq!(numbers, [(1, true), (2, false), (3, true), (u16::MAX, true)]);
    assert_eq!(fields[2].1.as_deref(), Some(b"hi".as_slice()));
}

#[test]
fn fields_come_and_go_without_a_row_being_written_anew() {
    let with_default =
        |missing: Value| RecordField { number: 2, field_type: optional(Type::Text), missing };
    let old = RecordShape { fields: vec![field(1, Type::I64), field(7, Type::Bool)] };
    let new = RecordShape { fields: vec![with_default(text("none")), field(1, Type::I64)] };
    let written = old.encode(&[Value::I64(5), Value::Bool(true)]).unwrap();
    assert_eq!(new.decode(&written).unwrap(), [text("none"), Value::I64(5)]);
    // A null that was written stays null.
    let written = new.encode(&[Value::Null, Value::I64(5)]).unwrap();
    assert_eq!(new.decode(&written).unwrap(), [Value::Null, Value::I64(5)]);
    assert_eq!(new.read_text(&written, 0).unwrap(), None);
    // Back with the old file: what it knows is there, what it lacks is null.
    assert_eq!(old.decode(&written).unwrap(), [Value::I64(5), Value::Null]);
}

#[test]
fn offsets_grow_when_they_must() {
    let shape = RecordShape { fields: vec![field(1, Type::Bytes), field(2, Type::Text)] };
    let cases =
        [(0, 0x02), (253, 0x02), (254, 0x12), (65_533, 0x12), (65_534, 0x22), (200_000, 0x22)];
    for (length, format) in cases {
        let values = [Value::Bytes(Bytes::from(vec![7; length])), text("ab")];
        let record = shape.encode(&values).unwrap();
        assert_eq!(record[0], format, "{length}");
        assert_eq!(shape.decode(&record).unwrap(), values, "{length}");
    }
}

#[test]
fn numbers_are_written_only_where_one_is_left_out() {
    let numbers = |numbers: &[u16]| {
        let fields = numbers.iter().map(|number| field(*number, Type::Bool)).collect();
        let values = vec![Value::Bool(true); numbers.len()];
        RecordShape { fields }.encode(&values).unwrap()
    };
    let many: Vec<u16> = (1..=255).collect();
    let more: Vec<u16> = (1..=256).collect();
    assert_eq!(numbers(&[1, 2]).as_ref(), [0x02, 2, 1, 2, 1, 1]);
    assert_eq!(numbers(&[1, 3]).as_ref(), [0x42, 2, 1, 1, 3, 2, 1, 1]);
    assert_eq!(numbers(&[1, 256]).as_ref(), [0x82, 0, 2, 0, 1, 1, 1, 0, 2, 1, 1]);
    assert_eq!(numbers(&many)[..3], [0x02, 255, 1]);
    assert_eq!(numbers(&more)[..7], [0x92, 1, 0, 0, 1, 0, 1]);
}

#[test]
fn bytes_are_a_slice_of_their_record() {
    let shape = RecordShape { fields: vec![field(1, Type::Bytes)] };
    let record = shape.encode(&[Value::Bytes(Bytes::from_static(b"abc"))]).unwrap();
    let Value::Bytes(read) = shape.read(&record, 0).unwrap() else { panic!() };
    assert!(record.as_ptr_range().contains(&read.as_ptr()));
}

#[test]
fn what_is_too_large_is_refused_with_its_size() {
    let shape = RecordShape { fields: vec![field(1, Type::Bytes)] };
    let of = |length: usize| shape.encode(&[Value::Bytes(Bytes::from(vec![0; length]))]);
    let most = VALUE_BYTES_MAX as usize - 6;
    assert_eq!(of(most).unwrap().len() as u64, VALUE_BYTES_MAX);
    let error = of(most + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(error.value("given"), Some((VALUE_BYTES_MAX + 1).to_string().as_str()));
}

#[test]
fn a_body_counts_for_itself() {
    let shape = RecordShape { fields: vec![field(1, Type::Text), field(BODY_NUMBER, Type::Bytes)] };
    let of = |text: usize, body: u64| {
        let body = Value::Bytes(Bytes::from(vec![0; body as usize]));
        shape.encode(&[Value::Text("x".repeat(text)), body]).map(|record| record.len())
    };
    assert!(of(5, VALUE_BYTES_MAX).is_ok());
    assert_eq!(of(5, VALUE_BYTES_MAX + 1).unwrap_err().message(), "a body is too large");
    assert!(of(500_000, VALUE_BYTES_MAX).is_ok());
    let error = of(VALUE_BYTES_MAX as usize, 5).unwrap_err();
    assert_eq!(error.message(), "a record is too large");
}

#[test]
fn values_of_other_kinds_are_refused() {
    let cases = [
        (Type::Text, Value::I64(1)),
        (Type::Text, Value::Null),
        (Type::I64, Value::U64(1)),
        (Type::Timestamp, Value::I64(1)),
        (Type::F64, Value::F64(f64::NAN)),
        (Type::F64, Value::F64(f64::INFINITY)),
        (Type::Enum(vec!["a".into(), "b".into()]), text("c")),
        (Type::List(Box::new(Type::Text)), Value::List(vec![Value::Null])),
        (optional(Type::Uuid), Value::Ulid([0; 16])),
    ];
    for (of, value) in cases {
        let shape = RecordShape { fields: vec![field(9, of)] };
        let error = shape.encode(std::slice::from_ref(&value)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{value:?}");
        assert_eq!(error.value("field"), Some("9"), "{value:?}");
    }
    let shape = RecordShape { fields: vec![field(1, Type::Bool)] };
    assert_eq!(shape.encode(&[]).unwrap_err().kind(), ErrorKind::Internal);
    let record = shape.encode(&[Value::Bool(true)]).unwrap();
    assert_eq!(shape.read(&record, 1).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(shape.read_text(&record, 0).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn negative_zero_is_stored_as_zero() {
    let shape = RecordShape { fields: vec![field(1, Type::F64)] };
    let record = shape.encode(&[Value::F64(-0.0)]).unwrap();
    assert_eq!(record, shape.encode(&[Value::F64(0.0)]).unwrap());
}

#[test]
fn json_too_deep_to_be_read_again_is_not_written() {
    let shape = RecordShape { fields: vec![field(1, Type::Json)] };
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert!(shape.encode(&[Value::Json(nested(64))]).is_ok());
    let error = shape.encode(&[Value::Json(nested(65))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn numbers_and_text_are_read_without_a_value() {
    let shape = RecordShape {
        fields: vec![
            field(1, Type::Text),
            field(2, optional(Type::Timestamp)),
            RecordField { number: 3, field_type: Type::I64, missing: Value::I64(3) },
        ],
    };
    let values = [text("grüße"), Value::Timestamp(12), Value::I64(-1)];
    let record = shape.encode(&values).unwrap();
    assert_eq!(shape.read_text(&record, 0).unwrap(), Some("grüße"));
    assert_eq!(shape.read_i64(&record, 1).unwrap(), Some(12));
    assert_eq!(shape.read_i64(&record, 2).unwrap(), Some(-1));
    let empty = RecordShape { fields: Vec::new() }.encode(&[]).unwrap();
    assert_eq!(shape.read_text(&empty, 0).unwrap(), None);
    assert_eq!(shape.read_i64(&empty, 1).unwrap(), None);
    assert_eq!(shape.read_i64(&empty, 2).unwrap(), Some(3));
}

/// Reads bytes in every way there is: values, or `Corrupt`.
fn read_everything(shape: &RecordShape, record: &Bytes, seed: u64) -> Option<Vec<Value>> {
    let is_corrupt = |error: crate::Error| {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "seed {seed}: {error}");
    };
    fields_of(record).map_err(is_corrupt).ok();
    let slots: Vec<Option<Value>> = (0..shape.fields.len())
        .map(|slot| shape.read(record, slot).map_err(is_corrupt).ok())
        .collect();
    let values = shape.decode(record).map_err(is_corrupt).ok()?;
    let read: Option<Vec<Value>> = slots.into_iter().collect();
    assert_eq!(read.as_ref(), Some(&values), "seed {seed}: both ways read the same");
    Some(values)
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let mut accepted = 0;
    for seed in 0..40_000 {
        let sample = Sample::new(seed);
        let shape = random_shape(&sample);
        let record = match sample.below(4) {
            0 => Bytes::from(sample.bytes(60)),
            _ => {
                let values = random_values(&sample, &shape);
                let mut record = shape.encode(&values).unwrap().to_vec();
                for _ in 0..=sample.below(2) {
                    let bit = sample.below(record.len() * 8);
                    record[bit / 8] ^= 1 << (bit % 8);
                }
                if sample.below(4) == 0 {
                    record.truncate(sample.below(record.len()));
                }
                Bytes::from(record)
            }
        };
        accepted += usize::from(read_everything(&shape, &record, seed).is_some());
    }
    // Flips inside a payload are values too; those in the table are not.
    assert!((1_000..30_000).contains(&accepted), "{accepted}");
}

#[test]
fn a_table_that_lies_is_corrupt() {
    let shape = RecordShape { fields: vec![field(1, Type::Text), field(2, Type::Text)] };
    let cases: [(&[u8], &str); 15] = [
        (&[], "it is empty"),
        (&[0x01, 0], "its format is unknown"),
        (&[0x32, 0], "its format is unknown"),
        (&[0xc2, 0], "its format is unknown"),
        (&[0x02], "it ends inside its table"),
        (&[0x82, 0], "it ends inside its table"),
        (&[0x02, 9, 0, 0], "it ends inside its table"),
        (&[0x0a, 0, 0, 0], "its list of nulls is empty"),
        (&[0x12, 0], "its entries have another form than they need"),
        (&[0x42, 1, 1, 0], "its entries have another form than they need"),
        (&[0x82, 0, 1, 0, 2, 0], "its entries have another form than they need"),
        (&[0x02, 1, 1], "its last payload does not end where it ends"),
        (&[0x42, 2, 4, 0, 3, 0], "its fields are not in order"),
        (&[0x02, 3, 1, 0, 1, b'a'], "a payload ends before it begins"),
        (&[0x0a, 1, 0, 1, 0, 0, 1], "a field is null and has a value"),
    ];
    for (bytes, why) in cases {
        let error = shape.decode(&Bytes::copy_from_slice(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{why}");
        assert_eq!(error.value("why"), Some(why));
    }
}

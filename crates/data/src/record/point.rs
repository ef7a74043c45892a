//! Points in records that hold nothing else, of which an index of places has as many as rows.

use super::form::Form;
use super::{RecordShape, front, read};
use crate::error::Result;
use keyspace::model::Type;

/// Where two floats stand in records of a shape.
#[derive(Debug)]
pub(crate) struct Points<'s> {
    shape: &'s RecordShape,
    slots: (usize, usize),
    /// What every record begins with that has both, and nothing else.
    front: Vec<u8>,
    /// Whether the second is written first.
    turned: bool,
}

impl<'s> Points<'s> {
    /// The points in two fields of a shape.
    pub(crate) fn new(shape: &'s RecordShape, slots: (usize, usize)) -> Self {
        let mut front = Vec::new();
        let number = |slot: usize| shape.fields.get(slot).map(|field| field.number);
        let numbers = number(slots.0).zip(number(slots.1));
        let is_plain = |slot: usize| {
            shape.fields.get(slot).is_some_and(|field| *field.field_type.required() == Type::F64)
        };
        if let (Some((one, other)), 2) = (numbers, shape.fields.len())
            && is_plain(slots.0)
            && is_plain(slots.1)
        {
            let fields = [one.min(other), one.max(other)];
            let form = Form::of(fields.into_iter(), 16);
            front::write(form, fields.map(|number| (number, 8)).into_iter(), &[], &mut front);
        }
        Points { shape, slots, front, turned: numbers.is_some_and(|(one, other)| one > other) }
    }

    /// The point of a record; none where a part of it is null.
    #[inline]
    pub(crate) fn read(&self, record: &[u8]) -> Result<Option<(f64, f64)>> {
        match record.strip_prefix(self.front.as_slice()).map(<[u8; 16]>::try_from) {
            Some(Ok(floats)) if !self.front.is_empty() => {
                let (one, other) = floats.split_at(8);
                let (one, other) = (read::float(one)?, read::float(other)?);
                Ok(Some(if self.turned { (other, one) } else { (one, other) }))
            }
            _ => self.shape.read_point(record, self.slots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RecordField, RecordShape};
    use super::*;
    use crate::value::Value;

    fn field(number: u16, field_type: Type) -> RecordField {
        RecordField { number, field_type, missing: Value::Null }
    }

    #[test]
    fn points_are_what_their_fields_hold() {
        let float = || Type::Optional(Box::new(Type::F64));
        let shapes = [
            vec![field(1, Type::F64), field(2, Type::F64)],
            vec![field(7, float()), field(3, float())],
            vec![field(1, Type::F64), field(2, float()), field(4, float())],
        ];
        for fields in shapes {
            let shape = RecordShape { fields };
            let points = Points::new(&shape, (0, 1));
            for second in [Value::F64(-2.5), Value::Null] {
                let mut values = vec![Value::F64(1.5), second, Value::F64(9.0)];
                values.truncate(shape.fields.len());
                let Ok(record) = shape.encode(&values) else { continue };
                let expected = shape.read_point(&record, (0, 1)).unwrap();
                assert_eq!(points.read(&record).unwrap(), expected);
                let place = matches!(values[1], Value::F64(_)).then_some((1.5, -2.5));
                assert_eq!(expected, place);
            }
        }
    }

    #[test]
    fn what_is_no_point_is_refused() {
        let shape = RecordShape { fields: vec![field(1, Type::F64), field(2, Type::F64)] };
        let record = shape.encode(&[Value::F64(1.0), Value::F64(2.0)]).unwrap();
        let points = Points::new(&shape, (0, 1));
        for bad in [f64::NAN, f64::INFINITY, -0.0] {
            let mut record = record.to_vec();
            let place = record.len() - 8;
            record[place..].copy_from_slice(&bad.to_be_bytes());
            assert!(points.read(&record).is_err(), "{bad}");
        }
        assert!(points.read(&record[..record.len() - 1]).is_err());
    }
}

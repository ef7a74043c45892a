//! Random types and values for tests, from a seed; edges come up often.

use super::Value;
use crate::clock::SeededRandom;
use bytes::Bytes;
use keyspace::model::Type;
use serde_json::{Value as Json, json};

/// Chance with the few questions that tests ask.
pub(crate) struct Sample(SeededRandom);

const TEXTS: [&str; 8] = ["", "a", "null", "x/y", "[1]", "\"", "grüße 🗝", "a\0b"];

impl Sample {
    pub(crate) fn new(seed: u64) -> Self {
        Sample(SeededRandom::new(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: usize) -> usize {
        (self.0.number() % end as u64) as usize
    }

    pub(crate) fn bits(&self) -> u64 {
        match self.below(4) {
            0 => self.0.number(),
            1 => self.0.number() >> self.below(64),
            2 => (1 << 53) + self.0.number() % 3 - 1,
            _ => [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64][self.below(5)],
        }
    }

    pub(crate) fn bytes(&self, length_max: usize) -> Vec<u8> {
        (0..self.below(length_max + 1)).map(|_| self.0.number() as u8).collect()
    }

    fn id(&self) -> [u8; 16] {
        (u128::from(self.bits()) << 64 | u128::from(self.bits())).to_be_bytes()
    }

    /// A type that a field may have; lists not deeper than `depth`.
    pub(crate) fn field_type(&self, depth: usize) -> Type {
        let words = ["open", "done", "null"].map(str::to_string).to_vec();
        let of = match self.below(if depth == 0 { 14 } else { 16 }) {
            0 => Type::Text,
            1 => Type::Bytes,
            2 => Type::Bool,
            3 => Type::I64,
            4 => Type::U64,
            5 => Type::F64,
            6 => Type::Uuid,
            7 => Type::TimeUuid,
            8 => Type::Ulid,
            9 => Type::Timestamp,
            10 => Type::Date,
            11 => Type::Enum(words),
            12 => Type::Path,
            13 => Type::Json,
            _ => Type::List(Box::new(self.field_type(depth - 1))),
        };
        if self.below(3) == 0 { Type::Optional(Box::new(of)) } else { of }
    }

    /// A value of a type.
    pub(crate) fn value(&self, of: &Type) -> Value {
        let text = || TEXTS[self.below(TEXTS.len())].to_string();
        match of {
            Type::Optional(_) if self.below(3) == 0 => Value::Null,
            Type::Optional(inner) => self.value(inner),
            Type::Text => Value::Text(text()),
            Type::Bytes => Value::Bytes(Bytes::from(self.bytes(40))),
            Type::Bool => Value::Bool(self.below(2) == 0),
            Type::I64 => Value::I64(self.bits() as i64),
            Type::U64 => Value::U64(self.bits()),
            Type::F64 => Value::F64(self.float()),
            Type::Uuid => Value::Uuid(self.id()),
            Type::TimeUuid => {
                let mut id = self.id();
                id[6] = id[6] & 0x0f | 0x10;
                id[8] = id[8] & 0x3f | 0x80;
                Value::TimeUuid(id)
            }
            Type::Ulid => Value::Ulid(self.id()),
            Type::Timestamp => Value::Timestamp(self.bits() as i64),
            Type::Date => Value::Date(self.bits() as i32),
            Type::Enum(words) => Value::Text(words[self.below(words.len())].clone()),
            Type::Path => Value::Path((0..self.below(4)).map(|_| text()).collect()),
            Type::Json => Value::Json(self.json(3)),
            Type::List(inner) => {
                Value::List((0..self.below(4)).map(|_| self.value(inner)).collect())
            }
            Type::Duration => Value::Duration((self.bits() >> 2) as i64),
        }
    }

    fn float(&self) -> f64 {
        let value = f64::from_bits(self.0.number());
        if value.is_finite() { value + 0.0 } else { 0.5 }
    }

    /// Anything but null.
    fn json(&self, depth: usize) -> Json {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => json!(self.below(2) == 0),
            1 => json!(self.bits()),
            2 => json!(self.float()),
            3 => json!(TEXTS[self.below(TEXTS.len())]),
            4 => json!([null, self.json(depth - 1)]),
            _ => json!({ "b": self.json(depth - 1), "a": null }),
        }
    }
}

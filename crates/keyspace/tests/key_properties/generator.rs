//! A small seeded generator that likes the values key encodings go wrong on.
//!
//! Borders, bytes 00 01 fe ff, and pairs that differ in one small thing. It must never read a
//! clock or any state but its own: one seed, one sequence.

use std::borrow::Cow;

use keyspace::key::{Direction, KeyType, Segment, Value};

const BYTES: [u8; 8] = [0x00, 0x01, 0x02, 0x61, 0x7f, 0x80, 0xfe, 0xff];
const CHARACTERS: [char; 12] =
    ['\0', '\u{1}', 'a', 'b', ':', '/', '%', '{', '\u{7f}', '\u{ff}', '\u{10ffff}', '😀'];
const INTEGERS: [i64; 12] =
    [i64::MIN, i64::MAX, 0, -1, 1, 255, 256, -255, -256, 1 << 53, (1 << 53) + 1, -(1 << 53)];
const FLOATS: [f64; 10] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    pub fn direction(&mut self) -> Direction {
        self.pick(&[Direction::Ascending, Direction::Descending])
    }

    fn segment(&mut self) -> Segment {
        let kind = match self.below(3) {
            0 => self.pick(&[KeyType::Text, KeyType::Bytes, KeyType::Path]),
            _ => self.pick(&KeyType::ALL),
        };
        Segment { kind, direction: self.direction(), nullable: self.below(8) == 0 }
    }

    pub fn shape(&mut self) -> Vec<Segment> {
        (0..=self.below(4)).map(|_| self.segment()).collect()
    }

    /// A shape that has a text: nothing null, a path only at the end.
    pub fn text_shape(&mut self) -> Vec<Segment> {
        let mut shape = self.shape();
        shape.iter_mut().for_each(|segment| segment.nullable = false);
        let last = shape.len() - 1;
        for segment in &mut shape[..last] {
            if segment.kind == KeyType::Path {
                segment.kind = KeyType::Text;
            }
        }
        shape
    }

    pub fn values(&mut self, shape: &[Segment]) -> Vec<Value<'static>> {
        shape.iter().map(|segment| self.value(*segment)).collect()
    }

    /// The same values but for one, which is drawn again or changed a little.
    pub fn near(&mut self, shape: &[Segment], values: &[Value<'static>]) -> Vec<Value<'static>> {
        let mut near = values.to_vec();
        let place = self.below(shape.len() as u64) as usize;
        for (value, segment) in near.iter_mut().zip(shape).skip(place) {
            *value = if self.below(2) == 0 { self.value(*segment) } else { self.nudge(value) };
            if self.below(2) == 0 {
                break;
            }
        }
        near
    }

    pub fn i64(&mut self) -> i64 {
        match self.below(8) {
            0 => self.pick(&INTEGERS),
            _ => {
                let shift = self.below(64);
                self.next() as i64 >> shift
            }
        }
    }

    fn f64(&mut self) -> f64 {
        let value = match self.below(4) {
            0 => self.pick(&FLOATS),
            1 => self.i64() as f64,
            _ => f64::from_bits(self.next()),
        };
        if value.is_nan() { 0.5 } else { value }
    }

    pub fn bytes(&mut self) -> Vec<u8> {
        let length = if self.below(16) == 0 { self.below(40) } else { self.below(5) };
        (0..length).map(|_| self.pick(&BYTES)).collect()
    }

    pub fn text(&mut self) -> String {
        let length = if self.below(16) == 0 { self.below(24) } else { self.below(4) };
        (0..length).map(|_| self.pick(&CHARACTERS)).collect()
    }

    pub fn path(&mut self) -> Vec<Cow<'static, str>> {
        (0..self.below(4)).map(|_| Cow::Owned(self.text())).collect()
    }

    fn sixteen(&mut self) -> [u8; 16] {
        if self.below(2) == 0 {
            return (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        }
        std::array::from_fn(|_| self.pick(&BYTES))
    }

    fn time_uuid(&mut self) -> [u8; 16] {
        let mut uuid = self.sixteen();
        uuid[6] = uuid[6] & 0x0f | 0x10;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }

    fn value(&mut self, segment: Segment) -> Value<'static> {
        if segment.nullable && self.below(4) == 0 {
            return Value::Null;
        }
        match segment.kind {
            KeyType::Bool => Value::Bool(self.below(2) == 0),
            KeyType::I64 => Value::I64(self.i64()),
            KeyType::U64 => Value::U64(self.i64() as u64),
            KeyType::F64 => Value::F64(self.f64()),
            KeyType::Bytes => Value::Bytes(Cow::Owned(self.bytes())),
            KeyType::Text => Value::Text(Cow::Owned(self.text())),
            KeyType::Path => Value::Path(self.path()),
            KeyType::Uuid => Value::Uuid(self.sixteen()),
            KeyType::TimeUuid => Value::TimeUuid(self.time_uuid()),
            KeyType::Timestamp => Value::Timestamp(self.i64()),
            KeyType::Ulid => Value::Ulid(self.sixteen()),
            KeyType::Cell => Value::Cell(self.i64() as u64),
            KeyType::Date => Value::Date(self.i64() as i32),
        }
    }

    /// A neighbour of `value`: one more, one byte or one element longer.
    fn nudge(&mut self, value: &Value<'static>) -> Value<'static> {
        let bit = 1_u128 << self.below(60);
        let flip = |bytes: &[u8; 16]| (u128::from_be_bytes(*bytes) ^ bit).to_be_bytes();
        match value {
            Value::I64(value) => Value::I64(value.wrapping_add(1)),
            Value::U64(value) => Value::U64(value.wrapping_add(1)),
            Value::F64(value) if value.is_finite() => Value::F64(value.next_up()),
            Value::Bytes(bytes) => {
                let mut bytes = bytes.clone().into_owned();
                bytes.push(self.pick(&BYTES));
                Value::Bytes(Cow::Owned(bytes))
            }
            Value::Text(text) => {
                let mut text = text.clone().into_owned();
                text.push(self.pick(&CHARACTERS));
                Value::Text(Cow::Owned(text))
            }
            Value::Path(path) => {
                let mut path = path.clone();
                path.push(Cow::Owned(self.text()));
                Value::Path(path)
            }
            Value::Uuid(uuid) => Value::Uuid(flip(uuid)),
            Value::TimeUuid(uuid) => Value::TimeUuid(flip(uuid)),
            Value::Ulid(ulid) => Value::Ulid(flip(ulid)),
            Value::Timestamp(value) => Value::Timestamp(value.wrapping_add(1)),
            Value::Cell(value) => Value::Cell(value.wrapping_add(1)),
            Value::Date(value) => Value::Date(value.wrapping_add(1)),
            other => other.clone(),
        }
    }

    /// Changes, cuts, repeats or adds a byte.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        let place = self.below(bytes.len() as u64) as usize;
        match self.below(4) {
            0 => bytes[place] = self.pick(&BYTES),
            1 => bytes[place] ^= 1 << self.below(8),
            2 => bytes.truncate(place),
            _ => bytes.insert(place, self.pick(&BYTES)),
        }
    }

    pub fn damage_text(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        let place = self.below(characters.len() as u64) as usize;
        let digit = self.pick(&['0', '1', 'f', 'A', '%', ':', '/', '-', '+', '.', 'e', 'Z', '\0']);
        match self.below(3) {
            0 => characters[place] = digit,
            1 => characters.insert(place, digit),
            _ => drop(characters.remove(place)),
        }
        characters.into_iter().collect()
    }
}

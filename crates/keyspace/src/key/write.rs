//! Typed values to the ordered bytes of a key, appended to a buffer the caller re-uses.
//!
//! ```text
//! collection 7, text "a" ascending, i64 5 descending
//!   00 07 │ 31 61 00 01 │ e6 fa
//! ```
//!
//! A writer must never leave a half-written segment behind: a refused value leaves the buffer as
//! it was before the call.

use super::escape::{PATH_END, push_escaped, push_terminated};
use super::shape::tag;
use super::{Direction, Error, ErrorKind, KEY_BYTES_MAX, KEY_SEGMENTS_MAX, Segment, Value};

/// Appends one key to a buffer, segment by segment.
#[derive(Debug)]
pub struct KeyWriter<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
    segments: usize,
}

impl<'b> KeyWriter<'b> {
    /// Begins a key at the end of `buffer`, whatever is in it already.
    #[inline]
    #[must_use]
    pub fn new(buffer: &'b mut Vec<u8>, collection: u16) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&collection.to_be_bytes());
        Self { buffer, start, segments: 0 }
    }

    /// Begins a key at the end of `buffer` with the front of one, its collection included.
    #[inline]
    #[must_use]
    pub fn with_front(buffer: &'b mut Vec<u8>, front: &[u8]) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(front);
        Self { buffer, start, segments: 0 }
    }

    /// Goes on with bytes that are already a key, or the front of one.
    #[inline]
    #[must_use]
    pub fn resume(buffer: &'b mut Vec<u8>) -> Self {
        Self { buffer, start: 0, segments: 0 }
    }

    /// Bytes written so far, the collection number included.
    #[inline]
    #[must_use]
    pub fn written(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Appends a null.
    #[inline]
    pub fn null(&mut self, direction: Direction) -> Result<(), Error> {
        self.word(tag::NULL, 0, 0, direction)
    }

    /// Appends a [`KeyType::Bool`](super::KeyType::Bool).
    #[inline]
    pub fn bool(&mut self, value: bool, direction: Direction) -> Result<(), Error> {
        self.word(if value { tag::TRUE } else { tag::FALSE }, 0, 0, direction)
    }

    /// Appends a [`KeyType::I64`](super::KeyType::I64).
    #[inline]
    pub fn i64(&mut self, value: i64, direction: Direction) -> Result<(), Error> {
        self.integer(value.unsigned_abs(), value < 0, direction)
    }

    /// Appends a [`KeyType::U64`](super::KeyType::U64).
    #[inline]
    pub fn u64(&mut self, value: u64, direction: Direction) -> Result<(), Error> {
        self.integer(value, false, direction)
    }

    /// Appends a [`KeyType::F64`](super::KeyType::F64).
    #[inline]
    pub fn f64(&mut self, value: f64, direction: Direction) -> Result<(), Error> {
        if value.is_nan() {
            return Err(self.refuse(ErrorKind::NotANumber));
        }
        // Adding zero turns negative zero into zero and changes nothing else.
        let bits = (value + 0.0).to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        self.word(tag::F64, ordered, 8, direction)
    }

    /// Appends a [`KeyType::Bytes`](super::KeyType::Bytes).
    #[inline]
    pub fn bytes(&mut self, value: &[u8], direction: Direction) -> Result<(), Error> {
        self.string(tag::BYTES, value, direction)
    }

    /// Appends a [`KeyType::Text`](super::KeyType::Text), an enum's value included.
    #[inline]
    pub fn text(&mut self, value: &str, direction: Direction) -> Result<(), Error> {
        self.string(tag::TEXT, value.as_bytes(), direction)
    }

    /// Appends a [`KeyType::Path`](super::KeyType::Path).
    #[inline]
    pub fn path<T: AsRef<str>>(&mut self, value: &[T], direction: Direction) -> Result<(), Error> {
        let from = self.buffer.len();
        self.path_front(value, direction)?;
        let mask = direction.mask();
        self.buffer.extend_from_slice(&PATH_END.map(|byte| byte ^ mask));
        self.keep_if_short(from)
    }

    /// Appends a [`KeyType::Uuid`](super::KeyType::Uuid).
    #[inline]
    pub fn uuid(&mut self, value: &[u8; 16], direction: Direction) -> Result<(), Error> {
        self.sixteen(tag::UUID, u128::from_be_bytes(*value), direction)
    }

    /// Appends a [`KeyType::TimeUuid`](super::KeyType::TimeUuid); only version 1 is accepted.
    ///
    /// The last eight bytes are compared as signed bytes, as Cassandra does, so that ties sort
    /// alike in every store.
    #[inline]
    pub fn time_uuid(&mut self, value: &[u8; 16], direction: Direction) -> Result<(), Error> {
        let bits = u128::from_be_bytes(*value);
        if !is_time_uuid(bits) {
            return Err(self.refuse(ErrorKind::NotTimeUuid));
        }
        self.sixteen(tag::TIME_UUID, time_first(bits), direction)
    }

    /// Appends a [`KeyType::Timestamp`](super::KeyType::Timestamp), in milliseconds.
    #[inline]
    pub fn timestamp(&mut self, value: i64, direction: Direction) -> Result<(), Error> {
        self.word(tag::TIMESTAMP, (value ^ i64::MIN) as u64, 8, direction)
    }

    /// Appends a [`KeyType::Ulid`](super::KeyType::Ulid).
    #[inline]
    pub fn ulid(&mut self, value: &[u8; 16], direction: Direction) -> Result<(), Error> {
        self.sixteen(tag::ULID, u128::from_be_bytes(*value), direction)
    }

    /// Appends a [`KeyType::Cell`](super::KeyType::Cell).
    #[inline]
    pub fn cell(&mut self, value: u64, direction: Direction) -> Result<(), Error> {
        self.word(tag::CELL, value, 8, direction)
    }

    /// Appends a [`KeyType::Date`](super::KeyType::Date), in days.
    #[inline]
    pub fn date(&mut self, value: i32, direction: Direction) -> Result<(), Error> {
        let ordered = (value ^ i32::MIN) as u32;
        self.word(tag::DATE, u64::from(ordered) << 32, 4, direction)
    }

    /// Appends a value whose type is known only now, if it fits the shape of its segment.
    pub fn value(&mut self, segment: Segment, value: &Value<'_>) -> Result<(), Error> {
        let fits = value.kind().map_or(segment.nullable, |kind| kind == segment.kind);
        if !fits {
            return Err(self.refuse(ErrorKind::WrongType));
        }
        let direction = segment.direction;
        match value {
            Value::Null => self.null(direction),
            Value::Bool(value) => self.bool(*value, direction),
            Value::I64(value) => self.i64(*value, direction),
            Value::U64(value) => self.u64(*value, direction),
            Value::F64(value) => self.f64(*value, direction),
            Value::Bytes(value) => self.bytes(value, direction),
            Value::Text(value) => self.text(value, direction),
            Value::Path(value) => self.path(value, direction),
            Value::Uuid(value) => self.uuid(value, direction),
            Value::TimeUuid(value) => self.time_uuid(value, direction),
            Value::Timestamp(value) => self.timestamp(*value, direction),
            Value::Ulid(value) => self.ulid(value, direction),
            Value::Cell(value) => self.cell(*value, direction),
            Value::Date(value) => self.date(*value, direction),
        }
    }

    /// The front that all texts beginning with `value` share.
    pub(super) fn text_front(&mut self, value: &str, direction: Direction) -> Result<(), Error> {
        let from = self.begin(value.len())?;
        self.buffer.push(tag::TEXT);
        push_escaped(self.buffer, value.as_bytes());
        self.complement(from, direction);
        self.keep_if_short(from)
    }

    /// The front that all paths beginning with `elements` share.
    pub(super) fn path_front<T: AsRef<str>>(
        &mut self,
        elements: &[T],
        direction: Direction,
    ) -> Result<(), Error> {
        let from = self.begin(0)?;
        self.buffer.push(tag::PATH);
        for element in elements {
            let element = element.as_ref().as_bytes();
            if self.written() + element.len() > KEY_BYTES_MAX {
                return Err(self.undo(from));
            }
            push_terminated(self.buffer, element);
        }
        self.complement(from, direction);
        self.keep_if_short(from)
    }

    #[inline(always)]
    fn string(&mut self, tag: u8, value: &[u8], direction: Direction) -> Result<(), Error> {
        let from = self.begin(value.len().saturating_add(3))?;
        self.buffer.reserve(value.len() + 24);
        self.buffer.push(tag);
        push_terminated(self.buffer, value);
        self.complement(from, direction);
        self.keep_if_short(from)
    }

    #[inline(always)]
    fn integer(
        &mut self,
        magnitude: u64,
        negative: bool,
        direction: Direction,
    ) -> Result<(), Error> {
        let unused_bits = magnitude.leading_zeros() & !7;
        let length = 8 - unused_bits as u8 / 8;
        let (tag, bits) = if negative {
            (tag::INTEGER - length, !magnitude)
        } else {
            (tag::INTEGER + length, magnitude)
        };
        let left = bits.checked_shl(unused_bits).unwrap_or(0);
        self.word(tag, left, usize::from(length), direction)
    }

    /// Appends a tag and the `length` high bytes of `left`: all of it at once, and then takes
    /// back the surplus, which is faster than to copy a varying number of bytes.
    #[inline(always)]
    fn word(
        &mut self,
        tag: u8,
        left: u64,
        length: usize,
        direction: Direction,
    ) -> Result<(), Error> {
        let from = self.begin(1 + length)?;
        let piece = u128::from(tag) << 120 | u128::from(left) << 56;
        let piece = piece ^ u128::from_ne_bytes([direction.mask(); 16]);
        self.buffer.extend_from_slice(&piece.to_be_bytes());
        self.buffer.truncate(from + 1 + length);
        Ok(())
    }

    #[inline(always)]
    fn sixteen(&mut self, tag: u8, payload: u128, direction: Direction) -> Result<(), Error> {
        self.begin(17)?;
        let payload = payload ^ u128::from_ne_bytes([direction.mask(); 16]);
        self.buffer.reserve(17);
        self.buffer.push(tag ^ direction.mask());
        self.buffer.extend_from_slice(&payload.to_be_bytes());
        Ok(())
    }

    /// Counts a segment of at least `bytes_min` bytes, and says where it starts.
    #[inline(always)]
    fn begin(&mut self, bytes_min: usize) -> Result<usize, Error> {
        if self.segments >= KEY_SEGMENTS_MAX {
            return Err(self.refuse(ErrorKind::TooManySegments));
        }
        if self.written().saturating_add(bytes_min) > KEY_BYTES_MAX {
            return Err(self.refuse(ErrorKind::KeyTooLong));
        }
        self.segments += 1;
        Ok(self.buffer.len())
    }

    #[inline]
    fn complement(&mut self, from: usize, direction: Direction) {
        if direction == Direction::Descending {
            self.buffer.iter_mut().skip(from).for_each(|byte| *byte = !*byte);
        }
    }

    #[inline]
    fn keep_if_short(&mut self, from: usize) -> Result<(), Error> {
        if self.written() > KEY_BYTES_MAX { Err(self.undo(from)) } else { Ok(()) }
    }

    /// Takes back a segment that grew too long.
    #[cold]
    fn undo(&mut self, from: usize) -> Error {
        self.buffer.truncate(from);
        self.segments -= 1;
        self.refuse(ErrorKind::KeyTooLong)
    }

    #[cold]
    fn refuse(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.written())
    }
}

/// A whole key, all of whose values fit its shape.
pub fn encode(collection: u16, shape: &[Segment], values: &[Value<'_>]) -> Result<Vec<u8>, Error> {
    if shape.len() != values.len() {
        return Err(Error::new(ErrorKind::ValueCount, 0));
    }
    encode_front(collection, shape, values)
}

/// The front of a key: as many leading segments as there are values.
pub fn encode_front(
    collection: u16,
    shape: &[Segment],
    values: &[Value<'_>],
) -> Result<Vec<u8>, Error> {
    if shape.len() < values.len() {
        return Err(Error::new(ErrorKind::ValueCount, 0));
    }
    let mut bytes = Vec::with_capacity(64);
    let mut writer = KeyWriter::new(&mut bytes, collection);
    for (segment, value) in shape.iter().zip(values) {
        writer.value(*segment, value)?;
    }
    Ok(bytes)
}

/// Version 1, and the variant of RFC 9562.
#[inline]
pub(super) const fn is_time_uuid(bits: u128) -> bool {
    (bits >> 76) & 0xf == 1 && (bits >> 62) & 0x3 == 2
}

/// `low mid high rest` to `high mid low rest`, the signs of the last eight bytes flipped.
#[inline]
const fn time_first(bits: u128) -> u128 {
    let low = bits >> 96;
    let mid = (bits >> 80) & 0xffff;
    let high = (bits >> 64) & 0xffff;
    let rest = (bits as u64 ^ SIGNS) as u128;
    (high << 112) | (mid << 96) | (low << 64) | rest
}

/// The reverse of the order in which a time UUID is stored.
#[inline]
pub(super) const fn time_last(bits: u128) -> u128 {
    let high = bits >> 112;
    let mid = (bits >> 96) & 0xffff;
    let low = (bits >> 64) & 0xffff_ffff;
    let rest = (bits as u64 ^ SIGNS) as u128;
    (low << 96) | (mid << 80) | (high << 64) | rest
}

const SIGNS: u64 = 0x8080_8080_8080_8080;

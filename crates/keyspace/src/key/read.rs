//! The bytes of a key back to typed values, borrowing from the key where nothing was escaped.
//!
//! A reader accepts exactly the bytes a writer makes. It must never accept a second spelling of
//! a key, read past its end, or panic, whatever bytes it is given.

use std::borrow::Cow;

use super::escape::{self, PATH_END};
use super::shape::tag;
use super::write::{is_time_uuid, time_last};
use super::{
    Direction, Error, ErrorKind, KEY_BYTES_MAX, KEY_SEGMENTS_MAX, KeyType, Segment, Value,
};

/// Takes a key apart, segment by segment.
#[derive(Debug, Clone)]
pub struct KeyReader<'a> {
    rest: &'a [u8],
    length: usize,
    collection: u16,
    segments: usize,
}

impl<'a> KeyReader<'a> {
    /// Begins to read a key, at its collection number.
    #[inline]
    pub fn new(key: &'a [u8]) -> Result<Self, Error> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::new(ErrorKind::KeyTooLong, KEY_BYTES_MAX));
        }
        let Some((collection, rest)) = key.split_first_chunk::<2>() else {
            return Err(Error::new(ErrorKind::Truncated, key.len()));
        };
        let collection = u16::from_be_bytes(*collection);
        Ok(Self { rest, length: key.len(), collection, segments: 0 })
    }

    /// The number of the collection the key belongs to.
    #[inline]
    #[must_use]
    pub const fn collection(&self) -> u16 {
        self.collection
    }

    /// The number of bytes read so far: where the next segment begins.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Ends the reading; refuses a key that goes on.
    #[inline]
    pub fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.refuse(ErrorKind::TrailingBytes)) }
    }

    /// Reads a null if the next segment is one, and says whether it was.
    #[inline]
    pub fn null(&mut self, direction: Direction) -> Result<bool, Error> {
        if self.rest.first().is_some_and(|byte| byte ^ direction.mask() == tag::NULL) {
            self.tag(direction)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads a [`KeyType::Bool`].
    #[inline]
    pub fn bool(&mut self, direction: Direction) -> Result<bool, Error> {
        match self.peek(direction) {
            Ok(tag::TRUE) => self.tag(direction).map(|_| true),
            _ => self.expect(tag::FALSE, direction).map(|()| false),
        }
    }

    /// Reads a [`KeyType::I64`].
    #[inline]
    pub fn i64(&mut self, direction: Direction) -> Result<i64, Error> {
        let start = self.clone();
        let (magnitude, negative) = self.integer(direction)?;
        let value = if negative {
            0_i64.checked_sub_unsigned(magnitude)
        } else {
            i64::try_from(magnitude).ok()
        };
        value.ok_or_else(|| start.refuse(ErrorKind::OutOfRange))
    }

    /// Reads a [`KeyType::U64`].
    #[inline]
    pub fn u64(&mut self, direction: Direction) -> Result<u64, Error> {
        let start = self.clone();
        match self.integer(direction)? {
            (magnitude, false) => Ok(magnitude),
            (_, true) => Err(start.refuse(ErrorKind::OutOfRange)),
        }
    }

    /// Reads a [`KeyType::F64`].
    #[inline]
    pub fn f64(&mut self, direction: Direction) -> Result<f64, Error> {
        let start = self.clone();
        let ordered = u64::from_be_bytes(self.fixed(tag::F64, direction)?);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        let value = f64::from_bits(bits);
        if value.is_nan() {
            return Err(start.refuse(ErrorKind::NotANumber));
        }
        if bits == 1 << 63 {
            return Err(start.refuse(ErrorKind::NegativeZero));
        }
        Ok(value)
    }

    /// Reads a [`KeyType::Bytes`].
    #[inline]
    pub fn bytes(&mut self, direction: Direction) -> Result<Cow<'a, [u8]>, Error> {
        self.expect(tag::BYTES, direction)?;
        self.string(direction)
    }

    /// Reads a [`KeyType::Text`].
    #[inline]
    pub fn text(&mut self, direction: Direction) -> Result<Cow<'a, str>, Error> {
        self.expect(tag::TEXT, direction)?;
        self.utf8(direction)
    }

    /// Reads a [`KeyType::Path`].
    pub fn path(&mut self, direction: Direction) -> Result<Vec<Cow<'a, str>>, Error> {
        self.expect(tag::PATH, direction)?;
        let end = PATH_END.map(|byte| byte ^ direction.mask());
        let mut elements = Vec::new();
        loop {
            if let Some((front, rest)) = self.rest.split_first_chunk::<2>()
                && *front == end
            {
                self.rest = rest;
                return Ok(elements);
            }
            elements.push(self.utf8(direction)?);
        }
    }

    /// Reads a [`KeyType::Uuid`].
    #[inline]
    pub fn uuid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        self.fixed(tag::UUID, direction)
    }

    /// Reads a [`KeyType::TimeUuid`].
    #[inline]
    pub fn time_uuid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        let start = self.clone();
        let bits = time_last(u128::from_be_bytes(self.fixed(tag::TIME_UUID, direction)?));
        if !is_time_uuid(bits) {
            return Err(start.refuse(ErrorKind::NotTimeUuid));
        }
        Ok(bits.to_be_bytes())
    }

    /// Reads a [`KeyType::Timestamp`], in milliseconds.
    #[inline]
    pub fn timestamp(&mut self, direction: Direction) -> Result<i64, Error> {
        Ok(i64::from_be_bytes(self.fixed(tag::TIMESTAMP, direction)?) ^ i64::MIN)
    }

    /// Reads a [`KeyType::Ulid`].
    #[inline]
    pub fn ulid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        self.fixed(tag::ULID, direction)
    }

    /// Reads a [`KeyType::Cell`].
    #[inline]
    pub fn cell(&mut self, direction: Direction) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.fixed(tag::CELL, direction)?))
    }

    /// Reads a [`KeyType::Date`], in days.
    #[inline]
    pub fn date(&mut self, direction: Direction) -> Result<i32, Error> {
        Ok(i32::from_be_bytes(self.fixed(tag::DATE, direction)?) ^ i32::MIN)
    }

    /// Reads a segment whose shape is known only now.
    pub fn value(&mut self, segment: Segment) -> Result<Value<'a>, Error> {
        let direction = segment.direction;
        if segment.nullable && self.null(direction)? {
            return Ok(Value::Null);
        }
        Ok(match segment.kind {
            KeyType::Bool => Value::Bool(self.bool(direction)?),
            KeyType::I64 => Value::I64(self.i64(direction)?),
            KeyType::U64 => Value::U64(self.u64(direction)?),
            KeyType::F64 => Value::F64(self.f64(direction)?),
            KeyType::Bytes => Value::Bytes(self.bytes(direction)?),
            KeyType::Text => Value::Text(self.text(direction)?),
            KeyType::Path => Value::Path(self.path(direction)?),
            KeyType::Uuid => Value::Uuid(self.uuid(direction)?),
            KeyType::TimeUuid => Value::TimeUuid(self.time_uuid(direction)?),
            KeyType::Timestamp => Value::Timestamp(self.timestamp(direction)?),
            KeyType::Ulid => Value::Ulid(self.ulid(direction)?),
            KeyType::Cell => Value::Cell(self.cell(direction)?),
            KeyType::Date => Value::Date(self.date(direction)?),
        })
    }

    /// The magnitude and the sign of an integer written with no byte too many.
    #[inline]
    fn integer(&mut self, direction: Direction) -> Result<(u64, bool), Error> {
        let start = self.clone();
        let tag @ tag::INTEGER_MIN..=tag::INTEGER_MAX = self.peek(direction)? else {
            return Err(self.mismatch(direction));
        };
        self.tag(direction)?;
        let negative = tag < tag::INTEGER;
        let length = tag.abs_diff(tag::INTEGER);
        if length == 0 {
            return Ok((0, false));
        }
        let flip = u64::from_ne_bytes([direction.mask(); 8]);
        let flip = if negative { !flip } else { flip };
        let bits = self.word(usize::from(length))? ^ flip;
        let magnitude = bits >> (64 - 8 * u32::from(length));
        if magnitude >> (8 * u32::from(length - 1)) == 0 {
            return Err(start.refuse(ErrorKind::NotMinimal));
        }
        Ok((magnitude, negative))
    }

    /// The next `length` bytes, 1 to 8 of them, at the high end of a word; the low end is noise.
    #[inline]
    fn word(&mut self, length: usize) -> Result<u64, Error> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated());
        };
        let word = match self.rest.first_chunk::<8>() {
            Some(word) => u64::from_be_bytes(*word),
            None => {
                let value = taken.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
                value << (64 - 8 * length)
            }
        };
        self.rest = rest;
        Ok(word)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, tag: u8, direction: Direction) -> Result<[u8; N], Error> {
        self.expect(tag, direction)?;
        let Some((payload, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated());
        };
        self.rest = rest;
        let mask = direction.mask();
        Ok(payload.map(|byte| byte ^ mask))
    }

    #[inline]
    fn string(&mut self, direction: Direction) -> Result<Cow<'a, [u8]>, Error> {
        let taken = escape::take(self.rest, direction)
            .map_err(|(kind, at)| Error::new(kind, self.offset() + at))?;
        self.rest = self.rest.get(taken.length..).unwrap_or_default();
        Ok(taken.content)
    }

    #[inline]
    fn utf8(&mut self, direction: Direction) -> Result<Cow<'a, str>, Error> {
        let offset = self.offset();
        match self.string(direction)? {
            Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
        .ok_or(Error::new(ErrorKind::NotUtf8, offset))
    }

    /// The next tag, not yet taken, as if ascending.
    #[inline]
    fn peek(&self, direction: Direction) -> Result<u8, Error> {
        match self.rest.first() {
            Some(byte) => Ok(byte ^ direction.mask()),
            None => Err(self.truncated()),
        }
    }

    /// Takes the next tag and counts its segment.
    #[inline]
    fn tag(&mut self, direction: Direction) -> Result<u8, Error> {
        let Some((byte, rest)) = self.rest.split_first() else {
            return Err(self.truncated());
        };
        if self.segments >= KEY_SEGMENTS_MAX {
            return Err(self.refuse(ErrorKind::TooManySegments));
        }
        self.segments += 1;
        self.rest = rest;
        Ok(byte ^ direction.mask())
    }

    #[inline]
    fn expect(&mut self, tag: u8, direction: Direction) -> Result<(), Error> {
        if self.peek(direction)? != tag {
            return Err(self.mismatch(direction));
        }
        self.tag(direction).map(|_| ())
    }

    /// Why the next byte does not begin the segment that was expected.
    #[cold]
    fn mismatch(&self, direction: Direction) -> Error {
        self.refuse(match self.peek(direction) {
            Ok(byte) if tag::is_known(byte) => ErrorKind::WrongType,
            Ok(byte) if tag::is_known(!byte) => ErrorKind::WrongDirection,
            Ok(_) => ErrorKind::UnknownTag,
            Err(error) => return error,
        })
    }

    #[cold]
    fn truncated(&self) -> Error {
        Error::new(ErrorKind::Truncated, self.length)
    }

    #[cold]
    fn refuse(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.offset())
    }
}

/// A whole key, all of whose segments are as the shape says: its collection and its values.
pub fn decode<'a>(key: &'a [u8], shape: &[Segment]) -> Result<(u16, Vec<Value<'a>>), Error> {
    let mut reader = KeyReader::new(key)?;
    let mut values = Vec::with_capacity(shape.len().min(KEY_SEGMENTS_MAX));
    for segment in shape {
        values.push(reader.value(*segment)?);
    }
    let collection = reader.collection();
    reader.finish()?;
    Ok((collection, values))
}

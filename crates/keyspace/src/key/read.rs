//! The bytes of a key back to typed values, borrowing from the key where nothing was escaped.
//!
//! A reader accepts exactly the bytes a writer makes. It must never accept a second spelling of
//! a key, read past its end, or panic, whatever bytes it is given.

mod skip;

use std::borrow::Cow;

use super::escape::{self, PATH_END};
use super::shape::tag;
use super::write::{is_time_uuid, time_last};
use super::{
    Direction, Error, ErrorKind, KEY_BYTES_MAX, KEY_SEGMENTS_MAX, KeyType, Segment, Value,
};

/// Takes a key apart, segment by segment. After an error it is of no further use.
#[derive(Debug, Clone)]
pub struct KeyReader<'a> {
    key: &'a [u8],
    rest: &'a [u8],
    collection: u16,
    segments: usize,
}

impl<'a> KeyReader<'a> {
    /// Begins to read a key, at its collection number.
    #[inline(always)]
    pub fn new(key: &'a [u8]) -> Result<Self, Error> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::new(ErrorKind::KeyTooLong, KEY_BYTES_MAX));
        }
        let Some((collection, rest)) = key.split_first_chunk::<2>() else {
            return Err(Error::new(ErrorKind::Truncated, key.len()));
        };
        let collection = u16::from_be_bytes(*collection);
        Ok(Self { key, rest, collection, segments: 0 })
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
        self.key.len() - self.rest.len()
    }

    /// Ends the reading; refuses a key that goes on.
    #[inline]
    pub fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(refuse(self.offset(), ErrorKind::TrailingBytes))
        }
    }

    /// Reads a null if the next segment is one, and says whether it was.
    #[inline]
    pub fn null(&mut self, direction: Direction) -> Result<bool, Error> {
        if self.rest.first().is_some_and(|byte| byte ^ direction.mask() == tag::NULL) {
            return self.tag(direction).map(|_| true);
        }
        Ok(false)
    }

    /// Reads a [`KeyType::Bool`].
    #[inline(always)]
    pub fn bool(&mut self, direction: Direction) -> Result<bool, Error> {
        match self.tag(direction)? {
            tag::FALSE => Ok(false),
            tag::TRUE => Ok(true),
            other => Err(mismatch(self.offset() - 1, other)),
        }
    }

    /// Reads a [`KeyType::I64`].
    #[inline(always)]
    pub fn i64(&mut self, direction: Direction) -> Result<i64, Error> {
        let start = self.offset();
        let (magnitude, negative) = self.integer(direction)?;
        let sign = u64::from(negative);
        if magnitude > i64::MAX as u64 + sign {
            return Err(refuse(start, ErrorKind::OutOfRange));
        }
        // The two's complement, without a branch on the sign.
        Ok((magnitude ^ sign.wrapping_neg()).wrapping_add(sign) as i64)
    }

    /// Reads a [`KeyType::U64`].
    #[inline(always)]
    pub fn u64(&mut self, direction: Direction) -> Result<u64, Error> {
        let start = self.offset();
        match self.integer(direction)? {
            (magnitude, false) => Ok(magnitude),
            (_, true) => Err(refuse(start, ErrorKind::OutOfRange)),
        }
    }

    /// Reads a [`KeyType::F64`].
    #[inline(always)]
    pub fn f64(&mut self, direction: Direction) -> Result<f64, Error> {
        let start = self.offset();
        let ordered = u64::from_be_bytes(self.fixed(tag::F64, direction)?);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        let value = f64::from_bits(bits);
        if value.is_nan() {
            return Err(refuse(start, ErrorKind::NotANumber));
        }
        if bits == 1 << 63 {
            return Err(refuse(start, ErrorKind::NegativeZero));
        }
        Ok(value)
    }

    /// Reads a [`KeyType::Bytes`].
    #[inline(always)]
    pub fn bytes(&mut self, direction: Direction) -> Result<Cow<'a, [u8]>, Error> {
        self.expect(tag::BYTES, direction)?;
        self.string(direction)
    }

    /// Reads a [`KeyType::Text`].
    #[inline(always)]
    pub fn text(&mut self, direction: Direction) -> Result<Cow<'a, str>, Error> {
        self.expect(tag::TEXT, direction)?;
        self.utf8(direction)
    }

    /// Reads a [`KeyType::Path`].
    pub fn path(&mut self, direction: Direction) -> Result<Vec<Cow<'a, str>>, Error> {
        self.expect(tag::PATH, direction)?;
        let end = PATH_END.map(|byte| byte ^ direction.mask());
        let mut elements = Vec::with_capacity(4);
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
    #[inline(always)]
    pub fn uuid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        self.wide(tag::UUID, direction).map(u128::to_be_bytes)
    }

    /// Reads a [`KeyType::TimeUuid`].
    #[inline(always)]
    pub fn time_uuid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        let start = self.offset();
        let bits = time_last(self.wide(tag::TIME_UUID, direction)?);
        if !is_time_uuid(bits) {
            return Err(refuse(start, ErrorKind::NotTimeUuid));
        }
        Ok(bits.to_be_bytes())
    }

    /// Reads a [`KeyType::Timestamp`], in milliseconds.
    #[inline(always)]
    pub fn timestamp(&mut self, direction: Direction) -> Result<i64, Error> {
        Ok(i64::from_be_bytes(self.fixed(tag::TIMESTAMP, direction)?) ^ i64::MIN)
    }

    /// Reads a [`KeyType::Ulid`].
    #[inline(always)]
    pub fn ulid(&mut self, direction: Direction) -> Result<[u8; 16], Error> {
        self.wide(tag::ULID, direction).map(u128::to_be_bytes)
    }

    /// Reads a [`KeyType::Cell`].
    #[inline(always)]
    pub fn cell(&mut self, direction: Direction) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.fixed(tag::CELL, direction)?))
    }

    /// Reads a [`KeyType::Date`], in days.
    #[inline(always)]
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
    #[inline(always)]
    fn integer(&mut self, direction: Direction) -> Result<(u64, bool), Error> {
        let start = self.offset();
        let tag = self.tag(direction)?;
        if !matches!(tag, tag::INTEGER_MIN..=tag::INTEGER_MAX) {
            return Err(mismatch(self.offset() - 1, tag));
        }
        let negative = tag < tag::INTEGER;
        let length = tag.abs_diff(tag::INTEGER);
        if length == 0 {
            return Ok((0, false));
        }
        let flip = u64::from_ne_bytes([direction.mask(); 8]);
        let flip = if negative { !flip } else { flip };
        let bits = self.word(usize::from(length))? ^ flip;
        if bits >> 56 == 0 {
            return Err(refuse(start, ErrorKind::NotMinimal));
        }
        Ok((bits >> (64 - 8 * u32::from(length)), negative))
    }

    /// The next `length` bytes, 1 to 8 of them, at the high end of a word; the low end is noise.
    ///
    /// Reads a whole word at the nearest place where the key has one, and shifts: which place it
    /// is depends on the data, and a branch on that would often be guessed wrong.
    #[inline(always)]
    fn word(&mut self, length: usize) -> Result<u64, Error> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(refuse(self.key.len(), ErrorKind::Truncated));
        };
        let offset = self.offset();
        self.rest = rest;
        let start = offset.min(self.key.len().saturating_sub(8));
        match self.key.get(start..).and_then(|bytes| bytes.first_chunk::<8>()) {
            Some(word) => Ok(u64::from_be_bytes(*word) << (8 * (offset - start))),
            None => Ok(word_of_few(taken)),
        }
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, tag: u8, direction: Direction) -> Result<[u8; N], Error> {
        let mut payload = *self.payload(tag, direction)?;
        // In place: mapped to another array they are turned one at a time.
        payload.iter_mut().for_each(|byte| *byte ^= direction.mask());
        Ok(payload)
    }

    /// Sixteen bytes as one number, which is turned as one.
    #[inline(always)]
    fn wide(&mut self, tag: u8, direction: Direction) -> Result<u128, Error> {
        let flip = u128::from_ne_bytes([direction.mask(); 16]);
        Ok(u128::from_be_bytes(*self.payload(tag, direction)?) ^ flip)
    }

    #[inline(always)]
    fn payload<const N: usize>(
        &mut self,
        tag: u8,
        direction: Direction,
    ) -> Result<&'a [u8; N], Error> {
        self.expect(tag, direction)?;
        let Some((payload, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(refuse(self.key.len(), ErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(payload)
    }

    #[inline(always)]
    fn string(&mut self, direction: Direction) -> Result<Cow<'a, [u8]>, Error> {
        if direction == Direction::Ascending
            && let Some((content, rest)) = escape::take_plain(self.rest)
        {
            self.rest = rest;
            return Ok(Cow::Borrowed(content));
        }
        let (content, rest) = string_slowly(self.rest, self.offset(), direction)?;
        self.rest = rest;
        Ok(content)
    }

    #[inline(always)]
    fn utf8(&mut self, direction: Direction) -> Result<Cow<'a, str>, Error> {
        if direction == Direction::Ascending
            && let Some((content, rest)) = escape::take_plain(self.rest)
            && let Ok(text) = str::from_utf8(content)
        {
            self.rest = rest;
            return Ok(Cow::Borrowed(text));
        }
        let (text, rest) = utf8_slowly(self.rest, self.offset(), direction)?;
        self.rest = rest;
        Ok(text)
    }

    /// Takes the next tag, as if ascending, and counts its segment.
    #[inline(always)]
    fn tag(&mut self, direction: Direction) -> Result<u8, Error> {
        let Some((byte, rest)) = self.rest.split_first() else {
            return Err(refuse(self.key.len(), ErrorKind::Truncated));
        };
        if self.segments >= KEY_SEGMENTS_MAX {
            return Err(refuse(self.offset(), ErrorKind::TooManySegments));
        }
        self.segments += 1;
        self.rest = rest;
        Ok(byte ^ direction.mask())
    }

    #[inline(always)]
    fn expect(&mut self, expected: u8, direction: Direction) -> Result<(), Error> {
        let tag = self.tag(direction)?;
        if tag == expected { Ok(()) } else { Err(mismatch(self.offset() - 1, tag)) }
    }
}

// The rare ways are functions of plain values, so that a reader can live in registers.

/// Text that is descending, has escapes, or is wrong; and what follows it.
#[cold]
fn utf8_slowly(
    rest: &[u8],
    offset: usize,
    direction: Direction,
) -> Result<(Cow<'_, str>, &[u8]), Error> {
    let (content, rest) = string_slowly(rest, offset, direction)?;
    let text = match content {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    };
    text.map(|text| (text, rest)).ok_or(refuse(offset, ErrorKind::NotUtf8))
}

#[cold]
fn string_slowly(
    rest: &[u8],
    offset: usize,
    direction: Direction,
) -> Result<(Cow<'_, [u8]>, &[u8]), Error> {
    let taken =
        escape::take(rest, direction).map_err(|(kind, at)| Error::new(kind, offset + at))?;
    Ok((taken.content, rest.get(taken.length..).unwrap_or_default()))
}

/// Up to eight bytes at the high end of a word.
#[cold]
fn word_of_few(bytes: &[u8]) -> u64 {
    let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    value << (64 - 8 * bytes.len())
}

/// Why a tag does not begin the segment that was expected.
#[cold]
const fn mismatch(offset: usize, tag: u8) -> Error {
    let kind = if tag::is_known(tag) {
        ErrorKind::WrongType
    } else if tag::is_known(!tag) {
        ErrorKind::WrongDirection
    } else {
        ErrorKind::UnknownTag
    };
    Error::new(kind, offset)
}

#[cold]
const fn refuse(offset: usize, kind: ErrorKind) -> Error {
    Error::new(kind, offset)
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

//! The shape of one kind of key: its number, its typed segments, where its group ends.

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Key, Range};
use crate::value::Value;
use bytes::Bytes;
use keyspace::key::{self, Direction, KeyReader, KeyType, KeyWriter};
use keyspace::layout::engine::segment_shape;
use keyspace::model::{self, Bucket};
use std::sync::Arc;

/// The shape of a key.
#[derive(Clone, Debug)]
pub struct KeyShape {
    /// The number of its space.
    pub space: u16,
    /// Its segments, literals left out. On group-atomic stores the key of an entry of versioned
    /// rows ends with the id of the attempt that wrote it, which is not among them.
    pub segments: Vec<key::Segment>,
    /// Their names.
    pub names: Vec<String>,
    /// Their types.
    pub types: Vec<model::Type>,
    /// How many of them are the group.
    pub group: usize,
    /// The number of the smallest space whose rows live in the same group.
    pub family: u16,
    /// The time slices of a group, where the store cuts it.
    pub slices: Option<Slices>,
    /// Whether an attempt's id ends the key.
    pub attempt: bool,
}

/// How a group is cut into time slices, by the first segment after the bar.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The length of a slice, in milliseconds.
    pub every: i64,
    /// The key of the directory: the group's segments and the number of the slice.
    pub directory: Arc<KeyShape>,
}

/// Where something lives on a group-atomic store: what has one place changes together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(Bytes);

impl AsRef<[u8]> for Place {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl KeyShape {
    /// The shape of a key of the model.
    pub fn new(space: u16, key: &model::Key, family: u16) -> Self {
        let segments: Vec<&model::Segment> = key.segments().collect();
        KeyShape {
            space,
            segments: segments.iter().map(|segment| segment_shape(segment)).collect(),
            names: segments.iter().map(|segment| segment.name.clone()).collect(),
            types: segments.iter().map(|segment| segment.segment_type.clone()).collect(),
            group: key.group_segments().count(),
            family,
            slices: None,
            attempt: false,
        }
    }

    /// The same shape cut into slices, with the number of their directory.
    pub fn sliced(mut self, bucket: &Bucket, directory: u16) -> Self {
        let group = self.group;
        let mut segments: Vec<key::Segment> = self.segments.iter().take(group).copied().collect();
        segments.push(KeyType::I64.ascending());
        let mut names: Vec<String> = self.names.iter().take(group).cloned().collect();
        names.push("slice".to_string());
        let mut types: Vec<model::Type> = self.types.iter().take(group).cloned().collect();
        types.push(model::Type::I64);
        let directory = KeyShape {
            space: directory,
            segments,
            names,
            types,
            group,
            family: directory,
            slices: None,
            attempt: false,
        };
        let every = i64::try_from(bucket.every).unwrap_or(i64::MAX).max(1);
        self.slices = Some(Slices { every, directory: Arc::new(directory) });
        self
    }

    /// The key of these values, one for each segment.
    pub fn encode<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Result<Key> {
        let mut bytes = Vec::with_capacity(64);
        self.append_whole(values, &mut bytes)?;
        Ok(Key::from(bytes))
    }

    /// Adds the key of these values, one for each segment, to a buffer.
    pub(crate) fn append_whole<'v>(
        &self,
        values: impl IntoIterator<Item = &'v Value>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        match self.append(values, buffer)? == self.segments.len() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Internal, "a key has too few values")),
        }
    }

    /// The front of a key: the number and as many whole segments as there are values.
    pub fn front<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(64);
        self.append(values, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds the front of a key to a buffer; answers how many values it has taken.
    fn append<'v>(
        &self,
        values: impl IntoIterator<Item = &'v Value>,
        buffer: &mut Vec<u8>,
    ) -> Result<usize> {
        let mut writer = KeyWriter::new(buffer, self.space);
        let mut written = 0;
        for (value, segment) in values.into_iter().zip(&self.segments) {
            put(&mut writer, *segment, value).map_err(|error| self.named(error, written))?;
            written += 1;
        }
        Ok(written)
    }

    /// Adds which segment an error is about.
    fn named(&self, error: Error, position: usize) -> Error {
        error.with("segment", self.names.get(position).map_or("", String::as_str))
    }

    /// The values of a key; an attempt at its end is left out.
    pub fn decode(&self, key: &Key) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.segments.len());
        self.decode_into(key, &mut values)?;
        Ok(values)
    }

    /// Adds the values of a key; an attempt at its end is left out.
    pub fn decode_into(&self, key: &Key, values: &mut Vec<Value>) -> Result<()> {
        self.each_value(key, |value| values.push(Value::from_segment(value)))
    }

    /// Shows the values of a key where they lie; an attempt at its end is left out.
    pub fn each_value<'k>(&self, key: &'k Key, mut show: impl FnMut(key::Value<'k>)) -> Result<()> {
        let mut reader = KeyReader::new(key.as_ref()).map_err(corrupt)?;
        for segment in &self.segments {
            show(reader.value(*segment).map_err(corrupt)?);
        }
        if self.attempt {
            reader.uuid(Direction::Ascending).map_err(corrupt)?;
        }
        reader.finish().map_err(corrupt)
    }

    /// All keys that begin with this front and go on.
    pub fn children(&self, front: &[u8]) -> Range {
        Range::from(key::children(front))
    }

    /// Where a key lives.
    pub fn place(&self, key: &[u8]) -> Result<Place> {
        let mut reader = KeyReader::new(key).map_err(corrupt)?;
        for segment in self.segments.iter().take(self.group) {
            reader.skip(*segment).map_err(corrupt)?;
        }
        let group = key.get(2..reader.offset()).unwrap_or_default();
        let mut place = Vec::with_capacity(2 + group.len() + 10);
        place.extend_from_slice(&self.family.to_be_bytes());
        place.extend_from_slice(group);
        if let (Some(slices), Some(by)) = (&self.slices, self.segments.get(self.group)) {
            let time = time_of(&reader.value(*by).map_err(corrupt)?);
            place.extend_from_slice(&self.space.to_be_bytes());
            place.extend_from_slice(&slices.number(time).to_be_bytes());
        }
        Ok(Place(Bytes::from(place)))
    }

    /// The key of a key's slice in the directory; nothing where groups are not cut.
    pub fn slice_key(&self, key: &[u8]) -> Result<Option<Key>> {
        let (Some(slices), Some(by)) = (&self.slices, self.segments.get(self.group)) else {
            return Ok(None);
        };
        let mut reader = KeyReader::new(key).map_err(corrupt)?;
        for segment in self.segments.iter().take(self.group) {
            reader.skip(*segment).map_err(corrupt)?;
        }
        // The directory has the same segments in front, and so the same bytes.
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&slices.directory.space.to_be_bytes());
        bytes.extend_from_slice(key.get(2..reader.offset()).unwrap_or_default());
        let time = time_of(&reader.value(*by).map_err(corrupt)?);
        KeyWriter::resume(&mut bytes).i64(slices.number(time), Direction::Ascending)?;
        Ok(Some(Key::from(bytes)))
    }
}

/// Adds one segment to a key.
#[inline]
pub(crate) fn put(writer: &mut KeyWriter<'_>, segment: key::Segment, value: &Value) -> Result<()> {
    let direction = segment.direction;
    let put = match (value, segment.kind) {
        (Value::Text(text), KeyType::Text) => writer.text(text, direction),
        (Value::U64(number), KeyType::U64) => writer.u64(*number, direction),
        (Value::Ulid(bytes), KeyType::Ulid) => writer.ulid(bytes, direction),
        // Whoever gives a cell gives its number.
        (Value::U64(cell) | Value::Cell(cell), KeyType::Cell) => writer.cell(*cell, direction),
        (other, _) => match other.as_segment() {
            Some(value) => writer.value(segment, &value),
            None => {
                return Err(Error::new(ErrorKind::Internal, "a value has no place in a key"));
            }
        },
    };
    put.map_err(Error::from)
}

impl Slices {
    /// The number of the slice an instant lies in.
    pub fn number(&self, time: Milliseconds) -> i64 {
        time.div_euclid(self.every)
    }

    /// The number of the slice a value of the segment behind the bar lies in.
    pub fn number_of(&self, value: &Value) -> Result<i64> {
        let time = value.as_segment().map(|value| time_of(&value));
        let missing =
            || Error::new(ErrorKind::Internal, "a slice is cut by something without time");
        time.map(|time| self.number(time)).ok_or_else(missing)
    }

    /// The keys behind `front`, which is a whole group, that lie in a slice.
    pub fn range(&self, front: &[u8], by: key::Segment, number: i64) -> Result<Range> {
        let edge = |number: i64| first_of(by.kind, number.checked_mul(self.every)?);
        let from = edge(number);
        let before = number.checked_add(1).and_then(edge);
        Ok(Range::from(key::between(front, by, from.as_ref(), before.as_ref())?))
    }
}

/// The smallest value of a time-like type that is not before an instant; none beyond its values.
fn first_of(kind: KeyType, time: Milliseconds) -> Option<key::Value<'static>> {
    Some(match kind {
        KeyType::Timestamp => key::Value::Timestamp(time),
        KeyType::Date => {
            let days = time.div_euclid(DAY) + i64::from(time.rem_euclid(DAY) > 0);
            key::Value::Date(i32::try_from(days).ok()?)
        }
        KeyType::Ulid => {
            let time = u64::try_from(time).ok().filter(|time| *time < 1 << 48)?;
            key::Value::Ulid((u128::from(time) << 80).to_be_bytes())
        }
        KeyType::TimeUuid => {
            let ticks = time.checked_add(GREGORIAN)?.checked_mul(10_000)?;
            let ticks = u64::try_from(ticks).ok().filter(|ticks| *ticks < 1 << 60)?;
            let [h0, h1, m0, m1, l0, l1, l2, l3] = ticks.to_be_bytes();
            // Ties are compared as signed bytes: 0x80 is the smallest.
            let [a, b, c, d, e, f, g, h] = [0x80; 8];
            let version = h0 | 0x10;
            key::Value::TimeUuid([l0, l1, l2, l3, m0, m1, version, h1, a, b, c, d, e, f, g, h])
        }
        _ => return None,
    })
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Milliseconds from 1582-10-15, from which a UUID of version 1 counts, to 1970.
const GREGORIAN: i64 = 12_219_292_800_000;

/// The instant a time-like segment holds, in milliseconds; 0 for others.
pub fn time_of(value: &key::Value<'_>) -> Milliseconds {
    match value {
        key::Value::Timestamp(at) => *at,
        key::Value::Date(days) => i64::from(*days) * DAY,
        key::Value::Ulid(bytes) => {
            let [a, b, c, d, e, f, ..] = *bytes;
            i64::from_be_bytes([0, 0, a, b, c, d, e, f])
        }
        key::Value::TimeUuid(bytes) => {
            let [l0, l1, l2, l3, m0, m1, h0, h1, ..] = *bytes;
            let ticks = i64::from_be_bytes([h0 & 0x0f, h1, m0, m1, l0, l1, l2, l3]);
            // A version 1 UUID counts 100 ns.
            ticks / 10_000 - GREGORIAN
        }
        _ => 0,
    }
}

/// What is wrong with a key that cannot be taken apart.
pub(crate) fn corrupt(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

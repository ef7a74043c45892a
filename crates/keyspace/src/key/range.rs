//! Ranges of keys that share whole leading segments, or the front of the next one.
//!
//! A range is `[start, end)` in byte order. It must never be made by cutting characters off a
//! key: `doc1` is no prefix of `doc10`, because every segment ends itself.

use super::{Direction, Error, KeyWriter, Segment, Value};

/// Sorts before whatever can begin a segment.
const BEFORE_SEGMENTS: u8 = 0x00;
/// Sorts after whatever can begin a segment.
const AFTER_SEGMENTS: u8 = 0xff;

/// A half-open range of keys: `start` is in it, `end` is not; `start <= end` always.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The first key that can be in the range.
    pub start: Vec<u8>,
    /// The first key that cannot.
    pub end: Vec<u8>,
}

impl KeyRange {
    /// Whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && key < self.end.as_slice()
    }

    /// Whether no key can lie in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    fn new(start: Vec<u8>, end: Vec<u8>) -> Self {
        let end = if end < start { start.clone() } else { end };
        Self { start, end }
    }

    /// Everything that begins with `front`, which is no longer than a whole segment and so
    /// always holds a byte that can be raised.
    fn beginning_with(front: Vec<u8>) -> Self {
        let mut end = front.clone();
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                break;
            }
        }
        Self { start: front, end }
    }
}

/// The keys that have at least one segment more than `prefix`; not `prefix` itself.
///
/// `prefix` is a collection number and any number of whole segments.
#[must_use]
pub fn children(prefix: &[u8]) -> KeyRange {
    KeyRange { start: with(prefix, BEFORE_SEGMENTS), end: with(prefix, AFTER_SEGMENTS) }
}

/// The children of `prefix` whose next value is at least `from` and less than `before`.
///
/// Both bounds are by value, whichever direction the segment has. A bound left out is no bound,
/// and then null, which sorts below every value, is on the low side.
pub fn between(
    prefix: &[u8],
    segment: Segment,
    from: Option<&Value<'_>>,
    before: Option<&Value<'_>>,
) -> Result<KeyRange, Error> {
    let all = children(prefix);
    let edge = |value: &Value<'_>| {
        let mut bytes = prefix.to_vec();
        KeyWriter::resume(&mut bytes).value(segment, value)?;
        // In descending order a value's keys lie on the far side of an edge set at the value.
        if segment.direction == Direction::Descending {
            bytes.push(AFTER_SEGMENTS);
        }
        Ok(bytes)
    };
    let from = from.map(edge).transpose()?;
    let before = before.map(edge).transpose()?;
    let (start, end) = match segment.direction {
        Direction::Ascending => (from, before),
        Direction::Descending => (before, from),
    };
    Ok(KeyRange::new(start.unwrap_or(all.start), end.unwrap_or(all.end)))
}

/// The children of `prefix` whose next value is a text that begins with `front`.
pub fn starts(prefix: &[u8], direction: Direction, front: &str) -> Result<KeyRange, Error> {
    let mut bytes = prefix.to_vec();
    KeyWriter::resume(&mut bytes).text_front(front, direction)?;
    Ok(KeyRange::beginning_with(bytes))
}

/// The children of `prefix` whose next value is the path `elements` or lies beneath it.
pub fn under<T: AsRef<str>>(
    prefix: &[u8],
    direction: Direction,
    elements: &[T],
) -> Result<KeyRange, Error> {
    let mut bytes = prefix.to_vec();
    KeyWriter::resume(&mut bytes).path_front(elements, direction)?;
    Ok(KeyRange::beginning_with(bytes))
}

fn with(prefix: &[u8], last: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(prefix.len() + 1);
    bytes.extend_from_slice(prefix);
    bytes.push(last);
    bytes
}

//! Keys and ranges of keys, encoded: the number of a space, then its segments.

use bytes::Bytes;
use keyspace::key::KeyRange;
use std::borrow::Borrow;
use std::fmt;

/// The encoded key of a row, an entry or a claim; compared byte by byte.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

impl Key {
    /// A key that was encoded.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Key(bytes.into())
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Its first 16 bytes as a number; zeros where it is shorter. Numbers are compared faster than
    /// bytes, and are in the same order unless they are the same.
    pub fn front(&self) -> u128 {
        front(&self.0)
    }

    /// The number of the space it belongs to; 0, which no space has, for fewer than two bytes.
    pub fn space(&self) -> u16 {
        match self.0.as_ref() {
            [high, low, ..] => u16::from_be_bytes([*high, *low]),
            _ => 0,
        }
    }
}

/// The first 16 bytes of a key as a number, as [`Key::front`] says.
pub(crate) fn front(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(front) => u128::from_be_bytes(*front),
        None => {
            let mut front = [0; 16];
            front.iter_mut().zip(key).for_each(|(byte, own)| *byte = *own);
            u128::from_be_bytes(front)
        }
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Key {
    fn from(bytes: Vec<u8>) -> Self {
        Key(Bytes::from(bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({})", self.0.escape_ascii())
    }
}

/// A half-open range of keys: `start` is in it, `end` is not.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first key that can be in the range.
    pub start: Bytes,
    /// The first key that cannot.
    pub end: Bytes,
}

impl Range {
    /// Every key of a space.
    pub fn of_space(space: u16) -> Range {
        // Keys of a space begin with its number; the next number is the first that does not.
        let start = Bytes::copy_from_slice(&space.to_be_bytes());
        let end = match space.checked_add(1) {
            Some(next) => Bytes::copy_from_slice(&next.to_be_bytes()),
            None => Bytes::copy_from_slice(&[0xff; 3]),
        };
        Range { start, end }
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_ref() <= key && key < self.end.as_ref()
    }

    /// The range for many keys, made ready once.
    pub fn sieve(&self) -> Sieve<'_> {
        let same = self.start.iter().zip(&self.end).take_while(|(one, other)| one == other);
        let (common, start) = self.start.split_at(same.count());
        let end = self.end.strip_prefix(common).unwrap_or_default();
        Sieve { range: self, common, fronts: front(start)..front(end) }
    }

    /// The part of the range that a scan has still to read after `last`, which it has read.
    pub fn after(&self, last: &Key, reverse: bool) -> Range {
        if reverse {
            return Range { start: self.start.clone(), end: last.bytes().clone() };
        }
        // The next possible key is the same one with a zero byte behind it.
        let mut start = Vec::with_capacity(last.bytes().len() + 1);
        start.extend_from_slice(last.as_ref());
        start.push(0);
        Range { start: Bytes::from(start), end: self.end.clone() }
    }
}

/// A range that many keys are held against. Keys of one group begin as both ends of the range do:
/// that is compared once, and behind it numbers mostly tell.
#[derive(Clone, Debug)]
pub struct Sieve<'r> {
    range: &'r Range,
    /// What both ends begin with.
    common: &'r [u8],
    /// What follows it at either end.
    fronts: std::ops::Range<u128>,
}

impl Sieve<'_> {
    /// Whether a key lies in the range.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        match key.strip_prefix(self.common).map(front) {
            Some(front) if self.fronts.start < front && front < self.fronts.end => true,
            _ => self.range.contains(key),
        }
    }
}

impl From<KeyRange> for Range {
    fn from(range: KeyRange) -> Self {
        Range { start: Bytes::from(range.start), end: Bytes::from(range.end) }
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.start.escape_ascii(), self.end.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_are_in_the_order_of_keys_unless_they_are_the_same() {
        let long = [7; 40];
        let keys: [&[u8]; 9] = [
            b"",
            b"\x00",
            b"\x00\x01",
            b"\x00\x01a",
            b"\x00\x01a\x00",
            b"\x00\x01abcdefghijklmn",
            b"\x00\x01abcdefghijklmnopq",
            &long,
            b"\xff",
        ];
        let keys = keys.map(|bytes| Key::new(bytes.to_vec()));
        assert!(keys.is_sorted() && keys.is_sorted_by_key(Key::front));
        assert_eq!(keys.iter().filter(|key| key.front() == 0).count(), 2);
    }

    #[test]
    fn a_sieve_lets_through_what_its_range_contains() {
        let mut keys = vec![Vec::new()];
        for front in [&b""[..], b"\x00\x07", b"a group that is longer than its front"] {
            for behind in
                [&b""[..], b"\x00", b"\x01", b"\x01\x00", b"b", b"b and more than 16 bytes"]
            {
                keys.push([front, behind].concat());
            }
        }
        for (start, end) in keys.iter().flat_map(|one| keys.iter().map(move |two| (one, two))) {
            let range = Range { start: start.clone().into(), end: end.clone().into() };
            let sieve = range.sieve();
            for key in &keys {
                assert_eq!(sieve.contains(key), range.contains(key), "{range:?} {key:?}");
            }
        }
    }
}

//! How rows lie in the engine's table `rows`, as bytes and back.
//!
//! ```text
//! key of a row ─────────▶ flags 1 │ version 16 if bit 0 │ expires 8 if bit 1 │ value
//! 00 00 c ──────────────▶ the catalogue
//! 00 00 d expires key ──▶ nothing: a row that ends, in the order of the ends
//! 00 00 m ──────────────▶ where the keyspace has moved to
//! 00 00 o ──────────────▶ which table of outcomes is in use, since when
//! 00 00 s ──────────────▶ the number of the last commit
//! 00 00 t ──────────────▶ the last commit that the log of changes let go
//! 00 00 w ──────────────▶ no row ends before this instant
//! ```
//!
//! No space has the number 0, so what begins with `00 00` is the store's own. All of it lies in the
//! table of the rows on purpose: one commit number then vouches for everything in the table.
//! A value that is read is a slice of what the engine holds, never a copy.

use super::error::damaged;
use bytes::{Buf, BufMut, Bytes};
use data::Result;
use data::clock::Milliseconds;
use data::store::{CommitId, Key, Lying, Range, Row, Seen, Version};

/// The catalogue.
pub(super) const CATALOGUE: [u8; 3] = [0, 0, b'c'];
/// Where the keyspace has moved to.
pub(super) const MOVED: [u8; 3] = [0, 0, b'm'];
/// The table of outcomes in use.
pub(super) const OUTCOMES: [u8; 3] = [0, 0, b'o'];
/// The number of the last commit.
pub(super) const SEQUENCE: [u8; 3] = [0, 0, b's'];
/// The last commit that the log of changes let go.
pub(super) const TRIMMED: [u8; 3] = [0, 0, b't'];
/// The instant before which no row ends.
pub(super) const WATERMARK: [u8; 3] = [0, 0, b'w'];

/// Where the ends begin, and where what follows them does.
const DUE: [u8; 3] = [0, 0, b'd'];
const AFTER_DUE: [u8; 3] = [0, 0, b'd' + 1];
/// The first key a row can have.
const FIRST_ROW: [u8; 2] = [0, 1];

const HAS_VERSION: u8 = 1;
const HAS_EXPIRES: u8 = 2;

/// A row as it is stored, with not a byte of room to spare: the engine keeps it for long.
pub(super) fn encode_row(
    value: &[u8],
    version: Option<Version>,
    expires: Option<Milliseconds>,
) -> Bytes {
    if value.is_empty() && version.is_none() && expires.is_none() {
        return Bytes::from_static(&[0]);
    }
    let version = version.as_ref().map(|version| version.as_bytes().as_slice());
    let expires = expires.map(Milliseconds::to_be_bytes);
    let flags = if version.is_some() { HAS_VERSION } else { 0 }
        | if expires.is_some() { HAS_EXPIRES } else { 0 };
    let version = version.unwrap_or_default();
    let expires = expires.as_ref().map(|expires| expires.as_slice()).unwrap_or_default();
    Bytes::from([&[flags], version, expires, value].concat())
}

/// A row as it was.
pub(super) fn decode_row(stored: impl Into<Bytes>) -> Result<Row> {
    let mut value: Bytes = stored.into();
    let (front, version, expires) = decode_front(&value)?;
    value.advance(front);
    Ok(Row { value, version, expires, trail: None })
}

/// A row where it lies.
#[inline(always)]
pub(super) fn seen<'r>(key: &'r [u8], stored: &'r Bytes) -> Result<Seen<'r>> {
    let (front, version, expires) = decode_front(stored)?;
    let content = Lying::Encoded(stored.get(front..).unwrap_or_default(), Some(stored));
    Ok(Seen { key, content, version, expires })
}

/// What stands before the content of a row: how many bytes, its version and its end.
#[inline(always)]
fn decode_front(stored: &[u8]) -> Result<(usize, Option<Version>, Option<Milliseconds>)> {
    let (flags, mut rest) = stored.split_first().ok_or_else(|| damaged("row"))?;
    if flags & !(HAS_VERSION | HAS_EXPIRES) != 0 {
        return Err(damaged("row").with("flags", flags));
    }
    let mut version = None;
    if flags & HAS_VERSION != 0 {
        let (id, after) = rest.split_first_chunk().ok_or_else(|| damaged("row"))?;
        version = Some(CommitId::from_stored(*id));
        rest = after;
    }
    let mut expires = None;
    if flags & HAS_EXPIRES != 0 {
        let (at, after) = rest.split_first_chunk().ok_or_else(|| damaged("row"))?;
        expires = Some(Milliseconds::from_be_bytes(*at));
        rest = after;
    }
    Ok((stored.len() - rest.len(), version, expires))
}

/// The part of a range in which rows can lie.
pub(super) fn rows_of(range: &Range) -> Range {
    let first = Bytes::from_static(&FIRST_ROW);
    Range { start: range.start.clone().max(first), end: range.end.clone() }
}

/// The place of a row's end among all ends.
pub(super) fn due_key(expires: Milliseconds, key: &Key) -> Vec<u8> {
    let mut due = due_start(expires);
    due.extend_from_slice(key.as_ref());
    due
}

/// Where the ends at or after an instant begin.
pub(super) fn due_start(expires: Milliseconds) -> Vec<u8> {
    let mut due = Vec::with_capacity(64);
    due.extend_from_slice(&DUE);
    // With the sign bit turned, the bytes sort as the numbers do.
    due.put_i64(expires ^ Milliseconds::MIN);
    due
}

/// Where the ends after an instant begin.
pub(super) fn due_after(expires: Milliseconds) -> Vec<u8> {
    expires.checked_add(1).map_or_else(|| AFTER_DUE.to_vec(), due_start)
}

/// The end and the row that a place among the ends stands for.
pub(super) fn decode_due(stored: impl Into<Bytes>) -> Result<(Milliseconds, Key)> {
    let mut stored: Bytes = stored.into();
    let mut space = DUE;
    let known = stored.try_copy_to_slice(&mut space).is_ok() && space == DUE;
    match stored.try_get_i64() {
        Ok(expires) if known => Ok((expires ^ Milliseconds::MIN, Key::new(stored))),
        _ => Err(damaged("end of a row")),
    }
}

/// A number that the store keeps for itself.
pub(super) fn decode_number(stored: &[u8]) -> Result<u64> {
    <[u8; 8]>::try_from(stored).map(u64::from_be_bytes).map_err(|_| damaged("number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::ErrorKind;

    fn row(version: bool, expires: Option<Milliseconds>, value: &'static [u8]) -> Row {
        let version = version.then(|| CommitId::from_stored([7; 16]));
        Row { value: Bytes::from_static(value), version, expires, trail: None }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        for version in [false, true] {
            for expires in [None, Some(0), Some(-1), Some(i64::MAX), Some(i64::MIN)] {
                for value in [&b""[..], b"v", b"\x00\xff\x00"] {
                    let row = row(version, expires, value);
                    let stored = encode_row(&row.value, row.version, row.expires);
                    assert_eq!(decode_row(stored).unwrap(), row);
                }
            }
        }
    }

    #[test]
    fn a_value_is_a_slice_of_what_was_stored() {
        let version = Some(CommitId::from_stored([7; 16]));
        let stored = encode_row(b"value", version, Some(1));
        let read = decode_row(stored.clone()).unwrap().value;
        assert_eq!(read.as_ptr(), stored.slice(25..).as_ptr());
    }

    #[test]
    fn bytes_that_were_never_written_are_refused() {
        for stored in [&b""[..], b"\x04", b"\x01short", b"\x02short", b"\xff"] {
            assert_eq!(decode_row(stored).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        assert!(decode_due(&b"\x00\x00dshort"[..]).is_err());
        assert!(decode_due(&b"\x00\x00e00000000"[..]).is_err());
        assert!(decode_number(b"seven77").is_err());
    }

    #[test]
    fn ends_sort_by_their_instant() {
        let key = Key::new(&b"\x00\x01k"[..]);
        let instants = [i64::MIN, -5, -1, 0, 1, 256, i64::MAX];
        let places: Vec<_> = instants.iter().map(|at| due_key(*at, &key)).collect();
        assert!(places.is_sorted());
        for (at, place) in instants.into_iter().zip(places) {
            assert!(due_start(at) <= place && place < due_after(at));
            assert_eq!(decode_due(place).unwrap(), (at, key.clone()));
        }
    }
}

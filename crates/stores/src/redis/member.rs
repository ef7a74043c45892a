//! Members: how the rows of a group stand in its list, and ranges of keys as ranges of members.
//!
//! ```text
//! key       space │ group │ rest                      member     Text, Sortable or Encoded
//! range     [start, end) of keys ─▶ two cuts ─▶ min, max of ZRANGE BYLEX
//! ```
//!
//! A cut is exact where a range was made from whole segments or the front of a text; it is never
//! too tight. Whoever reads holds every key against the range once more.

use super::error::damaged;
use super::name::{Template, joined, split};
use data::schema::time_of;
use data::store::Range;
use data::{Error, ErrorKind, Result};
use keyspace::key::text::Separator;
use keyspace::key::{Direction, KeyReader, KeyType, KeyWriter, Segment, Value};
use keyspace::layout::redis::{MemberForm, SliceForm, slice_text};
use keyspace::layout::sortable;
use keyspace::model::Part;

/// Sorts after every byte of a text.
const AFTER_TEXT: u8 = 0xff;
/// The tags of bytes and text in the key encoding.
const BYTES_TAG: u8 = 0x30;
const TEXT_TAG: u8 = 0x31;

/// What the members of a group are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Read whole, sorted afterwards.
    Set,
    /// In the order of the key, or wholly reversed.
    SortedSet,
    /// A Hash of counters without an order beside it: read whole.
    Hash,
}

/// The list of a group.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// Its name.
    pub(super) template: Template,
    /// What it is.
    pub(super) kind: ListKind,
    /// How members are written.
    pub(super) form: MemberForm,
    /// The segments after the bar.
    pub(super) parts: Vec<Part>,
    /// How the group is cut.
    pub(super) slices: Option<SliceRule>,
}

/// How a group is cut into time slices.
#[derive(Clone, Debug)]
pub(super) struct SliceRule {
    /// How the start of a slice is written.
    pub(super) form: SliceForm,
    /// Milliseconds of a slice.
    pub(super) every: i64,
    /// The name of the directory.
    pub(super) directory: Template,
    /// Whether later slices stand first.
    pub(super) descending: bool,
}

impl SliceRule {
    /// The slice a value lies in, as it is written.
    pub(super) fn text(&self, value: &Value<'_>) -> String {
        let time = time_of(value);
        slice_text(self.form, time.div_euclid(self.every).saturating_mul(self.every))
    }
}

/// A key, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Parts<'k> {
    /// The key.
    pub(super) key: &'k [u8],
    /// Its values.
    pub(super) values: Vec<Value<'k>>,
    /// How many of them are the group.
    pub(super) group: usize,
    /// Bytes of its number and its group.
    pub(super) front: usize,
}

impl<'k> Parts<'k> {
    /// The parts of a key.
    pub(super) fn of(key: &'k [u8], segments: &[Segment], group: usize) -> Result<Parts<'k>> {
        let wrong = |error| {
            Error::new(ErrorKind::Argument, "a key is not one of its collection").caused_by(error)
        };
        let mut reader = KeyReader::new(key).map_err(wrong)?;
        let mut values = Vec::with_capacity(segments.len());
        let mut front = reader.offset();
        for (number, segment) in segments.iter().enumerate() {
            values.push(reader.value(*segment).map_err(wrong)?);
            if number < group {
                front = reader.offset();
            }
        }
        reader.finish().map_err(wrong)?;
        Ok(Parts { key, values, group, front })
    }

    /// The values after the bar.
    pub(super) fn rest(&self) -> &[Value<'k>] {
        self.values.get(self.group..).unwrap_or_default()
    }
}

/// A group of rows of one kind: the front of their keys.
#[derive(Clone, Debug)]
pub(super) struct Group<'k> {
    /// Number and group segments, encoded.
    pub(super) front: &'k [u8],
    /// The group's values.
    pub(super) values: Vec<Value<'k>>,
}

impl<'k> Group<'k> {
    /// The one group in which a range lies, if it lies in one.
    pub(super) fn of(range: &'k Range, segments: &[Segment], group: usize) -> Option<Group<'k>> {
        let start = range.start.as_ref();
        let mut reader = KeyReader::new(start).ok()?;
        let mut values = Vec::with_capacity(segments.len());
        for segment in segments.iter().take(group) {
            values.push(reader.value(*segment).ok()?);
        }
        let front = start.get(..reader.offset())?;
        // Whatever begins a segment sorts before this byte.
        let after_group = [front, &[0xff]].concat();
        (range.end.as_ref() <= after_group.as_slice()).then_some(Group { front, values })
    }
}

impl List {
    /// The member of a row.
    pub(super) fn member(&self, separator: Separator, row: &Parts<'_>) -> Result<Vec<u8>> {
        Ok(match self.form {
            MemberForm::Encoded => row.key.get(row.front..).unwrap_or_default().to_vec(),
            MemberForm::Sortable { .. } => {
                let mut text = Vec::with_capacity(40);
                for (number, value) in row.rest().iter().enumerate() {
                    if number > 0 {
                        text.push(separator.character() as u8);
                    }
                    text.extend_from_slice(sortable_text(value)?.as_bytes());
                }
                text
            }
            _ => joined(separator, row.rest(), self.kind == ListKind::Hash)?.into_bytes(),
        })
    }

    /// The key of a member. `segments` are those after the bar.
    pub(super) fn key(
        &self,
        separator: Separator,
        (front, segments): (&[u8], &[Segment]),
        member: &[u8],
    ) -> Result<Vec<u8>> {
        let mut key = front.to_vec();
        if self.form == MemberForm::Encoded {
            key.extend_from_slice(member);
            return Ok(key);
        }
        let wrong = || damaged("a member").with("member", member.escape_ascii());
        let text = std::str::from_utf8(member).map_err(|_| wrong())?;
        let values = match self.form {
            MemberForm::Sortable { .. } => {
                sortable::values(&self.parts, separator.character(), text).ok_or_else(wrong)?
            }
            _ => {
                let kinds: Vec<KeyType> = segments.iter().map(|segment| segment.kind).collect();
                split(separator, &kinds, text, self.kind == ListKind::Hash)?
            }
        };
        let mut rest = Vec::with_capacity(64);
        let mut writer = KeyWriter::new(&mut rest, 0);
        for (segment, value) in segments.iter().zip(&values) {
            writer.value(*segment, value)?;
        }
        key.extend_from_slice(rest.get(2..).unwrap_or_default());
        Ok(key)
    }

    /// Whether members stand in the order opposite to the keys.
    pub(super) fn is_reversed(&self) -> bool {
        self.form == MemberForm::Sortable { reverse: true }
    }

    /// The members of a range of a group: the bounds of `ZRANGE … BYLEX`, least first.
    pub(super) fn bounds(
        &self,
        separator: Separator,
        (range, front): (&Range, usize),
        segments: &[Segment],
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let start = range.start.get(front..).unwrap_or_default();
        let end = range.end.get(front..).unwrap_or_default();
        if self.form == MemberForm::Encoded {
            return Ok((bound(b'[', start), bound(b'(', end)));
        }
        let separator = separator.character() as u8;
        let reversed = self.is_reversed();
        let cut = |bytes| Cut::at(bytes, segments, separator, reversed);
        let (first, last) = (cut(start)?, cut(end)?);
        let sign = |inclusive: bool| if inclusive { b'[' } else { b'(' };
        Ok(match reversed {
            false => (bound(sign(first.holds), &first.text), bound(sign(!last.holds), &last.text)),
            true => (bound(sign(!last.holds), &last.text), bound(sign(first.holds), &first.text)),
        })
    }

    /// The slices a range can lie in: the bounds of `ZRANGE … BYLEX` in the directory.
    pub(super) fn slice_bounds(
        &self,
        rule: &SliceRule,
        (range, front): (&Range, usize),
        segments: &[Segment],
    ) -> (Vec<u8>, Vec<u8>) {
        let slice = |edge: &[u8]| {
            let by = segments.first()?;
            let numbered = [&[0, 1], edge.get(front..)?].concat();
            let value = KeyReader::new(&numbered).ok()?.value(*by).ok()?;
            Some(bound(b'[', rule.text(&value).as_bytes()))
        };
        let (start, end) = (slice(&range.start), slice(&range.end));
        let (low, high) = if rule.descending { (end, start) } else { (start, end) };
        (low.unwrap_or_else(|| b"-".to_vec()), high.unwrap_or_else(|| b"+".to_vec()))
    }
}

fn bound(sign: u8, bytes: &[u8]) -> Vec<u8> {
    let mut bound = Vec::with_capacity(bytes.len() + 1);
    bound.push(sign);
    bound.extend_from_slice(bytes);
    bound
}

fn sortable_text(value: &Value<'_>) -> Result<String> {
    sortable::text(value)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a value has no text that sorts"))
}

/// Where an edge of a range falls among the members of a sortable list.
///
/// Rising: members from `text` on are behind the edge. Reversed: members up to `text` are. `holds`
/// says whether `text` itself is behind it.
struct Cut {
    text: Vec<u8>,
    holds: bool,
}

impl Cut {
    fn at(edge: &[u8], segments: &[Segment], separator: u8, reversed: bool) -> Result<Cut> {
        let numbered = [&[0, 1], edge].concat();
        let mut reader = KeyReader::new(&numbered)?;
        let mut text = Vec::with_capacity(40);
        let mut read = 0;
        let mut offset = 2;
        for segment in segments {
            let Ok(value) = reader.value(*segment) else { break };
            text.extend_from_slice(sortable_text(&value)?.as_bytes());
            read += 1;
            offset = reader.offset();
            if read < segments.len() {
                text.push(separator);
            }
        }
        let left = numbered.get(offset..).unwrap_or_default();
        let Some(next) = segments.get(read) else {
            // A whole key: it is behind the edge unless something follows it.
            return Ok(Cut { text, holds: left.is_empty() });
        };
        Ok(match (side(left, *next), reversed) {
            (Side::Before, false) => Cut { text, holds: true },
            (Side::Behind, true) => Cut { text, holds: false },
            (Side::Behind, false) | (Side::Before, true) => {
                text.push(AFTER_TEXT);
                Cut { text, holds: !reversed }
            }
            (Side::Within(front), reversed) => {
                text.extend_from_slice(&front);
                if reversed {
                    text.push(AFTER_TEXT);
                }
                Cut { text, holds: !reversed }
            }
        })
    }
}

/// Where the rest of an edge lies among the values of the next segment.
enum Side {
    /// Before all of them.
    Before,
    /// Behind all of them.
    Behind,
    /// At the values whose sortable text begins so.
    Within(Vec<u8>),
}

fn side(left: &[u8], segment: Segment) -> Side {
    let Some((first, rest)) = left.split_first() else { return Side::Before };
    let mask = if segment.direction == Direction::Descending { 0xff } else { 0x00 };
    let tag = match segment.kind {
        KeyType::Text => TEXT_TAG,
        KeyType::Bytes => BYTES_TAG,
        // Only texts are ever cut short; of others an edge is before or behind all values.
        _ => return if *first < 0x80 && mask == 0 { Side::Before } else { behind_if(*first) },
    };
    match first.cmp(&(tag ^ mask)) {
        std::cmp::Ordering::Less => Side::Before,
        std::cmp::Ordering::Greater => Side::Behind,
        std::cmp::Ordering::Equal => {
            let content = unescaped(rest, mask);
            match segment.kind {
                KeyType::Text => Side::Within(content),
                _ => Side::Within(hex(&content)),
            }
        }
    }
}

fn behind_if(first: u8) -> Side {
    if first == 0xff { Side::Behind } else { Side::Before }
}

/// The content of an encoded text that may be cut short.
fn unescaped(bytes: &[u8], mask: u8) -> Vec<u8> {
    let mut content = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().map(|byte| byte ^ mask);
    while let Some(byte) = rest.next() {
        content.push(byte);
        if byte == 0x00 && rest.next() != Some(0xff) {
            content.pop();
            break;
        }
    }
    content
}

/// Bytes as sortable text.
fn hex(bytes: &[u8]) -> Vec<u8> {
    sortable::text(&Value::bytes(bytes)).unwrap_or_default().into_bytes()
}

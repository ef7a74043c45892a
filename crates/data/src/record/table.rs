//! The front of a record: which fields it has, and where each one's payload ends.
//!
//! Its bytes are drawn in the head of `record`. Opening one looks at the first and the last entry
//! only, so that reading one field of many costs no walk; `check` looks at all of them.

use super::corrupt;
use crate::error::Result;

const VERSION: u8 = 0x01;
const VERSION_BITS: u8 = 0x0f;
const WIDE: u8 = 0x10;
const NULLS: u8 = 0x20;

/// The opened front of a record.
#[derive(Debug)]
pub(super) struct Table<'r> {
    entries: &'r [u8],
    nulls: &'r [u8],
    payloads: &'r [u8],
    count: usize,
    wide: bool,
}

/// How far a record was read in the order of its fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk {
    position: usize,
    start: usize,
}

/// What a record holds of a field.
pub(super) enum Stored<'r> {
    /// A value.
    Payload(&'r [u8]),
    /// A null that was written.
    Null,
    /// Nothing: a null of a field that answers null anyway, or a field it does not know.
    Unknown,
}

/// Whether ends need 4 bytes.
fn is_wide(bytes: usize) -> bool {
    bytes > usize::from(u16::MAX)
}

fn entry_size(wide: bool) -> usize {
    if wide { 6 } else { 4 }
}

/// The bytes of the front of a record with so many fields, nulls and bytes of payload.
pub(super) fn size(fields: usize, nulls: usize, bytes: usize) -> usize {
    let nulls = if nulls == 0 { 0 } else { 2 + 2 * nulls };
    3 + fields * entry_size(is_wide(bytes)) + nulls
}

/// Writes the front: `fields` are numbers, ascending, with the length of each payload; both counts
/// fit two bytes, since no number occurs twice.
pub(super) fn write(
    fields: impl ExactSizeIterator<Item = (u16, usize)>,
    nulls: &[u16],
    bytes: usize,
    record: &mut Vec<u8>,
) {
    let wide = is_wide(bytes);
    let format = VERSION | if wide { WIDE } else { 0 } | if nulls.is_empty() { 0 } else { NULLS };
    record.push(format);
    record.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    if !nulls.is_empty() {
        record.extend_from_slice(&(nulls.len() as u16).to_be_bytes());
    }
    let mut end = 0;
    for (number, length) in fields {
        end += length;
        record.extend_from_slice(&number.to_be_bytes());
        match wide {
            true => record.extend_from_slice(&(end as u32).to_be_bytes()),
            false => record.extend_from_slice(&(end as u16).to_be_bytes()),
        }
    }
    for number in nulls {
        record.extend_from_slice(&number.to_be_bytes());
    }
}

/// The front of a record whose payloads are written behind it one after the other. Room is made
/// for a short entry of each field; whatever is then not as it was expected is put right at the
/// end.
#[derive(Debug)]
pub(super) struct Front {
    /// Where the record begins, and where its payloads do.
    start: usize,
    payloads: usize,
    /// Entries that were written.
    count: usize,
    /// Every entry, once ends need 4 bytes.
    long: Vec<(u16, usize)>,
    nulls: Vec<u16>,
}

impl Front {
    /// Makes room for a front with so many fields.
    #[inline]
    pub(super) fn new(fields: usize, record: &mut Vec<u8>) -> Self {
        let start = record.len();
        let payloads = start + size(fields, 0, 0);
        record.resize(payloads, 0);
        Front { start, payloads, count: 0, long: Vec::new(), nulls: Vec::new() }
    }

    /// The field with this number, larger than those before, ends where the record does now.
    #[inline]
    pub(super) fn ends(&mut self, number: u16, record: &mut [u8]) {
        let end = record.len() - self.payloads;
        let entry = self.entry(self.count);
        self.count += 1;
        match (u16::try_from(end), record.get_mut(entry)) {
            (Ok(end), Some(entry)) if self.long.is_empty() => {
                let ([n0, n1], [e0, e1]) = (number.to_be_bytes(), end.to_be_bytes());
                entry.copy_from_slice(&[n0, n1, e0, e1]);
            }
            _ => self.long_end(number, end, record),
        }
    }

    /// The field with this number is null, which must be said.
    pub(super) fn null(&mut self, number: u16) {
        self.nulls.push(number);
    }

    /// Bytes of payload so far.
    pub(super) fn bytes(&self, record: &[u8]) -> usize {
        record.len() - self.payloads
    }

    /// Completes the front; nothing more is written behind it.
    #[inline]
    pub(super) fn finish(self, record: &mut Vec<u8>) {
        if !self.long.is_empty() || !self.nulls.is_empty() {
            return self.finish_rare(record);
        }
        let ([high, low], end) = ((self.count as u16).to_be_bytes(), self.entry(self.count).start);
        if let Some(head) = record.get_mut(self.start..self.start + 3) {
            head.copy_from_slice(&[VERSION, high, low]);
        }
        // Fewer entries than there was room for.
        if end < self.payloads {
            record.drain(end..self.payloads);
        }
    }

    /// Where a short entry stands.
    fn entry(&self, position: usize) -> std::ops::Range<usize> {
        let start = self.start + size(position, 0, 0);
        start..start + entry_size(false)
    }

    #[cold]
    fn long_end(&mut self, number: u16, end: usize, record: &[u8]) {
        if self.long.is_empty() {
            self.long = self.short_entries(self.count - 1, record);
        }
        self.long.push((number, end));
    }

    fn short_entries(&self, count: usize, record: &[u8]) -> Vec<(u16, usize)> {
        let entries = record.get(self.entry(0).start..self.entry(count).start);
        let (entries, _) = entries.unwrap_or_default().as_chunks::<4>();
        let entry = |[n0, n1, e0, e1]: &[u8; 4]| {
            (u16::from_be_bytes([*n0, *n1]), u16::from_be_bytes([*e0, *e1]).into())
        };
        entries.iter().map(entry).collect()
    }

    #[cold]
    fn finish_rare(mut self, record: &mut Vec<u8>) {
        let entries = match self.long.is_empty() {
            true => self.short_entries(self.count, record),
            false => std::mem::take(&mut self.long),
        };
        let payloads = record.split_off(self.payloads);
        record.truncate(self.start);
        let mut start = 0;
        let lengths = entries.iter().map(|(number, end)| {
            let length = end - start;
            start = *end;
            (*number, length)
        });
        write(lengths, &self.nulls, payloads.len(), record);
        record.extend_from_slice(&payloads);
    }
}

impl<'r> Table<'r> {
    /// The front of a record.
    #[inline]
    pub(super) fn open(record: &'r [u8]) -> Result<Self> {
        let truncated = || corrupt("it ends inside its table");
        let (format, rest) = record.split_first().ok_or_else(|| corrupt("it is empty"))?;
        if format & VERSION_BITS != VERSION || format & !(VERSION_BITS | WIDE | NULLS) != 0 {
            return Err(corrupt("its format is unknown").with("format", format));
        }
        let wide = format & WIDE != 0;
        let (count, mut rest) = take_number(rest).ok_or_else(truncated)?;
        let mut null_count = 0;
        if format & NULLS != 0 {
            (null_count, rest) = take_number(rest).ok_or_else(truncated)?;
            if null_count == 0 {
                return Err(corrupt("its list of nulls is empty"));
            }
        }
        let entries = count * entry_size(wide);
        let (entries, rest) = rest.split_at_checked(entries).ok_or_else(truncated)?;
        let (nulls, payloads) = rest.split_at_checked(2 * null_count).ok_or_else(truncated)?;
        let table = Table { entries, nulls, payloads, count, wide };
        if table.end_before(count) != Some(payloads.len()) {
            return Err(corrupt("its last payload does not end where it ends"));
        }
        if wide != is_wide(payloads.len()) {
            return Err(corrupt("its ends have another width than they need"));
        }
        Ok(table)
    }

    /// Whether all of it is as an encoder writes it: ascending and without gaps.
    pub(super) fn check(&self) -> Result<()> {
        let mut end = 0;
        let mut last = None;
        for position in 0..self.count {
            let entry = self.entry(position).ok_or_else(|| corrupt("an entry is cut short"))?;
            if last.is_some_and(|last| last >= entry.0) {
                return Err(corrupt("its fields are not in order"));
            }
            if entry.1 < end {
                return Err(corrupt("a payload ends before it begins"));
            }
            (last, end) = (Some(entry.0), entry.1);
        }
        let nulls: Vec<u16> = self.nulls().collect();
        if !nulls.is_sorted_by(|before, after| before < after) {
            return Err(corrupt("its nulls are not in order"));
        }
        if nulls.iter().any(|number| self.position(*number, 0).is_some()) {
            return Err(corrupt("a field is null and has a value"));
        }
        Ok(())
    }

    /// What the record holds of a field; `near` is where its entry may be.
    pub(super) fn find(&self, number: u16, near: usize) -> Result<Stored<'r>> {
        if let Some(position) = self.position(number, near) {
            let start = self.end_before(position);
            let end = self.end_before(position + 1);
            let payload = start.zip(end).and_then(|(start, end)| self.payloads.get(start..end));
            return payload
                .map(Stored::Payload)
                .ok_or_else(|| corrupt("a payload lies outside").with("field", number));
        }
        let is_null = self.nulls().any(|null| null == number);
        Ok(if is_null { Stored::Null } else { Stored::Unknown })
    }

    /// What it holds of the field after those that `walk` has passed, where fields are asked for in
    /// the order of their numbers, as almost all are; of any other, what [`Table::find`] says.
    #[inline]
    pub(super) fn next(&self, walk: &mut Walk, number: u16) -> Result<Stored<'r>> {
        match self.entry(walk.position) {
            Some((found, end)) if found == number => {
                let payload = self.payloads.get(walk.start..end);
                *walk = Walk { position: walk.position + 1, start: end };
                payload
                    .map(Stored::Payload)
                    .ok_or_else(|| corrupt("a payload lies outside").with("field", number))
            }
            _ => self.find(number, walk.position),
        }
    }

    /// The numbers of all fields it holds, nulls last.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u16> {
        let entries = (0..self.count).filter_map(|position| self.entry(position));
        entries.map(|(number, _)| number).chain(self.nulls())
    }

    fn nulls(&self) -> impl Iterator<Item = u16> + use<'r> {
        self.nulls.as_chunks::<2>().0.iter().map(|number| u16::from_be_bytes(*number))
    }

    /// The place of a field's entry: `near`, or found by halving.
    fn position(&self, number: u16, near: usize) -> Option<usize> {
        if self.entry(near).is_some_and(|entry| entry.0 == number) {
            return Some(near);
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle)?.0.cmp(&number) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Where the payload before this position ends: 0 before the first.
    fn end_before(&self, position: usize) -> Option<usize> {
        match position.checked_sub(1) {
            None => Some(0),
            Some(before) => self.entry(before).map(|entry| entry.1),
        }
    }

    /// A field's number, and where its payload ends.
    #[inline]
    fn entry(&self, position: usize) -> Option<(u16, usize)> {
        if self.wide {
            let [n0, n1, end @ ..] = *self.entries.as_chunks::<6>().0.get(position)?;
            let end = usize::try_from(u32::from_be_bytes(end)).ok()?;
            return Some((u16::from_be_bytes([n0, n1]), end));
        }
        let [n0, n1, e0, e1] = *self.entries.as_chunks::<4>().0.get(position)?;
        Some((u16::from_be_bytes([n0, n1]), u16::from_be_bytes([e0, e1]).into()))
    }
}

fn take_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    Some((usize::from(u16::from_be_bytes(*number)), rest))
}

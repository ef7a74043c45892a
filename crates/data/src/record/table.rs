//! The front of a record: which fields it has, and where each one's payload ends.
//!
//! Its bytes are drawn in the head of `record`. Opening one looks at the first and the last entry
//! only, so that reading one field of many costs no walk; `check` looks at all of them.

use super::corrupt;
use super::form::{Form, NULLS};
use crate::error::Result;

/// The opened front of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'r> {
    entries: &'r [u8],
    nulls: &'r [u8],
    payloads: &'r [u8],
    count: usize,
    form: Form,
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

impl<'r> Table<'r> {
    /// The front of a record.
    #[inline]
    pub(super) fn open(record: &'r [u8]) -> Result<Self> {
        match Table::open_short(record) {
            Some(table) => Ok(table),
            None => Table::open_any(record),
        }
    }

    /// The front of a record that has all fields up to its last, no null, and is short, as most do
    /// and are; nothing of any other.
    #[inline(always)]
    pub(super) fn open_short(record: &'r [u8]) -> Option<Self> {
        let [Form::SHORT_FORMAT, count, rest @ ..] = record else { return None };
        let (entries, payloads) = rest.split_at_checked(usize::from(*count))?;
        if entries.last().map_or(0, |end| usize::from(*end)) != payloads.len() {
            return None;
        }
        let count = entries.len();
        Some(Table { entries, nulls: &[], payloads, count, form: Form::SHORT })
    }

    #[inline(never)]
    fn open_any(record: &'r [u8]) -> Result<Self> {
        let truncated = || corrupt("it ends inside its table");
        let format = *record.first().ok_or_else(|| corrupt("it is empty"))?;
        let Some(form) = Form::said(format) else {
            return Err(corrupt("its format is unknown").with("format", format));
        };
        let (head, mut rest) = record.split_at_checked(form.head()).ok_or_else(truncated)?;
        let count = match *head {
            [_, low] => usize::from(low),
            [_, high, low] => usize::from(u16::from_be_bytes([high, low])),
            _ => return Err(truncated()),
        };
        let mut null_count = 0;
        if format & NULLS != 0 {
            let (number, after) = rest.split_first_chunk().ok_or_else(truncated)?;
            (null_count, rest) = (usize::from(u16::from_be_bytes(*number)), after);
            if null_count == 0 {
                return Err(corrupt("its list of nulls is empty"));
            }
        }
        let (entries, rest) = rest.split_at_checked(count * form.entry()).ok_or_else(truncated)?;
        let (nulls, payloads) = rest.split_at_checked(2 * null_count).ok_or_else(truncated)?;
        let table = Table { entries, nulls, payloads, count, form };
        if table.end_before(count) != Some(payloads.len()) {
            return Err(corrupt("its last payload does not end where it ends"));
        }
        let last = count.checked_sub(1).and_then(|last| table.entry(last));
        let last = last.map_or(0, |(number, _)| number);
        if form != Form::new(count as u16, last, payloads.len()) {
            return Err(corrupt("its entries have another form than they need"));
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
    #[inline(never)]
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
    pub(super) fn next(&self, walk: &mut Walk, number: u16) -> Result<Stored<'r>> {
        match self.ahead(*walk, number) {
            Some((payload, after)) => {
                *walk = after;
                Ok(Stored::Payload(payload))
            }
            None => self.find(number, walk.position),
        }
    }

    /// The payload of a field if it is the next one behind those that were passed.
    #[inline(always)]
    pub(super) fn ahead(&self, walk: Walk, number: u16) -> Option<(&'r [u8], Walk)> {
        let (found, end) = self.entry(walk.position)?;
        if found != number {
            return None;
        }
        let payload = self.payloads.get(walk.start..end)?;
        Some((payload, Walk { position: walk.position + 1, start: end }))
    }

    /// Whether it is certain that there is nothing of a field behind those that were passed: the
    /// next one is another, and all numbers ascend.
    #[inline(always)]
    pub(super) fn lacks(&self, walk: Walk, number: u16) -> bool {
        self.nulls.is_empty() && self.entry(walk.position).is_none_or(|(next, _)| next > number)
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
    #[inline(always)]
    fn entry(&self, position: usize) -> Option<(u16, usize)> {
        self.form.read_entry(self.entries, position)
    }
}

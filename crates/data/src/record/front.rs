//! Writes the table at the front of a record, whose payloads come before it or after.

use super::form::Form;

/// Writes the front: `fields` are numbers, ascending, with the length of each payload; both counts
/// fit two bytes, since no number occurs twice.
pub(super) fn write(
    form: Form,
    fields: impl ExactSizeIterator<Item = (u16, usize)>,
    nulls: &[u16],
    record: &mut Vec<u8>,
) {
    let (head, length) = form.write_head(fields.len() as u16, !nulls.is_empty());
    record.extend(head.iter().take(length));
    if !nulls.is_empty() {
        record.extend_from_slice(&(nulls.len() as u16).to_be_bytes());
    }
    let mut end = 0;
    for (number, length) in fields {
        end += length;
        let (entry, length) = form.write_entry(number, end);
        record.extend(entry.iter().take(length));
    }
    for number in nulls {
        record.extend_from_slice(&number.to_be_bytes());
    }
}

/// The front of a record whose payloads are written behind it one after the other. Which form it
/// has is known at the end, so entries are noted where there is room for two bytes of number and
/// two of end, and drawn together then.
#[derive(Debug)]
pub(super) struct Front {
    /// Where the record begins, and where its payloads do.
    start: usize,
    payloads: usize,
    /// Entries that were noted, and the number of the last.
    count: u16,
    last: u16,
    /// Every entry, once ends need 4 bytes.
    long: Vec<(u16, usize)>,
    nulls: Vec<u16>,
}

/// The form in which entries are noted.
const NOTED: Form = Form::EVEN;

impl Front {
    /// Makes room for a front with so many fields.
    #[inline]
    pub(super) fn new(fields: usize, record: &mut Vec<u8>) -> Self {
        let start = record.len();
        let payloads = start + NOTED.size(fields, 0);
        record.resize(payloads, 0);
        Front { start, payloads, count: 0, last: 0, long: Vec::new(), nulls: Vec::new() }
    }

    /// The field with this number, larger than those before, ends where the record does now.
    #[inline]
    pub(super) fn ends(&mut self, number: u16, record: &mut [u8]) {
        let end = record.len() - self.payloads;
        let noted = self.start + NOTED.size(self.count.into(), 0);
        (self.count, self.last) = (self.count + 1, number);
        match (u16::try_from(end), record.get_mut(noted..noted + NOTED.entry())) {
            (Ok(end), Some(noted)) if self.long.is_empty() => {
                let ([n0, n1], [e0, e1]) = (number.to_be_bytes(), end.to_be_bytes());
                noted.copy_from_slice(&[n0, n1, e0, e1]);
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
        let form = Form::new(self.count, self.last, self.bytes(record));
        let (head, mut end) = form.write_head(self.count, false);
        let front = record.get_mut(self.start..self.payloads).unwrap_or_default();
        if let Some(first) = front.first_chunk_mut() {
            // Before the first entry that was noted.
            *first = head;
        }
        for position in 0..usize::from(self.count) {
            let noted = front.get(NOTED.head()..).unwrap_or_default();
            let Some((number, ends)) = NOTED.read_entry(noted, position) else { break };
            let (entry, length) = form.write_entry(number, ends);
            // No form is longer than the noted one, so what is written over was read.
            let place = front.get_mut(end..end + length).unwrap_or_default();
            place.iter_mut().zip(entry).for_each(|(place, byte)| *place = byte);
            end += length;
        }
        record.drain(self.start + end..self.payloads);
    }

    #[cold]
    fn long_end(&mut self, number: u16, end: usize, record: &[u8]) {
        if self.long.is_empty() {
            self.long = self.noted(usize::from(self.count) - 1, record);
        }
        self.long.push((number, end));
    }

    fn noted(&self, count: usize, record: &[u8]) -> Vec<(u16, usize)> {
        let entries = record.get(self.start + NOTED.head()..self.payloads).unwrap_or_default();
        (0..count).filter_map(|position| NOTED.read_entry(entries, position)).collect()
    }

    #[cold]
    fn finish_rare(mut self, record: &mut Vec<u8>) {
        let entries = match self.long.is_empty() {
            true => self.noted(self.count.into(), record),
            false => std::mem::take(&mut self.long),
        };
        let payloads = record.split_off(self.payloads);
        record.truncate(self.start);
        let form = Form::new(self.count, self.last, payloads.len());
        let mut start = 0;
        let lengths = entries.iter().map(|(number, end)| {
            let length = end - start;
            start = *end;
            (*number, length)
        });
        write(form, lengths, &self.nulls, record);
        record.extend_from_slice(&payloads);
    }
}

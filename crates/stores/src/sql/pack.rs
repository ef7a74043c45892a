//! Rows as they are read, one behind the other in buffers of some size, of which their keys and
//! contents are slices: two allocations a row would cost more than to write its bytes.
//!
//! ```text
//! key │ content │ key │ content │ …  ─▶  rows of one buffer
//! ```
//!
//! Whoever keeps a row keeps its buffer, so that none is much larger than a row may be.

use bytes::Bytes;
use data::Result;
use data::clock::Milliseconds;
use data::entries::add_owner;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Joined, Key, Keyed, Page, Row, Scan, Through, Version};

/// Bytes after which a buffer takes no more rows.
const BUFFER_FULL: usize = 32 << 10;
/// Bytes of a row for which room is made before it is read.
pub const ROW_BYTES_USUAL: usize = 256;
/// Rows for which room is made before they are read.
const ROWS_EXPECTED: usize = 128;

/// What of a row is in no buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The commit that last wrote it.
    pub version: Option<Version>,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

impl State {
    /// The row with this content.
    pub fn row(self, value: Bytes) -> Row {
        Row { value, version: self.version, expires: self.expires, trail: None }
    }
}

/// Where a row of the buffer begins, where its key ends, and where it does.
#[derive(Debug)]
struct Cut {
    start: usize,
    key: usize,
    value: usize,
    state: State,
}

/// Rows as they are read.
#[derive(Debug)]
pub struct Pack {
    buffer: Vec<u8>,
    cuts: Vec<Cut>,
    rows: Vec<Keyed>,
    /// Bytes of keys and contents in buffers before.
    before: usize,
}

impl Pack {
    /// Room for so many rows, as far as they are usual.
    pub fn new(rows: usize) -> Pack {
        let rows = rows.min(ROWS_EXPECTED);
        Pack {
            buffer: Vec::with_capacity(rows * ROW_BYTES_USUAL),
            cuts: Vec::with_capacity(rows),
            rows: Vec::new(),
            before: 0,
        }
    }

    /// Adds a row: `key` adds the bytes of its key, and says whether the row is wanted; `content`
    /// adds those of its content, and is told where the key begins. Says whether it was added;
    /// after an error the pack is as it was.
    #[inline]
    pub fn add(
        &mut self,
        key: impl FnOnce(&mut Vec<u8>) -> Result<bool>,
        content: impl FnOnce(&mut Vec<u8>, usize) -> Result<State>,
    ) -> Result<bool> {
        if self.buffer.len() >= BUFFER_FULL {
            self.flush();
            self.buffer = Vec::with_capacity(BUFFER_FULL);
        }
        let start = self.buffer.len();
        let added = self.try_add(start, key, content);
        if !matches!(added, Ok(true)) {
            self.buffer.truncate(start);
        }
        added
    }

    #[inline]
    fn try_add(
        &mut self,
        start: usize,
        key: impl FnOnce(&mut Vec<u8>) -> Result<bool>,
        content: impl FnOnce(&mut Vec<u8>, usize) -> Result<State>,
    ) -> Result<bool> {
        if !key(&mut self.buffer)? {
            return Ok(false);
        }
        let end = self.buffer.len();
        let state = content(&mut self.buffer, start)?;
        self.cuts.push(Cut { start, key: end, value: self.buffer.len(), state });
        Ok(true)
    }

    /// The key and the content of the last row.
    fn last(&self) -> Option<(&[u8], &[u8])> {
        let cut = self.cuts.last()?;
        Some((self.buffer.get(cut.start..cut.key)?, self.buffer.get(cut.key..cut.value)?))
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.rows.len() + self.cuts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of keys and contents so far.
    pub fn bytes(&self) -> usize {
        self.before + self.buffer.len()
    }

    /// All rows, in the order in which they were added.
    pub fn finish(mut self) -> Vec<Keyed> {
        self.flush();
        self.rows
    }

    /// Makes rows of what is in the buffer.
    fn flush(&mut self) {
        self.before += self.buffer.len();
        let buffer = Bytes::from(std::mem::take(&mut self.buffer));
        self.rows.reserve(self.cuts.len());
        for cut in self.cuts.drain(..) {
            let key = Key::new(buffer.slice(cut.start..cut.key));
            let row = cut.state.row(buffer.slice(cut.key..cut.value));
            self.rows.push(Keyed { key, row });
        }
    }
}

/// Entries as they are read, each with the row it names.
#[derive(Debug)]
pub struct JoinedPack<'t> {
    through: &'t Through<'t>,
    entries: Pack,
    rows: Pack,
    /// Whether each entry has a row.
    found: Vec<bool>,
}

impl<'t> JoinedPack<'t> {
    /// Room for what is asked.
    pub fn new(through: &'t Through<'t>) -> Self {
        let rows = through.scan.rows;
        let found = Vec::with_capacity(rows.min(ROWS_EXPECTED));
        JoinedPack { through, entries: Pack::new(rows), rows: Pack::new(rows), found }
    }

    /// Adds an entry by `entry`, which says whether it did, and then the row that it names, if
    /// there is one, with what `content` adds.
    #[inline]
    pub fn add(
        &mut self,
        entry: impl FnOnce(&mut Pack) -> Result<bool>,
        has_row: bool,
        content: impl FnOnce(&mut Vec<u8>, usize) -> Result<State>,
    ) -> Result<()> {
        if !entry(&mut self.entries)? || self.found.len() >= self.through.named {
            return Ok(());
        }
        self.found.push(has_row);
        if has_row {
            let Through { collection, index, .. } = self.through;
            let entry = self.entries.last().unwrap_or_default();
            let key = |key: &mut Vec<u8>| add_owner(collection, index, entry, key).map(|()| true);
            self.rows.add(key, content)?;
        }
        Ok(())
    }

    /// Entries so far.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it has as many entries as are asked for, or the bytes of a page.
    pub fn end(&self) -> Option<End> {
        end(self.len(), self.through.scan, self.entries.bytes() + self.rows.bytes())
    }

    /// All entries with their rows, in the order in which they were added.
    pub fn finish(self, end: End) -> Joined {
        let mut rows = self.rows.finish().into_iter();
        let rows = self.found.into_iter().map(|found| if found { rows.next() } else { None });
        let rows = rows.collect();
        Joined { entries: Page { rows: self.entries.finish(), end }, rows }
    }
}

/// Why a page with so many rows and bytes takes no more of a scan; nothing if it does.
pub fn end(rows: usize, scan: &Scan, bytes: usize) -> Option<End> {
    match bytes >= PAGE_BYTES_MAX {
        _ if rows >= scan.rows => Some(End::Rows),
        true => Some(End::Bytes),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(pack: &mut Pack, number: usize, is_wanted: bool) -> Result<bool> {
        let state = State { version: None, expires: Some(number as i64) };
        pack.add(
            |bytes| {
                bytes.extend_from_slice(&number.to_be_bytes());
                Ok(is_wanted)
            },
            |bytes, key| {
                assert_eq!(bytes.len(), key + 8);
                bytes.resize(key + 8 + number % 5_000, 7);
                Ok(state)
            },
        )
    }

    #[test]
    fn rows_come_back_over_many_buffers_and_unwanted_ones_do_not() {
        let mut pack = Pack::new(10);
        for number in 0..500 {
            assert_eq!(add(&mut pack, number * 37, number % 3 > 0).ok(), Some(number % 3 > 0));
        }
        let refused = || Err(data::Error::new(data::ErrorKind::Corrupt, "it is broken"));
        assert!(pack.add(|_| Ok(true), |_, _| refused()).is_err());
        assert!(pack.add(|_| refused().map(|_: State| true), |_, _| refused()).is_err());
        let (count, bytes) = (pack.len(), pack.bytes());
        let rows = pack.finish();
        let wanted: Vec<usize> = (0..500).filter(|n| n % 3 > 0).map(|n| n * 37).collect();
        assert_eq!((count, rows.len()), (wanted.len(), wanted.len()));
        let weight = |keyed: &Keyed| keyed.key.bytes().len() + keyed.row.weight();
        assert_eq!(rows.iter().map(weight).sum::<usize>(), bytes);
        for (row, number) in rows.iter().zip(wanted) {
            assert_eq!(row.key.as_ref(), number.to_be_bytes());
            assert_eq!(row.row.value, vec![7; number % 5_000]);
            assert_eq!(row.row.expires, Some(number as i64));
        }
    }
}

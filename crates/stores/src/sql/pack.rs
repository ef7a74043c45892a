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
use data::store::{Key, Keyed, Row, Version};

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

/// Where a row of the buffer ends.
#[derive(Debug)]
struct Cut {
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
    /// adds those of its content, and is told where the key begins. After an error the pack is as
    /// it was.
    #[inline]
    pub fn add(
        &mut self,
        key: impl FnOnce(&mut Vec<u8>) -> Result<bool>,
        content: impl FnOnce(&mut Vec<u8>, usize) -> Result<State>,
    ) -> Result<()> {
        let start = self.buffer.len();
        let added = self.try_add(start, key, content);
        if !matches!(added, Ok(true)) {
            self.buffer.truncate(start);
        }
        if self.buffer.len() >= BUFFER_FULL {
            self.flush();
            self.buffer = Vec::with_capacity(BUFFER_FULL);
        }
        added.map(|_| ())
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
        self.cuts.push(Cut { key: end, value: self.buffer.len(), state });
        Ok(true)
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
        let mut start = 0;
        self.rows.reserve(self.cuts.len());
        for cut in self.cuts.drain(..) {
            let key = Key::new(buffer.slice(start..cut.key));
            let row = cut.state.row(buffer.slice(cut.key..cut.value));
            self.rows.push(Keyed { key, row });
            start = cut.value;
        }
    }
}

//! Entries of an index together with the rows they name: one question where a store can join.
//!
//! ```text
//! scan of an index ─▶ entry ─names─▶ row        all of one instant
//!                     entry ─names─▶ row
//! ```

use super::limits::PAGE_BYTES_MAX;
use super::{End, Key, Keyed, Page, Row, Scan};
use crate::entries;
use crate::error::Result;
use crate::schema::{CollectionSchema, IndexSchema};

/// What to read of an index, and of how many entries the rows too.
#[derive(Clone, Copy, Debug)]
pub struct Through<'a> {
    /// The entries.
    pub scan: &'a Scan,
    /// So many of the first are wanted with their rows.
    pub named: usize,
    /// The collection of the rows.
    pub collection: &'a CollectionSchema,
    /// The index, one of the collection's.
    pub index: &'a IndexSchema,
}

impl Through<'_> {
    /// The key of the row that an entry names.
    pub fn owner(&self, entry: &Keyed) -> Result<Key> {
        entries::owner(self.collection, self.index, entry)
    }

    /// Entries that a scan answered, with the rows that `row` finds: for stores that have both at
    /// hand, and see to it that they are of one instant.
    pub fn join(
        &self,
        mut entries: Page,
        mut row: impl FnMut(&Key) -> Result<Option<Row>>,
    ) -> Result<Joined> {
        let wanted = self.named.min(entries.rows.len());
        let mut rows = Vec::with_capacity(wanted);
        let mut bytes = 0;
        for entry in entries.rows.iter().take(wanted) {
            let key = self.owner(entry)?;
            let found = row(&key)?;
            bytes += entry.key.bytes().len() + entry.row.weight();
            bytes += found.as_ref().map_or(0, |row| key.bytes().len() + row.weight());
            rows.push(found.map(|row| Keyed { key, row }));
            if bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        if rows.len() < wanted {
            entries.rows.truncate(rows.len());
            entries.end = End::Bytes;
        }
        Ok(Joined { entries, rows })
    }
}

/// A stretch of an index with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The entries, as a scan answers them.
    pub entries: Page,
    /// The rows of the first entries, in their order; nothing where an entry names none.
    pub rows: Vec<Option<Keyed>>,
}

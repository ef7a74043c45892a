//! Entries of an index together with the rows they name: one question where a store can join.
//!
//! ```text
//! scan of an index ─▶ entry ─names─▶ row        all of one instant
//!                     entry ─names─▶ row
//! ```

use super::limits::PAGE_BYTES_MAX;
use super::{End, Key, Keyed, Page, Row, Scan, Seen};
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

/// What an entry leads to.
#[derive(Clone, Copy, Debug)]
pub enum Named<'r> {
    /// This row.
    Row(Seen<'r>),
    /// No row.
    Nothing,
    /// Nobody has looked: more rows are not wanted.
    Unread,
}

/// What is shown entries, each with what it leads to.
pub type ShowNamed<'s> = dyn FnMut(&Seen<'_>, Named<'_>) -> Result<()> + Send + 's;

/// Entries that are shown, and what they lead to, kept.
#[derive(Debug, Default)]
pub struct Gathered {
    entries: Vec<Keyed>,
    rows: Vec<Option<Keyed>>,
}

impl Gathered {
    /// Keeps an entry and the row that it leads to.
    pub fn keep(&mut self, entry: &Seen<'_>, named: Named<'_>) -> Result<()> {
        self.entries.push(entry.to_keyed()?);
        match named {
            Named::Row(row) => self.rows.push(Some(row.to_keyed()?)),
            Named::Nothing => self.rows.push(None),
            Named::Unread => {}
        }
        Ok(())
    }

    /// All of them, of a stretch that ends so.
    pub fn finish(self, end: End) -> Joined {
        Joined { entries: Page { rows: self.entries, end }, rows: self.rows }
    }
}

impl Joined {
    /// Shows the entries with what they lead to, one after the other.
    pub fn each(&self, show: &mut ShowNamed<'_>) -> Result<End> {
        let mut rows = self.rows.iter();
        for Keyed { key, row } in &self.entries.rows {
            let named = match rows.next() {
                Some(Some(found)) => Named::Row(Seen::of(&found.key, &found.row)),
                Some(None) => Named::Nothing,
                None => Named::Unread,
            };
            show(&Seen::of(key, row), named)?;
        }
        Ok(self.entries.end)
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

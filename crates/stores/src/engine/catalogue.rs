//! The catalogue: read, held against a keyspace, and written before its numbers are used.

use super::commit::Committer;
use super::error::poisoned;
use super::layout;
use super::tables;
use data::Result;
use data::catalogue::Catalogue;
use fjall::{Readable, Snapshot};
use keyspace::model::Keyspace;

impl Committer {
    /// The numbers the store has for a keyspace; those that are new are written first.
    pub(super) fn catalogue(&mut self, keyspace: &Keyspace) -> Result<Catalogue> {
        if self.is_poisoned {
            return Err(poisoned());
        }
        let snapshot = self.published.snapshot();
        let stored = tables::get(&snapshot, &self.tables.rows, &layout::CATALOGUE)?;
        let is_empty = |space| self.is_empty(&snapshot, space);
        let catalogue = Catalogue::open(stored.as_deref(), keyspace, &is_empty)?;
        let bytes = catalogue.to_bytes();
        if stored.as_deref() != Some(bytes.as_slice()) {
            let mut written = self.start(1);
            written.insert(&self.tables.rows, layout::CATALOGUE, bytes);
            self.write_own(written)?;
        }
        Ok(catalogue)
    }

    /// Whether a space has no rows. One that cannot be read is taken to have some.
    fn is_empty(&self, snapshot: &Snapshot, space: u16) -> bool {
        snapshot.prefix(&self.tables.rows, space.to_be_bytes()).next().is_none()
    }
}

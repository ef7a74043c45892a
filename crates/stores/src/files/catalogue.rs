//! The catalogue and the places of rows: held against a keyspace, kept before they are used.
//!
//! The catalogue knows what would need rows to be encoded anew. Where their files are is decided by
//! more: names on disk and the spelling of fields. If those change while there are rows, the rows
//! would be looked for elsewhere; that is refused.

use super::commit::Committer;
use super::error::poisoned;
use super::folder::{Format, write_format};
use super::load::load;
use super::tree::{Tree, places};
use data::catalogue::Catalogue;
use data::schema::Schema;
use data::store::Key;
use data::{Error, ErrorKind, Result};
use keyspace::model::{Keyspace, StoreKind};
use std::sync::Arc;

impl Committer {
    /// Makes the store ready for a keyspace: numbers for what is new, and a look at the tree.
    pub(super) fn ensure(&mut self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        let is_empty = |space: u16| self.has_none(space);
        let stored = self.format.catalogue.as_deref();
        let catalogue = Catalogue::open(stored, keyspace, &is_empty)?;
        let bytes = catalogue.to_bytes();
        let schema = Arc::new(Schema::new(keyspace.clone(), StoreKind::Files, catalogue)?);
        let places = places(&schema);
        for (space, words) in &places {
            let was = self.format.places.get(space);
            if let Some(was) = was.filter(|was| *was != words && !is_empty(*space)) {
                return Err(moved(&schema, *space, was, words));
            }
        }
        let catalogue: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
        let catalogue = catalogue.map(|catalogue| catalogue.to_string().into_bytes());
        let format = Format { case: self.format.case, places, catalogue };
        if format == self.format && self.is_loaded {
            return Ok(schema);
        }
        if format != self.format {
            write_format(self.shared.disk.as_ref(), &format)?;
            self.format = format;
        }
        self.load(&schema)?;
        Ok(schema)
    }

    /// Looks at the tree.
    fn load(&mut self, schema: &Arc<Schema>) -> Result<()> {
        if self.is_loaded {
            self.apply()?;
            let memory = self.shared.memory()?;
            let known = memory.slots.keys().filter_map(|key| Some((key, memory.known(key)?)));
            self.kept = known.map(|(key, known)| (key.clone(), Arc::new(known.filed()))).collect();
        }
        let tree = Arc::new(Tree::new(schema.clone(), self.format.case)?);
        let loaded = load(&self.shared, tree, &self.kept, self.time)?;
        self.shared.replace(loaded.memory)?;
        self.is_loaded = true;
        self.kept.clear();
        self.changed_rows.extend(loaded.changed);
        self.touched.files.extend(loaded.touched.files);
        self.touched.directories.extend(loaded.touched.directories);
        match self.is_unkept() {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }

    /// Whether a space has no rows.
    fn has_none(&self, space: u16) -> bool {
        if let Ok(memory) = self.shared.memory() {
            return memory.has_none(space);
        }
        let start = Key::new(space.to_be_bytes().to_vec());
        self.kept.range(start..).next().is_none_or(|(key, _)| key.space() != space)
    }
}

fn moved(schema: &Schema, space: u16, was: &[String], is: &[String]) -> Error {
    let name = schema.catalogue().spaces.iter().find(|(_, number)| **number == space);
    let name = name.map_or("", |(name, _)| name.as_str());
    let message = "the keyspace file would look for rows in other files than they are in; declare \
                   `file`, `fields_file` and `names` as they were, or export and import the rows";
    Error::new(ErrorKind::Mismatch, message)
        .with("collection", name)
        .with("was", was.join(", "))
        .with("is", is.join(", "))
}

impl Committer {
    /// Whether the disk still answers: said where nothing else would say it.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.shared.is_poisoned() {
            return Err(poisoned());
        }
        self.checkpoint().map_err(|error| match error.kind() {
            ErrorKind::Poisoned => error,
            _ => poisoned().caused_by(error),
        })
    }
}

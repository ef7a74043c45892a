//! A keyspace with a store's numbers: how each key, record and entry of it is written as bytes.
//!
//! ```text
//! keyspace + catalogue ─▶ schema ─┬─ collection: key shape, slots of a row, indexes
//!                                 └─ index: key shape, where its segments come from, what it keeps
//! ```
//!
//! Made once when a store is opened. Everything at run time goes by position in these lists; names
//! are looked up when a pattern is prepared, not when it is called.

mod collection;
mod index;
mod key;

pub use collection::{CollectionSchema, ContentShape, Slot, constant};
pub use index::{IndexSchema, Source};
pub use key::{KeyShape, Place, Slices, time_of};
pub(crate) use key::{corrupt, put};

use crate::catalogue::Catalogue;
use crate::error::{Error, ErrorKind, Result};
use crate::store::Key;
use keyspace::model::{Keyspace, StoreKind};
use std::collections::HashMap;
use std::sync::Arc;

/// A keyspace with a store's numbers.
#[derive(Debug)]
pub struct Schema {
    keyspace: Arc<Keyspace>,
    kind: StoreKind,
    catalogue: Catalogue,
    collections: Vec<Arc<CollectionSchema>>,
    spaces: HashMap<u16, Space>,
}

/// What a number stands for.
#[derive(Clone, Debug)]
pub enum Space {
    /// The rows of a collection.
    Rows(Arc<CollectionSchema>),
    /// The entries or claims of an index, by its position in the collection.
    Entries(Arc<CollectionSchema>, usize),
    /// The slices of a collection or index with a bucket.
    Slices(Arc<KeyShape>),
}

impl Space {
    /// The shape of its keys.
    pub fn key(&self) -> Option<&KeyShape> {
        match self {
            Space::Rows(collection) => Some(&collection.key),
            Space::Entries(collection, index) => collection.indexes.get(*index).map(|i| &i.key),
            Space::Slices(key) => Some(key),
        }
    }
}

impl Schema {
    /// The schema of a keyspace on a store of this kind, with the numbers of its catalogue.
    pub fn new(keyspace: Arc<Keyspace>, kind: StoreKind, catalogue: Catalogue) -> Result<Self> {
        let mut collections = Vec::new();
        let mut spaces = HashMap::new();
        for model in &keyspace.collections {
            let collection =
                Arc::new(CollectionSchema::new(&keyspace, kind, &catalogue, model.clone())?);
            spaces.insert(collection.key.space, Space::Rows(collection.clone()));
            let mut sliced = vec![&collection.key];
            for (number, index) in collection.indexes.iter().enumerate() {
                spaces.insert(index.key.space, Space::Entries(collection.clone(), number));
                sliced.push(&index.key);
            }
            for slices in sliced.into_iter().filter_map(|key| key.slices.as_ref()) {
                spaces.insert(slices.directory.space, Space::Slices(slices.directory.clone()));
            }
            collections.push(collection);
        }
        Ok(Schema { keyspace, kind, catalogue, collections, spaces })
    }

    /// The keyspace.
    pub fn keyspace(&self) -> &Arc<Keyspace> {
        &self.keyspace
    }

    /// The kind of store whose plans hold.
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The numbers.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The collections, in the order of the file.
    pub fn collections(&self) -> &[Arc<CollectionSchema>] {
        &self.collections
    }

    /// The collection with this name.
    pub fn collection(&self, name: &str) -> Result<&Arc<CollectionSchema>> {
        let found = self.collections.iter().find(|known| known.model.name.value == name);
        found.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a collection is not in the schema").with("name", name)
        })
    }

    /// What a number stands for.
    pub fn space(&self, number: u16) -> Result<&Space> {
        self.spaces.get(&number).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, "a key has a number that the catalogue does not know")
                .with("number", number)
        })
    }

    /// Where a row, an entry or a claim lives on a group-atomic store.
    pub fn place(&self, key: &Key) -> Result<Place> {
        match self.space(key.space())?.key() {
            Some(shape) => shape.place(key.as_ref()),
            None => Err(Error::new(ErrorKind::Internal, "a space has no keys")),
        }
    }
}

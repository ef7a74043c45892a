//! The numbers a store has given to names: of collections, indexes and fields.
//!
//! Numbers are given by name, once, and never used again; a store keeps its catalogue with its data.

use keyspace::model::{Collection, Keyspace};
use std::collections::BTreeMap;

/// The numbers of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// The keyspace's name.
    pub keyspace: String,
    /// Numbers of collections (`users`), indexes (`users.users_by_email`) and directories of
    /// slices (`users/slices`), by name.
    pub spaces: BTreeMap<String, u16>,
    /// Numbers of fields, by collection and name.
    pub fields: BTreeMap<String, BTreeMap<String, u16>>,
}

impl Catalogue {
    /// What an empty store would give a keyspace.
    pub fn fresh(keyspace: &Keyspace) -> Self {
        let mut catalogue =
            Catalogue { keyspace: keyspace.name.value.clone(), ..Catalogue::default() };
        for collection in &keyspace.collections {
            catalogue.add(collection);
        }
        catalogue
    }

    fn add(&mut self, collection: &Collection) {
        let name = &collection.name.value;
        self.give(name.clone());
        if collection.bucket.is_some() {
            self.give(format!("{name}/slices"));
        }
        for index in &collection.indexes {
            let index_name = format!("{name}.{}", index.name.value);
            if index.bucket.is_some() {
                self.give(format!("{index_name}/slices"));
            }
            self.give(index_name);
        }
        let fields = self.fields.entry(name.clone()).or_default();
        for field in collection.fields() {
            let next = fields.values().max().map_or(1, |last| last.saturating_add(1));
            fields.entry(field.name.clone()).or_insert(next);
        }
    }

    fn give(&mut self, name: String) {
        let next = self.spaces.values().max().map_or(1, |last| last.saturating_add(1));
        self.spaces.entry(name).or_insert(next);
    }
}

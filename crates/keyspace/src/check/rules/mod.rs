//! The rules: one a file, each with its code.
//!
//! A rule looks at the resolved keyspace and adds what it finds. Rules do not depend on each other
//! and run in any order; problems are put in the order of the file afterwards.

mod bind_circle;
mod bound;
mod cache;
mod case_of_unique;
mod changing_index;
mod duplicates;
mod failover;
mod file_names;
mod group_size;
mod id_only_in_value;
mod index_content;
mod kept_unused;
mod key_length;
mod keys_collide;
mod near;
mod not_held;
mod order;
mod owner;
mod owner_missing;
mod public;
mod refusals;
mod same_as_key;
mod same_row;
mod short_life;
mod shown_alike;
mod similar_arguments;
mod steps;
mod stores;
mod take;
mod two_types;
mod unasked;
mod unlike_templates;
mod version;
mod window;
mod write_allow;

use crate::diagnostic::Diagnostic;
use crate::model::{Bucket, Collection, Expect, Index, Key, Keyspace, Pattern, StoreKind};
use crate::parse::{CollectionTree, PatternTree, Tree};
use std::collections::HashMap;
use std::sync::Arc;

/// What a rule may look at.
pub struct Facts<'a> {
    /// The keyspace, without what could not be resolved.
    pub keyspace: &'a Keyspace,
    /// The file as written: what is asked for is asked for, even where it could not be resolved.
    pub tree: &'a Tree,
    /// The stores whose refusals are errors.
    pub stores: &'a [StoreKind],
    collections: HashMap<&'a str, &'a CollectionTree>,
    patterns: HashMap<&'a str, &'a PatternTree>,
}

/// Asks every rule.
pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    const RULES: [fn(&Facts<'_>, &mut Vec<Diagnostic>); 35] = [
        bind_circle::check,
        bound::check,
        cache::check,
        case_of_unique::check,
        changing_index::check,
        duplicates::check,
        failover::check,
        file_names::check,
        group_size::check,
        id_only_in_value::check,
        index_content::check,
        key_length::check,
        keys_collide::check,
        kept_unused::check,
        near::check,
        not_held::check,
        order::check,
        owner::check,
        owner_missing::check,
        public::check,
        refusals::check,
        same_as_key::check,
        same_row::check,
        short_life::check,
        shown_alike::check,
        similar_arguments::check,
        steps::check,
        stores::check,
        take::check,
        two_types::check,
        unasked::check,
        unlike_templates::check,
        version::check,
        window::check,
        write_allow::check,
    ];
    for rule in RULES {
        rule(facts, problems);
    }
}

/// A collection's own key, or one of its indexes'.
#[derive(Clone, Copy)]
pub struct KeyOf<'a> {
    /// The collection.
    pub collection: &'a Arc<Collection>,
    /// The index, unless it is the collection's own key.
    pub index: Option<&'a Arc<Index>>,
}

impl<'a> KeyOf<'a> {
    /// The key.
    pub fn key(self) -> &'a Key {
        self.index.map_or(&self.collection.key, |index| &index.key)
    }

    /// What is expected of it.
    pub fn expect(self) -> &'a Expect {
        self.index.map_or(&self.collection.expect, |index| &index.expect)
    }

    /// Its time slices.
    pub fn bucket(self) -> Option<&'a Bucket> {
        self.index.map_or(self.collection.bucket.as_ref(), |index| index.bucket.as_ref())
    }

    /// Its name: `posts` or `posts.by_tag`.
    pub fn text(self) -> String {
        let name = &self.collection.name.value;
        self.index.map_or(name.clone(), |index| format!("{name}.{}", index.name.value))
    }
}

impl<'a> Facts<'a> {
    /// What was resolved, what was written, and for which stores.
    pub fn new(keyspace: &'a Keyspace, tree: &'a Tree, stores: &'a [StoreKind]) -> Self {
        let collections = tree.collections.iter().map(|c| (c.name.value.as_str(), c)).collect();
        let patterns = tree.patterns.iter().map(|p| (p.name.value.as_str(), p)).collect();
        Facts { keyspace, tree, stores, collections, patterns }
    }

    /// A collection as it was written.
    pub fn written(&self, collection: &Collection) -> Option<&'a CollectionTree> {
        self.collections.get(collection.name.value.as_str()).copied()
    }

    /// Whether a collection, or an index, tries to say something: what is wrong with it has been
    /// reported, and is not missing.
    pub fn attempts(&self, key: KeyOf<'_>, setting: &str) -> bool {
        let Some(collection) = self.written(key.collection) else { return false };
        let keys = match key.index {
            None => Some(&collection.keys),
            Some(index) => {
                let written = collection.indexes.iter().find(|i| i.name.value == index.name.value);
                written.map(|index| &index.keys)
            }
        };
        keys.is_some_and(|keys| keys.iter().any(|key| key.value == setting))
    }

    /// Whether a pattern tries to say something.
    pub fn pattern_attempts(&self, pattern: &Pattern, setting: &str) -> bool {
        let written = self.patterns.get(pattern.name.value.as_str());
        written.is_some_and(|written| written.keys.iter().any(|key| key.value == setting))
    }

    /// Every key of the keyspace: collections' own, then their indexes'.
    pub fn keys(&self) -> impl Iterator<Item = KeyOf<'_>> {
        self.keyspace.collections.iter().flat_map(|collection| {
            let own = std::iter::once(KeyOf { collection, index: None });
            own.chain(
                collection
                    .indexes
                    .iter()
                    .map(move |index| KeyOf { collection, index: Some(index) }),
            )
        })
    }

    /// Whether one of these stores is named.
    pub fn meant_for(&self, kinds: &[StoreKind]) -> bool {
        self.stores.iter().any(|store| kinds.contains(store))
    }
}

/// The stores on which a commit reaches one group only.
pub const GROUP_ATOMIC: [StoreKind; 3] =
    [StoreKind::RedisCluster, StoreKind::Cassandra, StoreKind::Scylla];

//! What the store has in memory: every key in order, and for each where its content is.
//!
//! ```text
//! key of a row    ─▶ version, end, files        key of an entry or claim ─▶ all of it
//! path of a file  ─▶ whose it is                path of an index file    ─▶ the entries in it
//! ```
//!
//! A scan walks this order and opens only the files it answers. One lock is around it; whoever
//! holds it to write changes a whole group, so that no reader sees a part of one.

use super::row::{Content, Known};
use super::tree::Tree;
use data::Result;
use data::clock::Milliseconds;
use data::entries;
use data::schema::Space;
use data::store::{Key, Keyed, Row};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// What lies under a key.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// A row, which has files.
    Row(Arc<Known>),
    /// An entry or a claim.
    Entry(Row),
}

impl Slot {
    fn expires(&self) -> Option<Milliseconds> {
        match self {
            Slot::Row(known) => known.expires,
            Slot::Entry(row) => row.expires,
        }
    }
}

/// Files of rows, in the order of their paths, and whose they are.
#[derive(Debug, Default)]
pub(super) struct Paths(pub(super) BTreeMap<Arc<str>, Key>);

impl Paths {
    /// Whose file lies under a path.
    pub(super) fn owner(&self, path: &str) -> Option<&Key> {
        self.0.get(path)
    }

    /// Whether a file lies where a path needs a directory, or a directory where it needs a file.
    pub(super) fn is_crossed(&self, path: &str) -> bool {
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.0.contains_key(parent) {
                return true;
            }
            above = parent;
        }
        let below = format!("{path}/");
        let behind = (Bound::Excluded(below.as_str()), Bound::Unbounded);
        let next = self.0.range::<str, _>(behind).next();
        next.is_some_and(|(known, _)| known.starts_with(&below))
    }
}

/// Everything in memory.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) tree: Arc<Tree>,
    pub(super) slots: BTreeMap<Key, Slot>,
    /// When each slot that ends does.
    pub(super) endings: BTreeSet<(Milliseconds, Key)>,
    /// Whose each file is.
    pub(super) paths: Paths,
    /// The entries in each file of an index.
    index_files: HashMap<Arc<str>, BTreeSet<Key>>,
    /// Files of rows that are gone, and will be.
    leaving: HashSet<Arc<str>>,
    /// The entries of each row; worked out when somebody edits a file, good until the next commit.
    owners: Option<HashMap<Key, Vec<Key>>>,
}

impl Memory {
    /// Nothing, for this tree.
    pub(super) fn new(tree: Arc<Tree>) -> Memory {
        Memory {
            tree,
            slots: BTreeMap::new(),
            endings: BTreeSet::new(),
            paths: Paths::default(),
            index_files: HashMap::new(),
            leaving: HashSet::new(),
            owners: None,
        }
    }

    /// What lies under a key.
    pub(super) fn slot(&self, key: &Key) -> Option<&Slot> {
        self.slots.get(key)
    }

    /// The row under a key.
    pub(super) fn known(&self, key: &Key) -> Option<&Arc<Known>> {
        match self.slots.get(key) {
            Some(Slot::Row(known)) => Some(known),
            _ => None,
        }
    }

    /// Whether the space with this number has nothing.
    pub(super) fn has_none(&self, space: u16) -> bool {
        let start = Key::new(space.to_be_bytes().to_vec());
        self.slots.range(start..).next().is_none_or(|(key, _)| key.space() != space)
    }

    /// Whether a file is about to be removed.
    pub(super) fn is_leaving(&self, path: &str) -> bool {
        self.leaving.contains(path)
    }

    /// Says that a file was removed.
    pub(super) fn has_left(&mut self, path: &str) {
        self.leaving.remove(path);
    }

    /// Makes a row what it now is, or lets it go.
    pub(super) fn set_row(&mut self, key: Key, known: Option<Known>) {
        self.owners = None;
        if let Some(Slot::Row(before)) = self.remove(&key) {
            for file in before.files() {
                self.paths.0.remove(&file.path);
                self.leaving.insert(file.path.clone());
            }
        }
        let Some(known) = known else { return };
        for file in known.files() {
            self.leaving.remove(&file.path);
            self.paths.0.insert(file.path.clone(), key.clone());
        }
        self.insert(key, Slot::Row(Arc::new(known)));
    }

    /// Changes what is known of a row whose end and files stay where they are.
    pub(super) fn know(&mut self, key: &Key, known: Known) {
        if let Some(slot) = self.slots.get_mut(key) {
            *slot = Slot::Row(Arc::new(known));
        }
    }

    /// Makes an entry or a claim what it now is, or lets it go.
    pub(super) fn set_entry(&mut self, key: Key, row: Option<Row>) -> Result<()> {
        self.owners = None;
        self.remove(&key);
        let path = match self.tree.index(key.space()) {
            Some(index) => Some(index.path(self.tree.case, &key)?),
            None => None,
        };
        if let Some(path) = path {
            let path: Arc<str> = path.into();
            let entries = self.index_files.entry(path.clone()).or_default();
            match row {
                Some(_) => entries.insert(key.clone()),
                None => entries.remove(&key),
            };
            if entries.is_empty() {
                self.index_files.remove(&path);
                self.paths.0.remove(&path);
            } else {
                self.paths.0.insert(path, owner_of_index(key.space()));
            }
        }
        if let Some(row) = row {
            self.insert(key, Slot::Entry(row));
        }
        Ok(())
    }

    /// The entries in a file of an index, in order.
    pub(super) fn entries_in<'m>(
        &'m self,
        path: &str,
    ) -> impl Iterator<Item = (&'m Key, &'m Row)> + use<'m> {
        let keys = self.index_files.get(path).into_iter().flatten();
        keys.filter_map(|key| match self.slots.get(key) {
            Some(Slot::Entry(row)) => Some((key, row)),
            _ => None,
        })
    }

    /// Every file of an index.
    pub(super) fn index_paths(&self) -> impl Iterator<Item = (&Arc<str>, u16)> {
        let files = self.index_files.iter();
        files.filter_map(|(path, entries)| Some((path, entries.first()?.space())))
    }

    /// The entries and claims of a row, found by looking at all of its indexes.
    pub(super) fn entries_of(&mut self, key: &Key) -> Result<Vec<Key>> {
        if self.owners.is_none() {
            let mut owners: HashMap<Key, Vec<Key>> = HashMap::new();
            for (entry, slot) in &self.slots {
                let Slot::Entry(row) = slot else { continue };
                let Space::Entries(collection, index) = self.tree.schema.space(entry.space())?
                else {
                    continue;
                };
                let Some(index) = collection.indexes.get(*index) else { continue };
                let keyed = Keyed { key: entry.clone(), row: row.clone() };
                let owner = entries::owner(collection, index, &keyed)?;
                owners.entry(owner).or_default().push(entry.clone());
            }
            self.owners = Some(owners);
        }
        let owners = self.owners.as_ref();
        Ok(owners.and_then(|owners| owners.get(key)).cloned().unwrap_or_default())
    }

    fn insert(&mut self, key: Key, slot: Slot) {
        if let Some(at) = slot.expires() {
            self.endings.insert((at, key.clone()));
        }
        self.slots.insert(key, slot);
    }

    fn remove(&mut self, key: &Key) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        if let Some(at) = slot.expires() {
            self.endings.remove(&(at, key.clone()));
        }
        Some(slot)
    }
}

/// Whose the files of an index are: no row has a key without segments behind its number.
pub(super) fn owner_of_index(space: u16) -> Key {
    Key::new(space.to_be_bytes().to_vec())
}

/// A row as the waist has it, if its content is at hand.
pub(super) fn held(known: &Known) -> Option<Row> {
    match &known.content {
        Content::Held(value) => Some(row_of(known, value.clone())),
        _ => None,
    }
}

/// A row with this content.
pub(super) fn row_of(known: &Known, value: bytes::Bytes) -> Row {
    Row { value, version: known.version, expires: known.expires, trail: None }
}

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

/// Files of rows and whose they are, and the directories they lie in. Looked up by hash: a path
/// has most of its beginning in common with its neighbours, so that finding a place in an order of
/// paths compares long texts again and again.
#[derive(Debug, Default)]
pub(super) struct Paths {
    owners: HashMap<Arc<str>, Key>,
    /// How many of these files and directories lie in each.
    directories: HashMap<Box<str>, usize>,
}

impl Paths {
    /// Whose file lies under a path.
    pub(super) fn owner(&self, path: &str) -> Option<&Key> {
        self.owners.get(path)
    }

    /// Adds a file; answers whose it was.
    pub(super) fn insert(&mut self, path: Arc<str>, owner: Key) -> Option<Key> {
        let mut below: &str = &path;
        if !self.owners.contains_key(below) {
            while let Some((directory, _)) = below.rsplit_once('/') {
                if let Some(count) = self.directories.get_mut(directory) {
                    *count += 1;
                    break;
                }
                self.directories.insert(directory.into(), 1);
                below = directory;
            }
        }
        self.owners.insert(path, owner)
    }

    /// Takes a file away, and directories that hold nothing then.
    pub(super) fn remove(&mut self, path: &str) {
        if self.owners.remove(path).is_none() {
            return;
        }
        let mut below = path;
        while let Some((directory, _)) = below.rsplit_once('/') {
            match self.directories.get_mut(directory) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    return;
                }
                _ => drop(self.directories.remove(directory)),
            }
            below = directory;
        }
    }

    /// Whether a file lies where a path needs a directory, or a directory where it needs a file.
    pub(super) fn is_crossed(&self, path: &str) -> bool {
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.owners.contains_key(parent) {
                return true;
            }
            // What lies above a directory was asked when it became one.
            if self.directories.contains_key(parent) {
                break;
            }
            above = parent;
        }
        self.directories.contains_key(path)
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
    /// The entries of each row; worked out when somebody edits a file, and kept up from then on.
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
    pub(super) fn set_row(&mut self, key: Key, known: Option<Arc<Known>>) {
        let before = match &known {
            Some(known) => self.insert(key.clone(), Slot::Row(known.clone())),
            None => self.remove(&key),
        };
        if let Some(Slot::Row(before)) = before {
            for file in before.files() {
                self.paths.remove(&file.path);
                self.leaving.insert(file.path.clone());
            }
        }
        for file in known.iter().flat_map(|known| known.files()) {
            self.leaving.remove(&file.path);
            self.paths.insert(file.path.clone(), key.clone());
        }
    }

    /// What is known of a row, to be replaced: its end and its files stay where they are.
    pub(super) fn known_mut(&mut self, key: &Key) -> Option<&mut Arc<Known>> {
        match self.slots.get_mut(key) {
            Some(Slot::Row(known)) => Some(known),
            _ => None,
        }
    }

    /// Makes an entry or a claim what it now is, or lets it go.
    pub(super) fn set_entry(&mut self, key: Key, row: Option<Row>) -> Result<()> {
        if let Some(index) = self.tree.index(key.space()) {
            let path: Arc<str> = index.path(self.tree.case, &key)?.into();
            let entries = self.index_files.entry(path.clone()).or_default();
            match row {
                Some(_) => entries.insert(key.clone()),
                None => entries.remove(&key),
            };
            if entries.is_empty() {
                self.index_files.remove(&path);
                self.paths.remove(&path);
            } else {
                self.paths.insert(path, owner_of_index(key.space()));
            }
        }
        if self.owners.is_some() {
            if let Some(Slot::Entry(before)) = self.slots.get(&key).cloned() {
                self.disown(&key, &before)?;
            }
            if let Some(row) = &row {
                self.own(&key, row)?;
            }
        }
        match row {
            Some(row) => self.insert(key, Slot::Entry(row)),
            None => self.remove(&key),
        };
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
                if let Some(owner) = self.owner(entry, row)? {
                    owners.entry(owner).or_default().push(entry.clone());
                }
            }
            self.owners = Some(owners);
        }
        let owners = self.owners.as_ref();
        Ok(owners.and_then(|owners| owners.get(key)).cloned().unwrap_or_default())
    }

    /// Whose an entry or a claim is.
    fn owner(&self, entry: &Key, row: &Row) -> Result<Option<Key>> {
        let Space::Entries(collection, index) = self.tree.schema.space(entry.space())? else {
            return Ok(None);
        };
        let Some(index) = collection.indexes.get(*index) else { return Ok(None) };
        let keyed = Keyed { key: entry.clone(), row: row.clone() };
        entries::owner(collection, index, &keyed).map(Some)
    }

    fn own(&mut self, entry: &Key, row: &Row) -> Result<()> {
        let owner = self.owner(entry, row)?;
        if let (Some(owners), Some(owner)) = (&mut self.owners, owner) {
            owners.entry(owner).or_default().push(entry.clone());
        }
        Ok(())
    }

    fn disown(&mut self, entry: &Key, row: &Row) -> Result<()> {
        let owner = self.owner(entry, row)?;
        if let (Some(owners), Some(owner)) = (&mut self.owners, owner)
            && let Some(entries) = owners.get_mut(&owner)
        {
            entries.retain(|known| known != entry);
            if entries.is_empty() {
                owners.remove(&owner);
            }
        }
        Ok(())
    }

    /// Puts a slot under a key; answers what was there.
    fn insert(&mut self, key: Key, slot: Slot) -> Option<Slot> {
        let at = slot.expires();
        let is_ending = at.is_some() || !self.endings.is_empty();
        let ending = is_ending.then(|| key.clone());
        let before = self.slots.insert(key, slot);
        if let Some(key) = ending {
            if let Some(earlier) = before.as_ref().and_then(Slot::expires) {
                self.endings.remove(&(earlier, key.clone()));
            }
            self.endings.extend(at.map(|at| (at, key)));
        }
        before
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What `Paths` answers, by looking at every file.
    fn is_crossed(files: &BTreeSet<String>, path: &str) -> bool {
        let lies_in = |file: &str, directory: &str| file.starts_with(&format!("{directory}/"));
        files.iter().any(|file| lies_in(file, path) || lies_in(path, file))
    }

    #[test]
    fn paths_cross_where_one_is_a_directory_of_another() {
        let names = ["a", "b", "a.json", "ab"];
        let mut all: Vec<String> = names.map(String::from).to_vec();
        for _ in 0..2 {
            let deeper = all.iter().flat_map(|path| names.map(|name| format!("{path}/{name}")));
            all = deeper.chain(names.map(String::from)).collect();
        }
        let (mut paths, mut files) = (Paths::default(), BTreeSet::new());
        let mut number: usize = 1;
        for _ in 0..3_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let Some(path) = all.get((number >> 33) % all.len()) else { continue };
            let crossed = is_crossed(&files, path);
            assert_eq!(paths.is_crossed(path), crossed, "{path} among {files:?}");
            if files.remove(path) {
                paths.remove(path);
            } else if !crossed {
                // A file that is added again is not counted again.
                for owner in [1_u16, 2] {
                    paths.insert(path.as_str().into(), owner_of_index(owner));
                }
                files.insert(path.clone());
            }
            let owner = files.contains(path).then(|| owner_of_index(2));
            assert_eq!(paths.owner(path), owner.as_ref());
        }
        files.iter().for_each(|path| paths.remove(path));
        assert!(paths.owners.is_empty() && paths.directories.is_empty());
    }
}

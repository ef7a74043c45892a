//! The tree is looked at, once, when a keyspace is given: every file is read and hashed, and what
//! the store has in memory is built from what they say.
//!
//! ```text
//! .keyway/rows ─┐         ┌─ same hash ─▶ the row as it was, with its version
//!               ├─ file ──┼─ another ───▶ a new version; immutable: damaged
//! the tree ─────┘         ├─ no row yet ─▶ a row           no file any more ─▶ no row
//!                         └─ unreadable ─▶ set aside
//! rows ─▶ entries, claims ─▶ files of indexes, written anew where they differ
//! ```
//!
//! Rows that are as they were come first, so that a value they claim stays theirs.

use super::adopt::{Adopted, Found, add_entry, adopted, reason};
use super::checkpoint::Touched;
use super::content::RowFiles;
use super::disk::Kind;
use super::error;
use super::memory::Memory;
use super::path::Place;
use super::place::{clear, place};
use super::quarantine;
use super::row::{Content, Known, hash_of};
use super::shared::Shared;
use super::tree::Tree;
use data::clock::Milliseconds;
use data::store::Key;
use data::{Result, Value};
use keyspace::layout::files::OWN_DIRECTORY;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What looking at the tree came to.
pub(super) struct Loaded {
    pub(super) memory: Memory,
    /// Rows that are not as they were kept.
    pub(super) changed: HashMap<Key, Option<Arc<Known>>>,
    pub(super) touched: Touched,
}

/// Looks at the whole tree.
pub(super) fn load(
    shared: &Shared,
    tree: Arc<Tree>,
    kept: &BTreeMap<Key, Arc<Known>>,
    time: Milliseconds,
) -> Result<Loaded> {
    let mut paths = BTreeSet::new();
    list(shared, "", &mut paths)?;
    let mut load = Load {
        shared,
        time,
        tree: tree.clone(),
        paths,
        loaded: Loaded {
            memory: Memory::new(tree),
            changed: HashMap::new(),
            touched: Touched::default(),
        },
        edited: BTreeMap::new(),
        edited_paths: HashSet::new(),
    };
    for (key, known) in kept {
        load.known(key.clone(), known.as_ref().clone())?;
    }
    load.unknown()?;
    for (key, row) in std::mem::take(&mut load.edited) {
        load.changed(key, row)?;
    }
    load.index_files()?;
    Ok(load.loaded)
}

/// Every file below a directory, except Keyway's own and what is hidden.
fn list(shared: &Shared, directory: &str, paths: &mut BTreeSet<String>) -> Result<()> {
    let failed = |error| error::file(error, directory);
    for (name, kind) in shared.disk.list(directory).map_err(failed)? {
        let path = match directory {
            "" => name.clone(),
            directory => format!("{directory}/{name}"),
        };
        let is_hidden = name.starts_with('.') && name != keyspace::layout::files::VALUE;
        match kind {
            _ if is_hidden || path == OWN_DIRECTORY => {}
            Kind::Directory => list(shared, &path, paths)?,
            Kind::File => {
                paths.insert(path);
            }
            Kind::Link => return Err(error::in_the_way(&path, "a symbolic link")),
            Kind::Other => shared.report(&path, "it is no file, and is left as it is"),
        }
    }
    Ok(())
}

/// A tree that is being looked at.
struct Load<'s> {
    shared: &'s Shared,
    time: Milliseconds,
    tree: Arc<Tree>,
    /// Files that nothing is known of yet.
    paths: BTreeSet<String>,
    loaded: Loaded,
    /// Rows that somebody else wrote or changed, and their files.
    edited: BTreeMap<Key, Adopted>,
    edited_paths: HashSet<Arc<str>>,
}

impl Load<'_> {
    /// A row that was kept.
    fn known(&mut self, key: Key, mut known: Known) -> Result<()> {
        let (shared, tree) = (self.shared, self.tree.clone());
        // A collection that was dropped was empty.
        let Ok(Some(files)) = tree.rows(key.space()) else { return Ok(()) };
        known.files().for_each(|file| {
            self.paths.remove(&*file.path);
        });
        let fields = known.fields.as_ref().map(|file| &file.path);
        let found = match Found::read(shared.disk.as_ref(), &known.main.path, fields) {
            Err(error) if is_unfit(&error) => return self.unfit(key, &known, &reason(&error)),
            found => found?,
        };
        let Some(found) = found else {
            self.loaded.changed.insert(key, None);
            // Its fields alone say nothing.
            return match fields {
                Some(path) => self.set_aside(path, "the file it belongs to was removed"),
                None => Ok(()),
            };
        };
        let row = adopted(&tree, files, &key, &found, Some(&known));
        let is_same = known.main.hash == found.main.hash
            && known.fields.as_ref().map(|file| file.hash)
                == found.fields.as_ref().map(|file| file.hash);
        let is_fixed = files.collection.model.immutable && !is_same;
        match row {
            Ok(row) if is_same => self.add(key, row),
            Ok(row) if !is_fixed => {
                self.edit(key, row);
                Ok(())
            }
            Ok(row) => {
                let why = "its rows are immutable, and it was changed";
                shared.report(&known.main.path, why);
                known.main.stamp = found.main.stamp;
                if let (Some(file), Some(now)) = (&mut known.fields, &found.fields) {
                    file.stamp = now.stamp;
                }
                known.content = Content::Damaged(why.into());
                self.add(key, Adopted { known, ..row })
            }
            Err(error) if is_unfit(&error) => self.unfit(key, &known, &reason(&error)),
            Err(error) => Err(error),
        }
    }

    /// A row whose files cannot be one any more.
    fn unfit(&mut self, key: Key, known: &Known, why: &str) -> Result<()> {
        self.loaded.changed.insert(key, None);
        known.files().try_for_each(|file| self.set_aside(&file.path, why))
    }

    /// Files that nothing was kept of: rows that somebody put there, files of indexes, and others.
    fn unknown(&mut self) -> Result<()> {
        let tree = self.tree.clone();
        let mut others = Vec::new();
        for path in std::mem::take(&mut self.paths) {
            let rows = tree.all_rows().find_map(|files| {
                let found = files.main.parse(tree.case, &path)?;
                Some((files.clone(), key_of(files, &found)?, found))
            });
            match rows {
                Some((files, key, found)) => self.dropped_in(&path, &files, key, &found)?,
                None => others.push(path),
            }
        }
        for path in others {
            let is_index = tree.all_indexes().any(|index| index.is_path(tree.case, &path));
            let fields = |files: &&Arc<RowFiles>| {
                files.fields.as_ref().is_some_and(|fields| fields.parse(tree.case, &path).is_some())
            };
            let is_taken = self.loaded.memory.paths.owner(&path).is_some()
                || self.edited_paths.contains(path.as_str());
            if is_index {
                self.paths.insert(path);
            } else if is_taken {
                continue;
            } else if tree.all_rows().any(|files| fields(&files)) {
                self.shared.report(&path, "it holds the fields of a row that is not there");
            } else {
                self.shared.report(&path, "it is no part of the layout, and is left as it is");
            }
        }
        Ok(())
    }

    /// A file where a row can be, of which nothing was kept.
    fn dropped_in(
        &mut self,
        path: &str,
        files: &RowFiles,
        key: Key,
        named: &[(Place, Value)],
    ) -> Result<()> {
        if self.loaded.memory.known(&key).is_some() || self.edited.contains_key(&key) {
            self.shared.report(path, "another file has the same key; remove one of them");
            return Ok(());
        }
        let tree = self.tree.clone();
        let segments = tree.segments(files, &key)?;
        let mut slots = vec![Value::Null; files.collection.slots.len()];
        for (place, value) in named {
            if let Place::Slot(slot) = place
                && let Some(place) = slots.get_mut(*slot)
            {
                *place = value.clone();
            }
        }
        let fields: Option<Arc<str>> = match &files.fields {
            Some(template) => Some(template.path(tree.case, &segments, &slots)?.into()),
            None => None,
        };
        let found = Found::read(self.shared.disk.as_ref(), &path.into(), fields.as_ref());
        let found = match found {
            Err(error) if is_unfit(&error) => return self.set_aside(path, &reason(&error)),
            found => found?,
        };
        let Some(found) = found else { return Ok(()) };
        if fields.is_some() && found.fields.is_none() {
            let what = format!("its fields are missing in {}", fields.as_deref().unwrap_or(""));
            self.shared.report(path, what);
            return Ok(());
        }
        match adopted(&tree, files, &key, &found, None) {
            Ok(row) => self.edit(key, row),
            Err(error) if is_unfit(&error) => self.set_aside(path, &reason(&error))?,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Keeps a row that somebody else wrote or changed until all others are there.
    fn edit(&mut self, key: Key, row: Adopted) {
        self.edited_paths.extend(row.known.files().map(|file| file.path.clone()));
        self.edited.insert(key, row);
    }

    /// Adds a row that somebody else wrote or changed.
    fn changed(&mut self, key: Key, row: Adopted) -> Result<()> {
        self.loaded.changed.insert(key.clone(), Some(Arc::new(row.known.clone())));
        self.add(key, row)
    }

    /// Adds a row with its entries.
    fn add(&mut self, key: Key, row: Adopted) -> Result<()> {
        for entry in row.entries {
            let at = (&key, &row.known);
            if let Some(what) = add_entry(&mut self.loaded.memory, at, entry, self.time)? {
                self.shared.report(&row.known.main.path, what);
            }
        }
        self.loaded.memory.set_row(key, Some(Arc::new(row.known)));
        Ok(())
    }

    /// Makes the files of indexes what the entries say. `paths` has those that are there.
    fn index_files(&mut self) -> Result<()> {
        let disk = self.shared.disk.as_ref();
        let memory = &self.loaded.memory;
        let touched = &mut self.loaded.touched;
        let mut left = std::mem::take(&mut self.paths);
        for (path, space) in memory.index_paths() {
            let failed = |error| error::file(error, path);
            let Some(index) = memory.tree.index(space) else { continue };
            let wanted = index.content(memory.entries_in(path))?;
            let is_there = left.remove(&**path);
            let is_same = is_there
                && disk.read(path).is_ok_and(|(found, _)| hash_of(&found) == hash_of(&wanted));
            if !is_same {
                place(disk, path, &wanted, touched).map_err(failed)?;
            }
        }
        for path in left {
            clear(disk, &path, touched).map_err(|error| error::file(error, &path))?;
        }
        Ok(())
    }

    fn set_aside(&mut self, path: &str, why: &str) -> Result<()> {
        let touched = &mut self.loaded.touched;
        match quarantine::set_aside(self.shared, path, why, touched) {
            Err(error) if !super::read::is_gone(&error) => Err(error::file(error, path)),
            _ => Ok(()),
        }
    }
}

/// Whether an error says that files cannot be a row, rather than that they could not be read.
fn is_unfit(error: &data::Error) -> bool {
    use data::ErrorKind::{Argument, Corrupt, TooLarge};
    matches!(error.kind(), Argument | Corrupt | TooLarge)
}

/// The key of a row whose path names these values.
fn key_of(files: &RowFiles, named: &[(Place, Value)]) -> Option<Key> {
    let shape = &files.collection.key;
    let values = (0..shape.segments.len()).map(|segment| {
        named.iter().find(|(place, _)| *place == Place::Segment(segment)).map(|(_, value)| value)
    });
    let values: Option<Vec<&Value>> = values.collect();
    shape.encode(values?).ok()
}

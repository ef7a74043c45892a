//! A draft: what a group of batches does, worked out before anything is written.
//!
//! ```text
//! effects ─▶ rows with the content of their files, entries ─▶ group: every file that changes
//! ```
//!
//! Nothing here writes. A batch that cannot be laid out in files is refused here, and leaves no
//! trace in the draft.

use super::content::Contents;
use super::disk::{Disk, Kind};
use super::error;
use super::journal::{FileChange, Group};
use super::memory::{Memory, Paths, owner_of_index, row_of};
use super::path::PathTemplate;
use super::row::{Committed, Content, Known, RowFile, hash_of};
use bytes::Bytes;
use data::store::judge::Effect;
use data::store::{Key, Row};
use data::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a group of batches does.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) rows: HashMap<Key, Option<Drafted>>,
    pub(super) entries: HashMap<Key, Option<Row>>,
    pub(super) commits: Vec<Committed>,
    /// Where the files of rows that are not there would be, if their keys alone tell and the disk
    /// has said that nothing is there.
    pub(super) free: HashMap<Key, Arc<str>>,
    /// The files of its rows.
    paths: Paths,
}

/// A row as it will be.
#[derive(Clone, Debug)]
pub(super) struct Drafted {
    pub(super) known: Arc<Known>,
    contents: Contents,
    /// The row as it is.
    before: Option<Arc<Known>>,
}

impl Drafted {
    /// The row as the waist has it.
    pub(super) fn row(&self) -> Row {
        match &self.known.content {
            Content::Held(value) => row_of(&self.known, value.clone()),
            _ => row_of(&self.known, Bytes::new()),
        }
    }
}

impl Draft {
    /// Takes in what a batch changes: all of it, or nothing and the reason.
    pub(super) fn take(
        &mut self,
        memory: &Memory,
        disk: &dyn Disk,
        effects: Vec<Effect>,
    ) -> Result<()> {
        let mut added = Vec::with_capacity(effects.len());
        let taken = self.try_take(memory, disk, effects, &mut added);
        if taken.is_err() {
            for (path, owner) in added.into_iter().rev() {
                match owner {
                    Some(owner) => drop(self.paths.insert(path, owner)),
                    None => self.paths.remove(&path),
                }
            }
        }
        taken
    }

    /// The same, with the paths it has added, and whose they were.
    fn try_take(
        &mut self,
        memory: &Memory,
        disk: &dyn Disk,
        effects: Vec<Effect>,
        added: &mut Vec<(Arc<str>, Option<Key>)>,
    ) -> Result<()> {
        let mut rows = Vec::with_capacity(effects.len());
        let mut entries = Vec::with_capacity(effects.len());
        for (key, row) in effects {
            if memory.tree.rows(key.space())?.is_none() {
                if row.as_ref().is_some_and(|row| row.trail.is_some()) {
                    return Err(no_trails());
                }
                // What cannot be a line of a file is refused before anything is written.
                if let Some(index) = memory.tree.index(key.space()) {
                    let path: Arc<str> = index.path(memory.tree.case, &key)?.into();
                    index.content(row.iter().map(|row| (&key, row)))?;
                    let owner = owner_of_index(key.space());
                    self.check_path(memory, disk, &owner, &path)?;
                    added.push((path.clone(), self.paths.insert(path, owner)));
                }
                entries.push((key, row));
                continue;
            }
            let drafted = match row {
                None => None,
                Some(row) => {
                    let drafted = self.draft_row(memory, &key, row)?;
                    for RowFile { path, .. } in drafted.known.files() {
                        self.check_path(memory, disk, &key, path)?;
                        added.push((path.clone(), self.paths.insert(path.clone(), key.clone())));
                    }
                    Some(drafted)
                }
            };
            rows.push((key, drafted));
        }
        self.rows.extend(rows);
        self.entries.extend(entries);
        Ok(())
    }

    fn draft_row(&self, memory: &Memory, key: &Key, row: Row) -> Result<Drafted> {
        if row.trail.is_some() {
            return Err(no_trails());
        }
        let tree = &memory.tree;
        let Some(files) = tree.rows(key.space())? else { return Err(no_trails()) };
        let slots = files.collection.decode(&row.value)?;
        let contents = files.contents(&slots)?;
        let free = self.free.get(key);
        let before = match free {
            Some(_) => None,
            None => memory.known(key).cloned(),
        };
        let file = |path: Arc<str>, content: &Bytes| {
            let hash = hash_of(content);
            let mut files = before.iter().flat_map(|known| known.files());
            let known = files.find(|file| file.path == path);
            // A file that stays as it is need not be written.
            let same = known.filter(|file| file.hash == hash);
            RowFile { path, hash, stamp: same.and_then(|file| file.stamp) }
        };
        let path = |template: &PathTemplate| {
            let segments = tree.segments(files, key)?;
            template.path(tree.case, &segments, &slots).map(Arc::from)
        };
        let main = match free {
            Some(path) => path.clone(),
            None => path(&files.main)?,
        };
        let main = file(main, &contents.main);
        let fields = match (&files.fields, &contents.fields) {
            (Some(template), Some(content)) => Some(file(path(template)?, content)),
            _ => None,
        };
        let (version, expires) = (row.version, row.expires);
        let content = Content::Held(row.value);
        let known = Arc::new(Known { version, expires, main, fields, content });
        Ok(Drafted { known, contents, before })
    }

    /// Whether a file can be written where the row wants it.
    fn check_path(&self, memory: &Memory, disk: &dyn Disk, key: &Key, path: &str) -> Result<()> {
        let is_gone = |owner: &Key| matches!(self.rows.get(owner), Some(None));
        match memory.paths.owner(path) {
            Some(owner) if owner == key => return Ok(()),
            Some(owner) if !is_gone(owner) => {
                return Err(error::in_the_way(path, "the file of another row"));
            }
            _ => {}
        }
        if self.paths.owner(path).is_some_and(|owner| owner != key && !is_gone(owner)) {
            return Err(error::in_the_way(path, "the file of another row"));
        }
        if memory.paths.is_crossed(path) || self.paths.is_crossed(path) {
            return Err(error::in_the_way(path, "a directory, or a file instead of one"));
        }
        if self.free.get(key).is_some_and(|free| **free == *path) {
            return Ok(());
        }
        match disk.stamp(path) {
            Ok((Kind::File, _)) => Ok(()),
            Ok((Kind::Directory, _)) => Err(error::in_the_way(path, "a directory")),
            Ok((Kind::Link, _)) => Err(error::in_the_way(path, "a symbolic link")),
            Ok((Kind::Other, _)) => Err(error::in_the_way(path, "no file")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error::file(error, path)),
        }
    }

    /// What is to be journalled: every file that changes, with what it then holds.
    pub(super) fn group(&self, memory: &Memory) -> Result<Group> {
        let mut files = Vec::with_capacity(self.rows.len());
        let mut rows = Vec::with_capacity(self.rows.len());
        // A file one row leaves may be one that another takes.
        let mut left: HashMap<&str, FileChange> = HashMap::new();
        for (key, _) in self.rows.iter().filter(|(_, drafted)| drafted.is_none()) {
            for file in memory.known(key).into_iter().flat_map(|known| known.files()) {
                let (path, before, stamp) = (file.path.clone(), Some(file.hash), file.stamp);
                left.insert(&file.path, FileChange { path, before, after: None, stamp });
            }
        }
        for (key, drafted) in &self.rows {
            rows.push((key.clone(), drafted.as_ref().map(|drafted| drafted.known.clone())));
            let Some(drafted) = drafted else { continue };
            let contents = std::iter::once(&drafted.contents.main).chain(&drafted.contents.fields);
            for (file, content) in drafted.known.files().zip(contents) {
                if file.stamp.is_some() {
                    continue;
                }
                let mut before = drafted.before.iter().flat_map(|known| known.files());
                let before = before.find(|known| known.path == file.path);
                left.remove(&*file.path);
                files.push(FileChange {
                    path: file.path.clone(),
                    before: before.map(|known| known.hash),
                    after: Some(content.clone()),
                    stamp: before.and_then(|known| known.stamp),
                });
            }
        }
        files.extend(left.into_values());
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.index_files(memory, &mut files)?;
        Ok(Group { commits: self.commits.clone(), files, rows })
    }

    /// The files of indexes that change.
    fn index_files(&self, memory: &Memory, files: &mut Vec<FileChange>) -> Result<()> {
        let tree = &memory.tree;
        let mut touched: BTreeMap<String, Vec<&Key>> = BTreeMap::new();
        for key in self.entries.keys() {
            if let Some(index) = tree.index(key.space()) {
                touched.entry(index.path(tree.case, key)?).or_default().push(key);
            }
        }
        for (path, keys) in touched {
            let Some(index) = keys.first().and_then(|key| tree.index(key.space())) else {
                continue;
            };
            let mut entries: BTreeMap<&Key, &Row> = memory.entries_in(&path).collect();
            for key in keys {
                match self.entries.get(key) {
                    Some(Some(row)) => entries.insert(key, row),
                    _ => entries.remove(key),
                };
            }
            let after = match entries.is_empty() {
                true => None,
                false => Some(index.content(entries.into_iter())?),
            };
            files.push(FileChange { path: path.into(), before: None, after, stamp: None });
        }
        Ok(())
    }
}

/// Trails belong to the protocol over group-atomic stores.
fn no_trails() -> Error {
    Error::new(ErrorKind::Unsupported, "a tree of files keeps no trails of rows")
}

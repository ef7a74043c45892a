//! What somebody else did to the files while the store has them open: respected, or reported.
//!
//! ```text
//! changed, readable ─▶ a new version, its entries as it now says     immutable ─▶ damaged
//! gone              ─▶ the row is gone, and its entries              unreadable ─▶ damaged
//! new               ─▶ a row
//! ```
//!
//! A version made here is the hash of the files, so that everybody who looks finds the same one. A
//! damaged row answers with the reason until its files are put right. No file is changed here but
//! those of indexes, which follow from the rows.

use super::commit::Committer;
use super::content::{Contents, FILE_BYTES_MAX, RowFiles};
use super::disk::{Disk, Kind, Stamp};
use super::error;
use super::journal::FileChange;
use super::memory::{Memory, Slot};
use super::read::{is_gone, path_of_absent};
use super::row::{Content, Known, RowFile, hash_of};
use super::tree::Tree;
use bytes::Bytes;
use data::change::Entry;
use data::clock::Milliseconds;
use data::entries;
use data::store::{CommitId, Key, Row};
use data::{Result, Value};
use keyspace::model::{Content as Holds, Ttl};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The files of a row as they are on the disk.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) contents: Contents,
    pub(super) main: RowFile,
    pub(super) fields: Option<RowFile>,
}

/// Reads a file; nothing if there is none.
fn read_file(disk: &dyn Disk, path: &Arc<str>) -> Result<Option<(Bytes, Stamp)>> {
    // Somebody may have put anything there.
    if disk.stamp(path).is_ok_and(|(_, stamp)| stamp.bytes > FILE_BYTES_MAX) {
        return Err(error::unreadable(path, "it is larger than a row can be"));
    }
    match disk.read(path) {
        Ok((content, stamp)) => Ok(Some((Bytes::from(content), stamp))),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error::file(error, path)),
    }
}

impl Found {
    /// Reads the files of a row. Without its main file there is none; `fields` says where the
    /// second one is, and nothing is read there if it is missing.
    pub(super) fn read(
        disk: &dyn Disk,
        main: &Arc<str>,
        fields: Option<&Arc<str>>,
    ) -> Result<Option<Found>> {
        let Some((content, stamp)) = read_file(disk, main)? else { return Ok(None) };
        let file = |path: &Arc<str>, content: &Bytes, stamp| RowFile {
            path: path.clone(),
            hash: hash_of(content),
            stamp: Some(stamp),
        };
        let second = match fields {
            Some(path) => read_file(disk, path)?.map(|(content, stamp)| (path, content, stamp)),
            None => None,
        };
        Ok(Some(Found {
            main: file(main, &content, stamp),
            fields: second.as_ref().map(|(path, content, stamp)| file(path, content, *stamp)),
            contents: Contents { main: content, fields: second.map(|(_, content, _)| content) },
        }))
    }

    /// The version of a row that nobody committed.
    pub(super) fn version(&self) -> CommitId {
        let mut both = self.main.hash.to_vec();
        both.extend(self.fields.iter().flat_map(|file| file.hash));
        CommitId::from_bytes(hash_of(&both))
    }
}

/// A row as its files say it is.
pub(super) struct Adopted {
    pub(super) known: Known,
    pub(super) value: Bytes,
    pub(super) entries: Vec<Entry>,
}

/// What the files of a row say, or why they say nothing.
pub(super) fn adopted(
    tree: &Tree,
    files: &RowFiles,
    key: &Key,
    found: &Found,
    before: Option<&Known>,
) -> Result<Adopted> {
    let segments = tree.segments(files, key)?;
    if files.fields.is_some() && found.fields.is_none() {
        return Err(error::unreadable(&found.main.path, "the file with its fields is missing"));
    }
    let slots = files.slots(&found.contents, tree.schema.catalogue())?;
    let path = files.main.path(tree.case, &segments, &slots)?;
    if path != *found.main.path {
        return Err(error::unreadable(
            &found.main.path,
            "its name says other fields than it holds",
        ));
    }
    let collection = &files.collection;
    let entries = entries::entries(collection, &segments, &slots)?;
    let unchanged = before.filter(|known| known.hashes() == hashes(found));
    let value = match unchanged {
        Some(_) => files.encode(&slots)?,
        None => collection.encode(&slots)?,
    };
    let version = match unchanged {
        Some(known) => known.version,
        None => collection.mode.has_version().then(|| found.version()),
    };
    let expires = match (unchanged, &collection.model.ttl) {
        (Some(known), _) => known.expires,
        (None, Some(Ttl::Field(field))) => {
            let slot = collection.slot(field).and_then(|slot| slots.get(slot));
            match slot {
                Some(Value::Timestamp(at)) => Some(*at),
                _ => None,
            }
        }
        (None, _) => before.map_or_else(|| end_of_new(files, found), |known| known.expires),
    };
    let (main, fields) = (found.main.clone(), found.fields.clone());
    let known = Known { version, expires, main, fields, content: Content::Filed };
    Ok(Adopted { known, value, entries })
}

fn hashes(found: &Found) -> (super::row::Hash, Option<super::row::Hash>) {
    (found.main.hash, found.fields.as_ref().map(|file| file.hash))
}

/// When a row ends that somebody put there: so long after its file was written.
fn end_of_new(files: &RowFiles, found: &Found) -> Option<Milliseconds> {
    let model = &files.collection.model;
    let length = match (&model.ttl, &model.content) {
        (Some(Ttl::After(length)), _) => *length,
        (_, Holds::Window { per: Some(per), .. }) => *per,
        _ => return None,
    };
    let written = found.main.stamp.map_or(0, |stamp| stamp.modified / 1_000_000);
    let written = Milliseconds::try_from(written).ok()?;
    Some(written.saturating_add(i64::try_from(length).ok()?))
}

impl Committer {
    /// Takes in what somebody else did to the files of these rows.
    pub(super) fn adopt_all(&mut self, keys: &[Key]) -> Result<()> {
        // What is committed and not in the files yet is no edit.
        self.apply()?;
        keys.iter().try_for_each(|key| self.adopt(key))
    }

    /// Takes in what somebody else did to the files of a row.
    pub(super) fn adopt(&mut self, key: &Key) -> Result<()> {
        let shared = self.shared.clone();
        let (tree, before) = {
            let memory = shared.memory()?;
            (memory.tree.clone(), memory.known(key).cloned())
        };
        if before.as_ref().is_some_and(|known| matches!(known.content, Content::Held(_))) {
            return Ok(());
        }
        let Some(files) = tree.rows(key.space())? else { return Ok(()) };
        let Some((main, fields)) = self.paths(&tree, files, key, before.as_deref())? else {
            return Ok(());
        };
        let Some(found) = Found::read(shared.disk.as_ref(), &main, fields.as_ref())? else {
            return self.let_go(key);
        };
        let damage = |why: String| Known {
            content: Content::Damaged(why.into()),
            main: found.main.clone(),
            fields: found.fields.clone().or_else(|| before.as_ref()?.fields.clone()),
            version: before.as_ref().and_then(|known| known.version),
            expires: before.as_ref().and_then(|known| known.expires),
        };
        let known = adopted(&tree, files, key, &found, before.as_deref());
        let is_same = before.as_ref().is_some_and(|known| known.hashes() == hashes(&found));
        let is_fixed = files.collection.model.immutable && before.is_some() && !is_same;
        match known {
            Ok(known) if !is_fixed => self.take_in(key, known, before.is_some()),
            // A file that somebody put there and that says nothing is no row.
            Err(error) if before.is_none() => {
                shared.report(&main, format!("it is no row: {}", reason(&error)));
                Err(error::unreadable(&main, &reason(&error)))
            }
            known => {
                let why = known.err().map_or_else(
                    || "its rows are immutable, and it was changed".to_string(),
                    |error| reason(&error),
                );
                shared.report(&main, why.clone());
                // The hash stays that of what was committed: put right, the row is as it was.
                let mut damaged = damage(why);
                if let Some(before) = &before {
                    damaged.main.hash = before.main.hash;
                    if let (Some(now), Some(before)) = (&mut damaged.fields, &before.fields) {
                        now.hash = before.hash;
                    }
                }
                if let Some(known) = shared.change()?.known_mut(key) {
                    *known = Arc::new(damaged);
                }
                Ok(())
            }
        }
    }

    /// Where the files of a row are, or would be.
    #[allow(clippy::type_complexity, reason = "one path and perhaps another")]
    fn paths(
        &self,
        tree: &Tree,
        files: &RowFiles,
        key: &Key,
        before: Option<&Known>,
    ) -> Result<Option<(Arc<str>, Option<Arc<str>>)>> {
        if let Some(known) = before {
            let fields = known.fields.as_ref().map(|file| file.path.clone());
            return Ok(Some((known.main.path.clone(), fields)));
        }
        let Some(main) = path_of_absent(tree, key)? else { return Ok(None) };
        if !matches!(self.shared.disk.stamp(&main), Ok((Kind::File, _))) {
            return Ok(None);
        }
        let fields = match &files.fields {
            Some(template) if template.is_of_key() => {
                Some(template.path(tree.case, &tree.segments(files, key)?, &[])?.into())
            }
            _ => None,
        };
        Ok(Some((main.into(), fields)))
    }

    /// Makes a row what its files say.
    fn take_in(&mut self, key: &Key, row: Adopted, is_known: bool) -> Result<()> {
        let shared = self.shared.clone();
        let mut memory = shared.change()?;
        shared.cache.insert(key.clone(), row.known.hashes(), row.value);
        let held = match is_known {
            true => memory.entries_of(key)?,
            false => Vec::new(),
        };
        let mut files = BTreeSet::new();
        let kept: BTreeSet<&Key> = row.entries.iter().map(|entry| &entry.key).collect();
        for lost in held.iter().filter(|entry| !kept.contains(entry)) {
            note_file(&memory, lost, &mut files)?;
            memory.set_entry(lost.clone(), None)?;
        }
        let time = self.time;
        for entry in row.entries {
            note_file(&memory, &entry.key, &mut files)?;
            let at = (key, &row.known);
            if let Some(collision) = add_entry(&mut memory, at, entry, time)? {
                shared.report(&row.known.main.path, collision);
            }
        }
        let known = Arc::new(row.known);
        self.changed_rows.insert(key.clone(), Some(known.clone()));
        memory.set_row(key.clone(), Some(known));
        self.write_index_files(&memory, files)
    }

    /// Lets a row go whose file is gone.
    fn let_go(&mut self, key: &Key) -> Result<()> {
        let shared = self.shared.clone();
        let mut memory = shared.change()?;
        let Some(known) = memory.known(key).cloned() else { return Ok(()) };
        let mut files = BTreeSet::new();
        for entry in memory.entries_of(key)? {
            note_file(&memory, &entry, &mut files)?;
            memory.set_entry(entry, None)?;
        }
        memory.set_row(key.clone(), None);
        for file in known.files() {
            memory.has_left(&file.path);
        }
        self.changed_rows.insert(key.clone(), None);
        self.write_index_files(&memory, files)?;
        if let Some(fields) = &known.fields {
            let why = "the file it belongs to was removed";
            let aside = super::quarantine::set_aside(&shared, &fields.path, why, &mut self.touched);
            match aside {
                Err(error) if !is_gone(&error) => return Err(error::file(error, &fields.path)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets the files of indexes be written as the entries now are.
    fn write_index_files(&mut self, memory: &Memory, files: BTreeSet<(String, u16)>) -> Result<()> {
        for (path, space) in files {
            let Some(index) = memory.tree.index(space) else { continue };
            let mut entries = memory.entries_in(&path).peekable();
            let after = match entries.peek() {
                None => None,
                Some(_) => Some(index.content(entries)?),
            };
            let change = FileChange { path: path.into(), before: None, after, stamp: None };
            self.pending.add(vec![change]);
        }
        Ok(())
    }
}

/// The reason of an error, in one line.
pub(super) fn reason(error: &data::Error) -> String {
    let why = error.value("why").map_or_else(|| error.message().to_string(), str::to_string);
    let named = ["field", "member", "index"].iter().find_map(|name| error.value(name));
    match named {
        Some(named) => format!("{why} ({named})"),
        None => why,
    }
}

/// Notes the index file an entry is in.
fn note_file(memory: &Memory, entry: &Key, files: &mut BTreeSet<(String, u16)>) -> Result<()> {
    if let Some(index) = memory.tree.index(entry.space()) {
        files.insert((index.path(memory.tree.case, entry)?, entry.space()));
    }
    Ok(())
}

/// Adds an entry or a claim of a row. A claim that another row holds stays that row's unless it has
/// ended; what is then wrong is answered.
pub(super) fn add_entry(
    memory: &mut Memory,
    (key, known): (&Key, &Known),
    entry: Entry,
    time: Milliseconds,
) -> Result<Option<String>> {
    let Ok(data::schema::Space::Entries(collection, _)) =
        memory.tree.schema.space(entry.key.space())
    else {
        return Ok(None);
    };
    let index = collection.indexes.get(entry.index);
    let unique = index.filter(|index| index.model.unique);
    let version = known.version.filter(|_| unique.is_some());
    if let Some(index) = unique
        && let Some(Slot::Entry(held)) = memory.slot(&entry.key)
    {
        let (owner, _) = entries::split_claim(&held.value)?;
        // The later end wins: a claim is taken over only after its owner's.
        let end = |expires: Option<Milliseconds>| expires.unwrap_or(Milliseconds::MAX);
        let is_older = end(held.expires) >= end(known.expires);
        if owner != *key && (end(held.expires) > time || is_older) {
            let is_collision = end(held.expires) > time && end(known.expires) > time;
            let other = memory.known(&owner).map_or("another row", |other| &other.main.path);
            let what = format!(
                "its value in the unique index {} belongs to {other}; change one of them",
                index.name()
            );
            return Ok(is_collision.then_some(what));
        }
    }
    let row = Row { value: entry.value, version, expires: known.expires, trail: None };
    memory.set_entry(entry.key, Some(row))?;
    Ok(None)
}

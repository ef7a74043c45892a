//! Reads: rows by key and stretches of a range, from memory and from the files it names.
//!
//! ```text
//! memory, one look ─▶ in the cache: as the disk said they were? │ else: read, stamp and hash
//!                        └─ no: look again, while nobody can commit
//!                              └─ still no: somebody else changed them
//! ```
//!
//! A file may be replaced between the look and the read, by a commit: then the whole is looked at
//! again, so that what is answered was true at one instant. Nothing is changed here: a file that
//! somebody else changed is handed to the writer.

use super::content::{Contents, RowFiles};
use super::disk::{Disk, Kind};
use super::error;
use super::memory::{Memory, Slot, held, row_of};
use super::row::{Content, Known, RowFile, hash_of};
use super::shared::Shared;
use super::tree::Tree;
use bytes::Bytes;
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Row, Scan};
use std::io;
use std::ops::Bound;
use std::sync::Arc;

/// An answer, or the rows whose files somebody else changed.
#[derive(Debug)]
pub(super) enum Read<T> {
    Done(T),
    Changed(Vec<Key>),
}

/// The rows under these keys, in their order.
pub(super) fn get(shared: &Shared, keys: &[Key]) -> Result<Read<Vec<Option<Row>>>> {
    let (slots, tree) = {
        let memory = shared.memory()?;
        (look(&memory, keys), memory.tree.clone())
    };
    if let Read::Done(rows) = answer(shared, &tree, keys, slots, None)? {
        return Ok(Read::Done(rows));
    }
    let memory = shared.memory()?;
    let slots = look(&memory, keys);
    answer(shared, &memory.tree.clone(), keys, slots, Some(&memory))
}

fn look(memory: &Memory, keys: &[Key]) -> Vec<Option<Slot>> {
    keys.iter().map(|key| memory.slot(key).cloned()).collect()
}

fn answer(
    shared: &Shared,
    tree: &Tree,
    keys: &[Key],
    slots: Vec<Option<Slot>>,
    memory: Option<&Memory>,
) -> Result<Read<Vec<Option<Row>>>> {
    let mut rows = Vec::with_capacity(slots.len());
    let mut changed = Vec::new();
    for (key, slot) in keys.iter().zip(slots) {
        match slot {
            Some(Slot::Entry(row)) => rows.push(Some(row)),
            Some(Slot::Row(known)) => match row(shared, tree, key, &known)? {
                Some(row) => rows.push(Some(row)),
                None => changed.push(key.clone()),
            },
            None if is_dropped_in(shared, tree, key, memory)? => changed.push(key.clone()),
            None => rows.push(None),
        }
    }
    Ok(if changed.is_empty() { Read::Done(rows) } else { Read::Changed(changed) })
}

/// Whether a file lies where that of an absent row would: somebody may have put it there.
fn is_dropped_in(shared: &Shared, tree: &Tree, key: &Key, memory: Option<&Memory>) -> Result<bool> {
    let Some(path) = path_of_absent(tree, key)? else { return Ok(false) };
    let is_there = match shared.disk.stamp(&path) {
        Ok((kind, _)) => kind == Kind::File,
        Err(_) => false,
    };
    Ok(is_there && !memory.is_some_and(|memory| memory.is_leaving(&path)))
}

/// Where the file of a row would be, if its key alone tells.
pub(super) fn path_of_absent(tree: &Tree, key: &Key) -> Result<Option<String>> {
    match tree.rows(key.space())? {
        Some(files) if files.main.is_of_key() => {
            let segments = tree.segments(files, key)?;
            files.main.path(tree.case, &segments, &[]).map(Some)
        }
        _ => Ok(None),
    }
}

/// A stretch of one range.
pub(super) fn scan(shared: &Shared, scan: &Scan) -> Result<Read<Page>> {
    if scan.range.is_empty() {
        return Ok(Read::Done(Page { rows: Vec::new(), end: End::Range }));
    }
    let (found, tree) = {
        let memory = shared.memory()?;
        (stretch(&memory, scan), memory.tree.clone())
    };
    if let Read::Done(page) = page(shared, &tree, scan, found)? {
        return Ok(Read::Done(page));
    }
    let memory = shared.memory()?;
    page(shared, &memory.tree.clone(), scan, stretch(&memory, scan))
}

fn stretch(memory: &Memory, scan: &Scan) -> Vec<(Key, Slot)> {
    let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
        (Bound::Included(&scan.range.start), Bound::Excluded(&scan.range.end));
    let found = memory.slots.range::<[u8], _>(bounds);
    let copy = |(key, slot): (&Key, &Slot)| (key.clone(), slot.clone());
    match scan.reverse {
        false => found.take(scan.rows).map(copy).collect(),
        true => found.rev().take(scan.rows).map(copy).collect(),
    }
}

fn page(shared: &Shared, tree: &Tree, scan: &Scan, found: Vec<(Key, Slot)>) -> Result<Read<Page>> {
    let is_full = found.len() == scan.rows;
    let mut rows = Vec::with_capacity(found.len());
    let mut changed = Vec::new();
    let mut bytes = 0;
    for (key, slot) in found {
        let row = match slot {
            Slot::Entry(row) => row,
            Slot::Row(known) => match row(shared, tree, &key, &known)? {
                Some(row) => row,
                None => {
                    changed.push(key);
                    continue;
                }
            },
        };
        bytes += key.bytes().len() + row.weight();
        rows.push(Keyed { key, row });
        if bytes >= PAGE_BYTES_MAX && rows.len() < scan.rows && changed.is_empty() {
            return Ok(Read::Done(Page { rows, end: End::Bytes }));
        }
    }
    if !changed.is_empty() {
        return Ok(Read::Changed(changed));
    }
    let end = if is_full { End::Rows } else { End::Range };
    Ok(Read::Done(Page { rows, end }))
}

/// A row with its content; nothing if its files are not as they were.
pub(super) fn row(
    shared: &Shared,
    tree: &Tree,
    key: &Key,
    known: &Arc<Known>,
) -> Result<Option<Row>> {
    if let Some(row) = held(known) {
        return Ok(Some(row));
    }
    let disk = shared.disk.as_ref();
    if let Content::Damaged(why) = &known.content {
        // It may have been put right.
        return match is_unchanged(disk, known)? {
            true => Err(error::unreadable(&known.main.path, why)),
            false => Ok(None),
        };
    }
    let value = match shared.cache.get(key, known.hashes()) {
        Some(value) => is_unchanged(disk, known)?.then_some(value),
        None => value(shared, tree, key, known)?,
    };
    Ok(value.map(|value| row_of(known, value)))
}

/// Whether the disk says of a row's files what it said when they were known.
pub(super) fn is_unchanged(disk: &dyn Disk, known: &Known) -> Result<bool> {
    for file in known.files() {
        match disk.stamp(&file.path) {
            Ok((Kind::File, stamp)) if file.stamp == Some(stamp) => {}
            Ok(_) => return Ok(false),
            Err(error) if is_gone(&error) => return Ok(false),
            Err(error) => return Err(error::file(error, &file.path)),
        }
    }
    Ok(true)
}

/// Whether an error says that nothing lies under a path.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The encoded content of a row, read from its files; nothing if they are not as they were.
fn value(shared: &Shared, tree: &Tree, key: &Key, known: &Known) -> Result<Option<Bytes>> {
    let Some(files) = tree.rows(key.space())? else { return Ok(None) };
    let Some(contents) = contents(shared.disk.as_ref(), known)? else { return Ok(None) };
    let value =
        encode(tree, files, &contents).map_err(|error| error.with("file", &known.main.path))?;
    shared.cache.insert(key.clone(), known.hashes(), value.clone());
    Ok(Some(value))
}

/// The encoded content that files say.
pub(super) fn encode(tree: &Tree, files: &RowFiles, contents: &Contents) -> Result<Bytes> {
    let slots = files.slots(contents, tree.schema.catalogue())?;
    files.encode(&slots)
}

/// The content of a row's files; nothing if one is gone or not as it was. What the disk says is
/// asked of the open file, so that no other can take its place in between.
fn contents(disk: &dyn Disk, known: &Known) -> Result<Option<Contents>> {
    let read = |file: &RowFile| {
        let Some(stamp) = file.stamp else { return Ok(None) };
        match disk.read_if(&file.path, stamp) {
            Ok(content) => Ok(content.filter(|c| hash_of(c) == file.hash).map(Bytes::from)),
            Err(error) if is_gone(&error) || is_no_file(&error) => Ok(None),
            Err(error) => Err(error::file(error, &file.path)),
        }
    };
    let Some(main) = read(&known.main)? else { return Ok(None) };
    let fields = match &known.fields {
        None => None,
        Some(file) => match read(file)? {
            None => return Ok(None),
            fields => fields,
        },
    };
    Ok(Some(Contents { main, fields }))
}

/// Whether an error says that something else than a file lies under a path.
fn is_no_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::IsADirectory || error::is_link(error)
}

/// Why a row cannot be read, if it cannot.
pub(super) fn damage(shared: &Shared, key: &Key) -> Option<data::Error> {
    let memory = shared.memory().ok()?;
    match memory.known(key).map(|known| (&known.main.path, &known.content)) {
        Some((path, Content::Damaged(why))) => Some(error::unreadable(path, why)),
        _ => None,
    }
}

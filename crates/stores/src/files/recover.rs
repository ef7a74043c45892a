//! What a crash left is put right: every committed batch whole, nothing of any other.
//!
//! ```text
//! remove .keyway/new-* ─▶ read rows ─▶ read journals ─▶ files as they say ─▶ checkpoint
//! ```
//!
//! Doing it again changes nothing. A file that holds neither what a batch wrote nor what was there
//! before is half of a write that the power cut, or somebody's edit after the crash: it is set
//! aside, and what was committed is written.

use super::checkpoint::{Job, Touched};
use super::disk::{Disk, Kind};
use super::error;
use super::frame;
use super::journal::{self, Group, Journal};
use super::place::{NEW, clear, place};
use super::quarantine;
use super::read::is_gone;
use super::row::{Hash, hash_of};
use super::rows::{self, Checkpoint, Kept, Rows};
use super::shared::Shared;
use bytes::Bytes;
use data::Result;
use keyspace::layout::files::OWN_DIRECTORY;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;

/// A store that is as it should be.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) kept: Kept,
    pub(super) rows: Rows,
    pub(super) journal: Journal,
}

/// Makes what a new tree needs.
pub(super) fn make(disk: &dyn Disk) -> Result<()> {
    let made = (|| {
        for (name, kind) in disk.list(OWN_DIRECTORY)? {
            // What an attempt that was cut off left; nothing was committed.
            if kind == Kind::File && name != "lock" {
                disk.remove(&format!("{OWN_DIRECTORY}/{name}"))?;
            }
        }
        Journal::begin(disk, 1, 0)?;
        let mut kept = Kept::default();
        kept.journal = 1;
        Rows::write(disk, &kept)?;
        disk.sync_directory("")
    })();
    made.map_err(|error| error::file(error, OWN_DIRECTORY))
}

/// Puts right what a crash left.
pub(super) fn recover(shared: &Shared) -> Result<Recovered> {
    let disk = shared.disk.as_ref();
    let own = |error| error::file(error, OWN_DIRECTORY);
    let names = disk.list(OWN_DIRECTORY).map_err(own)?;
    for (name, _) in names.iter().filter(|(name, _)| name.starts_with(NEW)) {
        disk.remove(&format!("{OWN_DIRECTORY}/{name}")).map_err(own)?;
    }
    let kept = rows::read(disk)?;
    let (mut kept, is_torn) = kept.ok_or_else(|| error::damaged(rows::PATH))?;
    let mut numbers: Vec<u64> =
        names.iter().filter_map(|(name, _)| journal::number_of(name)).collect();
    numbers.sort_unstable();
    let (done, open): (Vec<u64>, Vec<u64>) =
        numbers.into_iter().partition(|number| *number < kept.journal);
    let read = read_journals(disk, &kept, &open)?;
    for number in done {
        disk.remove(&journal::path_of(number)).map_err(own)?;
    }
    if read.groups.is_empty() && !read.is_torn && !is_torn && open.len() == 1 {
        let journal = Journal::begin(disk, kept.journal, kept.last).map_err(own)?;
        let rows = Rows::open(disk, &kept).map_err(own)?;
        return Ok(Recovered { kept, rows, journal });
    }
    let mut rows = match is_torn {
        true => Rows::write(disk, &kept).map_err(own)?,
        false => Rows::open(disk, &kept).map_err(own)?,
    };
    let touched = redo(shared, &read.groups)?;
    let last = kept.last + read.groups.len() as u64;
    let next = open.last().copied().unwrap_or(kept.journal) + 1;
    let journal = Journal::begin(disk, next, last).map_err(own)?;
    let checkpoint = checkpoint(&mut kept, read.groups, (next, last));
    let job = Job { touched, checkpoint, journals: open };
    job.run(disk, &mut rows).map_err(own)?;
    Ok(Recovered { kept, rows, journal })
}

/// What the journals say that are still to be done.
struct Read {
    groups: Vec<Group>,
    /// Whether the last one ends with something that was never finished.
    is_torn: bool,
}

fn read_journals(disk: &dyn Disk, kept: &Kept, numbers: &[u64]) -> Result<Read> {
    let mut groups = Vec::new();
    let mut is_torn = false;
    for (place, expected) in (kept.journal..).take(numbers.len().max(1)).enumerate() {
        let path = journal::path_of(expected);
        let content = match disk.read(&path) {
            Ok((content, _)) => Bytes::from(content),
            Err(error) if is_gone(&error) => {
                return Err(error::damaged(&path).with("why", "it is missing"));
            }
            Err(error) => return Err(error::file(error, &path)),
        };
        let first = kept.last + 1 + groups.len() as u64;
        let damaged = |offset: usize| error::damaged(&path).with("offset", offset);
        let frames = frame::decode(&content, first).map_err(|damage| damaged(damage.offset))?;
        is_torn = frames.is_torn;
        // The next journal was begun when this one was synced.
        if is_torn && place + 1 < numbers.len() {
            let whole: usize = frames.frames.iter().map(frame::Frame::bytes).sum();
            return Err(damaged(whole));
        }
        for frame in frames.frames {
            let group = Group::decode(frame.payload);
            groups.push(group.ok_or_else(|| damaged(0).with("frame", frame.number))?);
        }
    }
    Ok(Read { groups, is_torn })
}

/// Makes every file what the last group says of it.
fn redo(shared: &Shared, groups: &[Group]) -> Result<Touched> {
    let disk = shared.disk.as_ref();
    let mut files: BTreeMap<Arc<str>, Option<Bytes>> = BTreeMap::new();
    let mut known: HashSet<(Arc<str>, Hash)> = HashSet::new();
    let mut is_row: HashSet<Arc<str>> = HashSet::new();
    for group in groups {
        for (_, row) in &group.rows {
            is_row.extend(row.iter().flat_map(|row| row.files()).map(|file| file.path.clone()));
        }
        for file in &group.files {
            known.extend(file.before.map(|hash| (file.path.clone(), hash)));
            known.extend(file.after.iter().map(|after| (file.path.clone(), hash_of(after))));
            files.insert(file.path.clone(), file.after.clone());
        }
    }
    let mut touched = Touched::default();
    for (path, after) in files {
        let found = match disk.read(&path) {
            Ok((content, _)) => Some(hash_of(&content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error::file(error, &path)),
        };
        let failed = |error| error::file(error, &path);
        let is_foreign = found.is_some_and(|hash| !known.contains(&(path.clone(), hash)));
        if is_foreign && is_row.contains(&path) {
            let why = "it held neither what was committed nor what was there before";
            quarantine::set_aside(shared, &path, why, &mut touched).map_err(failed)?;
        }
        match after {
            Some(after) if found == Some(hash_of(&after)) => {
                touched.files.insert(path.clone());
                touched.directories.insert(super::disk::parent(&path).to_string());
            }
            Some(after) => {
                place(disk, &path, &after, &mut touched).map_err(failed)?;
            }
            None => clear(disk, &path, &mut touched).map_err(failed)?,
        }
    }
    Ok(touched)
}

fn checkpoint(kept: &mut Kept, groups: Vec<Group>, (next, last): (u64, u64)) -> Checkpoint {
    let mut checkpoint =
        Checkpoint { journal: next, last, time: kept.time, ..Checkpoint::default() };
    for group in groups {
        checkpoint.time =
            group.commits.iter().map(|commit| commit.now).fold(checkpoint.time, i64::max);
        checkpoint.commits.extend(group.commits);
        checkpoint.rows.extend(group.rows);
    }
    kept.take(checkpoint.clone());
    checkpoint
}

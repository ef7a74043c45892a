//! A look at the engine's journal before the engine does.
//!
//! ```text
//! *.jnl ─▶ whole batches, in order ─▶ the number of the last commit ≥ witness?  else refused
//!              └─ then nothing, or zeros: as it should be
//!              └─ then a batch that was cut off: removed, as nobody was told of it
//!              └─ then a broken batch and whole ones behind it: damage
//! ```
//!
//! The engine reads until something is not as it expects and removes the rest from the file, so
//! that after damage in the middle nothing is left to be saved. Some batches that a crash cut off
//! it refuses altogether. And the number by which it orders batches has no checksum: a changed one
//! hides rows. So the store looks first, changes nothing unless it is sure, and refuses while
//! everything is still there.
//!
//! ```text
//! batch   01 │ items 4 │ order 8 ┊ items ┊ 03 │ xxh3 of the items 8 │ "FJL" 03
//! item    02 │ type 1 │ compression 1 │ table 8 │ lengths: key 2, value 4, stored 4 │ key │ value
//!         04 │ table 8
//! ```
//!
//! Numbers are little-endian. This is format 3 of the engine, which its 3.1 releases write.

use super::error::file as file_error;
use super::layout;
use super::witness::Witness;
use data::{Error, ErrorKind, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3Default;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const TRAILER: [u8; 4] = *b"FJL\x03";

/// How far behind the last whole batch something else is looked for. No batch is longer.
const REST_BYTES: u64 = 16 << 20;
/// Orders from here on are never given.
const ORDER_MAX: u64 = 1 << 62;

/// What the journals hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Journals {
    /// The number of the last commit, if there is any.
    sequence: Option<u64>,
    /// The order of the last batch.
    order: Option<u64>,
}

/// What lies behind the whole batches of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Nothing, or zeros that wait to be written.
    Nothing,
    /// A part of a batch.
    Part,
    /// Something broken, with whole batches behind it; the first number of a commit in those.
    Batches(Option<u64>),
}

/// A whole batch.
struct Batch {
    bytes: u64,
    order: u64,
    sequence: Option<u64>,
}

impl Batch {
    /// Whether it can come after what was found. The engine gives orders that only grow.
    fn follows(&self, found: &Journals) -> bool {
        found.order.is_none_or(|order| self.order > order) && self.order < ORDER_MAX
    }
}

/// Checks the journals in the engine's folder against the witness, and removes what was cut off.
pub(super) fn check(engine: &Path, witness: &Witness) -> Result<()> {
    let paths = journals(engine)?;
    let mut found = Journals::default();
    let mut ends = Vec::new();
    for path in &paths {
        let (end, rest) = walk(path, &mut found).map_err(|error| file_error(error, path))?;
        ends.push((path, end, rest));
    }
    if let Some(sequence) = found.sequence {
        witness.vouch("journal", sequence, witness.sequence())?;
    }
    let active = ends.pop();
    for (path, end, rest) in ends {
        // A journal is synced before the next one is begun.
        if rest != Rest::Nothing && witness.sequence() > 0 {
            return Err(damaged(path, end));
        }
    }
    match active {
        Some((path, end, Rest::Batches(_))) if witness.is_every_commit_synced() => {
            Err(damaged(path, end))
        }
        // What lies before a number that is witnessed was synced with it.
        Some((path, end, Rest::Batches(Some(number)))) if number <= witness.sequence() => {
            Err(damaged(path, end))
        }
        Some((path, end, Rest::Part | Rest::Batches(_))) => {
            cut(path, end).map_err(|error| file_error(error, path))
        }
        Some((_, _, Rest::Nothing)) | None => Ok(()),
    }
}

/// Lets the disk have most of what the journal holds, without keeping anybody from adding to it as
/// the engine's own sync does. It promises nothing: only that sync does, which is then short.
pub(super) fn write_back(engine: &Path) {
    let newest = journals(engine).ok().and_then(|paths| paths.into_iter().next_back());
    if let Some(file) = newest.and_then(|path| File::open(path).ok()) {
        // What fails here fails again when the engine syncs, which then says so.
        let _ = file.sync_data();
    }
}

fn damaged(path: &Path, end: u64) -> Error {
    let message = "the journal is damaged in the middle, and nothing was changed; restore the \
                   folder from a copy, or remove the witness to go on without what follows";
    Error::new(ErrorKind::Corrupt, message)
        .with("file", path.display())
        .with("whole up to byte", end)
}

/// The engine's journals, oldest first.
fn journals(engine: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(engine) {
        Ok(entries) => entries,
        Err(error) if error.kind() == IoKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file_error(error, engine)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| file_error(error, engine))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(number) = name.strip_suffix(".jnl").and_then(|name| name.parse::<u64>().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Reads a journal: where its whole batches end, and what lies behind them.
fn walk(path: &Path, found: &mut Journals) -> io::Result<(u64, Rest)> {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(path)?);
    let mut end = 0;
    let understood = loop {
        match read_batch(&mut reader)? {
            Ok(batch) if batch.follows(found) => {
                end += batch.bytes;
                found.order = Some(batch.order);
                found.sequence = batch.sequence.or(found.sequence);
            }
            Ok(batch) => break batch.bytes,
            Err(understood) => break understood,
        }
    };
    let mut file = reader.into_inner();
    file.seek(SeekFrom::Start(end))?;
    let mut rest = Vec::new();
    file.take(REST_BYTES).read_to_end(&mut rest)?;
    Ok((end, rest_of(&rest, understood)?))
}

/// What the bytes behind the last whole batch are. So many of them could be read as items; what
/// looks like a batch in there is somebody's value.
fn rest_of(rest: &[u8], understood: u64) -> io::Result<Rest> {
    let zeros = [0; 4 << 10];
    if rest.chunks(zeros.len()).all(|chunk| zeros.starts_with(chunk)) {
        return Ok(Rest::Nothing);
    }
    // A batch begins behind the end of another: of the broken one, or of one behind that.
    let from = usize::try_from(understood).unwrap_or(usize::MAX).saturating_sub(TRAILER.len());
    let searched = rest.get(from..).unwrap_or_default();
    let mut found = Rest::Part;
    for (place, window) in searched.array_windows().enumerate() {
        if *window == TRAILER
            && let Some(mut behind) = searched.get(place + TRAILER.len()..)
            && let Ok(batch) = read_batch(&mut behind)?
        {
            found = Rest::Batches(batch.sequence);
            if batch.sequence.is_some() {
                break;
            }
        }
    }
    Ok(found)
}

/// Removes what lies behind the whole batches.
fn cut(path: &Path, end: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(end)?;
    file.sync_all()
}

/// The next batch, or, if it is not whole, how many bytes of it are as they should be.
fn read_batch(reader: &mut impl Read) -> io::Result<Result<Batch, u64>> {
    let mut parts = Parts { reader, hash: Xxh3Default::new(), bytes: 0 };
    match parts.batch() {
        Ok(Some(batch)) => Ok(Ok(batch)),
        Ok(None) => Ok(Err(parts.bytes)),
        Err(error) if error.kind() == IoKind::UnexpectedEof => Ok(Err(parts.bytes)),
        Err(error) => Err(error),
    }
}

/// What a batch is read with.
struct Parts<'r, R> {
    reader: &'r mut R,
    /// Of the items so far.
    hash: Xxh3Default,
    bytes: u64,
}

impl<R: Read> Parts<'_, R> {
    fn batch(&mut self) -> io::Result<Option<Batch>> {
        if self.take()? != [START] {
            return Ok(None);
        }
        let items = u32::from_le_bytes(self.take()?);
        let order = u64::from_le_bytes(self.take()?);
        self.hash.reset();
        let mut sequence = None;
        for _ in 0..items {
            match self.take()? {
                [ITEM] => match self.item()? {
                    Some(found) => sequence = found.or(sequence),
                    None => return Ok(None),
                },
                [CLEAR] => drop(self.take::<8>()?),
                _ => return Ok(None),
            }
        }
        let hash = self.hash.digest();
        let is_whole = self.take()? == [END]
            && u64::from_le_bytes(self.take()?) == hash
            && self.take()? == TRAILER;
        Ok(is_whole.then_some(Batch { bytes: self.bytes, order, sequence }))
    }

    /// An item; of the number of the last commit, that number. None if it is no item.
    fn item(&mut self) -> io::Result<Option<Option<u64>>> {
        let [kind, compression] = self.take()?;
        let _table: [u8; 8] = self.take()?;
        let key_bytes = u16::from_le_bytes(self.take()?);
        let value_bytes = u32::from_le_bytes(self.take()?);
        let stored_bytes = u32::from_le_bytes(self.take()?);
        if kind > 2 || compression > 1 || (compression == 0 && value_bytes != stored_bytes) {
            return Ok(None);
        }
        if usize::from(key_bytes) == layout::SEQUENCE.len() {
            let is_sequence = self.take()? == layout::SEQUENCE && kind == 0 && stored_bytes == 8;
            if is_sequence {
                return Ok(Some(Some(u64::from_be_bytes(self.take()?))));
            }
        } else {
            self.pass(u64::from(key_bytes))?;
        }
        self.pass(u64::from(stored_bytes))?;
        Ok(Some(None))
    }

    /// Some bytes.
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut taken = [0; N];
        self.reader.read_exact(&mut taken)?;
        self.hash.update(&taken);
        self.bytes += N as u64;
        Ok(taken)
    }

    /// Passes over bytes without holding them: damage can make any length of a length.
    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        let mut buffer = [0; 4 << 10];
        let mut left = bytes;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
            let part = buffer.get_mut(..most).unwrap_or_default();
            self.reader.read_exact(part)?;
            self.hash.update(part);
            left -= part.len() as u64;
        }
        self.bytes += bytes;
        Ok(())
    }
}

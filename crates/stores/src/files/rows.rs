//! `.keyway/rows`: what is known of every row, as of the last checkpoint.
//!
//! ```text
//! frame │ frame │ frame …      each: next journal │ last frame of the journals │ time
//!                                    batches committed │ rows that changed since
//! ```
//!
//! A checkpoint adds a frame; when most of what they say is old, the file is written anew. The last
//! frame says which journal must still be done: what is before it is in the files.

use super::disk::{Disk, Log};
use super::error;
use super::frame::{self, Frames};
use super::row::{
    Committed, Known, get_committed, get_many, get_row, put_committed, put_count, put_row,
};
use bytes::{Buf, BufMut, Bytes};
use data::Result;
use data::clock::Milliseconds;
use data::store::Key;
use keyspace::layout::files::OWN_DIRECTORY;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Its path.
pub(super) const PATH: &str = ".keyway/rows";
/// The name under which it is written anew.
const NEW: &str = ".keyway/new-rows";
/// A file smaller than this is never written anew.
const COMPACT_BYTES_MIN: usize = 1 << 20;

/// What one frame says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The first journal that is still to be done.
    pub(super) journal: u64,
    /// The last frame of the journals before it.
    pub(super) last: u64,
    /// The latest time any batch brought.
    pub(super) time: Milliseconds,
    pub(super) commits: Vec<Committed>,
    pub(super) rows: Vec<(Key, Option<Arc<Known>>)>,
}

impl Checkpoint {
    fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(256 + self.rows.len() * 128);
        payload.put_u64(self.journal);
        payload.put_u64(self.last);
        payload.put_i64(self.time);
        put_count(&mut payload, self.commits.len());
        self.commits.iter().for_each(|commit| put_committed(&mut payload, commit));
        put_count(&mut payload, self.rows.len());
        self.rows.iter().for_each(|(key, known)| put_row(&mut payload, key, known.as_deref()));
        payload
    }

    fn decode(mut payload: Bytes) -> Option<Checkpoint> {
        let journal = payload.try_get_u64().ok()?;
        let last = payload.try_get_u64().ok()?;
        let time = payload.try_get_i64().ok()?;
        let commits = get_many(&mut payload, get_committed)?;
        let rows = get_many(&mut payload, get_row)?;
        payload.is_empty().then_some(Checkpoint { journal, last, time, commits, rows })
    }
}

/// What all frames come to.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) journal: u64,
    pub(super) last: u64,
    pub(super) time: Milliseconds,
    pub(super) commits: Vec<Committed>,
    pub(super) rows: BTreeMap<Key, Arc<Known>>,
    /// The number of the last frame, and the bytes of all.
    frame: u64,
    bytes: usize,
}

impl Kept {
    /// Takes in what a frame says.
    pub(super) fn take(&mut self, checkpoint: Checkpoint) {
        (self.journal, self.last) = (checkpoint.journal, checkpoint.last);
        self.time = self.time.max(checkpoint.time);
        self.commits.extend(checkpoint.commits);
        self.take_rows(checkpoint.rows);
    }

    /// Takes in rows that changed.
    pub(super) fn take_rows(&mut self, rows: Vec<(Key, Option<Arc<Known>>)>) {
        for (key, known) in rows {
            match known {
                Some(known) => self.rows.insert(key, known),
                None => self.rows.remove(&key),
            };
        }
    }

    fn checkpoint(&self) -> Checkpoint {
        let rows = self.rows.iter().map(|(key, known)| (key.clone(), Some(known.clone())));
        Checkpoint {
            journal: self.journal,
            last: self.last,
            time: self.time,
            commits: self.commits.clone(),
            rows: rows.collect(),
        }
    }
}

/// The file, open.
#[derive(Debug)]
pub(super) struct Rows {
    log: Box<dyn Log>,
    /// The number of the last frame.
    last: u64,
    bytes: usize,
    /// Bytes of the frame that said everything.
    bytes_whole: usize,
}

/// Reads the file, and says whether its last frame was never finished; nothing if there is none.
pub(super) fn read(disk: &dyn Disk) -> Result<Option<(Kept, bool)>> {
    let content = match disk.read(PATH) {
        Ok((content, _)) => Bytes::from(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error::file(error, PATH)),
    };
    let Frames { frames, is_torn } = frame::decode(&content, 1)
        .map_err(|damage| error::damaged(PATH).with("offset", damage.offset))?;
    let mut kept = Kept::default();
    if frames.is_empty() {
        return Err(error::damaged(PATH).with("offset", 0));
    }
    for frame in frames {
        kept.bytes += frame.bytes();
        kept.frame = frame.number;
        let checkpoint = Checkpoint::decode(frame.payload);
        kept.take(checkpoint.ok_or_else(|| error::damaged(PATH).with("frame", frame.number))?);
    }
    Ok(Some((kept, is_torn)))
}

impl Rows {
    /// Writes the file anew with everything that is known, and opens it.
    pub(super) fn write(disk: &dyn Disk, kept: &Kept) -> io::Result<Rows> {
        Rows::write_checkpoint(disk, &kept.checkpoint())
    }

    /// Opens the file as it was read.
    pub(super) fn open(disk: &dyn Disk, kept: &Kept) -> io::Result<Rows> {
        let log = disk.log(PATH)?;
        Ok(Rows { log, last: kept.frame, bytes: kept.bytes, bytes_whole: kept.bytes / 3 })
    }

    fn write_checkpoint(disk: &dyn Disk, whole: &Checkpoint) -> io::Result<Rows> {
        let frame = frame::encode(1, 0, &whole.encode());
        match disk.remove(NEW) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        disk.write(NEW, &frame)?;
        disk.sync(NEW)?;
        disk.rename(NEW, PATH)?;
        disk.sync_directory(OWN_DIRECTORY)?;
        let log = disk.log(PATH)?;
        Ok(Rows { log, last: 1, bytes: frame.len(), bytes_whole: frame.len() })
    }

    /// Adds a checkpoint; it is durable then.
    pub(super) fn add(&mut self, checkpoint: &Checkpoint) -> io::Result<()> {
        let frame = frame::encode(self.last + 1, self.last, &checkpoint.encode());
        self.log.put(self.bytes, &frame)?;
        self.log.sync()?;
        self.last += 1;
        self.bytes += frame.len();
        Ok(())
    }

    /// Whether most of what the file says is old.
    pub(super) fn is_large(&self) -> bool {
        self.bytes > COMPACT_BYTES_MIN.max(3 * self.bytes_whole)
    }
}

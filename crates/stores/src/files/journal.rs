//! The journal: every group of batches, with all it does to the files, before anything is done.
//!
//! ```text
//! .keyway/journal-000017   frame │ frame │ frame … │ zeros
//! payload                  batches with their totals │ files with what is in them now │ rows
//! ```
//!
//! A group is one frame, so that a power cut leaves all of it or nothing. Doing again what a frame
//! says changes nothing that is done already. Nothing here decides what is committed.
//!
//! Room is made ahead, as zeros: to sync what is written over them, the disk need not note how long
//! the file is, nor wait for whoever gives names to other files meanwhile.

use super::disk::{Disk, Log, Stamp};
use super::frame;
use super::row::{
    Committed, Hash, Known, get_array, get_bytes, get_committed, get_many, get_row, get_text,
    put_bytes, put_committed, put_count, put_row,
};
use bytes::{Buf, BufMut, Bytes};
use data::store::Key;
use keyspace::layout::files::OWN_DIRECTORY;
use std::io;
use std::sync::Arc;

/// What the names of journals begin with.
pub(super) const PREFIX: &str = "journal-";
/// Bytes of room that are made at once: as much as there is, but no less and no more than this.
const ROOM_BYTES_MIN: usize = 4 << 10;
const ROOM_BYTES_MAX: usize = 1 << 20;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: Arc<str>,
    /// What it held before, as far as the store knew.
    pub(super) before: Option<Hash>,
    /// What it holds now; nothing where it is gone.
    pub(super) after: Option<Bytes>,
    /// What the disk said of it before, if it is a row's; not journalled.
    pub(super) stamp: Option<Stamp>,
}

/// A group of batches, and what they come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) commits: Vec<Committed>,
    pub(super) files: Vec<FileChange>,
    pub(super) rows: Vec<(Key, Option<Arc<Known>>)>,
}

impl Group {
    /// Its payload.
    pub(super) fn encode(&self) -> Vec<u8> {
        let content = self.files.iter().filter_map(|file| file.after.as_ref()).map(Bytes::len);
        let mut payload = Vec::with_capacity(256 + content.sum::<usize>());
        put_count(&mut payload, self.commits.len());
        self.commits.iter().for_each(|commit| put_committed(&mut payload, commit));
        put_count(&mut payload, self.files.len());
        for file in &self.files {
            put_bytes(&mut payload, file.path.as_bytes());
            payload.put_u8(u8::from(file.before.is_some()) | u8::from(file.after.is_some()) << 1);
            payload.extend_from_slice(&file.before.unwrap_or_default());
            put_bytes(&mut payload, file.after.as_deref().unwrap_or_default());
        }
        put_count(&mut payload, self.rows.len());
        self.rows.iter().for_each(|(key, known)| put_row(&mut payload, key, known.as_deref()));
        payload
    }

    /// The group of a payload; nothing if it is none.
    pub(super) fn decode(mut payload: Bytes) -> Option<Group> {
        let commits = get_many(&mut payload, get_committed)?;
        let files = get_many(&mut payload, |payload| {
            let path = get_text(payload)?;
            let flags = payload.try_get_u8().ok()?;
            let before = get_array(payload)?;
            let after = get_bytes(payload)?;
            let before = (flags & 1 != 0).then_some(before);
            let after = (flags & 2 != 0).then_some(after);
            Some(FileChange { path, before, after, stamp: None })
        })?;
        let rows = get_many(&mut payload, get_row)?;
        payload.is_empty().then_some(Group { commits, files, rows })
    }
}

/// The journal that is written to.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) number: u64,
    log: Box<dyn Log>,
    /// The number of the last frame.
    pub(super) last: u64,
    /// The number of the last frame the disk holds for certain.
    pub(super) synced: u64,
    /// Frames that were not handed to the disk yet.
    buffer: Vec<u8>,
    /// Bytes of the frames that were.
    handed: usize,
    /// Bytes of the file, with the room behind them.
    room: usize,
    /// Bytes of all frames.
    pub(super) bytes: usize,
    /// Batches in them.
    pub(super) batches: usize,
}

impl Journal {
    /// Begins a journal whose first frame follows the one with the number `last`. It is durable, as
    /// far as an empty file can be.
    pub(super) fn begin(disk: &dyn Disk, number: u64, last: u64) -> io::Result<Journal> {
        let mut log = disk.log(&path_of(number))?;
        log.sync()?;
        disk.sync_directory(OWN_DIRECTORY)?;
        let (buffer, synced) = (Vec::new(), last);
        Ok(Journal { number, log, last, synced, buffer, handed: 0, room: 0, bytes: 0, batches: 0 })
    }

    /// Adds a group; it is handed to nobody yet.
    pub(super) fn add(&mut self, payload: &[u8], batches: usize) {
        self.last += 1;
        let frame = frame::encode(self.last, self.synced, payload);
        self.bytes += frame.len();
        self.batches += batches;
        match self.buffer.is_empty() {
            true => self.buffer = frame,
            false => self.buffer.extend_from_slice(&frame),
        }
    }

    /// Hands everything to the disk, from where a killed process cannot take it back.
    pub(super) fn hand_over(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut frames = std::mem::take(&mut self.buffer);
        let (from, end) = (self.handed, self.handed + frames.len());
        if end > self.room {
            self.room = end + end.clamp(ROOM_BYTES_MIN, ROOM_BYTES_MAX);
            frames.resize(self.room - from, 0);
        }
        self.handed = end;
        self.log.put(from, &frames)
    }

    /// A second hand on the journal, with which another thread can make durable what was added so
    /// far; none if it is durable already.
    pub(super) fn unsynced(&mut self) -> io::Result<Option<Box<dyn Log>>> {
        self.hand_over()?;
        match self.synced < self.last {
            true => self.log.again().map(Some),
            false => Ok(None),
        }
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.hand_over()?;
        if self.synced < self.last {
            self.log.sync()?;
            self.synced = self.last;
        }
        Ok(())
    }
}

/// Where a journal is.
pub(super) fn path_of(number: u64) -> String {
    format!("{OWN_DIRECTORY}/{PREFIX}{number:06}")
}

/// The number of a journal by its name.
pub(super) fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::row::{Content, RowFile};
    use super::*;
    use data::store::{CommitId, Total};

    fn group() -> Group {
        let totals = [Total { value: -3, expires: None }, Total { value: 9, expires: Some(-1) }];
        let id = CommitId::from_stored([7; 16]);
        let file = |path: &str| RowFile { path: path.into(), hash: [4; 16], stamp: None };
        let known = Known {
            version: Some(id),
            expires: Some(5),
            main: file("kel/E/S.icp.cesr"),
            fields: Some(file("meta/kel/S.json")),
            content: Content::Filed,
        };
        let bare = Known { version: None, expires: None, fields: None, ..known.clone() };
        let change = |path: &str, before: Option<Hash>, after: Option<&'static [u8]>| FileChange {
            path: path.into(),
            before,
            after: after.map(Bytes::from_static),
            stamp: None,
        };
        let key = |name: &'static [u8]| Key::new(name);
        Group {
            commits: vec![Committed { id, now: 12, totals: totals.into() }],
            files: vec![
                change("a", None, Some(b"")),
                change("b", Some([1; 16]), Some(b"content")),
                change("c", Some([2; 16]), None),
            ],
            rows: vec![
                (key(b"\0\x01a"), Some(Arc::new(known))),
                (key(b"\0\x01b"), Some(Arc::new(bare))),
                (key(b"\0\x01c"), None),
            ],
        }
    }

    #[test]
    fn a_group_comes_back_as_it_was() {
        assert_eq!(Group::decode(group().encode().into()), Some(group()));
        let empty = Group::default();
        assert_eq!(Group::decode(empty.encode().into()), Some(empty));
    }

    #[test]
    fn a_payload_that_is_cut_or_longer_is_no_group() {
        let whole = Bytes::from(group().encode());
        for length in 0..whole.len() {
            assert_eq!(Group::decode(whole.slice(..length)), None, "{length}");
        }
        assert_eq!(Group::decode([whole.as_ref(), b"x"].concat().into()), None);
    }
}

//! The expert's journal: frames with a checksum, one a group, and checkpoints after which it can
//! go.
//!
//! ```text
//! .own/journal-7   length │ commits with their notes │ checksum …
//! checkpoint       next journal ─▶ sync the tree ─▶ .own/rows: versions and hashes ─▶ unlink
//! ```

use super::note_file::{Hash, Key};
use crate::notes::Note;
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Commits and bytes before the journal is begun anew.
const COMMITS: usize = 16_000;
const BYTES: usize = 16 << 20;

/// A call: its id, its time, and its notes.
pub struct Commit {
    pub id: [u8; 16],
    pub now: i64,
    pub notes: Vec<Note>,
}

/// A note on its way to its file.
pub struct Written {
    pub key: Key,
    pub version: [u8; 16],
    pub hash: Hash,
    pub path: PathBuf,
    pub content: Vec<u8>,
}

pub struct Journal {
    own: PathBuf,
    file: File,
    number: u64,
    commits: usize,
    bytes: usize,
    is_synced: bool,
    /// What the next checkpoint keeps: calls, and rows that are in their files.
    kept: Vec<u8>,
    running: Option<JoinHandle<()>>,
}

impl Journal {
    pub fn open(root: &Path) -> Journal {
        let own = root.join(".own");
        fs::create_dir_all(&own).unwrap();
        let file = begin(&own, 1);
        Journal {
            own,
            file,
            number: 1,
            commits: 0,
            bytes: 0,
            is_synced: true,
            kept: Vec::new(),
            running: None,
        }
    }

    /// Adds a group as one frame.
    pub fn add(&mut self, group: &[Commit], written: &[Written], sync: bool) {
        let mut frame = vec![0; 4];
        frame.reserve(512 * written.len());
        for commit in group {
            frame.extend_from_slice(&commit.id);
            frame.extend_from_slice(&commit.now.to_be_bytes());
            self.kept.extend_from_slice(&commit.id);
            self.kept.extend_from_slice(&commit.now.to_be_bytes());
        }
        for Written { key: (author, Reverse(id)), version, hash, content, .. } in written {
            frame.extend_from_slice(&author.to_be_bytes());
            frame.extend_from_slice(&id.to_be_bytes());
            frame.extend_from_slice(version);
            frame.extend_from_slice(hash);
            frame.extend_from_slice(&(content.len() as u32).to_be_bytes());
            frame.extend_from_slice(content);
        }
        let length = frame.len() as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(&blake3::hash(&frame).as_bytes()[..8]);
        self.file.write_all(&frame).unwrap();
        self.is_synced = false;
        self.commits += group.len();
        self.bytes += frame.len();
        if sync {
            self.sync();
        }
    }

    pub fn sync(&mut self) {
        if !self.is_synced {
            self.file.sync_data().unwrap();
            self.is_synced = true;
        }
    }

    /// Remembers rows that are in their files, for the next checkpoint.
    pub fn placed(&mut self, rows: impl Iterator<Item = (Key, [u8; 16], Hash)>) {
        for ((author, Reverse(id)), version, hash) in rows {
            self.kept.extend_from_slice(&author.to_be_bytes());
            self.kept.extend_from_slice(&id.to_be_bytes());
            self.kept.extend_from_slice(&version);
            self.kept.extend_from_slice(&hash);
        }
    }

    /// Whether it is long enough to be begun anew, and the last one is gone.
    pub fn is_due(&self) -> bool {
        let is_busy = self.running.as_ref().is_some_and(|running| !running.is_finished());
        (self.commits >= COMMITS || self.bytes >= BYTES) && (!is_busy || self.bytes >= 4 * BYTES)
    }

    /// Goes on in another journal; a thread lets this one go once the disk holds what it says.
    pub fn checkpoint(&mut self) {
        self.finish();
        let before = path(&self.own, self.number);
        self.number += 1;
        self.file = begin(&self.own, self.number);
        (self.commits, self.bytes, self.is_synced) = (0, 0, true);
        let mut kept = std::mem::take(&mut self.kept);
        let own = self.own.clone();
        self.running = Some(std::thread::spawn(move || {
            // One call for all files and directories.
            rustix::fs::syncfs(File::open(&own).unwrap()).unwrap();
            kept.extend_from_slice(&blake3::hash(&kept).as_bytes()[..8]);
            let mut rows =
                File::options().create(true).append(true).open(own.join("rows")).unwrap();
            rows.write_all(&kept).unwrap();
            rows.sync_data().unwrap();
            fs::remove_file(before).unwrap();
        }));
    }

    pub fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}

fn path(own: &Path, number: u64) -> PathBuf {
    own.join(format!("journal-{number}"))
}

/// A new journal, which the disk holds.
fn begin(own: &Path, number: u64) -> File {
    let file = File::create(path(own, number)).unwrap();
    file.sync_all().unwrap();
    File::open(own).unwrap().sync_all().unwrap();
    file
}

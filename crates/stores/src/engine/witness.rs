//! The witness: a small file beside the engine's own that says up to which commit the disk holds
//! everything.
//!
//! ```text
//! commits 1..n in the journal ─▶ the journal is synced ─▶ witness := n
//! at open: the store's last commit < witness  ─▶  refused: acknowledged commits are missing
//! ```
//!
//! The engine reads its journal until the first bytes it does not understand and takes the rest
//! for a write that was cut off. Damage in the middle would so make later commits vanish, and half
//! of a commit with them, without a word. The witness lies in another file and gives the loss away.
//!
//! # Why it never raises a false alarm
//!
//! - It is written after the sync of the commit it names has returned, by whoever holds the right
//!   to commit, and numbers only grow. So whatever number the file holds, at any instant and on any
//!   disk, that commit was durable before. It needs no sync of its own: an older number that
//!   survives a power cut is also true.
//! - The number is written before the sync, with the commit or after it, to every table that
//!   commits touch. What is durable is never taken back, so a healthy store reopens with numbers
//!   that are at least the witness's.
//! - Without durability against power cuts, numbers may be given twice: commits 8 and 9 were not
//!   numbered before the process ended, and the next two are 8 and 9 again. The witness then stood
//!   at 7 at most, because it never names a commit that was only handed to the operating system.
//! - A file that is missing, short or does not fit its checksum says nothing, and opening goes on.
//!
//! A copy of the folder made while the store was open can have a newer witness than journal. It is
//! refused rightly: commits are missing from that copy.
//!
//! To give up what was lost and go on with what is there, remove the file.

use super::error::file as file_error;
use data::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The name of the file.
pub(super) const NAME: &str = "witness";

/// What the file begins with, where every commit was synced before the next one began.
const EVERY: &[u8; 8] = b"keyway p";
/// What it begins with otherwise.
const SOME: &[u8; 8] = b"keyway w";

/// The file, open.
#[derive(Debug)]
pub(super) struct Witness {
    file: File,
    path: PathBuf,
    /// The number it holds.
    sequence: u64,
    /// Whether every commit was synced before the next one began.
    is_every: bool,
}

impl Witness {
    /// Opens the file in a store's folder, or makes one that says nothing.
    pub(super) fn open(folder: &Path) -> Result<Witness> {
        let path = folder.join(NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(|error| file_error(error, &path))?;
        let mut held = [0; 24];
        let said = file.read_exact(&mut held).ok().and_then(|()| decode(&held));
        let (sequence, is_every) = said.unwrap_or((0, false));
        Ok(Witness { file, path, sequence, is_every })
    }

    /// Whether every commit up to now was synced before the next one began. If so, no whole commit
    /// can lie behind one that was cut off.
    pub(super) fn is_every_commit_synced(&self) -> bool {
        self.is_every
    }

    /// Says how commits are synced from now on.
    pub(super) fn set_every_commit_synced(&mut self, is_every: bool) -> Result<()> {
        if self.is_every == is_every {
            return Ok(());
        }
        self.is_every = is_every;
        self.put(self.sequence)?;
        // An older number is also true, but an older word on this might not be.
        self.file.sync_all().map_err(|error| file_error(error, &self.path))
    }

    /// Up to which commit everything was durable; 0 if the file says nothing.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Says that everything up to this commit is durable. It must be.
    pub(super) fn write(&mut self, sequence: u64) -> Result<()> {
        if sequence <= self.sequence {
            return Ok(());
        }
        self.put(sequence)?;
        self.sequence = sequence;
        Ok(())
    }

    fn put(&mut self, sequence: u64) -> Result<()> {
        let written = (|| {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&encode(sequence, self.is_every))
        })();
        written.map_err(|error| file_error(error, &self.path))
    }

    /// Whether what a table holds last is all that it must hold.
    pub(super) fn vouch(&self, table: &str, found: u64, expected: u64) -> Result<()> {
        if found >= expected {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Corrupt,
            "acknowledged commits are missing: the journal is damaged; restore the folder from a \
             copy, or remove the file named here to go on without them",
        )
        .with("file", self.path.display())
        .with("table", table)
        .with("last commit found", found)
        .with("last commit acknowledged", expected))
    }
}

fn encode(sequence: u64, is_every: bool) -> [u8; 24] {
    let mark = if is_every { EVERY } else { SOME };
    let mut bytes = [0; 24];
    let parts = mark.iter().copied();
    let parts = parts.chain(sequence.to_be_bytes()).chain(check(mark, sequence).to_be_bytes());
    bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    bytes
}

fn decode(bytes: &[u8; 24]) -> Option<(u64, bool)> {
    let (eights, _) = bytes.as_chunks::<8>();
    let [mark, sequence, checked] = eights else { return None };
    let sequence = u64::from_be_bytes(*sequence);
    let is_whole = u64::from_be_bytes(*checked) == check(mark, sequence);
    (is_whole && [EVERY, SOME].contains(&mark)).then_some((sequence, mark == EVERY))
}

/// A checksum that no half-written file fits by chance.
fn check(mark: &[u8; 8], sequence: u64) -> u64 {
    let mut mixed = sequence ^ u64::from_be_bytes(*mark).rotate_left(29);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_damage_says_nothing() {
        for (sequence, is_every) in [(1, true), (255, false), (256, true), (u64::MAX, false)] {
            let bytes = encode(sequence, is_every);
            assert_eq!(decode(&bytes), Some((sequence, is_every)));
            for place in 0..bytes.len() * 8 {
                let mut damaged = bytes;
                damaged[place / 8] ^= 1 << (place % 8);
                assert_eq!(decode(&damaged), None, "bit {place}");
            }
        }
        assert_eq!(decode(&[0; 24]), None);
    }
}

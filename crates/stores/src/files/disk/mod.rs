//! Everything the store asks of a disk, so that one that loses power can stand in for a real one.
//!
//! ```text
//! store ──▶ Disk ◀── RealDisk: beneath one directory, through no symbolic link
//!                ◀── the tests' disk: what was not synced is lost, half there, or zeros
//! ```
//!
//! Paths are relative to the tree, with `/`; the empty path is the tree itself. Nothing is durable
//! before it is synced: content by `sync`, names by `sync_directory`. No other file of this store
//! may open, write or remove a file.

mod real;

pub(super) use real::RealDisk;

use std::fmt;
use std::io;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) bytes: u64,
    /// When its content was changed, in nanoseconds since 1970.
    pub(super) modified: i128,
    /// When its content or its names were.
    pub(super) changed: i128,
}

/// What lies under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    Other,
}

/// A directory on a disk, and all below it.
pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// The content of a file.
    fn read(&self, path: &str) -> io::Result<(Vec<u8>, Stamp)>;

    /// The content of a file of which the disk says this; nothing if it says anything else.
    fn read_if(&self, path: &str, stamp: Stamp) -> io::Result<Option<Vec<u8>>> {
        let (content, found) = self.read(path)?;
        Ok((found == stamp).then_some(content))
    }

    /// What lies under a name; a link is not followed where it stands last.
    fn stamp(&self, path: &str) -> io::Result<(Kind, Stamp)>;

    /// The names in a directory. A name that is not UTF-8 is shown with replacement characters.
    fn list(&self, directory: &str) -> io::Result<Vec<(String, Kind)>>;

    /// Makes one directory.
    fn make_directory(&self, path: &str) -> io::Result<()>;

    /// Makes a file, which was not there, with this content.
    fn write(&self, path: &str, content: &[u8]) -> io::Result<()>;

    /// Opens a file, which it makes if there is none, to add to it.
    fn log(&self, path: &str) -> io::Result<Box<dyn Log>>;

    /// Gives a file another name, over whatever file has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<Stamp>;

    /// Gives a file a name that nothing has; nothing is done if something has it.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<Option<Stamp>> {
        match self.stamp(to) {
            Ok(_) => Ok(None),
            Err(_) => self.rename(from, to).map(Some),
        }
    }

    /// Says that no more files are put in place for now: what was kept for that may go.
    fn rest(&self) {}

    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Removes a directory that is empty.
    fn remove_directory(&self, path: &str) -> io::Result<()>;

    /// Makes the content of a file durable.
    fn sync(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &str) -> io::Result<()>;

    /// Makes everything on the disk durable at once; false where that cannot be asked for.
    fn sync_all(&self) -> io::Result<bool>;
}

/// A file that is added to.
pub(super) trait Log: fmt::Debug + Send {
    /// Writes at a place, over what is there, or at its end.
    fn put(&mut self, at: usize, content: &[u8]) -> io::Result<()>;

    /// Makes its content durable.
    fn sync(&mut self) -> io::Result<()>;

    /// The same file once more, for another thread.
    fn again(&self) -> io::Result<Box<dyn Log>>;
}

/// The directory a path lies in.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

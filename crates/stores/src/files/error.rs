//! What a disk's errors, and what people did to the files, become at the waist.
//!
//! A write that fails is never tried again: after a failed sync nobody knows what the disk holds.
//! Every message names the file and what can be done about it.

use data::{Error, ErrorKind};
use std::io;

/// A file that could not be read or written.
pub(super) fn file(error: io::Error, path: &str) -> Error {
    let problem = match error.kind() {
        _ if is_link(&error) => Error::new(
            ErrorKind::Mismatch,
            "a symbolic link lies in the tree; put the file or directory itself there",
        ),
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Error::new(
            ErrorKind::Mismatch,
            "a file lies where a directory is needed, or a directory where a file is; move it away",
        ),
        _ => Error::new(ErrorKind::Unavailable, "a file could not be read or written"),
    };
    problem.with("file", path).with("reason", error.kind()).caused_by(error)
}

/// Every write after one that failed.
pub(super) fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "a write to the disk failed, so nothing more is written; open the store anew",
    )
}

/// Bytes in Keyway's own directory that no version of Keyway wrote.
pub(super) fn damaged(path: &str) -> Error {
    let message = "what the store keeps for itself is damaged; restore the tree from a copy";
    Error::new(ErrorKind::Corrupt, message).with("file", path)
}

/// A call to a store that was closed.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed; open it anew")
}

/// A call to a store that no keyspace was given to.
pub(super) fn unready() -> Error {
    Error::new(ErrorKind::Unavailable, "the store was not made ready for a keyspace")
}

/// A row whose files say something that cannot be, or may not have changed.
pub(super) fn unreadable(path: &str, why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, "a file was changed and cannot be taken as it is; restore it")
        .with("file", path)
        .with("why", why)
}

/// Something else lies where the file of a row should.
pub(super) fn in_the_way(path: &str, what: &'static str) -> Error {
    Error::new(ErrorKind::Mismatch, "something else lies where a file should; move it away")
        .with("file", path)
        .with("found", what)
}

/// Whether a path was refused because a symbolic link lies on it.
pub(super) fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

//! What the engine's errors become at the waist.
//!
//! A read that fails is damage or a disk that does not answer. A write that fails is never tried
//! again: after a failed sync nobody knows what the disk holds, so the store is poisoned.

use data::{Error, ErrorKind};
use fjall::LsmError;

/// A failed read.
pub(super) fn reading(error: fjall::Error) -> Error {
    let kind = kind_of(&error);
    let message = match kind {
        ErrorKind::Corrupt => "what the engine has stored is damaged; restore it from a copy",
        _ => "the engine could not read its files",
    };
    Error::new(kind, message).caused_by(error)
}

/// A store that did not open.
pub(super) fn opening(error: fjall::Error) -> Error {
    match error {
        fjall::Error::Locked => {
            Error::new(ErrorKind::Locked, "another program has the engine's files open")
        }
        fjall::Error::InvalidVersion(_) => Error::new(
            ErrorKind::Mismatch,
            "the engine's files were written by another version of the engine",
        ),
        other => reading(other),
    }
}

/// Every write after one that failed.
pub(super) fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "a write to the disk failed, so nothing more is written; open the store anew",
    )
}

/// Stored bytes that no version of Keyway wrote.
pub(super) fn damaged(what: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "what the engine has stored is damaged; restore it from a copy")
        .with("what", what)
}

/// A row of the protocol over group-atomic stores.
pub(super) fn no_trails() -> Error {
    Error::new(ErrorKind::Unsupported, "the engine keeps no trails of rows")
}

/// A call to a store that was closed.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed; open it anew")
}

/// A file of the store that could not be read or written.
pub(super) fn file(error: std::io::Error, path: &std::path::Path) -> Error {
    Error::new(ErrorKind::Unavailable, "a file of the store could not be read or written")
        .with("file", path.display())
        .with("reason", error.kind())
        .caused_by(error)
}

fn kind_of(error: &fjall::Error) -> ErrorKind {
    match error {
        fjall::Error::Io(_) | fjall::Error::Storage(LsmError::Io(_)) => ErrorKind::Unavailable,
        fjall::Error::Poisoned => ErrorKind::Poisoned,
        fjall::Error::KeyspaceDeleted => ErrorKind::Internal,
        _ => ErrorKind::Corrupt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_what_a_caller_can_do_about_them() {
        let io = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(reading(fjall::Error::Io(io())).kind(), ErrorKind::Unavailable);
        assert_eq!(reading(LsmError::Io(io()).into()).kind(), ErrorKind::Unavailable);
        assert_eq!(reading(LsmError::Unrecoverable.into()).kind(), ErrorKind::Corrupt);
        assert_eq!(reading(fjall::Error::InvalidTrailer).kind(), ErrorKind::Corrupt);
        assert_eq!(reading(fjall::Error::Poisoned).kind(), ErrorKind::Poisoned);
        assert_eq!(opening(fjall::Error::Locked).kind(), ErrorKind::Locked);
        assert_eq!(opening(fjall::Error::InvalidVersion(None)).kind(), ErrorKind::Mismatch);
        assert_eq!(opening(fjall::Error::Unrecoverable).kind(), ErrorKind::Corrupt);
    }
}

//! What SQLite's errors become at the waist.
//!
//! Another process that holds the file longer than the busy time is no fault: the call may be made
//! again. A COMMIT that the disk failed is never tried again: nobody knows what the disk holds.

use data::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// A statement that failed.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    let kind = kind_of(&error);
    let message = match kind {
        ErrorKind::Unavailable if is_busy(&error) => {
            "another process holds the database longer than it may be waited for; try again"
        }
        ErrorKind::Unavailable => "SQLite cannot read or write its file",
        ErrorKind::Corrupt => "the database file is damaged; restore it from a copy",
        ErrorKind::Mismatch => {
            "the tables are not as Keyway made them: another program or version changed them"
        }
        _ => "SQLite refused a statement",
    };
    Error::new(kind, message).caused_by(error)
}

/// Whether another connection holds what this one needs.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether nothing of a failed COMMIT can have reached the disk as a whole.
pub(super) fn is_undone(error: &rusqlite::Error) -> bool {
    is_busy(error) || error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

fn kind_of(error: &rusqlite::Error) -> ErrorKind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted,
        ) => ErrorKind::Unavailable,
        Some(ErrorCode::DatabaseCorrupt) => ErrorKind::Corrupt,
        Some(ErrorCode::NotADatabase) => ErrorKind::Mismatch,
        // A table or column that is not there, a check that does not know a value.
        Some(
            ErrorCode::Unknown
            | ErrorCode::SchemaChanged
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch,
        ) => ErrorKind::Mismatch,
        _ => ErrorKind::Internal,
    }
}

/// The same problem for another caller.
pub(super) fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.message());
    error.context().iter().fold(copy, |copy, (name, value)| copy.with(name, value))
}

/// Every write after one that failed.
pub(super) fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "a write to the disk failed, so nothing more is written; open the store anew",
    )
}

/// A call to a store that was closed.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed; open it anew")
}

/// A value in a table that no version of Keyway writes there.
pub(super) fn foreign(table: &str, column: &str) -> Error {
    Error::new(
        ErrorKind::Mismatch,
        "a column holds what Keyway does not write there; mend it with sqlite3, or delete the row",
    )
    .with("table", table)
    .with("column", column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn error(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn errors_keep_what_a_caller_can_do_about_them() {
        let cases = [
            (ffi::SQLITE_BUSY, ErrorKind::Unavailable),
            (ffi::SQLITE_BUSY_SNAPSHOT, ErrorKind::Unavailable),
            (ffi::SQLITE_FULL, ErrorKind::Unavailable),
            (ffi::SQLITE_IOERR_FSYNC, ErrorKind::Unavailable),
            (ffi::SQLITE_CORRUPT, ErrorKind::Corrupt),
            (ffi::SQLITE_NOTADB, ErrorKind::Mismatch),
            (ffi::SQLITE_ERROR, ErrorKind::Mismatch),
            (ffi::SQLITE_CONSTRAINT_CHECK, ErrorKind::Mismatch),
            (ffi::SQLITE_MISUSE, ErrorKind::Internal),
        ];
        for (code, kind) in cases {
            assert_eq!(failed(error(code)).kind(), kind, "{code}");
        }
        assert!(failed(error(ffi::SQLITE_BUSY)).is_retryable());
    }

    #[test]
    fn only_a_commit_that_certainly_failed_is_undone() {
        assert!(is_undone(&error(ffi::SQLITE_BUSY)) && is_undone(&error(ffi::SQLITE_FULL)));
        assert!(!is_undone(&error(ffi::SQLITE_IOERR_FSYNC)));
        assert!(!is_undone(&error(ffi::SQLITE_IOERR)));
    }
}

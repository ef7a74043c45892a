//! Opening a database file: where it lies, which SQLite reads it, how its connections are set.
//!
//! ```text
//! no network ─▶ SQLite ≥ 3.51.3 ─▶ write-ahead log ─▶ writer thread, readers when they are needed
//! ```

use super::commit::Committer;
use super::error::failed;
use super::readers::Readers;
use super::steps::{Step, takes};
use super::writer::Writer;
use super::{Inner, Options, SQLITE_MIN};
#[cfg(unix)]
use crate::network;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);
/// Pages that a connection keeps in memory, in KiB, as SQLite wants it told.
const CACHE_KIB: &str = "-16384";
/// Pages of the log after which a commit writes them back: 16 MiB, so that a page that changes
/// often is written and synced once for many commits.
const LOG_PAGES: &str = "4096";
/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 256;
/// What is said of a file that a program of this machine serves.
#[cfg(unix)]
const BEHIND_A_PROGRAM: &str = "the database file is served by another program (FUSE): it is safe \
                                only if that keeps its locks and syncs, and no other machine has \
                                the file open";
/// [`SQLITE_MIN`] as SQLite counts.
const SQLITE_MIN_NUMBER: i32 = 3_051_003;

/// Opens the store in a file, or makes it: who writes, and who reads.
pub(super) fn open(path: &Path, options: &Options) -> Result<(Inner, Readers)> {
    check_version(rusqlite::version_number())?;
    let path = absolute(path)?;
    let remark = judge_place(&path)?;
    let connection = connect(&path, options.durability, OpenFlags::SQLITE_OPEN_CREATE)?;
    let committer = Committer::new(connection, busy_time());
    let writer = Writer::start(committer, options.durability)?;
    Ok((Inner { writer, remark }, Readers::new(path, options.durability)))
}

/// Whether a file is a database in which a keyspace was ever stored. None of our settings is made:
/// the way it keeps its journal would be written into it.
pub(super) fn holds(path: &Path) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    // With the right to write, so that closing leaves no file of a write-ahead log behind.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| opening(error, path))?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    super::catalogue::holds(&connection).map_err(|error| opening(error, path))
}

fn check_version(number: i32) -> Result<()> {
    match number >= SQLITE_MIN_NUMBER {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            "this SQLite can damage a file that two connections write; build with a newer one",
        )
        .with("found", rusqlite::version())
        .with("at_least", SQLITE_MIN)),
    }
}

/// The path from the root on, with its folder made.
fn absolute(path: &Path) -> Result<PathBuf> {
    let refused = |error: std::io::Error, path: &Path| {
        Error::new(ErrorKind::Unavailable, "the folder of the database cannot be made or read")
            .with("folder", path.display())
            .with("reason", error.kind())
            .caused_by(error)
    };
    if path.is_dir() {
        let message = "a database is one file, and this is a folder; name a file in it";
        return Err(Error::new(ErrorKind::Mismatch, message).with("path", path.display()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| refused(error, folder))?;
    let whole = folder.canonicalize().map_err(|error| refused(error, folder))?;
    match path.file_name() {
        Some(name) => Ok(whole.join(name)),
        None => Err(Error::new(ErrorKind::Argument, "a database needs the name of a file")),
    }
}

/// Where a file lies, as far as it is known: refused, or what to say of it.
fn judge_place(path: &Path) -> Result<Option<&'static str>> {
    #[cfg(unix)]
    {
        let folder = path.parent().unwrap_or(path);
        let found = std::fs::File::open(folder).and_then(network::behind);
        judge_network(found.ok().flatten(), path)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(None)
    }
}

/// Refuses a file that another machine serves: a write-ahead log has an index in memory that all
/// its processes share, which two machines cannot. Behind a program of this machine may be either,
/// so that is remarked upon.
#[cfg(unix)]
fn judge_network(found: Option<&'static str>, path: &Path) -> Result<Option<&'static str>> {
    match found {
        None => Ok(None),
        Some(network::FUSE) => Ok(Some(BEHIND_A_PROGRAM)),
        Some(found) => Err(Error::new(
            ErrorKind::Unsupported,
            "SQLite needs a disk of this machine; put the file there, or use a server's store",
        )
        .with("kind", found)
        .with("file", path.display())),
    }
}

fn busy_time() -> Duration {
    if takes(Step::Wait) { BUSY } else { Duration::ZERO }
}

/// A connection, set as every connection of the store must be.
pub(super) fn connect(
    path: &Path,
    durability: Durability,
    create: OpenFlags,
) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| opening(error, path))?;
    connection.busy_timeout(busy_time()).map_err(failed)?;
    let wanted = if takes(Step::Log) { "wal" } else { "delete" };
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))
        .map_err(|error| opening(error, path))?;
    if mode != wanted {
        let message = "the file system cannot hold the shared memory of a write-ahead log";
        return Err(Error::new(ErrorKind::Unsupported, message).with("journal_mode", mode));
    }
    // FULL syncs the log at every commit, NORMAL only before it is written back: a power cut then
    // takes the last commits and leaves the file whole. OFF leaves that to the system.
    let synchronous = match durability {
        Durability::Power if takes(Step::Sync) => "full",
        Durability::Power => "normal",
        Durability::Process => "normal",
        Durability::None => "off",
    };
    let settings = [
        ("synchronous", synchronous),
        ("foreign_keys", "off"),
        ("trusted_schema", "off"),
        ("cell_size_check", "on"),
        ("cache_size", CACHE_KIB),
        ("mmap_size", "0"),
        ("wal_autocheckpoint", LOG_PAGES),
        ("temp_store", "memory"),
    ];
    for (name, value) in settings {
        let set = connection.pragma_update_and_check(None, name, value, |_| Ok(()));
        match set {
            // Most settings answer nothing.
            Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    // Otherwise a statement is prepared anew whenever its LIMIT is bound, for the planner's sake.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn opening(error: rusqlite::Error, path: &Path) -> Error {
    let is_foreign = error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase);
    let error = match is_foreign {
        true => Error::new(
            ErrorKind::Mismatch,
            "the file is no database of SQLite's; give another path",
        )
        .caused_by(error),
        false => failed(error),
    };
    error.with("file", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_of_another_machine_is_refused_and_one_behind_a_program_remarked_upon() {
        let path = Path::new("notes.db");
        assert_eq!(judge_network(None, path).ok(), Some(None));
        for kind in ["NFS", "SMB2", "CIFS", "9P", "Lustre"] {
            let error = judge_network(Some(kind), path).err();
            assert_eq!(error.as_ref().map(Error::kind), Some(ErrorKind::Unsupported), "{kind}");
            assert_eq!(error.as_ref().and_then(|error| error.value("kind")), Some(kind));
        }
        let remark = judge_network(Some("FUSE"), path).ok().flatten();
        assert!(remark.is_some_and(|remark| remark.contains("FUSE")));
    }

    #[test]
    fn an_older_library_is_refused_and_named() {
        assert!(check_version(SQLITE_MIN_NUMBER).is_ok());
        let error = check_version(SQLITE_MIN_NUMBER - 1).err();
        assert_eq!(error.as_ref().map(Error::kind), Some(ErrorKind::Unsupported));
        assert_eq!(
            error.and_then(|e| e.value("at_least").map(str::to_string)).as_deref(),
            Some(SQLITE_MIN)
        );
    }
}

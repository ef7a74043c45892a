//! The lock of a folder: one process at a time, and a second is told which one.

use data::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// A lock that this process has, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would not do: a process that another thread is just starting has a copy
        // of it until its own program runs, and a lock belongs to all copies.
        let _ = self.0.unlock();
    }
}

/// Takes a lock. `what` is what the file then begins with.
pub(crate) fn take(folder: &Path, path: &Path, what: &str) -> Result<Lock> {
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Unavailable, "the lock of the store could not be opened")
            .with("file", path.display())
            .with("reason", error.kind())
            .caused_by(error)
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(locked(folder, path)),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let holder = format!("{what}\npid {}\nprogram {}\n", std::process::id(), program());
    let written = (|| {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(holder.as_bytes())
    })();
    written.map_err(failed)?;
    Ok(Lock(file))
}

fn locked(folder: &Path, lock: &Path) -> Error {
    let holder = std::fs::read_to_string(lock).unwrap_or_default();
    let said = |name: &str| {
        let line = holder.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or("unknown").trim().to_string()
    };
    Error::new(ErrorKind::Locked, "another process has the store open; close it there first")
        .with("folder", folder.display())
        .with("pid", said("pid "))
        .with("program", said("program "))
}

fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_lock_in_a_process_being_started_keeps_nobody_out() {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("keyway-lock-{}", std::process::id()));
        let lock = take(&folder, &path, "test").unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert_eq!(take(&folder, &path, "test").unwrap_err().kind(), ErrorKind::Locked);
        drop(lock);
        drop(take(&folder, &path, "test").unwrap());
        drop(copy);
        std::fs::remove_file(&path).unwrap();
    }
}

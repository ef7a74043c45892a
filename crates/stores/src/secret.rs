//! The secret of a store that is a directory: kept beside the data, so that the cursors it seals
//! outlive the process.
//!
//! Whoever has it can forge a cursor, but never one that leads out of its caller's rows: who may
//! read what is judged by each call. It is written once, readable by its owner alone, and never
//! shown.

use data::{Error, ErrorKind, Result};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The file's name in a store's directory.
const FILE: &str = "cursor.key";

/// The secret of a directory, this one if it has none. The store's lock must be held.
pub(crate) fn keep(directory: &Path, fresh: [u8; 32]) -> Result<[u8; 32]> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => <[u8; 32]>::try_from(bytes).map_err(|bytes| {
            Error::new(
                ErrorKind::Corrupt,
                "the key of cursors is damaged: without the file a new one is made, and cursors \
                 handed out before are refused",
            )
            .with("file", path.display())
            .with("bytes", bytes.len())
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write(directory, &path, &fresh).map_err(|error| failed(&path, error))?;
            Ok(fresh)
        }
        Err(error) => Err(failed(&path, error)),
    }
}

/// Writes the whole file under another name first: a half of it is never found under its own.
fn write(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = directory.join(format!("{FILE}.new"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    // A cursor may be handed out as soon as it can be sealed.
    #[cfg(unix)]
    fs::File::open(directory)?.sync_all()?;
    Ok(())
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the key of cursors cannot be read or written")
        .with("file", path.display())
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::common::Folder;

    #[test]
    fn the_secret_is_kept_once_and_for_its_owner_alone() {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        assert_eq!(keep(folder.path(), [1; 32]).unwrap(), [1; 32]);
        assert_eq!(keep(folder.path(), [2; 32]).unwrap(), [1; 32]);
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), [1; 32]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_secret_is_not_replaced() {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        fs::write(folder.path().join(FILE), b"short").unwrap();
        let error = keep(folder.path(), [1; 32]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), b"short");
    }
}

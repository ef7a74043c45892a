//! The key that cursors are sealed with: kept beside the data, so that they outlive the process.
//!
//! Whoever has it can forge a cursor, but never one that leads out of its caller's rows: who may
//! read what is judged by each call. It is written once, readable by its owner alone, and never
//! shown.

use data::clock::Random;
use data::request::CursorKey;
use data::{Error, ErrorKind, Result};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The file's name in a store's directory.
const FILE: &str = "cursor.key";

/// The key of a directory, made if it is not there. The store's lock must be held.
pub fn load_or_make(directory: &Path, random: &dyn Random) -> Result<CursorKey> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => <[u8; 32]>::try_from(bytes).map(CursorKey::new).map_err(|bytes| {
            Error::new(
                ErrorKind::Corrupt,
                "the key of cursors is damaged: without the file a new one is made, and cursors \
                 handed out before are refused",
            )
            .with("file", path.display())
            .with("bytes", bytes.len())
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut bytes = [0; 32];
            random.fill(&mut bytes);
            write(directory, &path, &bytes).map_err(|error| failed(&path, error))?;
            Ok(CursorKey::new(bytes))
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
    fs::rename(&new, path)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the key of cursors cannot be read or written")
        .with("file", path.display())
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::clock::SeededRandom;

    fn directory(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("keyway-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn the_key_is_made_once_and_for_its_owner_alone() {
        let directory = directory("cursor-key-made");
        let random = SeededRandom::new(1);
        load_or_make(&directory, &random).unwrap();
        let first = fs::read(directory.join(FILE)).unwrap();
        load_or_make(&directory, &random).unwrap();
        assert_eq!(fs::read(directory.join(FILE)).unwrap(), first);
        assert_eq!(first.len(), 32);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(directory.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_damaged_key_is_not_replaced() {
        let directory = directory("cursor-key-damaged");
        fs::write(directory.join(FILE), b"short").unwrap();
        let error = load_or_make(&directory, &SeededRandom::new(1)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(fs::read(directory.join(FILE)).unwrap(), b"short");
        fs::remove_dir_all(directory).unwrap();
    }
}

//! The folder of a store: whose it is, and that one process has it.
//!
//! ```text
//! DIR/lock      held while the store is open; says by whom
//! DIR/format    `keyway engine 2`, then the keyspace: written last, so its presence means "made"
//! DIR/witness   see `witness`
//! DIR/fjall/    the engine's journal and tables
//! DIR/hatch     a socket, while a server has the store open that can be asked to move it
//! ```
//!
//! A folder with anything else in it is somebody's: it is refused, and nothing in it is touched.

use super::error::file as file_error;
use super::witness;
use crate::lock::Lock;
use data::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";
const FORMAT: &str = "format";
const FORMAT_NEW: &str = "format.new";
const ENGINE: &str = "fjall";

/// What the format file begins with, before its number.
const PROGRAM: &str = "keyway engine";
/// The format this version reads and writes.
const VERSION: &str = "2";
/// What the line with the name of the keyspace begins with.
const KEYSPACE: &str = "keyspace ";

/// A folder that this process has for itself, until it is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Held until the folder is let go.
    _lock: Lock,
    is_new: bool,
}

impl Folder {
    /// Takes the folder, which it makes if there is none.
    pub(super) fn take(path: &Path) -> Result<Folder> {
        // Asked before the lock, so that nothing is written into a folder of somebody else, and
        // again with it: another process may have made the store in between.
        inspect(path)?;
        fs::create_dir_all(path).map_err(|error| file_error(error, path))?;
        let lock = crate::lock::take(path, &path.join(LOCK), PROGRAM)?;
        let is_new = inspect(path)?;
        let folder = Folder { path: path.to_path_buf(), _lock: lock, is_new };
        if is_new {
            folder.clear()?;
        }
        Ok(folder)
    }

    /// Where the engine keeps its files.
    pub(super) fn engine(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the store is made, and of which keyspace it is, once that is known.
    pub(super) fn write_format(&self, keyspace: Option<&str>) -> Result<()> {
        let mut text = format!("{PROGRAM} {VERSION}\n");
        if let Some(keyspace) = keyspace {
            text.push_str(KEYSPACE);
            text.push_str(keyspace);
            text.push('\n');
        }
        if read_format(&self.path)?.is_some_and(|known| known == text) {
            return Ok(());
        }
        let new = self.path.join(FORMAT_NEW);
        let written = (|| {
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.path.join(FORMAT))?;
            sync_folder(&self.path)
        })();
        written.map_err(|error| file_error(error, &new))
    }

    /// Says that a store is made, if it was not before.
    pub(super) fn finish(&self) -> Result<()> {
        match self.is_new {
            true => self.write_format(None),
            false => Ok(()),
        }
    }

    /// Removes what an attempt to make the store left when it was cut off: nothing was committed.
    fn clear(&self) -> Result<()> {
        for name in [FORMAT_NEW, witness::NAME] {
            let file = self.path.join(name);
            if file.exists() {
                fs::remove_file(&file).map_err(|error| file_error(error, &file))?;
            }
        }
        let engine = self.engine();
        if engine.exists() {
            fs::remove_dir_all(&engine).map_err(|error| file_error(error, &engine))?;
        }
        Ok(())
    }
}

/// Whether a store is still to be made here; an error if none can be, or another version's is.
fn inspect(path: &Path) -> Result<bool> {
    match read_format(path)? {
        Some(format) => check_format(path, &format).map(|()| false),
        None => check_free(path).map(|()| true),
    }
}

/// Whether a keyspace was ever stored in a folder; nothing in it is touched.
pub(super) fn holds(path: &Path) -> Result<bool> {
    let Some(format) = read_format(path)? else { return Ok(false) };
    check_format(path, &format)?;
    Ok(format.lines().any(|line| line.starts_with(KEYSPACE)))
}

/// The text of the format file, if there is one.
fn read_format(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(FORMAT);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // The path leads through a file, so no store is there; what is there is said later.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(file_error(error, &path)),
    };
    let mut text = Vec::new();
    file.take(4_096).read_to_end(&mut text).map_err(|error| file_error(error, &path))?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

fn check_format(folder: &Path, format: &str) -> Result<()> {
    let first = format.lines().next().unwrap_or_default();
    let Some(version) = first.strip_prefix(PROGRAM) else { return Err(foreign(folder)) };
    if version.trim() == VERSION {
        return Ok(());
    }
    let message = "the store was written by another version of Keyway; open it with that version, \
                   export it, and import it with this one";
    Err(Error::new(ErrorKind::Mismatch, message)
        .with("folder", folder.display())
        .with("format", version.trim())
        .with("this version reads", VERSION))
}

/// Whether a folder without a format file may become a store: it is empty, or holds only what an
/// attempt to make one left behind.
fn check_free(folder: &Path) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(foreign(folder));
        }
        Err(error) => return Err(file_error(error, folder)),
    };
    let mut lock = None;
    let mut others = 0;
    for entry in entries {
        let name = entry.map_err(|error| file_error(error, folder))?.file_name();
        if name == LOCK {
            lock = Some(fs::read_to_string(folder.join(LOCK)).unwrap_or_default());
        } else if [FORMAT_NEW, witness::NAME, ENGINE].iter().any(|known| name == *known) {
            others += 1;
        } else {
            return Err(foreign(folder));
        }
    }
    let is_ours = match lock {
        // It was made and the attempt cut off before it said whose it is.
        Some(text) if text.is_empty() => others == 0,
        Some(text) => text.starts_with(PROGRAM),
        None => others == 0,
    };
    match is_ours {
        true => Ok(()),
        false => Err(foreign(folder)),
    }
}

fn foreign(folder: &Path) -> Error {
    let message = "the path holds something else than an engine store, which is left as it is; \
                   name an empty or a new folder";
    Error::new(ErrorKind::Mismatch, message).with("folder", folder.display())
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

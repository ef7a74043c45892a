//! Files get into their places and out of them: each is written beside, and put there by its name.
//!
//! ```text
//! content ─▶ .keyway/new-7 ─rename─▶ user/u1.json        no sync here: see `checkpoint`
//! ```
//!
//! Another program sees a whole file, the old or the new one. What becomes durable when is not
//! known here: everything that was touched is noted for those who sync.

use super::checkpoint::Touched;
use super::disk::{Disk, Stamp, parent};
use super::read::is_gone;
use keyspace::layout::files::OWN_DIRECTORY;
use std::io;
use std::sync::Arc;

/// What the name of a file begins with that is not in its place yet.
pub(super) const NEW: &str = "new-";

/// Puts a file in place, over whatever file is there.
pub(super) fn place(
    disk: &dyn Disk,
    path: &Arc<str>,
    content: &[u8],
    touched: &mut Touched,
) -> io::Result<Stamp> {
    let new = write_beside(disk, content, touched)?;
    rename(disk, (&new, path), touched, |disk, from, to| disk.rename(from, to))
}

/// Writes a file that is not in its place yet.
pub(super) fn write_beside(
    disk: &dyn Disk,
    content: &[u8],
    touched: &mut Touched,
) -> io::Result<String> {
    let new = format!("{OWN_DIRECTORY}/{NEW}{}", touched.number());
    disk.write(&new, content)?;
    Ok(new)
}

/// Gives a new file its name, and makes the directories it needs.
pub(super) fn rename<T>(
    disk: &dyn Disk,
    (new, path): (&str, &Arc<str>),
    touched: &mut Touched,
    rename: impl Fn(&dyn Disk, &str, &str) -> io::Result<T>,
) -> io::Result<T> {
    let renamed = match rename(disk, new, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(disk, parent(path), touched)?;
            rename(disk, new, path)?
        }
        renamed => renamed?,
    };
    touched.files.insert(path.clone());
    let directory = parent(path);
    if !touched.directories.contains(directory) {
        touched.directories.insert(directory.to_string());
    }
    Ok(renamed)
}

/// Makes a directory and those above it.
pub(super) fn make_directories(
    disk: &dyn Disk,
    directory: &str,
    touched: &mut Touched,
) -> io::Result<()> {
    if directory.is_empty() {
        return Ok(());
    }
    match disk.make_directory(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(disk, parent(directory), touched)?;
            disk.make_directory(directory)?;
        }
        made => made?,
    }
    touched.directories.insert(parent(directory).to_string());
    Ok(())
}

/// Takes a file away, and directories that hold nothing then.
pub(super) fn clear(disk: &dyn Disk, path: &str, touched: &mut Touched) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if is_gone(&error) => return Ok(()),
        removed => removed?,
    }
    let mut directory = parent(path);
    touched.directories.insert(directory.to_string());
    while !directory.is_empty() && disk.remove_directory(directory).is_ok() {
        directory = parent(directory);
        touched.directories.insert(directory.to_string());
    }
    Ok(())
}

//! `.keyway/quarantine/`: files that could not be taken as they are, set aside and never deleted.
//!
//! A file goes there under its path, flattened, with the reason beside it in a `.why` file.

use super::checkpoint::Touched;
use super::disk::Disk;
use super::place::make_directories;
use super::shared::Shared;
use keyspace::layout::files::OWN_DIRECTORY;
use keyspace::layout::files::name::{Case, escape};
use std::io;

/// The directory.
pub(super) const DIRECTORY: &str = ".keyway/quarantine";
/// The longest flattened path.
const NAME_BYTES_MAX: usize = 200;

/// Moves a file aside, and says so.
pub(super) fn set_aside(
    shared: &Shared,
    path: &str,
    why: &str,
    touched: &mut Touched,
) -> io::Result<()> {
    let name = move_aside(shared.disk.as_ref(), path, why, touched)?;
    shared.report(path, format!("{why}; it was set aside as {name}"));
    Ok(())
}

/// Moves a file aside; where to.
pub(super) fn move_aside(
    disk: &dyn Disk,
    path: &str,
    why: &str,
    touched: &mut Touched,
) -> io::Result<String> {
    make_directories(disk, DIRECTORY, touched)?;
    let flat = escape(path, Case::Kept).replace("%2f", "~");
    let flat = flat.get(..NAME_BYTES_MAX).unwrap_or(&flat).to_string();
    let taken = disk.list(DIRECTORY)?;
    let is_taken = |name: &str| taken.iter().any(|(known, _)| known == name);
    let mut name = flat.clone();
    let mut number = 1;
    while is_taken(&name) {
        number += 1;
        name = format!("{flat}~{number}");
    }
    let aside = format!("{DIRECTORY}/{name}");
    let reason = format!("{aside}.why");
    if !is_taken(&format!("{name}.why")) {
        disk.write(&reason, format!("{path}\n{why}\n").as_bytes())?;
        touched.files.insert(reason.into());
    }
    disk.rename(path, &aside)?;
    touched.files.insert(aside.clone().into());
    touched.directories.insert(super::disk::parent(path).to_string());
    touched.directories.insert(DIRECTORY.to_string());
    touched.directories.insert(OWN_DIRECTORY.to_string());
    Ok(aside)
}

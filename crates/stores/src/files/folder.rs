//! The tree itself: whose it is, what disk it is on, and what `.keyway/format` says of it.
//!
//! ```text
//! DIR/.keyway/format       the keyspace, the format, whether the disk takes A for a
//! DIR/.keyway/lock         held by the one process that has the tree open
//! ```
//!
//! A directory with anything in it and no `.keyway` is somebody's: it is refused, and nothing in it
//! is touched.

use super::disk::{Disk, RealDisk};
use super::error;
use super::journal;
use crate::lock::Lock;
use data::{Error, ErrorKind, Result};
use keyspace::layout::files::OWN_DIRECTORY;
use keyspace::layout::files::name::Case;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

const FORMAT: &str = ".keyway/format";
const FORMAT_NEW: &str = ".keyway/new-format";
const PROGRAM: &str = "keyway files";
/// The format this version reads and writes.
const VERSION: u64 = 1;
/// Names that no value has: two where cases are told apart, one where they are not.
const PROBES: (&str, &str) = (".keyway/new-CASE", ".keyway/new-case");

/// What the format file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) case: Case,
    /// Where rows lie, in words, by the number of their collection or index.
    pub(super) places: BTreeMap<u16, Vec<String>>,
    pub(super) catalogue: Option<Vec<u8>>,
}

/// Takes the directory at a path for this process, and makes it if there is none.
pub(super) fn take(path: &Path, allow_network: bool) -> Result<(RealDisk, Lock)> {
    let failed = |error: io::Error| error::file(error, &path.display().to_string());
    check_free(path)?;
    let made: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    fs::create_dir_all(path).map_err(failed)?;
    let own = path.join(OWN_DIRECTORY);
    // A link could lead anywhere.
    if own.is_symlink() {
        return Err(error::in_the_way(OWN_DIRECTORY, "a symbolic link"));
    }
    fs::create_dir_all(&own).map_err(failed)?;
    let lock = crate::lock::take(path, &own.join("lock"), PROGRAM)?;
    let disk = RealDisk::open(path).map_err(failed)?;
    if let Some(network) = disk.network().map_err(failed)?
        && !allow_network
    {
        let message = "the tree is on a network or behind another program, where locks and syncs \
                       may promise nothing; put it on a disk of this machine, or say \
                       `?network=allow`";
        return Err(Error::new(ErrorKind::Unsupported, message).with("kind", network));
    }
    for above in made.iter().filter_map(|made| made.parent()) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        File::open(above).and_then(|above| above.sync_all()).map_err(failed)?;
    }
    Ok((disk, lock))
}

/// Whether a keyspace was ever stored in a directory; nothing in it is touched.
pub(super) fn holds(path: &Path) -> Result<bool> {
    if !path.join(FORMAT).exists() {
        return Ok(false);
    }
    let disk = RealDisk::open(path);
    let disk = disk.map_err(|error| error::file(error, &path.display().to_string()))?;
    Ok(read_format(&disk)?.is_some_and(|format| format.catalogue.is_some()))
}

/// Whether a directory may become a tree, or is one.
fn check_free(path: &Path) -> Result<()> {
    if path.join(FORMAT).exists() {
        return Ok(());
    }
    let holds_only = |directory: &Path, known: &dyn Fn(&str) -> bool| {
        fs::read_dir(directory).map(|mut entries| {
            entries
                .all(|entry| entry.is_ok_and(|entry| known(&entry.file_name().to_string_lossy())))
        })
    };
    // Other programs may call things so; what an attempt that was cut off left is ours.
    let is_begun = |name: &str| {
        let ours = [journal::PREFIX, super::place::NEW];
        matches!(name, "lock" | "rows") || ours.iter().any(|prefix| name.starts_with(prefix))
    };
    let is_begun = holds_only(&path.join(OWN_DIRECTORY), &is_begun).unwrap_or(true);
    match holds_only(path, &|name| is_begun && name == OWN_DIRECTORY) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotADirectory => {
            Err(error::file(error, &path.display().to_string()))
        }
        _ => {
            let message = "the path holds something else than a tree of Keyway's, which is left \
                           as it is; name an empty or a new directory, and copy files in later";
            Err(Error::new(ErrorKind::Mismatch, message).with("directory", path.display()))
        }
    }
}

/// What the format file says; nothing if there is none.
pub(super) fn read_format(disk: &dyn Disk) -> Result<Option<Format>> {
    let content = match disk.read(FORMAT) {
        Ok((content, _)) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error::file(error, FORMAT)),
    };
    let damaged = || error::damaged(FORMAT);
    let said: Json = serde_json::from_slice(&content).map_err(|e| damaged().caused_by(e))?;
    if said.get("program").and_then(Json::as_str) != Some(PROGRAM) {
        return Err(damaged());
    }
    match said.get("format").and_then(Json::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            let message = "the tree was written by another version of Keyway; open it with that \
                           version, export it, and import it with this one";
            return Err(Error::new(ErrorKind::Mismatch, message)
                .with("format", other)
                .with("this version reads", VERSION));
        }
        None => return Err(damaged()),
    }
    let case = match said.get("case").and_then(Json::as_str) {
        Some("kept") => Case::Kept,
        Some("folded") => Case::Folded,
        _ => return Err(damaged()),
    };
    let words = |words: &Json| -> Option<Vec<String>> {
        words.as_array()?.iter().map(|word| word.as_str().map(str::to_string)).collect()
    };
    let places = said.get("places").and_then(Json::as_object).ok_or_else(damaged)?;
    let places = places.iter().map(|(number, said)| number.parse().ok().zip(words(said)));
    let places: Option<BTreeMap<u16, Vec<String>>> = places.collect();
    let catalogue = match said.get("catalogue") {
        None | Some(Json::Null) => None,
        Some(catalogue) => Some(catalogue.to_string().into_bytes()),
    };
    Ok(Some(Format { case, places: places.ok_or_else(damaged)?, catalogue }))
}

/// Writes the format file; it is durable then.
pub(super) fn write_format(disk: &dyn Disk, format: &Format) -> Result<()> {
    let places = format.places.iter();
    let places: serde_json::Map<String, Json> =
        places.map(|(number, words)| (number.to_string(), json!(words))).collect();
    let catalogue: Json = match &format.catalogue {
        None => Json::Null,
        Some(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| error::damaged(FORMAT).caused_by(error))?,
    };
    let case = match format.case {
        Case::Kept => "kept",
        Case::Folded => "folded",
    };
    let said = json!({
        "program": PROGRAM,
        "format": VERSION,
        "case": case,
        "places": places,
        "catalogue": catalogue,
    });
    let mut content = serde_json::to_vec_pretty(&said)
        .map_err(|error| error::damaged(FORMAT).caused_by(error))?;
    content.push(b'\n');
    let written = (|| {
        remove_if_there(disk, FORMAT_NEW)?;
        disk.write(FORMAT_NEW, &content)?;
        disk.sync(FORMAT_NEW)?;
        disk.rename(FORMAT_NEW, FORMAT)?;
        disk.sync_directory(OWN_DIRECTORY)
    })();
    written.map_err(|error| error::file(error, FORMAT))
}

/// Whether the disk tells cases apart.
pub(super) fn probe(disk: &dyn Disk) -> Result<Case> {
    let (upper, lower) = PROBES;
    let probed = (|| {
        remove_if_there(disk, upper)?;
        remove_if_there(disk, lower)?;
        disk.write(upper, b"")?;
        let is_there = disk.stamp(lower).is_ok();
        disk.remove(upper)?;
        Ok(if is_there { Case::Folded } else { Case::Kept })
    })();
    probed.map_err(|error| error::file(error, OWN_DIRECTORY))
}

/// Whether a tree may be on this disk: not if its names need cases that the disk does not tell.
pub(super) fn check_case(made_on: Case, found: Case) -> Result<()> {
    if made_on == Case::Folded || found == Case::Kept {
        return Ok(());
    }
    let message = "the tree was made on a disk that tells A from a, and this one does not: rows \
                   would overwrite each other; export it there and import it here";
    Err(Error::new(ErrorKind::Mismatch, message))
}

pub(super) fn remove_if_there(disk: &dyn Disk, path: &str) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

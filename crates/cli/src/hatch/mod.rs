//! A way in for whoever looks after this machine: a socket in the folder of an engine, through
//! which `keyway copy --live` asks the server that has the engine open to move the keyspace.
//!
//! ```text
//! copy --live ──▶ DIR/hatch ──▶ serve    {"move_to": URL, "again": false, "file": HASH}
//!             ◀──           ◀──          {"stage": {"name": "copying", "rows": 1200}} …
//!             ◀──           ◀──          {"moved": …} or {"refused": …}
//! ```
//!
//! It is no part of what is served to others. Whoever may write the files of the engine can do
//! with them what they like, and nobody else can open the socket. Both ends are this program, of
//! one version or of two: what one of them does not know, it passes over.

#[cfg(unix)]
mod ask;
#[cfg(not(unix))]
mod nowhere;
#[cfg(unix)]
mod offer;

#[cfg(unix)]
pub(crate) use ask::ask;
#[cfg(not(unix))]
pub(crate) use nowhere::{Offered, ask};
#[cfg(unix)]
pub(crate) use offer::Offered;

use crate::failure::{Failure, Status};
use keyway::{Moved, Stage};
use serde::{Deserialize, Serialize};

/// What is asked, on one line.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Ask {
    /// The URL of the store to move to.
    pub(crate) move_to: String,
    /// Whether what the target holds was left by a move that was interrupted.
    pub(crate) again: bool,
    /// Which file it is asked for: see [`name_of`].
    pub(crate) file: String,
}

/// What is answered: a line now and then, and one at the end.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// How far it is.
    Stage {
        /// What is done now.
        name: String,
        /// To so many rows.
        rows: u64,
    },
    /// It is done.
    Moved(Arrived),
    /// It is not done.
    Refused {
        /// Why.
        failure: Failure,
        /// The exit status that this leads to.
        status: u8,
    },
}

/// A move that is done, and where the keyspace is now.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Arrived {
    /// Rows copied.
    pub(crate) copied: u64,
    /// Changed rows that followed.
    pub(crate) followed: u64,
    /// Rows that were not compared, because they end soon.
    pub(crate) ending_soon: u64,
    /// How long writes waited.
    pub(crate) paused_milliseconds: i64,
    /// The address of the store.
    pub(crate) to: String,
}

impl Arrived {
    /// A move to an address.
    pub(crate) fn new(moved: &Moved, to: String) -> Arrived {
        let Moved { copied, followed, paused, ending } = *moved;
        Arrived { copied, followed, ending_soon: ending, paused_milliseconds: paused, to }
    }
}

impl From<Failure> for Said {
    fn from(failure: Failure) -> Said {
        let status = failure.status.number();
        Said::Refused { failure, status }
    }
}

impl Said {
    /// How it ended, unless it goes on.
    pub(crate) fn end(self) -> Result<Result<Arrived, Failure>, (String, u64)> {
        match self {
            Said::Stage { name, rows } => Err((name, rows)),
            Said::Moved(arrived) => Ok(Ok(arrived)),
            Said::Refused { mut failure, status } => {
                failure.status = Status::of_number(status).unwrap_or(Status::Problems);
                Ok(Err(failure))
            }
        }
    }
}

/// What a stage is called, and how many rows it has come to.
pub(crate) fn stage(stage: Stage) -> (&'static str, u64) {
    match stage {
        Stage::Copying(rows) => ("copying", rows),
        Stage::Following(rows) => ("following", rows),
        Stage::Verifying(rows) => ("verifying", rows),
        Stage::Paused => ("switching", 0),
    }
}

/// What a file with this text is told apart by: the server moves the keyspace of its own.
pub(crate) fn name_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Where a socket in a folder is, by a path that is short enough for one.
#[cfg(unix)]
mod way {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// The name of the socket.
    const NAME: &str = "hatch";
    /// Bytes of a path that every system takes.
    const PATH_BYTES_MAX: usize = 103;

    /// A path that leads to the socket for as long as this is kept.
    #[derive(Debug)]
    pub(super) struct Way {
        /// The way to go.
        pub(super) path: PathBuf,
        /// Where it lies.
        pub(super) file: PathBuf,
        _folder: Option<File>,
    }

    impl Way {
        /// To the socket in this folder.
        pub(super) fn into(folder: &Path) -> io::Result<Way> {
            let file = folder.join(NAME);
            if file.as_os_str().len() <= PATH_BYTES_MAX {
                return Ok(Way { path: file.clone(), file, _folder: None });
            }
            // Linux has a short name for every folder that is open.
            let folder = File::open(folder)?;
            let path = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd());
            Ok(Way { path: path.into(), file, _folder: Some(folder) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{Error, ErrorKind};

    #[test]
    fn a_refusal_says_the_same_on_both_sides() {
        for kind in [ErrorKind::Busy, ErrorKind::Conflict, ErrorKind::Mismatch, ErrorKind::Moved] {
            let here = Failure::from(Error::new(kind, "it was not done").with("to", "a:b"));
            let (text, status) = (here.text(), here.status);
            let line = serde_json::to_string(&Said::from(here)).unwrap();
            let there = serde_json::from_str::<Said>(&line).unwrap().end().unwrap().unwrap_err();
            assert_eq!((there.text(), there.status), (text, status));
            assert!(there.is(kind));
        }
    }

    #[test]
    fn what_a_later_version_says_besides_is_passed_over() {
        let line = r#"{"stage": {"name": "copying", "rows": 7, "left": 9}}"#;
        let (name, rows) = serde_json::from_str::<Said>(line).unwrap().end().unwrap_err();
        assert_eq!((name.as_str(), rows), ("copying", 7));
        assert!(serde_json::from_str::<Said>(r#"{"hint": {}}"#).is_err());
        let line = r#"{"refused": {"failure": {"error": "no", "more": 1}, "status": 99}}"#;
        let failure = serde_json::from_str::<Said>(line).unwrap().end().unwrap().unwrap_err();
        assert_eq!((failure.text().as_str(), failure.status), ("error: no\n", Status::Problems));
    }
}

//! Opens the keyspace of a file on a store.
//!
//! ```text
//! --store URL ──────────────┐
//! FILE ─▶ DIR/.keyway/NAME ─┴▶ store ─▶ keyspace checked for it ─▶ open
//! ```
//!
//! Without `--store`, the store is an engine beside the file, so that the same file finds the same
//! data from wherever it is named. What only looks never makes a store, and writes nothing into a
//! place that may be somebody else's.

use crate::answer::{Answer, Form, write_complaint};
use crate::failure::{Failure, Status};
use crate::report;
use keyspace::model::{Keyspace, StoreKind};
use keyway::{Found, Keyway, StoreUrl};
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The folder beside a file in which its store is.
const FOLDER: &str = ".keyway";

/// What a command wants to open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The keyspace file.
    pub(crate) file: &'a str,
    /// The URL, if one is given.
    pub(crate) store: Option<&'a str>,
    /// The option it is given with.
    pub(crate) option: &'static str,
    /// Whether a store may be made where there is none.
    pub(crate) may_make: bool,
    /// Whether it stays open: then rows that have ended are removed meanwhile.
    pub(crate) stays: bool,
}

/// An open keyspace, and what its calls run on.
pub(crate) struct Opened {
    /// The keyspace.
    pub(crate) keyway: Keyway,
    /// The text of its file.
    pub(crate) text: String,
    /// The store it was opened on.
    pub(crate) url: StoreUrl,
    runtime: Runtime,
}

/// A file that was read for a store.
pub(crate) struct Read {
    keyspace: Keyspace,
    /// Its text.
    pub(crate) text: String,
    /// The URL of the store, if one is given.
    given: Option<StoreUrl>,
}

impl Opened {
    /// Waits for some work.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Opens the same keyspace on another store, and lets go of this one.
    pub(crate) fn on(&mut self, url: &str, form: Form) -> Result<(), Failure> {
        let parsed: StoreUrl = url.parse()?;
        let found = self.runtime.block_on(keyway::look(&parsed, self.keyway.keyspace()))?;
        let builder = Keyway::builder();
        let other = self.runtime.block_on(builder.open_text(&self.text, url))?;
        tell_made(&found, &parsed, "", form);
        self.url = parsed;
        let before = std::mem::replace(&mut self.keyway, other);
        Ok(self.runtime.block_on(before.close())?)
    }

    /// Lets go of the store; what an answer says stays, unless that fails.
    pub(crate) fn close(self, answer: Answer) -> Answer {
        match self.runtime.block_on(self.keyway.close()) {
            Ok(()) => answer,
            Err(error) => {
                let failure = Failure::from(error);
                let status = match answer.status {
                    Status::Done => failure.status,
                    other => other,
                };
                let mut answer = Answer { status, ..answer };
                answer.failures.push(failure);
                answer
            }
        }
    }
}

/// Opens a keyspace, or says why not.
pub(crate) fn open(wanted: Wanted<'_>, form: Form) -> Result<Opened, Answer> {
    open_read(wanted, read(wanted, form)?, form)
}

/// Reads the file of a keyspace for the store that is wanted.
pub(crate) fn read(wanted: Wanted<'_>, form: Form) -> Result<Read, Answer> {
    let refused = |error: keyway::Error| Answer::failed(Failure::from(error));
    let given: Option<StoreUrl> = wanted.store.map(str::parse).transpose().map_err(refused)?;
    let kind = given.as_ref().map_or(StoreKind::Engine, StoreUrl::kind);
    let (keyspace, text) = report::read_sound_for(wanted.file, kind, form)?;
    Ok(Read { keyspace, text, given })
}

/// Opens a keyspace whose file was read, or says why not.
pub(crate) fn open_read(wanted: Wanted<'_>, read: Read, form: Form) -> Result<Opened, Answer> {
    let refused = |error: keyway::Error| Answer::failed(Failure::from(error));
    let Read { keyspace, text, given } = read;
    let kind = given.as_ref().map_or(StoreKind::Engine, StoreUrl::kind);
    let beside = folder(wanted.file);
    let url = match wanted.store {
        Some(url) => url.to_string(),
        None => engine_url(&beside.join(&keyspace.name.value)),
    };
    let parsed = given.map_or_else(|| url.parse(), Ok).map_err(refused)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(|error| {
        let problem = format!("the machine gives no threads: {error}");
        Answer::usage(&problem, "allow this user more processes")
    })?;
    let found = runtime.block_on(keyway::look(&parsed, &keyspace)).map_err(refused)?;
    if !found.holds && !wanted.may_make {
        return Err(Answer::failed(absent(&found.place, &wanted, kind)));
    }
    if wanted.store.is_none() {
        make_store(&beside, &keyspace.name.value).map_err(Answer::failed)?;
    }
    let sweeping = wanted.stays.then_some(Duration::from_secs(10));
    let builder = Keyway::builder().sweep_every(sweeping);
    let keyway = runtime.block_on(builder.open_text(&text, &url)).map_err(refused)?;
    let other = if wanted.store.is_none() { "; --store URL names another" } else { "" };
    tell_made(&found, &parsed, other, form);
    if !form.json {
        let remarks = keyway.remarks();
        remarks.iter().for_each(|remark| write_complaint(&format!("note: {remark}\n")));
    }
    Ok(Opened { keyway, text, url: parsed, runtime })
}

/// Says that a store was made, if it was.
fn tell_made(found: &Found, url: &StoreUrl, more: &str, form: Form) {
    // What is in memory is gone soon, and nobody looks for it.
    if !found.holds && !form.json && url.kind() != StoreKind::Memory {
        write_complaint(&format!("note: made a store in {}{more}\n", found.place));
    }
}

/// There is nothing to look at.
fn absent(place: &str, wanted: &Wanted<'_>, kind: StoreKind) -> Failure {
    let form = match kind {
        StoreKind::Files => "files:DIRECTORY",
        StoreKind::Sqlite => "sqlite:FILE",
        StoreKind::Postgres => "postgres://HOST/DATABASE",
        StoreKind::Redis => "redis://HOST:PORT/DATABASE",
        StoreKind::RedisCluster => "redis-cluster://HOST:PORT,HOST:PORT",
        StoreKind::Cassandra => "cassandra://HOST,HOST/KEYSPACE",
        StoreKind::Scylla => "scylla://HOST,HOST/KEYSPACE",
        _ => "engine:DIRECTORY",
    };
    let problem = format!("there is no store in {place}");
    let fix = format!("give the URL of a store that holds this keyspace: {} {form}", wanted.option);
    let mut failure = Failure::usage(problem, fix);
    failure.status = Status::Unreachable;
    failure
}

/// Makes the place of a store beside a file, if it is not there.
fn make_store(folder: &Path, name: &str) -> Result<(), Failure> {
    let directory = folder.join(name);
    if directory.is_dir() {
        return Ok(());
    }
    make_beside(folder)?;
    fs::create_dir_all(&directory).map_err(|error| unmade(&directory, &error))
}

/// Makes the folder beside a file, if it is not there.
pub(crate) fn make_beside(folder: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder).and_then(|()| {
        // Data does not belong into a repository.
        let ignored = folder.join(".gitignore");
        if ignored.exists() { Ok(()) } else { fs::write(ignored, "*\n") }
    });
    made.map_err(|error| unmade(folder, &error))
}

fn unmade(directory: &Path, error: &std::io::Error) -> Failure {
    let problem = format!("cannot make a store in {}: {error}", directory.display());
    Failure::usage(problem, "give another place: --store engine:DIRECTORY")
}

/// The folder beside a file; that of standard input is in the current directory.
pub(crate) fn folder(file: &str) -> PathBuf {
    let beside = if file == "-" { None } else { Path::new(file).parent() };
    beside.map_or_else(|| PathBuf::from(FOLDER), |beside| beside.join(FOLDER))
}

/// The directory or the file a URL names; nothing if it names a server.
pub(crate) fn path(url: &StoreUrl) -> Option<&Path> {
    match url {
        StoreUrl::Engine { directory, .. } | StoreUrl::Files { directory, .. } => Some(directory),
        StoreUrl::Sqlite { file, .. } => Some(file),
        StoreUrl::Memory
        | StoreUrl::Postgres(_)
        | StoreUrl::Redis(_)
        | StoreUrl::RedisCluster(_)
        | StoreUrl::Cassandra(_) => None,
    }
}

/// The URL of an engine in a directory.
fn engine_url(directory: &Path) -> String {
    url_of("engine:", directory)
}

/// The URL of a store at a path.
pub(crate) fn url_of(front: &str, path: &Path) -> String {
    let mut url = front.to_string();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'%' | b'?' | b'#' | 0x80.. => url.push_str(&format!("%{byte:02x}")),
            byte => url.push(char::from(*byte)),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_a_file_is_beside_it() {
        assert_eq!(folder("keyspace.toml"), Path::new(".keyway"));
        assert_eq!(folder("apps/chat/keyspace.toml"), Path::new("apps/chat/.keyway"));
        assert_eq!(folder("/k.toml"), Path::new("/.keyway"));
        assert_eq!(folder("-"), Path::new(".keyway"));
    }

    #[test]
    fn a_directory_of_any_name_has_a_url() {
        let path = Path::new("100%?/é b/.keyway/chat");
        let url: StoreUrl = engine_url(path).parse().unwrap();
        assert_eq!(super::path(&url), Some(path));
    }
}

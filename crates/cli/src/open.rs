//! Opens the keyspace of a file on a store.
//!
//! ```text
//! --store URL ──────────────┐
//! FILE ─▶ DIR/.keyway/NAME ─┴▶ store ─▶ keyspace checked for it ─▶ open
//! ```
//!
//! Without `--store`, the store is an engine beside the file, so that the same file finds the same
//! data from wherever it is named. What only looks never makes a store.

use crate::answer::{Answer, Form, write_complaint};
use crate::failure::{Failure, Status};
use crate::report;
use keyway::{Keyway, StoreUrl};
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
    runtime: Runtime,
}

impl Opened {
    /// Waits for some work.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Opens the same keyspace on another store, and lets go of this one.
    pub(crate) fn on(&mut self, url: &str) -> Result<(), Failure> {
        let builder = Keyway::builder();
        let other = self.runtime.block_on(builder.open_text(&self.text, url))?;
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
    let refused = |error: keyway::Error| Answer::failed(Failure::from(error));
    let given: Option<StoreUrl> = wanted.store.map(str::parse).transpose().map_err(refused)?;
    let kind = given.as_ref().map_or(keyspace::model::StoreKind::Engine, StoreUrl::kind);
    let (keyspace, text) = report::read_sound_for(wanted.file, kind, form)?;
    let name = &keyspace.name.value;
    let (url, place) = match (wanted.store, given) {
        (Some(url), given) => (url.to_string(), Place::Given(directory(given))),
        (None, _) => {
            let folder = folder(wanted.file);
            (engine_url(&folder.join(name)), Place::Beside(folder, name.clone()))
        }
    };
    place.look(wanted.may_make)?;
    place.make(form).map_err(Answer::failed)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(|error| {
        let problem = format!("the machine gives no threads: {error}");
        Answer::usage(&problem, "allow this user more processes")
    })?;
    let sweeping = wanted.stays.then_some(Duration::from_secs(10));
    let builder = Keyway::builder().sweep_every(sweeping);
    let keyway = runtime.block_on(builder.open_text(&text, &url)).map_err(refused)?;
    if !form.json {
        let remarks = keyway.remarks();
        remarks.iter().for_each(|remark| write_complaint(&format!("note: {remark}\n")));
    }
    Ok(Opened { keyway, text, runtime })
}

/// Where a store is.
enum Place {
    /// Where a URL says; a directory or a file, or none.
    Given(Option<PathBuf>),
    /// In the folder beside the file, under the keyspace's name.
    Beside(PathBuf, String),
}

impl Place {
    fn directory(&self) -> Option<PathBuf> {
        match self {
            Place::Given(directory) => directory.clone(),
            Place::Beside(folder, name) => Some(folder.join(name)),
        }
    }

    /// Refuses a place at which nothing is, if nothing may be made.
    fn look(&self, may_make: bool) -> Result<(), Answer> {
        match self.directory() {
            Some(directory) if !may_make && !directory.exists() => {
                let problem = format!("there is no store in {}", directory.display());
                let fix = "give the URL of a store: --store engine:DIRECTORY";
                let mut failure = Failure::usage(problem, fix);
                failure.status = Status::Unreachable;
                Err(Answer::failed(failure))
            }
            _ => Ok(()),
        }
    }

    /// Makes the folder beside a file, and says so once.
    fn make(&self, form: Form) -> Result<(), Failure> {
        let Place::Beside(folder, name) = self else { return Ok(()) };
        let directory = folder.join(name);
        if directory.is_dir() {
            return Ok(());
        }
        let made = fs::create_dir_all(&directory).and_then(|()| {
            // Data does not belong into a repository.
            let ignored = folder.join(".gitignore");
            if ignored.exists() { Ok(()) } else { fs::write(ignored, "*\n") }
        });
        made.map_err(|error| {
            let problem = format!("cannot make a store in {}: {error}", directory.display());
            Failure::usage(problem, "give another place: --store engine:DIRECTORY")
        })?;
        if !form.json {
            let shown = directory.display();
            write_complaint(&format!("note: made a store in {shown}; --store URL names another\n"));
        }
        Ok(())
    }
}

/// The folder beside a file; that of standard input is in the current directory.
pub(crate) fn folder(file: &str) -> PathBuf {
    let beside = if file == "-" { None } else { Path::new(file).parent() };
    beside.map_or_else(|| PathBuf::from(FOLDER), |beside| beside.join(FOLDER))
}

fn directory(url: Option<StoreUrl>) -> Option<PathBuf> {
    match url {
        Some(StoreUrl::Engine { directory, .. } | StoreUrl::Files { directory, .. }) => {
            Some(directory)
        }
        Some(StoreUrl::Sqlite { file, .. }) => Some(file),
        _ => None,
    }
}

/// The URL of an engine in a directory.
fn engine_url(directory: &Path) -> String {
    let mut url = "engine:".to_string();
    for byte in directory.as_os_str().as_encoded_bytes() {
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
        assert_eq!(directory(Some(url)).as_deref(), Some(path));
    }
}

//! What every contender must be able to do. All do the same work and answer whole notes;
//! whoever lists also says whether more follow.

use super::notes::{Note, Page};
use std::path::Path;
use std::sync::Arc;

/// How a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Once the operating system has it.
    Process,
    /// Once the disk has it.
    Power,
}

/// A store of notes.
pub trait Contender: Send + std::marker::Sync {
    /// Stores notes of one user, in as large pieces as suit it.
    fn load(&self, notes: Vec<Note>);
    /// One small commit: a note and its two index entries.
    fn insert(&self, note: Note);
    /// One note by its key.
    fn get(&self, author: u64, note_id: u128) -> Option<Note>;
    /// The newest notes of a user.
    fn page(&self, author: u64, rows: usize) -> Page;
    /// The newest notes with a tag, through the index.
    fn tagged(&self, tag: &str, rows: usize) -> Page;
    /// The twenty nearest notes within a radius; none if it cannot.
    fn near(&self, lat: f64, lon: f64, radius: f64) -> Option<Vec<Note>>;

    /// The same three as they are measured, which is how many rows they answer: whoever has rows of
    /// its own, as an application would use them, need not turn them into notes.
    fn page_rows(&self, author: u64, rows: usize) -> usize {
        self.page(author, rows).notes.len()
    }
    /// See [`page_rows`](Contender::page_rows).
    fn tagged_rows(&self, tag: &str, rows: usize) -> usize {
        self.tagged(tag, rows).notes.len()
    }
    /// See [`page_rows`](Contender::page_rows).
    fn near_rows(&self, lat: f64, lon: f64, radius: f64) -> usize {
        self.near(lat, lon, radius).map_or(0, |notes| notes.len())
    }
}

/// A way to open a contender in a directory.
#[derive(Clone, Copy)]
pub struct Entrant {
    /// Its name in the report.
    pub name: &'static str,
    /// Opens it.
    pub open: fn(&Path, Sync) -> Arc<dyn Contender>,
    /// Where in its directory the engine lies, if it uses it: another library that does the same
    /// job does not.
    pub engine: Option<&'static str>,
}

impl Entrant {
    /// Whether it is another library that does the same job.
    pub fn is_peer(&self) -> bool {
        self.engine.is_none()
    }
}

//! Keyway, by the structs and functions of `notes.toml`, on its engine.

use super::contender::{Contender, Sync};
use super::notes::{Note, Page};
use keyway::{Cursor, Ulid};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Runtime};

mod generated {
    #![allow(missing_docs)]
    keyway::include_keyspace!("notes.toml");
}

use generated::{AddNotesEach, Note as Row, Notes, NotesCaller};

/// What calls wait on: one for all, as in an application.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

/// What a call is answered. As where an application awaits it, one that needs no waiting is
/// answered at once, and the run time is entered for the others only.
fn wait_for<F: Future>(call: F) -> F::Output {
    let mut call = pin!(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => RUNTIME.block_on(call),
    }
}

pub struct Typed {
    notes: Notes,
    caller: NotesCaller,
}

pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    Arc::new(Typed::open(path, sync))
}

impl Typed {
    pub fn open(path: &Path, sync: Sync) -> Typed {
        let durability = if sync == Sync::Power { "power" } else { "process" };
        Typed::open_url(&format!("engine:{}?durability={durability}&cache_mib=256", path.display()))
    }

    pub fn open_url(url: &str) -> Typed {
        let notes = RUNTIME.block_on(Notes::open(url)).unwrap();
        let caller = notes.as_user("ann");
        Typed { notes, caller }
    }

    /// Stores notes of one user with one commit.
    pub fn add(&self, notes: Vec<Note>) {
        let Some(author) = notes.first().map(|note| note.author) else { return };
        let rows = notes.into_iter().map(|note| {
            let Note { author: _, note_id, title, words, tag, lat, lon } = note;
            AddNotesEach { note_id: ulid(note_id), title, words, tag, lat, lon }
        });
        wait_for(self.caller.add_notes(author, rows).into_future()).unwrap();
    }

    /// A page of a user's notes after a cursor, and the cursor of the next.
    pub fn page_after(
        &self,
        author: u64,
        rows: u64,
        cursor: Option<Cursor>,
    ) -> (Vec<Row>, Option<Cursor>) {
        let call = self.caller.notes_of(author).limit(rows).cursor(cursor);
        let page = wait_for(call.into_future()).unwrap();
        (page.rows, page.next)
    }

    fn with_tag(&self, tag: &str, rows: usize) -> (Vec<Row>, Option<Cursor>) {
        let call = self.caller.notes_with_tag(tag).limit(rows as u64);
        let page = wait_for(call.into_future()).unwrap();
        (page.rows, page.next)
    }

    fn around(&self, lat: f64, lon: f64, radius: f64) -> Vec<Row> {
        wait_for(self.caller.notes_near(lat, lon, radius).into_future()).unwrap()
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        RUNTIME.block_on(self.notes.close()).unwrap();
    }
}

fn note(row: Row) -> Note {
    let Row { author, note_id, title, words, tag, lat, lon } = row;
    Note { author, note_id: u128::from_be_bytes(note_id.0), title, words, tag, lat, lon }
}

fn page((rows, next): (Vec<Row>, Option<Cursor>)) -> Page {
    Page { notes: rows.into_iter().map(note).collect(), more: next.is_some() }
}

fn ulid(note_id: u128) -> Ulid {
    Ulid(note_id.to_be_bytes())
}

impl Contender for Typed {
    fn load(&self, notes: Vec<Note>) {
        self.add(notes);
    }

    fn insert(&self, note: Note) {
        let Note { author, note_id, title, words, tag, lat, lon } = note;
        let call = self.caller.add_note(author, ulid(note_id), title, words, tag, lat, lon);
        wait_for(call.into_future()).unwrap();
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        let call = self.caller.note(author, ulid(note_id));
        wait_for(call.into_future()).unwrap().map(note)
    }

    fn page(&self, author: u64, rows: usize) -> Page {
        page(self.page_after(author, rows as u64, None))
    }

    fn tagged(&self, tag: &str, rows: usize) -> Page {
        page(self.with_tag(tag, rows))
    }

    fn near(&self, lat: f64, lon: f64, radius: f64) -> Option<Vec<Note>> {
        Some(self.around(lat, lon, radius).into_iter().map(note).collect())
    }

    fn page_rows(&self, author: u64, rows: usize) -> usize {
        self.page_after(author, rows as u64, None).0.len()
    }

    fn tagged_rows(&self, tag: &str, rows: usize) -> usize {
        self.with_tag(tag, rows).0.len()
    }

    fn near_rows(&self, lat: f64, lon: f64, radius: f64) -> usize {
        self.around(lat, lon, radius).len()
    }
}

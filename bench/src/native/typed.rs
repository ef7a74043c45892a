//! Keyway, by the structs and functions of `notes.toml`.

use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use keyway::Ulid;

mod generated {
    #![allow(missing_docs)]
    keyway::include_keyspace!("notes.toml");
}

use generated::{AddNotesEach, Note as Row, Notes, NotesCaller};

pub struct Typed {
    notes: Notes,
    caller: NotesCaller,
}

pub async fn open(url: &str) -> Typed {
    let notes = Notes::open(url).await.unwrap();
    let caller = notes.as_user("ann");
    Typed { notes, caller }
}

impl Typed {
    /// Stores notes of one user with one commit.
    async fn add(&self, notes: Vec<Note>) {
        let Some(author) = notes.first().map(|note| note.author) else { return };
        let rows = notes.into_iter().map(|note| {
            let Note { author: _, note_id, title, words, tag, lat, lon } = note;
            AddNotesEach { note_id: ulid(note_id), title, words, tag, lat, lon }
        });
        self.caller.add_notes(author, rows).into_future().await.unwrap();
    }

    async fn of(&self, author: u64, rows: usize) -> keyway::Page<Row> {
        self.caller.notes_of(author).limit(rows as u64).into_future().await.unwrap()
    }

    async fn with_tag(&self, tag: &str, rows: usize) -> keyway::Page<Row> {
        self.caller.notes_with_tag(tag).limit(rows as u64).into_future().await.unwrap()
    }
}

fn note(row: Row) -> Note {
    let Row { author, note_id, title, words, tag, lat, lon } = row;
    Note { author, note_id: u128::from_be_bytes(note_id.0), title, words, tag, lat, lon }
}

fn page(found: keyway::Page<Row>) -> Page {
    Page { notes: found.rows.into_iter().map(note).collect(), more: found.next.is_some() }
}

fn ulid(note_id: u128) -> Ulid {
    Ulid(note_id.to_be_bytes())
}

impl Contender for Typed {
    fn load(&self, notes: Vec<Note>) -> Work<'_, ()> {
        Box::pin(self.add(notes))
    }

    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(async move {
            let Note { author, note_id, title, words, tag, lat, lon } = note;
            let call = self.caller.add_note(author, ulid(note_id), title, words, tag, lat, lon);
            call.into_future().await.unwrap();
        })
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move {
            self.caller.note(author, ulid(note_id)).into_future().await.unwrap().map(note)
        })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move { page(self.of(author, rows).await) })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move { page(self.with_tag(tag, rows).await) })
    }

    fn page_rows(&self, author: u64, rows: usize) -> Work<'_, usize> {
        Box::pin(async move { self.of(author, rows).await.rows.len() })
    }

    fn tagged_rows<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, usize> {
        Box::pin(async move { self.with_tag(tag, rows).await.rows.len() })
    }

    fn close(&self) -> Work<'_, ()> {
        Box::pin(async move { self.notes.close().await.unwrap() })
    }
}

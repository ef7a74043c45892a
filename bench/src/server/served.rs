//! What every server must be able to do, and the notes that all of them serve.

use super::notes::{self, Note};
use super::ulid::{from_ulid, ulid};
use serde_json::{Value as Json, json};
use servers::kept::Kept;
use std::net::SocketAddr;

/// Whose notes are read and listed.
pub const READER: u64 = 7;
/// Whose notes are made while others are read, so that what is listed stays as it is.
pub const WRITER: u64 = 8;
/// Notes of the reader.
pub const NOTES: u64 = 10_000;
/// Notes of a list.
pub const LISTED: usize = 20;

/// A way to start a server; the reason, in a sentence, where this machine cannot have it.
#[derive(Clone, Copy)]
pub struct Entrant {
    pub name: &'static str,
    pub start: fn() -> Result<Server, String>,
}

/// A server that listens.
pub struct Server {
    pub address: SocketAddr,
    /// Its processes, which end with it.
    pub processes: Vec<Kept>,
    pub speaks: Box<dyn Speaks>,
}

impl Server {
    /// The numbers of its processes.
    pub fn ids(&self) -> Vec<u32> {
        self.processes.iter().filter_map(Kept::id).collect()
    }
}

/// How a server is asked, and how it answers.
pub trait Speaks {
    /// The request that makes a note.
    fn create(&self, note: &Note) -> Vec<u8>;
    /// The request for one note.
    fn read(&self, author: u64, note_id: u128) -> Vec<u8>;
    /// The request for the newest notes of a user.
    fn list(&self, author: u64) -> Vec<u8>;

    /// The row in the answer to the first two.
    fn row<'j>(&self, answer: &'j Json) -> &'j Json {
        &answer["row"]
    }

    /// The rows in the answer to a list.
    fn rows<'j>(&self, answer: &'j Json) -> &'j Json {
        &answer["rows"]
    }

    /// The note that a row is.
    fn note(&self, row: &Json) -> Note {
        note(row, row["author"].as_u64().unwrap(), "note_id")
    }

    /// Whether it lets nobody see another's notes.
    fn has_owners(&self) -> bool {
        true
    }
}

/// A note by number: of the reader those below [`NOTES`], of the writer the others.
pub fn numbered(number: u64) -> Note {
    let author = if number < NOTES { READER } else { WRITER };
    Note { author, ..notes::note(number, NOTES) }
}

/// A note as JSON, as one asks for it to be made.
pub fn members(note: &Note, id_name: &str) -> Json {
    json!({
        id_name: ulid(note.note_id),
        "title": note.title,
        "words": note.words,
        "tag": note.tag,
        "lat": note.lat,
        "lon": note.lon,
    })
}

/// A note from JSON.
pub fn note(row: &Json, author: u64, id_name: &str) -> Note {
    let text = |name: &str| row[name].as_str().unwrap_or_else(|| panic!("no {name} in {row}"));
    let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"));
    Note {
        author,
        note_id: from_ulid(text(id_name)),
        title: text("title").to_string(),
        words: text("words").to_string(),
        tag: text("tag").to_string(),
        lat: number("lat"),
        lon: number("lon"),
    }
}

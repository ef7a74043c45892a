//! The file of a note, as the expert writes and knows it.

use crate::notes::Note;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// What the disk says of a file: another file, or another content, and it says something else.
pub type Stamp = (u64, u64, u64, i64, i64, i64, i64);
pub type Hash = [u8; 16];
pub type Key = (u64, Reverse<u128>);

#[derive(Deserialize, Serialize)]
struct Content<'n> {
    title: Cow<'n, str>,
    words: Cow<'n, str>,
    tag: Cow<'n, str>,
    lat: f64,
    lon: f64,
}

pub fn to_json(note: &Note) -> Vec<u8> {
    let Note { title, words, tag, lat, lon, .. } = note;
    let (title, words, tag) = (title.into(), words.into(), tag.into());
    let mut json =
        serde_json::to_vec_pretty(&Content { title, words, tag, lat: *lat, lon: *lon }).unwrap();
    json.push(b'\n');
    json
}

pub fn from_json((author, Reverse(note_id)): Key, content: &[u8]) -> Note {
    let Content { title, words, tag, lat, lon } = serde_json::from_slice(content).unwrap();
    let (title, words, tag) = (title.into_owned(), words.into_owned(), tag.into_owned());
    Note { author, note_id, title, words, tag, lat, lon }
}

pub fn hash_of(content: &[u8]) -> Hash {
    blake3::hash(content).as_bytes()[..16].try_into().unwrap()
}

pub fn stamp_of(found: &Metadata) -> Stamp {
    let (modified, changed) = (found.mtime_nsec(), found.ctime_nsec());
    (found.dev(), found.ino(), found.size(), found.mtime(), modified, found.ctime(), changed)
}

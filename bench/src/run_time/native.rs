//! native_db: an embedded store of Rust types with secondary keys, on redb.
//!
//! It offers no way to commit without a sync, and no search around a point.

use super::contender::{Contender, Sync};
use super::notes::{Note, Page};
use native_db::{Builder, Database, Models, ToKey, native_db};
use native_model::{Model, native_model};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, LazyLock};

#[derive(Serialize, Deserialize, Clone, Debug)]
#[native_model(id = 1, version = 1)]
#[native_db(
    primary_key(key -> (u64, u128)),
    secondary_key(by_tag -> (String, u128)),
    secondary_key(by_place -> (i64, u128))
)]
struct Stored {
    author: u64,
    note_id: u128,
    title: String,
    words: String,
    tag: String,
    lat: f64,
    lon: f64,
}

impl Stored {
    /// Newest first, as a smaller number.
    fn key(&self) -> (u64, u128) {
        (self.author, !self.note_id)
    }

    fn by_tag(&self) -> (String, u128) {
        (self.tag.clone(), !self.note_id)
    }

    fn by_place(&self) -> (i64, u128) {
        ((self.lat * 100.0) as i64, !self.note_id)
    }
}

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let mut models = Models::new();
    models.define::<Stored>().unwrap();
    models
});

struct Native(Database<'static>);

pub fn open(path: &Path, _: Sync) -> Arc<dyn Contender> {
    std::fs::create_dir_all(path).unwrap();
    let file = path.join("notes.native");
    let mut builder = Builder::new();
    builder.set_cache_size(256 << 20);
    let opened = match file.exists() {
        true => builder.open(&MODELS, file),
        false => builder.create(&MODELS, file),
    };
    Arc::new(Native(opened.unwrap()))
}

fn stored(note: Note) -> Stored {
    let Note { author, note_id, title, words, tag, lat, lon } = note;
    Stored { author, note_id, title, words, tag, lat, lon }
}

fn note(stored: Stored) -> Note {
    let Stored { author, note_id, title, words, tag, lat, lon } = stored;
    Note { author, note_id, title, words, tag, lat, lon }
}

impl Contender for Native {
    fn load(&self, notes: Vec<Note>) {
        let transaction = self.0.rw_transaction().unwrap();
        for note in notes {
            transaction.insert(stored(note)).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn insert(&self, note: Note) {
        self.load(vec![note]);
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        let transaction = self.0.r_transaction().unwrap();
        transaction.get().primary::<Stored>((author, !note_id)).unwrap().map(note)
    }

    fn page(&self, author: u64, rows: usize) -> Page {
        let transaction = self.0.r_transaction().unwrap();
        let scan = transaction.scan().primary::<Stored>().unwrap();
        let found = scan.range((author, 0u128)..=(author, u128::MAX)).unwrap();
        let found = found.take(rows + 1).map(|found| note(found.unwrap()));
        Page::cut(found.collect(), rows)
    }

    fn tagged(&self, tag: &str, rows: usize) -> Page {
        let transaction = self.0.r_transaction().unwrap();
        let scan = transaction.scan().secondary::<Stored>(StoredKey::by_tag).unwrap();
        let range = (tag.to_string(), 0u128)..=(tag.to_string(), u128::MAX);
        let found = scan.range(range).unwrap();
        let found = found.take(rows + 1).map(|found| note(found.unwrap()));
        Page::cut(found.collect(), rows)
    }

    fn near(&self, _: f64, _: f64, _: f64) -> Option<Vec<Note>> {
        None
    }
}

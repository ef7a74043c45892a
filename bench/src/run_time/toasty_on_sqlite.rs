//! Toasty: structs over SQLite, with the same settings as SQLite alone.
//!
//! Every thread has its own connection and its own run time, so that a statement changes no thread
//! on its way. It has no search around a point.

use super::contender::{Contender, Sync};
use super::notes::{Note, Page};
use super::sqlite::settings;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

#[derive(Debug, toasty::Model)]
#[key(partition = author, local = note_id)]
#[index(tag, note_id)]
#[index(place, note_id)]
struct Stored {
    author: u64,
    note_id: Uuid,
    title: String,
    words: String,
    tag: String,
    lat: f64,
    lon: f64,
    place: i64,
}

/// A connection and what runs it.
struct Reached {
    path: PathBuf,
    runtime: Runtime,
    connection: toasty::db::Connection,
}

thread_local! {
    static REACHED: RefCell<Option<Reached>> = const { RefCell::new(None) };
}

struct Toasty {
    path: PathBuf,
    sync: Sync,
    /// SQLite has one writer; waiting here is cheaper than being told that it is busy.
    writer: Mutex<()>,
}

pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    std::fs::create_dir_all(path).unwrap();
    let is_new = !path.join(FILE).exists();
    let opened = Toasty { path: path.join(FILE), sync, writer: Mutex::new(()) };
    // Whatever was reached by another setting of sync is let go.
    REACHED.set(None);
    opened.with(|reached| {
        if is_new {
            reached.runtime.block_on(reached.connection.push_schema()).unwrap();
        }
    });
    Arc::new(opened)
}

const FILE: &str = "notes.toasty";

impl Toasty {
    fn reach(&self) -> Reached {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(async {
            let mut builder = toasty::Db::builder();
            builder.models(toasty::models!(Stored)).max_pool_size(1);
            let url = format!("sqlite:{}", self.path.display());
            let database = builder.connect(&url).await.unwrap();
            let mut connection = database.connection().await.unwrap();
            for setting in settings(self.sync) {
                toasty::sql::query(setting).exec(&mut connection).await.unwrap();
            }
            connection
        });
        Reached { path: self.path.clone(), runtime, connection }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Reached) -> T) -> T {
        REACHED.with(|reached| {
            let mut reached = reached.borrow_mut();
            if reached.as_ref().is_none_or(|reached| reached.path != self.path) {
                *reached = Some(self.reach());
            }
            work(reached.as_mut().unwrap())
        })
    }
}

impl Toasty {
    /// The newest notes of a user, and one more if more follow.
    fn newest(&self, author: u64, rows: usize) -> Vec<Stored> {
        let query = Stored::filter_by_author(author);
        let query = query.order_by(Stored::fields().note_id().desc()).limit(rows + 1);
        self.with(|reached| reached.runtime.block_on(query.exec(&mut reached.connection))).unwrap()
    }

    /// The newest notes with a tag, and one more if more follow.
    fn with_tag(&self, tag: &str, rows: usize) -> Vec<Stored> {
        let query = Stored::filter_by_tag(tag);
        let query = query.order_by(Stored::fields().note_id().desc()).limit(rows + 1);
        self.with(|reached| reached.runtime.block_on(query.exec(&mut reached.connection))).unwrap()
    }
}

fn note(stored: Stored) -> Note {
    let Stored { author, note_id, title, words, tag, lat, lon, place: _ } = stored;
    Note { author, note_id: note_id.as_u128(), title, words, tag, lat, lon }
}

impl Contender for Toasty {
    fn load(&self, notes: Vec<Note>) {
        let mut create = Stored::create_many();
        for note in notes {
            create = create.with_item(|item| {
                item.author(note.author)
                    .note_id(Uuid::from_u128(note.note_id))
                    .title(note.title)
                    .words(note.words)
                    .tag(note.tag)
                    .lat(note.lat)
                    .lon(note.lon)
                    .place((note.lat * 100.0) as i64)
            });
        }
        let _one = self.writer.lock().unwrap();
        self.with(|reached| reached.runtime.block_on(create.exec(&mut reached.connection)))
            .unwrap();
    }

    fn insert(&self, note: Note) {
        let create = Stored::create()
            .author(note.author)
            .note_id(Uuid::from_u128(note.note_id))
            .title(note.title)
            .words(note.words)
            .tag(note.tag)
            .lat(note.lat)
            .lon(note.lon)
            .place((note.lat * 100.0) as i64);
        let _one = self.writer.lock().unwrap();
        self.with(|reached| reached.runtime.block_on(create.exec(&mut reached.connection)))
            .unwrap();
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        let query = Stored::filter_by_author_and_note_id(author, Uuid::from_u128(note_id)).first();
        let found =
            self.with(|reached| reached.runtime.block_on(query.exec(&mut reached.connection)));
        found.unwrap().map(note)
    }

    fn page(&self, author: u64, rows: usize) -> Page {
        Page::cut(self.newest(author, rows).into_iter().map(note).collect(), rows)
    }

    fn tagged(&self, tag: &str, rows: usize) -> Page {
        Page::cut(self.with_tag(tag, rows).into_iter().map(note).collect(), rows)
    }

    fn page_rows(&self, author: u64, rows: usize) -> usize {
        self.newest(author, rows).len().min(rows)
    }

    fn tagged_rows(&self, tag: &str, rows: usize) -> usize {
        self.with_tag(tag, rows).len().min(rows)
    }

    fn near(&self, _: f64, _: f64, _: f64) -> Option<Vec<Note>> {
        None
    }
}

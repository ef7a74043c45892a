//! SQLite, tuned: WAL, a large cache, no row ids, prepared statements, a connection for each thread
//! that reads and one for whoever writes.

use super::contender::{Contender, Sync};
use super::nearest::nearest;
use super::notes::{Note, Page};
use data::{Value, geo};
use keyspace::plan::Grid;
use rusqlite::{Connection, Row, params, params_from_iter};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub struct Sqlite {
    path: PathBuf,
    sync: Sync,
    writer: Mutex<Connection>,
}

thread_local! {
    static READER: RefCell<Option<(PathBuf, Connection)>> = const { RefCell::new(None) };
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS notes (author INTEGER NOT NULL, note_id BLOB NOT NULL,
  title TEXT NOT NULL,
  words TEXT NOT NULL, tag TEXT NOT NULL, lat REAL NOT NULL, lon REAL NOT NULL,
  cell INTEGER NOT NULL, PRIMARY KEY (author, note_id DESC)) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS notes_by_tag ON notes (tag, note_id DESC);
CREATE INDEX IF NOT EXISTS notes_by_place ON notes (cell, lat, lon);
";

/// How a connection is set up.
pub fn settings(sync: Sync) -> [&'static str; 6] {
    let level = match sync {
        Sync::Power => "PRAGMA synchronous=FULL",
        Sync::Process => "PRAGMA synchronous=NORMAL",
    };
    [
        "PRAGMA journal_mode=WAL",
        level,
        "PRAGMA cache_size=-262144",
        "PRAGMA busy_timeout=10000",
        "PRAGMA temp_store=MEMORY",
        "PRAGMA mmap_size=1073741824",
    ]
}

fn connect(path: &Path, sync: Sync) -> Connection {
    let connection = Connection::open(path.join("notes.sqlite")).unwrap();
    for setting in settings(sync) {
        connection.execute_batch(setting).unwrap();
    }
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    std::fs::create_dir_all(path).unwrap();
    let writer = connect(path, sync);
    writer.execute_batch(TABLES).unwrap();
    Arc::new(Sqlite { path: path.to_path_buf(), sync, writer: Mutex::new(writer) })
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let id: [u8; 16] = row.get(1)?;
    Ok(Note {
        author: row.get::<_, i64>(0)? as u64,
        note_id: u128::from_be_bytes(id),
        title: row.get(2)?,
        words: row.get(3)?,
        tag: row.get(4)?,
        lat: row.get(5)?,
        lon: row.get(6)?,
    })
}

impl Sqlite {
    fn write(&self, notes: &[Note]) {
        let mut connection = self.writer.lock().unwrap();
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
                .unwrap();
            for n in notes {
                let id = n.note_id.to_be_bytes();
                let author = n.author as i64;
                let cell = geo::cell(n.lat, n.lon, LEVEL).unwrap() as i64;
                let Note { title, words, tag, lat, lon, .. } = n;
                let values = params![author, id.as_slice(), title, words, tag, lat, lon, cell];
                insert.execute(values).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        READER.with(|reader| {
            let mut reader = reader.borrow_mut();
            if reader.as_ref().is_none_or(|(path, _)| *path != self.path) {
                *reader = Some((self.path.clone(), connect(&self.path, self.sync)));
            }
            work(&reader.as_ref().unwrap().1)
        })
    }
}

impl Contender for Sqlite {
    fn load(&self, notes: Vec<Note>) {
        self.write(&notes);
    }

    fn insert(&self, note: Note) {
        self.write(&[note]);
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        self.read(|connection| {
            let mut query = connection
                .prepare_cached("SELECT * FROM notes WHERE author = ?1 AND note_id = ?2")
                .unwrap();
            let id = note_id.to_be_bytes();
            query.query_row(params![author as i64, id.as_slice()], note).ok()
        })
    }

    fn page(&self, author: u64, rows: usize) -> Page {
        self.read(|connection| {
            let text = "SELECT * FROM notes WHERE author = ?1 ORDER BY note_id DESC LIMIT ?2";
            let mut query = connection.prepare_cached(text).unwrap();
            let found = query.query_map(params![author as i64, rows as i64 + 1], note).unwrap();
            Page::cut(found.map(Result::unwrap).collect(), rows)
        })
    }

    fn tagged(&self, tag: &str, rows: usize) -> Page {
        self.read(|connection| {
            let text = "SELECT * FROM notes WHERE tag = ?1 ORDER BY note_id DESC LIMIT ?2";
            let mut query = connection.prepare_cached(text).unwrap();
            let found = query.query_map(params![tag, rows as i64 + 1], note).unwrap();
            Page::cut(found.map(Result::unwrap).collect(), rows)
        })
    }

    fn near(&self, lat: f64, lon: f64, radius: f64) -> Option<Vec<Note>> {
        let cells = geo::cover(Grid::Cell(LEVEL), lat, lon, radius).unwrap();
        let cells = cells.into_iter().filter_map(|cell| match cell {
            Value::Cell(cell) => Some(cell as i64),
            _ => None,
        });
        let cells: Vec<i64> = cells.collect();
        let found = self.read(|connection| {
            let places = vec!["?"; cells.len()].join(",");
            // The index holds all of this, so no row is touched.
            let text =
                format!("SELECT lat, lon, author, note_id FROM notes WHERE cell IN ({places})");
            let mut query = connection.prepare_cached(&text).unwrap();
            let found = query.query_map(params_from_iter(cells), |row| {
                let key = (row.get::<_, i64>(2)? as u64, u128::from_be_bytes(row.get(3)?));
                Ok(((row.get(0)?, row.get(1)?), key))
            });
            found.unwrap().map(Result::unwrap).collect()
        });
        let keys = nearest(found, lat, lon, radius);
        Some(keys.into_iter().filter_map(|(author, id)| self.get(author, id)).collect())
    }
}

/// The level of the cells by which places are found.
const LEVEL: u32 = 10;

//! What people write first, on the same tables: every statement prepared anew and committed by
//! itself, one connection behind a lock, ids first and then a read for each. No versions that mean
//! anything, no remembered calls; a crash leaves half of an insert.

use crate::Sync;
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::tables::{self, COLUMNS, digits, note};
use crate::ulid::ulid;
use data::geo;
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use std::path::Path;
use std::sync::Mutex;

pub struct Naive {
    connection: Mutex<Connection>,
}

fn one(connection: &Connection, author: &str, id: &str) -> Option<Note> {
    let text = format!("SELECT {COLUMNS} FROM notes WHERE author = ?1 AND note_id = ?2");
    connection.query_row(&text, [author, id], note).optional().unwrap()
}

impl Naive {
    pub fn open(path: &Path, sync: Sync) -> Naive {
        let connection = tables::connect(path, sync);
        tables::make(&connection);
        Naive { connection: Mutex::new(connection) }
    }

    fn write(&self, added: &Note) {
        let connection = self.connection.lock().unwrap();
        let (author, id) = (digits(added.author), ulid(added.note_id));
        assert!(one(&connection, &author, &id).is_none(), "the key is taken");
        let Note { title, words, tag, lat, lon, .. } = added;
        let row = params![author, id, title, words, tag, lat, lon];
        connection
            .execute("INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '')", row)
            .unwrap();
        let entry = params![tag, id, author];
        connection.execute("INSERT INTO notes_by_tag VALUES (?1, ?2, ?3)", entry).unwrap();
        let cell = digits(geo::cell(*lat, *lon, 10).unwrap());
        let entry = params![cell, id, author, lat, lon];
        connection
            .execute("INSERT INTO notes_by_place VALUES (?1, ?2, ?3, ?4, ?5)", entry)
            .unwrap();
    }

    /// Ids first, then a read for each.
    fn many(&self, ids: &str, by: &dyn ToSql) -> Vec<Note> {
        let connection = self.connection.lock().unwrap();
        let mut statement = connection.prepare(ids).unwrap();
        let keys = statement.query_map([by], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let keys: Vec<(String, String)> = keys.map(Result::unwrap).collect();
        keys.iter().filter_map(|(author, id)| one(&connection, author, id)).collect()
    }
}

impl Contender for Naive {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(async move { self.write(&note) })
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(
            async move { one(&self.connection.lock().unwrap(), &digits(author), &ulid(note_id)) },
        )
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move {
            let ids = format!(
                "SELECT author, note_id FROM notes WHERE author = ?1 \
                 ORDER BY note_id DESC LIMIT {rows}"
            );
            Page::guessed(self.many(&ids, &digits(author)), rows)
        })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move {
            let ids = format!(
                "SELECT author, note_id FROM notes_by_tag WHERE tag = ?1 \
                 ORDER BY note_id DESC, author LIMIT {rows}"
            );
            Page::guessed(self.many(&ids, &tag), rows)
        })
    }
}

//! The tables of the notes, which are Keyway's own for all contenders, and the forms of values.

use crate::Sync;
use crate::notes::Note;
use crate::ulid::from_ulid;
use keyspace::model::StoreKind;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Row};
use std::path::Path;

/// The statements of the layout, each as SQLite keeps it, in the order of their text.
pub fn printed() -> Vec<String> {
    let keyspace = keyspace::read(include_str!("../../../notes.toml")).keyspace.unwrap();
    let text = keyspace::layout::print(&keyspace, StoreKind::Sqlite);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    let all = lines.join("\n").replace(" IF NOT EXISTS", "");
    let statements = all.split(";\n").map(|one| one.trim().trim_end_matches(';').to_string());
    let mut statements: Vec<String> = statements.filter(|one| !one.is_empty()).collect();
    statements.sort_unstable();
    statements
}

/// The statements that made what is in a file, in the order of their text.
pub fn of(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let text = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let mut statement = connection.prepare(text).unwrap();
    let found = statement.query_map([], |row| row.get(0)).unwrap();
    let mut found: Vec<String> = found.map(Result::unwrap).collect();
    found.sort_unstable();
    found
}

/// A connection, set as Keyway sets its own.
pub fn connect(path: &Path, sync: Sync) -> Connection {
    std::fs::create_dir_all(path).unwrap();
    let connection = Connection::open(path.join("notes.db")).unwrap();
    let synchronous = match sync {
        Sync::Power => "PRAGMA synchronous=FULL",
        Sync::Process => "PRAGMA synchronous=NORMAL",
    };
    let settings = [
        "PRAGMA journal_mode=WAL",
        "PRAGMA busy_timeout=5000",
        "PRAGMA cache_size=-16384",
        "PRAGMA temp_store=MEMORY",
        "PRAGMA wal_autocheckpoint=4096",
        synchronous,
    ];
    settings.iter().for_each(|setting| connection.execute_batch(setting).unwrap());
    // A LIMIT that is bound does not prepare its statement anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

/// Makes the tables of the layout where they are not there.
pub fn make(connection: &Connection) {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'notes'";
    if connection.query_row(there, [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        printed().iter().rev().for_each(|text| connection.execute_batch(text).unwrap());
    }
}

/// The columns of a note, in the order of [`note`].
pub const COLUMNS: &str = "author, note_id, title, words, tag, lat, lon";

pub fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        author: row.get_ref(0)?.as_str()?.parse().unwrap(),
        note_id: from_ulid(row.get_ref(1)?.as_str()?),
        title: row.get(2)?,
        words: row.get(3)?,
        tag: row.get(4)?,
        lat: row.get(5)?,
        lon: row.get(6)?,
    })
}

/// A number as text that sorts as it does.
pub fn digits(number: u64) -> String {
    format!("{number:020}")
}

//! A table of ours that has another form or name now: a field was added, a word, a new name.
//!
//! ```text
//! users ─rename─▶ keyway_moved_users ─▶ make users anew ─▶ copy ─▶ drop
//! ```
//!
//! A column that the keyspace has no longer stays, optional, with what it holds: it may come back.
//! Indexes and triggers that others made on the table are made again.

use super::catalogue::{Objects, execute};
use super::error::failed;
use super::tables::{Table, Tables};
use super::value;
use crate::sql::table::Part;
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::sqlite::{SqliteTable, SqliteType};
use keyspace::layout::tables::{Column, Holds};
use keyspace::layout::words::Dialect;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, params_from_iter};

/// A table that is made anew.
pub(super) struct Moved<'w> {
    /// The name it had.
    pub(super) before: String,
    /// What it is now.
    pub(super) table: &'w SqliteTable,
    /// The same, with the columns that stay.
    pub(super) with_rest: SqliteTable,
}

/// A table with the columns that the stored one has beside its own.
pub(super) fn with_rest(table: &SqliteTable, objects: &Objects, before: &str) -> SqliteTable {
    let mut with_rest = table.clone();
    for (name, storage) in objects.columns(before) {
        if table.table.columns.iter().any(|column| column.name == name) {
            continue;
        }
        let native = match storage.as_str() {
            "BLOB" => SqliteType::Blob,
            "INTEGER" => SqliteType::Integer,
            "REAL" => SqliteType::Real,
            _ => SqliteType::Text,
        };
        let column = Column::value(name, native, Holds::Internal).or_null(true);
        with_rest.table.columns.push(column.remarked("no longer declared"));
    }
    with_rest
}

impl Moved<'_> {
    fn aside(&self) -> String {
        Dialect::Sqlite.name(&format!("keyway_moved_{}", self.before))
    }

    /// Gives the old table another name, and drops its indexes and triggers.
    pub(super) fn set_aside(&self, connection: &Connection, objects: &Objects) -> Result<()> {
        for (name, object) in objects.of_table(&self.before).filter(|(_, o)| !o.text.is_empty()) {
            let kind = if object.text.starts_with("CREATE TRIGGER") { "TRIGGER" } else { "INDEX" };
            execute(connection, &format!("DROP {kind} {}", Dialect::Sqlite.name(name)))?;
        }
        let before = Dialect::Sqlite.name(&self.before);
        // Views of others go on naming the table by the name they know.
        execute(connection, "PRAGMA legacy_alter_table = ON")?;
        execute(connection, &format!("ALTER TABLE {before} RENAME TO {}", self.aside()))?;
        execute(connection, "PRAGMA legacy_alter_table = OFF")
    }

    /// Makes the table anew, with the rows of the old one.
    pub(super) fn bring_back(
        &self,
        connection: &Connection,
        objects: &Objects,
        tables: &Tables,
    ) -> Result<()> {
        for statement in self.with_rest.statements() {
            execute(connection, &statement)?;
        }
        self.copy(connection, objects, tables)?;
        execute(connection, &format!("DROP TABLE {}", self.aside()))?;
        if self.before != self.table.table.name {
            // What others made names the table as it was called.
            return Ok(());
        }
        let own = format!("{}_expires", self.before);
        let is_own = |name: &str| name.trim_start_matches('_') == own;
        for (_, object) in objects.of_table(&self.before).filter(|(name, _)| !is_own(name)) {
            execute(connection, &object.text)?;
        }
        Ok(())
    }

    fn copy(&self, connection: &Connection, objects: &Objects, tables: &Tables) -> Result<()> {
        let stored: Vec<String> = objects.columns(&self.before).map(|(name, _)| name).collect();
        let made = tables.all().find(|table| table.shape.name == self.table.table.name);
        let mut names = Vec::new();
        let mut sources = Vec::new();
        let mut values = Vec::new();
        for (place, column) in self.with_rest.table.columns.iter().enumerate() {
            names.push(Dialect::Sqlite.name(&column.name));
            let is_literal = matches!(column.holds, Holds::Literals(_));
            let is_stored = stored.contains(&column.name) && !is_literal;
            let name = Dialect::Sqlite.name(&column.name);
            if is_stored && (column.optional || !matches!(column.holds, Holds::Field(_))) {
                sources.push(name);
                continue;
            }
            values.push(self.added(made, place)?);
            sources.push(match is_stored {
                // Rows that were written while it was not declared have none.
                true => format!("coalesce({name}, ?{})", values.len()),
                false => format!("?{}", values.len()),
            });
        }
        let text = format!(
            "INSERT INTO {} ({}) SELECT {} FROM {}",
            Dialect::Sqlite.name(&self.table.table.name),
            names.join(", "),
            sources.join(", "),
            self.aside(),
        );
        connection.execute(&text, params_from_iter(values)).map_err(failed)?;
        Ok(())
    }

    /// What rows that were there before a column answer for it.
    fn added(&self, made: Option<&Table>, place: usize) -> Result<ToSqlOutput<'static>> {
        let unknown = || {
            Error::new(ErrorKind::Mismatch, "a table lacks a column that Keyway cannot fill")
                .with("table", &self.before)
        };
        let shape = &made.ok_or_else(unknown)?.shape;
        let column = shape.columns.get(place).ok_or_else(unknown)?;
        let value = match &column.part {
            Part::Literal(text) => Value::Text(text.clone()),
            Part::Slot(_) | Part::Kept(_) => shape.missing(place).ok_or_else(unknown)?,
            // Rows that were there before rows ended do not end.
            Part::Expires => Value::Null,
            Part::Segment(_) | Part::SortKey(_) | Part::Owner(_) | Part::Version => {
                return Err(unknown());
            }
        };
        match value::form(column, &value)? {
            ToSqlOutput::Borrowed(form) => {
                form.try_into().map(ToSqlOutput::Owned).map_err(|_| unknown())
            }
            ToSqlOutput::Owned(form) => Ok(ToSqlOutput::Owned(form)),
            _ => Err(unknown()),
        }
    }
}

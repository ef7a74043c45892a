//! The tables of a keyspace and their statements, made once for a schema.

use super::error::failed;
use super::scan::Scans;
use super::steps::{Step, takes};
use super::value::{self, Column};
use crate::sql::shown::ROW_BYTES_USUAL;
use crate::sql::statement::Writer;
use crate::sql::table::{Parts, TableShape};
use bytes::Bytes;
use data::schema::Schema;
use data::store::{Key, Row, Versions};
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::sqlite::{SqliteTable, SqliteType, layout};
use keyspace::layout::tables::Purpose;
use keyspace::layout::words::Dialect;
use rusqlite::{CachedStatement, Connection, Statement};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// How this store writes statements.
pub(super) const WRITER: Writer = Writer { dialect: Dialect::Sqlite };

/// The tables of a keyspace.
#[derive(Debug)]
pub(super) struct Tables {
    /// Those of collections and indexes, by the number of their space.
    spaces: BTreeMap<u16, Table>,
    /// Whether the keyspace has commits that must be remembered.
    pub(super) remembers: bool,
    schema: Arc<Schema>,
}

/// A table with its statements.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) shape: TableShape<SqliteType>,
    /// The content of one row.
    get: String,
    /// The version and the end of one row.
    state: String,
    put: String,
    delete: String,
    /// How rows that have ended go.
    pub(super) sweep: Option<Sweep>,
    /// See `scan`.
    pub(super) scans: Scans,
}

/// How rows that have ended go. Its values are the instant, and the most rows.
#[derive(Debug)]
pub(super) enum Sweep {
    /// All at once, by this statement.
    Rows(String),
    /// One by one, found by this statement, with their entries.
    WithEntries(String),
}

impl Tables {
    /// The tables of a schema.
    pub(super) fn new(schema: Arc<Schema>) -> Result<Tables> {
        let mut spaces = BTreeMap::new();
        let mut remembers = false;
        for table in layout(schema.keyspace()).tables {
            remembers |= table.table.purpose == Purpose::Calls;
            if let Some(made) = Table::new(&table, &schema)? {
                spaces.insert(made.shape.space, made);
            }
        }
        Ok(Tables { spaces, remembers, schema })
    }

    /// The table of a space.
    pub(super) fn table(&self, space: u16) -> Result<&Table> {
        match self.spaces.get(&space) {
            Some(table) => Ok(table),
            // A number that the catalogue does not know is an error of its own.
            None => self.schema.space(space).and_then(|_| {
                let message = "SQLite does not keep the rows of histories yet";
                Err(Error::new(ErrorKind::Unsupported, message))
            }),
        }
    }

    /// The tables of some spaces, in the order of their numbers.
    pub(super) fn among(
        &self,
        spaces: RangeInclusive<u16>,
    ) -> impl DoubleEndedIterator<Item = &Table> {
        self.spaces.range(spaces).map(|(_, table)| table)
    }

    /// The schema they were made for.
    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Every table.
    pub(super) fn all(&self) -> impl Iterator<Item = &Table> {
        self.spaces.values()
    }
}

impl Table {
    fn new(table: &SqliteTable, schema: &Schema) -> Result<Option<Table>> {
        let Some(shape) = TableShape::new(&table.table, schema)? else { return Ok(None) };
        let sweep = table.sweep.as_ref().and(shape.expires).map(|place| sweep(&shape, place));
        Ok(Some(Table {
            get: WRITER.get(&shape),
            state: WRITER.select(&shape, &shape.state),
            put: WRITER.put(&shape),
            delete: WRITER.delete(&shape),
            sweep,
            scans: Scans::default(),
            shape,
        }))
    }

    /// The row under a key.
    pub(super) fn get(&self, connection: &Connection, key: &Key) -> Result<Option<Row>> {
        self.get_with(&mut self.getter(connection)?, key)
    }

    /// The statement of [`get_with`](Table::get_with).
    pub(super) fn getter<'c>(&self, connection: &'c Connection) -> Result<CachedStatement<'c>> {
        prepared(connection, &self.get)
    }

    /// The row under a key, by a statement that may be used for many.
    pub(super) fn get_with(
        &self,
        statement: &mut CachedStatement<'_>,
        key: &Key,
    ) -> Result<Option<Row>> {
        self.bind_key(statement, key)?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(ROW_BYTES_USUAL);
        if let Some(state) = self.write_content((row, 0), &mut bytes, Versions::Wanted)? {
            return Ok(Some(state.row(Bytes::from(bytes))));
        }
        let content = self.values(row, &self.shape.content, 0)?;
        self.shape.row_of(&self.shape.shape().decode(key)?, content).map(Some)
    }

    /// The version and the end of the row under a key; its content is left out unless it is a
    /// counter.
    pub(super) fn state(&self, connection: &Connection, key: &Key) -> Result<Option<Row>> {
        if self.shape.is_counter() {
            return self.get(connection, key);
        }
        let mut statement = prepared(connection, &self.state)?;
        self.bind_key(&mut statement, key)?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
        self.direct_state(row).map(Some)
    }

    /// The columns of a row, to be put later.
    pub(super) fn columns(&self, key: &Key, row: &Row) -> Result<Vec<Value>> {
        let segments = self.shape.shape().decode(key)?;
        let values = self.shape.columns_of(&segments, Parts::from(row))?;
        // Whatever SQLite cannot hold is refused before anything is written.
        if takes(Step::Forms) {
            let mut columns = self.shape.columns.iter().zip(&values);
            columns.try_for_each(|(column, value)| value::check(column, value))?;
        }
        Ok(values)
    }

    /// Puts a row.
    pub(super) fn put(&self, connection: &Connection, columns: &[Value]) -> Result<()> {
        let mut statement = prepared(connection, &self.put)?;
        for (number, (column, value)) in self.shape.columns.iter().zip(columns).enumerate() {
            bind(&mut statement, number + 1, column, value)?;
        }
        statement.raw_execute().map_err(failed)?;
        Ok(())
    }

    /// Deletes a row.
    pub(super) fn delete(&self, connection: &Connection, key: &Key) -> Result<()> {
        let mut statement = prepared(connection, &self.delete)?;
        self.bind_key(&mut statement, key)?;
        statement.raw_execute().map_err(failed)?;
        Ok(())
    }

    /// The segments and the row of what a statement answers: segments first, then content.
    fn whole(&self, row: &rusqlite::Row<'_>) -> Result<(Vec<Value>, Row)> {
        let segments = self.values(row, &self.shape.segments, 0)?;
        let segments = self.shape.segments_of(segments)?;
        let content = self.values(row, &self.shape.content, self.shape.segments.len())?;
        let row = self.shape.row_of(&segments, content)?;
        Ok((segments, row))
    }

    /// The slots of a row.
    pub(super) fn slots(&self, row: &Row) -> Result<Vec<Value>> {
        self.shape.collection().map_or(Ok(Vec::new()), |collection| collection.decode(&row.value))
    }

    /// Some rows that have ended, found by the statement of their sweep.
    pub(super) fn ended(
        &self,
        connection: &Connection,
        text: &str,
        (now, rows_max): (&str, i64),
    ) -> Result<Vec<(Vec<Value>, Row)>> {
        let mut statement = prepared(connection, text)?;
        let mut rows = statement.query(rusqlite::params![now, rows_max]).map_err(failed)?;
        let mut ended = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            ended.push(self.whole(row)?);
        }
        Ok(ended)
    }

    /// The values of some columns, which a row has from `first` on.
    pub(super) fn values(
        &self,
        row: &rusqlite::Row<'_>,
        places: &[usize],
        first: usize,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(places.len());
        for (number, place) in places.iter().enumerate() {
            let Some(column) = self.shape.columns.get(*place) else { continue };
            let stored = row.get_ref(first + number).map_err(failed)?;
            values.push(value::read(&self.shape.name, column, stored)?);
        }
        Ok(values)
    }

    pub(super) fn bind_key(&self, statement: &mut Statement<'_>, key: &Key) -> Result<()> {
        let first = self.bind_literal(statement)?;
        self.bind_segments(statement, first + 1, key)
    }

    /// The literal of a key that has nothing else; answers how many values were bound.
    pub(super) fn bind_literal(&self, statement: &mut Statement<'_>) -> Result<usize> {
        match self.shape.literal() {
            Some(text) => {
                statement.raw_bind_parameter(1, text).map_err(failed)?;
                Ok(1)
            }
            None => Ok(0),
        }
    }
}

fn sweep(shape: &TableShape<SqliteType>, ends: usize) -> Sweep {
    let (name, ends) = (WRITER.table(shape), WRITER.columns(shape, &[ends]));
    let ended = |columns: &str| {
        format!("SELECT {columns} FROM {name} WHERE {ends} <= ?1 ORDER BY {ends} LIMIT ?2")
    };
    let mut indexes = shape.collection().into_iter().flat_map(|collection| &collection.indexes);
    match indexes.any(|index| !index.model.unique) {
        true => {
            let all = [shape.segments.as_slice(), &shape.content].concat();
            Sweep::WithEntries(ended(&WRITER.columns(shape, &all)))
        }
        false => {
            let key = WRITER.columns(shape, &shape.key);
            Sweep::Rows(format!("DELETE FROM {name} WHERE ({key}) IN ({})", ended(&key)))
        }
    }
}

/// Binds a value in the form of its column.
pub(super) fn bind(
    statement: &mut Statement<'_>,
    number: usize,
    column: &Column,
    value: &Value,
) -> Result<()> {
    let bound = match value::short_form(column, value) {
        Some(short) => statement.raw_bind_parameter(number, short.output()),
        None => statement.raw_bind_parameter(number, value::long_form(column, value)?),
    };
    bound.map_err(failed)
}

/// A statement that is kept prepared.
pub(super) fn prepared<'c>(connection: &'c Connection, text: &str) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(text).map_err(failed)
}

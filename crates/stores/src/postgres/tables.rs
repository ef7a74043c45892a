//! The tables of a schema with their statements, and keys and rows as values for them.
//!
//! ```text
//! key, row ─▶ a value for each column ─▶ put          get, scan ─▶ columns ─▶ row.rs
//! ```
//!
//! Statements are written once and prepared once a connection. Tables are named without their
//! schema: a session looks into one schema only.

use super::binary::escaped;
use super::statement::{Calls, Many, Sweep, WRITER, peeked, put_many, stretches, walk, whole_key};
use super::together::Together;
use super::value::{NEVER, Native};
use crate::sql::join::Join;
use crate::sql::statement::ScanForm;
use crate::sql::table::{ColumnShape, Part, Parts, TableShape};
use data::schema::{CollectionSchema, ContentShape, Schema, Slot, Space};
use data::store::Key;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyReader};
use keyspace::layout::postgres::{PostgresLayout, PostgresType};
use keyspace::layout::tables::Purpose;
use keyspace::model::Type;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio_postgres::types::Type as NativeType;

/// Everything there is for a keyspace.
#[derive(Debug)]
pub(super) struct Tables {
    /// Its schema.
    pub(super) schema: Arc<Schema>,
    /// Where commits are remembered; nowhere if none has to be.
    pub(super) calls: Option<Calls>,
    /// Statements on several of them.
    pub(super) together: Together,
    by_space: HashMap<u16, Arc<Table>>,
    /// The tables whose ended rows are found by themselves, see `sweep`.
    pub(super) swept: Vec<Arc<Table>>,
}

/// A table with its statements.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) shape: TableShape<PostgresType>,
    pub(super) get: Arc<str>,
    pub(super) put: Arc<str>,
    /// Many rows at once, by an array a column; not where a column is an array itself.
    pub(super) put_many: Option<(Arc<str>, Vec<NativeType>)>,
    pub(super) delete: Arc<str>,
    /// The version, end and count of a row.
    pub(super) peek: Arc<str>,
    /// Many rows, and many peeks, by arrays of their segments; not where a key holds a path.
    pub(super) many: Option<Many>,
    /// Every row in the order of the primary key, from the first and behind one; only where the
    /// order of keys would have to be sorted for.
    pub(super) walk: Option<(Arc<str>, Arc<str>)>,
    /// See `sweep`.
    pub(super) sweep: Option<Sweep>,
    /// Whether it was seen to have large rows, see `shared`.
    pub(super) is_large: AtomicBool,
    /// Rows that are likely to fit into a page.
    pub(super) page_rows: AtomicUsize,
    /// The same of entries with the rows they name.
    pub(super) joined_rows: AtomicUsize,
    /// The collection whose rows are read without their values; not where a field is a list.
    pub(super) direct: Option<Arc<CollectionSchema>>,
    /// Where the version and the end stand in the content.
    pub(super) version: Option<usize>,
    pub(super) expires: Option<usize>,
    scans: Scans,
    /// The same with the rows that entries name.
    throughs: Scans,
    join: OnceLock<Option<Join>>,
}

/// The statement of each scan so far. They are few, and looked through faster than found.
type Scans = RwLock<Vec<(Vec<ScanForm>, Arc<str>)>>;

impl Tables {
    pub(super) fn new(layout: &PostgresLayout, schema: Arc<Schema>) -> Result<Tables> {
        let (mut by_space, mut swept, mut calls) = (HashMap::new(), Vec::new(), None);
        for table in &layout.tables {
            if table.table.purpose == Purpose::Calls {
                calls = Some(Calls::new(&table.table.name));
            }
            let Some(shape) = TableShape::new(&table.table, &schema)? else { continue };
            let counts = match schema.space(shape.space)? {
                Space::Rows(collection) => collection.content == ContentShape::Count,
                _ => false,
            };
            let made = Arc::new(Table::new(shape, counts));
            if table.indexes.iter().any(|index| is_sweep(&made, index)) {
                swept.push(made.clone());
            }
            by_space.insert(made.shape.space, made);
        }
        Ok(Tables { schema, calls, together: Together::default(), by_space, swept })
    }

    /// The table of a space.
    pub(super) fn of_space(&self, space: u16) -> Result<&Arc<Table>> {
        self.by_space.get(&space).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, "a key has a number that the catalogue does not know")
                .with("number", space)
        })
    }

    /// Every table of rows, entries and claims.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_space.values()
    }

    /// The table of a key.
    pub(super) fn of(&self, key: &Key) -> Result<&Arc<Table>> {
        self.of_space(key.space())
    }
}

fn is_sweep(table: &Table, index: &keyspace::layout::postgres::PostgresIndex) -> bool {
    let ends = table.shape.expires.and_then(|place| table.shape.columns.get(place));
    match index.columns.as_slice() {
        [(column, false)] => ends.is_some_and(|ends| ends.name == *column),
        _ => false,
    }
}

impl Table {
    fn new(shape: TableShape<PostgresType>, counts: bool) -> Table {
        let (table, key) = (WRITER.table(&shape), whole_key(&shape));
        let peeked = peeked(&shape, counts);
        Table {
            get: WRITER.get(&shape).into(),
            put: WRITER.put(&shape).into(),
            put_many: put_many(&shape),
            delete: WRITER.delete(&shape).into(),
            peek: format!("SELECT {peeked} FROM {table} WHERE {key}").into(),
            many: Many::new(&shape, &peeked),
            walk: walk(&shape),
            sweep: Sweep::new(&shape),
            is_large: AtomicBool::new(false),
            page_rows: AtomicUsize::new(usize::MAX),
            joined_rows: AtomicUsize::new(usize::MAX),
            direct: shape.collection().filter(|of| is_direct(of)).cloned(),
            version: shape.content.iter().position(|place| is_version(&shape, *place)),
            expires: shape.content.iter().position(|place| Some(*place) == shape.expires),
            scans: RwLock::default(),
            throughs: RwLock::default(),
            join: OnceLock::new(),
            shape,
        }
    }

    /// The statement of a scan over these stretches, one behind the other; it leaves out the first
    /// `known` segments, which are the same in all of them.
    pub(super) fn scan(&self, forms: Vec<ScanForm>, known: usize) -> Arc<str> {
        text(&self.scans, forms, |form| WRITER.scan(&self.shape, form, known), &self.shape)
    }

    /// The same with the rows that its entries name.
    pub(super) fn scan_through(
        &self,
        (rows, join): (&Table, &Join),
        forms: Vec<ScanForm>,
        known: usize,
    ) -> Arc<str> {
        let both = (&self.shape, &rows.shape);
        let write = |form| WRITER.scan_through(both, join, form, known);
        text(&self.throughs, forms, write, &self.shape)
    }

    /// How its entries lead to rows of this table inside one statement, if they do.
    pub(super) fn join(&self, rows: &Table) -> Option<&Join> {
        self.join.get_or_init(|| Join::new(&self.shape, &rows.shape)).as_ref()
    }

    /// The values of a primary key's columns, of an encoded key.
    pub(super) fn values_of<'k>(&'k self, key: &'k Key) -> Result<Vec<Native<'k>>> {
        let mut values = Vec::with_capacity(self.shape.key.len());
        values.extend(self.literal());
        let shape = self.shape.shape();
        let mut reader = KeyReader::new(key.as_ref()).map_err(unreadable)?;
        for segment in &shape.segments {
            let value = reader.value(*segment).map_err(unreadable)?;
            values.push(Native::of_segment(value));
        }
        if shape.attempt {
            reader.uuid(key::Direction::Ascending).map_err(unreadable)?;
        }
        reader.finish().map_err(unreadable)?;
        Ok(values)
    }

    /// The literal of a key that has nothing else.
    pub(super) fn literal(&self) -> Option<Native<'_>> {
        self.shape.literal().map(|text| Native::Bytes(escaped(Cow::Borrowed(text))))
    }

    /// The values of every column of a row.
    pub(super) fn row_values(&self, key: &Key, row: Parts<'_>) -> Result<Vec<Native<'static>>> {
        let segments = self.shape.shape().decode(key)?;
        let values = self.shape.columns_of(&segments, row)?;
        let mut natives = Vec::with_capacity(values.len());
        for (value, column) in values.iter().zip(&self.shape.columns) {
            natives.push(match (&column.part, value) {
                (Part::Expires, Value::Null) if !column.optional => NEVER,
                _ => held(owned(value, column)?, column, value)?,
            });
        }
        Ok(natives)
    }

    /// Every statement about it so far.
    #[cfg(test)]
    pub(super) fn statements(&self) -> Vec<Arc<str>> {
        let mut all = vec![self.get.clone(), self.delete.clone(), self.peek.clone()];
        all.extend(self.many.iter().flat_map(|many| [many.get.clone(), many.peek.clone()]));
        all.extend(self.walk.iter().flat_map(|(first, next)| [first.clone(), next.clone()]));
        for scans in [&self.scans, &self.throughs] {
            let scans = scans.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(scans.iter().map(|(_, text)| text.clone()));
        }
        all
    }

    /// How many rows of it a page is likely to hold.
    pub(super) fn likely_rows(&self, asked: usize) -> usize {
        self.page_rows.load(Ordering::Relaxed).clamp(1, asked)
    }
}

/// The statement over stretches of these forms, one behind the other: each is written by `write`,
/// all of them once.
fn text(
    scans: &Scans,
    forms: Vec<ScanForm>,
    write: impl Fn(ScanForm) -> String,
    shape: &TableShape<PostgresType>,
) -> Arc<str> {
    let find = |scans: &[(Vec<ScanForm>, Arc<str>)]| {
        scans.iter().find(|(of, _)| *of == forms).map(|(_, text)| text.clone())
    };
    if let Some(text) = find(&scans.read().unwrap_or_else(PoisonError::into_inner)) {
        return text;
    }
    let mut scans = scans.write().unwrap_or_else(PoisonError::into_inner);
    // A statement is known by where its text is, so that there is one text.
    if let Some(text) = find(&scans) {
        return text;
    }
    let text: Arc<str> = match forms.as_slice() {
        [one] => write(*one).into(),
        several => stretches(shape, several, write).into(),
    };
    scans.push((forms, text.clone()));
    text
}

/// Whether every field is written in a record as its column has it, or nearly so.
fn is_direct(collection: &CollectionSchema) -> bool {
    let plain = |slot: &Slot| !matches!(slot.slot_type.required(), Type::List(_) | Type::Path);
    collection.slots.iter().all(plain)
}

fn is_version(shape: &TableShape<PostgresType>, place: usize) -> bool {
    shape.columns.get(place).is_some_and(|column| column.part == Part::Version)
}

fn owned(value: &Value, column: &ColumnShape<PostgresType>) -> Result<Native<'static>> {
    let native = Native::of_field(value, &column.value_type);
    native.map(Native::into_owned).map_err(|error| error.with("column", &column.name))
}

/// Refuses an instant or a day that PostgreSQL does not have.
fn held(
    native: Native<'static>,
    column: &ColumnShape<PostgresType>,
    value: &Value,
) -> Result<Native<'static>> {
    if native.is_held() {
        return Ok(native);
    }
    let shown = value.to_json(&column.value_type);
    Err(Error::new(
        ErrorKind::Argument,
        "PostgreSQL has no such time: its years are 4713 BC to 294276",
    )
    .with("field", &column.name)
    .with("given", shown))
}

fn unreadable(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a key cannot be read").caused_by(error)
}

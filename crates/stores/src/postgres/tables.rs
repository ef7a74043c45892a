//! The tables of a schema with their statements, and rows as values for them.
//!
//! ```text
//! key, row ─▶ a value for each column ─▶ put          get, scan ─▶ columns ─▶ key, row
//! ```
//!
//! Statements are written once and prepared once a connection. Tables are named without their
//! schema: a session looks into one schema only.

use super::value::{self, NEVER, Native, Raw};
use crate::sql::statement::{ScanForm, Writer};
use crate::sql::table::{ColumnShape, Part, Parts, TableShape};
use data::schema::{ContentShape, Schema, Space};
use data::store::{Key, Keyed, Row, Version};
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::postgres::{PostgresLayout, PostgresType};
use keyspace::layout::tables::Purpose;
use keyspace::layout::words::Dialect;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_postgres::types::Type as NativeType;

/// Writes statements in PostgreSQL's words.
const WRITER: Writer = Writer { dialect: Dialect::Postgres };

/// Everything there is for a keyspace.
#[derive(Debug)]
pub(super) struct Tables {
    /// Its schema.
    pub(super) schema: Arc<Schema>,
    /// Where commits are remembered; nowhere if none has to be.
    pub(super) calls: Option<Calls>,
    by_space: HashMap<u16, Arc<Table>>,
    /// The tables whose ended rows are found by themselves, see `sweep`.
    pub(super) swept: Vec<Arc<Table>>,
}

/// The statements on the table that remembers commits.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) insert: Arc<str>,
    pub(super) find: Arc<str>,
    pub(super) forget: Arc<str>,
}

/// A table with its statements.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) shape: TableShape<PostgresType>,
    pub(super) get: Arc<str>,
    pub(super) put: Arc<str>,
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
    /// Rows that are likely to fit into a page.
    pub(super) page_rows: AtomicUsize,
    scans: RwLock<HashMap<Vec<ScanForm>, Arc<str>>>,
}

/// Statements about many rows: each key with its number.
#[derive(Debug)]
pub(super) struct Many {
    pub(super) get: Arc<str>,
    pub(super) peek: Arc<str>,
    elements: Vec<NativeType>,
}

/// Statements that remove rows which have ended.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Some ended rows, by the order in which they end: their columns.
    pub(super) rows: Arc<str>,
    /// A row of this key, if it has ended.
    pub(super) ended: Arc<str>,
}

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
        Ok(Tables { schema, calls, by_space, swept })
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

impl Calls {
    fn new(table: &str) -> Calls {
        let table = Dialect::Postgres.name(table);
        Calls {
            insert: format!("INSERT INTO {table} (id, outcome, at) VALUES ($1, $2, $3)").into(),
            find: format!("SELECT outcome FROM {table} WHERE id = $1").into(),
            forget: format!(
                "DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} \
                 WHERE at < $1 ORDER BY at LIMIT $2))"
            )
            .into(),
        }
    }
}

impl Table {
    fn new(shape: TableShape<PostgresType>, counts: bool) -> Table {
        let (table, key) = (WRITER.table(&shape), whole_key(&shape));
        let peeked = peeked(&shape, counts);
        Table {
            get: WRITER.get(&shape).into(),
            put: WRITER.put(&shape).into(),
            delete: WRITER.delete(&shape).into(),
            peek: format!("SELECT {peeked} FROM {table} WHERE {key}").into(),
            many: Many::new(&shape, &peeked),
            walk: walk(&shape),
            sweep: Sweep::new(&shape),
            page_rows: AtomicUsize::new(usize::MAX),
            scans: RwLock::default(),
            shape,
        }
    }

    /// The statement of a scan over these stretches, one behind the other.
    pub(super) fn scan(&self, forms: Vec<ScanForm>) -> Arc<str> {
        let known = self.scans.read().unwrap_or_else(PoisonError::into_inner).get(&forms).cloned();
        if let Some(known) = known {
            return known;
        }
        let text: Arc<str> = match forms.as_slice() {
            [one] => WRITER.scan(&self.shape, *one).into(),
            several => stretches(&self.shape, several).into(),
        };
        let mut scans = self.scans.write().unwrap_or_else(PoisonError::into_inner);
        scans.insert(forms, text.clone());
        text
    }

    /// The values of a primary key's columns.
    pub(super) fn key_values(&self, segments: &[Value]) -> Result<Vec<Native<'static>>> {
        let columns = self.shape.key.iter().filter_map(|place| self.shape.columns.get(*place));
        let value = |column: &ColumnShape<PostgresType>| match &column.part {
            Part::Literal(text) => owned(&Value::Text(text.clone()), column),
            Part::Segment(place) => match segments.get(*place) {
                Some(value) => owned(value, column),
                None => Err(Error::new(ErrorKind::Internal, "a key has too few values")),
            },
            _ => Err(Error::new(ErrorKind::Internal, "a key has a column that is no segment")),
        };
        columns.map(value).collect()
    }

    /// The values of a primary key's columns, of an encoded key.
    pub(super) fn values_of(&self, key: &Key) -> Result<Vec<Native<'static>>> {
        self.key_values(&self.shape.shape().decode(key)?)
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

    /// The parts of a scanned row: its key, and what it is.
    pub(super) fn keyed(&self, found: &tokio_postgres::Row) -> Result<Keyed> {
        let count = self.shape.segments.len();
        let columns = self.columns(found, 0, &self.shape.segments)?;
        let segments = self.shape.segments_of(columns)?;
        let content = self.columns(found, count, &self.shape.content)?;
        let key = self.shape.key_of(&segments)?;
        let row = self.shape.row_of(&segments, content)?;
        Ok(Keyed { key, row })
    }

    /// A row whose key is known; its content begins at the column `from`.
    pub(super) fn row(&self, key: &Key, found: &tokio_postgres::Row, from: usize) -> Result<Row> {
        let segments = self.shape.shape().decode(key)?;
        let content = self.columns(found, from, &self.shape.content)?;
        self.shape.row_of(&segments, content)
    }

    /// What a check or an addition needs of a row: no more than its version, end and count.
    pub(super) fn peeked(&self, found: &tokio_postgres::Row, from: usize) -> Result<Row> {
        let raw = |number: usize| raw(found, from + number);
        let version = match raw(0)? {
            Some(bytes) => Some(version(bytes)?),
            None => None,
        };
        let expires = value::expires(raw(1)?)?;
        let value = raw(2)?.map(bytes::Bytes::copy_from_slice).unwrap_or_default();
        Ok(Row { value, version, expires, trail: None })
    }

    fn columns(
        &self,
        found: &tokio_postgres::Row,
        from: usize,
        places: &[usize],
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(places.len());
        for (number, place) in places.iter().enumerate() {
            let Some(column) = self.shape.columns.get(*place) else { continue };
            let raw = raw(found, from + number)?;
            values.push(match column.part {
                Part::Expires => value::expires(raw)?.map_or(Value::Null, Value::Timestamp),
                _ => value::field(&column.value_type, raw)
                    .map_err(|error| error.with("column", &column.name))?,
            });
        }
        Ok(values)
    }

    /// Every statement about it so far.
    #[cfg(test)]
    pub(super) fn statements(&self) -> Vec<Arc<str>> {
        let mut all = vec![self.get.clone(), self.delete.clone(), self.peek.clone()];
        all.extend(self.many.iter().flat_map(|many| [many.get.clone(), many.peek.clone()]));
        all.extend(self.walk.iter().flat_map(|(first, next)| [first.clone(), next.clone()]));
        all.extend(self.scans.read().unwrap_or_else(PoisonError::into_inner).values().cloned());
        all
    }

    /// How many rows of it a page is likely to hold.
    pub(super) fn likely_rows(&self, asked: usize) -> usize {
        self.page_rows.load(Ordering::Relaxed).clamp(1, asked)
    }
}

fn raw(found: &tokio_postgres::Row, place: usize) -> Result<Option<&[u8]>> {
    let Raw(raw) = found.try_get(place).map_err(|error| {
        Error::new(ErrorKind::Internal, "an answer has too few columns").caused_by(error)
    })?;
    Ok(raw)
}

fn version(raw: &[u8]) -> Result<Version> {
    let bytes = <[u8; 16]>::try_from(raw);
    let bytes = bytes.map_err(|_| Error::new(ErrorKind::Corrupt, "a version is no UUID"))?;
    Ok(Version::from_stored(bytes))
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

/// What [`Table::peeked`] reads.
fn peeked(shape: &TableShape<PostgresType>, counts: bool) -> String {
    let find = |is: &dyn Fn(&ColumnShape<PostgresType>) -> bool| {
        let found = shape.columns.iter().find(|column| is(column));
        found.map(|column| Dialect::Postgres.name(&column.name))
    };
    let ends = shape.expires.and_then(|place| shape.columns.get(place));
    let version = find(&|column| column.part == Part::Version);
    let expires = ends.map(|column| Dialect::Postgres.name(&column.name));
    let total = counts.then(|| find(&|column| column.part == Part::Slot(0))).flatten();
    let or = |column: Option<String>, of: &str| column.unwrap_or_else(|| format!("NULL::{of}"));
    format!("{}, {}, {}", or(version, "uuid"), or(expires, "timestamptz"), or(total, "bigint"))
}

impl Many {
    fn new(shape: &TableShape<PostgresType>, peeked: &str) -> Option<Many> {
        let mut elements = Vec::new();
        for segment in &shape.shape().segments {
            elements.push(value::key_element(segment.kind)?);
        }
        if elements.is_empty() {
            return None;
        }
        let table = WRITER.table(shape);
        let columns = shape.segments.iter().filter_map(|place| shape.columns.get(*place));
        let mut arrays = Vec::new();
        let mut names = Vec::new();
        let mut joined = Vec::new();
        for (number, (column, element)) in columns.zip(&elements).enumerate() {
            let place = number + 1;
            arrays.push(format!("${place}::{}[]", element.name()));
            names.push(format!("k{place}"));
            let collate = match *element == NativeType::TEXT {
                true => " COLLATE \"C\"",
                false => "",
            };
            let name = Dialect::Postgres.name(&column.name);
            joined.push(format!("t.{name} = k.k{place}{collate}"));
        }
        let from = format!(
            "FROM unnest({}) WITH ORDINALITY AS k({}, n) JOIN {table} t ON {}",
            arrays.join(", "),
            names.join(", "),
            joined.join(" AND ")
        );
        let content = match shape.content.as_slice() {
            [] => String::new(),
            content => {
                let columns = content.iter().filter_map(|place| shape.columns.get(*place));
                columns.map(|c| format!(", t.{}", Dialect::Postgres.name(&c.name))).collect()
            }
        };
        Some(Many {
            get: format!("SELECT k.n{content} {from}").into(),
            peek: format!("SELECT k.n, {peeked} {from}").into(),
            elements,
        })
    }

    /// The values of a statement about these keys.
    pub(super) fn values(&self, table: &Table, keys: &[&Key]) -> Result<Vec<Native<'static>>> {
        let mut arrays: Vec<Vec<Native<'static>>> =
            self.elements.iter().map(|_| Vec::with_capacity(keys.len())).collect();
        for key in keys {
            let values = table.key_values(&table.shape.shape().decode(key)?)?;
            for (array, value) in arrays.iter_mut().zip(values) {
                array.push(value);
            }
        }
        let typed = self.elements.iter().cloned().zip(arrays);
        Ok(typed.map(|(element, values)| Native::Array(element, values)).collect())
    }
}

impl Sweep {
    fn new(shape: &TableShape<PostgresType>) -> Option<Sweep> {
        let ends = shape.columns.get(shape.expires?)?;
        let ends = Dialect::Postgres.name(&ends.name);
        let (table, key) = (WRITER.table(shape), whole_key(shape));
        let mut read = shape.segments.clone();
        read.extend(&shape.content);
        let read = match read.is_empty() {
            true => "1".to_string(),
            false => WRITER.columns(shape, &read),
        };
        let last = shape.key.len() + 1;
        Some(Sweep {
            rows: format!(
                "DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} \
                 WHERE {ends} <= $1 ORDER BY {ends} LIMIT $2 FOR UPDATE SKIP LOCKED)) \
                 RETURNING {read}"
            )
            .into(),
            ended: format!("DELETE FROM {table} WHERE {key} AND {ends} <= ${last}").into(),
        })
    }
}

/// See [`Table::walk`]: groups ascend and what is in them descends, so that a group is read
/// backwards, and no index has the order of all.
fn walk(shape: &TableShape<PostgresType>) -> Option<(Arc<str>, Arc<str>)> {
    let group = shape.shape().group;
    let columns = shape.segments.iter().filter_map(|place| shape.columns.get(*place));
    let mut rest = columns.skip(group).peekable();
    if group == 0 || rest.peek().is_none() || !rest.all(|column| column.descending) {
        return None;
    }
    let mut read = shape.segments.clone();
    read.extend(&shape.content);
    let (table, read) = (WRITER.table(shape), WRITER.columns(shape, &read));
    let key = WRITER.columns(shape, &shape.key);
    let places: Vec<String> = (1..=shape.key.len()).map(|number| WRITER.place(number)).collect();
    let last = WRITER.place(shape.key.len() + 1);
    let first = format!("SELECT {read} FROM {table} ORDER BY {key} LIMIT $1");
    let next = format!(
        "SELECT {read} FROM {table} WHERE ({key}) > ({}) ORDER BY {key} LIMIT {last}",
        places.join(", ")
    );
    Some((first.into(), next.into()))
}

/// The columns of the primary key, each equal to a value.
fn whole_key(shape: &TableShape<PostgresType>) -> String {
    let columns = shape.key.iter().filter_map(|place| shape.columns.get(*place));
    let equal = columns.enumerate().map(|(number, column)| {
        format!("{} = ${}", Dialect::Postgres.name(&column.name), number + 1)
    });
    equal.collect::<Vec<_>>().join(" AND ")
}

/// Stretches one behind the other, each read only as far as the ones before it leave room.
fn stretches(shape: &TableShape<PostgresType>, forms: &[ScanForm]) -> String {
    let mut parts = Vec::new();
    let mut values = 0;
    for form in forms {
        // Every stretch counts its values anew; the last of each is its limit.
        let text = WRITER.scan(shape, *form);
        let edge = |edge: Option<(usize, bool)>| edge.map_or(0, |(values, _)| values);
        let literals = shape.key.len() - shape.segments.len();
        let count = literals + form.equal + edge(form.lower) + edge(form.upper) + 1;
        parts.push(format!("({})", renumbered(&text, values)));
        values += count;
    }
    format!("{} LIMIT ${values}", parts.join(" UNION ALL "))
}

/// The same statement with every `$number` so much larger. Names are quoted or plain words, so that
/// no other `$` is in it.
fn renumbered(text: &str, by: usize) -> String {
    let mut parts = text.split('$');
    let mut moved = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
        let number: usize = number.parse().unwrap_or_default();
        moved.push_str(&format!("${}{rest}", number + by));
    }
    moved
}

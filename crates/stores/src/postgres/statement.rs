//! The statements on one table beyond those that every store with tables has: many rows at once,
//! the state of a row, stretches one behind the other, walks and sweeps.

use super::tables::Table;
use super::value::{Native, key_element};
use crate::sql::statement::{ScanForm, Writer};
use crate::sql::table::{ColumnShape, Part, TableShape};
use data::Result;
use data::store::Key;
use keyspace::layout::postgres::PostgresType;
use keyspace::layout::words::Dialect;
use std::sync::Arc;
use tokio_postgres::types::Type as NativeType;

/// Writes statements in PostgreSQL's words.
pub(super) const WRITER: Writer = Writer { dialect: Dialect::Postgres };

/// The statements on the table that remembers commits.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) insert: Arc<str>,
    pub(super) find: Arc<str>,
    /// Removes some that are old, the oldest first, and says how many.
    pub(super) forget: Arc<str>,
}

impl Calls {
    pub(super) fn new(table: &str) -> Calls {
        let table = Dialect::Postgres.name(table);
        Calls {
            insert: format!("INSERT INTO {table} (id, outcome, at) VALUES ($1, $2, $3)").into(),
            find: format!("SELECT outcome FROM {table} WHERE id = $1").into(),
            forget: format!(
                "WITH gone AS (DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} \
                 WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING id) SELECT count(*) FROM gone"
            )
            .into(),
        }
    }
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

impl Many {
    pub(super) fn new(shape: &TableShape<PostgresType>, peeked: &str) -> Option<Many> {
        let mut elements = Vec::new();
        for segment in &shape.shape().segments {
            elements.push(key_element(segment.kind)?);
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
    pub(super) fn values<'k>(&self, table: &'k Table, keys: &[&'k Key]) -> Result<Vec<Native<'k>>> {
        let mut arrays: Vec<Vec<Native<'k>>> =
            self.elements.iter().map(|_| Vec::with_capacity(keys.len())).collect();
        for key in keys {
            for (array, value) in arrays.iter_mut().zip(table.values_of(key)?) {
                array.push(value);
            }
        }
        let typed = self.elements.iter().cloned().zip(arrays);
        Ok(typed.map(|(element, values)| Native::Array(element, values)).collect())
    }
}

impl Sweep {
    pub(super) fn new(shape: &TableShape<PostgresType>) -> Option<Sweep> {
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

/// What [`Table::peeked`] reads.
pub(super) fn peeked(shape: &TableShape<PostgresType>, counts: bool) -> String {
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

/// See [`Table::put_many`].
pub(super) fn put_many(shape: &TableShape<PostgresType>) -> Option<(Arc<str>, Vec<NativeType>)> {
    let elements: Option<Vec<NativeType>> =
        shape.columns.iter().map(|column| element(&column.native)).collect();
    let elements = elements?;
    let typed = elements.iter().enumerate();
    let arrays: Vec<String> =
        typed.map(|(number, of)| format!("${}::{}[]", number + 1, of.name())).collect();
    let one = WRITER.put(shape);
    let (insert, conflict) = (one.split_once(" VALUES (")?.0, one.split_once(" ON CONFLICT ")?.1);
    let many =
        format!("{insert} SELECT * FROM unnest({}) ON CONFLICT {conflict}", arrays.join(", "));
    Some((many.into(), elements))
}

/// The type of a column, for an array of its values.
fn element(native: &PostgresType) -> Option<NativeType> {
    Some(match native {
        PostgresType::Text | PostgresType::Word(_) => NativeType::TEXT,
        PostgresType::Bytea => NativeType::BYTEA,
        PostgresType::Boolean => NativeType::BOOL,
        PostgresType::BigInt => NativeType::INT8,
        PostgresType::Unsigned => NativeType::NUMERIC,
        PostgresType::Double => NativeType::FLOAT8,
        PostgresType::Uuid | PostgresType::TimeUuid => NativeType::UUID,
        PostgresType::Timestamp => NativeType::TIMESTAMPTZ,
        PostgresType::Date => NativeType::DATE,
        PostgresType::Json => NativeType::JSON,
        PostgresType::Path | PostgresType::Array(_) => return None,
    })
}

/// See [`Table::walk`]: groups ascend and what is in them descends, so that a group is read
/// backwards, and no index has the order of all.
pub(super) fn walk(shape: &TableShape<PostgresType>) -> Option<(Arc<str>, Arc<str>)> {
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
pub(super) fn whole_key(shape: &TableShape<PostgresType>) -> String {
    let columns = shape.key.iter().filter_map(|place| shape.columns.get(*place));
    let equal = columns.enumerate().map(|(number, column)| {
        format!("{} = ${}", Dialect::Postgres.name(&column.name), number + 1)
    });
    equal.collect::<Vec<_>>().join(" AND ")
}

/// Stretches one behind the other, each read only as far as the ones before it leave room.
pub(super) fn stretches(
    shape: &TableShape<PostgresType>,
    forms: &[ScanForm],
    write: impl Fn(ScanForm) -> String,
) -> String {
    let mut parts = Vec::new();
    let mut values = 0;
    for form in forms {
        // Every stretch counts its values anew; the last of each is its limit.
        let text = write(*form);
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
pub(super) fn renumbered(text: &str, by: usize) -> String {
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

/// How many values a statement has.
pub(super) fn places(text: &str) -> usize {
    let number = |part: &str| {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        part.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    text.split('$').skip(1).map(number).max().unwrap_or(0)
}

//! The statements on one table: a row by its key, a stretch of a range, a put, a delete.
//!
//! ```text
//! SELECT … WHERE room = ?1 AND (at, id) < (?2, ?3) ORDER BY at DESC, id DESC LIMIT ?4
//! ```
//!
//! A stretch has edges in one direction each, so an edge is one comparison of tuples that an index
//! in the order of the key serves from its first row. The text of a statement depends on how many
//! values an edge has, never on the values.

use super::join::{Join, Proof};
use super::table::{ColumnShape, Part, TableShape};
use crate::native::range::Bounds;
use data::store::Versions;
use keyspace::key;
use keyspace::layout::words::Dialect;

/// What the text of a scan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScanForm {
    /// Values of leading segments.
    pub equal: usize,
    /// Values of the lower edge, and whether it is inclusive.
    pub lower: Option<(usize, bool)>,
    /// Values of the upper edge, and whether it is inclusive.
    pub upper: Option<(usize, bool)>,
    /// From the last key to the first.
    pub reverse: bool,
    /// Whether the versions of rows are read.
    pub versions: Versions,
}

impl ScanForm {
    /// The form of a stretch, see [`Bounds::stretches`].
    pub fn of(stretch: &Bounds<'_>, reverse: bool, versions: Versions) -> Self {
        let edge = |edge: &Option<crate::native::range::Edge<'_>>| {
            edge.as_ref().map(|edge| (edge.values.len(), edge.inclusive))
        };
        let (lower, upper) = (edge(&stretch.lower), edge(&stretch.upper));
        ScanForm { equal: stretch.equal.len(), lower, upper, reverse, versions }
    }
}

/// Writes statements for a store.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// Its words.
    pub dialect: Dialect,
}

impl Writer {
    /// The place of a value in a statement, from 1.
    pub fn place(&self, number: usize) -> String {
        match self.dialect {
            Dialect::Sqlite => format!("?{number}"),
            Dialect::Postgres => format!("${number}"),
            Dialect::Cql => "?".to_string(),
        }
    }

    /// The table's name.
    pub fn table<N>(&self, table: &TableShape<N>) -> String {
        self.dialect.name(&table.name)
    }

    /// Columns by their places, after each other.
    pub fn columns<N>(&self, table: &TableShape<N>, places: &[usize]) -> String {
        let columns = places.iter().filter_map(|place| table.columns.get(*place));
        self.dialect.names(columns.map(|column| column.name.as_str()))
    }

    /// `SELECT` of the content of one row; its values are those of the primary key.
    pub fn get<N>(&self, table: &TableShape<N>) -> String {
        self.select(table, &table.content)
    }

    /// `SELECT` of some columns of one row; its values are those of the primary key.
    pub fn select<N>(&self, table: &TableShape<N>, places: &[usize]) -> String {
        let columns = match places {
            [] => "1".to_string(),
            places => self.columns(table, places),
        };
        let (name, key) = (self.table(table), self.whole_key(table));
        format!("SELECT {columns} FROM {name} WHERE {key}")
    }

    /// `DELETE` of one row; its values are those of the primary key.
    pub fn delete<N>(&self, table: &TableShape<N>) -> String {
        format!("DELETE FROM {} WHERE {}", self.table(table), self.whole_key(table))
    }

    /// `INSERT` or `UPDATE` of one row; its values are those of all columns, in order.
    pub fn put<N>(&self, table: &TableShape<N>) -> String {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let places: Vec<String> = (1..=all.len()).map(|number| self.place(number)).collect();
        let set: Vec<String> = (all.iter().filter(|place| !table.key.contains(place)))
            .filter_map(|place| table.columns.get(*place))
            .map(|column| self.dialect.name(&column.name))
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let then = match set.is_empty() {
            true => "NOTHING".to_string(),
            false => format!("UPDATE SET {}", set.join(", ")),
        };
        format!(
            "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO {then}",
            self.table(table),
            self.columns(table, &all),
            places.join(", "),
            self.columns(table, &table.key),
        )
    }

    /// `SELECT` of the segments, the first `known` left out, and then the content of the rows of a
    /// stretch. Its values are the literal of the key if it has nothing else, those of
    /// [`scan_segments`], and the most rows.
    pub fn scan<N>(&self, table: &TableShape<N>, form: ScanForm, known: usize) -> String {
        let read = match read(table, known, form.versions).as_slice() {
            [] => "1".to_string(),
            read => self.columns(table, read),
        };
        let (name, stretch) = (self.table(table), self.stretch(table, form, ""));
        format!("SELECT {read} FROM {name}{stretch}")
    }

    /// The same of entries, each with the content of the row it names behind its own, and the proof
    /// that there is one.
    pub fn scan_through<N>(
        &self,
        (entries, rows): (&TableShape<N>, &TableShape<N>),
        on: &Join,
        form: ScanForm,
        known: usize,
    ) -> String {
        let name = |of: &str, table: &TableShape<N>, place: &usize| {
            let column = table.columns.get(*place).map(|column| self.dialect.name(&column.name));
            format!("{of}.{}", column.unwrap_or_default())
        };
        let own = read(entries, known, form.versions);
        let own = own.iter().map(|place| name("e", entries, place));
        let proof = match on.proof(form.versions) {
            Proof::Content(_) => None,
            Proof::Behind(place) => Some(place),
        };
        let theirs = rows.content_read(form.versions).iter().chain(&proof);
        let theirs = theirs.map(|place| name("r", rows, place));
        let read: Vec<String> = own.chain(theirs).collect();
        let equal = on.columns.iter().map(|(entry, row)| {
            format!("{} = {}", name("r", rows, row), name("e", entries, entry))
        });
        format!(
            "SELECT {} FROM {} e LEFT JOIN {} r ON {}{}",
            read.join(", "),
            self.table(entries),
            self.table(rows),
            equal.collect::<Vec<_>>().join(" AND "),
            self.stretch(entries, form, "e."),
        )
    }

    /// What follows a table of which a stretch is read: which rows, in which order, how many.
    fn stretch<N>(&self, table: &TableShape<N>, form: ScanForm, of: &str) -> String {
        let mut conditions = Conditions { writer: self, of, number: 0, text: Vec::new() };
        for column in table.key.iter().filter_map(|place| table.columns.get(*place)) {
            if let Part::Literal(_) = column.part {
                conditions.compare(&[column], "=");
            }
        }
        let sorted = table.segments.iter().filter_map(|place| table.columns.get(*place));
        let sorted: Vec<&ColumnShape<N>> = sorted.collect();
        let (equal, rest) = sorted.split_at_checked(form.equal).unwrap_or((&sorted, &[]));
        for column in equal {
            conditions.compare(&[column], "=");
        }
        for (edge, is_lower) in [(form.lower, true), (form.upper, false)] {
            let Some((length, inclusive)) = edge else { continue };
            let columns = rest.get(..length).unwrap_or(rest);
            let descending = columns.first().is_some_and(|column| column.descending);
            conditions.compare(columns, operator(is_lower != descending, inclusive));
        }
        let limit = self.place(conditions.number + 1);
        let conditions = match conditions.text.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.text.join(" AND ")),
        };
        let order = self.order(rest, form.reverse, of);
        format!("{conditions}{order} LIMIT {limit}")
    }

    fn order<N>(&self, columns: &[&ColumnShape<N>], reverse: bool, of: &str) -> String {
        let words = columns.iter().map(|column| {
            let word = if column.descending != reverse { " DESC" } else { "" };
            format!("{of}{}{word}", self.dialect.name(&column.name))
        });
        let words: Vec<String> = words.collect();
        match words.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", words.join(", ")),
        }
    }

    fn whole_key<N>(&self, table: &TableShape<N>) -> String {
        let columns = table.key.iter().filter_map(|place| table.columns.get(*place));
        let equal = columns.enumerate().map(|(number, column)| {
            format!("{} = {}", self.dialect.name(&column.name), self.place(number + 1))
        });
        equal.collect::<Vec<_>>().join(" AND ")
    }
}

fn operator(is_from_below: bool, inclusive: bool) -> &'static str {
    match (is_from_below, inclusive) {
        (true, true) => ">=",
        (true, false) => ">",
        (false, true) => "<=",
        (false, false) => "<",
    }
}

/// The columns that a scan reads: the segments, the first `known` left out, and the content.
fn read<N>(table: &TableShape<N>, known: usize, versions: Versions) -> Vec<usize> {
    [table.segments.get(known..).unwrap_or_default(), table.content_read(versions)].concat()
}

/// Conditions as they are added, and how many values they have.
struct Conditions<'w> {
    writer: &'w Writer,
    /// What stands before each name.
    of: &'w str,
    number: usize,
    text: Vec<String>,
}

impl Conditions<'_> {
    fn compare<N>(&mut self, columns: &[&ColumnShape<N>], operator: &str) {
        let name = |column: &&ColumnShape<N>| {
            format!("{}{}", self.of, self.writer.dialect.name(&column.name))
        };
        let names = columns.iter().map(name).collect::<Vec<_>>().join(", ");
        let places = columns.iter().map(|_| {
            self.number += 1;
            self.writer.place(self.number)
        });
        let places = places.collect::<Vec<_>>().join(", ");
        self.text.push(match columns.len() {
            1 => format!("{names} {operator} {places}"),
            _ => format!("({names}) {operator} ({places})"),
        });
    }
}

/// The values of a stretch, in the order of its statement: each with the segment it belongs to.
pub fn scan_segments(stretch: Bounds<'_>) -> impl Iterator<Item = (usize, key::Value<'_>)> {
    let equal = stretch.equal.len();
    let lower = stretch.lower.map_or(Vec::new(), |edge| edge.values);
    let upper = stretch.upper.map_or(Vec::new(), |edge| edge.values);
    let (lower, upper) = ((equal..).zip(lower), (equal..).zip(upper));
    (0..).zip(stretch.equal).chain(lower).chain(upper)
}

//! The shape PostgreSQL and SQLite have in common: a table a collection, a table an index.
//!
//! ```text
//! key segments    ─▶ primary key columns, in key order (literals vanish)
//! fields, body    ─▶ typed columns
//! version, expiry ─▶ `_v` on conditional collections, `_expires` where rows end
//! ```
//!
//! Both stores commit over the whole store, so an entry is no more than its key and what it keeps.
//! A group is not physical here: buckets make no column, and collections of one group keep tables
//! of their own. Writes no statement; the two stores do.

use super::remarks::{comment, entries_remarks, rows_remarks};
use super::tables::{
    Column, Expiry, Holds, Member, Names, Purpose, Table, expiry, field_holds, owner_segments,
    plain_member, remembers_calls, row_key, segment_holds,
};
use super::words::Dialect;
use crate::model::{BodyType, Collection, Content, Index, Key, Keyspace, Mode, Segment, Type};

/// A store's types and names, for the builder.
pub(super) struct Sql<N> {
    /// The words and limits of its names.
    pub dialect: Dialect,
    /// The column type of a type.
    pub native: fn(&Type) -> N,
    /// Whether a path sorts only by its encoded form, in a column of its own.
    pub path_is_encoded: bool,
}

/// The tables of a keyspace, helpers last.
pub(super) fn tables<N>(sql: &Sql<N>, keyspace: &Keyspace) -> Vec<Table<N>> {
    let mut names = Names::new(sql.dialect.refuses_table(), sql.dialect.name_length_max());
    // Helpers are found by their names before the keyspace is known: they choose first.
    let mut helpers = vec![catalogue(sql, &mut names)];
    if remembers_calls(keyspace) {
        helpers.push(calls(sql, &mut names));
    }
    let mut tables = Vec::new();
    for collection in &keyspace.collections {
        tables.push(rows(sql, keyspace, collection, &mut names));
        for index in &collection.indexes {
            tables.push(entries(sql, keyspace, collection, index, &mut names));
        }
    }
    tables.append(&mut helpers);
    tables
}

/// Columns as they are added.
struct Columns<'a, N> {
    sql: &'a Sql<N>,
    names: Names,
    columns: Vec<Column<N>>,
}

impl<'a, N> Columns<'a, N> {
    /// For a table of this collection, whose own names come before ours.
    fn new(sql: &'a Sql<N>, collection: Option<&Collection>) -> Self {
        let mut names = Names::new(sql.dialect.refuses_column(), sql.dialect.name_length_max());
        for name in collection.iter().flat_map(|collection| collection.member_names()) {
            names.promise(name);
        }
        Columns { sql, names, columns: Vec::new() }
    }

    /// A column the keyspace names.
    fn member(&mut self, name: &str, value_type: &Type, holds: Holds) {
        let name = self.names.claim(name);
        self.push(name, value_type, holds);
    }

    /// A column of the store's own.
    fn own(&mut self, name: &str, value_type: &Type, holds: Holds) -> String {
        let name = self.names.claim_own(name);
        self.push(name.clone(), value_type, holds);
        name
    }

    fn push(&mut self, name: String, value_type: &Type, holds: Holds) {
        let native = (self.sql.native)(value_type.required());
        let column = Column::value(name, native, holds);
        self.columns.push(column.or_null(value_type.is_optional()));
    }

    fn key(&mut self, key: &Key, separator: char) {
        if key.segments().next().is_none() {
            // One row for ever, but a table needs a key.
            let literals = Key::template_of(&key.parts, separator);
            let name = self.names.claim_own("_key");
            let remark = format!("always '{literals}'");
            let native = (self.sql.native)(&Type::Text);
            let column = Column::group(name, native, Holds::Literals(literals));
            self.columns.push(column.remarked(remark));
        }
        let group = key.group_segments().count();
        let mut readable = Vec::new();
        for (number, segment) in key.segments().enumerate() {
            let is_encoded = self.sql.path_is_encoded && segment.segment_type == Type::Path;
            let (name, sort_type, holds) = if is_encoded {
                readable.push(segment);
                let name = self.names.claim_with(&segment.name, "_k");
                (name, &Type::Bytes, Holds::SortKey(segment.name.clone()))
            } else {
                let name = self.names.claim(&segment.name);
                (name, &segment.segment_type, segment_holds(segment))
            };
            let native = (self.sql.native)(sort_type);
            self.columns.push(if number < group {
                Column::group(name, native, holds)
            } else {
                Column::order(name, native, holds, segment.descending)
            });
        }
        for segment in readable {
            let holds = segment_holds(segment);
            self.member(&segment.name, &segment.segment_type, holds);
        }
    }

    fn owner(&mut self, segment: &Segment) {
        let holds = Holds::Owner(segment.name.clone());
        self.member(&segment.name, &segment.segment_type, holds);
    }

    fn content(&mut self, collection: &Collection) {
        for field in collection.fields() {
            self.member(&field.name, &field.field_type, Holds::Field(field.name.clone()));
        }
        match &collection.content {
            Content::Json => drop(self.own("value", &Type::Json, Holds::Content)),
            Content::Text => drop(self.own("value", &Type::Text, Holds::Content)),
            Content::Bytes if collection.history.is_none() => {
                drop(self.own("value", &Type::Bytes, Holds::Content));
            }
            Content::Counter | Content::Window { .. } => {
                self.own("total", &Type::I64, Holds::Total);
            }
            Content::Keys | Content::Fields(_) | Content::Bytes => {}
        }
        match collection.body {
            Some(BodyType::Bytes) => drop(self.own("data", &Type::Bytes, Holds::Body)),
            Some(BodyType::Text) => drop(self.own("data", &Type::Text, Holds::Body)),
            None => {}
        }
        if collection.history.is_some() {
            self.own("data", &Type::Bytes, Holds::Body);
            self.own("at", &Type::Timestamp, Holds::WrittenAt);
            self.own("covers", &covers_type(), Holds::Covers);
        }
    }

    /// The column with the end of a row: the field that says so where it is there already.
    fn expires(&mut self, collection: &Collection, index: Option<&Index>) -> Option<String> {
        if let Content::Window { .. } = collection.content {
            return Some(self.own("ends_at", &Type::Timestamp, Holds::WindowEnd));
        }
        let expiry = expiry(collection)?;
        let mut ends = Type::Timestamp;
        if let Expiry::Field(name) = expiry {
            let holders = field_holds(name, index);
            let mut columns = self.columns.iter();
            if let Some(column) = columns.find(|column| holders.contains(&column.holds)) {
                return Some(column.name.clone());
            }
            ends = collection.member_type(name).cloned().unwrap_or(ends);
        }
        Some(self.own("_expires", &ends, Holds::Expires))
    }
}

fn covers_type() -> Type {
    Type::Optional(Box::new(Type::List(Box::new(Type::Bytes))))
}

fn rows<N>(
    sql: &Sql<N>,
    keyspace: &Keyspace,
    collection: &Collection,
    names: &mut Names,
) -> Table<N> {
    let key = row_key(collection);
    let mut columns = Columns::new(sql, Some(collection));
    columns.key(&key, keyspace.separator);
    columns.content(collection);
    if keyspace.mode(collection) == Mode::Conditional {
        columns.own("_v", &Type::Uuid, Holds::Version);
    }
    let expires = columns.expires(collection, None);
    let member = Member { collection: collection.name.value.clone(), kind: None };
    Table {
        name: names.claim(&collection.table),
        purpose: Purpose::Rows(vec![member]),
        columns: columns.columns,
        expires,
        remarks: rows_remarks(keyspace, collection),
        comment: comment(&key, keyspace.separator, collection.notes.as_deref()),
    }
}

fn entries<N>(
    sql: &Sql<N>,
    keyspace: &Keyspace,
    collection: &Collection,
    index: &Index,
    names: &mut Names,
) -> Table<N> {
    let mut columns = Columns::new(sql, Some(collection));
    columns.key(&index.key, keyspace.separator);
    if index.unique {
        for segment in owner_segments(collection, index) {
            columns.owner(segment);
        }
    }
    let in_key: Vec<&str> = index.key.segments().filter_map(plain_member).collect();
    for kept in index.keep.iter().filter(|kept| !in_key.contains(&kept.value.as_str())) {
        if let Some(kept_type) = collection.member_type(&kept.value) {
            columns.member(&kept.value, kept_type, Holds::Field(kept.value.clone()));
        }
    }
    let expires = columns.expires(collection, Some(index));
    Table {
        name: names.claim(&index.name.value),
        purpose: Purpose::Entries {
            collection: collection.name.value.clone(),
            index: index.name.value.clone(),
            unique: index.unique,
        },
        columns: columns.columns,
        expires,
        remarks: entries_remarks(keyspace, collection, index),
        comment: comment(&index.key, keyspace.separator, index.notes.as_deref()),
    }
}

fn catalogue<N>(sql: &Sql<N>, names: &mut Names) -> Table<N> {
    let mut columns = Columns::new(sql, None);
    columns.columns.push(Column::group(
        columns.names.claim_own("name"),
        (sql.native)(&Type::Text),
        Holds::Internal,
    ));
    columns.own("format", &Type::I64, Holds::Internal);
    columns.own("catalogue", &Type::Json, Holds::Internal);
    columns.own("tables", &Type::Json, Holds::Internal);
    columns.own("at", &Type::Timestamp, Holds::WrittenAt);
    Table {
        name: names.claim_own("keyway"),
        purpose: Purpose::Catalogue,
        columns: columns.columns,
        expires: None,
        remarks: vec![
            "helper: the numbers this store has for names, and the table each number has"
                .to_string(),
        ],
        comment: "The numbers this store has for names".to_string(),
    }
}

fn calls<N>(sql: &Sql<N>, names: &mut Names) -> Table<N> {
    let mut columns = Columns::new(sql, None);
    columns.columns.push(Column::group(
        columns.names.claim_own("id"),
        (sql.native)(&Type::Uuid),
        Holds::Internal,
    ));
    columns.own("outcome", &Type::Bytes, Holds::Internal);
    let at = columns.own("at", &Type::Timestamp, Holds::WrittenAt);
    Table {
        name: names.claim_own("keyway_calls"),
        purpose: Purpose::Calls,
        columns: columns.columns,
        expires: Some(at),
        remarks: vec![
            "helper: commits of the last minutes, so that a repeated call is done once".to_string(),
        ],
        comment: "Commits of the last minutes".to_string(),
    }
}

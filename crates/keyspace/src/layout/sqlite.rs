//! A keyspace as one SQLite database file.
//!
//! Tables are `STRICT` and `WITHOUT ROWID`: the primary key is the table's own order, directions
//! included, and a value of another type is refused. Text sorts by its bytes, so every type whose
//! native order is not the key's has a written form that sorts right and reads well:
//!
//! | type | column | form |
//! |---|---|---|
//! | `u64` | TEXT | 20 digits, `00000000000000000042`: an INTEGER ends at 2⁶³ |
//! | `uuid` | TEXT | lower case with hyphens |
//! | `timeuuid` | TEXT | the same, as a UUIDv6 |
//! | `ulid` | TEXT | its 26 characters |
//! | `timestamp` | TEXT | RFC 3339, UTC, milliseconds |
//! | `date` | TEXT | `2026-11-15` |
//! | `bool` | INTEGER | 0 or 1 |
//! | `text..` | BLOB and TEXT | `path_k`, encoded, which sorts, beside `path`, its text form |
//! | `json`, lists | TEXT | JSON; bytes in it are unpadded base64url |
//!
//! Times outside the years 0000 to 9999 would not sort: a driver refuses them. A row that was there
//! before rows of its collection ended ends [`NEVER`]. Nothing here opens a file.

use super::remarks::{column_lines, comment_lines, quoted_text};
use super::sql::{self, Sql};
use super::tables::{Column, Names, Purpose, Role, Table};
use super::words::Dialect;
use crate::model::{Keyspace, Type};
use std::collections::BTreeSet;
use std::fmt;

const DIALECT: Dialect = Dialect::Sqlite;

/// What the column with the end of a row holds for one that has no end: it sorts behind all times.
pub const NEVER: &str = "never";

/// What a database file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SqliteLayout {
    /// Its tables, helpers last.
    pub tables: Vec<SqliteTable>,
}

/// A table and the index by which its ended rows are found.
#[derive(Clone, Debug, PartialEq)]
pub struct SqliteTable {
    /// The table.
    pub table: Table<SqliteType>,
    /// The name of the index on the column that says when a row ends.
    pub sweep: Option<String>,
}

/// The form of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqliteType {
    /// Text as it is.
    Text,
    /// One of some words.
    Word(Vec<String>),
    /// Bytes as they are.
    Blob,
    /// 0 or 1.
    Bool,
    /// A signed 64-bit integer.
    Integer,
    /// An unsigned 64-bit integer in 20 digits.
    Digits,
    /// A 64-bit float.
    Real,
    /// A UUID in lower case with hyphens.
    Uuid,
    /// A time UUID written so, its fields in UUIDv6 order.
    TimeUuid,
    /// The 26 characters of a ULID.
    Ulid,
    /// RFC 3339, UTC, milliseconds.
    Timestamp,
    /// RFC 3339, the day alone.
    Date,
    /// The text form of a path.
    Path,
    /// JSON.
    Json,
}

impl SqliteType {
    /// The form of a type.
    pub fn of(value_type: &Type) -> SqliteType {
        match value_type {
            Type::Text => SqliteType::Text,
            Type::Enum(words) => SqliteType::Word(words.clone()),
            Type::Bytes => SqliteType::Blob,
            Type::Bool => SqliteType::Bool,
            Type::I64 | Type::Duration => SqliteType::Integer,
            Type::U64 => SqliteType::Digits,
            Type::F64 => SqliteType::Real,
            Type::Uuid => SqliteType::Uuid,
            Type::TimeUuid => SqliteType::TimeUuid,
            Type::Ulid => SqliteType::Ulid,
            Type::Timestamp => SqliteType::Timestamp,
            Type::Date => SqliteType::Date,
            Type::Path => SqliteType::Path,
            Type::Json | Type::List(_) => SqliteType::Json,
            Type::Optional(inner) => SqliteType::of(inner),
        }
    }

    /// The storage class.
    pub fn storage(&self) -> &'static str {
        match self {
            SqliteType::Blob => "BLOB",
            SqliteType::Bool | SqliteType::Integer => "INTEGER",
            SqliteType::Real => "REAL",
            _ => "TEXT",
        }
    }

    /// What a value of the column must be, beyond its storage class.
    fn check(&self, column: &str) -> Option<String> {
        match self {
            SqliteType::Bool => Some(format!("{column} IN (0, 1)")),
            SqliteType::Digits => Some(format!("length({column}) = 20")),
            SqliteType::Json => Some(format!("json_valid({column})")),
            SqliteType::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| quoted_text(word)).collect();
                Some(format!("{column} IN ({})", words.join(", ")))
            }
            _ => None,
        }
    }

    /// The type's name and how its values are written, where the storage class does not say it.
    fn form(&self) -> Option<(&'static str, &'static str)> {
        match self {
            SqliteType::Digits => Some(("u64", "20 digits, so that text sorts as the number does")),
            SqliteType::Uuid => Some(("uuid", "lower case with hyphens")),
            SqliteType::TimeUuid => {
                Some(("timeuuid", "as a uuid of version 6, which sorts by time"))
            }
            SqliteType::Ulid => Some(("ulid", "its 26 characters")),
            SqliteType::Timestamp => {
                Some(("timestamp", "RFC 3339, UTC, milliseconds, years 0000 to 9999"))
            }
            SqliteType::Date => Some(("date", "RFC 3339, years 0000 to 9999")),
            SqliteType::Path => {
                Some(("path", "its text form, sorted by the encoded key beside it"))
            }
            _ => None,
        }
    }
}

/// The tables of a keyspace.
pub fn layout(keyspace: &Keyspace) -> SqliteLayout {
    let tables = sql::tables(
        &Sql { dialect: DIALECT, native: SqliteType::of, path_is_encoded: true },
        keyspace,
    );
    let mut names = Names::new(DIALECT.refuses_table(), DIALECT.name_length_max());
    for table in &tables {
        names.claim(&table.name);
    }
    let with_sweep = |table: Table<SqliteType>| {
        // Entries go with their row. Claims are swept like rows: what is written over an ended row
        // leaves its claims behind. Commits are walked through in the order of their ids: an index
        // would cost every commit a page more.
        let is_swept = match table.purpose {
            Purpose::Entries { unique, .. } => unique,
            Purpose::Calls => false,
            _ => true,
        };
        let is_swept = is_swept && table.expires.is_some();
        let sweep = is_swept.then(|| names.claim_with(&table.name, "_expires"));
        SqliteTable { table, sweep }
    };
    SqliteLayout { tables: tables.into_iter().map(with_sweep).collect() }
}

/// The statements that make a keyspace's tables, with their reasons.
pub fn print(keyspace: &Keyspace) -> String {
    layout(keyspace).to_string()
}

impl SqliteTable {
    /// The statements that make the table and its index, in order.
    pub fn statements(&self) -> Vec<String> {
        let table = &self.table;
        let name = DIALECT.name(&table.name);
        let columns: Vec<_> = table.columns.iter().map(definition).collect();
        let direction = |column: &Column<SqliteType>| {
            let word = if column.is_descending() { " DESC" } else { "" };
            DIALECT.name(&column.name) + word
        };
        let keys = table.columns.iter().filter(|column| column.role != Role::Value);
        let key: Vec<String> = keys.map(direction).collect();
        let body = column_lines(&columns, &format!("PRIMARY KEY ({})", key.join(", ")));
        let mut statements =
            vec![format!("CREATE TABLE IF NOT EXISTS {name} (\n{body}) STRICT, WITHOUT ROWID")];
        let ends = table.columns.iter().find(|column| Some(&column.name) == table.expires.as_ref());
        if let (Some(sweep), Some(column)) = (&self.sweep, ends) {
            let (sweep, ends) = (DIALECT.name(sweep), DIALECT.name(&column.name));
            let partial =
                if column.optional { format!(" WHERE {ends} IS NOT NULL") } else { String::new() };
            statements
                .push(format!("CREATE INDEX IF NOT EXISTS {sweep} ON {name} ({ends}){partial}"));
        }
        statements
    }
}

fn definition(column: &Column<SqliteType>) -> (String, String, Option<String>) {
    let name = DIALECT.name(&column.name);
    let mut text = column.native.storage().to_string();
    if !column.optional {
        text += " NOT NULL";
    }
    if let Some(check) = column.native.check(&name) {
        text += &format!(" CHECK ({check})");
    }
    let form = column.native.form().map(|(name, _)| name.to_string());
    (name, text, column.remark.clone().or(form))
}

impl fmt::Display for SqliteLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "-- The keyspace as one file of SQLite. Values with a written form:")?;
        let columns = self.tables.iter().flat_map(|table| &table.table.columns);
        let forms: BTreeSet<_> = columns.filter_map(|column| column.native.form()).collect();
        for (name, form) in forms {
            writeln!(formatter, "--   {name:9} {form}")?;
        }
        for table in &self.tables {
            write!(formatter, "\n{}", comment_lines(&table.table.remarks))?;
            for statement in table.statements() {
                writeln!(formatter, "{statement};")?;
            }
        }
        Ok(())
    }
}

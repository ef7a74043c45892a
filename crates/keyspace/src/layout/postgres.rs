//! A keyspace as a PostgreSQL schema.
//!
//! | type | column | because |
//! |---|---|---|
//! | `text`, `ulid`, enums | `text COLLATE "C"` | sorts by bytes whatever the database's locale |
//! | U+0000 in a text | U+0001 U+0001, and U+0001 is U+0001 U+0002 | PostgreSQL has none; this sorts |
//! | `u64` | `numeric(20,0)` | there is no unsigned integer |
//! | `timeuuid` | `uuid` in the UUIDv6 order of its fields | `uuid` sorts by bytes |
//! | `timestamp` | `timestamptz(3)` | milliseconds, exactly |
//! | `text..` | `text[] COLLATE "C"` | arrays compare part by part, the shorter first |
//! | `json`, lists of anything but plain types | `json` | comes back as it was written |
//!
//! `jsonb` would lose the order of keys, repeated keys and the forms of numbers.
//! A key whose segments after the bar go in both directions has an index declared so; one that is
//! all descending is scanned backwards. The end of a row that never ends is `infinity`. PostgreSQL
//! has no instant before 4713 BC or after 294276: a driver refuses those. Nothing here connects to
//! anything.

use super::remarks::{column_lines, comment_lines, quoted_text};
use super::sql::{self, Sql};
use super::tables::{Column, Names, Purpose, Role, Table};
use super::words::Dialect;
use crate::model::{Keyspace, Type};
use std::fmt;

const DIALECT: Dialect = Dialect::Postgres;

/// What a schema holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresLayout {
    /// The schema's name, unquoted.
    pub schema: String,
    /// What the keyspace is for.
    pub about: Option<String>,
    /// Its tables, helpers last.
    pub tables: Vec<PostgresTable>,
}

/// A table and its secondary indexes.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresTable {
    /// The table.
    pub table: Table<PostgresType>,
    /// Its indexes beside the primary key.
    pub indexes: Vec<PostgresIndex>,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresIndex {
    /// Its name, unquoted.
    pub name: String,
    /// Its columns, each with whether it is descending.
    pub columns: Vec<(String, bool)>,
    /// Whether rows with a null in the first column are left out.
    pub partial: bool,
}

/// A column type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostgresType {
    /// Text that sorts by bytes.
    Text,
    /// One of some words.
    Word(Vec<String>),
    /// Bytes.
    Bytea,
    /// A boolean.
    Boolean,
    /// A signed 64-bit integer.
    BigInt,
    /// An unsigned 64-bit integer.
    Unsigned,
    /// A 64-bit float.
    Double,
    /// A UUID.
    Uuid,
    /// A time UUID, its fields in UUIDv6 order.
    TimeUuid,
    /// An instant.
    Timestamp,
    /// A day.
    Date,
    /// A path.
    Path,
    /// JSON, as it was written.
    Json,
    /// An array.
    Array(Box<PostgresType>),
}

impl PostgresType {
    /// The column type of a type.
    pub fn of(value_type: &Type) -> PostgresType {
        match value_type {
            Type::Text | Type::Ulid => PostgresType::Text,
            Type::Enum(words) => PostgresType::Word(words.clone()),
            Type::Bytes => PostgresType::Bytea,
            Type::Bool => PostgresType::Boolean,
            Type::I64 | Type::Duration => PostgresType::BigInt,
            Type::U64 => PostgresType::Unsigned,
            Type::F64 => PostgresType::Double,
            Type::Uuid => PostgresType::Uuid,
            Type::TimeUuid => PostgresType::TimeUuid,
            Type::Timestamp => PostgresType::Timestamp,
            Type::Date => PostgresType::Date,
            Type::Path => PostgresType::Path,
            Type::Json => PostgresType::Json,
            Type::Optional(inner) => PostgresType::of(inner),
            Type::List(inner) => match &**inner {
                Type::Json | Type::List(_) | Type::Optional(_) | Type::Path => PostgresType::Json,
                plain => PostgresType::Array(Box::new(PostgresType::of(plain))),
            },
        }
    }
}

impl fmt::Display for PostgresType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            PostgresType::Text | PostgresType::Word(_) => "text COLLATE \"C\"",
            PostgresType::Bytea => "bytea",
            PostgresType::Boolean => "boolean",
            PostgresType::BigInt => "bigint",
            PostgresType::Unsigned => "numeric(20,0)",
            PostgresType::Double => "double precision",
            PostgresType::Uuid | PostgresType::TimeUuid => "uuid",
            PostgresType::Timestamp => "timestamptz(3)",
            PostgresType::Date => "date",
            PostgresType::Path => "text[] COLLATE \"C\"",
            PostgresType::Json => "json",
            PostgresType::Array(inner) => match &**inner {
                PostgresType::Text | PostgresType::Word(_) => "text[]",
                other => return write!(formatter, "{other}[]"),
            },
        })
    }
}

/// The schema of a keyspace.
pub fn layout(keyspace: &Keyspace) -> PostgresLayout {
    let tables = sql::tables(
        &Sql { dialect: DIALECT, native: PostgresType::of, path_is_encoded: false },
        keyspace,
    );
    // Indexes and tables of a schema share one set of names.
    let mut names = Names::new(DIALECT.refuses_table(), DIALECT.name_length_max());
    for table in &tables {
        names.claim(&table.name);
    }
    let with_indexes = |table: Table<PostgresType>| {
        let indexes = indexes(&table, &mut names);
        PostgresTable { table, indexes }
    };
    let mut schemas = Names::new(DIALECT.refuses_table(), DIALECT.name_length_max());
    PostgresLayout {
        schema: schemas.claim(&keyspace.name.value),
        about: keyspace.about.clone(),
        tables: tables.into_iter().map(with_indexes).collect(),
    }
}

fn indexes(table: &Table<PostgresType>, names: &mut Names) -> Vec<PostgresIndex> {
    let mut indexes = Vec::new();
    let down = table.order().filter(|column| column.is_descending()).count();
    if down > 0 && down < table.order().count() {
        indexes.push(PostgresIndex {
            name: names.claim_with(&table.name, "_order"),
            columns: table
                .group()
                .chain(table.order())
                .map(|column| (column.name.clone(), column.is_descending()))
                .collect(),
            partial: false,
        });
    }
    // Entries go with their row. Claims are swept like rows: what is written over an ended row
    // leaves its claims behind.
    let is_swept = !matches!(table.purpose, Purpose::Entries { unique: false, .. });
    let ends = table.columns.iter().find(|column| Some(&column.name) == table.expires.as_ref());
    if let (true, Some(column)) = (is_swept, ends) {
        indexes.push(PostgresIndex {
            name: names.claim_with(&table.name, "_expires"),
            columns: vec![(column.name.clone(), false)],
            partial: column.optional,
        });
    }
    indexes
}

/// The statements that make a keyspace's schema, with their reasons.
pub fn print(keyspace: &Keyspace) -> String {
    layout(keyspace).to_string()
}

impl PostgresLayout {
    /// The statements that make the schema itself, in order.
    pub fn schema_statements(&self) -> Vec<String> {
        let schema = DIALECT.name(&self.schema);
        let mut statements = vec![format!("CREATE SCHEMA IF NOT EXISTS {schema}")];
        let comment = |about| format!("COMMENT ON SCHEMA {schema} IS {}", quoted_text(about));
        statements.extend(self.about.as_deref().map(comment));
        statements
    }

    /// The definition of a column, as it stands in the statement that makes its table.
    pub fn column(&self, column: &Column<PostgresType>) -> String {
        let (name, text, _) = definition(column);
        format!("{name} {text}")
    }

    /// The statements that make a table, its indexes and its comment, in order.
    pub fn statements(&self, table: &PostgresTable) -> Vec<String> {
        let schema = DIALECT.name(&self.schema);
        let name = format!("{schema}.{}", DIALECT.name(&table.table.name));
        let columns: Vec<_> = table.table.columns.iter().map(definition).collect();
        let keys = table.table.columns.iter().filter(|column| column.role != Role::Value);
        let key = DIALECT.names(keys.map(|column| column.name.as_str()));
        let body = column_lines(&columns, &format!("PRIMARY KEY ({key})"));
        let mut statements = vec![format!("CREATE TABLE IF NOT EXISTS {name} (\n{body})")];
        for index in &table.indexes {
            let direction = |descending: &bool| if *descending { " DESC" } else { "" };
            let columns: Vec<String> = index
                .columns
                .iter()
                .map(|(name, descending)| DIALECT.name(name) + direction(descending))
                .collect();
            let mut statement = format!(
                "CREATE INDEX IF NOT EXISTS {} ON {name} ({})",
                DIALECT.name(&index.name),
                columns.join(", ")
            );
            if let (true, Some((column, _))) = (index.partial, index.columns.first()) {
                statement += &format!(" WHERE {} IS NOT NULL", DIALECT.name(column));
            }
            statements.push(statement);
        }
        let comment = quoted_text(&table.table.comment);
        statements.push(format!("COMMENT ON TABLE {name} IS {comment}"));
        statements
    }
}

fn definition(column: &Column<PostgresType>) -> (String, String, Option<String>) {
    let name = DIALECT.name(&column.name);
    let mut text = column.native.to_string();
    if !column.optional {
        text += " NOT NULL";
    }
    if let PostgresType::Word(words) = &column.native {
        let words: Vec<String> = words.iter().map(|word| quoted_text(word)).collect();
        text += &format!(" CHECK ({name} IN ({}))", words.join(", "));
    }
    let remark = match column.native {
        PostgresType::TimeUuid => Some("timeuuid, as UUIDv6".to_string()),
        _ => column.remark.clone(),
    };
    (name, text, remark)
}

impl fmt::Display for PostgresLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "-- The keyspace as a schema of PostgreSQL.")?;
        for statement in self.schema_statements() {
            writeln!(formatter, "{statement};")?;
        }
        for table in &self.tables {
            write!(formatter, "\n{}", comment_lines(&table.table.remarks))?;
            for statement in self.statements(table) {
                writeln!(formatter, "{statement};")?;
            }
        }
        Ok(())
    }
}

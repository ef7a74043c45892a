//! A keyspace as tables of Cassandra or ScyllaDB.
//!
//! ```text
//! channel:{channel_id}:messages | {message_id desc}      bucket = { by = "message_id", … }
//!         └─ partition key ───┘    └─ clustering ─┘       └─ joins the partition key
//! ```
//!
//! - Literals vanish. A group of literals alone is its bucket, or, without one, a constant column.
//! - `bucket` is the start of the slice, a `timestamp`: it reads well and needs no arithmetic.
//!   A directory beside the table names the slices a group has, so that none is probed in vain.
//! - Collections with one text before the bar share a table, since a conditional batch has one
//!   partition of one table: see `shared`.
//! - Only conditional rows carry versions; an entry of such a row is written once and deleted once,
//!   by the attempt in its key. A table is conditional or plain for life.
//! - A table with a `ttl` that is only written plainly is compacted by time.
//!
//! | type | column | because |
//! |---|---|---|
//! | `u64` | `varint` | there is no unsigned integer |
//! | `uuid` that orders rows | `blob` | versions are compared first; ids, of one, stay `uuid` |
//! | `ulid` | `text` | its 26 characters sort by time and can be read |
//! | `text..` | `frozen<list<text>>` | lists compare part by part, the shorter first |
//! | `json`, lists of anything but plain types | `text` | JSON, as it was written |
//!
//! Both stores take these statements as they are. Nothing here connects to anything.

mod entries;
mod helpers;
mod rows;
mod shared;

use super::remarks::{column_lines, comment_lines, quoted_text};
use super::tables::{Column, Names, Table};
use super::words::Dialect;
use crate::model::{Keyspace, Type};
pub use shared::shares_table;
use std::fmt;

const DIALECT: Dialect = Dialect::Cql;

/// What a Cassandra keyspace holds.
#[derive(Clone, Debug, PartialEq)]
pub struct CqlLayout {
    /// The name a Cassandra keyspace would have; whoever connects may choose another.
    pub cassandra_keyspace: String,
    /// Its tables, store-wide helpers last.
    pub tables: Vec<CqlTable>,
}

/// A table and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct CqlTable {
    /// The table: group columns are its partition key, order columns its clustering columns.
    pub table: Table<CqlType>,
    /// Whether every write to it is a lightweight transaction: one or the other, for life.
    pub is_conditional: bool,
    /// Compaction by time, for rows that end.
    pub compaction: Option<CompactionWindow>,
}

/// The length of a window of `TimeWindowCompactionStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionWindow {
    /// `MINUTES`, `HOURS` or `DAYS`.
    pub unit: &'static str,
    /// How many of them.
    pub size: u64,
}

/// A column type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CqlType {
    /// UTF-8 text.
    Text,
    /// Bytes.
    Blob,
    /// A boolean.
    Boolean,
    /// A 32-bit integer.
    Int,
    /// A signed 64-bit integer.
    BigInt,
    /// An integer of any length.
    VarInt,
    /// A 64-bit float.
    Double,
    /// A UUID.
    Uuid,
    /// A UUID that sorts by its time.
    TimeUuid,
    /// An instant.
    Timestamp,
    /// A day.
    Date,
    /// JSON, as text.
    Json,
    /// A list written and compared whole.
    List(Box<CqlType>),
}

impl CqlType {
    /// The column type of a type.
    pub fn of(value_type: &Type) -> CqlType {
        match value_type {
            Type::Text | Type::Ulid | Type::Enum(_) => CqlType::Text,
            Type::Bytes => CqlType::Blob,
            Type::Bool => CqlType::Boolean,
            Type::I64 | Type::Duration => CqlType::BigInt,
            Type::U64 => CqlType::VarInt,
            Type::F64 => CqlType::Double,
            Type::Uuid => CqlType::Uuid,
            Type::TimeUuid => CqlType::TimeUuid,
            Type::Timestamp => CqlType::Timestamp,
            Type::Date => CqlType::Date,
            Type::Path => CqlType::List(Box::new(CqlType::Text)),
            Type::Json => CqlType::Json,
            Type::Optional(inner) => CqlType::of(inner),
            Type::List(inner) => match &**inner {
                Type::Json | Type::List(_) | Type::Optional(_) | Type::Path => CqlType::Json,
                plain => CqlType::List(Box::new(CqlType::of(plain))),
            },
        }
    }
}

impl fmt::Display for CqlType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CqlType::Text | CqlType::Json => "text",
            CqlType::Blob => "blob",
            CqlType::Boolean => "boolean",
            CqlType::Int => "int",
            CqlType::BigInt => "bigint",
            CqlType::VarInt => "varint",
            CqlType::Double => "double",
            CqlType::Uuid => "uuid",
            CqlType::TimeUuid => "timeuuid",
            CqlType::Timestamp => "timestamp",
            CqlType::Date => "date",
            CqlType::List(inner) => return write!(formatter, "frozen<list<{inner}>>"),
        })
    }
}

/// The tables of a keyspace.
pub fn layout(keyspace: &Keyspace) -> CqlLayout {
    let mut names = table_names();
    // The catalogue is found by its name before the keyspace is known: it chooses first.
    let catalogue = helpers::catalogue(&mut names);
    let shares = shared::shares(keyspace);
    for collection in &keyspace.collections {
        names.promise(&collection.table);
        collection.indexes.iter().for_each(|index| names.promise(&index.name.value));
    }
    let mut tables = Vec::new();
    for share in &shares {
        match share.as_slice() {
            [collection] => tables.push(rows::table(keyspace, collection, &mut names)),
            several => tables.push(shared::table(keyspace, several, &mut names)),
        }
        for collection in share {
            for index in &collection.indexes {
                tables.push(entries::table(keyspace, collection, index, &mut names));
            }
        }
    }
    let mut tables = helpers::with_directories(keyspace, tables, &mut names);
    tables.push(catalogue);
    CqlLayout { cassandra_keyspace: keyspace.name.value.clone(), tables }
}

fn table_names() -> Names {
    Names::new(DIALECT.refuses_table(), DIALECT.name_length_max())
}

fn column_names() -> Names {
    // Columns may be longer than tables, but no name of the notation is.
    Names::new(DIALECT.refuses_column(), 2 * DIALECT.name_length_max())
}

/// The statements that make a keyspace's tables, with their reasons.
pub fn print(keyspace: &Keyspace) -> String {
    layout(keyspace).to_string()
}

impl CqlTable {
    /// The statement that makes the table.
    pub fn statement(&self) -> String {
        let table = &self.table;
        let name = DIALECT.name(&table.name);
        let definition = |column: &Column<CqlType>| {
            (DIALECT.name(&column.name), column.native.to_string(), column.remark.clone())
        };
        let columns: Vec<_> = table.columns.iter().map(definition).collect();
        let body = column_lines(&columns, &format!("PRIMARY KEY ({})", self.key()));
        let options = self.options().join("\n  AND ");
        format!("CREATE TABLE IF NOT EXISTS {name} (\n{body}) WITH {options}")
    }

    /// `(a, b), c`; the partition's parentheses are left out where it is the whole key.
    fn key(&self) -> String {
        let partition: Vec<&str> = self.table.group().map(|column| column.name.as_str()).collect();
        let clustering: Vec<&str> = self.table.order().map(|column| column.name.as_str()).collect();
        let group = DIALECT.names(partition.iter().copied());
        match (partition.len(), clustering.is_empty()) {
            (1, true) => group,
            (_, true) => format!("({group})"),
            (_, false) => format!("({group}), {}", DIALECT.names(clustering.into_iter())),
        }
    }

    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if self.table.order().any(Column::is_descending) {
            let direction = |column: &Column<CqlType>| {
                let word = if column.is_descending() { "DESC" } else { "ASC" };
                format!("{} {word}", DIALECT.name(&column.name))
            };
            let orders: Vec<String> = self.table.order().map(direction).collect();
            options.push(format!("CLUSTERING ORDER BY ({})", orders.join(", ")));
        }
        if let Some(window) = self.compaction {
            options.push(format!(
                "compaction = {{'class': 'TimeWindowCompactionStrategy', \
                 'compaction_window_unit': '{}', 'compaction_window_size': {}}}",
                window.unit, window.size
            ));
        }
        options.push(format!("comment = {}", quoted_text(&self.table.comment)));
        options
    }
}

impl fmt::Display for CqlLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = DIALECT.name(&self.cassandra_keyspace);
        writeln!(formatter, "-- The keyspace as tables of Cassandra or ScyllaDB.")?;
        writeln!(formatter, "-- Their Cassandra keyspace and its replication are the operator's:")?;
        writeln!(formatter, "--   CREATE KEYSPACE {name} WITH replication =")?;
        writeln!(formatter, "--     {{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}};")?;
        writeln!(formatter, "--   USE {name};")?;
        for table in &self.tables {
            write!(formatter, "\n{}", comment_lines(&table.table.remarks))?;
            writeln!(formatter, "{};", table.statement())?;
        }
        Ok(())
    }
}

impl CompactionWindow {
    /// About a thirtieth of the time rows live: enough windows to drop them whole, few enough to
    /// keep the number of files small.
    pub fn for_ttl(milliseconds: u64) -> Self {
        const STEPS: [(&str, u64, &[u64]); 3] = [
            ("MINUTES", 60_000, &[1, 2, 5, 10, 15, 30]),
            ("HOURS", 3_600_000, &[1, 2, 3, 6, 12]),
            ("DAYS", 86_400_000, &[1, 2, 3, 5, 7, 10, 15, 30]),
        ];
        let wanted = milliseconds / 30;
        for (unit, length, sizes) in STEPS {
            if let Some(size) = sizes.iter().find(|size| **size * length >= wanted) {
                return CompactionWindow { unit, size: *size };
            }
        }
        CompactionWindow { unit: "DAYS", size: 30 }
    }
}

#[cfg(test)]
mod tests {
    use super::CompactionWindow;

    #[test]
    fn windows_are_about_a_thirtieth() {
        const MINUTE: u64 = 60_000;
        let window = |ttl| {
            let window = CompactionWindow::for_ttl(ttl);
            (window.size, window.unit)
        };
        assert_eq!(window(5 * MINUTE), (1, "MINUTES"));
        assert_eq!(window(30 * MINUTE), (1, "MINUTES"));
        assert_eq!(window(24 * 60 * MINUTE), (1, "HOURS"));
        assert_eq!(window(30 * 24 * 60 * MINUTE), (1, "DAYS"));
        assert_eq!(window(90 * 24 * 60 * MINUTE), (3, "DAYS"));
        assert_eq!(window(u64::MAX), (30, "DAYS"));
    }
}

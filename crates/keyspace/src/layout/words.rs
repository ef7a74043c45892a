//! Words that a store keeps for itself, and names that it refuses altogether.
//!
//! A name in these lists is written between double quotes; all others stay bare, as an expert
//! would write them. The lists were tried on Cassandra 5.0, PostgreSQL 15 and SQLite 3.40.

/// The languages of the table stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Cassandra and ScyllaDB.
    Cql,
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The name as it is written in a statement.
    pub fn name(self, name: &str) -> String {
        let mut characters = name.chars();
        let starts =
            |first: char| first.is_ascii_lowercase() || (first == '_' && self != Dialect::Cql);
        let bare = characters.next().is_some_and(starts)
            && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && self.reserved().binary_search(&name).is_err();
        if bare { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
    }

    /// Names written after each other.
    pub fn names<'a>(self, names: impl Iterator<Item = &'a str>) -> String {
        names.map(|name| self.name(name)).collect::<Vec<_>>().join(", ")
    }

    /// Words that need quotes, sorted.
    fn reserved(self) -> &'static [&'static str] {
        match self {
            Dialect::Cql => &CQL,
            Dialect::Postgres => &POSTGRES,
            Dialect::Sqlite => &SQLITE,
        }
    }

    /// Whether a column cannot be called so, quoted or not.
    pub fn refuses_column(self) -> fn(&str) -> bool {
        match self {
            Dialect::Postgres => {
                |name| matches!(name, "tableoid" | "xmin" | "cmin" | "xmax" | "cmax" | "ctid")
            }
            Dialect::Cql | Dialect::Sqlite => |_| false,
        }
    }

    /// Whether a table (on PostgreSQL: a schema) cannot be called so, quoted or not.
    pub fn refuses_table(self) -> fn(&str) -> bool {
        match self {
            Dialect::Postgres => |name| name.starts_with("pg_"),
            Dialect::Sqlite => |name| name.starts_with("sqlite_"),
            Dialect::Cql => |_| false,
        }
    }

    /// Characters of the longest name.
    pub fn name_length_max(self) -> usize {
        match self {
            Dialect::Cql => 48,
            Dialect::Postgres => 63,
            Dialect::Sqlite => 128,
        }
    }
}

/// Cassandra's reserved words, with those of neighbouring versions.
#[rustfmt::skip]
const CQL: [&str; 64] = [
    "add", "allow", "alter", "and", "apply", "asc", "authorize", "batch", "begin", "by",
    "columnfamily", "create", "default", "delete", "desc", "describe", "drop", "entries",
    "execute", "false", "from", "full", "grant", "if", "in", "index", "infinity", "insert",
    "into", "is", "keyspace", "limit", "materialized", "mbean", "mbeans", "modify", "nan",
    "norecursive", "not", "null", "of", "on", "or", "order", "primary", "rename", "replace",
    "revoke", "schema", "select", "set", "table", "to", "token", "true", "truncate",
    "unlogged", "unset", "update", "use", "using", "view", "where", "with",
];

/// PostgreSQL's reserved words, those that may name a function or type among them.
#[rustfmt::skip]
const POSTGRES: [&str; 101] = [
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
    "authorization", "binary", "both", "case", "cast", "check", "collate", "collation",
    "column", "concurrently", "constraint", "create", "cross", "current_catalog",
    "current_date", "current_role", "current_schema", "current_time", "current_timestamp",
    "current_user", "default", "deferrable", "desc", "distinct", "do", "else", "end",
    "except", "false", "fetch", "for", "foreign", "freeze", "from", "full", "grant",
    "group", "having", "ilike", "in", "initially", "inner", "intersect", "into", "is",
    "isnull", "join", "lateral", "leading", "left", "like", "limit", "localtime",
    "localtimestamp", "natural", "not", "notnull", "null", "offset", "on", "only", "or",
    "order", "outer", "overlaps", "placing", "primary", "references", "returning", "right",
    "select", "session_user", "similar", "some", "symmetric", "system_user", "table",
    "tablesample", "then", "to", "trailing", "true", "union", "unique", "user", "using",
    "variadic", "verbose", "when", "where", "window", "with",
];

/// The keywords SQLite does not take as names, and those that only work by luck.
#[rustfmt::skip]
const SQLITE: [&str; 78] = [
    "add", "all", "alter", "and", "as", "asc", "autoincrement", "between", "case", "cast",
    "check", "collate", "commit", "constraint", "create", "cross", "current_date",
    "current_time", "current_timestamp", "default", "deferrable", "delete", "desc",
    "distinct", "drop", "else", "escape", "except", "exists", "foreign", "from", "full",
    "glob", "group", "having", "if", "in", "index", "indexed", "inner", "insert",
    "intersect", "into", "is", "isnull", "join", "left", "like", "limit", "match",
    "natural", "not", "nothing", "notnull", "null", "on", "or", "order", "outer", "primary",
    "raise", "references", "regexp", "returning", "right", "select", "set", "table", "then",
    "to", "transaction", "union", "unique", "update", "using", "values", "when", "where",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for dialect in [Dialect::Cql, Dialect::Postgres, Dialect::Sqlite] {
            assert!(dialect.reserved().is_sorted(), "{dialect:?}");
        }
    }

    #[test]
    fn names_are_quoted_where_the_store_needs_it() {
        assert_eq!(Dialect::Cql.name("by"), "\"by\"");
        assert_eq!(Dialect::Cql.name("_v"), "\"_v\"");
        assert_eq!(Dialect::Cql.name("user"), "user");
        assert_eq!(Dialect::Postgres.name("user"), "\"user\"");
        assert_eq!(Dialect::Postgres.name("_v"), "_v");
        assert_eq!(Dialect::Sqlite.name("values"), "\"values\"");
        assert_eq!(Dialect::Sqlite.name("key"), "key");
    }
}

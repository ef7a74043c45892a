//! The kinds of store a keyspace can be laid out on, and the little that all phases ask of them.
//!
//! What a store would hold is in `layout`; what a pattern costs there is in `plan`.

use std::fmt;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreKind {
    /// Ordered bytes in the process.
    Memory,
    /// The embedded engine: the default.
    Engine,
    /// Readable files in a directory.
    Files,
    /// One SQLite database file.
    Sqlite,
    /// A PostgreSQL schema.
    Postgres,
    /// One Redis server.
    Redis,
    /// A Redis Cluster.
    RedisCluster,
    /// Apache Cassandra.
    Cassandra,
    /// ScyllaDB, by the same tables.
    Scylla,
    /// A browser's IndexedDB.
    IndexedDb,
}

/// How far one commit of a store reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// Any rows of the store change together.
    WholeStore,
    /// Only rows of one group change together.
    Group,
}

impl StoreKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [StoreKind; 10] = [
        StoreKind::Memory,
        StoreKind::Engine,
        StoreKind::Files,
        StoreKind::Sqlite,
        StoreKind::Postgres,
        StoreKind::Redis,
        StoreKind::RedisCluster,
        StoreKind::Cassandra,
        StoreKind::Scylla,
        StoreKind::IndexedDb,
    ];

    /// The name used in files, on the command line and in URLs.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::Memory => "memory",
            StoreKind::Engine => "engine",
            StoreKind::Files => "files",
            StoreKind::Sqlite => "sqlite",
            StoreKind::Postgres => "postgres",
            StoreKind::Redis => "redis",
            StoreKind::RedisCluster => "redis-cluster",
            StoreKind::Cassandra => "cassandra",
            StoreKind::Scylla => "scylla",
            StoreKind::IndexedDb => "indexeddb",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<StoreKind> {
        StoreKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How far one commit reaches.
    pub fn atomicity(self) -> Atomicity {
        match self {
            StoreKind::RedisCluster | StoreKind::Cassandra | StoreKind::Scylla => Atomicity::Group,
            _ => Atomicity::WholeStore,
        }
    }

    /// Whether a slice of a group is a place of its own, out of reach of a commit of another slice.
    pub fn cuts_groups(self) -> bool {
        self.is_cql()
    }

    /// Cassandra and ScyllaDB share tables, statements and most costs.
    pub fn is_cql(self) -> bool {
        matches!(self, StoreKind::Cassandra | StoreKind::Scylla)
    }

    /// One Redis server and Redis Cluster share keys, types and most costs.
    pub fn is_redis(self) -> bool {
        matches!(self, StoreKind::Redis | StoreKind::RedisCluster)
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

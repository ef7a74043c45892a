//! The native backends of Keyway, a folder each, the same files in each.
//!
//! ```text
//! data::Store ◀─┬─ cassandra/  tables of a cluster of Cassandra or ScyllaDB, a partition a group
//!               ├─ engine/     a folder on this machine, no server: the default store
//!               ├─ files/      a tree of files that people can read and edit
//!               ├─ postgres/   a schema of a PostgreSQL database, in tables that psql reads
//!               ├─ redis/      one server or a cluster: Hashes, Sets and sorted sets, one script a
//!               │              commit
//!               └─ sqlite/     one database file, in tables that sqlite3 reads
//! ```
//!
//! `native/` is what stores share that keep data in their own forms: keys and ranges as values.
//!
//! This is the only crate that links database drivers; nothing above it names one.

#[cfg(feature = "cassandra")]
pub mod cassandra;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(all(feature = "files", unix))]
pub mod files;
#[cfg(any(feature = "engine", feature = "files"))]
mod lock;
pub mod native;
#[cfg(all(any(feature = "files", feature = "sqlite"), unix))]
mod network;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "engine", feature = "files"))]
mod secret;
pub mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;

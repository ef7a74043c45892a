//! The native backends of Keyway, a folder each, the same files in each.
//!
//! ```text
//! data::Store ◀─┬─ engine/     a folder on this machine, no server: the default store
//!               ├─ postgres/   a schema of a PostgreSQL database, in tables that psql reads
//!               └─ sqlite/     one database file, in tables that sqlite3 reads
//! ```
//!
//! `native/` is what stores share that keep data in their own forms: keys and ranges as values.
//!
//! This is the only crate that links database drivers; nothing above it names one.

#[cfg(feature = "engine")]
pub mod engine;
pub mod native;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;

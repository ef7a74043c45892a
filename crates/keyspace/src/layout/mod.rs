//! What a keyspace looks like inside each store: one file per store, data first, then its print.
//!
//! ```text
//! keyspace ─▶ tables, containers, paths, key bytes ─▶ text for people
//!                        └──▶ the store that implements them
//! ```
//!
//! A layout is decided by the keyspace alone, so that `check` and `layout` need no driver. Nothing
//! here talks to a store, and no store may name a thing that its layout does not.

pub mod cql;
pub mod engine;
pub mod example;
pub mod files;
pub mod indexeddb;
pub mod postgres;
pub mod redis;
pub mod remarks;
mod sheet;
pub mod sortable;
mod sql;
pub mod sqlite;
pub mod tables;
mod uses;
pub mod words;

use crate::model::{Keyspace, StoreKind};
pub use uses::{Serves, body_name};

/// The layout of a keyspace on a kind of store, as text for people who know that store.
pub fn print(keyspace: &Keyspace, store: StoreKind) -> String {
    match store {
        StoreKind::Memory | StoreKind::Engine => engine::print(keyspace, store),
        StoreKind::Files => files::print(keyspace),
        StoreKind::Redis | StoreKind::RedisCluster => redis::print(keyspace, store),
        StoreKind::IndexedDb => indexeddb::print(keyspace),
        StoreKind::Sqlite => sqlite::print(keyspace),
        StoreKind::Postgres => postgres::print(keyspace),
        StoreKind::Cassandra | StoreKind::Scylla => cql::print(keyspace),
    }
}

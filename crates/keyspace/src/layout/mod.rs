//! What each store would hold: data first, then print.

pub mod cql;
pub mod postgres;
pub mod remarks;
mod sql;
pub mod sqlite;
pub mod tables;
pub mod words;

use crate::model::{Keyspace, StoreKind};

/// What a store would hold of a keyspace, as text.
pub fn print(keyspace: &Keyspace, store: StoreKind) -> String {
    match store {
        StoreKind::Cassandra | StoreKind::Scylla => cql::print(keyspace),
        StoreKind::Postgres => postgres::print(keyspace),
        StoreKind::Sqlite => sqlite::print(keyspace),
        _ => String::new(),
    }
}

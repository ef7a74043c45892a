//! PostgreSQL: the suite, every type, what `psql` sees, and a server that goes away.
//!
//! The tests share one server, each with a database of its own; those that kill it have theirs.

#![cfg(all(feature = "postgres", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod deadlines;
mod ensure;
mod faults;
mod joins;
#[path = "../common/like.rs"]
mod like;
mod load;
mod promises;
mod seen;
#[path = "../common/seen.rs"]
mod seen_common;
mod settings;
mod shared;
mod takeover;
mod trips;
mod values;

use data::store::Durability;
use keyspace::model::Keyspace;
use servers::postgres::Postgres;
use std::sync::Arc;
use stores::postgres::{Options, PostgresStore};
use tokio::runtime::{Builder, Runtime};

/// A run time, as an application would have one.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The server does not wait for the disk, and so cannot promise more.
fn options() -> Options {
    Options { durability: Durability::Process, ..Options::default() }
}

/// A store in a database of its own, on the server that all tests share.
fn new_store() -> Arc<PostgresStore> {
    let server = Postgres::shared();
    open(&server.url(&server.database()))
}

fn open(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(url, &options()).unwrap())
}

fn keyspace(text: &str) -> Arc<Keyspace> {
    let reading = keyspace::read(text);
    Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics)))
}

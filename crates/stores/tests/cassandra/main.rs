//! Cassandra: the suite, what `cqlsh` would see, and nodes that go away.
//!
//! The tests share one server, each with a keyspace of its own; those that kill one have theirs.

#![cfg(all(feature = "cassandra", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../redis/app.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod app;
mod ensure;
mod faults;
mod lost;
mod plain;
mod promises;
mod routes;
mod scylla;
mod seen;
mod support;
mod trips;
mod unlike;
mod wire;
#[path = "../common/written.rs"]
mod written;

use servers::cassandra::Cassandra;
use servers::cql::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use stores::cassandra::{CassandraStore, Options};
use tokio::runtime::{Builder, Runtime};

/// A run time, as an application would have one.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The server lets rows go by its own clock.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// The name of a keyspace that no other test has.
fn new_place() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("k{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn options(server: &Cassandra, place: &str) -> Options {
    Options {
        nodes: server.addresses(),
        user: None,
        place: Some(place.to_string()),
        replication: Some(server.addresses().len() as u8),
        durability: None,
        is_scylla: false,
    }
}

fn open(server: &Cassandra, place: &str) -> Arc<CassandraStore> {
    Arc::new(CassandraStore::open(options(server, place)).unwrap())
}

/// A store in a keyspace of its own, on the server that all tests share.
fn new_store() -> Arc<CassandraStore> {
    open(Cassandra::shared(), &new_place())
}

/// Takes everything out of a keyspace but its tables and their numbers: making tables anew takes
/// far longer.
fn empty(server: &Cassandra, place: &str) {
    let mut connection = Connection::open(server.address(1)).unwrap();
    let mut ask = |statement: String| connection.run(&statement).unwrap();
    let tables = "SELECT table_name FROM system_schema.tables WHERE keyspace_name";
    for row in ask(format!("{tables} = '{place}'")) {
        let table = &row[0];
        let any = format!("SELECT CAST(count(*) AS text) FROM {place}.\"{table}\"");
        if table != "keyway" && ask(any) != [["0"]] {
            ask(format!("TRUNCATE {place}.\"{table}\""));
        }
    }
}

//! PostgreSQL keeps every promise of the suite.

#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use data::store::{Durability, Store};
use data::suite;
use servers::postgres::Postgres;
use std::sync::Arc;
use stores::postgres::{Options, PostgresStore};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A store in a database of its own; the server does not wait for the disk.
fn new_store() -> Arc<dyn Store> {
    let server = Postgres::shared();
    let options = Options { durability: Durability::Process, ..Options::default() };
    Arc::new(PostgresStore::open(&server.url(&server.database()), &options).unwrap())
}

#[test]
fn it_keeps_its_promises() {
    let runtime = runtime();
    runtime.block_on(async {
        let store = new_store();
        let make = || {
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let report = suite::run(&make, &suite::Options::default()).await;
        assert!(report.failed.is_empty(), "{report}");
        // Trails, what only a store of several places refuses, and the log of changes.
        assert_eq!(report.not_offered.len(), 31, "{report}");
    });
}

#[test]
fn patterns_run_on_it() {
    runtime().block_on(async {
        let make = || {
            let store = new_store();
            Box::pin(async { store }) as _
        };
        let report = suite::patterns::run(&make, &suite::Options::default()).await.unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    });
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    runtime().block_on(async {
        let make = || {
            let store = new_store();
            Box::pin(async { store }) as _
        };
        let report = suite::together::run(&make, &suite::Options::default()).await.unwrap();
        assert!(report.failed.is_empty(), "{report}");
    });
}

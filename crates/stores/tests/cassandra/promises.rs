//! Every promise of the suite, and keyspaces and calls by chance.

use crate::{empty, new_place, new_store, now, open, runtime};
use data::store::Store;
use data::suite;
use data::suite::random::{self, Effort};
use servers::cassandra::Cassandra;
use std::sync::{Arc, Mutex};

/// Operations on each keyspace made by chance, and on one that is played again.
const OPERATIONS: usize = 250;

#[test]
fn it_keeps_its_promises() {
    runtime().block_on(async {
        let store: Arc<dyn Store> = new_store();
        let make = || {
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let report =
            suite::run(&make, &suite::Options { now: now(), ..suite::Options::default() }).await;
        assert!(report.failed.is_empty(), "{report}");
        assert_eq!(report.left_out(), include_str!("../not_offered/cassandra.txt"));
    });
}

#[test]
fn patterns_run_on_it() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        let store: Arc<dyn Store> = open(server, &place);
        let make = || {
            empty(server, &place);
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let report = suite::patterns::run(&make, &suite::Options::default()).await.unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    });
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    runtime().block_on(callers_agree(Cassandra::shared()));
}

/// What callers at the same time must agree upon is judged by conditional writes.
pub async fn callers_agree(server: &Cassandra) {
    let place = new_place();
    let store: Arc<dyn Store> = open(server, &place);
    let make = || {
        empty(server, &place);
        let store = store.clone();
        Box::pin(async { store }) as _
    };
    let options = suite::Options { now: now(), ..suite::Options::default() };
    let report = suite::together::run(&make, &options).await.unwrap();
    assert!(report.failed.is_empty(), "{report}");
}

#[test]
fn it_answers_as_the_oracle() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: OPERATIONS },
        None => {
            // A quarter of a minute, or half of one where others work on the same machine.
            let keyspaces = 15 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 3_000_000, keyspaces, operations: OPERATIONS }
        }
    };
    runtime().block_on(async {
        let (server, last) = (Cassandra::shared(), Mutex::new(new_place()));
        let make = || {
            let mut place = last.lock().unwrap();
            // The one before was played. Its tables take room of all tests' server, which has
            // little: some hundreds of them are all that it can have.
            server.cql(&format!("DROP KEYSPACE IF EXISTS {place}"));
            *place = new_place();
            let store: Arc<dyn Store> = open(server, &place);
            Box::pin(async { store }) as _
        };
        let report = random::run(&make, &effort).await;
        println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
        assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    });
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    runtime().block_on(async {
        let (server, place) = (Cassandra::shared(), new_place());
        let make = || {
            let store: Arc<dyn Store> = open(server, &place);
            Box::pin(async { store }) as _
        };
        let options = suite::Options { now: now(), ..suite::Options::default() };
        assert_eq!(suite::lasts::run(&make, &options).await, Ok(()));
    });
}

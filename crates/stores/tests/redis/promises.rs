//! The Redis store keeps every promise of the suite.

use crate::support::{ahead, empty_store, in_runtime, options, store};
use data::clock::Clock;
use data::store::Store;
use data::suite;
use data::suite::random::{self, Effort};
use servers::redis::RedisServer;
use std::sync::Arc;

#[test]
fn it_keeps_its_promises() {
    let server = RedisServer::start(&[]);
    let report = in_runtime(async {
        let store: Arc<dyn Store> = ahead(store(&server).await);
        let make = || {
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        suite::run(&make, &options()).await
    });
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("../not_offered/redis.txt"));
}

#[test]
fn patterns_run_on_it() {
    let server = RedisServer::start(&[]);
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(&server)) as _;
        suite::patterns::run(&make, &options()).await.unwrap()
    });
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    let server = RedisServer::start(&[]);
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(&server)) as _;
        suite::together::run(&make, &options()).await.unwrap()
    });
    assert!(report.failed.is_empty(), "{report}");
}

/// `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.
#[test]
fn it_answers_as_the_oracle() {
    let server = RedisServer::start(&[]);
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = 24 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 2_000_000, keyspaces, operations: 200 }
        }
    };
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(&server)) as _;
        random::run(&make, &effort).await
    });
    println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
    assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    let server = RedisServer::start(&[]);
    let now = crate::support::RealClock.now();
    let found = in_runtime(async {
        let open = || {
            let store = store(&server);
            Box::pin(async { store.await as Arc<dyn Store> }) as _
        };
        // The server lets rows go by its own clock.
        suite::lasts::run(&open, &suite::Options { now, ..options() }).await
    });
    assert_eq!(found, Ok(()));
}

//! The store keeps every promise of the suite on a cluster.

use crate::support::{RealClock, ahead, empty_store, in_runtime, options, store};
use data::clock::Clock;
use data::store::Store;
use data::suite;
use data::suite::random::{self, Effort};
use servers::redis_cluster::RedisCluster;
use std::sync::Arc;

/// All parts of the suite, on one cluster: starting one takes longer than most of them.
#[test]
fn it_keeps_its_promises() {
    let cluster = RedisCluster::start(&[]);
    cases(&cluster);
    patterns(&cluster);
    together(&cluster);
    random_histories(&cluster);
    lasts(&cluster);
}

fn cases(cluster: &RedisCluster) {
    let report = in_runtime(async {
        let store: Arc<dyn Store> = ahead(store(cluster).await);
        let make = || {
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        suite::run(&make, &options()).await
    });
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.left_out(), include_str!("../not_offered/redis_cluster.txt"));
}

fn patterns(cluster: &RedisCluster) {
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(cluster)) as _;
        suite::patterns::run(&make, &options()).await.unwrap()
    });
    assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
}

fn together(cluster: &RedisCluster) {
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(cluster)) as _;
        suite::together::run(&make, &options()).await.unwrap()
    });
    assert!(report.failed.is_empty(), "{report}");
}

/// `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.
fn random_histories(cluster: &RedisCluster) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = 24 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 3_000_000, keyspaces, operations: 200 }
        }
    };
    let report = in_runtime(async {
        let make = || Box::pin(empty_store(cluster)) as _;
        random::run(&make, &effort).await
    });
    println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
    assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
}

fn lasts(cluster: &RedisCluster) {
    cluster.flush();
    let now = RealClock.now();
    let found = in_runtime(async {
        let open = || {
            let store = store(cluster);
            Box::pin(async { store.await as Arc<dyn Store> }) as _
        };
        // The nodes let rows go by their own clocks.
        suite::lasts::run(&open, &suite::Options { now, ..options() }).await
    });
    assert_eq!(found, Ok(()));
}

//! Round trips on a cluster, counted by a proxy before each of its nodes. What is asked of several
//! nodes at once is one; that it is asked at once is only seen here.

use crate::app::{App, item};
use crate::seen::REFUSED;
use crate::seen_common::APPS;
use crate::support::ahead;
use data::store::Store;
use data::suite::patterns::{Script, play_counted, read};
use data::suite::{self, Report};
use keyspace::model::Keyspace;
use serde_json::json;
use servers::proxy::Proxy;
use servers::redis_cluster::RedisCluster;
use std::collections::BTreeSet;
use std::sync::Arc;
use stores::redis::{ClusterOptions, RedisStore};

/// How often a script is played that waited too often: on a machine that is busy, what was sent
/// together may come to its proxies so late that it looks like two.
const TRIES: usize = 3;

/// On one thread what is sent together is not overtaken by the answer to its first part.
fn alone<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test)
}

/// A store that finds its nodes behind proxies.
async fn behind(proxies: &[Proxy]) -> Arc<dyn Store> {
    let nodes = proxies.iter().map(|proxy| ("127.0.0.1".to_string(), proxy.port())).collect();
    let options = ClusterOptions { nodes, ..ClusterOptions::default() };
    ahead(Arc::new(RedisStore::open_cluster(options).await.unwrap()))
}

fn played(
    scripts: &[Script],
    keyspace: &Arc<Keyspace>,
    (cluster, proxies): (&RedisCluster, &[Proxy]),
) -> Report {
    let turns = || proxies[0].turns();
    let make = || {
        cluster.flush();
        for node in 0..proxies.len() {
            cluster.cli(node, &["SCRIPT", "FLUSH"]);
        }
        Box::pin(behind(proxies)) as _
    };
    let options = suite::Options::default();
    alone(play_counted(scripts, keyspace, &make, &options, Some(&turns))).unwrap()
}

#[test]
fn rows_at_all_nodes_are_read_at_once() {
    let (_cluster, proxies) = RedisCluster::start_behind_proxies();
    alone(async {
        let store = behind(&proxies).await;
        let app = App::open_with(store, |options| options.check_bounds = true).await.unwrap();
        for number in 0..40 {
            let added = item(&format!("i{number}"), "a", number);
            app.call("add_item", added).await.unwrap();
        }
        let many: Vec<_> = (0..40).map(|n| json!({"item_id": format!("i{n}")})).collect();
        for (pattern, arguments, trips) in [
            ("items", json!({"rows": many}), 1),
            // The list, the entries, and their records wherever they are.
            ("items_of", json!({"shelf": "a"}), 3),
        ] {
            let mut least = u64::MAX;
            for _ in 0..TRIES {
                let before = proxies[0].turns();
                let rows = app.call(pattern, arguments.clone()).await.unwrap()["rows"].clone();
                assert_eq!(rows.as_array().unwrap().len(), 40, "{pattern}");
                least = least.min(proxies[0].turns() - before);
            }
            assert_eq!(least, trips, "{pattern}");
            let planned = app.runtime.pattern(pattern).unwrap().bounds().unwrap().round_trips;
            assert!(least <= planned, "the plan of {pattern} says {planned}");
        }
    });
}

#[test]
fn the_calls_of_the_applications_wait_no_longer_than_their_plans_say() {
    let (cluster, proxies) = RedisCluster::start_behind_proxies();
    for (name, file, calls) in APPS {
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let mut scripts = read(calls).unwrap();
        for left in (0..TRIES).rev() {
            let report = played(&scripts, &keyspace, (&cluster, &proxies));
            for (script, _) in &report.not_offered {
                assert!(REFUSED.contains(script), "{name}: {script} is refused: {report}");
            }
            let failed: BTreeSet<_> = report.failed.iter().map(|(script, ..)| *script).collect();
            scripts.retain(|script| failed.contains(script.name));
            assert!(left > 0 || scripts.is_empty(), "{name}: {report}");
            if scripts.is_empty() {
                break;
            }
        }
    }
    let turns = proxies[0].turns();
    assert!(turns > 1_000, "{turns} turns: the store does not go through the proxies");
}

//! Slots moved, masters killed and replicas promoted while callers work.
//!
//! Without a failover nothing acknowledged is lost. After one the last commits of a master may be;
//! what is left of them is found and mended by a scrub.

use crate::app::{App, item};
use crate::support::{in_runtime, store};
use crate::work::{live_names, no_entry_is_missing, scrub, under};
use data::maintain::{Problem, ProblemKind};
use data::store::Store;
use serde_json::json;
use servers::redis_cluster::RedisCluster;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// When no attempt of this test can be under way any more, in milliseconds.
const LATER: i64 = 11 * 60 * 1_000;

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

/// The slot of a name.
fn slot(cluster: &RedisCluster, name: &str) -> u16 {
    cluster.cli(0, &["CLUSTER", "KEYSLOT", name]).parse().unwrap()
}

/// Moves a slot to the next master, and stays half way for a while.
async fn move_slowly(cluster: &RedisCluster, slot: u16) {
    let masters = cluster.masters();
    let from = cluster.master_of(slot);
    let place = masters.iter().position(|master| *master == from).unwrap();
    let to = masters[(place + 1) % masters.len()];
    cluster.begin_move(slot, from, to);
    cluster.move_keys(slot, from, to, "1");
    pause(30).await;
    while cluster.move_keys(slot, from, to, "100") {}
    pause(30).await;
    // What was written meanwhile is at the old master.
    while cluster.move_keys(slot, from, to, "100") {}
    cluster.end_move(slot, from, to);
}

#[test]
fn slots_moved_under_load_lose_nothing() {
    let cluster = RedisCluster::start(&[]);
    in_runtime(async {
        let store = store(&cluster).await;
        let setup = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
        setup.call("add_item", item("hot", "hot", 1)).await.unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = tokio::spawn({
            let is_over = is_over.clone();
            async move {
                while !is_over.load(Ordering::SeqCst) {
                    let found = setup.call("item", json!({"item_id": "hot"})).await.unwrap();
                    assert!(found["row"].is_object(), "the hot item is lost");
                }
                setup.call("drop_item", json!({"item_id": "hot"})).await.unwrap();
            }
        });
        let slots: Vec<u16> = ["{item:hot}", "{shelf:s0}", "{shelf:moved}", "{name:wanted 1}"]
            .iter()
            .map(|name| slot(&cluster, name))
            .collect();
        let (app, work) = under(&store, async || {
            for _ in 0..4 {
                for slot in &slots {
                    move_slowly(&cluster, *slot).await;
                }
            }
        })
        .await;
        is_over.store(true, Ordering::SeqCst);
        reader.await.expect("the reader ends well");
        let met = store.redirects();
        println!("{met:?}");
        assert!(met.moved > 0 && met.asked > 0 && met.tried_again > 0, "{met:?}");
        no_entry_is_missing(&app).await;
        work.check(&app).await;
    });
}

#[test]
fn masters_killed_and_restarted_lose_nothing() {
    let settings = [&RedisCluster::KEPT[..], &["--cluster-replica-no-failover", "yes"]].concat();
    let mut cluster = RedisCluster::start(&settings);
    in_runtime(async {
        let store = store(&cluster).await;
        let (app, work) = under(&store, async || {
            for round in 0..4 {
                pause(500 + round * 60).await;
                let master = cluster.masters()[round as usize % 3];
                cluster.kill(master);
                pause(20).await;
                cluster.restart(master);
            }
            pause(500).await;
        })
        .await;
        no_entry_is_missing(&app).await;
        work.check(&app).await;
    });
}

/// A replica that has not heard the last commits of its master takes over.
#[test]
fn what_a_failover_loses_is_found_and_mended() {
    let mut cluster = RedisCluster::start(&RedisCluster::KEPT);
    in_runtime(async {
        let store = store(&cluster).await;
        let app = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
        for number in 0..30 {
            app.call("add_item", item(&format!("before-{number}"), "s", number)).await.unwrap();
        }
        let master = cluster.master_of(slot(&cluster, "{shelf:s}"));
        let replica = cluster.replica_of(master);
        // The replica hears nothing more, and what is on its way to it is lost.
        cluster.pause(replica);
        cluster.cli(master, &["CLIENT", "KILL", "TYPE", "replica"]);
        let mut acknowledged = BTreeSet::new();
        for number in 0..60 {
            let id = format!("after-{number}");
            app.call("add_item", item(&id, "s", 100 + number)).await.unwrap();
            acknowledged.insert(id);
        }
        cluster.kill(master);
        cluster.go_on(replica);
        cluster.wait_until_master(replica);
        // The store goes on by itself, once the others agree.
        app.surely("add_item", item("then", "s", 1_000)).await;
        let mut kept = BTreeSet::new();
        for id in &acknowledged {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            if found["row"].is_object() {
                kept.insert(id.clone());
            }
        }
        println!("{} of {} acknowledged items are left", kept.len(), acknowledged.len());
        assert!(kept.len() < acknowledged.len(), "the failover lost nothing: nothing is tried");
        let (counts, found) = scrub(&app, 0, true).await;
        println!("{counts:?}");
        assert!(!found.is_empty(), "a scrub finds what is missing and left behind");
        // What no row holds may be the work of an attempt under way, until it is old.
        let is_young = |problem: &&Problem| problem.kind == ProblemKind::LeftBehind;
        let unmended = found.iter().filter(|problem| !problem.repaired && !is_young(problem));
        assert_eq!(unmended.count(), 0, "{found:?}");
        let (_, found) = scrub(&app, LATER, true).await;
        assert!(found.iter().all(|problem| problem.repaired), "{found:?}");
        let (_, found) = scrub(&app, LATER, false).await;
        assert!(found.is_empty(), "{found:?}");
        for id in kept.iter().map(String::as_str).chain(["then", "before-3"]) {
            let row = app.call("item", json!({"item_id": id})).await.unwrap()["row"].clone();
            let named = app.call("item_named", json!({"name": row["name"]})).await.unwrap();
            assert_eq!(named["row"]["item_id"], json!(id), "{id} is not found by its name");
        }
        let listed = app.call("items_of", json!({"shelf": "s"})).await.unwrap();
        assert_eq!(listed["rows"].as_array().unwrap().len(), 50);
        assert_eq!(live_names(&app).await, 30 + kept.len() + 1);
        cluster.restart(master);
        cluster.wait_until_whole();
        app.call("add_item", item("last", "s", 2_000)).await.unwrap();
    });
}

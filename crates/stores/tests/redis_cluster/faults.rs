//! Slots moved, masters killed and replicas promoted while callers work.
//!
//! Without a failover nothing acknowledged is lost. After one the last commits of a master may be;
//! what is left of them is found and mended by a scrub.

use crate::app::{App, item};
use crate::support::{in_runtime, store};
use crate::work::{live_names, no_entry_is_missing, scrub, under};
use data::ErrorKind;
use data::maintain::{Problem, ProblemKind};
use data::request::Runtime;
use data::store::Store;
use serde_json::{Value as Json, json};
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

/// The application with little patience.
async fn impatient(app: &App) -> App {
    let mut options = app.runtime.options().clone();
    options.call_milliseconds_max = 400;
    let (store, keyspace) = (app.runtime.store().clone(), app.runtime.keyspace().clone());
    App::around(Runtime::open(store, keyspace, options).await.unwrap())
}

#[test]
fn what_cannot_be_done_in_time_is_said_and_can_be_done_later() {
    let mut cluster = RedisCluster::start(&["--cluster-replica-no-failover", "yes"]);
    in_runtime(async {
        let store = store(&cluster).await;
        let patient = App::open(store.clone() as Arc<dyn Store>).await.unwrap();
        let app = impatient(&patient).await;
        let sell = || json!({"shelf": "s", "item_id": "x"});
        for _ in 0..2 {
            app.call("sell", sell()).await.unwrap();
        }
        // A slot that stays half way: its keys are at two nodes, and no script reaches both.
        let slot = slot(&cluster, "{shelf:s}");
        let masters = cluster.masters();
        let from = cluster.master_of(slot);
        let to = *masters.iter().find(|master| **master != from).unwrap();
        cluster.begin_move(slot, from, to);
        assert!(cluster.move_keys(slot, from, to, "1"));
        let error = app.call("sell", sell()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(store.redirects().tried_again > 0);
        while cluster.move_keys(slot, from, to, "100") {}
        cluster.end_move(slot, from, to);
        assert_eq!(app.call("sell", sell()).await.unwrap()["total"], json!(3));
        // Nobody serves the slots of a master that is gone, and then nobody serves any.
        cluster.kill(to);
        let other = *masters.iter().find(|master| **master != to).unwrap();
        while !cluster.cli(other, &["CLUSTER", "INFO"]).contains("cluster_state:fail") {
            pause(50).await;
        }
        let error = app.call("sell", sell()).await.unwrap_err();
        let kinds = [ErrorKind::Unavailable, ErrorKind::Indeterminate];
        assert!(kinds.contains(&error.kind()), "{error}");
        let error = app.call("add_item", item("i", "other", 1)).await.unwrap_err();
        assert!(kinds.contains(&error.kind()), "{error}");
        assert!(store.redirects().down > 0);
        // It kept nothing on disk, and comes back with its slots and without its rows.
        cluster.restart(to);
        cluster.wait_until_whole();
        patient.surely("add_item", item("j", "other", 1)).await;
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
            added_and_placed(&app, &format!("before-{number}"), number).await;
        }
        let master = cluster.master_of(slot(&cluster, "{shelf:s}"));
        let replica = cluster.replica_of(master);
        // Masters answer before their replicas have heard: what was added so far is to stay.
        cluster.wait_until_all_copied();
        // The replica hears nothing more, and what is on its way to it is lost.
        cluster.pause(replica);
        cluster.cli(master, &["CLIENT", "KILL", "TYPE", "replica"]);
        let mut acknowledged = BTreeSet::new();
        for number in 0..60 {
            let id = format!("after-{number}");
            added_and_placed(&app, &id, 100 + number).await;
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
        let (_, found) = scrub(&app, 0, true).await;
        each_entry_is_missed(&found, kept.len());
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
        some_places_are_left(&app, &acknowledged).await;
        cluster.restart(master);
        cluster.wait_until_whole();
        app.call("add_item", item("last", "s", 2_000)).await.unwrap();
        failed_over_under_load(&mut cluster, Arc::new(app)).await;
    });
}

/// All entries of the shelf lie in one slot of the master that was killed, and its replica has
/// heard none of them: every row that other masters have kept lacks its own, and a scrub says so.
fn each_entry_is_missed(found: &[Problem], kept: usize) {
    let is_lost = |problem: &&Problem| {
        let index = problem.index.as_deref();
        problem.kind == ProblemKind::Missing && index == Some("items_by_shelf")
    };
    assert!(kept > 0, "no other master has an item: nothing is tried");
    assert_eq!(found.iter().filter(is_lost).count(), kept, "{found:?}");
}

/// A place of an item, on a shelf of its own: rows and entries are all over the cluster.
fn place(id: &str) -> Json {
    json!({"shelf": format!("shelf of {id}"), "item_id": id, "note": "placed"})
}

async fn added_and_placed(app: &App, id: &str, price: i64) {
    app.call("add_item", item(id, "s", price)).await.unwrap();
    app.call("place", place(id)).await.unwrap();
}

/// Places that were copied are all there, and of those that were not, some are gone.
async fn some_places_are_left(app: &App, acknowledged: &BTreeSet<String>) {
    let before: BTreeSet<String> = (0..30).map(|number| format!("before-{number}")).collect();
    assert_eq!(places(app, &before).await, 30, "what was copied is kept");
    let placed = places(app, acknowledged).await;
    println!("{placed} of {} acknowledged places are left", acknowledged.len());
    assert!(placed < acknowledged.len(), "the failover lost no place: nothing is tried");
}

/// How many of these items are on their shelves; fails where a row and its entry do not agree.
async fn places(app: &App, ids: &BTreeSet<String>) -> usize {
    let mut count = 0;
    for id in ids {
        let of = json!({"shelf": format!("shelf of {id}"), "item_id": id});
        let found = app.call("placed", of).await.unwrap()["row"].clone();
        let listed = app.call("places_of", json!({"item_id": id})).await.unwrap();
        let wanted: Vec<Json> = Some(found).filter(|row| row.is_object()).into_iter().collect();
        assert_eq!(listed["rows"], json!(wanted), "the entry of {id}");
        count += wanted.len();
    }
    count
}

/// A master is killed while callers add items, and its replica takes over.
async fn failed_over_under_load(cluster: &mut RedisCluster, app: Arc<App>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let adds = |worker: usize| {
        let (app, is_over) = (app.clone(), is_over.clone());
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let id = format!("load-{worker}-{number}");
                // Whatever became of the others is not known, and not asked for.
                let added = app.call("add_item", item(&id, "load", number)).await;
                if app.call("place", place(&id)).await.is_ok() && added.is_ok() {
                    acknowledged.push(id);
                }
            }
            acknowledged
        })
    };
    let workers: Vec<_> = (0..4).map(adds).collect();
    pause(500).await;
    let master = cluster.masters()[1];
    let replica = cluster.replica_of(master);
    cluster.kill(master);
    cluster.wait_until_master(replica);
    cluster.wait_until_whole();
    pause(500).await;
    is_over.store(true, Ordering::SeqCst);
    let (mut kept, mut lost) = (Vec::new(), 0);
    let mut asked = BTreeSet::new();
    for worker in workers {
        for id in worker.await.expect("a worker ends well") {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            asked.insert(id.clone());
            match found["row"].is_object() {
                true => kept.push((id, found["row"]["name"].clone())),
                false => lost += 1,
            }
        }
    }
    println!("{} items kept, {lost} lost", kept.len());
    assert!(kept.len() > 20, "the workers have worked: {}", kept.len());
    let (_, found) = scrub(&app, LATER, true).await;
    assert!(found.iter().all(|problem| problem.repaired), "{found:?}");
    let (_, found) = scrub(&app, LATER, false).await;
    assert!(found.is_empty(), "{found:?}");
    for (id, name) in kept {
        let named = app.call("item_named", json!({"name": name})).await.unwrap();
        assert_eq!(named["row"]["item_id"], json!(id), "{id} is not found by its name");
    }
    println!("{} of {} places kept", places(&app, &asked).await, asked.len());
    live_names(&app).await;
}

//! Servers killed, connections cut and scripts forgotten while callers work: nothing acknowledged
//! is lost or as it was before, nothing is done twice, no entry is left behind or missing.

use crate::app::{App, item};
use crate::support::{at, in_runtime};
use crate::work;
use data::ErrorKind;
use data::store::Store;
use serde_json::json;
use servers::proxy::{Cut, Proxy};
use servers::redis::RedisServer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use stores::redis::RedisStore;

/// Lets workers work on a port while something happens, and checks what they did.
async fn under(port: u16, happens: impl AsyncFnOnce()) {
    let store = Arc::new(RedisStore::open(at(port)).await.unwrap());
    let (app, work) = work::under(&store, happens).await;
    let expected = work.check(&app).await;
    assert_eq!(app.scrub().await, expected, "rows and entries");
}

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn killed(sync: &str) {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", sync]);
    in_runtime(under(server.port(), async || {
        for round in 0..5 {
            pause(150 + round * 60).await;
            server.kill();
            pause(20).await;
            server.restart();
        }
        pause(200).await;
    }));
}

#[test]
fn a_server_killed_under_load_loses_nothing_with_power() {
    killed("always");
}

/// With `everysec`, a server whose disk is slow answers before it has written its log: see below.
#[test]
fn a_server_killed_under_load_loses_nothing_with_process() {
    killed("no");
}

/// What a server that writes its log once a second may lose, when it is killed or its disk is slow.
const HELD_BACK: Duration = Duration::from_secs(3);

/// Adds items and likes posts until it is told to end; what was acknowledged, and when.
async fn added_and_liked(
    app: Arc<App>,
    worker: usize,
    is_over: Arc<AtomicBool>,
) -> Vec<(String, Instant)> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("w{worker}-{number}");
        app.surely("add_item", item(&id, &format!("shelf {worker}"), number)).await;
        let like = json!({"post": format!("p{worker}"), "reader": id, "note": "liked"});
        app.surely("like", like).await;
        acknowledged.push((id, Instant::now()));
        pause(2).await;
    }
    acknowledged
}

/// Whether the likes of a post are as many as their count says; how many there are.
async fn likes_of(app: &App, post: String) -> u64 {
    let mut asked = json!({"post": post});
    let counts = app.call("like_counts_of", asked.clone()).await.unwrap();
    let mut likes = 0;
    loop {
        let page = app.call("likes_of", asked.clone()).await.unwrap();
        likes += page["rows"].as_array().unwrap().len() as u64;
        if page["next"].is_null() {
            break;
        }
        asked["cursor"] = page["next"].clone();
    }
    assert_eq!(counts["rows"][0]["value"], json!(likes), "{post}: a batch is torn");
    likes
}

/// The disk is slow, so that the server surely holds back what it has acknowledged.
#[test]
fn a_server_killed_while_its_disk_is_slow_tears_no_batch() {
    let settings = ["--appendonly", "yes", "--appendfsync", "everysec"];
    let mut server = RedisServer::start(&settings);
    in_runtime(async {
        let store = RedisStore::open(at(server.port())).await.unwrap();
        let app = Arc::new(App::open(Arc::new(store) as Arc<dyn Store>).await.unwrap());
        let is_over = Arc::new(AtomicBool::new(false));
        let worker = |worker| tokio::spawn(added_and_liked(app.clone(), worker, is_over.clone()));
        let workers: Vec<_> = (0..4).map(worker).collect();
        let mut kills = Vec::new();
        for _ in 0..2 {
            let slow = server.slow_disk(Duration::from_millis(2_500));
            pause(4_500).await;
            kills.push(Instant::now());
            server.kill();
            drop(slow);
            server.restart();
        }
        pause(300).await;
        is_over.store(true, Ordering::SeqCst);
        let (mut lost, mut likes) = (0, 0);
        for (number, worker) in workers.into_iter().enumerate() {
            for (id, at) in worker.await.unwrap() {
                let found = app.call("item", json!({"item_id": id})).await.unwrap();
                if found["row"].is_object() {
                    continue;
                }
                let may_be = |kill: &Instant| at <= *kill + HELD_BACK && *kill <= at + HELD_BACK;
                assert!(kills.iter().any(may_be), "{id} was acknowledged long before a kill");
                lost += 1;
            }
            likes += likes_of(&app, format!("p{number}")).await;
        }
        let (rows, entries) = app.scrub().await;
        println!("{lost} items lost; {rows} rows and {entries} entries are left");
        assert!(lost > 0, "the kills took nothing: nothing is tried");
        let (items, counts) = (entries / 2, 4);
        assert_eq!(rows, items + likes + counts, "an item without its entries, or they without it");
        assert!(items > 1_000, "the workers have worked: {items}");
    });
}

fn cut(cut: Cut) {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(under(proxy.port(), async || {
        for round in 0..25 {
            proxy.cut(cut, b"EVALSHA", round % 7);
            let before = proxy.cuts();
            while proxy.cuts() == before {
                pause(2).await;
            }
        }
        pause(100).await;
    }));
}

#[test]
fn a_connection_cut_before_a_commit_does_it_once() {
    cut(Cut::Before);
}

#[test]
fn a_connection_cut_after_a_commit_does_it_once() {
    cut(Cut::After);
}

/// How many scripts the server was sent by their hash.
fn scripts(server: &RedisServer) -> u64 {
    let told = server.cli(&["INFO", "commandstats"]);
    let line = told.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
}

/// One caller, so that the reply that is cut is that of the script itself: it certainly ran.
#[test]
fn a_script_that_ran_and_whose_reply_is_lost_is_found_done_once() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = RedisStore::open(at(proxy.port())).await.unwrap();
        let app = App::open(Arc::new(store) as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("first", "a", 0)).await.unwrap();
        for number in 1..=5_u64 {
            let sent = scripts(&server);
            proxy.cut_reply(b"\r\ndone");
            let sold = app.call("sell", json!({"shelf": "a", "item_id": "x"})).await.unwrap();
            assert_eq!(sold["total"], json!(number), "counted twice, or not at all");
            assert_eq!(proxy.cuts(), 2 * number - 1, "the reply was cut");
            assert_eq!(scripts(&server) - sent, 2, "it was sent again");
            // Absent when it was checked first, present when it is sent again.
            proxy.cut_reply(b"\r\ndone");
            let id = format!("i{number}");
            app.call("add_item", item(&id, "a", 1)).await.unwrap();
            assert_eq!(proxy.cuts(), 2 * number, "the reply was cut");
        }
        assert_eq!(app.scrub().await, (7, 12));
    });
}

#[test]
fn scripts_forgotten_under_load_are_sent_again() {
    let server = RedisServer::start(&[]);
    in_runtime(under(server.port(), async || {
        for _ in 0..40 {
            server.cli(&["SCRIPT", "FLUSH"]);
            pause(10).await;
        }
    }));
}

#[test]
fn a_server_that_is_away_is_unavailable_and_comes_back() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = Arc::new(RedisStore::open(at(proxy.port())).await.unwrap());
        let mut app = App::open(store as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        let mut short = app.runtime.options().clone();
        short.call_milliseconds_max = 300;
        let (store, keyspace) = (app.runtime.store().clone(), app.runtime.keyspace().clone());
        app.runtime = data::request::Runtime::open(store, keyspace, short).await.unwrap();
        proxy.refuse(true);
        let error = app.call("sell", json!({"shelf": "a", "item_id": "x"})).await.unwrap_err();
        let kinds = [ErrorKind::Unavailable, ErrorKind::Indeterminate];
        assert!(kinds.contains(&error.kind()) && error.is_retryable(), "{error}");
        let error = app.call("item", json!({"item_id": "i1"})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.is_retryable(), "{error}");
        proxy.refuse(false);
        app.call("sell", json!({"shelf": "a", "item_id": "y"})).await.unwrap();
        assert!(app.call("item", json!({"item_id": "i1"})).await.unwrap()["row"].is_object());
    });
}

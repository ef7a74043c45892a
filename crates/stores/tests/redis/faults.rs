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
use std::time::Duration;
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

/// With `everysec`, a server whose disk is slow answers before it has written its log.
#[test]
fn a_server_killed_under_load_loses_nothing_with_process() {
    killed("no");
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
        assert!(kinds.contains(&error.kind()), "{error}");
        proxy.refuse(false);
        app.call("sell", json!({"shelf": "a", "item_id": "y"})).await.unwrap();
        assert!(app.call("item", json!({"item_id": "i1"})).await.unwrap()["row"].is_object());
    });
}

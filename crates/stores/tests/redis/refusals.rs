//! A server that takes no writes for now: one that is busy with a script of somebody else, and one
//! that could not write to its disk. Callers are told which, nothing is half written, and the same
//! calls work when it is over.

use crate::app::{App, item};
use crate::support::{in_runtime, store};
use data::ErrorKind;
use data::store::Store;
use serde_json::json;
use servers::redis::RedisServer;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long the server may take to be as it is waited for.
const WITHIN: Duration = Duration::from_secs(20);
/// It ends by itself long after the test, should nobody kill it.
const LOOP: &str = "for n = 1, 5e9 do end";
/// It lies well between two attempts, so that the last one is surely answered.
const SHORT_MILLISECONDS: i64 = 400;
/// For so long a patient call is seen to wait.
const PATIENT: Duration = Duration::from_millis(300);

/// Waits until an answer of the server has this in it.
async fn until(server: &RedisServer, words: &[&str], wanted: &str) {
    let begun = Instant::now();
    loop {
        let found = server.cli(words);
        if found.contains(wanted) {
            return;
        }
        assert!(begun.elapsed() < WITHIN, "no {wanted:?} in {found}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// A client of its own whose script keeps the server busy.
async fn kept_busy(server: &RedisServer) -> Child {
    let port = server.port().to_string();
    let mut client = Command::new("redis-cli");
    client.args(["-p", &port, "EVAL", LOOP, "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let client = client.spawn().unwrap();
    until(server, &["PING"], "BUSY").await;
    client
}

#[test]
fn a_server_busy_with_a_script_is_waited_for_until_time_is_up() {
    let server = RedisServer::start(&["--busy-reply-threshold", "10"]);
    in_runtime(async {
        let store = store(&server).await as Arc<dyn Store>;
        let patient = App::open(store.clone()).await.unwrap();
        let short = |options: &mut data::request::Options| {
            options.call_milliseconds_max = SHORT_MILLISECONDS;
        };
        let short = App::open_with(store, short).await.unwrap();
        patient.call("add_item", item("i1", "a", 1)).await.unwrap();
        let client = kept_busy(&server).await;
        for (pattern, arguments) in
            [("add_item", item("i2", "a", 2)), ("sell", json!({"shelf": "a", "item_id": "i1"}))]
        {
            let error = short.call(pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{pattern}: {error:?}");
            let told = error.to_string();
            assert!(told.contains("is busy with something else for now"), "{told}");
            assert_eq!(error.value("code"), Some("BUSY"), "{error:?}");
        }
        let mut write = Box::pin(patient.call("add_item", item("i3", "a", 3)));
        let mut read = Box::pin(patient.call("item", json!({"item_id": "i1"})));
        assert!(timeout(PATIENT, &mut write).await.is_err(), "it waits");
        assert!(timeout(PATIENT, &mut read).await.is_err(), "it waits");
        assert_eq!(server.cli(&["SCRIPT", "KILL"]), "OK");
        write.await.unwrap();
        assert_eq!(read.await.unwrap()["row"]["shelf"], "a");
        let ended = client.wait_with_output().unwrap();
        let ended = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(ended.contains("killed"), "it was busy until then: {ended}");
        // The first and the third, with two entries each.
        assert_eq!(short.scrub().await, (2, 4));
        let sold = short.call("sell", json!({"shelf": "a", "item_id": "i1"})).await.unwrap();
        assert_eq!(sold["total"], 1);
    });
}

#[test]
fn a_server_that_cannot_write_to_its_disk_takes_no_part_of_a_batch() {
    // It saves so seldom that it does only when it is told to.
    let settings = ["--save", "3600 1000000", "--stop-writes-on-bgsave-error", "yes"];
    let server = RedisServer::start(&settings);
    // A folder where the file should be: nobody may put a file in its place.
    let in_the_way = server.folder().join("dump.rdb");
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        let keys = server.cli(&["DBSIZE"]);
        fs::create_dir(&in_the_way).unwrap();
        server.cli(&["BGSAVE"]);
        until(&server, &["INFO", "persistence"], "rdb_last_bgsave_status:err").await;
        for (pattern, arguments) in [
            ("add_item", item("i2", "a", 2)),
            // Begins with the removal of a key.
            ("change_item", json!({"item_id": "i1", "shelf": "b"})),
            ("drop_item", json!({"item_id": "i1"})),
            ("sell", json!({"shelf": "a", "item_id": "i1"})),
        ] {
            let error = app.call(pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{pattern}: {error:?}");
            let told = error.to_string();
            assert!(told.contains("cannot write to its disk and takes no writes"), "{told}");
            assert_eq!(error.value("code"), Some("MISCONF"), "{error:?}");
        }
        // What is there can still be read, and nothing came to it.
        let found = app.call("item", json!({"item_id": "i1"})).await.unwrap();
        assert_eq!(found["row"]["shelf"], "a");
        assert_eq!(server.cli(&["DBSIZE"]), keys);
        assert_eq!(app.scrub().await, (1, 2));
        fs::remove_dir(&in_the_way).unwrap();
        server.cli(&["BGSAVE"]);
        until(&server, &["INFO", "persistence"], "rdb_last_bgsave_status:ok").await;
        app.call("add_item", item("i2", "a", 2)).await.unwrap();
        assert_eq!(app.scrub().await, (2, 4));
    });
}

//! Plain rows with an index, put and removed by several processes at once: whatever comes of a row,
//! its index knows.

use crate::app::App;
use crate::support::{in_runtime, store};
use crate::work::{no_entry_is_missing, scrub};
use data::ErrorKind;
use data::store::Store;
use serde_json::{Value as Json, json};
use servers::redis_cluster::RedisCluster;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that all of them want.
const ROWS: u64 = 3;
const PROCESSES: u64 = 2;
/// Callers of each process.
const CALLERS: u64 = 4;
/// Calls of each caller.
const CALLS: u64 = 150;
/// When no attempt of this test can be under way any more, in milliseconds.
const LATER: i64 = 11 * 60 * 1_000;

fn place(row: u64) -> Json {
    json!({"shelf": format!("s{row}"), "item_id": "one"})
}

/// Puts and removes rows that others put and remove.
async fn quarrel(app: Arc<App>, caller: u64, done: Arc<AtomicU64>) {
    for number in 0..CALLS {
        let row = (caller + number / 2) % ROWS;
        let is_put = (caller + number).is_multiple_of(2);
        let mut arguments = place(row);
        if is_put {
            arguments["note"] = json!(format!("{caller} {number}"));
        }
        let pattern = if is_put { "place" } else { "unplace" };
        match app.call(pattern, arguments).await {
            Ok(answer) => {
                assert!(answer["version"].is_null(), "a version is seen: {answer}");
                done.fetch_add(1, Ordering::SeqCst);
            }
            // Others were faster, again and again.
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
        }
    }
}

#[test]
fn rows_put_and_removed_at_once_keep_their_entries() {
    let cluster = RedisCluster::start(&[]);
    in_runtime(async {
        let mut apps = Vec::new();
        for _ in 0..PROCESSES {
            let store = store(&cluster).await as Arc<dyn Store>;
            apps.push(Arc::new(App::open(store).await.unwrap()));
        }
        let done = Arc::new(AtomicU64::new(0));
        let callers = apps.iter().flat_map(|app| (0..CALLERS).map(move |_| app.clone()));
        let task = |(caller, app): (usize, Arc<App>)| {
            tokio::spawn(quarrel(app, caller as u64, done.clone()))
        };
        let tasks: Vec<_> = callers.enumerate().map(task).collect();
        for task in tasks {
            task.await.expect("a caller ends well");
        }
        let calls = PROCESSES * CALLERS * CALLS;
        let done = done.load(Ordering::SeqCst);
        println!("{done} of {calls} calls");
        assert!(done > calls * 9 / 10, "{done} of {calls} calls");
        no_entry_is_missing(&apps[0]).await;
        let listed = apps[1].call("places_of", json!({"item_id": "one"})).await.unwrap();
        let listed = listed["rows"].as_array().unwrap().clone();
        let mut there = Vec::new();
        for row in 0..ROWS {
            let found = apps[1].call("placed", place(row)).await.unwrap();
            there.extend(Some(found["row"].clone()).filter(|row| !row.is_null()));
        }
        assert_eq!(listed, there, "the index knows what is there");
        // What attempts have left behind goes in the end.
        scrub(&apps[0], LATER, true).await;
        assert_eq!(scrub(&apps[0], LATER, false).await.1, []);
    });
}

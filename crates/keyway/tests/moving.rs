//! Calls around the moment in which their keyspace moves: one that waits is answered by the other
//! store, in its own numbers, and one that is made again is made once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::clock::Clock;
use keyway::{Answer, Caller, CommitId, Keyway, Stage, SystemClock, SystemRandom};
use serde_json::json;
use std::path::PathBuf;

const FIRST: &str = r#"
[keyspace]
name = "two"

[collection.pears]
key    = "pear:{name: text}"
fields = { weight = "u64" }

[pattern.put_pear]
put   = "pears"
allow = "user"
"#;

/// It comes first in the file, and has the last number on a store where the other was there before.
const APPLES: &str = r#"
[collection.apples]
key    = "apple:{name: text}"
fields = { weight = "u64" }

[pattern.put_apple]
put   = "apples"
allow = "user"

[collection.pears]"#;

/// A directory of its own, gone at the end.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn an_answer_is_written_in_the_numbers_of_the_store_that_gave_it() {
    let name = format!("keyway-moving-numbers-{}", std::process::id());
    let directory = Directory(std::env::temp_dir().join(name));
    let url = format!("engine:{}?durability=process", directory.0.display());
    let first = keyway::open_text(FIRST, &url).await.unwrap();
    first.close().await.unwrap();
    let file = FIRST.replace("\n[collection.pears]", APPLES);
    let keyway = Keyway::builder().open_text(&file, &url).await.unwrap();
    let (inside, (tell, told)) = (keyway.clone(), tokio::sync::oneshot::channel());
    let mut tell = Some(tell);
    let call_in_the_pause = move |stage: Stage| {
        if let Some(tell) = tell.take_if(|_| stage == Stage::Paused) {
            let caller = Caller::user("ann");
            let (one, other) = (inside.clone(), inside.clone());
            let one = async move {
                one.call_json("put_pear", json!({ "name": "a", "weight": 1 }), &caller).await
            };
            let other =
                other.call("put_pear").by("ann").arg("name", "b").arg("weight", 1_u64).json();
            let _ = tell.send((tokio::spawn(one), tokio::spawn(other)));
        }
    };
    keyway.move_to("memory:").on_stage(call_in_the_pause).await.unwrap();
    let (one, other) = told.await.unwrap();
    assert_eq!(one.await.unwrap().unwrap()["key"], "pear:a");
    assert_eq!(other.await.unwrap().unwrap()["key"], "pear:b");
    keyway.close().await.unwrap();
}

const COUNTED: &str = r#"
[keyspace]
name = "counted"

[collection.visits]
key   = "visits:{page: text}"
value = "counter"

[pattern.visit]
add   = "visits"
allow = "user"
"#;

#[tokio::test]
async fn a_call_that_is_made_again_after_the_move_is_made_once() {
    for url in ["memory:", "engine:"] {
        let name = format!("keyway-moving-ids-{}", std::process::id());
        let directory = Directory(std::env::temp_dir().join(name));
        let place =
            if url == "memory:" { String::new() } else { directory.0.display().to_string() };
        let keyway = keyway::open_text(COUNTED, &format!("{url}{place}")).await.unwrap();
        let random = SystemRandom::start().unwrap();
        let fresh = || CommitId::new(SystemClock::start().now(), &random);
        let visit = async |id: CommitId| {
            let call = keyway.call("visit").by("ann").arg("page", "home").arg("amount", 1_i64);
            match call.id(id).await.unwrap().answer {
                Answer::Total(total) => total,
                other => panic!("{other:?}"),
            }
        };
        let (before, after) = (fresh(), fresh());
        assert_eq!((visit(before).await, visit(before).await), (1, 1));
        keyway.move_to("memory:").await.unwrap();
        assert_eq!(visit(before).await, 1, "{url}: it was made before");
        assert_eq!((visit(after).await, visit(after).await), (2, 2), "{url}");
        assert_eq!(visit(fresh()).await, 3, "{url}: none was made twice");
        keyway.close().await.unwrap();
    }
}

//! The keyspace moves to another store while it is served.

use crate::streams::Stream;
use crate::support::{Setup, post};
use axum::body::Body;
use axum::http::StatusCode;
use keyspace::model::StoreKind;
use serde_json::{Value as Json, json};
use server::Settings;
use server::describe::Description;
use std::time::Duration;

/// A database file of a test, which goes with it.
struct File(std::path::PathBuf);

impl File {
    fn new(test: &str) -> File {
        let name = format!("keyway-server-moving-{test}-{}.db", std::process::id());
        File(std::env::temp_dir().join(name))
    }

    fn url(&self) -> String {
        format!("sqlite:{}?durability=none", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for more in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{more}", self.0.display()));
        }
    }
}

/// A stream looks by itself every few seconds; here so seldom that only a commit can wake it.
#[tokio::test]
async fn a_stream_goes_on_where_the_keyspace_is() {
    let hour = Duration::from_secs(3_600);
    let settings = Settings { looks_every: hour, calls_a_second: None, ..Settings::default() };
    let setup = Setup::with(settings).await;
    let file = File::new("stream");
    let mut stream = Stream::open(&setup, &setup.ann, "/notes?watch").await;
    assert_eq!(stream.next().await.1["rows"], json!([]));
    let milk = setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    assert_eq!(stream.next().await.1["rows"], json!([milk["row"]]));
    setup.service.keyway.move_to(&file.url()).await.unwrap();
    let changed =
        setup.write(&setup.ann, "/star", json!({"note_id": milk["row"]["note_id"]})).await;
    assert_eq!(stream.next().await.1["rows"], json!([changed["row"]]));
    setup.write(&setup.ann, "/drop_note", json!({"note_id": milk["row"]["note_id"]})).await;
    assert_eq!(stream.next().await.1["rows"], json!([]));
    assert_eq!(setup.number("keyway_watchers").await, 1.0);
}

#[tokio::test]
async fn what_is_said_of_the_store_is_said_of_the_one_it_is_on() {
    let setup = Setup::new().await;
    let file = File::new("said");
    let said = async || {
        let keyspace = setup.get(&setup.operator, "/-/api/keyspace").await.json();
        let openapi = setup.get("", "/openapi.json").await.json();
        (keyspace["store"]["kind"].clone(), openapi)
    };
    let (before, openapi) = said().await;
    assert_eq!(before, "memory");
    let described = Description::new(setup.service.keyway.keyspace(), StoreKind::Sqlite);
    setup.service.keyway.move_to(&file.url()).await.unwrap();
    let (after, there) = said().await;
    assert_eq!(after, "sqlite");
    assert_eq!(there, serde_json::from_slice::<Json>(&described.openapi).unwrap());
    assert_ne!(there, openapi, "each store has its price");
    assert_eq!(setup.get("", "/health").await.status, StatusCode::OK);
    assert_eq!(setup.number("keyway_store_up").await, 1.0);
}

/// Whoever lost an answer asks again, and does not know that the keyspace has moved meanwhile.
#[tokio::test]
async fn a_key_stands_for_one_call_on_both_stores() {
    let setup = Setup::new().await;
    let file = File::new("keys");
    let visit = async |key: &str| {
        let request = post(&setup.ann, "/visit").header("idempotency-key", key);
        let answered = setup.send(request.body(Body::from(r#"{"page": "home"}"#)).unwrap()).await;
        assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
        answered.json()["total"].clone()
    };
    assert_eq!(visit("one").await, visit("one").await);
    setup.service.keyway.move_to(&file.url()).await.unwrap();
    assert_eq!(visit("one").await, 1);
    assert_eq!(visit("two").await, 2);
}

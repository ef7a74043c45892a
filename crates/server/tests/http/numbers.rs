//! What the server says of itself: numbers that are counted, and a store that is away.

use crate::club::club;
use crate::support::{KEYSPACE, Setup};
use axum::http::StatusCode;
use keyway::Keyway;
use serde_json::json;
use server::Settings;
use servers::redis::RedisServer;
use std::time::Duration;

#[tokio::test]
async fn calls_are_counted_by_what_they_cost() {
    let setup = Setup::new().await;
    for title in ["Milk", "Bread", "Salt"] {
        setup.write(&setup.ann, "/write_note", json!({"title": title, "tags": ["shop"]})).await;
    }
    for _ in 0..2 {
        assert_eq!(setup.get(&setup.ann, "/notes").await.status, StatusCode::OK);
    }
    let of = async |name: &str, pattern: &str| {
        setup.number(&format!("keyway_call_{name}{{pattern=\"{pattern}\"}}")).await
    };
    // A list of a page is one wait, and was of three rows, twice.
    assert_eq!(of("round_trips_count", "notes").await, 2.0);
    assert_eq!(of("round_trips_sum", "notes").await, 2.0);
    assert_eq!(of("rows_sum", "notes").await, 6.0);
    // One wait of one is all that its plan allows.
    assert_eq!(of("bound_ratio_sum", "notes").await, 2.0);
    // A note and its tag are written together, by the first attempt of several.
    assert_eq!(of("rows_sum", "write_note").await, 6.0);
    let (waits, ratio) = (of("round_trips_sum", "write_note"), of("bound_ratio_sum", "write_note"));
    let (waits, ratio) = (waits.await, ratio.await);
    assert!(waits >= 3.0, "{waits}");
    assert!(ratio > 0.0 && ratio <= 3.0, "{ratio}");
    assert_eq!(of("bound_ratio_count", "write_note").await, 3.0);
    assert_eq!(of("round_trips_sum", "tagged").await, 0.0);
}

#[tokio::test]
async fn rows_that_were_swept_are_counted() {
    let (setup, clock) = club(Settings::default()).await;
    setup.write(&setup.ann, "/join_club", json!({"club_id": "chess"})).await;
    let rank = json!({"club_id": "chess", "user_id": "ann", "rank": "admin"});
    setup.write(&setup.admin, "/promote", rank).await;
    for event in ["a", "b", "c"] {
        let event = json!({"club_id": "chess", "event_id": event, "title": "Party"});
        setup.write(&setup.ann, "/add_event", event).await;
    }
    assert_eq!(setup.number("keyway_rows_swept").await, 0.0);
    clock.advance(3_600_001);
    setup.service.keyway.sweep().await.unwrap();
    assert_eq!(setup.number("keyway_rows_swept").await, 3.0);
}

#[tokio::test]
async fn a_store_that_is_away_is_told() {
    let mut redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let builder = Keyway::builder().call_within(Duration::from_secs(2));
    let settings = Settings { calls_a_second: None, ..Settings::default() };
    let setup = Setup::on(builder, KEYSPACE, &redis.url(), settings).await;
    setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let health = setup.get("", "/health").await;
    assert_eq!((health.status, health.json()), (StatusCode::OK, json!({"status": "up"})));
    assert_eq!(setup.number("keyway_store_up").await, 1.0);
    redis.kill();
    let health = setup.get("", "/health").await;
    let down = (StatusCode::SERVICE_UNAVAILABLE, json!({"status": "down"}));
    assert_eq!((health.status, health.json()), down);
    assert_eq!(setup.number("keyway_store_up").await, 0.0);
    let refused = setup.get(&setup.ann, "/notes").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{refused:?}");
    assert_eq!(refused.json()["retryable"], true);
    redis.restart();
    while setup.get("", "/health").await.status != StatusCode::OK {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(setup.number("keyway_store_up").await, 1.0);
    assert_eq!(setup.get(&setup.ann, "/notes").await.json()["rows"][0]["title"], "Milk");
}

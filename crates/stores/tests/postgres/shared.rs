//! Rows of many callers on few connections: everybody gets their own, and nobody waits for a large
//! one.

use crate::{open, runtime};
use data::Value;
use data::store::{Batch, CommitId, Key, Outcome, Store, Write};
use futures_util::future::join_all;
use servers::postgres::Postgres;
use std::sync::Arc;
use std::time::Duration;
use stores::postgres::PostgresStore;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

const NOW: i64 = 1_800_000_000_000;
const ROWS: usize = 200;
const CALLERS: usize = 24;
/// A fifth of the connections.
const SHARED: i64 = 4;

/// A store with rows whose content is their name, and somebody who looks at its server.
async fn filled(server: &Postgres) -> (Arc<PostgresStore>, Vec<Key>, Client) {
    let url = server.url(&server.database());
    let store = open(&url);
    let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
    let key = |name: String| {
        let segments = [Value::Text("room".to_string()), Value::Text(name)];
        schema.collection("notes").unwrap().key.encode(&segments).unwrap()
    };
    let keys: Vec<Key> = (0..ROWS).map(|number| key(number.to_string())).collect();
    let values = (0..ROWS).map(|number| number.to_string());
    put(&store, 1, keys.iter().cloned().zip(values)).await;
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    (store, keys, client)
}

async fn put(store: &PostgresStore, id: u8, rows: impl Iterator<Item = (Key, String)>) {
    let writes = rows.map(|(key, value)| {
        let value = value.into();
        Write::Put { key, value, expires: None, versioned: true, trail: None }
    });
    let (id, checks) = (CommitId::from_bytes([id; 16]), Vec::new());
    let (writes, deadline) = (writes.collect(), NOW + 20_000);
    let batch = Batch { id, now: NOW, checks, writes, deadline };
    assert!(matches!(store.commit(&batch).await.unwrap(), Outcome::Committed { .. }));
}

async fn connections(client: &Client) -> i64 {
    let count = "SELECT count(*) FROM pg_stat_activity \
        WHERE application_name = 'keyway' AND datname = current_database()";
    client.query_one(count, &[]).await.unwrap().get(0)
}

/// Callers who read at the same time, some of whom give up in the middle.
async fn read(store: &PostgresStore, keys: &[Key]) {
    join_all((0..CALLERS).map(async |caller| {
        for turn in 0..60 {
            let number = (caller * 31 + turn * 7) % ROWS;
            let asked = store.get(std::slice::from_ref(&keys[number]));
            if (caller + turn) % 5 == 0 {
                let _ = timeout(Duration::from_micros(150), asked).await;
                continue;
            }
            let rows = asked.await.unwrap();
            let row = rows[0].as_ref().unwrap();
            assert_eq!(row.value, number.to_string().as_bytes());
        }
    }))
    .await;
}

#[test]
fn everybody_gets_the_row_they_asked_for() {
    let server = Postgres::start();
    runtime().block_on(async {
        let (store, keys, client) = filled(&server).await;
        let before = connections(&client).await;
        read(&store, &keys).await;
        let made = connections(&client).await - before;
        assert!((1..=SHARED).contains(&made), "{made} connections for one row each");
        // Whoever reads goes on when the server ends their connections.
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE application_name = 'keyway'";
        client.query_one(end, &[]).await.unwrap();
        read(&store, &keys).await;
    });
}

#[test]
fn large_rows_are_read_on_connections_of_their_own() {
    let server = Postgres::start();
    runtime().block_on(async {
        let (store, keys, client) = filled(&server).await;
        read(&store, &keys).await;
        let before = connections(&client).await;
        let large = "x".repeat(100_000);
        put(&store, 2, std::iter::once((keys[0].clone(), large.clone()))).await;
        for _ in 0..2 {
            let asked = (0..CALLERS).map(|_| store.get(std::slice::from_ref(&keys[0])));
            for rows in join_all(asked).await {
                assert_eq!(rows.unwrap()[0].as_ref().unwrap().value, large.as_bytes());
            }
        }
        let after = connections(&client).await;
        assert!(after > before, "{before} connections, and {after} when rows are large");
    });
}

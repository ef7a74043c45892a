//! A cursor outlives the process that handed it out, on every store that keeps data.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::{ErrorKind, Keyway};
use servers::cassandra::Cassandra;
use servers::postgres::Postgres;
use servers::redis::RedisServer;
use servers::redis_cluster::RedisCluster;
use std::path::PathBuf;

keyway::include_keyspace!("examples/notes.toml");

/// A directory of its own, gone at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}:{}?durability=process", self.0.join("data").display())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn open(url: &str) -> Notebook {
    Notebook::open_with(Keyway::builder().check_bounds(true), url).await.unwrap()
}

/// Lists half, opens the store anew, and lists the rest.
async fn survives_reopening(url: &str) {
    let notebook = open(url).await;
    let ann = notebook.as_user("ann");
    for title in ["a", "b", "c"] {
        ann.write_note(title).tags(["x"]).await.unwrap();
    }
    let page = ann.notes_with_tag("x").limit(2).await.unwrap();
    assert_eq!(page.rows.len(), 2, "{url}");
    assert!(page.next.is_some(), "{url}");
    notebook.close().await.unwrap();
    let notebook = open(url).await;
    let ann = notebook.as_user("ann");
    let rest = ann.notes_with_tag("x").limit(2).cursor(page.next).await.unwrap();
    let titles: Vec<&str> = rest.rows.iter().map(|note| note.title.as_str()).collect();
    assert_eq!(titles, ["a"], "{url}");
    notebook.close().await.unwrap();
}

#[tokio::test]
async fn on_the_engine() {
    survives_reopening(&Directory::new("cursors-engine").url("engine")).await;
}

#[tokio::test]
async fn on_files() {
    survives_reopening(&Directory::new("cursors-files").url("files")).await;
}

#[tokio::test]
async fn on_sqlite() {
    survives_reopening(&Directory::new("cursors-sqlite").url("sqlite")).await;
}

#[tokio::test]
async fn on_postgres() {
    let server = Postgres::shared();
    let database = server.database();
    survives_reopening(&format!("{}?durability=process", server.url(&database))).await;
}

#[tokio::test]
async fn on_redis() {
    let server = RedisServer::start(&[]);
    survives_reopening(&format!("{}?durability=none", server.url())).await;
}

#[tokio::test]
async fn on_a_redis_cluster() {
    let cluster = RedisCluster::start(&[]);
    survives_reopening(&format!("{}?durability=none", cluster.url())).await;
}

#[tokio::test]
async fn on_cassandra() {
    let server = Cassandra::shared();
    survives_reopening(&format!("{}?replication=1", server.url("cursors"))).await;
}

#[tokio::test]
async fn a_cursor_of_another_store_is_refused() {
    let directory = Directory::new("cursors-foreign");
    let (one, other) = (directory.url("engine"), directory.url("sqlite"));
    let one = open(&one.replace("data", "one")).await;
    let other = open(&other.replace("data", "other")).await;
    let mut next = None;
    for notebook in [&one, &other] {
        let ann = notebook.as_user("ann");
        for title in ["a", "b", "c"] {
            ann.write_note(title).tags(["x"]).await.unwrap();
        }
        next = next.or(ann.notes_with_tag("x").limit(2).await.unwrap().next);
    }
    let error = other.as_user("ann").notes_with_tag("x").limit(2).cursor(next).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cursor, "{error}");
}

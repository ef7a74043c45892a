//! What the tests share: a run time, stores on servers of their own, clients that are tasks.

use data::store::Store;
use data::suite;
use futures_util::future::BoxFuture;
use servers::redis::RedisServer;
use std::future::Future;
use std::sync::Arc;
use stores::redis::{Options, RedisStore};

/// Runs a test in a run time of its own.
pub fn in_runtime<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().worker_threads(2).build().unwrap().block_on(test)
}

/// Each client is a task.
pub fn as_tasks(clients: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let tasks: Vec<_> = clients.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            // A client that panicked has left no answer, and is missed for that.
            let _ = task.await;
        }
    })
}

/// The suite's options. Redis drops ended rows by its own clock, so the suite's is ahead of it.
pub fn options() -> suite::Options {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let day = 24 * 60 * 60 * 1_000;
    let now = i64::try_from(now.as_millis()).unwrap() + day;
    suite::Options { now, clients: as_tasks, ..suite::Options::default() }
}

/// Options for a store on a port of loopback.
pub fn at(port: u16) -> Options {
    Options { port, ..Options::default() }
}

/// A store on a server.
pub async fn store(server: &RedisServer) -> Arc<RedisStore> {
    Arc::new(RedisStore::open(at(server.port())).await.unwrap())
}

/// A store on a server that was emptied.
pub async fn empty_store(server: &RedisServer) -> Arc<dyn Store> {
    server.cli(&["FLUSHALL"]);
    store(server).await
}

//! What the tests share: a run time, stores on clusters of their own, clients that are tasks.

use data::clock::Milliseconds;
use data::store::Store;
use data::suite;
use futures_util::future::BoxFuture;
use servers::redis_cluster::RedisCluster;
use std::future::Future;
use std::sync::Arc;
use stores::redis::{ClusterOptions, RedisStore};

/// Runs a test in a run time of its own.
pub fn in_runtime<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().worker_threads(2).build().unwrap().block_on(test)
}

/// Each client is a task.
fn as_tasks(clients: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let tasks: Vec<_> = clients.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            // A client that panicked has left no answer, and is missed for that.
            let _ = task.await;
        }
    })
}

/// The suite's options, with clients as tasks.
pub fn options() -> suite::Options {
    suite::Options { clients: as_tasks, ..suite::Options::default() }
}

/// A store on a cluster.
pub async fn store(cluster: &RedisCluster) -> Arc<RedisStore> {
    let options = ClusterOptions { nodes: cluster.addresses(), ..ClusterOptions::default() };
    Arc::new(RedisStore::open_cluster(options).await.unwrap())
}

/// A store on a cluster that was emptied.
pub async fn empty_store(cluster: &RedisCluster) -> Arc<dyn Store> {
    cluster.flush();
    ahead(store(cluster).await)
}

/// The same store, its instants moved: the nodes drop rows that have ended by their own clocks.
pub fn ahead(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(suite::Ahead::of_clock(store))
}

/// The machine's time; waiting is a timer.
#[derive(Debug)]
pub struct RealClock;

#[async_trait::async_trait]
impl data::clock::Clock for RealClock {
    fn now(&self) -> Milliseconds {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(now.as_millis()).unwrap()
    }

    async fn wait(&self, milliseconds: u64) {
        tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    }
}

//! What the tests share: a run time, stores on servers of their own, clients that are tasks.

use data::Result;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    Batch, Conflict, Description, Found, Key, Keyed, Outcome, Page, Row, Scan, Store, Total, Write,
};
use data::suite;
use futures_util::future::BoxFuture;
use keyspace::model::Keyspace;
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

/// The suite's options, with clients as tasks.
pub fn options() -> suite::Options {
    suite::Options { clients: as_tasks, ..suite::Options::default() }
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
    ahead(store(server).await)
}

/// A store whose instants are moved so far that none has passed by the server's clock, which drops
/// rows that have ended; the suite's own clock stands still wherever its scripts say.
pub fn ahead(store: Arc<dyn Store>) -> Arc<dyn Store> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let day = 24 * 60 * 60 * 1_000;
    let ahead = (now + day - suite::Options::default().now).max(0);
    Arc::new(Ahead { store, ahead })
}

#[derive(Debug)]
struct Ahead {
    store: Arc<dyn Store>,
    ahead: Milliseconds,
}

impl Ahead {
    fn row(&self, row: Row) -> Row {
        Row { expires: row.expires.map(|ends| ends - self.ahead), ..row }
    }

    fn total(&self, total: Total) -> Total {
        Total { expires: total.expires.map(|ends| ends - self.ahead), ..total }
    }

    fn page(&self, page: Page) -> Page {
        let rows = page.rows.into_iter();
        let rows = rows.map(|keyed| Keyed { key: keyed.key, row: self.row(keyed.row) });
        Page { rows: rows.collect(), end: page.end }
    }

    fn batch(&self, batch: &Batch) -> Batch {
        let mut moved = batch.clone();
        moved.now += self.ahead;
        moved.deadline += self.ahead;
        for write in &mut moved.writes {
            match write {
                Write::Put { expires, .. } | Write::Add { expires, .. } => {
                    *expires = expires.map(|ends| ends + self.ahead);
                }
                Write::Delete { .. } => {}
            }
        }
        moved
    }
}

#[async_trait::async_trait]
impl Store for Ahead {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        let rows = self.store.get(keys).await?;
        Ok(rows.into_iter().map(|row| row.map(|row| self.row(row))).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        Ok(self.page(self.store.scan(scan).await?))
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        Ok(self.page(self.store.walk(scan).await?))
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        Ok(match self.store.commit(&self.batch(batch)).await? {
            Outcome::Committed { totals } => {
                let totals = totals.into_iter().map(|total| self.total(total));
                Outcome::Committed { totals: totals.collect() }
            }
            Outcome::Conflict(Conflict { at, found }) => {
                let found = match found {
                    Found::Full(total) => Found::Full(self.total(total)),
                    Found::Overflow(total) => Found::Overflow(self.total(total)),
                    found => found,
                };
                Outcome::Conflict(Conflict { at, found })
            }
            outcome => outcome,
        })
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        self.store.sweep(now + self.ahead, rows).await
    }
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

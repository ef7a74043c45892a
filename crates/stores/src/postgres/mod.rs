//! PostgreSQL: a keyspace as a schema, a table a collection, a table an index.
//!
//! ```text
//! ensure ─▶ catalogue ─▶ schema, tables, numbers
//! get, scan ─▶ get, read ─▶ one statement each, by the primary key
//! commit ─▶ lock ─▶ judge ─▶ rows, entries, outcome in one transaction
//! ```
//!
//! What `psql` shows is what `keyway layout --store postgres` prints. Any batch is atomic; commits
//! are serializable among all programs that write through Keyway. The driver needs a tokio run
//! time: the one it is called in, or else the one it was opened in.
//!
//! Nothing here asks the time: batches bring their own, and waiting is measured from the call.

mod binary;
mod catalogue;
mod commit;
mod connection;
mod error;
mod get;
mod inventory;
mod lock;
mod open;
mod outcome;
mod read;
mod row;
mod shared;
mod statement;
mod steps;
mod structure;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;
mod through;
mod together;
mod value;

use async_trait::async_trait;
use connection::Pool;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    Batch, Description, Durability, End, Joined, Key, Memory, Outcome, Page, Reach, Row, Scan,
    Show, ShowNamed, Store, Through, Versions, Write, door,
};
use data::{Error, ErrorKind, Result};
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use tables::Tables;
use tokio::runtime::Handle;

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// The most connections at a time; a fifth of them is shared by gets of one row.
    pub connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::Power, connections: 20 }
    }
}

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    address: String,
    options: Options,
    pool: Arc<Pool>,
    runtime: Handle,
    ready: RwLock<Option<Arc<Ready>>>,
}

/// A store that is ready for a keyspace.
struct Ready {
    pool: Arc<Pool>,
    tables: Tables,
    /// What the numbers of locks are made with.
    seed: u64,
    /// The statement that takes locks.
    take: Arc<str>,
    /// The helper table, as it is written in statements.
    helper: String,
    /// What people should know of the server.
    remarks: Vec<String>,
}

impl PostgresStore {
    /// Opens the store at a URL, `postgres://user:password@host:port/database`, in the tokio run
    /// time this is called in. The server is asked when the store is made ready for a keyspace.
    pub fn open(url: &str, options: &Options) -> Result<PostgresStore> {
        let config = open::config(url)?;
        let runtime = Handle::try_current().map_err(|error| {
            Error::new(ErrorKind::Argument, "PostgreSQL is opened in a tokio run time")
                .caused_by(error)
        })?;
        Ok(PostgresStore {
            address: open::address(&config),
            options: options.clone(),
            pool: Pool::new(config, options.connections.max(1)),
            runtime,
            ready: RwLock::new(None),
        })
    }

    /// Whether a keyspace was ever stored in this database. Asked before
    /// [`ensure`](Store::ensure), it writes nothing.
    pub async fn holds(&self, keyspace: &Keyspace) -> Result<bool> {
        let asked = catalogue::holds(&self.pool, keyspace);
        self.within(asked).await.map_err(|error| error.during("open"))
    }

    fn ready(&self) -> Result<Arc<Ready>> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner).clone();
        ready.ok_or_else(error::not_ready)
    }

    /// Waits in the run time of the caller, or in the one the store was opened in.
    async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let answer = match Handle::try_current() {
            Ok(_) => work.await,
            Err(_) => {
                let mut work = pin!(work);
                poll_fn(|context| {
                    let _entered = self.runtime.enter();
                    work.as_mut().poll(context)
                })
                .await
            }
        };
        // Says which server does not answer.
        answer.map_err(|error| match (error.kind(), error.value("address")) {
            (ErrorKind::Unavailable, None) => error.with("address", &self.address),
            _ => error,
        })
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn describe(&self) -> Description {
        Description {
            kind: StoreKind::Postgres,
            address: self.address.clone(),
            atomicity: Atomicity::WholeStore,
            blind: Reach::Store,
            remembers: Memory::Batches,
            durability: self.options.durability,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        if let Ok(ready) = self.ready() {
            let name = &ready.tables.schema.keyspace().name.value;
            if *name != keyspace.name.value {
                return Err(Error::new(
                    ErrorKind::Mismatch,
                    "this store is open for another keyspace; open it once more for this one",
                )
                .with("belongs_to", name)
                .with("given", &keyspace.name.value));
            }
        }
        let made = catalogue::ensure(&self.pool, &self.options, keyspace);
        let ready = self.within(made).await.map_err(|error| error.during("ensure"))?;
        let schema = ready.tables.schema.clone();
        *self.ready.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(ready));
        Ok(schema)
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        let ready = self.ready()?;
        self.within(get::get(&ready, keys)).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        self.within(read::scan(&ready, scan)).await
    }

    async fn each(
        &self,
        scan: &Scan,
        versions: Versions,
        show: &mut Show<'_>,
    ) -> Result<Option<End>> {
        scan.check_limits()?;
        let ready = self.ready()?;
        self.within(read::each(&ready, (scan, versions), show)).await.map(Some)
    }

    async fn each_through(
        &self,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<Option<End>> {
        through.scan.check_limits()?;
        let ready = self.ready()?;
        self.within(through::each(&ready, (through, versions), show)).await
    }

    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        through.scan.check_limits()?;
        let ready = self.ready()?;
        self.within(through::scan(&ready, through)).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        check_trails(batch)?;
        let ready = self.ready()?;
        self.within(commit::commit(&ready, batch)).await
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        self.within(read::walk(&ready, scan)).await
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let ready = self.ready()?;
        self.within(sweep::sweep(&ready, now, rows)).await
    }

    fn remarks(&self) -> Vec<String> {
        self.ready().map_or_else(|_| Vec::new(), |ready| ready.remarks.clone())
    }

    async fn time(&self) -> Result<Option<Milliseconds>> {
        let asked = self.within(open::time(&self.pool)).await;
        asked.map(Some).map_err(|error| error.during("open"))
    }

    async fn identity(&self) -> Result<Option<String>> {
        let ready = self.ready()?;
        self.within(catalogue::identity(&ready)).await.map(Some)
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        let ready = self.ready()?;
        self.within(catalogue::secret(&ready, fresh)).await.map(Some)
    }

    async fn close(&self) -> Result<()> {
        self.pool.close();
        Ok(())
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("PostgresStore");
        shown.field("address", &self.address).field("options", &self.options).finish()
    }
}

/// Trails belong to the protocol over group-atomic stores.
fn check_trails(batch: &Batch) -> Result<()> {
    let has_trail = |write: &Write| matches!(write, Write::Put { trail: Some(_), .. });
    match batch.writes.iter().any(has_trail) {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::Unsupported, "PostgreSQL keeps no trails of rows")),
    }
}

//! Redis, one server or a cluster: records as Hashes, groups as Sets and sorted sets, one script a
//! commit.
//!
//! ```text
//! get, scan ─▶ layout ─▶ names ─▶ one transaction ─▶ answers ─▶ rows
//! commit ────▶ layout ─▶ call ──▶ commit.lua: outcome? ─ types ─ checks ─ numbers ─ writes
//!                                 └──────────────── one connection, made anew when it breaks;
//!                                                   on a cluster one for each node (`cluster`)
//! ```
//!
//! What lies where is decided by `keyspace::layout::redis` alone. Names, the script and the
//! connection know nothing of each other: a cluster has the same, and is group-atomic. A group has
//! one slot there, a commit reaches one group, and rows keep the trails of the protocol above.
//!
//! Nothing here asks the time, but for how long an answer is waited for: batches bring their own.

mod answers;
mod call;
mod catalogue;
mod claims;
mod cluster;
mod commit;
mod connection;
mod durability;
mod error;
mod fields;
mod layout;
mod listing;
mod member;
mod met;
mod name;
mod open;
mod options;
mod outcome;
mod place;
mod protocol;
mod read;
mod resume;
mod rights;
mod scan;
mod script;
mod servers;
mod sweep;
#[cfg(test)]
mod tests;
mod through;
mod trail;
mod walk;
mod walked;
mod wire;
mod write;

pub use cluster::Redirects;
pub use options::{ClusterOptions, Options};

use async_trait::async_trait;
use cluster::Cluster;
use connection::Connection;
use data::clock::Milliseconds;
use data::schema::Schema;
use data::store::{
    Batch, Description, Joined, Key, Memory, Outcome, Page, Reach, Row, Scan, Store, Stretch,
    Through, Write, door,
};
use data::{Error, ErrorKind, Result};
use keyspace::model::{Keyspace, StoreKind};
use layout::Layout;
use open::Server;
use script::Script;
use servers::Servers;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use sweep::Swept;
use walk::Walks;

/// How long something may take.
#[derive(Clone, Copy, Debug)]
struct Within(Duration);

impl Within {
    /// What changes nothing: long enough for a server to be started again.
    fn of_reads() -> Within {
        Within(Duration::from_secs(10))
    }

    fn for_milliseconds(milliseconds: Milliseconds) -> Within {
        Within(Duration::from_millis(milliseconds.unsigned_abs()))
    }
}

/// A store on one Redis server, or on a Redis Cluster.
pub struct RedisStore {
    options: Options,
    /// A URL without secrets.
    address: String,
    server: Server,
    servers: Servers,
    commit_script: Script,
    claims_script: Script,
    mark_script: Script,
    rows_script: Script,
    ready: RwLock<Option<Arc<Ready>>>,
    walks: Walks,
    /// Where the next sweep goes on.
    swept: Mutex<Option<Swept>>,
}

/// What is known of a keyspace on this store.
#[derive(Debug)]
struct Ready {
    schema: Arc<Schema>,
    layout: Layout,
}

impl RedisStore {
    /// Connects to a server and looks at its settings.
    ///
    /// [`ErrorKind::Unavailable`] if it cannot be reached, [`ErrorKind::Unsupported`] if it is too
    /// old or a node of a cluster, [`ErrorKind::Mismatch`] if it keeps less than was asked for,
    /// [`ErrorKind::Denied`] if the user may not run every command.
    /// Needs a run time of tokio's.
    pub async fn open(options: Options) -> Result<RedisStore> {
        RedisStore::open_with(options, include_str!("commit.lua")).await
    }

    /// The same with another script, for tests that leave out what they want to see missed.
    async fn open_with(options: Options, commit_script: &str) -> Result<RedisStore> {
        check_runtime()?;
        let (address, connection) = (options.address(), Connection::new(options.clone()));
        let server = open::inspect(&connection, &options, false).await;
        let server = server.map_err(|e| e.during("open").with("address", &address))?;
        let servers = Servers::One(Arc::new(connection));
        Ok(RedisStore::new((options, address), (server, servers), commit_script))
    }

    /// Connects to the nodes of a cluster and looks at the settings of each master.
    ///
    /// The errors are those of [`open`](RedisStore::open); [`ErrorKind::Unsupported`] if it is no
    /// cluster. Needs a run time of tokio's.
    pub async fn open_cluster(options: ClusterOptions) -> Result<RedisStore> {
        check_runtime()?;
        let (address, of_node) = (options.address(), options.of_node());
        let cluster = Cluster::new(of_node.clone(), options.nodes);
        let server = open::inspect_all(&cluster, &of_node).await;
        let server = server.map_err(|e| e.during("open").with("address", &address))?;
        let servers = Servers::Cluster(Box::new(cluster));
        let script = include_str!("commit.lua");
        Ok(RedisStore::new((of_node, address), (server, servers), script))
    }

    fn new(
        (options, address): (Options, String),
        (server, servers): (Server, Servers),
        commit_script: &str,
    ) -> RedisStore {
        RedisStore {
            options,
            address,
            server,
            servers,
            commit_script: Script::new(commit_script),
            claims_script: Script::new(include_str!("claims.lua")),
            mark_script: Script::new(include_str!("mark.lua")),
            rows_script: Script::new(include_str!("rows.lua")),
            ready: RwLock::default(),
            walks: Walks::default(),
            swept: Mutex::default(),
        }
    }

    /// How often a cluster has sent requests elsewhere or told them to come later, since the store
    /// was opened.
    pub fn redirects(&self) -> Redirects {
        self.servers.redirects()
    }

    fn kind(&self) -> StoreKind {
        if self.servers.is_cluster() { StoreKind::RedisCluster } else { StoreKind::Redis }
    }

    /// Refuses a batch that reaches several places of a cluster.
    fn check_reach(&self, ready: &Ready, batch: &Batch) -> Result<()> {
        if !self.servers.is_cluster() {
            return Ok(());
        }
        let checks = batch.checks.iter().map(|check| &check.key);
        let mut keys = checks.chain(batch.writes.iter().map(Write::key));
        let Some(first) = keys.next() else { return Ok(()) };
        let place = ready.schema.place(first)?;
        for key in keys {
            if ready.schema.place(key)? != place {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "a batch reaches several places of a group-atomic store",
                ));
            }
        }
        Ok(())
    }

    /// Whether a keyspace was ever stored in this database, under this prefix. Asked before
    /// [`ensure`](Store::ensure), it writes nothing.
    pub async fn holds(&self) -> Result<bool> {
        self.is_marked().await.map_err(|error| error.during("open"))
    }

    fn ready(&self) -> Result<Arc<Ready>> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        ready.clone().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a store is used before it knows its keyspace")
        })
    }

    /// Says which server does not answer.
    fn named<T>(&self, answer: Result<T>) -> Result<T> {
        answer.map_err(|error| match error.kind() {
            ErrorKind::Unavailable => error.with("address", &self.address),
            _ => error,
        })
    }

    fn glob_prefix(&self) -> Vec<u8> {
        name::escaped_glob(&self.options.prefix)
    }
}

/// Connections need tasks that read.
fn check_runtime() -> Result<()> {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::new(
            ErrorKind::Unsupported,
            "the Redis store needs a run time of tokio's: open it inside one",
        )),
    }
}

#[async_trait]
impl Store for RedisStore {
    fn describe(&self) -> Description {
        Description {
            kind: self.kind(),
            address: self.address.clone(),
            atomicity: self.kind().atomicity(),
            blind: if self.servers.is_cluster() { Reach::Place } else { Reach::Store },
            remembers: Memory::Batches,
            durability: self.server.durability,
        }
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        let may_all_be_lost = keyspace.collections.iter().all(|collection| collection.cache);
        self.server.check_eviction(may_all_be_lost)?;
        let catalogue = self.named(self.take_in(keyspace).await);
        let catalogue = catalogue.map_err(|error| error.during("ensure"))?;
        let schema = Arc::new(Schema::new(keyspace.clone(), self.kind(), catalogue)?);
        let layout = Layout::new(&schema, &self.options.prefix)?;
        let ready = Arc::new(Ready { schema: schema.clone(), layout });
        *self.ready.write().unwrap_or_else(PoisonError::into_inner) = Some(ready);
        Ok(schema)
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        let ready = self.ready()?;
        self.named(self.rows(&ready.layout, keys).await)
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        self.named(self.page(&ready.layout, scan).await)
    }

    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        through.scan.check_limits()?;
        let ready = self.ready()?;
        self.named(self.page_through(&ready.layout, through).await)
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        self.named(self.walk_on(&ready.layout, scan).await)
    }

    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        let ready = self.ready()?;
        self.named(self.walk_on_from(&ready.layout, space, mark, rows).await)
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let ready = self.ready()?;
        self.check_reach(&ready, batch)?;
        self.named(self.send(&ready.layout, batch).await)
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let ready = self.ready()?;
        self.named(self.sweep_some((&ready.layout, &ready.schema), now, rows).await)
    }

    fn remarks(&self) -> Vec<String> {
        self.server.remarks.clone()
    }

    async fn time(&self) -> Result<Option<Milliseconds>> {
        // Nodes have clocks of their own: it is always the same one that is asked.
        let server = self.servers.master_of(&self.marker_name()).map_err(error::failed)?;
        self.named(open::time(&server).await.map(Some))
    }

    async fn identity(&self) -> Result<Option<String>> {
        let server = self.servers.master_of(&self.marker_name()).map_err(error::failed)?;
        let server = match self.servers.is_cluster() {
            true => open::cluster_id(&server).await?,
            false => open::run_id(&server).await?,
        };
        let Options { database, prefix, .. } = &self.options;
        Ok(server.map(|server| format!("{server}/{database}/{prefix}")))
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        self.named(self.shared_secret(fresh).await.map(Some))
    }

    async fn close(&self) -> Result<()> {
        self.servers.close();
        Ok(())
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("RedisStore");
        shown.field("address", &self.address).field("server", &self.server);
        shown.finish_non_exhaustive()
    }
}

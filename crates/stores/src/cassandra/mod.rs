//! Cassandra and ScyllaDB: a keyspace as tables, a group as a partition.
//!
//! ```text
//! ensure ─▶ catalogue ─▶ keyspace, tables, numbers
//! get, scan ─▶ read ─▶ one statement a partition
//! commit ─┬─ plain         INSERT, DELETE with timestamps; several in one LOGGED BATCH
//!         └─ conditional   one lightweight transaction of one partition
//! ```
//!
//! What `cqlsh` shows is what `keyway layout --store cassandra` prints. A commit reaches one
//! partition of one table; indexes and unique values across partitions are kept by the protocol in
//! `data`. A table is written plainly or conditionally, for life. Rows end by the instant in them,
//! and the server lets go of them later, so there is nothing to sweep.
//!
//! Nothing here asks the time: batches bring their own, and waiting is measured from the call.

mod catalogue;
mod cells;
mod centres;
mod client;
mod columns;
mod conditional;
mod found;
mod known;
mod open;
mod plain;
mod read;
mod row;
mod secret;
mod settings;
mod stretch;
mod structure;
mod tables;
mod time;
mod tries;
mod uuids;
mod value;
mod view;
mod walk;

use async_trait::async_trait;
use catalogue::{ENSURE_WITHIN, Making};
use client::Client;
use data::schema::Schema;
use data::store::limits::CASSANDRA_BATCH_BYTES_MAX;
use data::store::{
    Batch, Description, Durability, End, Key, Memory, Outcome, Page, Reach, Row, Scan, Show, Store,
    Versions, Write, door,
};
use data::{Error, ErrorKind, Result};
use keyspace::layout::cql;
use keyspace::model::{Atomicity, Keyspace, StoreKind};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tables::Tables;
use time::Stamps;
use tokio::runtime::Handle;
use tokio::time::Instant;
use uuids::Uuids;

/// What a commit that is begun is given, however late it is.
const COMMIT_AT_LEAST: Duration = Duration::from_secs(1);

/// Waits in the run time of the caller, or in the one the store was opened in. No function, because
/// a future that is handed to one has its room twice.
macro_rules! within {
    ($store:expr, $work:expr) => {
        match is_in_runtime() {
            true => $work.await,
            false => entered(&$store.runtime, Box::pin($work)).await,
        }
    };
}

/// Whether whoever is asked for runs in a run time of tokio's.
fn is_in_runtime() -> bool {
    // A task knows itself; to ask for the run time counts who holds it.
    tokio::task::try_id().is_some() || Handle::try_current().is_ok()
}

/// Waits in a run time.
async fn entered<T>(runtime: &Handle, mut work: Pin<Box<impl Future<Output = T>>>) -> T {
    poll_fn(|context| {
        let _entered = runtime.enter();
        work.as_mut().poll(context)
    })
    .await
}

/// How a store is opened.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// Nodes of the cluster, `host:port`; the others are found by asking these.
    pub nodes: Vec<String>,
    /// A name and a password.
    pub user: Option<(String, String)>,
    /// The keyspace in Cassandra; the name of the keyspace file unless set.
    pub place: Option<String>,
    /// With how many copies that is created if it is not there; it is not unless set.
    pub replication: Option<u8>,
    /// What an acknowledged commit must survive; what the cluster gives unless set.
    pub durability: Option<Durability>,
    /// Whether it is ScyllaDB.
    pub is_scylla: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("Options");
        shown.field("nodes", &self.nodes).field("place", &self.place).finish_non_exhaustive()
    }
}

/// A store in a Cassandra or ScyllaDB cluster.
pub struct CassandraStore {
    options: Options,
    runtime: Handle,
    stamps: Arc<Stamps>,
    durability: OnceLock<Durability>,
    remarks: RwLock<Vec<String>>,
    ready: RwLock<Option<Arc<Ready>>>,
}

/// A store that is ready for a keyspace.
#[derive(Debug)]
struct Ready {
    client: Arc<Client>,
    tables: Tables,
    stamps: Arc<Stamps>,
    uuids: Uuids,
    /// The catalogue's table, as it is written in statements.
    catalogue: String,
    /// The keyspace in Cassandra.
    place: String,
}

impl CassandraStore {
    /// Opens a store, in the tokio run time this is called in. The cluster is asked when the store
    /// is made ready for a keyspace.
    pub fn open(options: Options) -> Result<CassandraStore> {
        if options.nodes.is_empty() {
            return Err(Error::new(ErrorKind::Argument, "a cluster is found by one of its nodes"));
        }
        let runtime = Handle::try_current().map_err(|error| {
            Error::new(ErrorKind::Argument, "Cassandra is opened in a tokio run time")
                .caused_by(error)
        })?;
        let (ready, remarks) = (RwLock::new(None), RwLock::default());
        let (stamps, durability) = (Arc::default(), OnceLock::new());
        Ok(CassandraStore { options, runtime, stamps, durability, remarks, ready })
    }

    /// Whether a keyspace was ever stored in this cluster. Asked before
    /// [`ensure`](Store::ensure), it writes nothing.
    pub async fn holds(&self, keyspace: &Keyspace) -> Result<bool> {
        let asked = async {
            let until = Instant::now() + ENSURE_WITHIN;
            let client = open::connect(&self.options).await?;
            let place = self.place(keyspace);
            let found = open::replication(&client, &place, until).await;
            if found.map_err(client::Fault::into_error)?.is_none() {
                return Ok(false);
            }
            let tables = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?";
            let statement = client.prepare(tables, client::Way::Again).await;
            let statement = statement.map_err(client::Fault::into_error)?;
            let each = |columns: &[Option<&[u8]>]| {
                Ok(columns.first().copied().flatten() == Some(b"keyway"))
            };
            let rows = client.rows(&(statement, vec![value::text(&place)]), until, each).await;
            Ok(rows.map_err(client::Fault::into_error)?.contains(&true))
        };
        within!(self, asked).map_err(|error: Error| error.during("open"))
    }

    fn place(&self, keyspace: &Keyspace) -> String {
        self.options.place.clone().unwrap_or_else(|| keyspace.name.value.clone())
    }

    fn kind(&self) -> StoreKind {
        if self.options.is_scylla { StoreKind::Scylla } else { StoreKind::Cassandra }
    }

    fn ready(&self) -> Result<Arc<Ready>> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner).clone();
        ready.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the store was not made ready for a keyspace")
        })
    }

    async fn make_ready(&self, keyspace: &Arc<Keyspace>) -> Result<Ready> {
        let until = Instant::now() + ENSURE_WITHIN;
        let place = self.place(keyspace);
        let client = match self.ready() {
            Ok(ready) => ready.client.clone(),
            Err(_) => Arc::new(open::connect(&self.options).await?),
        };
        open::prepare_place(&client, &self.options, &place, until).await?;
        let cluster = settings::inspect(&client, &self.options, until).await?;
        let _ = self.durability.set(cluster.durability);
        *self.remarks.write().unwrap_or_else(PoisonError::into_inner) = cluster.remarks;
        let layout = cql::layout(keyspace);
        let making = Making {
            client: &client,
            place: &place,
            layout: &layout,
            keyspace,
            kind: self.kind(),
            until,
        };
        let (schema, uuids) = catalogue::make(&making).await?;
        let catalogue = making.helper_name();
        // Where each partition lies is known by the tables' metadata.
        let _ = client.session.refresh_metadata().await;
        let tables = Tables::new(&layout, schema)?;
        let (stamps, uuids) = (self.stamps.clone(), Uuids::new(uuids));
        Ok(Ready { client, tables, stamps, uuids, catalogue, place })
    }
}

#[async_trait]
impl Store for CassandraStore {
    fn describe(&self) -> Description {
        let scheme = if self.options.is_scylla { "scylla" } else { "cassandra" };
        let place = self.options.place.as_deref().unwrap_or_default();
        Description {
            kind: self.kind(),
            address: format!("{scheme}://{}/{place}", self.options.nodes.join(",")),
            atomicity: Atomicity::Group,
            blind: Reach::Store,
            remembers: Memory::Rows,
            durability: self.durability.get().copied().unwrap_or(Durability::Process),
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
        let made = within!(self, self.make_ready(keyspace));
        let ready = made.map_err(|error| error.during("ensure"))?;
        let schema = ready.tables.schema.clone();
        *self.ready.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(ready));
        Ok(schema)
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        door::check_keys(keys)?;
        let ready = self.ready()?;
        within!(self, read::get(&ready, keys))
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        within!(self, read::scan(&ready, scan))
    }

    async fn each(&self, scan: &Scan, _: Versions, show: &mut Show<'_>) -> Result<Option<End>> {
        scan.check_limits()?;
        let ready = self.ready()?;
        within!(self, read::each(&ready, scan, show)).map(Some)
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        scan.check_limits()?;
        let ready = self.ready()?;
        within!(self, walk::walk(&ready, scan))
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let ready = self.ready()?;
        within!(self, commit(&ready, batch, false))
    }

    async fn commit_new(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let ready = self.ready()?;
        within!(self, commit(&ready, batch, true))
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn identity(&self) -> Result<Option<String>> {
        let ready = self.ready()?;
        within!(self, identity(&ready)).map(Some)
    }

    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        let ready = self.ready()?;
        within!(self, secret::secret(&ready.client, &ready.catalogue, fresh)).map(Some)
    }
}

impl fmt::Debug for CassandraStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CassandraStore").field("options", &self.options).finish()
    }
}

/// Commits a batch, which may be one that was never sent: plainly, or judged.
async fn commit(ready: &Ready, batch: &Batch, is_new: bool) -> Result<Outcome> {
    let keys = || batch.checks.iter().map(|c| &c.key).chain(batch.writes.iter().map(Write::key));
    let Some(first) = keys().next() else { return Ok(Outcome::Committed { totals: Vec::new() }) };
    let (mut judged, mut plain) = (false, false);
    for key in keys() {
        let is_judged = ready.tables.of(key)?.table.is_conditional;
        judged |= is_judged;
        plain |= !is_judged;
    }
    let is_blind = |write: &Write| match write {
        Write::Put { versioned, trail, .. } => !versioned && trail.is_none(),
        Write::Delete { .. } => true,
        Write::Add { .. } => false,
    };
    let mut reaches_far = false;
    if judged || !batch.checks.is_empty() || !batch.writes.iter().all(is_blind) {
        let schema = &ready.tables.schema;
        let place = schema.place(first)?;
        for key in keys().skip(1) {
            reaches_far |= schema.place(key)? != place;
        }
    }
    if reaches_far {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a batch reaches several places of a group-atomic store",
        ));
    }
    let left = u64::try_from(batch.deadline.saturating_sub(batch.now)).unwrap_or(0);
    let until = Instant::now() + Duration::from_millis(left).max(COMMIT_AT_LEAST);
    match (judged, plain && !batch.checks.is_empty()) {
        // Boxed, so that what is written plainly does not carry its room.
        (true, _) => Box::pin(conditional::commit(ready, batch, until)).await,
        (false, true) => Err(Error::new(
            ErrorKind::Unsupported,
            "rows without versions are compared by no store that scales out",
        )),
        (false, false) => {
            if batch.writes.len() > 1 {
                door::check_batch_bytes(CASSANDRA_BATCH_BYTES_MAX, batch.bytes())?;
            }
            plain::commit(ready, (batch, is_new), until).await
        }
    }
}

/// What tells this keyspace of this cluster from every other: its table's own number.
async fn identity(ready: &Ready) -> Result<String> {
    let until = Instant::now() + ENSURE_WITHIN;
    let asked = "SELECT id FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
    let table = ready.catalogue.trim_matches('"');
    let cells = vec![value::text(&ready.place), value::text(table)];
    let failed = client::Fault::into_error;
    let statement = ready.client.prepare(asked, client::Way::Again).await.map_err(failed)?;
    let each = |columns: &[Option<&[u8]>]| {
        let bytes = columns.first().copied().flatten().unwrap_or_default();
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    let rows = ready.client.rows(&(statement, cells), until, each).await.map_err(failed)?;
    Ok(rows.into_iter().next().unwrap_or_default())
}

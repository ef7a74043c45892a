//! From a URL to a store: the one place that knows both.

use crate::url::{PostgresUrl, StoreUrl};
use data::memory::MemoryStore;
use data::store::{Durability, Store};
use data::{Error, ErrorKind, Result};
use keyspace::model::Keyspace;
use std::path::PathBuf;
use std::sync::Arc;
use stores::cassandra::CassandraStore;
use stores::engine::{self, EngineStore};
#[cfg(unix)]
use stores::files::{self, FilesStore};
use stores::postgres::{self, PostgresStore};
use stores::redis::RedisStore;
use stores::sqlite::{self, SqliteStore};

/// Opens the store of a URL.
pub async fn open(url: &StoreUrl) -> Result<Arc<dyn Store>> {
    match url {
        StoreUrl::Postgres(url) => Ok(Arc::new(open_postgres(url)?)),
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreUrl::Engine { directory, durability, cache_mib } => {
            let mut options =
                engine::Options { durability: *durability, ..engine::Options::default() };
            if let Some(mib) = cache_mib {
                options.cache_bytes = u64::from(*mib) << 20;
            }
            let directory = directory.clone();
            let store = apart(move || EngineStore::open(directory, &options)).await?;
            Ok(Arc::new(store))
        }
        StoreUrl::Files { directory, durability, cache_mib, network } => {
            open_files(directory.clone(), *durability, *cache_mib, *network).await
        }
        StoreUrl::Sqlite { file, durability } => {
            let (file, options) = (file.clone(), sqlite::Options { durability: *durability });
            let store = apart(move || SqliteStore::open(file, &options)).await?;
            Ok(Arc::new(store))
        }
        StoreUrl::Redis(options) => Ok(Arc::new(RedisStore::open(options.clone()).await?)),
        StoreUrl::RedisCluster(options) => {
            Ok(Arc::new(RedisStore::open_cluster(options.clone()).await?))
        }
        StoreUrl::Cassandra(options) => Ok(Arc::new(CassandraStore::open(options.clone())?)),
    }
}

/// What a look at a store finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the store is, without a user or a password.
    pub place: String,
    /// Whether a keyspace was ever stored there.
    pub holds: bool,
}

/// Looks whether a keyspace was ever stored at a URL. Nothing is made or written there, so that it
/// can be asked of a place that may be somebody else's.
///
/// ```no_run
/// # async fn example(keyspace: &keyspace::model::Keyspace) -> keyway::Result<()> {
/// let found = keyway::look(&"sqlite:./data.db".parse()?, keyspace).await?;
/// if !found.holds {
///     println!("there is nothing in {} yet", found.place);
/// }
/// # Ok(())
/// # }
/// ```
pub async fn look(url: &StoreUrl, keyspace: &Keyspace) -> Result<Found> {
    let at = |path: &PathBuf, holds: bool| Found { place: path.display().to_string(), holds };
    Ok(match url {
        StoreUrl::Memory => Found { place: "memory:".to_string(), holds: false },
        StoreUrl::Engine { directory, .. } => at(directory, EngineStore::holds(directory)?),
        StoreUrl::Files { directory, .. } => at(directory, files_hold(directory)?),
        StoreUrl::Sqlite { file, .. } => at(file, SqliteStore::holds(file)?),
        StoreUrl::Postgres(url) => {
            let store = open_postgres(url)?;
            let holds = store.holds(keyspace).await;
            store.close().await?;
            Found { place: store.describe().address, holds: holds? }
        }
        StoreUrl::Redis(options) => held(RedisStore::open(options.clone()).await?).await?,
        StoreUrl::RedisCluster(options) => {
            held(RedisStore::open_cluster(options.clone()).await?).await?
        }
        StoreUrl::Cassandra(options) => {
            let store = CassandraStore::open(options.clone())?;
            let holds = store.holds(keyspace).await?;
            Found { place: store.describe().address, holds }
        }
    })
}

async fn held(store: RedisStore) -> Result<Found> {
    let holds = store.holds().await;
    store.close().await?;
    Ok(Found { place: store.describe().address, holds: holds? })
}

#[cfg(unix)]
fn files_hold(directory: &std::path::Path) -> Result<bool> {
    FilesStore::holds(directory)
}

#[cfg(not(unix))]
fn files_hold(_: &std::path::Path) -> Result<bool> {
    Ok(false)
}

/// Opens a tree of files.
#[cfg(unix)]
async fn open_files(
    directory: PathBuf,
    durability: Durability,
    cache_mib: Option<u32>,
    network: bool,
) -> Result<Arc<dyn Store>> {
    let mut options =
        files::Options { durability, allow_network: network, ..files::Options::default() };
    if let Some(mib) = cache_mib {
        options.cache_bytes = u64::from(mib) << 20;
    }
    let store = apart(move || FilesStore::open(directory, &options)).await?;
    Ok(Arc::new(store))
}

/// Opens a tree of files.
#[cfg(not(unix))]
async fn open_files(_: PathBuf, _: Durability, _: Option<u32>, _: bool) -> Result<Arc<dyn Store>> {
    Err(Error::new(ErrorKind::Unsupported, "a tree of files can be opened on Unix only"))
}

fn open_postgres(url: &PostgresUrl) -> Result<PostgresStore> {
    let mut options =
        postgres::Options { durability: url.durability, ..postgres::Options::default() };
    if let Some(connections) = url.connections {
        options.connections = connections;
    }
    PostgresStore::open(url.driver_url(), &options)
}

/// Does what may take a while, such as reading a journal, where it holds up no other task.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    let broken = |error| Error::new(ErrorKind::Internal, "opening broke off").caused_by(error);
    runtime.spawn_blocking(work).await.map_err(broken)?
}

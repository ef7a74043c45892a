//! From a URL to a store: the one place that knows both.

use crate::url::StoreUrl;
use data::memory::MemoryStore;
use data::store::Store;
use data::{Error, ErrorKind, Result};
use std::sync::Arc;
use stores::engine::{self, EngineStore};
use stores::sqlite::{self, SqliteStore};

/// Opens the store of a URL.
pub async fn open(url: &StoreUrl) -> Result<Arc<dyn Store>> {
    match url {
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
        StoreUrl::Sqlite { file, durability } => {
            let (file, options) = (file.clone(), sqlite::Options { durability: *durability });
            let store = apart(move || SqliteStore::open(file, &options)).await?;
            Ok(Arc::new(store))
        }
    }
}

/// Does what may take a while, such as reading a journal, where it holds up no other task.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    let broken = |error| Error::new(ErrorKind::Internal, "opening broke off").caused_by(error);
    runtime.spawn_blocking(work).await.map_err(broken)?
}

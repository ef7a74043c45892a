//! From a URL to a store: the one place that knows both.

use crate::url::StoreUrl;
use data::clock::Clock;
use data::memory::MemoryStore;
use data::store::Store;
use data::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Opens the store of a URL.
pub async fn open(url: &StoreUrl, clock: &Arc<dyn Clock>) -> Result<Arc<dyn Store>> {
    let _ = clock;
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreUrl::Engine { .. } => {
            Err(Error::new(ErrorKind::Unsupported, "the engine is not wired yet"))
        }
    }
}

//! The task that removes rows which have ended, and entries that belong to none.
//!
//! Nobody reads either of them, removed or not; the task gives their space back. It ends with the
//! last handle of the keyspace, and never keeps a store open.

use crate::handle::Inner;
use data::{ErrorKind, Result};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::AbortHandle;

/// Rows of one batch: short enough that writers never wait long behind it.
const ROWS: usize = 500;

/// Batches of one round, so that a flood of ended rows does not keep a store busy for good.
const BATCHES: usize = 100;

/// The running task; it ends when this is dropped.
#[derive(Debug)]
pub struct Sweeper(AbortHandle);

impl Sweeper {
    /// Starts the task, if there is a run time of tokio's to carry it.
    pub fn start(inner: &Arc<Inner>, every: Duration) -> Option<Sweeper> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let task = runtime.spawn(run(Arc::downgrade(inner), every));
        Some(Sweeper(task.abort_handle()))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run(inner: Weak<Inner>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(inner) = inner.upgrade() else { return };
        match round(&inner).await {
            // A store that may not write any more will not sweep any more.
            Err(error) if error.kind() == ErrorKind::Poisoned => return,
            // Whatever else happened, the rows are still there for the next round.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Removes what has ended by now, and says how many rows went.
pub async fn round(inner: &Inner) -> Result<usize> {
    let runtime = inner.runtime();
    let now = runtime.options().clock.now();
    let mut swept = 0;
    for _ in 0..BATCHES {
        let rows = runtime.store().sweep(now, ROWS).await?;
        swept += rows;
        inner.swept.fetch_add(rows as u64, Ordering::Relaxed);
        if rows < ROWS {
            break;
        }
        tokio::task::yield_now().await;
    }
    swept += runtime.clean(ROWS).await?;
    Ok(swept)
}

//! What the tests of stores share: a folder that goes when a test ends, waiting, and small batches.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[cfg(unix)]
pub mod kill;
#[cfg(target_os = "linux")]
pub mod strace;

use bytes::Bytes;
use data::clock::Milliseconds;
use data::store::{Batch, Check, CommitId, Expect, Key, Outcome, Range, Total, Write};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// A folder that is removed at the end of a test.
pub struct Folder(PathBuf);

impl Folder {
    /// A path at which nothing is yet.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyway-store-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a test failed on can be looked at.
        if std::thread::panicking() {
            eprintln!("the store is in {}", self.0.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Waits on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A time to begin with: 2026-01-01.
pub const NOW: Milliseconds = 1_767_225_600_000;

/// The key of a row in a space.
pub fn key(space: u16, rest: impl AsRef<[u8]>) -> Key {
    let mut bytes = space.to_be_bytes().to_vec();
    bytes.extend_from_slice(rest.as_ref());
    Key::from(bytes)
}

/// The id with this number.
pub fn id(number: u64) -> CommitId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&(number & 0x3fff_ffff_ffff_ffff).to_be_bytes());
    bytes[0] = (number >> 56) as u8;
    CommitId::from_bytes(bytes)
}

/// A batch of writes.
pub fn batch(number: u64, now: Milliseconds, writes: Vec<Write>) -> Batch {
    Batch { id: id(number), now, checks: Vec::new(), writes, deadline: now + 1_000 }
}

/// A versioned row.
pub fn put(key: Key, value: impl Into<Bytes>, expires: Option<Milliseconds>) -> Write {
    Write::Put { key, value: value.into(), expires, versioned: true, trail: None }
}

/// An addition to a counter.
pub fn add(key: Key, amount: i64) -> Write {
    Write::Add { key, amount, expires: None, window: None }
}

/// A check.
pub fn check(key: Key, expect: Expect) -> Check {
    Check { key, expect }
}

/// The totals of a batch that must have been committed.
pub fn totals(outcome: data::Result<Outcome>) -> Vec<Total> {
    match outcome {
        Ok(Outcome::Committed { totals }) => totals,
        other => panic!("not committed: {other:?}"),
    }
}

/// All keys of a space.
pub fn space(number: u16) -> Range {
    let start = Bytes::copy_from_slice(&number.to_be_bytes());
    Range { start, end: Bytes::copy_from_slice(&(number + 1).to_be_bytes()) }
}

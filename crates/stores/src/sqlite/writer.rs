//! The one thread that writes.
//!
//! ```text
//! callers ─queue─▶ thread: take all that wait ─▶ Committer: one transaction ─▶ answer each
//! ```
//!
//! A COMMIT takes as long for a hundred batches as for one, so what arrives during one is written
//! with the next. There is no timer: nobody waits for others to come.

use super::commit::Committer;
use super::error::{closed, poisoned};
use super::tables::Tables;
use data::store::{Batch, Outcome};
use data::{Error, ErrorKind, Result};
use futures_channel::oneshot;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// Batches written together.
const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// The thread, and the way to it.
pub(super) struct Writer {
    queue: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

/// A batch, and the tables its keys belong to.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) tables: Arc<Tables>,
}

/// Something for the thread to do.
enum Work {
    /// A batch, and where its outcome goes.
    Commit(Job, oneshot::Sender<Result<Outcome>>),
    /// Anything else.
    Other(Box<dyn FnOnce(&mut Committer) + Send>),
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(committer: Committer) -> Result<Writer> {
        let (queue, work) = channel();
        let thread = Builder::new().name("keyway sqlite".to_string());
        let thread = thread.spawn(move || write_all(committer, &work)).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the store could not start its thread")
                .caused_by(error)
        })?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    /// Commits a batch.
    pub(super) fn commit(
        &self,
        batch: &Batch,
        tables: Arc<Tables>,
    ) -> Result<oneshot::Receiver<Result<Outcome>>> {
        let (sender, receiver) = oneshot::channel();
        self.send(Work::Commit(Job { batch: batch.clone(), tables }, sender))?;
        Ok(receiver)
    }

    /// Does something else between two commits.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>> {
        let (sender, receiver) = oneshot::channel();
        let work = move |committer: &mut Committer| {
            // Whoever asked may have gone.
            let _ = sender.send(work(committer));
        };
        self.send(Work::Other(Box::new(work)))?;
        Ok(receiver)
    }

    fn send(&self, work: Work) -> Result<()> {
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        // The thread ends by itself only if it panicked.
        queue.send(work).map_err(|_| poisoned())
    }
}

impl Drop for Writer {
    /// Ends the thread, once what was sent to it is done.
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take() {
            // It has no result, and a panic in it has poisoned the store already.
            let _ = thread.join();
        }
    }
}

/// The thread: groups of batches, and whatever else is sent, in order.
fn write_all(mut committer: Committer, work: &Receiver<Work>) {
    let mut next = None;
    while let Some(first) = next.take().or_else(|| work.recv().ok()) {
        match first {
            Work::Other(work) => work(&mut committer),
            Work::Commit(job, sender) => {
                let mut jobs = vec![job];
                let mut senders = vec![sender];
                next = gather(work, &mut jobs, &mut senders);
                for (answer, sender) in committer.commit(&jobs).into_iter().zip(senders) {
                    // Whoever asked may have gone; the batch is committed all the same.
                    let _ = sender.send(answer);
                }
            }
        }
    }
}

/// Takes the batches that wait; answers what waits behind them that is none.
fn gather(
    work: &Receiver<Work>,
    jobs: &mut Vec<Job>,
    senders: &mut Vec<oneshot::Sender<Result<Outcome>>>,
) -> Option<Work> {
    let mut bytes: usize = jobs.iter().map(|job| job.batch.bytes()).sum();
    while jobs.len() < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX {
        match work.try_recv() {
            Ok(Work::Commit(job, sender)) => {
                bytes += job.batch.bytes();
                jobs.push(job);
                senders.push(sender);
            }
            Ok(other) => return Some(other),
            Err(_) => return None,
        }
    }
    None
}

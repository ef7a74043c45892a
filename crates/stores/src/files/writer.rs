//! One thread commits for all: what arrives while it syncs is written with the next group.
//!
//! ```text
//! callers ─queue─▶ thread: take all that wait ─▶ journal ─▶ answer each
//!                          └─ what is answered ─▶ files, on another thread ─▶ checkpoint?
//! ```
//!
//! A sync takes as long for a hundred batches as for one. There is no timer: before a sync the
//! thread only lets those run who were answered just now and may come again. With less than
//! `power`, syncing and writing files wait a little for more.

use super::commit::Committer;
use super::error::{closed, poisoned};
use data::store::{Batch, Durability, Outcome};
use data::{Error, ErrorKind, Result};
use futures_channel::oneshot;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Batches written together.
const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// How often the thread lets others run before a sync, while fewer came than were answered last.
const YIELDS_MAX: usize = 32;
/// How long what is not synced may wait.
const LATE: Duration = Duration::from_millis(500);
/// Bytes that may wait, and files: whoever has more waits until those before are in their places.
const LATE_BYTES_MAX: usize = 8 << 20;
const LATE_FILES_MAX: usize = 1_000;
/// Files that are worth a sync of the journal, where commits need none.
const MANY_FILES: usize = 256;
/// How long what waits for the files before it is left alone.
const SOON: Duration = Duration::from_millis(1);
/// How long nothing happens before a checkpoint is made.
const IDLE: Duration = Duration::from_secs(5);

/// The thread, as its callers have it.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

/// Something for the thread to do.
enum Work {
    /// A batch, and where its outcome goes.
    Commit(Batch, oneshot::Sender<Result<Outcome>>),
    /// Anything else.
    Other(Box<dyn FnOnce(&mut Committer) + Send>),
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(committer: Committer) -> Result<Writer> {
        let (queue, work) = channel();
        let thread = Builder::new().name("keyway writer".to_string());
        let thread = thread.spawn(move || write_all(committer, &work)).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the store could not start its thread")
                .caused_by(error)
        })?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    /// Commits a batch.
    pub(super) fn commit(&self, batch: &Batch) -> Result<oneshot::Receiver<Result<Outcome>>> {
        let (sender, receiver) = oneshot::channel();
        self.send(Work::Commit(batch.clone(), sender))?;
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
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take() {
            // It has no result, and a panic in it has closed the queue.
            let _ = thread.join();
        }
    }
}

/// The thread: groups of batches, and whatever else is sent, in order.
fn write_all(mut committer: Committer, work: &Receiver<Work>) {
    let mut since: Option<Instant> = None;
    let mut next = None;
    let mut answered = 0;
    loop {
        let wait = match since {
            Some(_) if committer.placer.is_busy() => SOON,
            Some(since) if !committer.pending.is_empty() => LATE.saturating_sub(since.elapsed()),
            _ => IDLE,
        };
        let first = match next.take() {
            Some(work) => Ok(work),
            None => work.recv_timeout(wait),
        };
        let is_idle = first.is_err();
        match first {
            Err(RecvTimeoutError::Disconnected) => {
                let _ = committer.sync();
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Work::Other(work)) => work(&mut committer),
            Ok(Work::Commit(batch, sender)) => {
                let mut batches = vec![batch];
                let mut senders = vec![sender];
                next = gather(work, &mut batches, &mut senders);
                let is_synced = committer.durability == Durability::Power;
                for _ in 0..if is_synced { YIELDS_MAX } else { 0 } {
                    if batches.len() >= answered || next.is_some() {
                        break;
                    }
                    std::thread::yield_now();
                    next = gather(work, &mut batches, &mut senders);
                }
                answered = batches.len();
                for (answer, sender) in committer.commit(&batches).into_iter().zip(senders) {
                    // Whoever asked may have gone; the batch is committed all the same.
                    let _ = sender.send(answer);
                }
            }
        }
        since = keep(&mut committer, since, is_idle);
    }
}

/// What nobody waits for: files, and checkpoints. Since when something waits for it.
fn keep(committer: &mut Committer, since: Option<Instant>, is_idle: bool) -> Option<Instant> {
    if committer.shared.is_poisoned() {
        return None;
    }
    // A failure, here and below, poisons the store, which every caller is told.
    if committer.is_due() {
        let _ = committer.start_checkpoint();
        return None;
    }
    let is_placing = committer.placer.is_busy();
    if committer.pending.is_empty() {
        if is_idle && !is_placing && committer.is_unkept() && !committer.keeper.is_busy() {
            let _ = committer.start_checkpoint();
        }
        return None;
    }
    let since = since.unwrap_or_else(Instant::now);
    let files = committer.pending.files.len();
    let is_full = committer.pending.bytes >= LATE_BYTES_MAX || files >= LATE_FILES_MAX;
    let is_wanted =
        committer.durability == Durability::Power || files >= MANY_FILES || since.elapsed() >= LATE;
    if !is_full && (is_placing || !is_wanted) {
        return Some(since);
    }
    let _ = committer.collect().and_then(|()| committer.start_placing());
    None
}

/// Takes the batches that wait; answers what waits behind them that is none.
fn gather(
    work: &Receiver<Work>,
    batches: &mut Vec<Batch>,
    senders: &mut Vec<oneshot::Sender<Result<Outcome>>>,
) -> Option<Work> {
    let mut bytes: usize = batches.iter().map(Batch::bytes).sum();
    while batches.len() < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX {
        match work.try_recv() {
            Ok(Work::Commit(batch, sender)) => {
                bytes += batch.bytes();
                batches.push(batch);
                senders.push(sender);
            }
            Ok(other) => return Some(other),
            Err(_) => return None,
        }
    }
    None
}

//! Who may commit: the caller itself, or one thread for all.
//!
//! ```text
//! process, none   caller ─lock─▶ Committer                  microseconds, no other thread
//!                 keeper, every second: sync, witness, a fresh snapshot
//! power           callers ─queue─▶ thread: take all that wait ─▶ Committer ─▶ answer each
//! ```
//!
//! A sync takes as long for a hundred batches as for one, so what arrives during one is written
//! with the next. There is no timer: nobody waits for others to come.

use super::commit::Committer;
use super::error::{closed, poisoned};
use data::store::{Batch, Durability, Outcome};
use data::{Error, ErrorKind, Result};
use fjall::PersistMode;
use futures_channel::oneshot;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Batches written together.
const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// How often what nobody waits for is done.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Who may commit.
pub(super) enum Writer {
    /// The caller.
    Inline {
        committer: Arc<Mutex<Committer>>,
        /// Dropped to stop the keeper.
        stop: Option<Sender<()>>,
        keeper: Option<JoinHandle<()>>,
    },
    /// A thread.
    Thread { queue: Option<Sender<Work>>, thread: Option<JoinHandle<()>> },
}

/// Something for the thread to do.
pub(super) enum Work {
    /// A batch, and where its outcome goes.
    Commit(Batch, oneshot::Sender<Result<Outcome>>),
    /// Anything else.
    Other(Box<dyn FnOnce(&mut Committer) + Send>),
}

/// An outcome that is there, or will be.
pub(super) enum Answer<T> {
    Ready(T),
    Waiting(oneshot::Receiver<T>),
}

impl Writer {
    /// Starts what the durability needs.
    pub(super) fn start(committer: Committer) -> Result<Writer> {
        if committer.durability == Durability::Power {
            let (queue, work) = channel();
            let thread = spawn("keyway writer", move || write_all(committer, &work))?;
            return Ok(Writer::Thread { queue: Some(queue), thread: Some(thread) });
        }
        let committer = Arc::new(Mutex::new(committer));
        let (stop, stopped) = channel();
        let kept = committer.clone();
        let keeper = spawn("keyway keeper", move || keep(&kept, &stopped))?;
        Ok(Writer::Inline { committer, stop: Some(stop), keeper: Some(keeper) })
    }

    /// Commits a batch.
    pub(super) fn commit(&self, batch: &Batch) -> Result<Answer<Result<Outcome>>> {
        match self {
            Writer::Inline { committer, .. } => {
                // A panic in a commit may have left half of it.
                let mut committer = committer.lock().map_err(|_| poisoned())?;
                let answer = committer.commit([batch]).pop();
                Ok(Answer::Ready(answer.unwrap_or_else(|| Err(poisoned()))))
            }
            Writer::Thread { queue, .. } => {
                let (sender, receiver) = oneshot::channel();
                send(queue, Work::Commit(batch.clone(), sender))?;
                Ok(Answer::Waiting(receiver))
            }
        }
    }

    /// Does something else between two commits.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> Result<Answer<T>> {
        match self {
            Writer::Inline { committer, .. } => {
                let mut committer = committer.lock().map_err(|_| poisoned())?;
                Ok(Answer::Ready(work(&mut committer)))
            }
            Writer::Thread { queue, .. } => {
                let (sender, receiver) = oneshot::channel();
                let work = move |committer: &mut Committer| {
                    // Whoever asked may have gone.
                    let _ = sender.send(work(committer));
                };
                send(queue, Work::Other(Box::new(work)))?;
                Ok(Answer::Waiting(receiver))
            }
        }
    }

    /// Ends the threads, once what was sent to them is done.
    fn stop(&mut self) {
        let thread = match self {
            Writer::Inline { stop, keeper, .. } => {
                stop.take();
                keeper.take()
            }
            Writer::Thread { queue, thread } => {
                queue.take();
                thread.take()
            }
        };
        if let Some(thread) = thread {
            // It has no result, and a panic in it has poisoned the store already.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn send(queue: &Option<Sender<Work>>, work: Work) -> Result<()> {
    let queue = queue.as_ref().ok_or_else(closed)?;
    // The thread ends by itself only if it panicked.
    queue.send(work).map_err(|_| poisoned())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    Builder::new().name(name.to_string()).spawn(run).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the store could not start its thread").caused_by(error)
    })
}

/// The thread: groups of batches, and whatever else is sent, in order.
fn write_all(mut committer: Committer, work: &Receiver<Work>) {
    let mut refreshed = Instant::now();
    let mut next = None;
    loop {
        let first = match next.take() {
            Some(work) => work,
            None => match work.recv_timeout(KEEP_EVERY) {
                Ok(work) => work,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if refreshed.elapsed() >= KEEP_EVERY {
                        committer.publish();
                        refreshed = Instant::now();
                    }
                    continue;
                }
            },
        };
        match first {
            Work::Other(work) => work(&mut committer),
            Work::Commit(batch, sender) => {
                let mut batches = vec![batch];
                let mut senders = vec![sender];
                next = gather(work, &mut batches, &mut senders);
                for (answer, sender) in committer.commit(&batches).into_iter().zip(senders) {
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

/// The keeper: what was only handed to the operating system is synced and witnessed, and readers
/// get a snapshot that lets the engine drop what it has replaced.
fn keep(committer: &Mutex<Committer>, stopped: &Receiver<()>) {
    let mut synced = 0;
    while stopped.recv_timeout(KEEP_EVERY) == Err(RecvTimeoutError::Timeout) {
        let (database, sequence) = match committer.lock() {
            Ok(committer) if !committer.is_poisoned => {
                committer.publish();
                (committer.tables.database.clone(), committer.sequence)
            }
            _ => return,
        };
        if sequence == synced {
            continue;
        }
        // Without the lock: commits that come meanwhile are not witnessed, only synced too.
        let result = database.persist(PersistMode::SyncAll);
        let Ok(mut committer) = committer.lock() else { return };
        match result {
            // A witness that lags behind is still true.
            Ok(()) => drop(committer.witness.write(sequence)),
            Err(_) => committer.is_poisoned = true,
        }
        synced = sequence;
    }
}

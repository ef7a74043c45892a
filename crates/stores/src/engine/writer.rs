//! Who may commit: whoever comes first, for all who come meanwhile; or one thread for all.
//!
//! ```text
//! process, none   caller ─┬─ nobody else is committing ─▶ Committer
//!                         ├─ a thread, and commits are brief ─▶ waits, Committer
//!                         └─ a task, or commits are long ─▶ leaves its batch to whoever commits
//!                 keeper: every second a sync, the witness, a fresh snapshot; and whoever still
//!                 waits when a caller has done enough for others
//! power           callers ─queue─▶ thread: take all that wait ─▶ Committer ─▶ answer each
//!                 a caller that is alone, while syncs are brief ─▶ Committer
//! ```
//!
//! The first is `shared.rs`. A sync takes as long for a hundred batches as for one, so what arrives
//! during one is written with the next. There is no timer: nobody waits for others to come. Who is
//! alone is told by `lone.rs`.

use super::commit::{Committer, Sent};
use super::error::{closed, poisoned};
use super::lone::Lone;
use super::shared::{Shared, keep};
use data::store::{Batch, Durability, Outcome};
use data::{Error, ErrorKind, Result};
use futures_channel::oneshot;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Batches written together.
pub(super) const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
pub(super) const GROUP_BYTES_MAX: usize = 4 << 20;
/// How often what nobody waits for is done.
pub(super) const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Groups that a caller commits for others before it goes on with its own work.
const GROUPS_FOR_OTHERS: usize = 8;

/// Who may commit.
pub(super) enum Writer {
    /// Whoever comes first.
    Shared {
        shared: Arc<Shared>,
        /// Asks the keeper to commit what waits; dropped to stop it.
        call: Option<Sender<()>>,
        keeper: Option<JoinHandle<()>>,
    },
    /// A thread, and whoever is alone.
    Thread { owned: Arc<Owned>, queue: Option<Sender<Work>>, thread: Option<JoinHandle<()>> },
}

/// The right to commit where commits are synced.
pub(super) struct Owned {
    committer: Mutex<Committer>,
    lone: Lone,
}

/// A batch that somebody else commits.
pub(super) struct Kept {
    pub(super) batch: Batch,
    is_new: bool,
}

impl Kept {
    pub(super) fn of(sent: Sent<'_>) -> Kept {
        Kept { batch: sent.batch.clone(), is_new: sent.is_new }
    }

    pub(super) fn sent(&self) -> Sent<'_> {
        Sent { batch: &self.batch, is_new: self.is_new }
    }
}

/// Something for the thread to do.
pub(super) enum Work {
    /// A batch, and where its outcome goes.
    Commit(Kept, oneshot::Sender<Result<Outcome>>),
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
    pub(super) fn start(committer: Committer, engine: PathBuf) -> Result<Writer> {
        if committer.durability == Durability::Power {
            let (queue, work) = channel();
            let owned = Owned { committer: Mutex::new(committer), lone: Lone::default() };
            let owned = Arc::new(owned);
            let shared = owned.clone();
            let thread = spawn("keyway writer", move || write_all(&shared, &work))?;
            return Ok(Writer::Thread { owned, queue: Some(queue), thread: Some(thread) });
        }
        let shared = Arc::new(Shared::new(committer));
        let (call, calls) = channel();
        let kept = shared.clone();
        let keeper = spawn("keyway keeper", move || keep(&kept, &calls, &engine))?;
        Ok(Writer::Shared { shared, call: Some(call), keeper: Some(keeper) })
    }

    /// Commits a batch.
    pub(super) fn commit(&self, sent: Sent<'_>) -> Result<Answer<Result<Outcome>>> {
        match self {
            Writer::Shared { shared, call, .. } => {
                let answer = shared.commit(sent)?;
                let is_done = (0..GROUPS_FOR_OTHERS).any(|_| !shared.serve());
                if let (false, Some(call)) = (is_done, call) {
                    // The keeper goes only with the store.
                    let _ = call.send(());
                }
                Ok(answer)
            }
            Writer::Thread { owned, queue, .. } => {
                if let Some(answer) = owned.commit(sent)? {
                    return Ok(Answer::Ready(answer));
                }
                let (sender, receiver) = oneshot::channel();
                send(queue, Work::Commit(Kept::of(sent), sender))?;
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
            Writer::Shared { shared, .. } => {
                let mut committer = shared.committer.lock().map_err(|_| poisoned())?;
                let answer = work(&mut committer);
                drop(committer);
                while shared.serve() {}
                Ok(Answer::Ready(answer))
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
            Writer::Shared { call, keeper, .. } => {
                call.take();
                keeper.take()
            }
            Writer::Thread { queue, thread, .. } => {
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

impl Owned {
    /// Commits a batch of a caller that is alone; nothing if the thread is to do it.
    fn commit(&self, sent: Sent<'_>) -> Result<Option<Result<Outcome>>> {
        if !self.lone.may_commit() {
            return Ok(None);
        }
        match self.committer.try_lock() {
            Ok(mut committer) => {
                let began = Instant::now();
                let answer = committer.commit([sent]).pop();
                self.lone.committed(began.elapsed());
                Ok(Some(answer.unwrap_or_else(|| Err(poisoned()))))
            }
            // A panic in a commit may have left half of it.
            Err(TryLockError::Poisoned(_)) => Err(poisoned()),
            Err(TryLockError::WouldBlock) => {
                self.lone.met_others();
                Ok(None)
            }
        }
    }
}

/// The thread: groups of batches, and whatever else is sent, in order. It ends if a commit, its own
/// or that of a caller, panicked.
fn write_all(owned: &Owned, work: &Receiver<Work>) {
    let mut refreshed = Instant::now();
    let mut next = None;
    loop {
        let first = match next.take() {
            Some(work) => Some(work),
            None => match work.recv_timeout(KEEP_EVERY) {
                Ok(work) => Some(work),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => None,
            },
        };
        let Ok(mut committer) = owned.committer.lock() else { return };
        match first {
            None => {
                if refreshed.elapsed() >= KEEP_EVERY {
                    committer.publish();
                    refreshed = Instant::now();
                }
            }
            Some(Work::Other(work)) => work(&mut committer),
            Some(Work::Commit(batch, sender)) => {
                let mut batches = vec![batch];
                let mut senders = vec![sender];
                next = gather(work, &mut batches, &mut senders);
                let began = Instant::now();
                let answers = committer.commit(batches.iter().map(Kept::sent));
                owned.lone.group_committed(batches.len(), began.elapsed());
                drop(committer);
                for (answer, sender) in answers.into_iter().zip(senders) {
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
    batches: &mut Vec<Kept>,
    senders: &mut Vec<oneshot::Sender<Result<Outcome>>>,
) -> Option<Work> {
    let mut bytes: usize = batches.iter().map(|kept| kept.batch.bytes()).sum();
    while batches.len() < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX {
        match work.try_recv() {
            Ok(Work::Commit(kept, sender)) => {
                bytes += kept.batch.bytes();
                batches.push(kept);
                senders.push(sender);
            }
            Ok(other) => return Some(other),
            Err(_) => return None,
        }
    }
    None
}

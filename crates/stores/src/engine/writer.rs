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
//! A sync takes as long for a hundred batches as for one, so what arrives during one is written
//! with the next. There is no timer: nobody waits for others to come. Who is alone is told by
//! `lone.rs`.

use super::commit::{Committer, Sent};
use super::error::{closed, poisoned};
use super::journal;
use super::lone::Lone;
use data::store::{Batch, Durability, Outcome};
use data::{Error, ErrorKind, Result};
use fjall::PersistMode;
use futures_channel::oneshot;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Batches written together.
const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// How often what nobody waits for is done.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// As long as commits take no longer, a caller that has its thread for itself waits for the right to
/// make its own: to leave it to somebody else and be woken for its answer takes longer. A task among
/// others does not wait: its thread goes on with the next one meanwhile, and several batches are then
/// written at once.
const BRIEF: Duration = Duration::from_millis(1);
/// Groups that a caller commits for others before it goes on with its own work.
const GROUPS_FOR_OTHERS: usize = 8;
/// How long the keeper leaves the right to commit to callers, after each group that they left to it:
/// its answers have to cross threads, so that it should not stay in charge.
const KEEPER_RESTS: Duration = Duration::from_micros(50);

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

/// The right to commit, and the batches of those who found it taken.
///
/// A batch never waits in vain: whoever adds one tries for the right afterwards, and whoever had it
/// looks again for batches after letting it go.
pub(super) struct Shared {
    committer: Mutex<Committer>,
    /// Whether the last commit was a long one.
    is_long: AtomicBool,
    waiting: Mutex<Vec<Waiting>>,
}

/// A batch, and where its outcome goes.
type Waiting = (Kept, oneshot::Sender<Result<Outcome>>);

/// A batch that somebody else commits.
pub(super) struct Kept {
    batch: Batch,
    is_new: bool,
}

impl Kept {
    fn of(sent: Sent<'_>) -> Kept {
        Kept { batch: sent.batch.clone(), is_new: sent.is_new }
    }

    fn sent(&self) -> Sent<'_> {
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
        let committer = Mutex::new(committer);
        let (is_long, waiting) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { committer, is_long, waiting });
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

impl Shared {
    /// Commits a batch, or has it wait for whoever is committing.
    fn commit(&self, sent: Sent<'_>) -> Result<Answer<Result<Outcome>>> {
        let mut committer = match self.committer.try_lock() {
            Ok(committer) => committer,
            Err(TryLockError::WouldBlock) if self.waits() => {
                self.committer.lock().map_err(|_| poisoned())?
            }
            Err(TryLockError::WouldBlock) => {
                let (sender, receiver) = oneshot::channel();
                self.waiting().push((Kept::of(sent), sender));
                return Ok(Answer::Waiting(receiver));
            }
            // A panic in a commit may have left half of it.
            Err(TryLockError::Poisoned(_)) => return Err(poisoned()),
        };
        let began = Instant::now();
        let answer = committer.commit([sent]).pop();
        self.is_long.store(began.elapsed() > BRIEF, Ordering::Relaxed);
        Ok(Answer::Ready(answer.unwrap_or_else(|| Err(poisoned()))))
    }

    /// Whether a caller who finds somebody committing waits for them to end.
    fn waits(&self) -> bool {
        !is_task() && !self.is_long.load(Ordering::Relaxed)
    }

    /// Commits a group of those who wait; says whether there was one. If somebody else is
    /// committing, it will.
    fn serve(&self) -> bool {
        if self.waiting().is_empty() {
            return false;
        }
        match self.committer.try_lock() {
            Ok(mut committer) => self.commit_group(&mut committer),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Poisoned(_)) => {
                for (_, sender) in self.waiting().drain(..) {
                    let _ = sender.send(Err(poisoned()));
                }
                false
            }
        }
    }

    fn commit_group(&self, committer: &mut Committer) -> bool {
        let (batches, senders): (Vec<Kept>, Vec<_>) = {
            let mut waiting = self.waiting();
            let mut bytes = 0;
            let taken = waiting.iter().take(GROUP_BATCHES_MAX).take_while(|(kept, _)| {
                let is_room = bytes < GROUP_BYTES_MAX;
                bytes += kept.batch.bytes();
                is_room
            });
            let taken = taken.count();
            waiting.drain(..taken).unzip()
        };
        for (answer, sender) in
            committer.commit(batches.iter().map(Kept::sent)).into_iter().zip(senders)
        {
            // Whoever asked may have gone; the batch is committed all the same.
            let _ = sender.send(answer);
        }
        true
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        // Nothing that can panic is done while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the caller is one task of several on its thread, which can go on with another.
fn is_task() -> bool {
    #[cfg(feature = "tasks")]
    return tokio::task::try_id().is_some();
    #[cfg(not(feature = "tasks"))]
    false
}

/// The keeper, until nobody can call it any more.
fn keep(shared: &Shared, calls: &Receiver<()>, engine: &Path) {
    let mut synced = 0;
    let mut next = Instant::now() + KEEP_EVERY;
    let wait = |next: Instant| next.saturating_duration_since(Instant::now());
    while calls.recv_timeout(wait(next)) != Err(RecvTimeoutError::Disconnected) {
        while shared.serve() {
            std::thread::sleep(KEEPER_RESTS);
        }
        if Instant::now() >= next {
            tidy(shared, &mut synced, engine);
            next = Instant::now() + KEEP_EVERY;
        }
    }
    while shared.serve() {}
}

/// What was only handed to the operating system is synced and witnessed, and readers get a snapshot
/// that lets the engine drop what it has replaced. Nothing if the store is poisoned.
fn tidy(shared: &Shared, synced: &mut u64, engine: &Path) {
    let (database, sequence) = match shared.committer.lock() {
        Ok(mut committer) if !committer.is_poisoned => {
            if committer.number().is_err() {
                return;
            }
            committer.publish();
            (committer.tables.database.clone(), committer.sequence)
        }
        _ => return,
    };
    while shared.serve() {}
    if sequence == *synced {
        return;
    }
    journal::write_back(engine);
    // Without the right to commit: commits that come meanwhile are not witnessed, only synced too.
    let result = database.persist(PersistMode::SyncAll);
    if let Ok(mut committer) = shared.committer.lock() {
        match result {
            // A witness that lags behind is still true.
            Ok(()) => drop(committer.witness.write(sequence)),
            Err(_) => committer.is_poisoned = true,
        }
    }
    *synced = sequence;
    while shared.serve() {}
}

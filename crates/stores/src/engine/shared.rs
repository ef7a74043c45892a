//! The right to commit where commits are not synced: whoever comes first has it, and commits for
//! those who came meanwhile; a keeper does what nobody waits for.

use super::commit::{Committer, Sent};
use super::error::poisoned;
use super::journal;
use super::writer::{Answer, GROUP_BATCHES_MAX, GROUP_BYTES_MAX, KEEP_EVERY, Kept};
use data::Result;
use data::store::Outcome;
use fjall::PersistMode;
use futures_channel::oneshot;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// As long as commits take no longer, a caller that has its thread for itself waits for the right
/// to make its own: to leave it to somebody else and be woken for its answer takes longer. A task
/// among others does not wait: its thread goes on with the next one meanwhile, and several batches
/// are then written at once.
const BRIEF: Duration = Duration::from_millis(1);
/// How long the keeper leaves the right to commit to callers, after each group that they left to
/// it: its answers have to cross threads, so that it should not stay in charge.
const KEEPER_RESTS: Duration = Duration::from_micros(50);

/// The right to commit, and the batches of those who found it taken.
///
/// A batch never waits in vain: whoever adds one tries for the right afterwards, and whoever had it
/// looks again for batches after letting it go.
pub(super) struct Shared {
    pub(super) committer: Mutex<Committer>,
    /// Whether the last commit was a long one.
    is_long: AtomicBool,
    waiting: Mutex<Vec<Waiting>>,
}

/// A batch, and where its outcome goes.
type Waiting = (Kept, oneshot::Sender<Result<Outcome>>);

impl Shared {
    /// The right, which nobody has.
    pub(super) fn new(committer: Committer) -> Shared {
        let (is_long, waiting) = (AtomicBool::new(false), Mutex::default());
        Shared { committer: Mutex::new(committer), is_long, waiting }
    }

    /// Commits a batch, or has it wait for whoever is committing.
    pub(super) fn commit(&self, sent: Sent<'_>) -> Result<Answer<Result<Outcome>>> {
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
    pub(super) fn serve(&self) -> bool {
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
pub(super) fn keep(shared: &Shared, calls: &Receiver<()>, engine: &Path) {
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

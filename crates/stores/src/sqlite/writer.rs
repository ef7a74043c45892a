//! Who writes: whoever comes first, for all who come meanwhile; or one thread for all.
//!
//! ```text
//! process, none   caller ─┬─ nobody writes ──▶ Committer
//!                         └─ somebody does ──▶ wait ─▶ thread, as below
//! power           callers ─▶ wait ─▶ thread: all that wait ─▶ Committer ─▶ answer each
//! ```
//!
//! A COMMIT takes as long for a hundred batches as for one, so what arrives during one is written
//! with the next. There is no timer: before a sync the thread only lets those run who were answered
//! just now and may come again. Where a commit waits for the disk, or for another process, it is
//! the thread that waits, never a caller.

use super::commit::Committer;
use super::error::{again, closed, poisoned};
use super::tables::Tables;
use data::store::{Batch, Durability, Outcome};
use data::{Error, ErrorKind, Result};
use futures_channel::oneshot;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{Builder, JoinHandle};

/// Batches written together.
const GROUP_BATCHES_MAX: usize = 128;
/// Bytes of batches written together, the last one aside.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// How often the thread lets others run before a group, while fewer wait than were answered last.
const YIELDS_MAX: usize = 32;

/// Something that is done between two commits.
type Other = Box<dyn FnOnce(&mut Committer) + Send>;

/// The right to write, the thread, and the way to it.
pub(super) struct Writer {
    shared: Arc<Shared>,
    /// Asks the thread to do what waits; dropped to end it.
    call: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether a caller may commit where it is.
    in_place: bool,
}

/// The right to write, and what those want who found it taken.
///
/// Nothing waits in vain: whoever adds something calls the thread afterwards, and a caller that had
/// the right calls it too if something waits by then.
struct Shared {
    committer: Mutex<Committer>,
    waiting: Mutex<VecDeque<Work>>,
}

/// A batch, and the tables its keys belong to.
#[derive(Clone, Copy)]
pub(super) struct Job<'b> {
    pub(super) batch: &'b Batch,
    pub(super) tables: &'b Tables,
    /// Whether it cannot have been committed before.
    pub(super) is_new: bool,
}

/// A batch that waits, and where its outcome goes.
struct Waiting {
    batch: Batch,
    tables: Arc<Tables>,
    is_new: bool,
    sender: oneshot::Sender<Result<Outcome>>,
}

impl Waiting {
    fn job(&self) -> Job<'_> {
        Job { batch: &self.batch, tables: &self.tables, is_new: self.is_new }
    }
}

/// Something to be done.
enum Work {
    Commit(Waiting),
    /// Anything else.
    Other(Other),
}

/// An outcome that is there, or will be.
pub(super) enum Answer {
    Ready(Result<Outcome>),
    Waiting(oneshot::Receiver<Result<Outcome>>),
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(committer: Committer, durability: Durability) -> Result<Writer> {
        let waiting = Mutex::default();
        let shared = Arc::new(Shared { committer: Mutex::new(committer), waiting });
        let (call, calls) = channel();
        let served = shared.clone();
        let thread = Builder::new().name("keyway sqlite".to_string());
        let in_place = durability != Durability::Power;
        let run = move || serve_all(&served, &calls, !in_place);
        let thread = thread.spawn(run).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the store could not start its thread")
                .caused_by(error)
        })?;
        Ok(Writer { shared, call: Some(call), thread: Some(thread), in_place })
    }

    /// Commits a batch, which may be one that was never sent.
    pub(super) fn commit(
        &self,
        (batch, is_new): (&Batch, bool),
        tables: &Arc<Tables>,
    ) -> Result<Answer> {
        let in_place = match self.in_place {
            true => self.shared.commit_now(Job { batch, tables, is_new })?,
            false => None,
        };
        let answer = match in_place {
            Some(outcome) => Answer::Ready(outcome),
            None => {
                let (sender, receiver) = oneshot::channel();
                let (batch, tables) = (batch.clone(), tables.clone());
                let waiting = Waiting { batch, tables, is_new, sender };
                self.shared.waiting().push_back(Work::Commit(waiting));
                Answer::Waiting(receiver)
            }
        };
        // Others are the thread's business: a commit is long enough to go on beside it.
        if !self.shared.waiting().is_empty() {
            self.wake()?;
        }
        Ok(answer)
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
        self.shared.waiting().push_back(Work::Other(Box::new(work)));
        self.wake()?;
        Ok(receiver)
    }

    fn wake(&self) -> Result<()> {
        let call = self.call.as_ref().ok_or_else(closed)?;
        // The thread ends by itself only if it panicked.
        call.send(()).map_err(|_| poisoned())
    }
}

impl Drop for Writer {
    /// Ends the thread, once what was asked of it is done.
    fn drop(&mut self) {
        self.call.take();
        if let Some(thread) = self.thread.take() {
            // It has no result, and a panic in it has poisoned the store already.
            let _ = thread.join();
        }
    }
}

/// The thread: whatever waits, in order.
fn serve_all(shared: &Shared, calls: &Receiver<()>, syncs: bool) {
    let mut answered = 0;
    loop {
        let is_over = calls.recv().is_err();
        loop {
            if syncs {
                let is_fewer = |_: &usize| shared.waiting().len() < answered;
                (0..YIELDS_MAX).take_while(is_fewer).for_each(|_| std::thread::yield_now());
            }
            match shared.serve() {
                Some(batches) => answered = batches,
                None => break,
            }
        }
        if is_over {
            return;
        }
    }
}

impl Shared {
    /// Commits a batch; nothing if somebody else writes or waits, here or in another process.
    fn commit_now(&self, job: Job<'_>) -> Result<Option<Result<Outcome>>> {
        // Whoever waits was here first.
        if !self.waiting().is_empty() {
            return Ok(None);
        }
        let mut committer = match self.committer.try_lock() {
            Ok(committer) => committer,
            Err(TryLockError::WouldBlock) => return Ok(None),
            // A panic in a commit may have left half of it.
            Err(TryLockError::Poisoned(_)) => return Err(poisoned()),
        };
        let _guard = Unwinding(self);
        if !committer.begin(false)? {
            return Ok(None);
        }
        let answer = committer.commit_begun(&[job]).pop();
        Ok(Some(answer.unwrap_or_else(|| Err(poisoned()))))
    }

    /// Does what waits longest, a group of batches or something else, and says how many batches it
    /// were; nothing if nothing waits.
    fn serve(&self) -> Option<usize> {
        if self.waiting().is_empty() {
            return None;
        }
        // A caller that commits in place does not take long.
        let Ok(mut committer) = self.committer.lock() else {
            // What is dropped tells whoever waits for it.
            self.waiting().clear();
            return None;
        };
        let _guard = Unwinding(self);
        // Only the thread takes away what waits.
        if let Some(work) = self.take_other() {
            work(&mut committer);
            return Some(0);
        }
        let begun = committer.begin(true);
        let group = self.take_group();
        let answers = match begun {
            Ok(_) => {
                let jobs = group.iter().map(Waiting::job);
                committer.commit_begun(&jobs.collect::<Vec<_>>())
            }
            Err(error) => group.iter().map(|_| Err(again(&error))).collect(),
        };
        drop(committer);
        let batches = group.len();
        for (answer, one) in answers.into_iter().zip(group) {
            // Whoever asked may have gone; the batch is committed all the same.
            let _ = one.sender.send(answer);
        }
        Some(batches)
    }

    /// What waits longest, if it is no batch.
    fn take_other(&self) -> Option<Other> {
        let mut waiting = self.waiting();
        match waiting.pop_front()? {
            Work::Other(work) => Some(work),
            commit => {
                waiting.push_front(commit);
                None
            }
        }
    }

    /// The batches that wait longest.
    fn take_group(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting();
        let mut group = Vec::new();
        let mut bytes = 0;
        while group.len() < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX {
            match waiting.pop_front() {
                Some(Work::Commit(one)) => {
                    bytes += one.batch.bytes();
                    group.push(one);
                }
                Some(other) => {
                    waiting.push_front(other);
                    break;
                }
                None => break,
            }
        }
        group
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Work>> {
        // Nothing that can panic is done while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever writes and panics leaves nobody waiting for it.
struct Unwinding<'s>(&'s Shared);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.waiting().clear();
        }
    }
}

//! Another thread, which puts what is committed into the files while the next commits are made.
//!
//! ```text
//! whoever commits ─start─▶ thread: one set of changes ─finish─▶ whoever commits
//! ```
//!
//! To make a file takes longer than to commit what is in it. At most one set is under way.

use super::placing::{Placed, Placing};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};

/// The thread, as whoever commits has it.
#[derive(Debug)]
pub(super) struct Placer {
    queue: Option<Sender<Placing>>,
    done: Receiver<Placed>,
    thread: Option<JoinHandle<()>>,
    /// A set that was started and not finished yet.
    is_started: bool,
    /// The set that is done, until somebody asks for it.
    placed: Option<Placed>,
}

impl Placer {
    /// Starts the thread. Where the machine has none to give, whoever commits does its work.
    pub(super) fn open() -> Placer {
        let (queue, work) = channel::<Placing>();
        let (tell, done) = channel();
        let place_all = move || {
            for placing in work {
                // Whoever commits may have gone; what is not in the files is in the journal.
                let _ = tell.send(placing.run());
            }
        };
        let thread = Builder::new().name("keyway placer".to_string()).spawn(place_all).ok();
        let queue = thread.is_some().then_some(queue);
        Placer { queue, done, thread, is_started: false, placed: None }
    }

    /// Gives the thread a set of changes, once the one before is finished. It comes back if there
    /// is no thread.
    pub(super) fn start(&mut self, placing: Placing) -> Result<(), Box<Placing>> {
        let Some(queue) = &self.queue else { return Err(Box::new(placing)) };
        queue.send(placing).map_err(|refused| Box::new(refused.0))?;
        self.is_started = true;
        Ok(())
    }

    /// Whether a set is under way.
    pub(super) fn is_busy(&mut self) -> bool {
        if self.is_started && self.placed.is_none() {
            match self.done.try_recv() {
                Ok(placed) => self.placed = Some(placed),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
        }
        self.is_started && self.placed.is_none()
    }

    /// Waits for the set that was started. Nothing if there is none, or if the thread has panicked,
    /// in which case it stays busy for ever.
    pub(super) fn finish(&mut self) -> Option<Placed> {
        if self.is_started && self.placed.is_none() {
            self.placed = self.done.recv().ok();
        }
        let placed = self.placed.take()?;
        self.is_started = false;
        Some(placed)
    }
}

impl Drop for Placer {
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take() {
            // A panic in it was told to whoever waited.
            let _ = thread.join();
        }
    }
}

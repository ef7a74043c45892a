//! The steps of the protocol that a test can leave out, to see that another test misses them.
//!
//! Outside of tests none is ever left out, and the compiler removes the question.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Every key is locked, those that are absent too.
    Locks,
    /// Locks are taken in one order.
    Sorted,
    /// Locks are taken before anything is looked at.
    LocksFirst,
    /// What is looked at is what is committed then, not when the transaction began.
    Fresh,
    /// A claim has a lock of its own, whoever wants it.
    ClaimLock,
    /// A batch with too many keys has the store to itself.
    StoreLock,
    /// A batch is remembered.
    Outcome,
    /// It is remembered in the transaction that it is.
    OutcomeInside,
    /// A batch that stands in its own way is found out.
    OutcomeOfConflict,
    /// Statements of one read see one state.
    Snapshot,
    /// The entries of a swept row go with it.
    Entries,
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Step>> = const { std::cell::Cell::new(None) };
    static PAUSE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Leaves a step out on this thread.
#[cfg(test)]
pub(super) fn leave_out(step: Option<Step>) {
    LEFT_OUT.set(step);
}

/// Lets so many milliseconds pass, on this thread, between looking and writing.
#[cfg(test)]
pub(super) fn pause(milliseconds: u64) {
    PAUSE.set(milliseconds);
}

/// Whether a step is taken.
#[cfg(test)]
pub(super) fn takes(step: Step) -> bool {
    LEFT_OUT.get() != Some(step)
}

/// Whether a step is taken: it is.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn takes(_: Step) -> bool {
    true
}

/// Between looking and writing, where others are tempted.
#[cfg(test)]
pub(super) async fn between() {
    let pause = PAUSE.get();
    if pause > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
    }
}

/// Between looking and writing nothing happens.
#[cfg(not(test))]
#[inline(always)]
pub(super) async fn between() {}

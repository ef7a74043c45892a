//! The steps of the protocol that a test can leave out, to see that another test misses them.
//!
//! Outside of tests none is ever left out, and the compiler removes the question.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Readers and the writer do not wait for each other: a write-ahead log.
    Log,
    /// A commit syncs the log before it is seen.
    Sync,
    /// Another process that writes is waited for.
    Wait,
    /// A group excludes other writers before it reads.
    Immediate,
    /// A batch that fails takes back what it wrote, and nothing else.
    Apart,
    /// Nobody is answered before COMMIT.
    CommitFirst,
    /// What a batch came to is written with it.
    Outcome,
    /// A batch that was committed before is answered as it was then.
    Known,
    /// A group that wrote nothing leaves nothing open.
    Rollback,
    /// After a COMMIT that may have happened nothing is written.
    Poison,
    /// The statements of one read see one COMMIT.
    OneCommit,
    /// The entries of a swept row go with it.
    Entries,
    /// What cannot be stored is refused before anything is written.
    Forms,
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Step>> = const { std::cell::Cell::new(None) };
    static BETWEEN: std::cell::RefCell<Option<Box<dyn FnMut()>>> =
        const { std::cell::RefCell::new(None) };
}

/// Leaves a step out on this thread.
#[cfg(test)]
pub(super) fn leave_out(step: Option<Step>) {
    LEFT_OUT.set(step);
}

/// The step that this thread leaves out.
#[cfg(test)]
pub(super) fn left_out() -> Option<Step> {
    LEFT_OUT.get()
}

/// Does something between two statements of one read on this thread.
#[cfg(test)]
pub(super) fn do_between(work: Option<Box<dyn FnMut()>>) {
    BETWEEN.with_borrow_mut(|between| *between = work);
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

/// Between two statements of one read.
#[cfg(test)]
pub(super) fn between() {
    // What is done there may read as well.
    let work = BETWEEN.with_borrow_mut(Option::take);
    if let Some(mut work) = work {
        work();
    }
}

/// Between two statements of one read nothing happens.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn between() {}

//! Changes: one row, many rows of a group, the first row that fits, or several in one batch.
//!
//! ```text
//! call ─▶ script of steps ─▶ gather: locate, read, judge, change ─▶ write set ─▶ commit ─▶ answers
//!              └ one step, or those of an `atomic`  └ insert put update delete add: one file each
//! ```
//!
//! A call of one pattern that reads nothing first goes a shorter way: `direct/`.
//!
//! What is read first is decided as the planner counts it, and nowhere else. What was read and
//! judged is held in the commit by its version; if it moved, all is done again. How far a commit
//! reaches is the protocol's affair.

mod add;
mod answers;
mod attempt;
mod claim;
mod defaults;
mod delete;
mod direct;
mod ends;
mod gather;
mod ids;
mod inputs;
mod insert;
mod owner;
mod part;
mod put;
mod row;
mod rows;
mod script;
mod steps;
mod take;
mod update;

pub(super) use direct::Direct;

use super::{Answer, Call, Runtime};
use crate::error::Result;
use crate::session::Session;

/// `insert`, `put`, `update`, `delete`, `add`; with `many`, of several rows of one group.
pub async fn change(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let direct = call.pattern.direct.as_ref();
    let direct = direct.filter(|_| call.id.is_none() && runtime.options().direct);
    match direct.and_then(|direct| direct.ready(runtime, session, call)) {
        Some(ready) => ready.commit(session, call).await,
        // Boxed, so that the direct way does not carry its room.
        None => Box::pin(attempt::attempts(runtime, session, call)).await,
    }
}

/// The first row that fits, changed and returned.
pub async fn take(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    take::take(runtime, session, call).await
}

/// Several changes in one batch.
pub async fn atomic(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    attempt::attempts(runtime, session, call).await
}

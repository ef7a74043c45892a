//! Changes: one row, many rows of a group, the first row that fits, or several in one batch.

use super::{Answer, Call, Runtime};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;

fn later() -> Result<Answer> {
    Err(Error::new(ErrorKind::Internal, "changes cannot be made yet"))
}

/// `insert`, `put`, `update`, `delete`, `add`; with `many`, of several rows of one group.
pub async fn change(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

/// The first row that fits, changed and returned.
pub async fn take(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

/// Several changes in one batch.
pub async fn atomic(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

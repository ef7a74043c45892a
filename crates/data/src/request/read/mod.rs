//! Reads: rows by key, pages of groups, rows around a point.

use super::{Answer, Call, Runtime};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;

fn later() -> Result<Answer> {
    Err(Error::new(ErrorKind::Internal, "reads cannot be made yet"))
}

/// One row, or many, by whole keys.
pub async fn get(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

/// A page of a group.
pub async fn list(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

/// Rows around a point.
pub async fn near(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let _ = (runtime, session, call);
    later()
}

//! Who may call: the words of `allow`, and the caller's row where membership is asked for.

use super::prepare::Prepared;
use crate::caller::Caller;
use crate::error::Result;

/// Judges what can be judged without reading: whether somebody calls, and with which role.
pub fn caller(prepared: &Prepared, caller: &Caller) -> Result<()> {
    let _ = (prepared, caller);
    Ok(())
}

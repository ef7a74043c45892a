//! Where there are no sockets in folders: nothing is offered, and nobody is there to be asked.

use super::{Arrived, Ask};
use crate::answer::Form;
use crate::failure::Failure;
use crate::open::Opened;
use server::Service;
use std::path::Path;
use std::sync::Arc;

/// Nothing.
pub(crate) struct Offered;

impl Offered {
    /// Offers nothing.
    pub(crate) fn beside(_: &Opened, _: &Arc<Service>, _: Form) -> Offered {
        Offered
    }

    /// Ends nothing.
    pub(crate) async fn close(self) {}
}

/// Nobody is there.
pub(crate) fn ask(
    _: &Path,
    _: &Ask,
    _: impl FnMut(String, u64),
) -> Option<Result<Arrived, Failure>> {
    None
}

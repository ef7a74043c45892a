//! Whether a row that a claim led to still holds the value: claim and row are read one after the
//! other, and somebody may write in between.

use super::row::RowState;
use super::script::Look;
use crate::entries;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol;
use crate::store::Keyed;
use crate::value::Value;

/// Whether a row holds a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It does.
    Yes,
    /// It does not: the claim is nobody's.
    No,
    /// Not any more, or the claim would be gone: both must be read again.
    Moved,
}

/// Whether a row holds the claim that led to it.
pub(super) fn holds_claim(
    look: &Look<'_>,
    row: &RowState,
    slots: &[Value],
    claim: &Keyed,
) -> Result<Held> {
    let unknown = || Error::new(ErrorKind::Internal, "a check goes through no index");
    let position = look.index.ok_or_else(unknown)?;
    let index = look.collection.indexes.get(position).ok_or_else(unknown)?;
    let stored = row.before().ok_or_else(unknown)?;
    if !protocol::belongs(look.collection, index, claim, stored)? {
        return Ok(Held::No);
    }
    let held = entries::entries(look.collection, &row.segments, slots)?;
    let holds = held.iter().any(|entry| entry.index == position && entry.key == claim.key);
    Ok(if holds { Held::Yes } else { Held::Moved })
}

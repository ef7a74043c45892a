//! `insert`: a row that is not there yet; and what an immutable collection makes of `put`.

use super::defaults::{slot_value, whole_row};
use super::ends::ends;
use super::owner::is_foreign;
use super::part::{Applied, Part};
use super::row::RowState;
use crate::error::Result;
use crate::request::inputs::Inputs;
use crate::value::Value;

/// A new row; or, where the pattern says so or the row is immutable and the same, the one there.
pub(super) fn insert(part: &Part<'_>, inputs: &dyn Inputs, row: &mut RowState) -> Result<Applied> {
    let Some(stored) = row.content() else {
        let slots = whole_row(part, inputs)?;
        let expires = ends(part.collection, &slots, inputs.now())?;
        row.expect_absent();
        row.set(slots, expires)?;
        return Ok(Applied::Changed);
    };
    // What this very call wrote is no row that was there.
    let there = !row.changed;
    if !there || is_foreign(part.collection, part.filled, &stored.slots, inputs)? {
        return Err(part.is_there());
    }
    if part.pattern.existing_returned || is_same(part, inputs, &stored.slots)? {
        return Ok(Applied::Existed);
    }
    Err(part.is_there())
}

/// Whether an immutable row holds what the caller gives. What is bound to anything else than an
/// argument, generated, or taken from the clock and the caller is not compared.
fn is_same(part: &Part<'_>, inputs: &dyn Inputs, stored: &[Value]) -> Result<bool> {
    let collection = part.collection;
    if !collection.model.immutable {
        return Ok(false);
    }
    for ((position, slot), stored) in collection.slots.iter().enumerate().zip(stored) {
        let field = collection.model.fields().get(position);
        let fills_itself = field.is_some_and(|field| !field.is_argument());
        // What is not compared is not worked out either: the row it comes from may be gone since.
        if fills_itself || !part.is_given(&slot.name) {
            continue;
        }
        if slot_value(part, (position, slot), inputs)? != *stored {
            return Ok(false);
        }
    }
    Ok(true)
}

//! `put`: the whole row, created or replaced, its defaults anew.

use super::defaults::whole_row;
use super::ends::ends;
use super::insert::insert;
use super::owner::is_foreign;
use super::part::{Applied, Part};
use super::row::RowState;
use crate::error::Result;
use crate::request::inputs::Inputs;

/// The row, whatever was there; another's stays, and so does an immutable one.
pub(super) fn put(part: &Part<'_>, inputs: &dyn Inputs, row: &mut RowState) -> Result<Applied> {
    let foreign = match row.content() {
        Some(stored) => is_foreign(part.collection, part.filled, &stored.slots, inputs)?,
        None => false,
    };
    if foreign {
        return Err(part.is_there());
    }
    part.judge_version(row, inputs)?;
    if row.content().is_some() {
        part.judge_condition(row, inputs)?;
    }
    if part.collection.model.immutable {
        return insert(part, inputs, row);
    }
    let slots = whole_row(part, inputs)?;
    let expires = ends(part.collection, &slots, inputs.now())?;
    row.set(slots, expires)?;
    Ok(Applied::Changed)
}

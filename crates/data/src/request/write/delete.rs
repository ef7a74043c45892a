//! `delete`: no row any more, whether or not there was one.

use super::owner::is_foreign;
use super::part::{Applied, Part};
use super::row::{Current, RowState};
use crate::error::Result;
use crate::request::inputs::Inputs;

/// Removes the row. One that is not there is removed already, and so is another's.
pub(super) fn delete(part: &Part<'_>, inputs: &dyn Inputs, row: &mut RowState) -> Result<Applied> {
    let there = match &row.current {
        Current::Unknown => true,
        Current::Absent => false,
        Current::Present(stored) => {
            !is_foreign(part.collection, part.filled, &stored.slots, inputs)?
        }
    };
    if !there {
        return match part.version_given(inputs)? {
            Some(_) => Err(part.has_moved()),
            None => Ok(Applied::Nothing),
        };
    }
    part.judge_version(row, inputs)?;
    if row.content().is_some() {
        part.judge_condition(row, inputs)?;
    }
    row.remove();
    Ok(Applied::Changed)
}

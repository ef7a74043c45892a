//! Whose a row is, where its owner or tenant is a field: another's row is treated as missing.

use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Inputs;
use crate::request::segments::caller_value;
use crate::schema::CollectionSchema;
use crate::value::Value;

/// Whether a row belongs to somebody else. Only what the caller fills is compared: a role, for
/// which nothing is filled, sees every row.
pub(super) fn is_foreign(
    collection: &CollectionSchema,
    filled: &[String],
    slots: &[Value],
    inputs: &dyn Inputs,
) -> Result<bool> {
    let model = &collection.model;
    for owner in [&model.owner, &model.tenant].into_iter().flatten() {
        if !owner.is_field || !filled.contains(&owner.name) {
            continue;
        }
        let unknown = || Error::new(ErrorKind::Internal, "an owner is no field of its rows");
        let slot = collection.slot(&owner.name).ok_or_else(unknown)?;
        let field = model.field(&owner.name).ok_or_else(unknown)?;
        let own = caller_value(model, &owner.name, &field.field_type, inputs)?;
        if own.as_ref() != slots.get(slot) {
            return Ok(true);
        }
    }
    Ok(false)
}

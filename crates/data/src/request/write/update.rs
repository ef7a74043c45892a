//! `update`, what a `take` does to its row, and `add` on a field: some fields of a row, the others
//! as they are.

use super::defaults::{check_null, field_value, filled};
use super::ends::{ends, still_ends};
use super::owner::is_foreign;
use super::part::{Applied, Part};
use super::row::{Content, RowState, RowView};
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::evaluate;
use crate::request::inputs::{InputScope, Inputs, Members};
use crate::schema::CollectionSchema;
use crate::value::Value;
use keyspace::model::{DefaultValue, Type};

/// Changes what the call gives and what the pattern computes.
pub(super) fn update(part: &Part<'_>, inputs: &dyn Inputs, row: &mut RowState) -> Result<Applied> {
    let given = given(part, inputs)?;
    match own(part, inputs, row)? {
        Some(stored) => {
            part.judge_version(row, inputs)?;
            part.judge_condition(row, inputs)?;
            let (slots, expires) = changed(part, inputs, row, stored, given)?;
            row.set(slots, expires)?;
        }
        None if part.version_given(inputs)?.is_some() => return Err(part.has_moved()),
        // Another's row is no place for a new one.
        None if part.pattern.missing_created && row.content().is_none() => {
            let slots = created(part, inputs, row, given)?;
            let expires = ends(part.collection, &slots, inputs.now())?;
            row.set(slots, expires)?;
        }
        None => return Err(part.is_missing()),
    }
    Ok(Applied::Changed)
}

/// Adds to a whole number of a row.
pub(super) fn add_to_field(
    part: &Part<'_>,
    inputs: &dyn Inputs,
    row: &mut RowState,
    field: &str,
    amount: i64,
) -> Result<Applied> {
    let Some(stored) = own(part, inputs, row)? else {
        return match part.version_given(inputs)? {
            Some(_) => Err(part.has_moved()),
            None => Err(part.is_missing()),
        };
    };
    part.judge_version(row, inputs)?;
    part.judge_condition(row, inputs)?;
    let Content { mut slots, expires, .. } = stored;
    let number = part.collection.slot(field).and_then(|slot| slots.get_mut(slot));
    let sum = match &number {
        Some(Value::I64(value)) => value.checked_add(amount).map(Value::I64),
        Some(Value::U64(value)) => value.checked_add_signed(amount).map(Value::U64),
        _ => return Err(Error::new(ErrorKind::Internal, "a field that is added to is no number")),
    };
    let overflow = || {
        part.error(ErrorKind::Overflow, "the sum is outside the range of the field")
            .with("field", field)
    };
    let sum = sum.ok_or_else(overflow)?;
    if let Some(number) = number {
        *number = sum;
    }
    touch(part.collection, &mut slots, inputs);
    row.set(slots, expires)?;
    Ok(Applied::Changed)
}

/// The stored row, if it is there and the caller's.
pub(super) fn own(part: &Part<'_>, inputs: &dyn Inputs, row: &RowState) -> Result<Option<Content>> {
    let Some(stored) = row.content() else { return Ok(None) };
    match is_foreign(part.collection, part.filled, &stored.slots, inputs)? {
        true => Ok(None),
        false => Ok(Some(stored.clone())),
    }
}

/// What the call gives to be changed, by slot; at least something, unless the pattern computes.
fn given(part: &Part<'_>, inputs: &dyn Inputs) -> Result<Vec<(usize, Value)>> {
    let mut given = Vec::new();
    for name in &part.pattern.set {
        let slot = slot(part.collection, &name.value)?;
        let of = slot_type(part.collection, slot)?;
        if let Some(value) = inputs.argument(&name.value, Some(of))? {
            check_null(&name.value, of, &value)?;
            given.push((slot, value));
        }
    }
    if given.is_empty() && part.pattern.compute.is_empty() {
        let names: Vec<&str> = part.pattern.set.iter().map(|name| name.value.as_str()).collect();
        return Err(Error::new(ErrorKind::Argument, "an update gives at least one of its fields")
            .with("fields", names.join(", ")));
    }
    Ok(given)
}

/// A row that was there, and when it ends.
pub(super) fn changed(
    part: &Part<'_>,
    inputs: &dyn Inputs,
    row: &RowState,
    stored: Content,
    given: Vec<(usize, Value)>,
) -> Result<(Vec<Value>, Option<i64>)> {
    let Content { mut slots, expires, .. } = stored;
    touch(part.collection, &mut slots, inputs);
    let computed = computed(part, inputs, row)?;
    place(&mut slots, given.into_iter().chain(computed))?;
    let expires = still_ends(part.collection, &slots, expires)?;
    Ok((slots, expires))
}

/// A row that was not there: what the call gives, defaults, then what the pattern computes of them.
fn created(
    part: &Part<'_>,
    inputs: &dyn Inputs,
    row: &RowState,
    mut given: Vec<(usize, Value)>,
) -> Result<Vec<Value>> {
    let collection = part.collection;
    let is_computed = |name: &str| part.pattern.compute.iter().any(|c| c.name.value == name);
    let mut slots = Vec::with_capacity(collection.slots.len());
    for (position, slot) in collection.slots.iter().enumerate() {
        let own = given.iter().position(|(at, _)| *at == position);
        let own = own.map(|at| given.swap_remove(at).1);
        slots.push(match collection.model.field(&slot.name) {
            Some(field) => {
                let own = match own {
                    Some(own) => Some(own),
                    None => filled(part, field, inputs)?,
                };
                let waits = own.is_none() && field.default.is_none() && is_computed(&slot.name);
                match waits {
                    true => Value::Null,
                    false => field_value(part, field, own, inputs)?,
                }
            }
            // The body.
            None => own.unwrap_or(Value::Null),
        });
    }
    let draft = RowView { collection, segments: &row.segments, slots: &slots };
    let computed = computed(part, inputs, &draft)?;
    place(&mut slots, computed)?;
    for (slot, value) in collection.slots.iter().zip(&slots) {
        if value.is_null() && !slot.slot_type.is_optional() {
            return Err(Error::new(ErrorKind::Argument, "a new row needs all required fields")
                .with("argument", &slot.name)
                .with("type", &slot.slot_type));
        }
    }
    Ok(slots)
}

/// What the pattern computes of a row as it stands, by slot.
fn computed(
    part: &Part<'_>,
    inputs: &dyn Inputs,
    row: &dyn Members,
) -> Result<Vec<(usize, Value)>> {
    let mut computed = Vec::with_capacity(part.pattern.compute.len());
    for assignment in &part.pattern.compute {
        let name = &assignment.name.value;
        let slot = slot(part.collection, name)?;
        let of = slot_type(part.collection, slot)?;
        let scope = InputScope { inputs, row: Some(row) };
        let value = evaluate(&assignment.expression, &scope, Some(of))?;
        if value.is_null() && !of.is_optional() {
            return Err(part
                .error(ErrorKind::Conflict, "a field that may not be null would become null")
                .with("field", name));
        }
        computed.push((slot, value));
    }
    Ok(computed)
}

/// Fields that say when the row was last written.
fn touch(collection: &CollectionSchema, slots: &mut [Value], inputs: &dyn Inputs) {
    for field in collection.model.fields() {
        let slot = collection.slot(&field.name).filter(|_| touches(&field.default));
        if let Some(value) = slot.and_then(|slot| slots.get_mut(slot)) {
            *value = Value::Timestamp(inputs.now());
        }
    }
}

fn touches(default: &Option<DefaultValue>) -> bool {
    matches!(default, Some(DefaultValue::Touch))
}

fn place(slots: &mut [Value], values: impl IntoIterator<Item = (usize, Value)>) -> Result<()> {
    for (slot, value) in values {
        *slots.get_mut(slot).ok_or_else(misplaced)? = value;
    }
    Ok(())
}

fn slot(collection: &CollectionSchema, name: &str) -> Result<usize> {
    collection.slot(name).ok_or_else(misplaced)
}

fn slot_type(collection: &CollectionSchema, slot: usize) -> Result<&Type> {
    collection.slots.get(slot).map(|slot| &slot.slot_type).ok_or_else(misplaced)
}

fn misplaced() -> Error {
    Error::new(ErrorKind::Internal, "a change names something its rows do not have")
}

//! The values of a new row: filled from the caller, bound, given, or by default.
//!
//! ```text
//! segment or field ─▶ owner, tenant │ binding, argument │ constant, new, now, touch, caller │ null
//! ```

use super::part::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Inputs;
use crate::request::segments::{Filling, caller_value};
use crate::schema::{Slot, constant};
use crate::value::Value;
use keyspace::model::{DefaultValue, Field, Segment, Type, Verb};

const DAY: i64 = 86_400_000;

/// The key segments of the row that a change names; an insert makes those that are made.
pub(super) fn segments(part: &Part<'_>, inputs: &dyn Inputs) -> Result<Vec<Value>> {
    let collection = part.collection;
    let mut values = Vec::with_capacity(collection.key.segments.len());
    for (position, segment) in collection.model.key.segments().enumerate() {
        values.push(segment_value(part, (position, segment), inputs)?);
    }
    Ok(values)
}

/// One key segment of the row that a change names.
pub(super) fn segment_value(
    part: &Part<'_>,
    (position, segment): (usize, &Segment),
    inputs: &dyn Inputs,
) -> Result<Value> {
    let collection = part.collection;
    let filling = Filling { collection: &collection.model, filled: part.filled };
    let made = segment.default.as_ref().filter(|default| !default.is_constant());
    let value = match made.filter(|_| part.pattern.verb == Verb::Insert) {
        Some(default) => default_value(part, default, &segment.segment_type, inputs)?,
        None => filling.required(segment, inputs)?,
    };
    check_null(&segment.name, &segment.segment_type, &value)?;
    let in_group = position < collection.key.group;
    if in_group && value.as_text().is_some_and(str::is_empty) {
        return Err(Error::new(ErrorKind::Argument, "text before the bar may not be empty")
            .with("argument", &segment.name));
    }
    Ok(value)
}

/// The content of a whole row, by slot.
pub(super) fn whole_row(part: &Part<'_>, inputs: &dyn Inputs) -> Result<Vec<Value>> {
    let slots = &part.collection.slots;
    // Made as large as it will be, which collecting results does not know.
    let mut values = Vec::with_capacity(slots.len());
    for (position, slot) in slots.iter().enumerate() {
        values.push(slot_value(part, (position, slot), inputs)?);
    }
    Ok(values)
}

/// The content of one slot of a whole row.
pub(super) fn slot_value(
    part: &Part<'_>,
    (position, slot): (usize, &Slot),
    inputs: &dyn Inputs,
) -> Result<Value> {
    // Slots are the fields, in their order, and then the body.
    match part.collection.model.fields().get(position) {
        Some(field) => {
            let given = given(part, field, inputs)?;
            field_value(part, field, given, inputs)
        }
        // The value or the body.
        None => match inputs.argument(&slot.name, Some(&slot.slot_type))? {
            Some(value) => check_null(&slot.name, &slot.slot_type, &value).map(|()| value),
            None => Err(is_missing(&slot.name, &slot.slot_type)),
        },
    }
}

/// What a call, a binding or the caller gives a field. A field that fills itself is never given:
/// an argument of its name belongs to another step.
fn given(part: &Part<'_>, field: &Field, inputs: &dyn Inputs) -> Result<Option<Value>> {
    if let Some(own) = filled(part, field, inputs)? {
        return Ok(Some(own));
    }
    match field.is_argument() {
        true => inputs.argument(&field.name, Some(&field.field_type)),
        false => Ok(None),
    }
}

/// What the caller fills a field with, if it does.
pub(super) fn filled(part: &Part<'_>, field: &Field, inputs: &dyn Inputs) -> Result<Option<Value>> {
    match part.filled.contains(&field.name) {
        true => caller_value(&part.collection.model, &field.name, &field.field_type, inputs),
        false => Ok(None),
    }
}

/// The value of a field of a new row: what is given, or its default, or null.
pub(super) fn field_value(
    part: &Part<'_>,
    field: &Field,
    given: Option<Value>,
    inputs: &dyn Inputs,
) -> Result<Value> {
    match (given, &field.default) {
        (Some(value), _) => check_null(&field.name, &field.field_type, &value).map(|()| value),
        (None, Some(default)) => default_value(part, default, &field.field_type, inputs),
        (None, None) if field.field_type.is_optional() => Ok(Value::Null),
        (None, None) => Err(is_missing(&field.name, &field.field_type)),
    }
}

/// What a default gives.
pub(super) fn default_value(
    part: &Part<'_>,
    default: &DefaultValue,
    of: &Type,
    inputs: &dyn Inputs,
) -> Result<Value> {
    let now = inputs.now();
    Ok(match (default, of.required()) {
        (DefaultValue::New(prefix), of) => part.ids.make(of, prefix.as_deref(), now)?,
        (DefaultValue::Now | DefaultValue::Touch, Type::Date) => {
            let days = i32::try_from(now.div_euclid(DAY));
            let late = |_| Error::new(ErrorKind::Overflow, "the clock is beyond all dates");
            Value::Date(days.map_err(late)?)
        }
        (DefaultValue::Now | DefaultValue::Touch, _) => Value::Timestamp(now),
        (DefaultValue::Caller, of) => inputs.caller_as(of)?,
        _ => constant(default, of),
    })
}

/// Null is a value of optional types only.
pub(super) fn check_null(name: &str, of: &Type, value: &Value) -> Result<()> {
    if !value.is_null() || of.is_optional() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Argument, "an argument may not be null")
        .with("argument", name)
        .with("type", of))
}

fn is_missing(name: &str, of: &Type) -> Error {
    Error::new(ErrorKind::Argument, "an argument is missing")
        .with("argument", name)
        .with("type", of)
}

//! The values of key segments: from the caller, a binding, the call or a default, in this order.
//!
//! ```text
//! {email} of `lower(email)`   argument "Ann@X.de" ─▶ "ann@x.de"     folded, as entries are
//! {user_id}, the owner's      never an argument   ─▶ who calls
//! ```
//!
//! An argument of a computed segment is typed as the segment is. So `lower` and `floor` are applied
//! to it once more; of `each` it is one element; and of `day`, `month`, `hash`, `cell` and
//! `geohash` it is the result itself.

use super::inputs::Inputs;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::{Scope, evaluate};
use crate::schema::constant;
use crate::value::Value;
use keyspace::model::{
    Collection, DefaultValue, Expression, ExpressionKind, Function, Segment, Type,
};

/// Which key, and what of it the caller fills.
pub(super) struct Filling<'a> {
    /// The collection whose owner and tenant count.
    pub collection: &'a Collection,
    /// The segments and fields that the caller fills.
    pub filled: &'a [String],
}

impl Filling<'_> {
    /// The value of a segment; nothing if no one gives it.
    pub fn value(&self, segment: &Segment, inputs: &dyn Inputs) -> Result<Option<Value>> {
        let of = &segment.segment_type;
        let given = match self.by_caller(segment, inputs)? {
            Some(value) => Some(value),
            None => inputs.argument(&segment.name, Some(of))?,
        };
        match given {
            Some(value) => fitted(segment, value, true).map(Some),
            None => Ok(segment.default.as_ref().and_then(|default| constant_of(default, of))),
        }
    }

    /// The value of a segment that must have one.
    pub fn required(&self, segment: &Segment, inputs: &dyn Inputs) -> Result<Value> {
        self.value(segment, inputs)?.ok_or_else(|| {
            Error::new(ErrorKind::Argument, "an argument is missing")
                .with("argument", &segment.name)
                .with("type", &segment.segment_type)
        })
    }

    /// What the caller fills: the owner's segment or the tenant's, or one made of their fields.
    fn by_caller(&self, segment: &Segment, inputs: &dyn Inputs) -> Result<Option<Value>> {
        if self.filled.is_empty() {
            return Ok(None);
        }
        let first = match &segment.source {
            Some(source) => source.members().first().copied(),
            None => Some(segment.name.as_str()),
        };
        let is_filled = |name: &&str| self.filled.iter().any(|filled| filled == name);
        let Some(name) = first.filter(is_filled) else { return Ok(None) };
        caller_value(self.collection, name, &segment.segment_type, inputs)
    }
}

/// Who calls, or in which tenant, for the owner's or the tenant's name; nothing for another.
pub(super) fn caller_value(
    collection: &Collection,
    name: &str,
    of: &Type,
    inputs: &dyn Inputs,
) -> Result<Option<Value>> {
    let is = |owner: &Option<keyspace::model::Owner>| {
        owner.as_ref().is_some_and(|owner| owner.name == name)
    };
    let of = of.required();
    if is(&collection.tenant) {
        return inputs.tenant_as(of).map(Some);
    }
    match is(&collection.owner) {
        true => inputs.caller_as(of).map(Some),
        false => Ok(None),
    }
}

/// An argument as entries hold it. A bound of a range is folded, but never cut down by `floor`:
/// it is compared by value.
pub(super) fn fitted(segment: &Segment, value: Value, exact: bool) -> Result<Value> {
    let value = match (segment.function(), value) {
        (Some(Function::Cell), Value::U64(number)) => Value::Cell(number),
        (_, value) => value,
    };
    let Some(source) = &segment.source else { return Ok(value) };
    if !is_applied(source, exact) {
        return Ok(value);
    }
    let single = match evaluate(source, &One(&value), Some(&segment.segment_type))? {
        Value::List(values) => match <[Value; 1]>::try_from(values) {
            Ok([single]) => single,
            Err(_) => Value::Null,
        },
        single => single,
    };
    Ok(if single.is_null() { value } else { single })
}

/// Whether a function is called, and every one gives what it takes.
fn is_applied(source: &Expression, exact: bool) -> bool {
    let (mut called, mut keeps) = (false, true);
    source.walk(&mut |inner| {
        if let ExpressionKind::Call(function, _) = &inner.kind {
            called = true;
            keeps &= match function {
                Function::Lower | Function::Each => true,
                Function::Floor => exact,
                _ => false,
            };
        }
    });
    called && keeps
}

/// Whatever member a source names, it is the argument.
struct One<'a>(&'a Value);

impl Scope for One<'_> {
    fn member(&self, _name: &str) -> Result<Value> {
        Ok(self.0.clone())
    }
}

/// A constant default; nothing for those that depend on the call.
fn constant_of(default: &DefaultValue, of: &Type) -> Option<Value> {
    default.is_constant().then(|| constant(default, of)).filter(|value| !value.is_null())
}

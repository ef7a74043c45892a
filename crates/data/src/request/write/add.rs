//! `add`: counters, windows, and whole numbers in rows.
//!
//! Counters and windows are added to by the store itself, in the commit; nothing is read, so that
//! nothing can be lost to another writer.

use super::ends::after;
use super::part::Part;
use super::row::RowState;
use crate::change::CounterAdd;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Inputs;
use crate::store::WindowRule;
use crate::value::Value;
use keyspace::model::{Content, Ttl, Type};

/// How much is added: 1 if the call does not say.
pub(super) fn amount(inputs: &dyn Inputs) -> Result<i64> {
    match inputs.argument("amount", Some(&Type::I64))? {
        None => Ok(1),
        Some(Value::I64(amount)) => Ok(amount),
        Some(_) => Err(Error::new(ErrorKind::Argument, "an argument is not of its type")
            .with("argument", "amount")
            .with("type", Type::I64)),
    }
}

/// What is added to a counter or a window.
pub(super) fn count(part: &Part<'_>, inputs: &dyn Inputs, row: &RowState) -> Result<CounterAdd> {
    part.judge_condition(row, inputs)?;
    let amount = amount(inputs)?;
    let collection = part.collection.clone();
    let key = row.key.clone();
    let (expires, window) = match &collection.model.content {
        Content::Window { limit, per } => {
            // Adding less than nothing would give back what was counted.
            if amount < 0 {
                return Err(Error::new(ErrorKind::Argument, "a window is never added less than 0")
                    .with("argument", "amount")
                    .with("given", amount));
            }
            let limit = match limit {
                Some(limit) => *limit,
                None => rule(inputs, "limit", &Type::U64)?,
            };
            let per = match per {
                Some(per) => *per,
                None => rule(inputs, "per", &Type::Duration)?,
            };
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            (Some(after(inputs.now(), per)), Some(WindowRule { limit }))
        }
        _ => {
            let length = match &collection.model.ttl {
                Some(Ttl::After(length)) => Some(*length),
                _ => None,
            };
            (length.map(|length| after(inputs.now(), length)), None)
        }
    };
    Ok(CounterAdd { collection, key, amount, expires, window })
}

/// A limit or a period that an `atomic` binds; an integer for a period is seconds.
fn rule(inputs: &dyn Inputs, name: &'static str, of: &Type) -> Result<u64> {
    let seconds = |number: u64| match of {
        Type::Duration => number.checked_mul(1_000),
        _ => Some(number),
    };
    let value = match inputs.argument(name, Some(of))? {
        Some(Value::U64(number)) => seconds(number),
        Some(Value::I64(number)) => u64::try_from(number).ok().and_then(seconds),
        Some(Value::Duration(length)) => u64::try_from(length).ok(),
        _ => None,
    };
    value.ok_or_else(|| {
        Error::new(ErrorKind::Conflict, "a window is bound to a limit or period that is none")
            .with("argument", name)
            .with("type", of)
    })
}

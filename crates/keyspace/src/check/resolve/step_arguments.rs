//! What a call can give the steps of an `atomic`.

use super::arguments::{Call, find, merge_rows, without};
use crate::model::{Allow, Argument, ArgumentRole, Pattern, Target, Verb};
use std::sync::Arc;

/// What a call can give a step, under the batch's `allow` if the step has none of its own.
pub(super) fn step_arguments(
    pattern: &Arc<Pattern>,
    allow: &Allow,
) -> (Vec<Argument>, Vec<String>) {
    let Some(target) = &pattern.target else { return (Vec::new(), Vec::new()) };
    let allow = if pattern.allow == Allow::Step { allow } else { &pattern.allow };
    let filled = allow.fills(&target.collection, pattern.verb);
    let call = Call {
        verb: pattern.verb,
        target,
        by: None,
        set: pattern.set.iter().map(|name| name.value.clone()).collect(),
        if_version: pattern.if_version,
        many: pattern.many.is_some(),
        filled: filled.clone(),
    };
    let own: Vec<String> = pattern.bind.iter().map(|bind| bind.name.value.clone()).collect();
    let mut possible = without(call.arguments(), &own);
    // Declared arguments, and those that only its own bindings name; of rows, those of each row.
    for rows in pattern.arguments.iter().filter(|a| matches!(a.role, ArgumentRole::Rows(_))) {
        if let Some(known) = possible.iter_mut().find(|known| known.name == rows.name) {
            merge_rows(known, rows);
        }
    }
    let further = pattern.arguments.iter().filter(|a| find(&possible, &a.name).is_none());
    let further: Vec<Argument> = further.filter(|a| !filled.contains(&a.name)).cloned().collect();
    possible.extend(further);
    (possible, filled)
}

/// What a call can give a check: the key of the row.
pub(super) fn check_arguments(target: &Target, allow: &Allow) -> (Vec<Argument>, Vec<String>) {
    let filled = allow.fills(&target.collection, Verb::Get);
    let call = Call {
        verb: Verb::Get,
        target,
        by: None,
        set: Vec::new(),
        if_version: false,
        many: false,
        filled: filled.clone(),
    };
    (call.arguments(), filled)
}

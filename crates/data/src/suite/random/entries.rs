//! What an index holds of a row, by the oracle.

use super::domain::{text, whole};
use super::oracle::{Called, Row};
use super::world::{Collection, Condition, Function, Index, Part};
use serde_json::{Map, Value as Json, json};

/// Whether a condition holds for a row.
pub(super) fn holds(condition: &Condition, members: &Map<String, Json>) -> bool {
    let member = |name: &String| members.get(name).unwrap_or(&Json::Null);
    match condition {
        Condition::Equals(field, constant) => member(field) == constant,
        Condition::Above(field, number) => {
            !member(field).is_null() && whole(member(field)) > i128::from(*number)
        }
        Condition::IsNull(field) => member(field).is_null(),
    }
}

/// What an index holds of a row: the values of its parts, once for each element.
pub(super) fn entries(index: &Index, row: &Row) -> Vec<Vec<Json>> {
    if index.when.as_ref().is_some_and(|when| !holds(when, &row.members)) {
        return Vec::new();
    }
    let mut entries: Vec<Vec<Json>> = vec![Vec::new()];
    for part in &index.parts {
        let values = part_values(part, row);
        let longer = entries.iter().flat_map(|entry| {
            values.iter().map(|value| entry.iter().chain([value]).cloned().collect())
        });
        entries = longer.collect();
    }
    entries
}

/// What a row has for a part: nothing, a value, or one for each element.
fn part_values(part: &Part, row: &Row) -> Vec<Json> {
    match row.members.get(&part.source) {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Array(items)) if part.function == Function::Each => {
            let mut once: Vec<Json> = Vec::new();
            for item in items {
                if !once.contains(item) {
                    once.push(item.clone());
                }
            }
            once
        }
        Some(value) => vec![applied(part.function, value)],
    }
}

/// What a function makes of a value.
pub(super) fn applied(function: Function, value: &Json) -> Json {
    let text = text(value);
    match function {
        Function::None | Function::Each => value.clone(),
        Function::Lower => json!(text.to_lowercase()),
        Function::Floor => json!(format!("{}:00:00.000Z", text.get(..13).unwrap_or_default())),
        Function::Day => json!(text.get(..10)),
    }
}

/// What a call asks for in a part of an index.
pub(super) fn asked_for(collection: &Collection, part: &Part, called: &Called<'_>) -> Json {
    if collection.is_filled_part(part) {
        return json!(called.user);
    }
    let given = called.arguments.get(&part.argument).cloned().unwrap_or_default();
    match part.function {
        Function::Lower | Function::Floor => applied(part.function, &given),
        _ => given,
    }
}

//! KW120: an id of another collection, kept only in values, leads nowhere.

use super::Facts;
use crate::check::resolve::listing_index;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Collection, Type};
use std::collections::HashMap;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let keyspace = facts.keyspace;
    let mut keyed: HashMap<&str, Vec<&str>> = HashMap::new();
    for collection in &keyspace.collections {
        for segment in collection.key.segments() {
            keyed.entry(&segment.name).or_default().push(&collection.name.value);
        }
    }
    for collection in &keyspace.collections {
        for field in collection.fields() {
            let name = &field.name;
            let is_id = name.ends_with("_id") && !matches!(field.field_type, Type::Json);
            let elsewhere = keyed.get(name.as_str()).into_iter().flatten();
            let elsewhere = elsewhere.copied().find(|other| *other != collection.name.value);
            let (Some(other), true) = (elsewhere, is_id && !is_indexed(collection, name)) else {
                continue;
            };
            let own = &collection.name.value;
            let message = format!("`{name}` is a key of `{other}`, and here only a value");
            let index = listing_index(collection, &[name.as_str()], None, keyspace.separator);
            problems.push(
                Diagnostic::new(&codes::ID_ONLY_IN_VALUE, field.span, message)
                    .effect(format!("rows of `{own}` could never be found from their `{name}`"))
                    .paste(
                        format!("if somebody will ask, declare an index in [collection.{own}]"),
                        index,
                    )
                    .fix(format!("if nobody will, name it for what it is there, not `{name}`")),
            );
        }
    }
}

fn is_indexed(collection: &Collection, name: &str) -> bool {
    let owner = [&collection.owner, &collection.tenant].into_iter().flatten();
    let is_owner = owner.into_iter().any(|owner| owner.name == name);
    is_owner
        || collection.indexes.iter().any(|index| {
            index.key.segments().any(|segment| {
                segment.source.as_ref().is_some_and(|source| source.members().contains(&name))
            })
        })
}

//! KW701 and KW704: the owner stands first in the group, and every way to its rows goes past it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Collection, Key, Pattern, Segment};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        first_in_group(facts, collection, problems);
    }
    for pattern in &facts.keyspace.patterns {
        past_the_owner(pattern, problems);
    }
}

/// The tenant stands first, then the owner, before any other segment.
fn first_in_group(facts: &Facts<'_>, collection: &Collection, problems: &mut Vec<Diagnostic>) {
    let mut expected = 0;
    for (what, owner) in [("tenant", &collection.tenant), ("owner", &collection.owner)] {
        let Some(owner) = owner.as_ref().filter(|owner| !owner.is_field) else { continue };
        let in_place = collection.key.group_segments().nth(expected);
        if in_place.is_some_and(|segment| segment.name == owner.name) {
            expected += 1;
            continue;
        }
        let found = collection.key.segment(&owner.name).map_or(collection.key.span, |s| s.span);
        let name = &collection.name.value;
        let separator = facts.keyspace.separator;
        let segment_type = collection.key.segment(&owner.name).map(|s| s.segment_type.to_string());
        let segment_type = segment_type.unwrap_or_else(|| "text".to_string());
        let segment = format!("{{{}: {segment_type}}}", owner.name);
        let (place, word) = match (what, expected) {
            ("tenant", _) => ("the first segment of the group", "org"),
            (_, 0) => ("the first segment of the group", "user"),
            _ => ("the segment behind the tenant", "…"),
        };
        let message = format!("the {what} `{}` is not {place}", owner.name);
        problems.push(
            Diagnostic::new(&codes::OWNER_NOT_FIRST, found, message)
                .also(owner.span, format!("declared as the {what}"))
                .effect("a range over one group would hold the rows of several callers")
                .fix(format!("put it there: `{word}{separator}{segment}{separator}{name} | …`"))
                .fix(format!("or make `{}` a field: it is then checked on every use", owner.name))
                .fix(format!(
                    "or leave `{what}` out, and let patterns bind it: \
                     `bind = {{ {} = \"caller\" }}`",
                    owner.name
                )),
        );
        // The owner's place depends on the tenant's.
        return;
    }
}

/// A pattern for the owner goes by a key that holds the owner.
fn past_the_owner(pattern: &Pattern, problems: &mut Vec<Diagnostic>) {
    let Some(target) = &pattern.target else { return };
    let Some(owner) = &target.collection.owner else { return };
    let lists = matches!(
        pattern.verb,
        crate::model::Verb::List | crate::model::Verb::Take | crate::model::Verb::Near
    );
    // A row found by its own key is checked by its owner field.
    let checked = target.index.is_none() && !lists;
    if pattern.allow != Allow::Owner || checked || holds(target.key(), &owner.name) {
        return;
    }
    let message = format!("`{}` leads to rows of every owner", target.text());
    problems.push(
        Diagnostic::new(&codes::INDEX_WITHOUT_OWNER, target.span, message)
            .also(target.key().span, format!("its group does not begin with `{}`", owner.name))
            .fix(format!("use a key whose group begins with `{{{}}}`", owner.name))
            .paste("or, if others may see them, say who", "allow = \"user\""),
    );
}

fn holds(key: &Key, owner: &str) -> bool {
    key.group_segments().any(|segment: &Segment| match &segment.source {
        Some(source) => source.members().contains(&owner),
        None => segment.name == owner,
    })
}

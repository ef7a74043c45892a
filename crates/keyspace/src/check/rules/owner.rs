//! KW701 and KW704: the owner stands first in the group, and every way to its rows goes past it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Collection, ExpressionKind, Key, Pattern, Verb};

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

/// A pattern for the owner, or within a tenant, goes by a key that holds it.
fn past_the_owner(pattern: &Pattern, problems: &mut Vec<Diagnostic>) {
    let Some(target) = &pattern.target else { return };
    let collection = &target.collection;
    let lists = matches!(pattern.verb, Verb::List | Verb::Take | Verb::Near);
    // A row found by its own key is checked by its field; a list never filters.
    let owner = collection.owner.as_ref().filter(|_| pattern.allow == Allow::Owner);
    let owner = owner.filter(|_| target.index.is_some() || lists);
    let within = !matches!(pattern.allow, Allow::Role(_) | Allow::Step);
    // The caller's own rows are of the caller's tenant.
    let own = pattern.allow == Allow::Owner
        && collection.owner.as_ref().is_some_and(|owner| holds(target.key(), &owner.name));
    let tenant = collection.tenant.as_ref().filter(|_| within && lists && !own);
    for (what, held) in [("tenant", tenant), ("owner", owner)] {
        let Some(held) = held.filter(|held| !holds(target.key(), &held.name)) else { continue };
        let message = format!("`{}` leads to rows of every {what}", target.text());
        let problem = Diagnostic::new(&codes::INDEX_WITHOUT_OWNER, target.span, message)
            .also(target.key().span, format!("its group does not hold `{}`", held.name))
            .fix(format!("use a key whose group begins with `{{{}}}`", held.name));
        problems.push(match what {
            "owner" => problem.paste("or, if others may see them, say who", "allow = \"user\""),
            _ => problem.fix("or let only a role ask it: `allow = \"role:…\"`"),
        });
        return;
    }
}

/// Whether a group is one owner's: it holds the owner as it is, not something made of it.
fn holds(key: &Key, owner: &str) -> bool {
    key.group_segments().any(|segment| match &segment.source {
        Some(source) => matches!(&source.kind, ExpressionKind::Member(name) if name == owner),
        None => segment.name == owner,
    })
}

//! KW703: rows that hold an owner, or a tenant, say so.
//!
//! Names that say whose a row is: a few that everybody uses, and those that other collections of
//! the keyspace declare.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Collection, DefaultValue, Pattern};
use crate::source::Span;

/// Names that say whose a row is.
const OWNERS: [&str; 4] = ["user_id", "owner_id", "owner", "account_id"];

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let declared = |of: fn(&Collection) -> Option<&str>| -> Vec<&str> {
        facts.keyspace.collections.iter().filter_map(|collection| of(collection)).collect()
    };
    let mut owners = declared(|collection| collection.owner.as_ref().map(|o| o.name.as_str()));
    owners.extend(OWNERS);
    let tenants = declared(|collection| collection.tenant.as_ref().map(|t| t.name.as_str()));
    for collection in facts.keyspace.collections.iter().filter(|c| c.history.is_none()) {
        if collection.tenant.is_none() {
            // Another tenant's rows must not even be read.
            let open = |pattern: &Pattern| !matches!(pattern.allow, Allow::Role(_) | Allow::Step);
            if let Some((name, span)) = held(facts, collection, &tenants, open) {
                problems.push(problem(collection, "tenant", name, span));
            }
        }
        if collection.owner.is_none() {
            // Rows whose users are kept apart by roles, bindings or memberships have thought of it.
            let open = |pattern: &Pattern| pattern.allow == Allow::User && !pattern.verb.is_read();
            if let Some((name, span)) = held(facts, collection, &owners, open) {
                problems.push(problem(collection, "owner", name, span));
            }
        }
    }
}

/// The first segment or field with such a name that some open pattern lets a caller give.
fn held<'a>(
    facts: &Facts<'_>,
    collection: &'a Collection,
    names: &[&str],
    open: impl Fn(&Pattern) -> bool,
) -> Option<(&'a str, Span)> {
    let fields = collection.fields().iter();
    let fields = fields.filter(|field| field.default != Some(DefaultValue::Caller));
    let fields = fields.map(|field| (field.name.as_str(), field.span));
    let segments = collection.key.segments();
    let segments = segments.map(|segment| (segment.name.as_str(), segment.span));
    segments.chain(fields).find(|(name, _)| {
        names.contains(name)
            && facts.keyspace.patterns_of(collection).any(|pattern| {
                open(pattern) && pattern.arguments.iter().any(|own| own.name == *name)
            })
    })
}

fn problem(collection: &Collection, what: &str, held: &str, span: Span) -> Diagnostic {
    let name = &collection.name.value;
    let message = format!("`{name}` holds `{held}` and declares no {what}");
    let problem = Diagnostic::new(&codes::OWNER_MISSING, span, message)
        .effect(format!("any caller could reach rows in another's name, by giving `{held}`"));
    let first = collection.key.group_segments().next().is_some_and(|s| s.name == held);
    let problem = match first || collection.field(held).is_some() {
        true => problem.paste(
            format!("in [collection.{name}], let the caller fill it"),
            format!("{what} = \"{held}\""),
        ),
        false => problem,
    };
    match what {
        "owner" => {
            problem.fix(format!("bind it in each pattern: `bind = {{ {held} = \"caller\" }}`"))
        }
        _ => problem.fix("or let only a role name it: `allow = \"role:…\"`"),
    }
}

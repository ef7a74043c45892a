//! KW703: rows that hold an owner say so.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Collection, DefaultValue, Pattern};

/// Names that say whose a row is.
const OWNERS: [&str; 4] = ["user_id", "owner_id", "owner", "account_id"];

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        if collection.owner.is_some() || collection.history.is_some() {
            continue;
        }
        // Rows whose users are kept apart by roles, bindings or memberships have thought of it.
        let open = |pattern: &Pattern| pattern.allow == Allow::User && !pattern.verb.is_read();
        let bound =
            |pattern: &Pattern, name: &str| pattern.bind.iter().any(|bind| bind.name.value == name);
        let fields = collection.fields().iter();
        let fields = fields.filter(|field| field.default != Some(DefaultValue::Caller));
        let fields = fields.map(|field| (field.name.as_str(), field.span));
        let segments = collection.key.segments();
        let segments = segments.map(|segment| (segment.name.as_str(), segment.span));
        let found = segments.chain(fields).find(|(name, _)| {
            OWNERS.contains(name)
                && facts
                    .keyspace
                    .patterns_of(collection)
                    .any(|pattern| open(pattern) && !bound(pattern, name))
        });
        problems.extend(found.map(|(name, span)| problem(collection, name, span)));
    }
}

fn problem(collection: &Collection, field: &str, span: crate::source::Span) -> Diagnostic {
    let name = &collection.name.value;
    let message = format!("`{name}` holds `{field}` and declares no owner");
    Diagnostic::new(&codes::OWNER_MISSING, span, message)
        .effect(format!("any caller could write rows in another's name, by giving `{field}`"))
        .paste(
            format!("in [collection.{name}], let the caller fill it"),
            format!("owner = \"{field}\""),
        )
        .fix(format!("or bind it in each pattern: `bind = {{ {field} = \"caller\" }}`"))
}

//! KW112: a name that occurs in any key has one type everywhere.

use super::{Facts, KeyOf};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Segment, Type};
use crate::source::Span;
use std::collections::HashMap;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut of_keys: HashMap<&str, (&Type, Span)> = HashMap::new();
    for key in facts.keys() {
        for segment in key.key().segments().filter(|segment| is_declared(key, segment)) {
            let (name, found) = (segment.name.as_str(), (&segment.segment_type, segment.span));
            let known = *of_keys.entry(name).or_insert(found);
            if known.0 != found.0 {
                problems.push(two_types(name, found, known));
            }
        }
    }
    for collection in &facts.keyspace.collections {
        for field in collection.fields() {
            let Some(known) = of_keys.get(field.name.as_str()) else { continue };
            let own = match field.field_type.required() {
                // A list of ids holds the same ids.
                Type::List(inner) => inner.required(),
                other => other,
            };
            if own != known.0 {
                problems.push(two_types(&field.name, (own, field.span), *known));
            }
        }
    }
}

/// Whether a key gives the name its type: not what every history has, and in an index only a
/// name that is not a field's.
fn is_declared(key: KeyOf<'_>, segment: &Segment) -> bool {
    match &segment.source {
        None => key.collection.history.is_none() || key.key().span != segment.span,
        Some(_) => key.collection.member_type(&segment.name).is_none(),
    }
}

fn two_types(name: &str, found: (&Type, Span), known: (&Type, Span)) -> Diagnostic {
    let message = format!("`{name}` is `{}` here and `{}` elsewhere", found.0, known.0);
    Diagnostic::new(&codes::TWO_TYPES, found.1, message)
        .also(known.1, format!("`{}` here", known.0))
        .effect("an id taken from one row would not be the key of the other")
        .fix(format!("make both `{}`", known.0))
        .fix("or give the other thing another name")
}

//! KW112: a name that occurs in any key has one type everywhere.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Type;
use crate::source::Span;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut declared: Vec<(&str, &Type, Span)> = Vec::new();
    for collection in facts.keyspace.collections.iter().filter(|c| c.history.is_none()) {
        for segment in collection.key.segments() {
            report(&mut declared, (&segment.name, &segment.segment_type, segment.span), problems);
        }
    }
    let of_keys: Vec<(&str, &Type, Span)> = declared.clone();
    for collection in &facts.keyspace.collections {
        for field in collection.fields() {
            let Some(known) = of_keys.iter().find(|(name, _, _)| *name == field.name) else {
                continue;
            };
            let own = match field.field_type.required() {
                // A list of ids holds the same ids.
                Type::List(inner) => inner.required(),
                other => other,
            };
            if own != known.1 {
                problems.push(two_types((&field.name, own, field.span), *known));
            }
        }
    }
}

fn report<'a>(
    declared: &mut Vec<(&'a str, &'a Type, Span)>,
    found: (&'a str, &'a Type, Span),
    problems: &mut Vec<Diagnostic>,
) {
    match declared.iter().find(|(name, _, _)| *name == found.0) {
        Some(known) if known.1 != found.1 => problems.push(two_types(found, *known)),
        Some(_) => {}
        None => declared.push(found),
    }
}

fn two_types(found: (&str, &Type, Span), known: (&str, &Type, Span)) -> Diagnostic {
    let (name, found_type, span) = found;
    let message = format!("`{name}` is `{found_type}` here and `{}` elsewhere", known.1);
    Diagnostic::new(&codes::TWO_TYPES, span, message)
        .also(known.2, format!("`{}` here", known.1))
        .effect("an id taken from one row would not be the key of the other")
        .fix(format!("make both `{}`", known.1))
        .fix("or give the other thing another name")
}

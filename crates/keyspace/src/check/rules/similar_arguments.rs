//! KW516: a name that only a binding uses, and that looks like another, is often misspelt.
//!
//! An argument that nothing declares takes its type from what it is bound to, so that a typing
//! mistake in its name would silently be one more argument.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::model::{Expression, ExpressionKind, Pattern};
use crate::source::Span;

/// Shorter names differ by a letter on purpose.
const CHARACTERS_MIN: usize = 6;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        let used = uses(pattern);
        let mut said: Vec<&str> = Vec::new();
        for (name, span) in &used {
            let others = pattern.arguments.iter().map(|argument| argument.name.as_str());
            let others =
                others.filter(|other| other.len() >= CHARACTERS_MIN && is_near(name, other));
            let Some(other) = nearest(name, others).filter(|_| name.len() >= CHARACTERS_MIN) else {
                continue;
            };
            // Each pair once, at the later of the two.
            if said.contains(&other) || said.contains(&name.as_str()) {
                continue;
            }
            said.push(name);
            let message = format!("`${name}` and `${other}` are two arguments");
            problems.push(
                Diagnostic::new(&codes::SIMILAR_ARGUMENTS, *span, message)
                    .replace("if they are one", *span, format!("${other}"))
                    .fix("if they are two, give one of them a name of its own"),
            );
        }
    }
}

/// One letter more, less or another, or two exchanged; but `payer` and `payee`, which differ in
/// their ends, are two.
fn is_near(left: &str, right: &str) -> bool {
    let same_end = left.chars().next_back() == right.chars().next_back();
    same_end && left != right && strsim::damerau_levenshtein(left, right) == 1
}

/// The arguments that bindings use, the last first.
fn uses(pattern: &Pattern) -> Vec<(String, Span)> {
    let steps = pattern.steps.iter().flat_map(|step| &step.bind);
    let mut used = Vec::new();
    for bind in pattern.bind.iter().chain(steps) {
        bind.expression.walk(&mut |inner: &Expression| {
            if let ExpressionKind::Argument(name) = &inner.kind {
                used.push((name.clone(), inner.span));
            }
        });
    }
    used.reverse();
    used
}

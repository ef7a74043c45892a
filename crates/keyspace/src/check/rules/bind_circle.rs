//! KW520: what an argument is bound to is not, in the end, the argument itself.
//!
//! A bound argument is no longer the caller's to give, so that in a circle nobody gives a value.
//! The bindings of a step are over the arguments of the whole batch: `title = "$title"` is none.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Assignment, ExpressionKind, Pattern};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        let mut told: Vec<&str> = Vec::new();
        for bound in &pattern.bind {
            let Some(circle) = circle(pattern, bound) else { continue };
            if circle.iter().any(|name| told.contains(name)) {
                continue;
            }
            problems.push(report(pattern, bound, &circle));
            told.extend(circle);
        }
    }
}

/// The names from a binding back to itself, the first and the last the same.
fn circle<'a>(pattern: &'a Pattern, bound: &'a Assignment) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![bound.name.value.as_str()]];
    let mut met: Vec<&str> = Vec::new();
    while let Some(way) = ways.pop() {
        let last = way.last().copied().unwrap_or_default();
        let Some(of) = pattern.bind.iter().find(|other| other.name.value == last) else { continue };
        for name in of.expression.arguments() {
            let longer = || way.iter().copied().chain([name]).collect::<Vec<_>>();
            if name == bound.name.value {
                return Some(longer());
            }
            if !met.contains(&name) {
                met.push(name);
                ways.push(longer());
            }
        }
    }
    None
}

fn report(pattern: &Pattern, bound: &Assignment, circle: &[&str]) -> Diagnostic {
    let name = &bound.name.value;
    let span = bound.expression.span;
    let itself = matches!(&bound.expression.kind, ExpressionKind::Argument(own) if own == name);
    let message = match circle {
        [_, _] => format!("`{name}` is bound to itself"),
        _ => format!("`{name}` is bound to itself, by way of {}", ways(circle)),
    };
    let other = format!("{name}_given");
    let problem = Diagnostic::new(&codes::BIND_CIRCLE, span, message);
    let problem = match itself && pattern.argument(&other).is_none() {
        true => {
            problem.replace("let the caller give it under another name", span, format!("${other}"))
        }
        false => problem.fix("bind it to a constant, or to an argument that is bound to nothing"),
    };
    problem.fix("or leave the binding out: the caller gives it then")
}

/// The names between the first and the last.
fn ways(circle: &[&str]) -> String {
    let between = circle.iter().skip(1).take(circle.len().saturating_sub(2));
    between.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

//! KW119: one thing, one namespace: not `user:` here and `users:` there.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Part;
use crate::source::Span;
use std::collections::HashMap;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, Vec<(&str, Span)>> = HashMap::new();
    for key in facts.keys() {
        let Some(Part::Literal(first)) = key.key().parts.first() else { continue };
        let start = key.key().span.start;
        let span = Span::new(start, start + first.len());
        let known = seen.entry(plain(first)).or_default();
        if known.iter().any(|(known, _)| known == first) {
            continue;
        }
        if let Some((other, place)) = known.first() {
            let message = format!("keys begin with `{first}` here and with `{other}` elsewhere");
            problems.push(
                Diagnostic::new(&codes::UNLIKE_TEMPLATES, span, message)
                    .also(*place, format!("`{other}` here"))
                    .fix(format!("begin both with `{other}`")),
            );
        }
        known.push((first, span));
    }
}

/// A word without what people spell differently: case, hyphens, a plural.
fn plain(word: &str) -> String {
    let word = word.to_ascii_lowercase().replace(['-', '.'], "_");
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(&word).to_string(),
    }
}

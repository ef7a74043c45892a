//! KW119: one thing, one namespace: not `user:` here and `users:` there.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Part;
use crate::source::Span;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut seen: Vec<(&str, Span)> = Vec::new();
    for key in facts.keys() {
        let Some(Part::Literal(first)) = key.key().parts.first() else { continue };
        let span = key.key().span;
        if seen.iter().any(|(known, _)| known == first) {
            continue;
        }
        let twin = seen.iter().find(|(known, _)| is_same_word(known, first));
        if let Some((other, place)) = twin {
            let message = format!("keys begin with `{first}` here and with `{other}` elsewhere");
            problems.push(
                Diagnostic::new(&codes::UNLIKE_TEMPLATES, span, message)
                    .also(*place, format!("`{other}` here"))
                    .fix(format!("begin both with `{other}`")),
            );
        }
        seen.push((first, span));
    }
}

/// Whether two words differ by their case, a hyphen or a plural only.
fn is_same_word(left: &str, right: &str) -> bool {
    let plain = |word: &str| {
        let word = word.to_ascii_lowercase().replace(['-', '.'], "_");
        match word.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => word.strip_suffix('s').unwrap_or(&word).to_string(),
        }
    };
    plain(left) == plain(right)
}

//! KW503: a list says how many rows one answer has.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Verb;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::List) {
        if pattern.page.is_none() && !facts.pattern_attempts(pattern, "page") {
            let message = format!("list `{}` has no `page`", pattern.name.value);
            problems.push(
                Diagnostic::new(&codes::LIST_WITHOUT_BOUND, pattern.verb_span, message)
                    .paste("say how many rows one answer has at most", "page = 50"),
            );
        }
    }
}

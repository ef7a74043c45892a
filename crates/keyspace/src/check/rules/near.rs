//! KW513: a near says how far, how many, and what a cell holds.

use super::{Facts, KeyOf};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Verb;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Near) {
        let Some(target) = &pattern.target else { continue };
        let Some(index) = &target.index else { continue };
        let key = KeyOf { collection: &target.collection, index: Some(index) };
        let name = &pattern.name.value;
        let mut missing = |what: &str, why: &str, place: &str, line: &str| {
            let message = format!("near `{name}` needs {what}: {why}");
            problems.push(
                Diagnostic::new(&codes::NEAR_WITHOUT_BOUND, pattern.verb_span, message)
                    .paste(place, line),
            );
        };
        let tried = |setting: &str| facts.pattern_attempts(pattern, setting);
        if pattern.radius_max.is_none() && !tried("max_radius") {
            missing(
                "`max_radius`",
                "it bounds how many cells a call reads",
                "say how far a call may ask",
                "max_radius = 5_000   # metres",
            );
        }
        if pattern.page.is_none() && !tried("page") {
            let place = "say how many rows one answer has at most";
            missing("`page`", "it bounds the answer", place, "page = 50");
        }
        if index.expect.rows_per_group.is_none() && !facts.attempts(key, "expect") {
            missing(
                "`expect.rows_per_group` of its index",
                "it bounds what a cell holds",
                &format!("say it of the index `{}`", index.name.value),
                "expect = { rows_per_group = 2_000 }",
            );
        }
    }
}

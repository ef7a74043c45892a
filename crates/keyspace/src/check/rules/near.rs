//! KW513: a near says how far, how many, and what a cell holds.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Verb;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Near) {
        let Some(index) = pattern.target.as_ref().and_then(|target| target.index.as_ref()) else {
            continue;
        };
        let name = &pattern.name.value;
        let mut missing = |what: &str, why: &str, line: &str| {
            let message = format!("near `{name}` needs {what}: {why}");
            problems.push(
                Diagnostic::new(&codes::NEAR_WITHOUT_BOUND, pattern.verb_span, message)
                    .paste("add", line),
            );
        };
        if pattern.radius_max.is_none() {
            missing(
                "`max_radius`",
                "it bounds how many cells a call reads",
                "max_radius = 5_000   # metres",
            );
        }
        if pattern.page.is_none() {
            missing("`page`", "it bounds the answer", "page = 50");
        }
        if index.expect.rows_per_group.is_none() {
            let line = format!(
                "index.{} = {{ …, expect = {{ rows_per_group = 2_000 }} }}",
                index.name.value
            );
            missing("`expect.rows_per_group` of its index", "it bounds what a cell holds", &line);
        }
    }
}

//! KW517: only rows that have a version can be compared by it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.if_version) {
        let Some(target) = &pattern.target else { continue };
        if target.collection.is_counted() {
            let message =
                format!("`{}` is counted, and has no versions", target.collection.name.value);
            problems.push(
                Diagnostic::new(&codes::NO_VERSION, target.span, message)
                    .fix("leave `if_version` out: adding is exact without it"),
            );
        }
    }
}

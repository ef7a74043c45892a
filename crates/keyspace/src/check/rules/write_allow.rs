//! KW707: a write says who may.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Allow;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        if pattern.verb.is_read() || pattern.allow_declared || pattern.allow != Allow::User {
            continue;
        }
        let message = format!("`{}` is a write, and does not say who may", pattern.name.value);
        problems.push(
            Diagnostic::new(&codes::WRITE_WITHOUT_ALLOW, pattern.name.span, message)
                .paste("if any caller with a token may, say so", "allow = \"user\"")
                .fix("or a role: `allow = \"role:admin\"`"),
        );
    }
}

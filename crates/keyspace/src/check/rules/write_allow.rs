//! KW707: a write says who may.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Pattern, StepAction};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        if pattern.verb.is_read() || pattern.allow_declared || pattern.allow != Allow::User {
            continue;
        }
        let message = format!("`{}` is a write, and does not say who may", pattern.name.value);
        let problem = Diagnostic::new(&codes::WRITE_WITHOUT_ALLOW, pattern.name.span, message);
        let problem = match touches_owned(pattern) {
            true => problem.paste("the rows have owners: only they may", "allow = \"owner\""),
            false => problem,
        };
        problems.push(
            problem
                .paste("if any caller with a token may, say so", "allow = \"user\"")
                .fix("or a role: `allow = \"role:admin\"`"),
        );
    }
}

/// Whether a batch writes, or looks at, rows that somebody owns.
fn touches_owned(pattern: &Pattern) -> bool {
    pattern.steps.iter().any(|step| {
        let target = match &step.action {
            StepAction::Run(run) => run.target.as_ref(),
            StepAction::Check { target, .. } => Some(target),
        };
        target.is_some_and(|target| target.collection.owner.is_some())
    })
}

//! KW305: a window has its limit and period from its collection, or from the batch that runs it.

use super::{Facts, KeyOf};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Argument, ArgumentRole, Verb};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Add) {
        let Some(target) = &pattern.target else { continue };
        let key = KeyOf { collection: &target.collection, index: None };
        let rules: Vec<&Argument> = pattern
            .arguments
            .iter()
            .filter(|argument| argument.role == ArgumentRole::WindowRule)
            .filter(|rule| !facts.attempts(key, &rule.name))
            .collect();
        if rules.is_empty() || pattern.allow == Allow::Step {
            continue;
        }
        let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        let message = format!("nobody says the {} of this window", names.join(" and the "));
        problems.push(
            Diagnostic::new(&codes::BAD_WINDOW, target.span, message)
                .effect("callers never choose their own limit, so that every call would be refused")
                .paste(
                    format!("in [collection.{}], give it constants", target.collection.name.value),
                    "limit = 100\nper = \"60s\"",
                )
                .fix("or run it as a step, `allow = \"step\"`, and bind both in an `atomic`"),
        );
    }
}

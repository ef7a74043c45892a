//! KW709: a pattern that only a batch may run is run by one.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Verb};
use std::collections::HashSet;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut run =
        facts.tree.patterns.iter().flat_map(|pattern| &pattern.verbs).flat_map(|v| &v.steps);
    let run: HashSet<&str> =
        run.by_ref().filter_map(|step| step.run.as_ref()).map(|run| run.value.as_str()).collect();
    for pattern in facts.keyspace.patterns.iter().filter(|p| p.allow == Allow::Step) {
        let name = &pattern.name;
        if run.contains(&name.value.as_str()) {
            continue;
        }
        let message = format!("`{}` is a step, and no atomic runs it", name.value);
        let problem = Diagnostic::new(&codes::UNUSED_STEP, name.span, message);
        problems.push(match pattern.verb {
            Verb::Atomic => {
                problem.fix("an atomic is never a step: say who may, `allow = \"user\"`")
            }
            _ => problem
                .fix(format!("run it: `atomic = [\"{}\", …]`", name.value))
                .fix("or say who may call it by itself: `allow = \"user\"`"),
        });
    }
}

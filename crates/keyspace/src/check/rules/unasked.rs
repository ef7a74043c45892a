//! KW310, KW311 and KW313: every key exists because a pattern asks for it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Verb;
use crate::parse::AllowTree;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let asked = asked(facts);
    for collection in &facts.tree.collections {
        let name = &collection.name;
        let used = asked.iter().any(|target| {
            *target == name.value || target.split('.').next() == Some(name.value.as_str())
        });
        if !used {
            let message = format!("no pattern asks for `{}`", name.value);
            let (verb, page) = if collection.is_history { ("load", "") } else { ("get", "") };
            problems.push(
                Diagnostic::new(&codes::UNASKED_COLLECTION, name.span, message)
                    .paste(
                        "declare the question",
                        format!("[pattern.get_{}]\n{verb} = \"{}\"{page}", name.value, name.value),
                    )
                    .fix("or leave the collection out"),
            );
            continue;
        }
        for index in &collection.indexes {
            let path = format!("{}.{}", name.value, index.name.value);
            let unique = index.unique.as_ref().is_some_and(|unique| unique.value);
            if !unique && !asked.contains(&path) {
                let message = format!("no pattern asks through `{path}`");
                problems.push(
                    Diagnostic::new(&codes::UNASKED_INDEX, index.name.span, message)
                        .paste(
                            "declare the question",
                            format!(
                                "[pattern.list_{}]\nlist = \"{path}\"\npage = 50",
                                index.name.value
                            ),
                        )
                        .fix("or leave the index out"),
                );
            }
        }
    }
    never_written(facts, problems);
}

/// Every target that a verb, a check or a membership names.
fn asked(facts: &Facts<'_>) -> Vec<String> {
    let mut asked = Vec::new();
    for pattern in &facts.tree.patterns {
        for verb in &pattern.verbs {
            asked.extend(verb.target.iter().map(|target| target.value.clone()));
            let checks = verb.steps.iter().filter_map(|step| step.check.as_ref());
            asked.extend(checks.map(|check| check.value.clone()));
        }
        if let Some(AllowTree::Member { member: Some(member), .. }) = &pattern.allow {
            asked.push(member.value.clone());
        }
    }
    asked
}

fn never_written(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        let name = &collection.name;
        let mut patterns =
            facts.tree.patterns.iter().flat_map(|pattern| &pattern.verbs).filter(|v| {
                let target = v.target.as_ref().and_then(|target| target.value.split('.').next());
                target == Some(name.value.as_str())
            });
        let all: Vec<Verb> = patterns.by_ref().map(|verb| verb.verb).collect();
        let creates = all.iter().any(|verb| !verb.is_read() && *verb != Verb::Delete);
        if !all.is_empty() && !creates {
            let message = format!("no pattern writes `{}`", name.value);
            problems.push(
                Diagnostic::new(&codes::NEVER_WRITTEN, name.span, message)
                    .paste(
                        "declare how rows get there",
                        format!(
                            "[pattern.put_{}]\nput = \"{}\"\nallow = \"role:admin\"",
                            name.value, name.value
                        ),
                    )
                    .fix("or import them: nothing is wrong then"),
            );
        }
    }
}

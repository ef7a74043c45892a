//! KW310, KW311 and KW313: every key exists because a pattern asks for it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{DefaultValue, Verb};
use crate::parse::AllowTree;
use std::collections::{HashMap, HashSet};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let asked = asked(facts);
    // A pattern whose target is misspelt may have meant anything; it has been reported.
    if asked.iter().any(|target| !is_declared(facts, target)) || !all_readable(facts) {
        return;
    }
    let collections: HashSet<&str> = asked.iter().filter_map(|t| t.split('.').next()).collect();
    for collection in &facts.tree.collections {
        let name = &collection.name;
        if !collections.contains(name.value.as_str()) {
            let message = format!("no pattern asks for `{}`", name.value);
            let verb = if collection.is_history { "load" } else { "get" };
            problems.push(
                Diagnostic::new(&codes::UNASKED_COLLECTION, name.span, message)
                    .paste(
                        "declare the question",
                        format!("[pattern.{verb}_{}]\n{verb} = \"{}\"", name.value, name.value),
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

fn all_readable(facts: &Facts<'_>) -> bool {
    let verbs = || facts.tree.patterns.iter().flat_map(|pattern| &pattern.verbs);
    verbs().all(|verb| verb.is_readable)
        && facts.tree.patterns.iter().all(|pattern| !pattern.verbs.is_empty())
}

/// Whether a target names something.
fn is_declared(facts: &Facts<'_>, target: &str) -> bool {
    let (name, member) = match target.split_once('.') {
        Some((name, member)) => (name, Some(member)),
        None => (target, None),
    };
    let Some(collection) = facts.collections.get(name) else { return false };
    let fields = collection.fields.iter().flatten().map(|field| &field.name);
    let mut members = collection.indexes.iter().map(|index| &index.name).chain(fields);
    member.is_none_or(|member| members.any(|known| known.value == member))
}

/// Every target that a verb, a check or a membership names.
fn asked(facts: &Facts<'_>) -> HashSet<String> {
    let mut asked = HashSet::new();
    for pattern in &facts.tree.patterns {
        for verb in &pattern.verbs {
            asked.extend(verb.target.iter().map(|target| target.value.clone()));
            let checks = verb.steps.iter().filter_map(|step| step.check.as_ref());
            asked.extend(checks.map(|check| check.value.clone()));
        }
        if let Some(AllowTree::Member { member: Some(member), .. }) = &pattern.allow {
            asked.insert(member.value.clone());
        }
    }
    asked
}

fn never_written(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut written: HashMap<&str, bool> = HashMap::new();
    for verb in facts.tree.patterns.iter().flat_map(|pattern| &pattern.verbs) {
        let target = verb.target.as_ref().and_then(|target| target.value.split('.').next());
        let creates = !verb.verb.is_read() && verb.verb != Verb::Delete;
        *written.entry(target.unwrap_or_default()).or_default() |= creates;
    }
    for collection in &facts.keyspace.collections {
        let name = &collection.name;
        let verb = match () {
            () if collection.is_counted() => "add",
            () if collection.history.is_some() => "append",
            () if collection
                .key
                .segments()
                .any(|segment| matches!(segment.default, Some(DefaultValue::New(_)))) =>
            {
                "insert"
            }
            () => "put",
        };
        if written.get(name.value.as_str()) == Some(&false) {
            let message = format!("no pattern writes `{}`", name.value);
            problems.push(
                Diagnostic::new(&codes::NEVER_WRITTEN, name.span, message)
                    .paste(
                        "declare how rows get there",
                        format!(
                            "[pattern.{verb}_{}]\n{verb} = \"{}\"\nallow = \"role:admin\"",
                            name.value, name.value
                        ),
                    )
                    .fix("or import them: nothing is wrong then"),
            );
        }
    }
}

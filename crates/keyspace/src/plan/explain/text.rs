//! One pattern in words, and the modes of the collections.

use super::super::Plan;
use super::super::bound::{Binding, collection_of};
use super::super::bounds::{Answer, Bounds};
use super::super::step::counted;
use super::{bytes_text, goes_by, wrapped};
use crate::model::{
    Argument, ArgumentRole, Collection, Expression, Function, Keyspace, Mode, Pattern, StoreKind,
    Target, Type,
};
use std::sync::Arc;

/// A pattern in words: what it takes, what is done, and what that costs on every store or on one.
pub fn text(keyspace: &Keyspace, plan: &Plan, store: Option<StoreKind>) -> String {
    let pattern = &plan.pattern;
    let mut out = String::new();
    heading(pattern, &mut out);
    let mut fact = |name: &str, value: String| {
        line(&mut out, &format!("  {name:<10}  {value}"), 14);
    };
    fact("arguments", arguments(&pattern.arguments));
    fact("goes by", by(keyspace, pattern));
    if let Some(entries) = pattern.target.as_ref().and_then(entries) {
        fact("entries", entries);
    }
    for collection in collections(pattern) {
        fact("mode", format!("{} is {}", collection.name.value, mode(keyspace, collection)));
    }
    fact("allow", pattern.allow.to_string());
    out.push_str("\n  steps\n");
    for (number, step) in plan.steps.iter().enumerate() {
        line(&mut out, &format!("    {}. {step}", number + 1), 7);
    }
    for (stores, answer) in answers(plan, store) {
        let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
        out.push('\n');
        line(&mut out, &format!("  {}", names.join(", ")), 2);
        costs(answer, &mut out);
    }
    out
}

fn line(out: &mut String, text: &str, indent: usize) {
    out.push_str(&wrapped(text, indent));
    out.push('\n');
}

fn heading(pattern: &Pattern, out: &mut String) {
    let what = pattern.target.as_ref().map_or_else(|| goes_by(pattern), |target| target.text());
    let id = pattern.id.as_ref().map_or_else(String::new, |id| format!("  ({})", id.value));
    line(out, &format!("{}: {} {what}{id}", pattern.name.value, pattern.verb), 2);
    if let Some(about) = &pattern.about {
        line(out, &format!("  {about}"), 2);
    }
    out.push('\n');
}

fn arguments(arguments: &[Argument]) -> String {
    let text = |argument: &Argument| {
        let optional = if argument.required { "" } else { " (optional)" };
        match &argument.role {
            ArgumentRole::Rows(rows) => {
                let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
                format!("{}: [{}]{optional}", argument.name, names.join(", "))
            }
            _ => format!("{}: {}{optional}", argument.name, argument.argument_type),
        }
    };
    match arguments.is_empty() {
        true => "none".to_string(),
        false => arguments.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}

fn by(keyspace: &Keyspace, pattern: &Pattern) -> String {
    let Some(target) = &pattern.target else {
        let names: Vec<&str> = pattern.steps.iter().map(|step| step.name.as_str()).collect();
        return format!("the keys of its steps: {}", names.join(", "));
    };
    let key = Binding::Call(pattern).key(target.key(), keyspace.separator);
    match &target.index {
        Some(index) if index.unique => format!("{}, unique: {key}", index.name.value),
        Some(index) => format!("{}, an index: {key}", index.name.value),
        None => format!("the key of {}: {key}", target.collection.name.value),
    }
}

/// Which rows an index leaves out, if any.
fn entries(target: &Target) -> Option<String> {
    let index = target.index.as_ref()?;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(index.when.as_ref().map(|when| format!("only rows where {when} have one")));
    for source in index.key.segments().filter_map(|segment| segment.source.as_ref()) {
        for part in without_entry(&target.collection, source) {
            let part = format!("rows whose {part} have no entry");
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What leaves a row without an entry: any null, but of lists and fields under `each` all.
fn without_entry(collection: &Collection, source: &Expression) -> Vec<String> {
    let names = source.members();
    let missing = |name: &&str| {
        let found = collection.member_type(name)?;
        let list = matches!(found.required(), Type::List(_));
        match (list, found.is_optional()) {
            (true, false) => Some(format!("`{name}` is empty")),
            (true, true) => Some(format!("`{name}` is null or empty")),
            (false, true) => Some(format!("`{name}` is null")),
            (false, false) => None,
        }
    };
    if source.calls(Function::Each) {
        let all: Option<Vec<String>> = names.iter().map(missing).collect();
        return all.map(|all| all.join(" and whose ")).into_iter().collect();
    }
    names.iter().filter_map(missing).collect()
}

/// The collections a pattern concerns, each once.
fn collections(pattern: &Pattern) -> Vec<&Arc<Collection>> {
    let of_steps = pattern.steps.iter().filter_map(collection_of);
    let own = pattern.target.as_ref().map(|target| &target.collection);
    let mut found: Vec<&Arc<Collection>> = Vec::new();
    for collection in own.into_iter().chain(of_steps) {
        if !found.iter().any(|other| other.name.value == collection.name.value) {
            found.push(collection);
        }
    }
    found
}

fn mode(keyspace: &Keyspace, collection: &Collection) -> String {
    let mode = keyspace.mode(collection);
    match (mode, keyspace.why_conditional(collection)) {
        (Mode::Conditional, Some(reason)) => format!("{mode}: {reason}"),
        (Mode::Plain, _) => format!("{mode}: no write depends on what is stored"),
        (Mode::Counter, _) => format!("a {mode}: exact, without a version"),
        (Mode::Window, _) => format!("a {mode}: exact, with a limit and an end, without a version"),
        (Mode::History, _) => format!("a {mode}: rows are never overwritten"),
        (Mode::Conditional, None) => mode.to_string(),
    }
}

/// The answers of all stores, or of one; stores with the same answer together.
fn answers(plan: &Plan, store: Option<StoreKind>) -> Vec<(Vec<StoreKind>, &Answer)> {
    let mut together: Vec<(Vec<StoreKind>, &Answer)> = Vec::new();
    for (kind, answer) in plan.answers().filter(|(kind, _)| store.is_none_or(|s| s == *kind)) {
        match together.iter_mut().find(|(_, other)| *other == answer) {
            Some((stores, _)) => stores.push(kind),
            None => together.push((vec![kind], answer)),
        }
    }
    together
}

fn costs(answer: &Answer, out: &mut String) {
    match answer {
        Answer::Native(bounds) => line(out, &format!("    native: {}", words(bounds)), 6),
        Answer::Assisted { price, bounds } => {
            line(out, &format!("    assisted: {}", words(bounds)), 6);
            line(out, &format!("    price: {price}"), 6);
        }
        Answer::Refused(refusal) => {
            line(out, &format!("    refused (KW{:03}): {}", refusal.code, refusal.reason), 6);
            for (number, fix) in refusal.fixes.iter().enumerate() {
                line(out, &format!("    fix {}: {fix}", number + 1), 6);
            }
        }
    }
}

fn words(bounds: &Bounds) -> String {
    let mut parts = vec![counted(bounds.round_trips, "round trip")];
    if bounds.attempts > 1 {
        parts.push(format!("up to {} if others write too", counted(bounds.attempts, "attempt")));
    }
    let amount = |verb: &str, rows: u64, usual: u64, most: u64| {
        let (rows, usual, most) = (counted(rows, "row"), bytes_text(usual), bytes_text(most));
        format!("{verb} {rows}, usually {usual}, at most {most}")
    };
    if bounds.rows_read > 0 {
        let (usual, most) = (bounds.bytes_read_usual, bounds.bytes_read);
        parts.push(amount("reads", bounds.rows_read, usual, most));
    }
    if bounds.rows_written > 0 {
        let (usual, most) = (bounds.bytes_written_usual, bounds.bytes_written);
        parts.push(amount("writes", bounds.rows_written, usual, most));
    }
    parts.join("; ")
}

/// Each collection's mode and why.
pub fn modes(keyspace: &Keyspace) -> String {
    let names = keyspace.collections.iter().map(|c| c.name.value.chars().count());
    let width = names.max().unwrap_or(0);
    let mut out = String::new();
    for collection in &keyspace.collections {
        let text = mode(keyspace, collection);
        line(&mut out, &format!("{:<width$}  {text}", collection.name.value), width + 2);
    }
    out
}

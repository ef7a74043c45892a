//! The section of one access pattern.

use super::markdown::{Page, facts, table};
use super::{escape, words};
use crate::model::{
    Allow, Argument, ArgumentRole, Assignment, Key, Pattern, Segment, Step, StepAction, Target,
};

/// The words of a pattern's heading.
pub(super) fn heading(pattern: &Pattern) -> String {
    match &pattern.id {
        Some(id) => format!("{} ({})", pattern.name.value, id.value),
        None => pattern.name.value.clone(),
    }
}

/// A pattern's heading, its table and, for an `atomic`, its steps.
pub(super) fn section(page: &Page<'_>, pattern: &Pattern) -> String {
    let mut rows = vec![
        ("Type", verb(pattern)),
        ("Description", pattern.about.as_deref().map(escape::cell).unwrap_or_default()),
        ("Arguments", arguments(&pattern.arguments)),
    ];
    rows.extend(key_rows(pattern, page.keyspace.separator));
    rows.push(("Cardinality", words::capital(&words::cardinality(pattern))));
    rows.push(("Table", answered_from(page, pattern)));
    rows.extend(answer_rows(pattern));
    rows.extend(change_rows(pattern));
    rows.push(("Step of", page.atomic_links(pattern).unwrap_or_default()));
    rows.push(("Who may", allow(page, pattern)));
    rows.push(("Notes", pattern.notes.as_deref().map(escape::cell).unwrap_or_default()));
    let mut text = format!("### {}\n\n", escape::text(&heading(pattern)));
    text.push_str(&facts(rows));
    if !pattern.steps.is_empty() {
        text.push('\n');
        text.push_str(&steps(page, &pattern.steps));
    }
    text
}

/// The table, or tables, a pattern goes to.
pub(super) fn answered_from(page: &Page<'_>, pattern: &Pattern) -> String {
    let mut tables: Vec<String> = Vec::new();
    let stepped = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => run.target.as_ref(),
        StepAction::Check { target, .. } => Some(target),
    });
    for target in pattern.target.iter().chain(stepped) {
        let table = table_of(page, target);
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables.join(", ")
}

fn table_of(page: &Page<'_>, target: &Target) -> String {
    let table = match &target.index {
        Some(index) => &index.name.value,
        None => &target.collection.table,
    };
    page.collection_link(table, &target.collection.name.value)
}

fn verb(pattern: &Pattern) -> String {
    let kind = if pattern.verb.is_read() { "Read" } else { "Write" };
    let words = words::verb(pattern);
    let field = pattern.target.as_ref().and_then(|target| target.field.as_deref());
    let field = field.map(|field| format!(" {}", escape::code(field))).unwrap_or_default();
    format!("{kind}, {}: {words}{field}", escape::code(pattern.verb.name()))
}

/// Arguments with their types, one a line.
fn arguments(arguments: &[Argument]) -> String {
    let lines = arguments.iter().map(|argument| {
        let optional = if argument.required { "" } else { ", optional" };
        match &argument.role {
            ArgumentRole::Rows(inner) => {
                let each = inner.iter().map(|inner| {
                    let optional = if inner.required { "" } else { ", optional" };
                    format!("{}{optional}", escape::code(&typed(inner)))
                });
                let each = each.collect::<Vec<_>>().join("; ");
                format!("{}{optional}, each with {each}", escape::code(&argument.name))
            }
            _ => format!("{}{optional}", escape::code(&typed(argument))),
        }
    });
    lines.collect::<Vec<_>>().join("<br>")
}

fn typed(argument: &Argument) -> String {
    format!("{}: {}", argument.name, argument.argument_type)
}

/// The two halves of the key a pattern goes by.
fn key_rows(pattern: &Pattern, separator: char) -> Vec<(&'static str, String)> {
    let Some(key) = pattern.key() else { return Vec::new() };
    let group = names(key.group_segments()).unwrap_or_else(|| {
        let only = Key::template_of(key.group(), separator);
        format!("none: {} is one group", escape::code(&only))
    });
    let rest = names(key.rest_segments()).unwrap_or_else(|| "none".to_string());
    vec![("Partition key", group), ("Clustering key", rest)]
}

fn names<'a>(segments: impl Iterator<Item = &'a Segment>) -> Option<String> {
    let names = words::segment_names(segments);
    let names: Vec<String> = names.iter().map(|name| escape::code(name)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What an answer holds and how it is sorted.
fn answer_rows(pattern: &Pattern) -> Vec<(&'static str, String)> {
    let order = pattern.order.as_ref().map(|order| {
        let direction = if order.descending { ", largest first" } else { "" };
        format!("{}{direction}", escape::code(&order.by))
    });
    let fields = pattern.fields.iter().flatten().map(|field| escape::code(&field.value));
    let second = match (&pattern.target, pattern.verb.is_read(), pattern.is_covered()) {
        (Some(target), true, true) if target.index.is_some() => "the index alone".to_string(),
        (Some(target), true, false) if target.index.is_some() => {
            format!("the index, then {}", escape::code(&target.collection.table))
        }
        _ => String::new(),
    };
    vec![
        ("Read from", second),
        ("Order", order.unwrap_or_default()),
        ("Fields", fields.collect::<Vec<_>>().join(", ")),
    ]
}

/// What a write changes, and when it may.
fn change_rows(pattern: &Pattern) -> Vec<(&'static str, String)> {
    let sets = pattern.set.iter().map(|field| escape::code(&field.value));
    let condition =
        pattern.condition.as_ref().map(|condition| escape::code(&condition.to_string()));
    let version = pattern.if_version.then(|| "the version the caller read".to_string());
    let conditions = condition.into_iter().chain(version).collect::<Vec<_>>();
    vec![
        ("Changes", sets.collect::<Vec<_>>().join(", ")),
        ("Computes", assignments(&pattern.compute)),
        ("Binds", assignments(&pattern.bind)),
        ("Condition", conditions.join("<br>")),
    ]
}

fn assignments(assignments: &[Assignment]) -> String {
    let lines = assignments
        .iter()
        .map(|one| escape::code(&format!("{} = {}", one.name.value, one.expression)));
    lines.collect::<Vec<_>>().join("<br>")
}

fn allow(page: &Page<'_>, pattern: &Pattern) -> String {
    let Allow::Member(member) = &pattern.allow else {
        return words::capital(&escape::cell(&words::allow(&pattern.allow)));
    };
    let condition = member.condition.as_ref();
    let condition = condition.map(|when| format!(" with {}", escape::code(&when.to_string())));
    format!(
        "Callers who are {} of a row in {}{}",
        escape::code(&member.caller),
        page.collection_link(&member.collection, &member.collection),
        condition.unwrap_or_default()
    )
}

/// The steps of an `atomic`, in their order.
fn steps(page: &Page<'_>, steps: &[Step]) -> String {
    let rows = steps.iter().enumerate().map(|(number, step)| {
        let (does, target, condition) = match &step.action {
            StepAction::Run(run) => (
                format!("{}: {}", page.pattern_link(&run.name.value), words::verb(run)),
                run.target.as_ref(),
                run.condition.as_ref(),
            ),
            StepAction::Check { target, condition } => {
                ("check: a row looked at".to_string(), Some(target), condition.as_ref())
            }
        };
        vec![
            (number + 1).to_string(),
            escape::code(&step.name),
            does,
            target.map(|target| table_of(page, target)).unwrap_or_default(),
            assignments(&step.bind),
            condition.map(|condition| escape::code(&condition.to_string())).unwrap_or_default(),
        ]
    });
    table(&["Step", "Name", "Does", "Table", "Binds", "Condition"], rows.collect())
}

//! The words printed above and beside tables, and the few forms in which the table stores print.
//!
//! What is said of a collection or index is said once, here, the same for every store.

use super::tables::{Expiry, expiry, plain_member, row_key};
use crate::model::{
    Allow, Collection, Content, Index, Key, Keyspace, Mode, Part, Pattern, StepAction, Target,
    duration_text,
};

/// A key with its bar, directions and functions; types and defaults left out.
pub fn template(key: &Key, separator: char) -> String {
    let side = |parts: &[Part]| -> String {
        let parts: Vec<String> = parts.iter().map(part_text).collect();
        parts.join(separator.encode_utf8(&mut [0; 4]))
    };
    let (group, rest) = (side(key.group()), side(key.rest()));
    match (key.has_bar, rest.is_empty()) {
        (_, false) => format!("{group} | {rest}"),
        (true, true) => format!("{group} |"),
        (false, true) => group,
    }
}

fn part_text(part: &Part) -> String {
    let segment = match part {
        Part::Literal(text) => return text.clone(),
        Part::Segment(segment) => segment,
    };
    let name = match &segment.source {
        Some(source) if plain_member(segment).is_none() => source.to_string(),
        _ => segment.name.clone(),
    };
    let direction = if segment.descending { " desc" } else { "" };
    format!("{{{name}{direction}}}")
}

/// What is said above a collection's table.
pub fn rows_remarks(keyspace: &Keyspace, collection: &Collection) -> Vec<String> {
    let name = &collection.name.value;
    let key = template(&row_key(collection), keyspace.separator);
    let mut remarks = vec![format!("{name}: {key}"), mode_words(keyspace, collection)];
    match expiry(collection) {
        Some(Expiry::After(length)) => {
            let length = duration_text(i64::try_from(length).unwrap_or(i64::MAX));
            remarks.push(format!("rows end {length} after they are written"));
        }
        Some(Expiry::Field(field)) => remarks.push(format!("rows end at {field}")),
        None => {}
    }
    remarks.extend(answers(keyspace, collection, None));
    remarks
}

/// What is said above an index's table.
pub fn entries_remarks(keyspace: &Keyspace, collection: &Collection, index: &Index) -> Vec<String> {
    let key = template(&index.key, keyspace.separator);
    let kind = if index.unique { "unique index" } else { "index" };
    let (name, of) = (&index.name.value, &collection.name.value);
    let mut remarks = vec![format!("{name}: {kind} of {of}, {key}")];
    if let Some(when) = &index.when {
        remarks.push(format!("only records for which {when}"));
    }
    match answers(keyspace, collection, Some(index)) {
        Some(line) => remarks.push(line),
        None if index.unique => remarks.push("enforced, never asked".to_string()),
        None => {}
    }
    remarks
}

/// The mode of a collection and its reason.
fn mode_words(keyspace: &Keyspace, collection: &Collection) -> String {
    let mode = keyspace.mode(collection);
    let why = match (mode, &collection.content) {
        (Mode::Conditional, _) => {
            keyspace.why_conditional(collection).unwrap_or_default().to_string()
        }
        (Mode::Window, Content::Window { limit: Some(limit), per: Some(per) }) => {
            let per = duration_text(i64::try_from(*per).unwrap_or(i64::MAX));
            format!("at most {limit} in {per}")
        }
        (Mode::Window, _) => "limit and period are bound by an atomic".to_string(),
        (Mode::Counter, _) => "exact".to_string(),
        (Mode::History, _) => "rows are never overwritten".to_string(),
        (Mode::Plain, _) => "no write depends on what is stored".to_string(),
    };
    format!("{mode}: {why}")
}

/// The patterns that go by a key, with the ids they have in the application's documents. One that
/// is only ever a step is spoken for by the `atomic` it is a step of.
fn answers(keyspace: &Keyspace, collection: &Collection, index: Option<&Index>) -> Option<String> {
    let is_target = |target: &Target| {
        let of = target.index.as_ref().map(|index| &index.name.value);
        target.collection.name.value == collection.name.value
            && of == index.map(|index| &index.name.value)
    };
    let names: Vec<String> = keyspace
        .patterns
        .iter()
        .filter(|pattern| pattern.allow != Allow::Step && goes_by(pattern, &is_target))
        .map(|pattern| label(pattern))
        .collect();
    (!names.is_empty()).then(|| format!("answers {}", names.join(", ")))
}

fn goes_by(pattern: &Pattern, is_target: &dyn Fn(&Target) -> bool) -> bool {
    pattern.target.as_ref().is_some_and(is_target)
        || pattern.steps.iter().any(|step| match &step.action {
            StepAction::Check { target, .. } => is_target(target),
            StepAction::Run(run) => goes_by(run, is_target),
        })
}

fn label(pattern: &Pattern) -> String {
    match &pattern.id {
        Some(id) => format!("{} {}", id.value, pattern.name.value),
        None => pattern.name.value.clone(),
    }
}

/// The sentence kept in the store's catalogue: the key, then the developer's notes.
pub fn comment(key: &Key, separator: char, notes: Option<&str>) -> String {
    match notes {
        Some(notes) => format!("{}. {}", template(key, separator), notes.trim()),
        None => template(key, separator),
    }
}

/// Comment lines of at most 100 columns, where they can be broken outside braces.
pub fn comment_lines(remarks: &[String]) -> String {
    let mut text = String::new();
    for remark in remarks {
        let mut line = String::from("--");
        for word in words(remark) {
            if line.chars().count() + word.chars().count() >= 100 {
                text.push_str(&line);
                text.push('\n');
                line = String::from("--  ");
            }
            line.push(' ');
            line.push_str(&word);
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Cuts a text at its spaces, but no `{at desc}`.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    for piece in text.split_whitespace() {
        match words.last_mut() {
            Some(word) if is_inside => word.extend([" ", piece]),
            _ => words.push(piece.to_string()),
        }
        is_inside = match (piece.rfind('{'), piece.rfind('}')) {
            (Some(open), Some(close)) => open > close,
            (open, close) => open.is_some() || (is_inside && close.is_none()),
        };
    }
    words
}

/// Columns and the key, one a line, types under each other: what stands between the parentheses.
pub fn column_lines(columns: &[(String, String, Option<String>)], last: &str) -> String {
    let width = columns.iter().map(|(name, _, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, definition, remark) in columns {
        let line = format!("    {name:width$} {definition},");
        match remark {
            Some(remark) => text.push_str(&format!("{line}  -- {remark}\n")),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text.push_str(&format!("    {last}\n"));
    text
}

/// A text between single quotes.
pub fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::comment_lines;

    #[test]
    fn lines_break_outside_braces() {
        let remark = format!("{} {{at desc}}:{{id}} and more", "x".repeat(85));
        let expected = format!("-- {}\n--   {{at desc}}:{{id}} and more\n", "x".repeat(85));
        assert_eq!(comment_lines(&[remark]), expected);
    }
}

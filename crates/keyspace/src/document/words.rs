//! The words every document uses for keys, verbs, sizes and callers.
//!
//! A thing is said in one way wherever it is said; nothing here escapes or lays out.

use crate::model::{
    Allow, Collection, Content, Expect, FileName, FilePart, HistoryKeep, Key, Part, Pattern,
    Segment, Step, StepAction, Verb, duration_text,
};
use crate::parse::grouped;

/// A segment as the file writes it, without its braces: `message_id: timeuuid desc = new`.
pub(super) fn segment(segment: &Segment) -> String {
    let mut text = match &segment.source {
        None => format!("{}: {}", segment.name, segment.segment_type),
        Some(_) => computed(segment),
    };
    if segment.descending {
        text.push_str(" desc");
    }
    if let Some(default) = &segment.default {
        text.push_str(&format!(" = {default}"));
    }
    text
}

/// A segment of an index: the field, or what is computed from it.
fn computed(segment: &Segment) -> String {
    let Some(source) = &segment.source else { return segment.name.clone() };
    match source.members().first() {
        Some(member) if *member == segment.name => source.to_string(),
        _ => format!("{} = {source}", segment.name),
    }
}

/// Some parts of a key as the file writes them.
fn parts(parts: &[Part], separator: char, of_segment: impl Fn(&Segment) -> String) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Segment(inner) => format!("{{{}}}", of_segment(inner)),
    });
    texts.collect::<Vec<_>>().join(&separator.to_string())
}

/// A whole key as the file writes it, types and defaults included.
pub(super) fn key(key: &Key, separator: char) -> String {
    let group = parts(key.group(), separator, segment);
    match (key.has_bar, key.rest().is_empty()) {
        (false, _) => group,
        (true, true) => format!("{group} |"),
        (true, false) => format!("{group} | {}", parts(key.rest(), separator, segment)),
    }
}

/// The two halves of a key as a diagram shows them: no types, no defaults; the second is empty
/// where the whole key is the group.
pub(super) fn key_halves(key: &Key, separator: char) -> (String, String) {
    let brief = |segment: &Segment| {
        let direction = if segment.descending { " desc" } else { "" };
        format!("{}{direction}", computed(segment))
    };
    let mut group = parts(key.group(), separator, brief);
    if key.has_bar && key.rest().is_empty() {
        group.push_str(" |");
    }
    (group, parts(key.rest(), separator, brief))
}

/// The names of some segments, with their direction: `{channel_id}`, `{message_id} desc`.
pub(super) fn segment_names<'a>(segments: impl Iterator<Item = &'a Segment>) -> Vec<String> {
    let direction = |segment: &Segment| if segment.descending { " desc" } else { "" };
    segments.map(|segment| format!("{}{}", computed(segment), direction(segment))).collect()
}

/// What a pattern does, in words.
pub(super) fn verb(pattern: &Pattern) -> String {
    match pattern.verb {
        Verb::Get if pattern.many.is_some() => "rows by their whole keys".to_string(),
        Verb::Get => "one row by its whole key".to_string(),
        Verb::List => "a page of a group, in key order".to_string(),
        Verb::Near => "rows around a point, nearest first".to_string(),
        Verb::Insert if pattern.existing_returned => {
            "a new row; one that is there is answered instead".to_string()
        }
        Verb::Insert if target_is(pattern, |collection| collection.immutable) => {
            "a new row; the same again is accepted, another is a conflict".to_string()
        }
        Verb::Insert => "a new row; a conflict if it is there".to_string(),
        Verb::Put => "a row created or replaced".to_string(),
        Verb::Update if pattern.missing_created => {
            "some fields of a row, created if missing".to_string()
        }
        Verb::Update => "some fields of a row".to_string(),
        Verb::Delete => "a row removed".to_string(),
        Verb::Add => format!("an amount added to {}", added_to(pattern)),
        Verb::Take => "the first row that fits, changed and returned".to_string(),
        Verb::Atomic => "several steps in one batch".to_string(),
        Verb::Append => "an update added to a history".to_string(),
        Verb::Load => "a history read".to_string(),
        Verb::Compact => "a snapshot that covers updates".to_string(),
        Verb::Fork => "a branch begun".to_string(),
        Verb::Collect => "what a history no longer wants, removed".to_string(),
    }
}

/// A step of an `atomic`: its verb, its pattern if it has one, and where it goes.
pub(super) fn step(step: &Step) -> String {
    match &step.action {
        StepAction::Run(run) => format!("{} {}", run.verb, run.name.value),
        StepAction::Check { target, .. } => format!("check {}", target.text()),
    }
}

/// Whether a step only reads.
pub(super) fn step_reads(step: &Step) -> bool {
    match &step.action {
        StepAction::Run(run) => run.verb.is_read(),
        StepAction::Check { .. } => true,
    }
}

fn target_is(pattern: &Pattern, holds: impl Fn(&Collection) -> bool) -> bool {
    pattern.target.as_ref().is_some_and(|target| holds(&target.collection))
}

fn added_to(pattern: &Pattern) -> &'static str {
    match pattern.target.as_ref().map(|target| &target.collection.content) {
        Some(Content::Counter) => "a counter",
        Some(Content::Window { .. }) => "a window",
        _ => "a field",
    }
}

/// How many rows a pattern answers or changes.
pub(super) fn cardinality(pattern: &Pattern) -> String {
    let many = pattern.many.map(grouped);
    match (pattern.verb, many) {
        (Verb::Get, Some(many)) => format!("up to {many} rows, one a key"),
        (Verb::Get, None) | (Verb::Take, _) => "one row, or none".to_string(),
        (Verb::List | Verb::Near, _) => page(pattern),
        (Verb::Atomic, _) => match pattern.steps.len() {
            1 => "one step".to_string(),
            steps => format!("{steps} steps"),
        },
        (Verb::Load | Verb::Collect, _) => match pattern.page {
            Some(rows) => format!("up to {} rows a page of one history", grouped(rows)),
            None => "the rows of one history".to_string(),
        },
        (Verb::Fork, _) => "one branch".to_string(),
        (_, Some(many)) => format!("up to {many} rows of one group, all or none"),
        (_, None) => "one row".to_string(),
    }
}

fn page(pattern: &Pattern) -> String {
    let rows = match pattern.page {
        Some(rows) => format!("up to {} rows", grouped(rows)),
        None => "rows".to_string(),
    };
    // A radius is whole metres in every sensible file; what is less is not worth a word.
    let radius = pattern.radius_max.map(|metres| format!(" within {} m", grouped(metres as u64)));
    let unit = if pattern.verb == Verb::List { " a page" } else { "" };
    let expect = pattern.target.as_ref().and_then(|target| match &target.index {
        Some(index) => group_size(index.expect),
        None => group_size(target.collection.expect),
    });
    let expect = expect.map(|size| format!("; {size}")).unwrap_or_default();
    format!("{rows}{unit}{}{expect}", radius.unwrap_or_default())
}

/// The size that is expected of a group.
fn group_size(expect: Expect) -> Option<String> {
    match (expect.rows_per_group, expect.rows_per_day) {
        (Some(rows), _) => Some(format!("a group of up to {} expected", grouped(rows))),
        (None, Some(rows)) => Some(format!("{} a day expected in a group", grouped(rows))),
        (None, None) => None,
    }
}

/// Everything that is expected of a collection or an index.
pub(super) fn expect(expect: Expect) -> Option<String> {
    let said = [
        expect.rows_per_group.map(|rows| format!("{} rows in the largest group", grouped(rows))),
        expect
            .rows_per_day
            .map(|rows| format!("{} rows a day in the busiest group", grouped(rows))),
        expect.row_bytes.map(|bytes| format!("{} bytes a row", grouped(bytes))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Who may, in words; a condition on a membership is left to the caller of this.
pub(super) fn allow(allow: &Allow) -> String {
    match allow {
        Allow::Owner => "the owner of the row".to_string(),
        Allow::User => "any caller with a token".to_string(),
        Allow::Role(role) => format!("callers with the role {role}"),
        Allow::Public => "anybody".to_string(),
        Allow::Step => "nobody directly: a step of an atomic".to_string(),
        Allow::Member(member) => {
            format!("callers whose {} has a row in {}", member.caller, member.collection)
        }
    }
}

/// What a row holds, where that is not a record.
pub(super) fn content(collection: &Collection) -> String {
    match &collection.content {
        _ if collection.history.is_some() => "a snapshot or an update".to_string(),
        Content::Keys | Content::Fields(_) => "nothing beyond its key".to_string(),
        Content::Json => "any JSON value".to_string(),
        Content::Text => "a text".to_string(),
        Content::Bytes => "bytes".to_string(),
        Content::Counter => "an exact counter".to_string(),
        Content::Window { limit, per } => match (limit, per) {
            (Some(limit), Some(per)) => {
                format!("a window: up to {} every {}", grouped(*limit), milliseconds(*per))
            }
            _ => "a window, its limit and period bound by an atomic".to_string(),
        },
    }
}

/// What `collect` leaves of a history.
pub(super) fn history_keep(keep: HistoryKeep) -> String {
    match keep {
        HistoryKeep::All => "everything".to_string(),
        HistoryKeep::Age(age) => format!("what is younger than {}", milliseconds(age)),
        HistoryKeep::Versions(count) => format!("the newest {} versions", grouped(count)),
    }
}

/// A file's name as the file writes it.
pub(super) fn file_name(name: &FileName) -> String {
    let parts = name.parts.iter().map(|part| match part {
        FilePart::Literal(literal) => literal.clone(),
        FilePart::Member(member) => format!("{{{member}}}"),
    });
    parts.collect()
}

/// A length of time: `15m`.
pub(super) fn milliseconds(length: u64) -> String {
    duration_text(i64::try_from(length).unwrap_or(i64::MAX))
}

/// The same words with a capital at their head.
pub(super) fn capital(words: &str) -> String {
    let mut characters = words.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_readable() {
        assert_eq!(milliseconds(900_000), "15m");
    }

    #[test]
    fn capitals_stand_first() {
        assert_eq!(capital("one row"), "One row");
        assert_eq!(capital(""), "");
    }
}

//! Histories: the rows they have, and how they are kept small.

use crate::diagnostic::{Diagnostic, codes};
use crate::model::{DefaultValue, History, HistoryKeep, Key, Part, Segment, Type};
use crate::parse::{CollectionTree, KeepTree, parse_duration};

/// Appends what every history's rows have after the bar.
pub(super) fn history_rows(key: &mut Key, problems: &mut Vec<Diagnostic>) {
    if !key.rest().is_empty() {
        let message = "a history's key names the document; its versions stand below it";
        problems.push(
            Diagnostic::new(&codes::BAD_HISTORY, key.span, message)
                .fix("leave out the bar and what follows it"),
        );
        key.parts.truncate(key.group_parts);
    }
    for taken in key.segments().filter(|s| ["kind", "branch", "version"].contains(&&*s.name)) {
        let message = format!("every history has a segment `{}` already", taken.name);
        problems.push(
            Diagnostic::new(&codes::BAD_HISTORY, taken.span, message)
                .fix("give this one another name"),
        );
    }
    let span = key.span;
    let mut segment = |name: &str, segment_type: Type, default: Option<&str>| {
        key.parts.push(Part::Segment(Segment {
            name: name.to_string(),
            segment_type,
            descending: false,
            default: default.map(|text| DefaultValue::Text(text.to_string())),
            source: None,
            appended: false,
            span,
        }));
    };
    let kinds = ["snapshot", "update"].map(str::to_string).to_vec();
    segment("kind", Type::Enum(kinds), None);
    segment("branch", Type::Text, Some("main"));
    segment("version", Type::Bytes, None);
    key.has_bar = true;
}

/// How a history is kept small.
pub(super) fn history(tree: &CollectionTree, problems: &mut Vec<Diagnostic>) -> History {
    let keep = match tree.keep.as_ref().map(|keep| (&keep.value, keep.span)) {
        None => HistoryKeep::All,
        Some((KeepTree::Versions(number), _)) => HistoryKeep::Versions(*number),
        Some((KeepTree::Text(text), _)) if text == "all" => HistoryKeep::All,
        Some((KeepTree::Text(text), span)) => match parse_duration(text) {
            Some(age) => HistoryKeep::Age(age),
            None => {
                let message = format!("a history cannot keep `{text}`");
                problems.push(
                    Diagnostic::new(&codes::BAD_HISTORY, span, message)
                        .fix("write \"all\", an age such as \"30d\", or a number of versions"),
                );
                HistoryKeep::All
            }
        },
    };
    let compact = tree.compact_when.as_ref();
    if let Some(rule) = compact.filter(|rule| rule.value != "updates >= snapshot") {
        let message = format!("`{}` is no rule for compacting", rule.value);
        problems.push(Diagnostic::new(&codes::BAD_HISTORY, rule.span, message).replace(
            "the rule is",
            rule.span,
            "updates >= snapshot",
        ));
    }
    History { keep, compact_when_larger: compact.is_some() }
}

//! Templates to keys: names, types, defaults and the bar.

use super::names::{NameOf, check_name};
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::limits::KEY_SEGMENTS_MAX;
use crate::model::{DefaultValue, Key, Part, Segment, Type};
use crate::parse::{Template, TemplatePart, TemplateSegment};
use crate::source::{Span, Spanned};

/// A collection's own key; none if a segment of it could not be understood.
pub fn own_key(
    template: &Template,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Key> {
    let mut parts = Vec::new();
    for part in &template.parts {
        parts.push(match part {
            TemplatePart::Literal(text) => Part::Literal(text.value.clone()),
            TemplatePart::Segment(written) => Part::Segment(own_segment(written, problems)?),
        });
    }
    finish_key(parts, template, separator, problems)
}

/// What own keys and index keys have in common: the bar, and segments that stand once.
pub fn finish_key(
    parts: Vec<Part>,
    template: &Template,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Key> {
    if parts.len() > KEY_SEGMENTS_MAX {
        let message = format!("a key has at most {KEY_SEGMENTS_MAX} parts");
        problems.push(
            Diagnostic::new(&codes::KEY_TOO_LONG, template.span, message)
                .fix("use a path segment, `{path: text..}`, for a key of any depth"),
        );
        return None;
    }
    let group_parts = bar(&parts, template, separator, problems)?;
    check_parts(&parts, separator, problems);
    let key = Key { parts, group_parts, has_bar: !template.bars.is_empty(), span: template.span };
    check_path(&key, problems);
    check_empty(&key, problems);
    Some(key)
}

fn check_parts(parts: &[Part], separator: char, problems: &mut Vec<Diagnostic>) {
    if let Some(Part::Segment(first)) = parts.first() {
        let message = "a key begins with a literal that says what it holds";
        let word = first.name.strip_suffix("_id").unwrap_or(&first.name);
        let front = Span::new(first.span.start, first.span.start);
        problems.push(Diagnostic::new(&codes::STARTS_WITH_SEGMENT, first.span, message).replace(
            "put a word in front",
            front,
            format!("{word}{separator}"),
        ));
    }
    let segments: Vec<&Segment> = parts.iter().filter_map(Part::segment).collect();
    for (number, segment) in segments.iter().enumerate() {
        let earlier = segments.iter().take(number).find(|other| other.name == segment.name);
        if let Some(earlier) = earlier {
            let message = format!("`{}` occurs twice in this key", segment.name);
            problems.push(
                Diagnostic::new(&codes::SEGMENT_TWICE, segment.span, message)
                    .also(earlier.span, "first here")
                    .fix("give the second another name, or leave it out"),
            );
        }
    }
}

/// How many parts the group has.
fn bar(
    parts: &[Part],
    template: &Template,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<usize> {
    let segments = parts.iter().filter_map(Part::segment).count();
    match template.bars.as_slice() {
        [] if segments <= 1 => Some(parts.len()),
        [] => {
            problems.push(missing_bar(parts, template, separator));
            // The natural place stands in, so that the rest of the file can be checked.
            parts.iter().rposition(|part| part.segment().is_some())
        }
        [(0, span), ..] => {
            let message = "nothing stands before this bar, so that there is no group";
            problems.push(
                Diagnostic::new(&codes::BAD_BAR, *span, message)
                    .fix("put what lives together before it: `user:{user_id: text} | …`"),
            );
            None
        }
        [(count, _)] => Some(*count),
        [(count, first), (_, second), ..] => {
            problems.push(
                Diagnostic::new(&codes::BAD_BAR, *second, "a key has one bar")
                    .also(*first, "the group ends here")
                    .fix("keep the bar that ends what lives together"),
            );
            Some(*count)
        }
    }
}

fn missing_bar(parts: &[Part], template: &Template, separator: char) -> Diagnostic {
    let last = parts.iter().rposition(|part| part.segment().is_some()).unwrap_or(0);
    let place = |number: usize| match template.parts.get(number) {
        Some(TemplatePart::Literal(text)) => text.span,
        Some(TemplatePart::Segment(segment)) => segment.span,
        None => template.span,
    };
    let gap = Span::new(place(last.saturating_sub(1)).end, place(last).start);
    let group = Key::template_of(parts.get(..last).unwrap_or_default(), separator);
    let end = Span::new(template.span.end, template.span.end);
    let message = "this key has several segments and no bar";
    Diagnostic::new(&codes::MISSING_BAR, template.span, message)
        .label("where does the group end?")
        .replace(format!("all rows of one `{group}` live together"), gap, " | ")
        .replace("or every row is a group of its own", end, " |")
}

/// Before the bar no text is empty: the group would have the name of another.
fn check_empty(key: &Key, problems: &mut Vec<Diagnostic>) {
    let is_empty = |text: &DefaultValue| *text == DefaultValue::Text(String::new());
    for segment in key.group_segments().filter(|s| s.default.as_ref().is_some_and(is_empty)) {
        let message = format!("`{}` is empty by default, and stands before the bar", segment.name);
        problems.push(
            Diagnostic::new(&codes::BAD_DEFAULT, segment.span, message)
                .effect("the group could not be told from the one above it")
                .fix("give it a word, such as `'none'`, or move it behind the bar"),
        );
    }
}

fn check_path(key: &Key, problems: &mut Vec<Diagnostic>) {
    let last = key.parts.len().saturating_sub(1);
    for (number, part) in key.parts.iter().enumerate() {
        let Some(segment) = part.segment().filter(|s| s.segment_type == Type::Path) else {
            continue;
        };
        let misplaced = number != last || number < key.group_parts;
        if misplaced && !segment.appended {
            let message = "a path is the last segment of a key, after the bar";
            problems.push(
                Diagnostic::new(&codes::BAD_PATH, segment.span, message)
                    .fix("write it last: `chunk:{doc_id: text} | {path: text..}`"),
            );
        }
    }
}

fn own_segment(written: &TemplateSegment, problems: &mut Vec<Diagnostic>) -> Option<Segment> {
    let name = written.name.as_ref()?;
    let declared = written.segment_type.as_ref()?;
    check_name(name, NameOf::Segment, problems);
    if !declared.value.fits_a_key() {
        problems.push(not_a_key_type(&name.value, declared));
    }
    if let Some(default) = &written.default {
        check_default(default, &declared.value, &name.value, true, problems);
    }
    Some(Segment {
        name: name.value.clone(),
        segment_type: declared.value.required().clone(),
        descending: written.descending,
        default: written.default.as_ref().map(|default| default.value.clone()),
        source: None,
        appended: false,
        span: written.span,
    })
}

fn not_a_key_type(name: &str, declared: &Spanned<Type>) -> Diagnostic {
    let message = format!("`{}` cannot stand in a key", declared.value);
    let problem = Diagnostic::new(&codes::NOT_A_KEY_TYPE, declared.span, message);
    match &declared.value {
        Type::Optional(inner) => problem
            .replace("a key is whole: leave out the `?`", declared.span, inner.to_string())
            .fix(format!(
                "make `{name}` a field, and an index on it: rows without it have no entry"
            )),
        Type::List(inner) => problem.fix(format!(
            "make `{name}` a field of type `[{inner}]`, and an index on `each({name})`"
        )),
        _ => problem.fix(format!("make `{name}` a field")),
    }
}

/// Whether the id of a caller can be of this type.
pub fn is_caller_type(found: &Type) -> bool {
    matches!(found, Type::Text | Type::Uuid | Type::TimeUuid | Type::Ulid | Type::I64 | Type::U64)
}

/// Reports a default that does not fit its type or its place.
pub fn check_default(
    default: &Spanned<DefaultValue>,
    declared: &Type,
    name: &str,
    in_key: bool,
    problems: &mut Vec<Diagnostic>,
) {
    let wanted = declared.required();
    let fits = match &default.value {
        DefaultValue::Number(text) => number_fits(text, wanted),
        DefaultValue::Text(text) => match wanted {
            Type::Text | Type::Json => true,
            Type::Enum(words) => words.contains(text),
            _ => false,
        },
        DefaultValue::Bool(_) => matches!(wanted, Type::Bool | Type::Json),
        DefaultValue::EmptyList => !in_key && matches!(wanted, Type::List(_) | Type::Json),
        DefaultValue::EmptyObject => !in_key && *wanted == Type::Json,
        DefaultValue::New(None) => {
            matches!(wanted, Type::Uuid | Type::TimeUuid | Type::Ulid | Type::Text)
        }
        DefaultValue::New(Some(_)) => *wanted == Type::Text,
        DefaultValue::Now => matches!(wanted, Type::Timestamp | Type::Date),
        DefaultValue::Touch => !in_key && *wanted == Type::Timestamp,
        DefaultValue::Caller => !in_key && is_caller_type(wanted),
    };
    if fits {
        return;
    }
    let value = &default.value;
    let message = match value {
        DefaultValue::Caller | DefaultValue::Touch if in_key => {
            format!("`{value}` cannot fill a key segment")
        }
        _ => format!("`{value}` does not fit `{name}`, which is `{declared}`"),
    };
    let problem = Diagnostic::new(&codes::BAD_DEFAULT, default.span, message);
    problems.push(match (value, wanted) {
        (DefaultValue::Text(_), Type::Enum(words)) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            let words = || quoted.iter().map(String::as_str);
            problem
                .suggest(default.span, &value.to_string(), words())
                .fix(format!("write one of {}", listed(words())))
        }
        (DefaultValue::Caller, _) if in_key => problem
            .fix(format!("declare `owner = \"{name}\"`: the caller then fills the segment"))
            .fix(format!("or bind it in a pattern: `bind = {{ {name} = \"caller\" }}`")),
        (DefaultValue::Touch, _) if in_key => {
            problem.fix("a key never changes: use `now`, or make it a field")
        }
        (DefaultValue::New(_), _) => {
            problem.fix("ids that are made are `uuid`, `timeuuid`, `ulid` or `text`")
        }
        _ => problem.fix(format!("give a default of type `{wanted}`, or none")),
    });
}

fn number_fits(text: &str, wanted: &Type) -> bool {
    match wanted {
        Type::I64 => text.parse::<i64>().is_ok(),
        Type::U64 => text.parse::<u64>().is_ok(),
        Type::F64 | Type::Json => text.parse::<f64>().is_ok_and(f64::is_finite),
        Type::Duration => text.parse::<u64>().is_ok(),
        _ => false,
    }
}

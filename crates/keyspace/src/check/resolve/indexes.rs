//! Index templates to keys: what their segments are computed from, and the primary segments that
//! tell two records apart.

use super::keys::finish_key;
use super::names::{NameOf, check_name};
use crate::check::scope::Scope;
use crate::check::typing::{Typed, Typer};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Expression, ExpressionKind, Function, Key, Part, Segment, Type};
use crate::parse::{IndexTree, TemplatePart, TemplateSegment};
use crate::source::Spanned;

/// The key of an index; none if a segment of it could not be understood.
pub fn index_key(
    index: &IndexTree,
    primary: &Key,
    scope: &Scope,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Key> {
    let template = index.key.as_ref()?;
    let mut parts = Vec::new();
    for part in &template.parts {
        parts.push(match part {
            TemplatePart::Literal(text) => Part::Literal(text.value.clone()),
            TemplatePart::Segment(written) => {
                Part::Segment(computed_segment(written, scope, problems)?)
            }
        });
    }
    check_each(&parts, problems);
    let mut key = finish_key(parts, template, separator, problems)?;
    let unique = index.unique.as_ref().is_some_and(|unique| unique.value);
    if !unique {
        append_primary(&mut key, primary, problems);
        check_appended_path(&key, problems);
    }
    Some(key)
}

fn computed_segment(
    written: &TemplateSegment,
    scope: &Scope,
    problems: &mut Vec<Diagnostic>,
) -> Option<Segment> {
    let source = written.source.as_ref()?;
    let typed = Typer { scope, problems }.type_of(source);
    let constant = source.members().is_empty();
    let segment_type = match typed {
        Typed::Unknown => return None,
        Typed::Known(known) if !constant => known.required().clone(),
        _ => {
            problems.push(
                Diagnostic::new(&codes::SEGMENT_TYPE, source.span, "this is the same in every row")
                    .fix("write it as a literal, outside braces"),
            );
            return None;
        }
    };
    if let Type::List(inner) = &segment_type {
        let message = format!("`{source}` is a list, and a key holds one value");
        problems.push(Diagnostic::new(&codes::NOT_A_KEY_TYPE, source.span, message).replace(
            format!("make one entry for each `{inner}`"),
            source.span,
            format!("each({source})"),
        ));
        return None;
    }
    if !segment_type.fits_a_key() {
        let message = format!("`{segment_type}` cannot stand in a key");
        problems.push(
            Diagnostic::new(&codes::NOT_A_KEY_TYPE, source.span, message)
                .fix(format!("index a field of a simple type, or `hash({source})`")),
        );
        return None;
    }
    let name = segment_name(written, source);
    if let Some(given) = &written.name {
        check_name(given, NameOf::Segment, problems);
    }
    Some(Segment {
        name,
        segment_type,
        descending: written.descending,
        default: None,
        source: Some(source.clone()),
        appended: false,
        span: written.span,
    })
}

/// The name given, or the first field it is computed from.
fn segment_name(written: &TemplateSegment, source: &Expression) -> String {
    match &written.name {
        Some(Spanned { value, .. }) => value.clone(),
        None => source.members().first().map_or_else(|| "value".to_string(), |n| n.to_string()),
    }
}

/// At most one `each`.
fn check_each(parts: &[Part], problems: &mut Vec<Diagnostic>) {
    let mut plural: Vec<&Expression> = Vec::new();
    for source in parts.iter().filter_map(Part::segment).filter_map(|s| s.source.as_ref()) {
        source.walk(&mut |inner| {
            plural.extend((inner.function() == Some(Function::Each)).then_some(inner));
        });
    }
    if let [first, second, ..] = plural.as_slice() {
        let message = "an index has at most one `each`";
        problems.push(
            Diagnostic::new(&codes::EACH_MISUSED, second.span, message)
                .also(first.span, "the first one")
                .effect("one record would have as many entries as the two lists multiplied")
                .fix("make two indexes"),
        );
    }
}

/// A path the index names must still be last when the primary segments stand behind it.
fn check_appended_path(key: &Key, problems: &mut Vec<Diagnostic>) {
    let mut behind = key.segments().skip_while(|segment| segment.segment_type != Type::Path);
    let (Some(path), Some(next)) = (behind.next(), behind.next()) else { return };
    if next.appended && !path.appended {
        let message = format!("`{}` would stand behind this path", next.name);
        problems.push(
            Diagnostic::new(&codes::BAD_PATH, path.span, message)
                .fix(format!("write `{{{}}}` before the path", next.name))
                .fix("or leave the path out: it is appended where the key lacks it"),
        );
    }
}

/// Appends the primary segments the index lacks, so that two records never share an entry.
fn append_primary(key: &mut Key, primary: &Key, problems: &mut Vec<Diagnostic>) {
    for segment in primary.segments() {
        let there = key.segments().any(|own| {
            matches!(&own.source, Some(Expression { kind: ExpressionKind::Member(name), .. })
                if *name == segment.name)
        });
        if there {
            continue;
        }
        if let Some(taken) = key.segment(&segment.name) {
            let message = format!("`{}` is also a segment of the collection's key", taken.name);
            problems.push(
                Diagnostic::new(&codes::SEGMENT_TWICE, taken.span, message)
                    .also(segment.span, "which the entry holds too")
                    .fix("give the computed segment another name"),
            );
            continue;
        }
        let source =
            Expression { kind: ExpressionKind::Member(segment.name.clone()), span: key.span };
        key.parts.push(Part::Segment(Segment {
            source: Some(source),
            default: None,
            appended: true,
            span: key.span,
            ..segment.clone()
        }));
    }
}

//! Reads templates: `user:{user_id: uuid}:notes | {note_id: text = new('note')}`.
//!
//! A template is cut at the separator and at the bar, outside braces; what is inside braces is a
//! segment. A collection's own key declares types; an index key names what it is computed from.

use super::cursor::{Cursor, is_word};
use super::expression::read_segment_source;
use super::strings::SourceString;
use super::types::{read_default, read_type};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{DefaultValue, Expression, ExpressionKind, FileName, FilePart, Type};
use crate::source::{Span, Spanned};

/// A template as written.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its parts, in order.
    pub parts: Vec<TemplatePart>,
    /// For every bar: how many parts stand before it, and where it is.
    pub bars: Vec<(usize, Span)>,
    /// The text between the quotes.
    pub span: Span,
}

/// A part of a template.
#[derive(Clone, Debug)]
pub enum TemplatePart {
    /// Fixed text.
    Literal(Spanned<String>),
    /// What stands in braces.
    Segment(TemplateSegment),
}

/// A segment as written.
#[derive(Clone, Debug)]
pub struct TemplateSegment {
    /// Its name, if one is given.
    pub name: Option<Spanned<String>>,
    /// Its type, in a collection's own key.
    pub segment_type: Option<Spanned<Type>>,
    /// What it is computed from, in an index key.
    pub source: Option<Expression>,
    /// Whether larger values stand first.
    pub descending: bool,
    /// What fills it.
    pub default: Option<Spanned<DefaultValue>>,
    /// The braces and what is in them.
    pub span: Span,
}

/// Whose key a template is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// A collection's own: segments declare their types.
    Own,
    /// An index's: segments name fields.
    Index,
}

/// Reads a template; none if nothing of it could be made out.
pub fn read_template(
    source: &SourceString,
    kind: TemplateKind,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Template> {
    let mut cursor = Cursor::new(source);
    let span = source.content();
    let mut template = Template { parts: Vec::new(), bars: Vec::new(), span };
    let before = problems.len();
    loop {
        cursor.skip_spaces();
        if cursor.peek() == Some('|') || cursor.is_at_end() {
            // A bar with nothing before it is the checker's to report.
            if cursor.is_at_end() && template.parts.is_empty() && template.bars.is_empty() {
                let problem = Diagnostic::new(&codes::BAD_TEMPLATE, span, "this key is empty");
                problems.push(problem.fix(FORM));
            }
        } else {
            read_part(&mut cursor, kind, separator, &mut template, problems)?;
        }
        cursor.skip_spaces();
        let here = cursor.span_here();
        match cursor.next() {
            None => break,
            Some('|') => {
                template.bars.push((template.parts.len(), here));
                cursor.skip_spaces();
                if cursor.is_at_end() {
                    break;
                }
            }
            Some(next) if next == separator => {
                cursor.skip_spaces();
                if cursor.is_at_end() || cursor.peek() == Some('|') {
                    problems.push(empty_part(here, separator));
                }
            }
            Some(next) => {
                problems.push(touching(&template, next, here, separator));
                return None;
            }
        }
    }
    (problems.len() == before || !template.parts.is_empty()).then_some(template)
}

const FORM: &str = "write a literal such as `notes`, or a segment such as `{note_id: text}`";

fn empty_part(span: Span, separator: char) -> Diagnostic {
    let message = format!("a part is missing here: parts are joined by one `{separator}`");
    Diagnostic::new(&codes::BAD_TEMPLATE, span, message).fix(FORM)
}

/// Something that stands directly beside a part, with no separator between.
fn touching(template: &Template, next: char, here: Span, separator: char) -> Diagnostic {
    let message = match next {
        '{' => "a segment touches the part before it",
        ':' | '/' => {
            let problem = Diagnostic::new(
                &codes::BAD_TEMPLATE,
                here,
                format!("the separator of this keyspace is `{separator}`, not `{next}`"),
            );
            return problem
                .replace(format!("join parts with `{separator}`"), here, separator.to_string())
                .fix(format!("or set `separator = \"{next}\"` in [keyspace]"));
        }
        _ if is_literal(next) => "a literal touches the segment before it",
        _ => {
            let message = format!("`{next}` cannot stand in a template");
            return Diagnostic::new(&codes::BAD_TEMPLATE, here, message)
                .fix("literals are letters, digits, `_`, `.` and `-`");
        }
    };
    let problem = Diagnostic::new(&codes::LITERAL_TOUCHES, here, message);
    let between = "put a separator between them";
    match template.parts.last() {
        Some(TemplatePart::Literal(literal)) => {
            let word = literal.value.trim_end_matches(['_', '-', '.']);
            let cut = Span::new(literal.span.start + word.len(), here.start);
            let cut = if word.is_empty() { Span::new(here.start, here.start) } else { cut };
            problem
                .replace(between, cut, separator.to_string())
                .fix(format!("or let the id carry it: `{{id: text = new('{word}')}}`"))
        }
        _ => problem.replace(between, Span::new(here.start, here.start), separator.to_string()),
    }
}

/// Reads a literal or a segment.
fn read_part(
    cursor: &mut Cursor<'_>,
    kind: TemplateKind,
    separator: char,
    template: &mut Template,
    problems: &mut Vec<Diagnostic>,
) -> Option<()> {
    let start = cursor.position();
    if cursor.peek() == Some('{') {
        let before = problems.len();
        let segment = read_segment(cursor, kind, problems);
        match segment {
            Some(segment) => template.parts.push(TemplatePart::Segment(segment)),
            None => {
                if problems.len() == before {
                    problems.push(unclosed(cursor.span_from(start)));
                }
                return None;
            }
        }
        return Some(());
    }
    let text = cursor.take_while(is_literal);
    if text.is_empty() {
        let next = cursor.peek().unwrap_or(' ');
        let span = cursor.span_here();
        problems.push(if next == separator {
            empty_part(span, separator)
        } else {
            let message = format!("`{next}` cannot stand in a template");
            Diagnostic::new(&codes::BAD_TEMPLATE, span, message)
                .fix("literals are letters, digits, `_`, `.` and `-`; segments stand in braces")
        });
        return None;
    }
    let literal = Spanned::new(text.to_string(), cursor.span_from(start));
    template.parts.push(TemplatePart::Literal(literal));
    Some(())
}

fn unclosed(span: Span) -> Diagnostic {
    Diagnostic::new(&codes::BAD_TEMPLATE, span, "this segment has no closing brace")
        .fix("write a segment as `{name: type}`")
}

fn is_literal(character: char) -> bool {
    is_word(character) || character == '-' || character == '.'
}

fn read_segment(
    cursor: &mut Cursor<'_>,
    kind: TemplateKind,
    problems: &mut Vec<Diagnostic>,
) -> Option<TemplateSegment> {
    let start = cursor.position();
    cursor.next();
    cursor.skip_spaces();
    let mut segment = TemplateSegment {
        name: None,
        segment_type: None,
        source: None,
        descending: false,
        default: None,
        span: Span::default(),
    };
    match kind {
        TemplateKind::Own => read_own(cursor, &mut segment, problems)?,
        TemplateKind::Index => read_computed(cursor, &mut segment, problems)?,
    }
    cursor.skip_spaces();
    if cursor.take_word("desc") {
        segment.descending = true;
    } else {
        cursor.take_word("asc");
    }
    cursor.skip_spaces();
    if kind == TemplateKind::Own && cursor.take("=") {
        segment.default = Some(read_default(cursor, problems)?);
        cursor.skip_spaces();
    }
    if !cursor.take("}") {
        let here = cursor.span_word();
        let message = match cursor.next_word() {
            "" => "this segment has no closing brace".to_string(),
            word => format!("`{word}` is not expected here"),
        };
        let form = match kind {
            TemplateKind::Own => "`{name: type desc = default}`, the last two if needed",
            TemplateKind::Index => "`{field}`, `{lower(field)}` or `{name = lower(field) desc}`",
        };
        problems.push(
            Diagnostic::new(&codes::BAD_TEMPLATE, here, message)
                .suggest(here, cursor.next_word(), ["desc"])
                .fix(format!("the form of a segment is {form}")),
        );
        return None;
    }
    segment.span = cursor.span_from(start);
    Some(segment)
}

/// `name: type`.
fn read_own(
    cursor: &mut Cursor<'_>,
    segment: &mut TemplateSegment,
    problems: &mut Vec<Diagnostic>,
) -> Option<()> {
    let start = cursor.position();
    let name = cursor.take_while(is_word);
    let span = cursor.span_from(start);
    if name.is_empty() {
        problems.push(
            Diagnostic::new(&codes::BAD_TEMPLATE, cursor.span_here(), "a segment needs a name")
                .fix("write a segment as `{note_id: text}`"),
        );
        return None;
    }
    segment.name = Some(Spanned::new(name.to_string(), span));
    cursor.skip_spaces();
    if cursor.take(":") {
        segment.segment_type = Some(read_type(cursor, problems)?);
        return Some(());
    }
    if cursor.peek() == Some('(') {
        let message = "a collection's own key is not computed";
        problems.push(
            Diagnostic::new(&codes::SEGMENT_TYPE, span, message)
                .fix("make it an index: `index.by_name = { key = \"…\" }`"),
        );
        return None;
    }
    let message = format!("segment `{name}` has no type");
    problems.push(
        Diagnostic::new(&codes::SEGMENT_TYPE, span, message)
            .replace("give it one, for example", span, format!("{name}: text"))
            .fix(
                "types are text, uuid, timeuuid, ulid, i64, u64, f64, bool, bytes, timestamp, date \
                 and enums",
            ),
    );
    cursor.take_while(|character| character != '}');
    Some(())
}

/// `field`, `lower(field)` or `name = lower(field)`.
fn read_computed(
    cursor: &mut Cursor<'_>,
    segment: &mut TemplateSegment,
    problems: &mut Vec<Diagnostic>,
) -> Option<()> {
    let start = cursor.position();
    let name = cursor.take_while(is_word);
    let span = cursor.span_from(start);
    cursor.skip_spaces();
    if !name.is_empty() && cursor.take("=") {
        segment.name = Some(Spanned::new(name.to_string(), span));
        cursor.skip_spaces();
    } else if !name.is_empty() && cursor.take(":") {
        let message = "an index segment takes its type from the collection";
        cursor.take_while(|character| character != '}');
        let whole = cursor.span_from(start);
        problems.push(Diagnostic::new(&codes::SEGMENT_TYPE, whole, message).replace(
            "name the field alone",
            whole,
            name,
        ));
        let kind = ExpressionKind::Member(name.to_string());
        segment.source = Some(Expression { kind, span: whole });
        return Some(());
    } else {
        cursor.move_to(start);
    }
    if cursor.peek().is_none_or(|next| !next.is_ascii_alphabetic() && next != '_') {
        problems.push(
            Diagnostic::new(&codes::BAD_TEMPLATE, cursor.span_here(), "a field's name is missing")
                .fix("write `{email}` or `{lower(email)}`"),
        );
        return None;
    }
    segment.source = Some(read_segment_source(cursor, problems)?);
    Some(())
}

/// Reads a file's name: `{said}.{event_type}.cesr`, in which literals may touch segments.
pub fn read_file_name(source: &SourceString, problems: &mut Vec<Diagnostic>) -> Option<FileName> {
    let mut cursor = Cursor::new(source);
    let mut parts = Vec::new();
    let fail = |span: Span, message: &str| {
        Diagnostic::new(&codes::BAD_FILE_NAME, span, message)
            .fix("for example: `{said}.json`, or `meta/{said}.json`")
    };
    while let Some(next) = cursor.peek() {
        let start = cursor.position();
        if next == '{' {
            cursor.next();
            let name = cursor.take_while(is_word).to_string();
            if name.is_empty() || !cursor.take("}") {
                problems.push(fail(cursor.span_from(start), "a name in braces is not complete"));
                return None;
            }
            parts.push(FilePart::Member(name));
            continue;
        }
        let text = cursor.take_while(|character| is_literal(character) || character == '/');
        if text.is_empty() {
            let message = format!("`{next}` cannot stand in a file's name");
            problems.push(fail(cursor.span_here(), &message));
            return None;
        }
        parts.push(FilePart::Literal(text.to_string()));
    }
    let span = source.content();
    let text = source.text.as_str();
    let escapes = text.starts_with('/') || text.ends_with('/') || text.contains("//");
    let dots = text.split('/').any(|name| name.starts_with('.') || name.ends_with('.'));
    if parts.is_empty() || escapes || dots {
        problems.push(fail(span, "a file's name stays below its directory, without leading dots"));
        return None;
    }
    Some(FileName { parts, span })
}

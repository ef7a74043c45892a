//! Draws problems under the lines they concern, in colour or plain.
//!
//! Returns text; whoever calls decides where it goes and whether it can show colours.

use super::{Diagnostic, Fix, Severity};
use crate::source::Span;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

/// How problems are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// With terminal colours.
    pub colour: bool,
    /// Columns that may be used.
    pub width: usize,
}

impl Style {
    /// Without colours, for files and pipes.
    pub const PLAIN: Style = Style { colour: false, width: 120 };
}

/// One problem, drawn. `path` is what the file is called in the drawing.
pub fn render(diagnostic: &Diagnostic, path: &str, text: &str, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let code = diagnostic.code.to_string();
    let main = diagnostic.labels.iter().enumerate().fold(
        Snippet::source(text).path(path),
        |snippet, (number, label)| {
            let kind = if number == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let range = visible(text, label.span);
            let words = Some(label.text.as_str()).filter(|words| !words.is_empty());
            snippet.annotation(kind.span(range).label(words.map(str::to_owned)))
        },
    );
    let mut problem = level.primary_title(diagnostic.message.clone()).id(code).element(main);
    for effect in diagnostic.effects_or_usual() {
        let line = format!("{}: {}", effect.place(), effect.text);
        problem = problem.element(Level::NOTE.with_name("on").message(line));
    }
    let mut report = vec![problem];
    let several = diagnostic.fixes.len() > 1;
    for (number, fix) in diagnostic.fixes.iter().enumerate() {
        report.push(fix_group(fix, several.then_some(number + 1), path, text));
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width).decor_style(DecorStyle::Ascii).render(&report)
}

/// A fix: a patch of the file, lines to paste, or words.
fn fix_group<'a>(fix: &'a Fix, number: Option<usize>, path: &'a str, text: &'a str) -> Group<'a> {
    let name = number.map_or_else(|| "fix".to_string(), |number| format!("fix {number}"));
    let level = Level::HELP.with_name(name);
    let words = match &fix.paste {
        Some(lines) => {
            let lines: String = lines.lines().map(|line| format!("\n    {line}")).collect();
            format!("{}:{lines}", fix.text)
        }
        None => fix.text.clone(),
    };
    let group = Group::with_title(level.secondary_title(words));
    match &fix.edit {
        Some(edit) => {
            let patch = Patch::new(inside(text, edit.span), edit.replacement.as_str());
            group.element(Snippet::source(text).path(path).patch(patch))
        }
        None => group,
    }
}

/// The span cut to the text and to whole characters.
fn inside(text: &str, span: Span) -> std::ops::Range<usize> {
    let floor = |mut offset: usize| {
        offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

/// The span as it is underlined: one character at least, where there is one.
fn visible(text: &str, span: Span) -> std::ops::Range<usize> {
    let range = inside(text, span);
    if !range.is_empty() {
        return range;
    }
    let next = text.get(range.start..).and_then(|rest| rest.chars().next());
    match next {
        Some(character) if character != '\n' => range.start..range.start + character.len_utf8(),
        _ => range,
    }
}

//! Draws problems under the lines they concern, in colour or plain.
//!
//! Returns text; whoever calls decides where it goes and whether it can show colours.

use super::{Diagnostic, Fix, Label, Severity};
use crate::source::Span;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use std::ops::Range;

/// Labels farther apart than this are drawn one by one.
const NEAR_BYTES: usize = 32 << 10;

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
    let title = level.primary_title(diagnostic.message.clone()).id(code);
    let mut problem = Group::with_title(title);
    let main = diagnostic.span();
    let is_near = |label: &Label| label.span.start.abs_diff(main.start) <= NEAR_BYTES;
    let (near, far): (Vec<_>, Vec<_>) = diagnostic.labels.iter().partition(|label| is_near(label));
    for labels in std::iter::once(near).chain(far.into_iter().map(|label| vec![label])) {
        let excerpt = Excerpt::of(text, labels.iter().map(|label| visible(text, label.span)));
        let snippet = labels.iter().fold(excerpt.snippet(path), |snippet, label| {
            let is_main = std::ptr::eq(*label, diagnostic.labels.first().unwrap_or(label));
            let kind = if is_main { AnnotationKind::Primary } else { AnnotationKind::Context };
            let range = excerpt.inside(visible(text, label.span));
            let words = Some(label.text.as_str()).filter(|words| !words.is_empty());
            snippet.annotation(kind.span(range).label(words.map(str::to_owned)))
        });
        problem = problem.element(snippet);
    }
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
            let range = inside(text, edit.span);
            let excerpt = Excerpt::of(text, std::iter::once(range.clone()));
            let patch = Patch::new(excerpt.inside(range), edit.replacement.as_str());
            group.element(excerpt.snippet(path).patch(patch))
        }
        None => group,
    }
}

/// The lines of a file that are drawn: a large file has thousands, and drawing goes through all
/// it is given.
struct Excerpt<'a> {
    lines: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Excerpt<'a> {
    fn of(text: &'a str, ranges: impl Iterator<Item = Range<usize>> + Clone) -> Self {
        let start = ranges.clone().map(|range| range.start).min().unwrap_or_default();
        let end = ranges.map(|range| range.end).max().unwrap_or_default();
        let start = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
        let rest = text.get(end..).unwrap_or_default();
        let end = end + rest.find('\n').map_or(rest.len(), |at| at + 1);
        let before = text.as_bytes().get(..start).unwrap_or_default();
        let first_line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Excerpt { lines: text.get(start..end).unwrap_or(text), start, first_line }
    }

    fn inside(&self, range: Range<usize>) -> Range<usize> {
        range.start.saturating_sub(self.start)..range.end.saturating_sub(self.start)
    }

    fn snippet<T: Clone>(&self, path: &'a str) -> Snippet<'a, T> {
        Snippet::source(self.lines).line_start(self.first_line).path(path)
    }
}

/// The span cut to the text and to whole characters.
fn inside(text: &str, span: Span) -> Range<usize> {
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
fn visible(text: &str, span: Span) -> Range<usize> {
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

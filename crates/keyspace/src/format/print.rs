//! Lines to text: how lines stand to each other.
//!
//! Tables stand one blank line apart and comments stay with what follows them; the `=` of
//! neighbouring lines stand under each other; a comment at the end of a line keeps its column where
//! it can.

use super::lines::{Comment, Content, Line};

/// A key this much longer than the shortest of its neighbours stands out of their column.
const SPREAD: usize = 16;

/// The text of the lines.
pub(super) fn print(lines: Vec<Line>) -> String {
    let lines = with_blank_lines(lines);
    let columns = equals_columns(&lines);
    let mut out = String::new();
    // Where the comment of the last line stood, and where it stands now: a comment below it at the
    // same column goes on with it.
    let mut beside: Option<(usize, usize)> = None;
    for (line, column) in lines.iter().zip(columns) {
        let start = out.len();
        match &line.content {
            Content::Blank | Content::Comment => {}
            Content::Header(header) => out.push_str(header),
            Content::Entry { key, value } => {
                out.push_str(key);
                pad_to(&mut out, width(key), column);
                out.push_str("= ");
                out.push_str(value);
            }
        }
        let alone = matches!(line.content, Content::Comment);
        let written = out.get(start..).and_then(|text| text.rsplit('\n').next()).map_or(0, width);
        beside = line
            .comment
            .as_ref()
            .and_then(|comment| push_comment(&mut out, comment, alone, written, beside));
        out.push('\n');
    }
    out
}

/// Writes a comment and says where it stood and stands, if it stands beside something.
fn push_comment(
    out: &mut String,
    comment: &Comment,
    alone: bool,
    written: usize,
    beside: Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    let now = match beside.filter(|(was, _)| *was == comment.column) {
        Some((_, now)) if alone => Some(now),
        _ if alone => None,
        _ => Some(comment.column.max(written + 1)),
    };
    out.push_str(&" ".repeat(now.map_or(0, |now| now - written)));
    out.push_str(&comment.text);
    now.map(|now| (comment.column, now))
}

/// Fills up to a column, with one space at least.
pub(super) fn pad_to(out: &mut String, written: usize, column: usize) {
    out.push_str(&" ".repeat(column.saturating_sub(written).max(1)));
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// One blank line before each table and the comment that leads it; nowhere two, none at the ends.
fn with_blank_lines(lines: Vec<Line>) -> Vec<Line> {
    let mut spaced: Vec<Line> = Vec::with_capacity(lines.len());
    let mut pending = false;
    for line in lines {
        match line.content {
            Content::Blank => {
                pending = true;
                continue;
            }
            Content::Entry { .. } if is_header(spaced.last()) => pending = false,
            _ => {}
        }
        if pending && !spaced.is_empty() {
            spaced.push(blank());
        }
        pending = false;
        if is_header(Some(&line)) {
            let leading = spaced.iter().rev().take_while(|line| is_whole_comment(line)).count();
            let place = spaced.len() - leading;
            if place > 0 && !spaced.get(place - 1).is_some_and(is_blank) {
                spaced.insert(place, blank());
            }
        }
        spaced.push(line);
    }
    spaced
}

fn blank() -> Line {
    Line { content: Content::Blank, comment: None }
}

fn is_blank(line: &Line) -> bool {
    matches!(line.content, Content::Blank)
}

fn is_header(line: Option<&Line>) -> bool {
    line.is_some_and(|line| matches!(line.content, Content::Header(_)))
}

fn is_whole_comment(line: &Line) -> bool {
    matches!(line.content, Content::Comment)
}

/// For each line, the column of its `=`. A run is neighbouring lines whose keys are equally deep;
/// blank lines and headers end it, comments do not.
fn equals_columns(lines: &[Line]) -> Vec<usize> {
    let mut columns = vec![0; lines.len()];
    let mut run: Vec<(usize, usize)> = Vec::new();
    let mut run_depth = 0;
    for (place, line) in lines.iter().enumerate() {
        let depth = match &line.content {
            Content::Comment => continue,
            Content::Entry { key, .. } => 1 + key.matches('.').count(),
            Content::Blank | Content::Header(_) => 0,
        };
        if depth != run_depth {
            align(&run, &mut columns);
            run.clear();
            run_depth = depth;
        }
        if let Content::Entry { key, .. } = &line.content {
            run.push((place, width(key)));
        }
    }
    align(&run, &mut columns);
    columns
}

/// Aligns a run of (line, width of key). Keys far longer than the shortest are aligned among
/// themselves.
fn align(run: &[(usize, usize)], columns: &mut [usize]) {
    let Some(shortest) = run.iter().map(|(_, width)| *width).min() else { return };
    let is_short = |&&(_, width): &&(usize, usize)| width <= shortest + SPREAD;
    let column = run.iter().filter(is_short).map(|(_, width)| width + 1).max().unwrap_or(0);
    for (place, _) in run.iter().filter(is_short) {
        if let Some(slot) = columns.get_mut(*place) {
            *slot = column;
        }
    }
    for long in run.split(|entry| is_short(&entry)) {
        align(long, columns);
    }
}

//! Rows as people read them: a table as wide as the terminal, or a list of names and values.
//!
//! What is stored may hold anything: control characters are shown, never sent to a terminal. On a
//! pipe or in a file nothing is cut.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The space between two columns.
const GAP: usize = 2;

/// The narrowest that a column is cut to.
const COLUMN_MIN: usize = 8;

/// Rows under the names of their columns.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The names.
    pub(crate) columns: Vec<String>,
    /// The rows, a text for each column.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table as lines, at most so wide. Where that leaves too little for the columns, each row
    /// is a list of its own.
    pub(crate) fn text(&self, width: Option<usize>) -> String {
        let mut widths: Vec<usize> = self.columns.iter().map(|name| name.width()).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(cell.width());
            }
        }
        if let Some(width) = width
            && !fit(&mut widths, width)
        {
            return self.lists(width);
        }
        let mut text = line(&self.columns, &widths);
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        text.push_str(&line(&rules, &widths));
        for row in &self.rows {
            text.push_str(&line(row, &widths));
        }
        text
    }

    fn lists(&self, width: usize) -> String {
        let lists = self.rows.iter().map(|row| {
            let pairs = self.columns.iter().map(String::as_str).zip(row.iter().cloned());
            list(&pairs.collect::<Vec<_>>(), Some(width))
        });
        lists.collect::<Vec<_>>().join("\n")
    }
}

/// Names and values, one a line.
pub(crate) fn list(pairs: &[(&str, String)], width: Option<usize>) -> String {
    let names = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, value) in pairs {
        let room = width.map(|width| width.saturating_sub(names + GAP).max(COLUMN_MIN));
        let value = room.map_or_else(|| value.clone(), |room| cut(value, room));
        text.push_str(line(&[(*name).to_string(), value], &[names, 0]).trim_end());
        text.push('\n');
    }
    text
}

/// Narrows the widest columns until all fit; false if they cannot.
fn fit(widths: &mut [usize], width: usize) -> bool {
    let room = width.saturating_sub(GAP * widths.len().saturating_sub(1));
    let least: usize = widths.iter().map(|width| (*width).min(COLUMN_MIN)).sum();
    if least > room {
        return false;
    }
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        *widest -= 1;
    }
    true
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = if *width == 0 { cell.clone() } else { cut(cell, *width) };
        let rest = width.saturating_sub(cell.width()) + GAP;
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', rest));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A text at most so wide; what is cut off is shown by `…`.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used > width {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// A text whose control characters are shown as a program would write them.
pub(crate) fn escaped(text: &str) -> String {
    if !text.chars().any(is_control) {
        return text.to_string();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match is_control(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// Whether a character steers a terminal, or the direction of what follows it.
fn is_control(character: char) -> bool {
    let turns = ['\u{200e}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    character.is_control() || turns.iter().any(|range| range.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 2]]) -> Table {
        Table {
            columns: vec!["id".to_string(), "title".to_string()],
            rows: rows.iter().map(|row| row.map(str::to_string).to_vec()).collect(),
        }
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let text = table(&[["1", "Milk"], ["22", "日本"]]).text(None);
        assert_eq!(text, "id  title\n──  ─────\n1   Milk\n22  日本\n");
        assert_eq!(table(&[["1", ""]]).text(None), "id  title\n──  ─────\n1\n");
    }

    #[test]
    fn the_widest_column_is_cut_first() {
        let text = table(&[["12345678", "a long title indeed"]]).text(Some(24));
        assert_eq!(text.lines().last().unwrap(), "12345678  a long title …");
        let wide = table(&[["1", "日本日本日本日本"]]).text(Some(12));
        assert_eq!(wide.lines().last().unwrap(), "1   日本日…");
        assert!(wide.lines().all(|line| line.width() <= 12), "{wide}");
    }

    #[test]
    fn rows_that_do_not_fit_are_lists() {
        let text = table(&[["123456789", "Milk"], ["2", "Eggs and more"]]).text(Some(11));
        assert_eq!(text, "id     1234567…\ntitle  Milk\n\nid     2\ntitle  Eggs an…\n");
    }

    #[test]
    fn nothing_stored_steers_a_terminal() {
        assert_eq!(escaped("a\u{1b}[2J\nb\u{202e}c é"), "a\\u{1b}[2J\\nb\\u{202e}c é");
    }
}

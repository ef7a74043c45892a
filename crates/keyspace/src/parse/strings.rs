//! Strings of the file, with the place of every character.
//!
//! Templates and expressions live inside TOML strings. A problem inside one is underlined where it
//! stands in the file, escapes and triple quotes notwithstanding, so each string keeps the way back
//! from its own bytes to those of the file.

use crate::source::Span;

/// A string of the file.
#[derive(Clone, Debug)]
pub struct SourceString {
    /// What it says.
    pub text: String,
    /// The whole literal, quotes included.
    pub span: Span,
    offsets: Offsets,
}

/// The way from a byte of the text to a byte of the file.
#[derive(Clone, Debug)]
enum Offsets {
    /// The text stands in the file as it is, beginning here.
    From(usize),
    /// One entry a byte of the text, and one for its end.
    Table(Vec<usize>),
}

impl SourceString {
    /// The string `text` that the literal at `span` of `file` means.
    pub fn new(file: &str, span: Span, text: &str) -> Self {
        let raw = file.get(span.start..span.end).unwrap_or_default();
        let offsets = if let Some(at) = plain_start(raw, text) {
            Offsets::From(span.start + at)
        } else {
            Offsets::Table(walk(raw, span, text))
        };
        SourceString { text: text.to_string(), span, offsets }
    }

    /// Text that stands in the file without quotes.
    pub fn bare(span: Span, text: &str) -> Self {
        SourceString { text: text.to_string(), span, offsets: Offsets::From(span.start) }
    }

    /// The place in the file of some bytes of the text.
    pub fn place(&self, start: usize, end: usize) -> Span {
        Span::new(self.offset(start), self.offset(end.max(start)))
    }

    /// The place of the text without its quotes.
    pub fn content(&self) -> Span {
        self.place(0, self.text.len())
    }

    fn offset(&self, at: usize) -> usize {
        match &self.offsets {
            Offsets::From(start) => start + at.min(self.text.len()),
            Offsets::Table(table) => {
                table.get(at).or(table.last()).copied().unwrap_or(self.span.start)
            }
        }
    }
}

/// Where the text begins in the literal, if it stands there letter for letter.
fn plain_start(raw: &str, text: &str) -> Option<usize> {
    let quotes = opening(raw);
    let at = if raw.get(quotes..)?.starts_with('\n') && quotes == 3 { quotes + 1 } else { quotes };
    raw.get(at..)?.starts_with(text).then_some(at).filter(|_| !raw.contains('\\'))
}

/// How many quotes open the literal.
fn opening(raw: &str) -> usize {
    if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 }
}

/// The place of every byte of the text, by reading the literal as TOML does.
fn walk(raw: &str, span: Span, text: &str) -> Vec<usize> {
    let mut table = Vec::with_capacity(text.len() + 1);
    let quotes = opening(raw);
    let basic = raw.starts_with('"');
    let mut at = quotes;
    if quotes == 3 {
        at += raw.get(at..).map_or(0, |rest| {
            if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) }
        });
    }
    while table.len() < text.len() {
        let Some(rest) = raw.get(at..) else { break };
        let Some(first) = rest.chars().next() else { break };
        let (taken, made) = if basic && first == '\\' {
            escape(rest)
        } else {
            (first.len_utf8(), first.len_utf8())
        };
        table.extend(std::iter::repeat_n(span.start + at, made));
        at += taken.max(1);
    }
    table.truncate(text.len());
    table.resize(text.len(), span.start + at.min(raw.len()));
    table.push(span.start + at.min(raw.len().saturating_sub(quotes)));
    table
}

/// The bytes an escape takes in the file, and the bytes it makes.
fn escape(rest: &str) -> (usize, usize) {
    let digits = match rest.as_bytes().get(1) {
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(b'x') => 2,
        Some(b' ' | b'\t' | b'\n' | b'\r') => {
            let after = rest.get(1..).unwrap_or_default();
            return (1 + after.len() - after.trim_start().len(), 0);
        }
        _ => return (2, 1),
    };
    let made = rest
        .get(2..2 + digits)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .and_then(char::from_u32)
        .map_or(1, char::len_utf8);
    (2 + digits, made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, text: &str, part: &str, expected: &str) {
        let file = format!("key = {raw} # end");
        let string = SourceString::new(&file, Span::new(6, 6 + raw.len()), text);
        let at = text.find(part).expect("the part is in the text");
        let span = string.place(at, at + part.len());
        assert_eq!(file.get(span.start..span.end), Some(expected));
    }

    #[test]
    fn places_survive_quotes_and_escapes() {
        check(r#""user:{id}""#, "user:{id}", "{id}", "{id}");
        check("'user:{id}'", "user:{id}", "user", "user");
        check("\"\"\"\nab {id}\"\"\"", "ab {id}", "{id}", "{id}");
        check(r#""a\tb {id}""#, "a\tb {id}", "{id}", "{id}");
        check(r#""\u00e9 {id}""#, "é {id}", "{id}", "{id}");
        check("\"\"\"a \\\n   b {id}\"\"\"", "a b {id}", "{id}", "{id}");
        check(r#""x\\y""#, "x\\y", "\\", "\\\\");
    }
}

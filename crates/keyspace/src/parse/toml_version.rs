//! Finds the forms that TOML 1.0 does not have.
//!
//! The reader understands TOML 1.1; a keyspace file is TOML 1.0, so that every editor and tool can
//! read it. What is newer is refused by name, never half understood.

use crate::diagnostic::{Diagnostic, codes};
use crate::source::Span;

/// Reports line breaks and trailing commas in inline tables, and escapes, of a valid file.
pub fn refuse_newer(file: &str) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut comma: Option<usize> = None;
    let mut at = 0;
    while let Some(next) = file.get(at..).and_then(|rest| rest.chars().next()) {
        match next {
            '"' | '\'' => {
                let end = string_end(file, at, next);
                refuse_escapes(file, at, end, next, &mut problems);
                at = end;
                comma = None;
                continue;
            }
            '#' => {
                at += file.get(at..).and_then(|rest| rest.find('\n')).unwrap_or(file.len());
                continue;
            }
            '{' | '[' => open.push((next, at)),
            '}' => {
                if let (Some(place), Some(('{', _))) = (comma, open.last()) {
                    let span = Span::new(place, place + 1);
                    problems.push(newer(span, "a comma before the closing brace").replace(
                        "leave it out",
                        span,
                        "",
                    ));
                }
                open.pop();
            }
            ']' => drop(open.pop()),
            '\n' => {
                if let Some(('{', start)) = open.last().copied() {
                    problems.push(
                        newer(Span::new(start, start + 1), "an inline table over several lines")
                            .fix("write it on one line")
                            .fix("or give it a head of its own: `[collection.notes.fields]`"),
                    );
                    // One report a table is enough.
                    open.pop();
                    open.push(('(', start));
                }
            }
            _ => {}
        }
        if next == ',' {
            comma = Some(at);
        } else if !next.is_whitespace() {
            comma = None;
        }
        at += next.len_utf8();
    }
    problems
}

fn newer(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(&codes::TOML_TOO_NEW, span, format!("{what} is not TOML 1.0"))
}

/// One past the closing quote of the string that begins at `at`.
fn string_end(file: &str, at: usize, quote: char) -> usize {
    let rest = file.get(at..).unwrap_or_default();
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let closing = if rest.starts_with(&triple) { triple } else { quote.to_string() };
    let mut inside = closing.len();
    while let Some(left) = rest.get(inside..).filter(|left| !left.is_empty()) {
        if quote == '"' && left.starts_with('\\') {
            let escaped = left.chars().nth(1).map_or(0, char::len_utf8);
            inside += 1 + escaped;
        } else if left.starts_with(&closing) {
            // Up to two quotes may stand before the closing three.
            let more = left.chars().skip(closing.len()).take_while(|c| *c == quote).count();
            let extra = if closing.len() == 3 { more.min(2) } else { 0 };
            return at + inside + closing.len() + extra;
        } else {
            inside += left.chars().next().map_or(1, char::len_utf8);
        }
    }
    file.len()
}

fn refuse_escapes(file: &str, at: usize, end: usize, quote: char, problems: &mut Vec<Diagnostic>) {
    if quote != '"' {
        return;
    }
    let raw = file.get(at..end).unwrap_or_default();
    let mut characters = raw.char_indices();
    while let Some((place, character)) = characters.next() {
        if character != '\\' {
            continue;
        }
        let (length, instead) = match characters.next() {
            Some((_, 'e')) => (2, "\\u001B".to_string()),
            Some((_, 'x')) => {
                (4, format!("\\u00{}", raw.get(place + 2..place + 4).unwrap_or("00")))
            }
            _ => continue,
        };
        let span = Span::new(at + place, at + place + length);
        problems.push(newer(span, "this escape").replace("write it as", span, instead));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_tables_and_arrays_over_lines_are_fine() {
        let file = "a = { b = 1, c = [\n 1,\n 2,\n] }\nd = \"{\\\"\"\ne = '''{\n,}'''\n# {\n";
        assert!(refuse_newer(file).is_empty());
    }

    #[test]
    fn line_breaks_commas_and_new_escapes_are_refused() {
        assert_eq!(refuse_newer("a = {\n b = 1\n}\n").len(), 1);
        assert_eq!(refuse_newer("a = { b = 1, }\n").len(), 1);
        assert_eq!(refuse_newer("a = \"\\e\"\n").len(), 1);
    }
}

//! The spacing of one value: `{ a = 1, b = 2 }`, `["a", "b"]`.
//!
//! ```text
//! tokens ──space, line end or nothing between each two──▶ text
//! ```
//!
//! Lines that the author broke stay broken and are indented anew; lines are never joined or broken
//! here. A stack takes the place of recursion, so no depth of brackets can exhaust the program.

use super::lines::{Piece, comment_of, path};
use super::print::pad_to;
use super::template;
use toml_parser::lexer::TokenKind;

const INDENT: usize = 4;

/// An open bracket.
struct Open {
    /// The line of the value it stands on.
    line: usize,
    /// In an inline table: how many names of the path stand outside it.
    table: Option<usize>,
}

/// A value on its way to text.
struct Writer<'a> {
    out: String,
    open: Vec<Open>,
    line: usize,
    path: Vec<String>,
    /// The name being read in an inline table, until its `=`.
    key: Vec<Piece<'a>>,
    reading_key: bool,
    last: Option<TokenKind>,
    space: bool,
    line_ends: usize,
}

/// The value with its spacing settled; `path` is the names it stands under.
pub(super) fn spaced(pieces: &[Piece<'_>], path: Vec<String>) -> String {
    let mut writer = Writer {
        out: String::new(),
        open: Vec::new(),
        line: 0,
        path,
        key: Vec::new(),
        reading_key: false,
        last: None,
        space: false,
        line_ends: 0,
    };
    for piece in pieces {
        match piece.kind {
            TokenKind::Whitespace => writer.space = true,
            TokenKind::Newline => writer.line_ends += 1,
            _ => writer.push(piece),
        }
    }
    writer.out
}

impl<'a> Writer<'a> {
    fn push(&mut self, piece: &Piece<'a>) {
        let closes =
            matches!(piece.kind, TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket);
        let opened_on = if closes { self.close() } else { None };
        self.separate(piece, opened_on);
        match piece.kind {
            TokenKind::Comment => self.out.push_str(&comment_of(piece).text),
            TokenKind::BasicString | TokenKind::LiteralString => self.string(piece),
            _ => self.out.push_str(piece.text),
        }
        self.follow(piece);
        self.last = Some(piece.kind);
        self.space = false;
        self.line_ends = 0;
    }

    /// Writes what stands between the last token and this one. A closing bracket knows the line it
    /// was opened on.
    fn separate(&mut self, piece: &Piece<'_>, opened_on: Option<usize>) {
        let Some(last) = self.last else { return };
        if self.line_ends > 0 {
            let opened = matches!(last, TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket);
            if self.line_ends > 1 && opened_on.is_none() && !opened {
                self.out.push('\n');
            }
            self.line += 1;
            self.out.push('\n');
            self.out.push_str(&" ".repeat(self.indent(opened_on)));
        } else if piece.kind == TokenKind::Comment {
            let column = self.out.rsplit('\n').next().unwrap_or_default().chars().count();
            // The width of `key = ` before the first line is not known here; one space is always
            // right.
            if self.line == 0 {
                self.out.push(' ');
            } else {
                pad_to(&mut self.out, column, piece.column);
            }
        } else if is_spaced(last, piece.kind, self.space) {
            self.out.push(' ');
        }
    }

    /// Brackets opened on one line indent what follows once; a closing one stands as that line
    /// does.
    fn indent(&self, opened_on: Option<usize>) -> usize {
        let inside = |line: &usize| opened_on.is_none_or(|opened_on| *line < opened_on);
        let mut lines: Vec<usize> = self.open.iter().map(|open| open.line).filter(inside).collect();
        lines.dedup();
        lines.len() * INDENT
    }

    /// Keeps track of brackets and names.
    fn follow(&mut self, piece: &Piece<'a>) {
        match piece.kind {
            TokenKind::LeftSquareBracket => {
                self.open.push(Open { line: self.line, table: None });
                self.reading_key = false;
            }
            TokenKind::LeftCurlyBracket => {
                self.open.push(Open { line: self.line, table: Some(self.path.len()) });
                self.reading_key = true;
            }
            TokenKind::Comma => {
                let table = self.open.last().and_then(|open| open.table);
                if let Some(outside) = table {
                    self.path.truncate(outside);
                }
                self.reading_key = table.is_some();
            }
            TokenKind::Equals => {
                self.path.extend(path(&self.key));
                self.key.clear();
                self.reading_key = false;
            }
            _ if self.reading_key => self.key.push(*piece),
            _ => {}
        }
    }

    /// Leaves a bracket; answers the line it was opened on.
    fn close(&mut self) -> Option<usize> {
        self.reading_key = false;
        self.key.clear();
        let open = self.open.pop()?;
        if let Some(outside) = open.table {
            self.path.truncate(outside);
        }
        Some(open.line)
    }

    fn string(&mut self, piece: &Piece<'_>) {
        let in_array = self.open.last().is_some_and(|open| open.table.is_none());
        if self.reading_key || in_array || !template::is_key(&self.path) {
            self.out.push_str(piece.text);
        } else {
            self.out.push_str(&template::spaced_string(piece.text));
        }
    }
}

/// Whether a space stands between two tokens on one line.
fn is_spaced(last: TokenKind, next: TokenKind, was_spaced: bool) -> bool {
    use TokenKind::{
        Atom, Comma, Dot, Equals, LeftCurlyBracket, LeftSquareBracket, RightCurlyBracket,
        RightSquareBracket,
    };
    match (last, next) {
        (LeftCurlyBracket, RightCurlyBracket) | (_, Comma | Dot) | (Dot, _) => false,
        (LeftSquareBracket, _) | (_, RightSquareBracket) => false,
        (LeftCurlyBracket | Comma | Equals, _) | (_, RightCurlyBracket | Equals) => true,
        // A date and a time are two tokens of one value.
        (Atom, Atom) => was_spaced,
        _ => false,
    }
}

//! Text to lines: what stands on each line of a file, its own spacing already settled.
//!
//! A value may go on over several lines; it is still one [`Line`]. Nothing here decides how lines
//! stand to each other, which is the work of `print`.

use super::value;
use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

/// A comment and the column of its `#` in the file as it was.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    /// Its text, from the `#`, without space at its end.
    pub(super) text: String,
    /// Characters before it on its line.
    pub(super) column: usize,
}

/// What a line holds.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Nothing.
    Blank,
    /// Only a comment.
    Comment,
    /// `[collection.users]`.
    Header(String),
    /// `key = value`; the value may hold line ends.
    Entry {
        /// As written, without spaces.
        key: String,
        /// With its spacing settled.
        value: String,
    },
}

/// One line and the comment at its end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// What it holds.
    pub(super) content: Content,
    /// The comment at its end, or the whole line if that is all there is.
    pub(super) comment: Option<Comment>,
}

/// A token with its text and the column where it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// What it is.
    pub(super) kind: TokenKind,
    /// As written.
    pub(super) text: &'a str,
    /// Characters before it on its line.
    pub(super) column: usize,
}

/// The lines of a text that is known to be TOML.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let pieces = pieces(text);
    let mut lines = Vec::new();
    let mut header = Vec::new();
    for line in split(&pieces) {
        let line = read_line(line, &mut header);
        lines.push(line);
    }
    lines
}

/// Every token of the text but the last, which is empty.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let source = Source::new(text);
    let mut column = 0;
    let mut pieces = Vec::new();
    for token in source.lex() {
        let written = token_text(text, &token);
        if token.kind() != TokenKind::Eof {
            pieces.push(Piece { kind: token.kind(), text: written, column });
        }
        column = match written.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => column + written.chars().count(),
        };
    }
    pieces
}

fn token_text<'a>(text: &'a str, token: &Token) -> &'a str {
    text.get(token.span().start()..token.span().end()).unwrap_or_default()
}

/// Cuts at the line ends that stand outside every bracket.
fn split<'a, 'b>(pieces: &'b [Piece<'a>]) -> impl Iterator<Item = &'b [Piece<'a>]> {
    let mut depth = 0_usize;
    pieces.split_inclusive(move |piece| {
        match piece.kind {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => depth += 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        piece.kind == TokenKind::Newline && depth == 0
    })
}

/// Reads one line; a header changes the path that the lines after it stand under.
fn read_line(pieces: &[Piece<'_>], header: &mut Vec<String>) -> Line {
    let (pieces, comment) = without_comment(pieces);
    let content = match pieces.first() {
        None if comment.is_some() => Content::Comment,
        None => Content::Blank,
        Some(first) if first.kind == TokenKind::LeftSquareBracket => {
            *header = path(pieces);
            Content::Header(joined(pieces))
        }
        Some(_) => read_entry(pieces, header),
    };
    Line { content, comment }
}

fn read_entry(pieces: &[Piece<'_>], header: &[String]) -> Content {
    let equals = pieces.iter().position(|piece| piece.kind == TokenKind::Equals);
    let (key, value) = pieces.split_at_checked(equals.unwrap_or(pieces.len())).unwrap_or_default();
    let path = header.iter().cloned().chain(path(key)).collect();
    let value = value.get(1..).unwrap_or_default();
    Content::Entry { key: joined(key), value: value::spaced(value, path) }
}

/// Takes the space around a line and the comment at its end off it.
fn without_comment<'a, 'b>(pieces: &'b [Piece<'a>]) -> (&'b [Piece<'a>], Option<Comment>) {
    let mut rest = pieces;
    let mut comment = None;
    while let Some((last, before)) = rest.split_last() {
        match last.kind {
            TokenKind::Whitespace | TokenKind::Newline => {}
            TokenKind::Comment if comment.is_none() => comment = Some(comment_of(last)),
            _ => break,
        }
        rest = before;
    }
    while let Some((first, after)) = rest.split_first() {
        if first.kind != TokenKind::Whitespace {
            break;
        }
        rest = after;
    }
    (rest, comment)
}

/// A comment as it will be written.
pub(super) fn comment_of(piece: &Piece<'_>) -> Comment {
    Comment { text: piece.text.trim_end().to_string(), column: piece.column }
}

fn joined(pieces: &[Piece<'_>]) -> String {
    pieces
        .iter()
        .filter(|piece| piece.kind != TokenKind::Whitespace)
        .map(|piece| piece.text)
        .collect()
}

/// The names of a dotted key or a header, as far as the formatter must tell them apart: a quoted
/// name stays quoted, and so is none of the words it looks for.
pub(super) fn path(pieces: &[Piece<'_>]) -> Vec<String> {
    let is_name = |piece: &&Piece<'_>| {
        matches!(piece.kind, TokenKind::Atom | TokenKind::BasicString | TokenKind::LiteralString)
    };
    pieces.iter().filter(is_name).map(|piece| piece.text.to_string()).collect()
}

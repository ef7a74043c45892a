//! Reads a string of the file character by character, keeping places.

use super::strings::SourceString;
use crate::source::Span;

/// A place in a string that moves forward.
pub struct Cursor<'a> {
    source: &'a SourceString,
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of the string.
    pub fn new(source: &'a SourceString) -> Self {
        Cursor { source, at: 0, end: source.text.len() }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a str {
        self.source.text.get(self.at..self.end).unwrap_or_default()
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Where it stands, as a byte of the string.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes back, or on, to a byte of the string.
    pub fn move_to(&mut self, position: usize) {
        self.at = position.min(self.end);
    }

    /// Reads one character.
    pub fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Reads `text` if it comes next.
    pub fn take(&mut self, text: &str) -> bool {
        let comes = self.rest().starts_with(text);
        if comes {
            self.at += text.len();
        }
        comes
    }

    /// Reads the word `word`, not the beginning of a longer one.
    pub fn take_word(&mut self, word: &str) -> bool {
        let follows = self.rest().strip_prefix(word).map(|rest| rest.chars().next());
        match follows {
            Some(next) if !next.is_some_and(is_word) => self.take(word),
            _ => false,
        }
    }

    /// Reads characters while they fit.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|character| !fits(character)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads spaces.
    pub fn skip_spaces(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// Whether everything has been read.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// The place in the file from a byte of the string to where it stands.
    pub fn span_from(&self, start: usize) -> Span {
        self.source.place(start, self.at)
    }

    /// The place in the file of the next character.
    pub fn span_here(&self) -> Span {
        let length = self.peek().map_or(0, char::len_utf8);
        self.source.place(self.at, self.at + length)
    }

    /// The word that comes next, or the one character; nothing at the end.
    pub fn next_word(&self) -> &'a str {
        let rest = self.rest();
        let letters = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let length = if letters == 0 { self.peek().map_or(0, char::len_utf8) } else { letters };
        rest.get(..length).unwrap_or_default()
    }

    /// The place in the file of the word that comes next.
    pub fn span_word(&self) -> Span {
        self.source.place(self.at, self.at + self.next_word().len())
    }

    /// A text in single quotes, in which two quotes mean one; the opening one comes next. `None`
    /// if it never ends.
    pub fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        if !self.take("'") {
            return None;
        }
        loop {
            text.push_str(self.take_while(|character| character != '\''));
            if !self.take("'") {
                return None;
            }
            if !self.take("'") {
                return Some(text);
            }
            text.push('\'');
        }
    }
}

/// Whether a character may stand in a name.
pub fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

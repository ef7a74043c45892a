//! Places in the text of a keyspace file.
//!
//! Every name and every value keeps the bytes it was read from, so that a problem found much later
//! can still be underlined exactly. Nothing here reads a file.

/// A range of bytes of the file, `start` included, `end` not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to `end`; an end before the start is an empty span.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end: end.max(start) }
    }

    /// Some bytes of what stands here, if it has the length it should; else all of it: text with
    /// escapes is longer than what it says.
    pub fn part(self, text_bytes: usize, start: usize, end: usize) -> Span {
        match self.end - self.start == text_bytes && end <= text_bytes {
            true => Span::new(self.start + start, self.start + end),
            false => self,
        }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Span::new(range.start, range.end)
    }
}

/// A value and where it stands. Two are equal if their values are, wherever they stand.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// What was read.
    pub value: T,
    /// Where it was read.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        Spanned { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// The line and column of a byte, both counted from 1; the column counts characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    (line, column)
}

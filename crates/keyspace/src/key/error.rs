//! The one error of the key codec: what is wrong, and at which byte.
//!
//! Message text is constant. A message must never contain a piece of the key, since keys carry
//! other people's data and errors end up in logs.

use std::fmt;

/// Why a key, or the text of a key, was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key is longer than [`KEY_BYTES_MAX`](super::KEY_BYTES_MAX).
    KeyTooLong,
    /// The key has more segments than [`KEY_SEGMENTS_MAX`](super::KEY_SEGMENTS_MAX).
    TooManySegments,
    /// The bytes end inside the collection number or inside a segment.
    Truncated,
    /// Bytes follow the last expected segment.
    TrailingBytes,
    /// No segment begins with this byte.
    UnknownTag,
    /// The segment, or the value, is of another type than the shape says.
    WrongType,
    /// The segment is stored in the other direction.
    WrongDirection,
    /// There are more or fewer values than the shape has segments.
    ValueCount,
    /// An integer is written with more bytes than it needs.
    NotMinimal,
    /// A number is beyond the range of its type.
    OutOfRange,
    /// A zero byte is followed by something that is neither an escape nor an end.
    BadEscape,
    /// Text is not valid UTF-8.
    NotUtf8,
    /// A float is stored as negative zero, which is always stored as zero.
    NegativeZero,
    /// A float is not a number, and so has no place in an order.
    NotANumber,
    /// A UUID given as a time UUID is not of version 1 and of the standard variant.
    NotTimeUuid,
    /// The text of a key is longer than [`KEY_TEXT_BYTES_MAX`](super::KEY_TEXT_BYTES_MAX).
    TextTooLong,
    /// The text of a key has more or fewer parts than its template.
    PartCount,
    /// A literal of the template is missing.
    WrongLiteral,
    /// A path stands first, or not last, in a template.
    PathPlace,
    /// Null has no text form.
    NullText,
    /// The text does not spell a value of its type.
    BadText,
    /// The text spells a value, but not the way it is always written.
    NotCanonical,
}

impl ErrorKind {
    /// The constant message of this kind.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::KeyTooLong => "the key is too long",
            Self::TooManySegments => "the key has too many segments",
            Self::Truncated => "the key ends too early",
            Self::TrailingBytes => "bytes follow the last segment",
            Self::UnknownTag => "no segment begins with this byte",
            Self::WrongType => "the segment has another type",
            Self::WrongDirection => "the segment has the other direction",
            Self::ValueCount => "the number of values differs from the number of segments",
            Self::NotMinimal => "an integer is longer than it need be",
            Self::OutOfRange => "a number is out of the range of its type",
            Self::BadEscape => "a zero byte is followed by a byte that means nothing there",
            Self::NotUtf8 => "text is not valid UTF-8",
            Self::NegativeZero => "a float is negative zero",
            Self::NotANumber => "a float is not a number",
            Self::NotTimeUuid => "a time UUID is not of version 1",
            Self::TextTooLong => "the text of the key is too long",
            Self::PartCount => "the number of parts differs from the template",
            Self::WrongLiteral => "a literal differs from the template",
            Self::PathPlace => "a path must be the last part and not the first",
            Self::NullText => "null has no text form",
            Self::BadText => "the text is no value of its type",
            Self::NotCanonical => "the text is not the canonical form of its value",
        }
    }
}

/// A refused key: the kind, and the byte at which it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    kind: ErrorKind,
    offset: usize,
}

impl Error {
    #[cold]
    pub(super) const fn new(kind: ErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// Why the key was refused.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        self.kind
    }

    /// The byte of the key, or of its text, at which the fault begins or was noticed.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (at byte {})", self.kind.message(), self.offset)
    }
}

impl std::error::Error for Error {}

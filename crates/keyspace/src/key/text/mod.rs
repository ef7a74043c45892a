//! The text form of a key: `notes:42:2026-11-15`, for people, for Redis and for addresses.
//!
//! ```text
//!   template  notes : {id:text} : {at:timestamp}
//!   values            "a:b"       1794736800000
//!   text      notes : a%3ab     : 2026-11-15T10%3a00%3a00.000Z
//! ```
//!
//! Every key has exactly one text and every accepted text is the text of exactly one key. Text
//! does not sort like the key, so it must never be used for ranges or order, only for names.

mod civil;
mod digits;
mod float;
mod scalar;

pub use digits::{ulid_letters, uuid_letters};
pub use scalar::{parse_scalar, scalar_text};

use std::borrow::Cow;

use super::{Error, ErrorKind, KEY_TEXT_BYTES_MAX, KeyType, Value};

/// What stands between the parts of a key's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Separator {
    /// `:`
    #[default]
    Colon,
    /// `/`
    Slash,
}

impl Separator {
    /// The separator itself.
    #[must_use]
    pub const fn character(self) -> char {
        match self {
            Self::Colon => ':',
            Self::Slash => '/',
        }
    }
}

/// Bytes of a text for which room is made.
const TEXT_BYTES_USUAL: usize = 64;

/// One part of the template of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part<'t> {
    /// Text that is the same in every key.
    Literal(&'t str),
    /// The text of a value of this type. A path is several parts, so it stands last, and after
    /// at least one other part, which tells the empty path from the path of one empty element.
    Segment(KeyType),
}

/// The text of the key that `values` fill into `template`.
pub fn format(
    separator: Separator,
    template: &[Part<'_>],
    values: &[Value<'_>],
) -> Result<String, Error> {
    check_paths(template)?;
    let mut text = String::with_capacity(TEXT_BYTES_USUAL);
    let mut is_first = true;
    let mut put_escaped = |part: &str| {
        if !std::mem::take(&mut is_first) {
            text.push(separator.character());
        }
        text.push_str(part);
    };
    let mut put = |part: Raw<'_>| match part {
        Raw::Any(part) => put_escaped(&escape(separator, part)),
        Raw::Plain(letters) => put_escaped(str::from_utf8(letters).unwrap_or_default()),
    };
    let mut values = values.iter();
    for part in template {
        let kind = match part {
            Part::Literal(literal) => {
                put(Raw::Any(literal));
                continue;
            }
            Part::Segment(kind) => *kind,
        };
        let value = values.next().ok_or(Error::new(ErrorKind::ValueCount, 0))?;
        if value.kind().is_some_and(|actual| actual != kind) {
            return Err(Error::new(ErrorKind::WrongType, 0));
        }
        match value {
            Value::Path(elements) => elements.iter().for_each(|element| put(Raw::Any(element))),
            Value::Uuid(id) => put(Raw::Plain(&uuid_letters(*id))),
            Value::Ulid(id) => put(Raw::Plain(&ulid_letters(*id))),
            scalar => put(Raw::Any(&scalar_text(scalar)?)),
        }
    }
    if values.next().is_some() {
        return Err(Error::new(ErrorKind::ValueCount, 0));
    }
    match text.len() > KEY_TEXT_BYTES_MAX {
        true => Err(Error::new(ErrorKind::TextTooLong, KEY_TEXT_BYTES_MAX)),
        false => Ok(text),
    }
}

/// A part before it is escaped.
enum Raw<'r> {
    Any(&'r str),
    /// Letters and digits, which nobody escapes.
    Plain(&'r [u8]),
}

/// The values of the key that `text` spells, if it is the text of a key of this template.
pub fn parse(
    separator: Separator,
    template: &[Part<'_>],
    text: &str,
) -> Result<Vec<Value<'static>>, Error> {
    if text.len() > KEY_TEXT_BYTES_MAX {
        return Err(Error::new(ErrorKind::TextTooLong, KEY_TEXT_BYTES_MAX));
    }
    check_paths(template)?;
    if template.is_empty() && text.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Vec::with_capacity(template.len());
    let mut rest = Parts { separator, text, offset: Some(0) };
    for part in template {
        match part {
            Part::Literal(literal) => {
                let (offset, found) = rest.require()?;
                if found != escape(separator, literal) {
                    return Err(Error::new(ErrorKind::WrongLiteral, offset));
                }
            }
            Part::Segment(KeyType::Path) => {
                let elements = rest
                    .by_ref()
                    .map(|(offset, part)| unescape(separator, part, offset).map(Cow::Owned));
                values.push(Value::Path(elements.collect::<Result<_, _>>()?));
            }
            Part::Segment(kind) => {
                let (offset, found) = rest.require()?;
                let value = parse_scalar(*kind, &unescape(separator, found, offset)?);
                values.push(value.map_err(|error| Error::new(error.kind(), offset))?);
            }
        }
    }
    match rest.next() {
        Some((offset, _)) => Err(Error::new(ErrorKind::PartCount, offset)),
        None => Ok(values),
    }
}

/// One part of a key's text: whatever would end it, and what no name should hold, is `%xx`.
pub fn escaped(separator: Separator, raw: &str) -> Cow<'_, str> {
    escape(separator, raw)
}

/// The raw text of one part, if it is escaped as [`escaped`] does.
pub fn unescaped(separator: Separator, part: &str) -> Result<String, Error> {
    unescape(separator, part, 0)
}

/// The parts of a text, each with the place where it begins.
struct Parts<'a> {
    separator: Separator,
    text: &'a str,
    offset: Option<usize>,
}

impl<'a> Parts<'a> {
    fn require(&mut self) -> Result<(usize, &'a str), Error> {
        let length = self.text.len();
        self.next().ok_or(Error::new(ErrorKind::PartCount, length))
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset?;
        let rest = self.text.get(offset..)?;
        let part = rest.split(self.separator.character()).next()?;
        self.offset = (part.len() < rest.len()).then(|| offset + part.len() + 1);
        Some((offset, part))
    }
}

/// A path is last, so that it can take every remaining part, and not first.
fn check_paths(template: &[Part<'_>]) -> Result<(), Error> {
    let path = template.iter().position(|part| *part == Part::Segment(KeyType::Path));
    match path {
        Some(index) if index == 0 || index + 1 != template.len() => {
            Err(Error::new(ErrorKind::PathPlace, 0))
        }
        _ => Ok(()),
    }
}

/// Only ASCII characters are escaped: one byte each.
#[inline]
fn must_escape(separator: Separator, byte: u8) -> bool {
    char::from(byte) == separator.character() || ESCAPED.get(usize::from(byte)) == Some(&true)
}

/// The bytes that are escaped whatever separates parts.
static ESCAPED: [bool; 256] = escaped_bytes();

#[expect(clippy::indexing_slicing, reason = "only ever made while the program is compiled")]
const fn escaped_bytes() -> [bool; 256] {
    let mut escaped = [false; 256];
    let mut byte = 0;
    while byte < escaped.len() {
        escaped[byte] = matches!(byte as u8, b'%' | b'{' | b'}' | 0x00..=0x1f | 0x7f);
        byte += 1;
    }
    escaped
}

fn escape(separator: Separator, raw: &str) -> Cow<'_, str> {
    if !raw.bytes().any(|byte| must_escape(separator, byte)) {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len() + 16);
    for character in raw.chars() {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() && must_escape(separator, byte) => {
                text.push('%');
                text.extend(digits::hex_pair(byte));
            }
            _ => text.push(character),
        }
    }
    Cow::Owned(text)
}

/// The raw text of a part. Escapes that were not needed, or not in lower case, are refused.
fn unescape(separator: Separator, part: &str, offset: usize) -> Result<String, Error> {
    let refuse = |kind| Error::new(kind, offset);
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let pair = rest.next().zip(rest.next());
        let value = pair.and_then(|(high, low)| digits::from_hex_pair(high, low));
        bytes.push(value.ok_or(refuse(ErrorKind::BadText))?);
    }
    let raw = String::from_utf8(bytes).map_err(|_| refuse(ErrorKind::NotUtf8))?;
    if escape(separator, &raw) == part { Ok(raw) } else { Err(refuse(ErrorKind::NotCanonical)) }
}

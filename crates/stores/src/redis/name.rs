//! Names: the keys of Redis, made from templates and values, and taken apart again.
//!
//! ```text
//! user : {user_id} : notes      prefix user:42:notes        one server
//! "42" ────────────────┘        prefix {user:42}:notes      a cluster: the place is the hash tag
//! ```
//!
//! The templates are those of the layout; nothing here decides what is called what. A name that
//! was taken apart has exactly the values it was made from.

use super::cluster::tag;
use super::error::damaged;
use data::{Error, ErrorKind, Result};
use keyspace::key::text::{Separator, escaped, parse_scalar, scalar_text, unescaped};
use keyspace::key::{KeyType, Value};
use keyspace::layout::engine::segment_shape;
use keyspace::layout::redis::{CALL, Container, SLICE};
use keyspace::model::{Key, Part};
use std::borrow::Cow;
use std::ops::Range;

/// The only path that is written as no text of a part is: the empty one, where it stands alone.
const EMPTY_PATH: &str = "%";

/// How names are written in one database.
#[derive(Clone, Debug)]
pub(super) struct Naming {
    prefix: String,
    separator: Separator,
    /// Whether the place of a group stands in braces.
    has_tags: bool,
}

impl Naming {
    /// Names behind a prefix, with the keyspace's separator; a cluster has hash tags.
    pub(super) fn new(prefix: &str, separator: char, has_tags: bool) -> Naming {
        let separator = if separator == '/' { Separator::Slash } else { Separator::Colon };
        Naming { prefix: prefix.to_string(), separator, has_tags }
    }

    /// The separator.
    pub(super) fn separator(&self) -> Separator {
        self.separator
    }

    /// A name that is no template: a marker, or a prefix and an id.
    pub(super) fn fixed(&self, parts: &[&str]) -> Vec<u8> {
        let mut name = String::with_capacity(64);
        name.push_str(&self.prefix);
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                name.push(self.separator.character());
            }
            name.push_str(part);
        }
        name.into_bytes()
    }

    /// The name under which a batch is remembered: on a cluster beside a key that it is about.
    pub(super) fn call(&self, beside: &[u8], id: &str) -> Vec<u8> {
        if !self.has_tags {
            return self.fixed(&[CALL, id]);
        }
        let tag = format!("{{{}}}", String::from_utf8_lossy(tag(beside)));
        self.fixed(&[CALL, &tag, id])
    }

    /// A name without the prefix.
    pub(super) fn stripped<'n>(&self, name: &'n [u8]) -> Option<&'n str> {
        std::str::from_utf8(name.strip_prefix(self.prefix.as_bytes())?).ok()
    }
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamePart {
    /// A text as it stands.
    Literal(String),
    /// The segment at this position of the key whose values are given.
    Segment(usize, KeyType),
    /// The start of a time slice.
    Slice,
}

/// A template for names, or for the text of keys.
#[derive(Clone, Debug)]
pub(super) struct Template {
    parts: Vec<NamePart>,
    tag: Range<usize>,
}

/// What a name was made from.
#[derive(Debug)]
pub(super) struct Taken<'n> {
    /// The values, by position; null where the template has no such segment.
    pub(super) values: Vec<Value<'static>>,
    /// The start of the slice.
    pub(super) slice: Option<&'n str>,
}

impl Template {
    /// The template of a container. `position` finds a segment among the values that will be given.
    pub(super) fn of_container(
        container: &Container,
        position: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Template> {
        Template::new(&container.parts, container.tag.clone(), position)
    }

    /// The template of a key's text.
    pub(super) fn of_key(key: &Key, position: &dyn Fn(&str) -> Option<usize>) -> Result<Template> {
        Template::new(&key.parts, 0..0, position)
    }

    fn new(
        parts: &[Part],
        tag: Range<usize>,
        position: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Template> {
        let mut made = Vec::with_capacity(parts.len());
        for part in parts {
            made.push(match part {
                Part::Literal(literal) => NamePart::Literal(literal.clone()),
                Part::Segment(segment) if segment.name == SLICE && is_slice(segment) => {
                    NamePart::Slice
                }
                Part::Segment(segment) => {
                    let position = position(&segment.name).ok_or_else(|| {
                        Error::new(ErrorKind::Internal, "a name has a segment that no key has")
                            .with("segment", &segment.name)
                    })?;
                    NamePart::Segment(position, segment_shape(segment).kind)
                }
            });
        }
        Ok(Template { parts: made, tag })
    }

    /// What its names are joined of.
    pub(super) fn parts(&self) -> &[NamePart] {
        &self.parts
    }

    /// The name of these values.
    pub(super) fn name(
        &self,
        naming: &Naming,
        values: &[Value<'_>],
        slice: Option<&str>,
    ) -> Result<Vec<u8>> {
        let tag = if naming.has_tags { self.tag.clone() } else { 0..0 };
        let mut text = String::with_capacity(64);
        text.push_str(&naming.prefix);
        self.write(naming.separator, (values, slice), &tag, &mut text)?;
        Ok(text.into_bytes())
    }

    /// The text of a key of these values: without prefix and braces.
    pub(super) fn text(&self, separator: Separator, values: &[Value<'_>]) -> Result<String> {
        let mut text = String::with_capacity(64);
        self.write(separator, (values, None), &(0..0), &mut text)?;
        Ok(text)
    }

    fn write(
        &self,
        separator: Separator,
        (values, slice): (&[Value<'_>], Option<&str>),
        tag: &Range<usize>,
        text: &mut String,
    ) -> Result<()> {
        for (number, part) in self.parts.iter().enumerate() {
            // An empty path is no part at all: it has no separator before it.
            let is_nothing = matches!(part, NamePart::Segment(position, _)
                if matches!(values.get(*position), Some(Value::Path(path)) if path.is_empty()));
            if number > 0 && !is_nothing {
                text.push(separator.character());
            }
            if !tag.is_empty() && number == tag.start {
                text.push('{');
            }
            match part {
                NamePart::Literal(literal) => text.push_str(literal),
                NamePart::Slice => text.push_str(slice.unwrap_or_default()),
                NamePart::Segment(..) if is_nothing => {}
                NamePart::Segment(position, _) => {
                    let missing = || Error::new(ErrorKind::Internal, "a name has too few values");
                    push(separator, values.get(*position).ok_or_else(missing)?, text)?;
                }
            }
            if !tag.is_empty() && number + 1 == tag.end {
                text.push('}');
            }
        }
        Ok(())
    }

    /// What a name was made from; nothing if it is none of this template.
    pub(super) fn take<'n>(&self, naming: &Naming, name: &'n [u8]) -> Option<Taken<'n>> {
        let text = naming.stripped(name)?;
        if !naming.has_tags || self.tag.is_empty() {
            return self.take_text(naming.separator, text);
        }
        let without: String = text.chars().filter(|c| !matches!(c, '{' | '}')).collect();
        let taken = self.take_text(naming.separator, &without)?;
        // A slice stands last, behind the braces.
        let slice = taken.slice.and_then(|slice| text.len().checked_sub(slice.len()));
        Some(Taken { values: taken.values, slice: slice.and_then(|at| text.get(at..)) })
    }

    /// What the text of a key was made from.
    pub(super) fn take_text<'n>(&self, separator: Separator, text: &'n str) -> Option<Taken<'n>> {
        let last = self.parts.iter().filter_map(|part| match part {
            NamePart::Segment(position, _) => Some(*position),
            _ => None,
        });
        let mut values = vec![Value::Null; last.max().map_or(0, |last| last + 1)];
        let mut slice = None;
        let mut rest = Some(text);
        for part in &self.parts {
            if let NamePart::Segment(position, KeyType::Path) = part {
                let elements = rest.take().map_or(Ok(Vec::new()), |rest| {
                    rest.split(separator.character())
                        .map(|element| unescaped(separator, element).map(Cow::Owned))
                        .collect::<Result<Vec<_>, _>>()
                });
                *values.get_mut(*position)? = Value::Path(elements.ok()?);
                continue;
            }
            let here = rest?;
            let (piece, after) = match here.split_once(separator.character()) {
                Some((piece, after)) => (piece, Some(after)),
                None => (here, None),
            };
            match part {
                NamePart::Literal(literal) if literal == piece => {}
                NamePart::Literal(_) => return None,
                NamePart::Slice => slice = Some(piece),
                NamePart::Segment(position, kind) => {
                    let raw = unescaped(separator, piece).ok()?;
                    *values.get_mut(*position)? = parse_scalar(*kind, &raw).ok()?;
                }
            }
            rest = after;
        }
        rest.is_none().then_some(Taken { values, slice })
    }

    /// A pattern of `SCAN` that every name of this template matches.
    pub(super) fn glob(&self, naming: &Naming) -> Vec<u8> {
        let mut glob = escaped_glob(&naming.prefix);
        let separator = naming.separator.character() as u8;
        for (number, part) in self.parts.iter().enumerate() {
            let is_path = matches!(part, NamePart::Segment(_, KeyType::Path));
            if number > 0 && !is_path {
                glob.push(separator);
            }
            match part {
                // In braces or not.
                NamePart::Literal(literal) if naming.has_tags && self.tag.contains(&number) => {
                    glob.push(b'*');
                    glob.extend_from_slice(literal.as_bytes());
                    glob.push(b'*');
                }
                NamePart::Literal(literal) => glob.extend_from_slice(literal.as_bytes()),
                NamePart::Segment(..) | NamePart::Slice => glob.push(b'*'),
            }
        }
        glob
    }
}

/// A pattern of `SCAN` that matches this text and nothing else.
pub(super) fn escaped_glob(text: &str) -> Vec<u8> {
    let mut glob = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-') {
            glob.push(b'\\');
        }
        glob.push(byte);
    }
    glob
}

/// The slice has a type that no segment of a key has.
fn is_slice(segment: &keyspace::model::Segment) -> bool {
    segment.segment_type == keyspace::model::Type::Duration
}

/// Adds the text of a value, escaped; the elements of a path are parts of their own.
fn push(separator: Separator, value: &Value<'_>, text: &mut String) -> Result<()> {
    match value {
        Value::Path(elements) => {
            for (number, element) in elements.iter().enumerate() {
                if number > 0 {
                    text.push(separator.character());
                }
                text.push_str(&escaped(separator, element));
            }
        }
        scalar => {
            let raw = scalar_text(scalar).map_err(Error::from)?;
            text.push_str(&escaped(separator, &raw));
        }
    }
    Ok(())
}

/// The text form of some values alone, joined: a member of a Set, a field of a Hash of counters.
/// One value that is no path is its raw text where `raw` says so.
pub(super) fn joined(separator: Separator, values: &[Value<'_>], raw: bool) -> Result<String> {
    let mut text = String::with_capacity(32);
    match values {
        [Value::Path(path)] if path.is_empty() => text.push_str(EMPTY_PATH),
        [only] if raw && !matches!(only, Value::Path(_)) => {
            text.push_str(&scalar_text(only).map_err(Error::from)?);
        }
        values => {
            for (number, value) in values.iter().enumerate() {
                let is_nothing = matches!(value, Value::Path(path) if path.is_empty());
                if number > 0 && !is_nothing {
                    text.push(separator.character());
                }
                push(separator, value, &mut text)?;
            }
        }
    }
    Ok(text)
}

/// The values of such a text.
pub(super) fn split(
    separator: Separator,
    kinds: &[KeyType],
    text: &str,
    raw: bool,
) -> Result<Vec<Value<'static>>> {
    let wrong = || damaged("a member").with("member", text.escape_debug());
    match kinds {
        [KeyType::Path] if text == EMPTY_PATH => return Ok(vec![Value::Path(Vec::new())]),
        [only] if raw && *only != KeyType::Path => {
            return Ok(vec![parse_scalar(*only, text).map_err(|_| wrong())?]);
        }
        _ => {}
    }
    let parts = kinds.iter().enumerate().map(|(n, kind)| NamePart::Segment(n, *kind)).collect();
    let template = Template { parts, tag: 0..0 };
    template.take_text(separator, text).map(|taken| taken.values).ok_or_else(wrong)
}

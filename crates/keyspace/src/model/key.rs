//! Keys: literals and typed segments, cut by a bar into the group and the rest.
//!
//! A key is the only identity of a row. The group, up to the bar, is what changes together and
//! lives together; the rest orders the rows inside it.

use super::expression::{Expression, Function};
use super::types::{DefaultValue, Type};
use crate::source::Span;

/// An ordered list of parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Literals and segments, in order.
    pub parts: Vec<Part>,
    /// How many parts the group has. Without a bar: all of them.
    pub group_parts: usize,
    /// Whether a bar was written.
    pub has_bar: bool,
    /// The template in the file.
    pub span: Span,
}

/// One part of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Fixed text.
    Literal(String),
    /// A typed segment.
    Segment(Segment),
}

/// A typed segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its name: the argument that fixes it.
    pub name: String,
    /// Its type, never optional.
    pub segment_type: Type,
    /// Whether larger values stand first.
    pub descending: bool,
    /// What fills it when a call does not.
    pub default: Option<DefaultValue>,
    /// In an index key, what it is computed from; `None` in a collection's own key.
    pub source: Option<Expression>,
    /// True for the primary segments that Keyway appends to an index key, so that two rows never
    /// share an entry.
    pub appended: bool,
    /// The segment in the file.
    pub span: Span,
}

impl Part {
    /// The segment, if it is one.
    pub fn segment(&self) -> Option<&Segment> {
        match self {
            Part::Segment(segment) => Some(segment),
            Part::Literal(_) => None,
        }
    }
}

impl Segment {
    /// The function that computes it, if any.
    pub fn function(&self) -> Option<Function> {
        self.source.as_ref().and_then(Expression::function)
    }

    /// Whether it is a geohash or an S2 cell.
    pub fn is_geographic(&self) -> bool {
        matches!(self.function(), Some(Function::Geohash | Function::Cell))
    }
}

impl Key {
    /// The parts of the group.
    pub fn group(&self) -> &[Part] {
        self.parts.get(..self.group_parts).unwrap_or(&self.parts)
    }

    /// The parts after the bar.
    pub fn rest(&self) -> &[Part] {
        self.parts.get(self.group_parts..).unwrap_or(&[])
    }

    /// Every segment, in order.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.parts.iter().filter_map(Part::segment)
    }

    /// The group's segments, in order.
    pub fn group_segments(&self) -> impl Iterator<Item = &Segment> {
        self.group().iter().filter_map(Part::segment)
    }

    /// The segments after the bar, in order.
    pub fn rest_segments(&self) -> impl Iterator<Item = &Segment> {
        self.rest().iter().filter_map(Part::segment)
    }

    /// The name under which a store keeps something for a whole group of these rows: the group,
    /// and the literals after the bar.
    pub fn container(&self) -> Vec<&Part> {
        let literals = self.rest().iter().filter(|part| part.segment().is_none());
        self.group().iter().chain(literals).collect()
    }

    /// The segment with this name.
    pub fn segment(&self, name: &str) -> Option<&Segment> {
        self.segments().find(|segment| segment.name == name)
    }

    /// Whether a group never has two rows of this key: no segment stands after the bar.
    pub fn is_whole_group(&self) -> bool {
        self.rest_segments().next().is_none()
    }

    /// Whether the text before the bar is the same, defaults aside: rows of the two live together.
    pub fn shares_group_with(&self, other: &Key) -> bool {
        self.group_parts == other.group_parts
            && self.group().iter().zip(other.group()).all(|parts| match parts {
                (Part::Literal(own), Part::Literal(other)) => own == other,
                (Part::Segment(own), Part::Segment(other)) => {
                    own.name == other.name && own.segment_type == other.segment_type
                }
                _ => false,
            })
    }

    /// The template of some parts, types and defaults left out: `user:{user_id}:notes`.
    pub fn template_of(parts: &[Part], separator: char) -> String {
        let mut text = String::new();
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                text.push(separator);
            }
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Segment(segment) => {
                    text.push('{');
                    text.push_str(&segment.name);
                    text.push('}');
                }
            }
        }
        text
    }

    /// The whole template with its bar, types and defaults left out.
    pub fn template(&self, separator: char) -> String {
        let group = Key::template_of(self.group(), separator);
        match (self.has_bar, self.rest().is_empty()) {
            (false, _) => group,
            (true, true) => format!("{group} |"),
            (true, false) => format!("{group} | {}", Key::template_of(self.rest(), separator)),
        }
    }
}

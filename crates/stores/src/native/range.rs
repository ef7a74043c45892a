//! A range of encoded keys as values: what its keys have in common, and its two edges.
//!
//! ```text
//! 00 07 31 61 00 01 c5 …00 .. 00 07 31 61 00 01 ff   keys (text, timestamp desc, uuid)
//!   ─▶ equal (a)   lower > (10:00, 6f96…)   upper none
//!   ─▶ stretches   a, 10:00, > 6f96…    then    a, < 10:00
//! ```
//!
//! A bound of a range need not be a key: it may be a few segments, a byte before or behind all that
//! can follow them, the front of a text, or anything else. Each becomes the first value at or
//! behind it, so an edge is exact for keys without an attempt, and one value loose for the others.
//! Whoever reads filters by [`Range::contains`] all the same.

use super::first::{first_from, successor};
use data::schema::KeyShape;
use data::store::{Range, limits::KEY_BYTES_MAX};
use keyspace::key::{Direction, KeyReader, Value};
use std::ops::RangeInclusive;

/// What the keys of a range are.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds<'r> {
    /// The values of the leading segments that every key has.
    pub equal: Vec<Value<'r>>,
    /// Where they begin: no key is before it, in the order of the key.
    pub lower: Option<Edge<'r>>,
    /// Where they end: no key is behind it.
    pub upper: Option<Edge<'r>>,
}

/// An edge: values of the segments that follow the equal ones, at least one. Keys are compared with
/// it by as many segments as it has values, each in its own direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge<'r> {
    /// The values.
    pub values: Vec<Value<'r>>,
    /// Whether keys that begin with these values are on this side of the edge.
    pub inclusive: bool,
}

/// The numbers of the spaces that a range can reach.
pub fn spaces(range: &Range) -> Option<RangeInclusive<u16>> {
    let number = |bytes: &[u8]| {
        let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
        u16::from_be_bytes([at(0), at(1)])
    };
    let last = number(&range.end);
    let last = if range.end.len() > 2 { last } else { last.checked_sub(1)? };
    let spaces = number(&range.start)..=last;
    (!spaces.is_empty()).then_some(spaces)
}

/// What the keys of a shape that lie in a range are; nothing where none can.
pub fn bounds<'r>(shape: &KeyShape, range: &'r Range) -> Option<Bounds<'r>> {
    if range.is_empty() {
        return None;
    }
    let (start, end) = (cut(shape, &range.start), cut(shape, &range.end));
    let common = start.values.iter().zip(&end.values).take_while(|(one, other)| one == other);
    let common = common.count();
    let (mut equal, mut first, mut last) = (start.values, Vec::new(), end.values);
    first.extend(equal.drain(common..));
    last.drain(..common);
    let lower = edge(first, start.side != Side::Behind)?;
    let upper = edge(last, end.side != Side::Before)?;
    Some(Bounds { equal, lower, upper })
}

/// An edge; none at all where every key is on this side, and nothing to read where no key is.
fn edge(values: Vec<Value<'_>>, inclusive: bool) -> Option<Option<Edge<'_>>> {
    match (values.is_empty(), inclusive) {
        (true, true) => Some(None),
        (true, false) => None,
        (false, inclusive) => Some(Some(Edge { values, inclusive })),
    }
}

impl<'r> Bounds<'r> {
    /// The same keys as stretches one behind the other, in the order of the key. The segments of an
    /// edge of a stretch all have one direction, so that it is a comparison of tuples, and an index
    /// in the order of the key begins where the stretch does.
    pub fn stretches(self, shape: &KeyShape) -> Vec<Bounds<'r>> {
        if self.lower.is_none() && self.upper.is_none() {
            return vec![self];
        }
        let directions: Vec<Direction> = shape.segments.iter().map(|s| s.direction).collect();
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let mut middle = self;
        while let Some((rest, outside)) = middle.split(&directions, |bounds| &mut bounds.lower) {
            // What has the edge's first values lies before all that is behind them.
            let bounds = Bounds { lower: Some(rest), upper: None, equal: outside };
            before.extend(bounds.stretches(shape));
        }
        while let Some((rest, outside)) = middle.split(&directions, |bounds| &mut bounds.upper) {
            let bounds = Bounds { lower: None, upper: Some(rest), equal: outside };
            behind.push(bounds.stretches(shape));
        }
        before.push(middle);
        before.extend(behind.into_iter().flatten());
        before
    }

    /// Cuts an edge where its direction changes. What remains here excludes the values before the
    /// cut; the answer is the edge behind it and the values that are then equal.
    fn split(
        &mut self,
        directions: &[Direction],
        edge: impl Fn(&mut Self) -> &mut Option<Edge<'r>>,
    ) -> Option<(Edge<'r>, Vec<Value<'r>>)> {
        let directions = directions.get(self.equal.len()..)?;
        let first = directions.first()?;
        let values = edge(self).as_ref()?.values.len();
        let turn = directions.iter().take(values).position(|other| other != first)?;
        let mut equal = self.equal.clone();
        let edge = edge(self).as_mut()?;
        let rest = Edge { values: edge.values.split_off(turn), inclusive: edge.inclusive };
        edge.inclusive = false;
        equal.extend(edge.values.iter().cloned());
        Some((rest, equal))
    }
}

/// A place between keys.
struct Cut<'r> {
    values: Vec<Value<'r>>,
    side: Side,
}

/// Where the place lies, seen from the keys that begin with its values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Before them all.
    Before,
    /// Among them: they differ only in what is no segment.
    Among,
    /// Behind them all.
    Behind,
}

/// The place of some bytes among the keys of a shape.
fn cut<'r>(shape: &KeyShape, bytes: &'r [u8]) -> Cut<'r> {
    let space = shape.space.to_be_bytes();
    if !bytes.starts_with(&space) {
        let side = if bytes < &space[..] { Side::Before } else { Side::Behind };
        return Cut { values: Vec::new(), side };
    }
    let mut values = Vec::with_capacity(shape.segments.len());
    let mut rest = bytes.get(2..).unwrap_or_default();
    // A bound may be a byte longer than a key; that byte stands behind every segment.
    let key = bytes.get(..KEY_BYTES_MAX).unwrap_or(bytes);
    if let Ok(mut reader) = KeyReader::new(key) {
        for segment in &shape.segments {
            let Ok(value) = reader.value(*segment) else { break };
            rest = bytes.get(reader.offset()..).unwrap_or_default();
            values.push(value);
        }
    }
    if rest.is_empty() {
        return Cut { values, side: Side::Before };
    }
    let Some(segment) = shape.segments.get(values.len()) else {
        let side = if shape.attempt { Side::Among } else { Side::Behind };
        return Cut { values, side };
    };
    match rest.first() {
        // No segment begins with these, ascending or descending.
        Some(0) => return Cut { values, side: Side::Before },
        Some(0xff) => return Cut { values, side: Side::Behind },
        _ => {}
    }
    // Descending, the keys at or behind the bytes are those whose value is below whatever comes
    // after all that begins with them.
    let (next, found, none) = match segment.direction {
        Direction::Ascending => (first_from(*segment, rest), Side::Before, Side::Behind),
        Direction::Descending => {
            let turned: Vec<u8> = rest.iter().map(|byte| !byte).collect();
            let next = successor(turned).and_then(|next| first_from(*segment, &next));
            (next, Side::Behind, Side::Before)
        }
    };
    match next {
        Some(value) => {
            values.push(value);
            Cut { values, side: found }
        }
        None => Cut { values, side: none },
    }
}

//! Where a `take` looks: the group, and the stretch of its first open segment outside of which the
//! condition cannot hold.
//!
//! ```text
//! if = "due_at <= now and state = 'open'"     queue:{queue} | {due_at}:{job}
//!       └─ bounds the open segment             └─ front ──┘  └ …‥now ┘
//! ```
//!
//! Rows outside of the bounds are never read. What the condition says beyond them is judged of each
//! row.

use crate::error::Result;
use crate::evaluate::{Scope, evaluate};
use crate::request::inputs::{InputScope, Inputs};
use crate::request::prepare::Prepared;
use crate::request::read::{Reach, intersection, model_key, within};
use crate::request::segments::Filling;
use crate::schema::KeyShape;
use crate::store::Range;
use crate::value::Value;
use bytes::Bytes;
use keyspace::key::Direction;
use keyspace::model::{BinaryOperator, Collection, Expression, ExpressionKind, Function, Segment};

/// Where a take looks; nothing if the condition cannot hold anywhere.
pub(super) fn reach(prepared: &Prepared, inputs: &dyn Inputs) -> Result<Option<Reach>> {
    let collection = prepared.collection()?;
    let shape = prepared.key()?;
    let key = model_key(prepared)?;
    let filling = Filling { collection: &collection.model, filled: &prepared.filled };
    let mut values = Vec::new();
    for segment in key.segments().take_while(|s| prepared.pattern.by.contains(&s.name)) {
        values.push(filling.required(segment, inputs)?);
    }
    let fixed = values.len();
    let front = shape.front(&values)?;
    let range = within(shape, &front, fixed);
    let mut reach = Reach { front, fixed, range, from: None, before: None };
    let (Some(open), Some(condition)) = (key.segments().nth(fixed), &prepared.pattern.condition)
    else {
        return Ok(Some(reach));
    };
    let open = Open { collection: &collection.model, shape, segment: open, values, inputs };
    for part in conjuncts(condition) {
        let Some(bound) = open.bound(part)? else { continue };
        if bound.is_never {
            return Ok(None);
        }
        reach.range = intersection(&reach.range, &open.range(&reach.range, &bound)?);
        // Slices are found by these; both ends of what they name are looked at.
        reach.from = bound.low.map(|(value, _)| value).or(reach.from);
        reach.before = bound.high.map(|(value, _)| value).or(reach.before);
    }
    Ok(Some(reach))
}

/// The parts of a condition that must all hold.
fn conjuncts(condition: &Expression) -> Vec<&Expression> {
    match &condition.kind {
        ExpressionKind::Binary(BinaryOperator::And, left, right) => {
            let mut parts = conjuncts(left);
            parts.extend(conjuncts(right));
            parts
        }
        _ => vec![condition],
    }
}

/// What a part of a condition says about the open segment.
#[derive(Default)]
struct Bound {
    /// The smallest value, and whether it is in the range.
    low: Option<(Value, bool)>,
    /// The largest value, and whether it is in the range.
    high: Option<(Value, bool)>,
    /// Nothing fulfils it: a comparison with null.
    is_never: bool,
}

/// The first segment that a call leaves open.
struct Open<'a> {
    collection: &'a Collection,
    shape: &'a KeyShape,
    segment: &'a Segment,
    values: Vec<Value>,
    inputs: &'a dyn Inputs,
}

impl Open<'_> {
    /// What a comparison of the segment's member with something known says.
    fn bound(&self, part: &Expression) -> Result<Option<Bound>> {
        let ExpressionKind::Binary(operator, left, right) = &part.kind else { return Ok(None) };
        let (operator, member, known) = match (&left.kind, &right.kind) {
            (ExpressionKind::Member(name), _) if right.members().is_empty() => {
                (*operator, name, right)
            }
            (_, ExpressionKind::Member(name)) if left.members().is_empty() => {
                (turned(*operator), name, left)
            }
            _ => return Ok(None),
        };
        let Some(of) = self.collection.member_type(member).filter(|_| self.is_made_of(member))
        else {
            return Ok(None);
        };
        let scope = InputScope { inputs: self.inputs, row: None };
        let value = evaluate(known, &scope, Some(of.required()))?;
        if value.is_null() {
            return Ok(Some(Bound { is_never: true, ..Bound::default() }));
        }
        // A function may bring together what the comparison keeps apart.
        let Some(grows) = self.grows() else { return Ok(None) };
        let value = self.made(value)?;
        if value.is_null() {
            return Ok(None);
        }
        let strict = self.is_plain();
        Ok(match operator {
            BinaryOperator::Equal => Some(Bound {
                low: Some((value.clone(), true)),
                high: Some((value, true)),
                is_never: false,
            }),
            _ if !grows => None,
            BinaryOperator::Less => Some(high(value, !strict)),
            BinaryOperator::LessOrEqual => Some(high(value, true)),
            BinaryOperator::Greater => Some(low(value, !strict)),
            BinaryOperator::GreaterOrEqual => Some(low(value, true)),
            _ => None,
        })
    }

    fn is_made_of(&self, member: &str) -> bool {
        match &self.segment.source {
            Some(source) => source.members().as_slice() == [member],
            None => self.segment.name == member,
        }
    }

    fn is_plain(&self) -> bool {
        self.segment.function().is_none()
    }

    /// Whether the segment grows with its member; nothing if equal members may differ there.
    fn grows(&self) -> Option<bool> {
        let Some(source) = &self.segment.source else { return Some(true) };
        if source.calls(Function::Each) {
            return None;
        }
        let functions = Function::ALL.into_iter().filter(|function| source.calls(*function));
        let steady = |f: Function| matches!(f, Function::Floor | Function::Day | Function::Month);
        Some(functions.into_iter().all(steady))
    }

    /// What entries hold for a value of the member.
    fn made(&self, value: Value) -> Result<Value> {
        match &self.segment.source {
            Some(source) if !self.is_plain() => {
                evaluate(source, &One(&value), Some(&self.segment.segment_type))
            }
            _ => Ok(value),
        }
    }

    /// The keys within a bound.
    fn range(&self, all: &Range, bound: &Bound) -> Result<Range> {
        let descending = self
            .shape
            .segments
            .get(self.values.len())
            .is_some_and(|segment| segment.direction == Direction::Descending);
        let (first, last) = match descending {
            false => (&bound.low, &bound.high),
            true => (&bound.high, &bound.low),
        };
        let start = match first {
            Some((value, included)) => self.edge(value, !*included)?,
            None => all.start.clone(),
        };
        let end = match last {
            Some((value, included)) => self.edge(value, *included)?,
            None => all.end.clone(),
        };
        Ok(Range { start, end })
    }

    /// Before the keys with this value, or behind them.
    fn edge(&self, value: &Value, behind: bool) -> Result<Bytes> {
        let mut bytes = self.shape.front(self.values.iter().chain([value]))?;
        if behind {
            // Sorts after whatever can begin a further segment.
            bytes.push(0xff);
        }
        Ok(Bytes::from(bytes))
    }
}

fn high(value: Value, included: bool) -> Bound {
    Bound { high: Some((value, included)), ..Bound::default() }
}

fn low(value: Value, included: bool) -> Bound {
    Bound { low: Some((value, included)), ..Bound::default() }
}

/// The same comparison, read from the other side.
fn turned(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessOrEqual => BinaryOperator::GreaterOrEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterOrEqual => BinaryOperator::LessOrEqual,
        other => other,
    }
}

/// The one member a source is made of.
struct One<'a>(&'a Value);

impl Scope for One<'_> {
    fn member(&self, _name: &str) -> Result<Value> {
        Ok(self.0.clone())
    }

    fn argument(&self, _name: &str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn step_member(&self, _step: &str, _name: &str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn now(&self) -> i64 {
        0
    }

    fn caller(&self) -> Result<Value> {
        Ok(Value::Null)
    }
}

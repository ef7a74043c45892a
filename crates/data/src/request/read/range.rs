//! The range of a list: what the call fixes of the key, and which stretch of the next segment.
//!
//! ```text
//! group │ fixed segments │ from ‥ before, starts, under │ the rest
//! └────── front ────────┘ └──── the open segment ─────┘
//! ```
//!
//! Whatever a call or a cursor says, a range never leaves the children of its front.

use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Inputs;
use crate::request::prepare::Prepared;
use crate::request::segments::{Filling, fitted};
use crate::schema::KeyShape;
use crate::store::Range;
use crate::value::Value;
use bytes::Bytes;
use keyspace::key::{self, KeyRange};
use keyspace::model::{self, Segment};

/// Where a list reads.
#[derive(Debug)]
pub(in crate::request) struct Reach {
    /// The key up to what the call fixes.
    pub front: Vec<u8>,
    /// How many segments that is.
    pub fixed: usize,
    /// What may be read.
    pub range: Range,
    /// The bounds of the open segment.
    pub from: Option<Value>,
    /// The first value that is no longer wanted.
    pub before: Option<Value>,
}

impl Reach {
    /// Where a call of a list reads.
    pub fn of(prepared: &Prepared, inputs: &dyn Inputs) -> Result<Reach> {
        let collection = prepared.collection()?;
        let shape = prepared.key()?;
        let key = model_key(prepared)?;
        let by = |segment: &&Segment| prepared.pattern.by.contains(&segment.name);
        let fixed = key.segments().take_while(by).count();
        if fixed < shape.group {
            return Err(Error::new(ErrorKind::Internal, "a list does not fix its group"));
        }
        let front = match inputs.key_front(fixed) {
            Some(values) => shape.front(values)?,
            None => {
                let filling = Filling { collection: &collection.model, filled: &prepared.filled };
                let values = key.segments().take(fixed);
                let values = values.map(|segment| filling.required(segment, inputs));
                shape.front(&values.collect::<Result<Vec<Value>>>()?)?
            }
        };
        let mut reach = Reach { range: within(shape, &front, fixed), front, fixed, ..Reach::new() };
        if let Some(open) = key.segments().nth(fixed) {
            reach.narrow(shape, open, inputs)?;
        }
        Ok(reach)
    }

    fn new() -> Self {
        let range = Range { start: Bytes::new(), end: Bytes::new() };
        Reach { front: Vec::new(), fixed: 0, range, from: None, before: None }
    }

    /// Applies what the call says about the open segment.
    fn narrow(&mut self, shape: &KeyShape, open: &Segment, inputs: &dyn Inputs) -> Result<()> {
        let Some(segment) = shape.segments.get(self.fixed).copied() else { return Ok(()) };
        let of = &open.segment_type;
        if *of == model::Type::Path {
            if let Some(elements) = given("under", of, inputs)? {
                let elements = path(&elements)?;
                let under = key::under(&self.front, segment.direction, &elements);
                self.cut(under.map_err(|error| of_argument("under", error))?);
            }
            return Ok(());
        }
        let fit = |value: Option<Value>| value.map(|value| fitted(open, value, false)).transpose();
        self.from = fit(given("from", of, inputs)?)?;
        self.before = fit(given("before", of, inputs)?)?;
        if self.from.is_some() || self.before.is_some() {
            let from = self.from.as_ref().and_then(Value::as_segment);
            let before = self.before.as_ref().and_then(Value::as_segment);
            let between = key::between(&self.front, segment, from.as_ref(), before.as_ref());
            self.cut(between.map_err(|error| of_argument("from, before", error))?);
        }
        if *of == model::Type::Text
            && let Some(Value::Text(start)) = fit(given("starts", of, inputs)?)?
        {
            let starts = key::starts(&self.front, segment.direction, &start);
            self.cut(starts.map_err(|error| of_argument("starts", error))?);
        }
        Ok(())
    }

    fn cut(&mut self, to: KeyRange) {
        self.range = intersection(&self.range, &Range::from(to));
    }
}

/// The keys of a front; of a whole key, that key alone.
pub(in crate::request) fn within(shape: &KeyShape, front: &[u8], fixed: usize) -> Range {
    if fixed < shape.segments.len() || shape.attempt {
        return shape.children(front);
    }
    let mut end = front.to_vec();
    end.push(0);
    Range { start: Bytes::copy_from_slice(front), end: Bytes::from(end) }
}

/// What two ranges share.
pub(in crate::request) fn intersection(one: &Range, other: &Range) -> Range {
    let (start, end) = ((&one.start).max(&other.start), (&one.end).min(&other.end));
    Range { start: start.clone(), end: end.clone() }
}

/// The key a pattern goes by, as the file says it.
pub(in crate::request) fn model_key(prepared: &Prepared) -> Result<&model::Key> {
    let missing = || Error::new(ErrorKind::Internal, "a pattern has no key");
    prepared.pattern.key().ok_or_else(missing)
}

/// What a call, or a binding, says to steer a page; null says nothing.
fn given(name: &str, of: &model::Type, inputs: &dyn Inputs) -> Result<Option<Value>> {
    Ok(inputs.argument(name, Some(of))?.filter(|value| !value.is_null()))
}

fn path(value: &Value) -> Result<Vec<String>> {
    let wrong = || {
        Error::new(ErrorKind::Argument, "an argument is not of its type")
            .with("argument", "under")
            .with("type", "[text]")
    };
    match value {
        Value::Path(parts) => Ok(parts.clone()),
        Value::List(parts) => {
            let texts = parts.iter().map(|part| part.as_text().map(str::to_string));
            texts.collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn of_argument(name: &'static str, error: key::Error) -> Error {
    Error::from(error).with("argument", name)
}

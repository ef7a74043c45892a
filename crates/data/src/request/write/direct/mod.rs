//! The direct way of inserts and puts that look at nothing first: from what is given to one batch.
//!
//! ```text
//! given ─▶ values, borrowed ─▶ one buffer: key, content, entries of each row ─▶ batch ─▶ answer
//!             └─ anything unusual ─▶ nothing: the ordinary way, from the beginning
//! ```
//!
//! Where each value comes from is looked up when a pattern is prepared. Whatever is wrong with a
//! call is left to the ordinary way to say, so that it is said once; nothing may have been sent by
//! then. Only for calls without an id of their own, and for batches that any store takes: where one
//! reaches a place only, those of one row that has no version, and no entries that lie elsewhere.

mod sheet;

use super::attempt::{another_call, indeterminate};
use super::defaults::{segment_value, slot_value};
use super::ids::CallIds;
use super::part::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::announce;
use crate::request::answer::{Answer, Changed};
use crate::request::call::Given;
use crate::request::inputs::CallInputs;
use crate::request::{Call, Runtime};
use crate::schema::{CollectionSchema, IndexSchema, constant};
use crate::session::Session;
use crate::store::{Batch, Conflict, Outcome, Where};
use crate::value::Value;
use keyspace::model::{Argument, ArgumentRole, Atomicity, Mode, Pattern, StoreKind, Type, Verb};
use sheet::{Sheet, Unsent};
use std::borrow::Cow;

/// How a pattern goes the direct way: made once.
#[derive(Debug)]
pub(in crate::request) struct Direct {
    /// Which argument holds the rows of a call with `many`.
    rows: Option<usize>,
    segments: Vec<Origin>,
    slots: Vec<Origin>,
    /// Whether a row must not be there.
    expects: bool,
}

/// Where a value of a new row comes from.
#[derive(Debug)]
enum Origin {
    /// From an argument, as it is given.
    Given {
        /// Its position in a row of a call with `many`.
        row: Option<usize>,
        /// Its position in the call.
        call: Option<usize>,
        /// What it is if it is left out.
        otherwise: Option<Value>,
        /// Whether it may be null.
        nullable: bool,
        /// Whether it may be an empty text.
        empty: bool,
    },
    /// From the caller, the clock, chance or an expression: worked out for each row.
    Worked,
}

impl Direct {
    /// How a pattern goes the direct way, if it does.
    pub(in crate::request) fn new(
        kind: StoreKind,
        pattern: &Pattern,
        collection: &CollectionSchema,
        filled: &[String],
        reads: bool,
    ) -> Option<Direct> {
        let is_direct = matches!(pattern.verb, Verb::Insert | Verb::Put)
            && !reads
            && !pattern.if_version
            && match kind.atomicity() {
                Atomicity::WholeStore => matches!(collection.mode, Mode::Plain | Mode::Conditional),
                Atomicity::Group => {
                    let is_one = pattern.many.is_none() && collection.kept == Mode::Plain;
                    is_one && collection.indexes.iter().all(|index| is_sent_along(kind, index))
                }
            };
        if !is_direct {
            return None;
        }
        let list = |argument: &Argument| matches!(&argument.role, ArgumentRole::Rows(_));
        let is_rows = |argument: &Argument| argument.name == "rows" && list(argument);
        let rows = match pattern.many {
            Some(_) => Some(pattern.arguments.iter().position(is_rows)?),
            None => None,
        };
        let each = match rows.and_then(|rows| pattern.arguments.get(rows)).map(|a| &a.role) {
            Some(ArgumentRole::Rows(each)) => each.as_slice(),
            _ => &[],
        };
        let sources = Sources { pattern, each, filled };
        let segments = collection.model.key.segments().enumerate().map(|(position, segment)| {
            let made = segment.default.as_ref().is_some_and(|default| !default.is_constant());
            if made && pattern.verb == Verb::Insert || segment.source.is_some() {
                return Origin::Worked;
            }
            let (name, of) = (&segment.name, &segment.segment_type);
            let default = segment.default.as_ref().filter(|default| default.is_constant());
            let default = default.map(|default| constant(default, of)).filter(|v| !v.is_null());
            sources.origin(name, of, default, position >= collection.key.group)
        });
        let segments = segments.collect();
        let slots = collection.slots.iter().enumerate().map(|(position, slot)| {
            let field = collection.model.fields().get(position);
            let (name, of) = (&slot.name, &slot.slot_type);
            let otherwise = match field.map(|field| &field.default) {
                Some(Some(default)) if !default.is_constant() => return Origin::Worked,
                Some(Some(default)) => Some(constant(default, of.required())),
                Some(None) if of.is_optional() => Some(Value::Null),
                Some(None) | None => None,
            };
            sources.origin(name, of, otherwise, true)
        });
        let slots = slots.collect();
        let expects = pattern.verb == Verb::Insert && collection.mode == Mode::Conditional;
        Some(Direct { rows, segments, slots, expects })
    }

    /// The batch of a call, and what it is answered; nothing if it must go the ordinary way.
    pub(super) fn ready(
        &self,
        runtime: &Runtime,
        session: &Session<'_>,
        call: &Call<'_>,
    ) -> Option<Ready> {
        let prepared = call.pattern;
        let ids = CallIds::new(runtime, session, call);
        let makers = ids.makers(1);
        let part = Part {
            pattern: &prepared.pattern,
            collection: prepared.collection.as_ref()?,
            shape: prepared.shape.as_ref()?,
            filled: &prepared.filled,
            reads: false,
            around: None,
            ids: makers.of(0),
        };
        let inputs = CallInputs::new(call, session.now);
        let rows = match self.rows {
            None => None,
            Some(at) => match (&prepared.pattern.arguments.get(at)?.role, call.given.get(at)?) {
                (ArgumentRole::Rows(each), Given::Rows(rows)) => Some((each, rows)),
                _ => return None,
            },
        };
        let count = rows.map_or(1, |(_, rows)| rows.len());
        if count == 0 {
            return None;
        }
        let mut sheet = Sheet::new(part.collection, count);
        let mut values = Vec::with_capacity(self.segments.len() + self.slots.len());
        for number in 0..count {
            let given = match rows {
                Some((each, rows)) => Some((each.as_slice(), rows.get(number)?.as_slice())),
                None => None,
            };
            values.clear();
            self.fill(&part, &call.given, given, &inputs, &mut values)?;
            let (segments, slots) = values.split_at_checked(self.segments.len())?;
            sheet.add(segments, slots, session.now)?;
        }
        let id = ids.of_call();
        let unsent = sheet.finish(part.shape, id, self.expects)?;
        let Unsent { checks, writes, made, claims } = unsent;
        let batch = Batch { id, now: session.now, checks, writes, deadline: session.deadline };
        Some(Ready { batch, made, claims, expects: self.expects })
    }

    /// The values of one row; nothing if one is missing, or may not be what it is.
    fn fill<'v>(
        &'v self,
        part: &Part<'_>,
        given: &'v [Given],
        row: Option<(&'v [Argument], &'v [Given])>,
        inputs: &CallInputs<'v>,
        values: &mut Vec<Cow<'v, Value>>,
    ) -> Option<()> {
        let in_row = row.map(|(_, row)| row).unwrap_or_default();
        let inputs = match row {
            Some((each, row)) => &inputs.row(each, row),
            None => inputs,
        };
        let mut segments = part.collection.model.key.segments().enumerate();
        for origin in &self.segments {
            let segment = segments.next()?;
            values.push(match origin.value(in_row, given) {
                Some(value) => Cow::Borrowed(value?),
                None => Cow::Owned(segment_value(part, segment, inputs).ok()?),
            });
        }
        for (slot, origin) in part.collection.slots.iter().enumerate().zip(&self.slots) {
            values.push(match origin.value(in_row, given) {
                Some(value) => Cow::Borrowed(value?),
                None => Cow::Owned(slot_value(part, slot, inputs).ok()?),
            });
        }
        Some(())
    }
}

/// Whether the entries of an index are sent with their row to a store that scales out: those that
/// lie in no slices, where plain rows of all places are written together.
fn is_sent_along(kind: StoreKind, index: &IndexSchema) -> bool {
    matches!(kind, StoreKind::Cassandra | StoreKind::Scylla)
        && !index.model.unique
        && index.key.slices.is_none()
}

/// What a pattern can take values from.
struct Sources<'a> {
    pattern: &'a Pattern,
    each: &'a [Argument],
    filled: &'a [String],
}

impl Sources<'_> {
    fn origin(&self, name: &str, of: &Type, otherwise: Option<Value>, empty: bool) -> Origin {
        let is_bound = self.pattern.bind.iter().any(|bound| bound.name.value == name);
        if is_bound || self.filled.iter().any(|filled| filled == name) {
            return Origin::Worked;
        }
        let position = |arguments: &[Argument]| arguments.iter().position(|a| a.name == name);
        let (row, call) = (position(self.each), position(&self.pattern.arguments));
        Origin::Given { row, call, otherwise, nullable: of.is_optional(), empty }
    }
}

impl Origin {
    /// The value as it is given, which may be wrong; nothing if it has to be worked out.
    #[inline]
    fn value<'v>(&'v self, in_row: &'v [Given], given: &'v [Given]) -> Option<Option<&'v Value>> {
        let Origin::Given { row, call, otherwise, nullable, empty } = self else { return None };
        let own = row.and_then(|row| in_row.get(row));
        let found = own.or_else(|| call.and_then(|call| given.get(call)));
        let value = found.and_then(Given::value).or(otherwise.as_ref());
        Some(value.filter(|value| match value {
            Value::Null => *nullable,
            Value::Text(text) => *empty || !text.is_empty(),
            _ => true,
        }))
    }
}

/// A batch that was not sent yet.
pub(super) struct Ready {
    batch: Batch,
    made: Vec<Changed>,
    /// The row and the index of each claim, in the order of their checks.
    claims: Vec<(usize, usize)>,
    expects: bool,
}

impl Ready {
    /// Sends it.
    pub(super) async fn commit(self, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
        session.usage.attempts += 1;
        let shape = call.pattern.collection.as_ref().map(|collection| &collection.key);
        if let Some(shape) = shape.filter(|shape| shape.slices.is_some())
            && let [row] = self.made.as_slice()
        {
            announce(session, self.batch.id, shape, &row.key).await?;
        }
        match session.commit_new(&self.batch).await? {
            Outcome::Committed { totals } if !totals.is_empty() => Err(another_call(self.batch.id)),
            Outcome::Committed { .. } => self.answer(call),
            Outcome::Indeterminate { .. } => Err(indeterminate(self.batch.id)),
            Outcome::Conflict(conflict) => Err(self.conflict(call, conflict)),
        }
    }

    fn answer(mut self, call: &Call<'_>) -> Result<Answer> {
        if call.pattern.pattern.many.is_some() {
            return Ok(Answer::ChangedRows(self.made));
        }
        let missing = || Error::new(ErrorKind::Internal, "a call changes nothing");
        self.made.pop().map(Answer::Changed).ok_or_else(missing)
    }

    /// What a check that did not hold means.
    fn conflict(&self, call: &Call<'_>, conflict: Conflict) -> Error {
        let unknown = || Error::new(ErrorKind::Internal, "a store named a part that no batch has");
        let Some(collection) = &call.pattern.collection else { return unknown() };
        let rows = if self.expects { self.made.len() } else { 0 };
        let (row, error) = match conflict.at {
            Where::Check(row) if row < rows => {
                let there = Error::new(ErrorKind::Conflict, "the row is already there");
                (row, there.with("collection", collection.name()))
            }
            Where::Check(check) => {
                let Some((row, index)) = self.claims.get(check - rows) else { return unknown() };
                let index = collection.indexes.get(*index);
                let taken = Error::new(ErrorKind::Taken, "a unique value belongs to another row")
                    .with("collection", collection.name())
                    .with("index", index.map_or("", |index| index.name()));
                (*row, taken)
            }
            Where::Write(_) => return unknown(),
        };
        match call.pattern.pattern.many {
            Some(_) => error.with("row", row),
            None => error,
        }
    }
}

//! The steps of one call: those of an `atomic`, or the one of a pattern called by itself.

use super::ids::{Maker, Makers};
use super::inputs::{Known, RowInputs};
use super::part::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::request::call::{Call, Given};
use crate::request::inputs::{CallInputs, find};
use crate::request::prepare::{Prepared, PreparedStep};
use crate::schema::CollectionSchema;
use keyspace::model::{Argument, ArgumentRole, Expression, ExpressionKind, Step, StepAction};
use std::sync::Arc;

/// The steps of one call.
pub(super) struct Script<'a> {
    /// The steps, in order.
    pub steps: Vec<ScriptStep<'a>>,
    /// Whether they are those of an `atomic`.
    pub is_atomic: bool,
    inputs: CallInputs<'a>,
}

/// One step.
pub(super) struct ScriptStep<'a> {
    /// Its name, in an `atomic`.
    pub name: Option<&'a str>,
    /// What it does.
    pub action: Action<'a>,
    /// The rows it is done to.
    pub rows: Rows<'a>,
    /// The earlier steps whose rows give its key.
    pub key_from: &'a [usize],
    /// All earlier steps whose rows it uses.
    pub all_from: &'a [usize],
    step: Option<&'a Step>,
}

/// What a step does.
pub(super) enum Action<'a> {
    /// Changes rows.
    Run(Part<'a>),
    /// Looks at a row.
    Check(Look<'a>),
}

/// A row that is only looked at.
pub(super) struct Look<'a> {
    /// Its collection.
    pub collection: &'a Arc<CollectionSchema>,
    /// The unique index it is found through.
    pub index: Option<usize>,
    /// The segments and fields that the caller fills.
    pub filled: &'a [String],
    /// What must hold of it.
    pub condition: Option<&'a Expression>,
}

/// The rows a step is done to.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// One.
    One,
    /// Those of a list: the arguments of each, and what is given for them.
    Many(&'a [Argument], &'a [Vec<Given>]),
}

impl Rows<'_> {
    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Rows::One => 1,
            Rows::Many(_, rows) => rows.len(),
        }
    }

    /// The number an error names; none where there is one row only.
    pub fn number(&self, row: usize) -> Option<usize> {
        matches!(self, Rows::Many(..)).then_some(row)
    }
}

impl<'a> Script<'a> {
    /// The one step of a pattern called by itself.
    pub fn single(call: &'a Call<'_>, now: i64, makers: &'a Makers<'_>) -> Result<Self> {
        let prepared = call.pattern;
        let part = Part {
            pattern: &prepared.pattern,
            collection: prepared.collection()?,
            shape: prepared.shape()?,
            filled: &prepared.filled,
            reads: prepared.reads,
            around: None,
            ids: makers.of(0),
        };
        let rows = match prepared.pattern.many {
            Some(most) => list(call, "rows", most)?,
            None => Rows::One,
        };
        let step = ScriptStep {
            name: None,
            action: Action::Run(part),
            rows,
            key_from: &[],
            all_from: &[],
            step: None,
        };
        let inputs = CallInputs::new(call, now);
        Ok(Script { steps: vec![step], is_atomic: false, inputs })
    }

    /// The steps of an `atomic`.
    pub fn atomic(call: &'a Call<'_>, now: i64, makers: &'a Makers<'_>) -> Result<Self> {
        let prepared = call.pattern;
        let pairs = prepared.pattern.steps.iter().zip(&prepared.steps).enumerate();
        let steps =
            pairs.map(|(number, pair)| ScriptStep::new(call, prepared, pair, makers.of(number)));
        let steps = steps.collect::<Result<Vec<_>>>()?;
        Ok(Script { steps, is_atomic: true, inputs: CallInputs::new(call, now) })
    }

    /// The inputs of one row of a step.
    pub fn inputs<'i>(
        &'i self,
        step: &'i ScriptStep<'a>,
        row: usize,
        known: &'i Known,
    ) -> RowInputs<'i>
    where
        'a: 'i,
    {
        let given = match step.rows {
            Rows::Many(each, rows) => rows.get(row).map(|given| (each, given.as_slice())),
            Rows::One => None,
        };
        let call = match given {
            Some((each, given)) => self.inputs.row(each, given),
            None => self.inputs,
        };
        let run = match &step.action {
            Action::Run(part) => Some(part.pattern),
            Action::Check(_) => None,
        };
        RowInputs { call, step: step.step, run, known }
    }

    /// Adds to an error which step and which row it concerns.
    pub fn place(&self, error: Error, step: usize, row: usize) -> Error {
        let Some(of) = self.steps.get(step) else { return error };
        let error = match of.name {
            Some(name) => error.with("step", name),
            None => error,
        };
        match of.rows.number(row) {
            Some(number) => error.with("row", number),
            None => error,
        }
    }
}

impl<'a> ScriptStep<'a> {
    fn new(
        call: &'a Call<'_>,
        atomic: &'a Prepared,
        (step, ready): (&'a Step, &'a PreparedStep),
        ids: Maker<'a>,
    ) -> Result<Self> {
        let (action, rows) = match &step.action {
            StepAction::Run(run) => {
                let part = Part {
                    pattern: run,
                    collection: &ready.collection,
                    shape: &ready.shape,
                    filled: &ready.filled,
                    reads: ready.reads,
                    around: Some((&step.bind, &atomic.pattern.bind)),
                    ids,
                };
                let rows = match run.many {
                    Some(most) => list(call, list_name(step), most)
                        .map_err(|error| error.with("step", &step.name))?,
                    None => Rows::One,
                };
                (Action::Run(part), rows)
            }
            StepAction::Check { condition, .. } => {
                let look = Look {
                    collection: &ready.collection,
                    index: ready.index,
                    filled: &ready.filled,
                    condition: condition.as_ref(),
                };
                (Action::Check(look), Rows::One)
            }
        };
        Ok(ScriptStep {
            name: Some(&step.name),
            action,
            rows,
            key_from: &ready.key_from,
            all_from: &ready.all_from,
            step: Some(step),
        })
    }
}

/// The argument of the call that holds the rows of a step.
fn list_name(step: &Step) -> &str {
    let bound = step.bind.iter().find(|bound| bound.name.value == "rows");
    match bound.map(|bound| &bound.expression.kind) {
        Some(ExpressionKind::Argument(name)) => name,
        _ => "rows",
    }
}

/// The rows that a call gives as a list.
fn list<'a>(call: &'a Call<'_>, name: &str, most: u64) -> Result<Rows<'a>> {
    let arguments = &call.pattern.pattern.arguments;
    let argument = arguments.iter().find(|argument| argument.name == name);
    let given = find(arguments, &call.given, name);
    let (Some(ArgumentRole::Rows(each)), Some(Given::Rows(rows))) =
        (argument.map(|argument| &argument.role), given)
    else {
        return Err(Error::new(ErrorKind::Argument, "an argument is rows, not one value")
            .with("argument", name));
    };
    if rows.len() as u64 > most {
        return Err(Error::new(ErrorKind::Argument, "a call has too many rows")
            .with("argument", name)
            .with("most", most)
            .with("given", rows.len()));
    }
    Ok(Rows::Many(each, rows))
}

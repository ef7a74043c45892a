//! One attempt until its commit: rows are found, read and changed, step by step.
//!
//! ```text
//! step   waits for the steps of its key ─▶ located ─▶ read ─▶ waits for what it uses ─▶ changed
//!        └ all steps whose keys are known are read together: one wait, as the plan counts
//! ```
//!
//! Changes are made in the order of the steps, so that two of one row add up; checks see the rows
//! as they were read. A step that fails does not end the attempt: a later one may find that all of
//! it was done before, which goes ahead of every failure.

mod reading;

use super::defaults::segments;
use super::inputs::Known;
use super::part::{Applied, Part};
use super::rows::RowSet;
use super::script::{Action, Look, Script, ScriptStep};
use crate::change::CounterAdd;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::Inputs;
use crate::request::segments::Filling;
use crate::session::Session;
use crate::store::{Key, Keyed};
use crate::value::Value;
use keyspace::model::{Atomicity, Verb};

/// One attempt.
pub(super) struct Work<'a> {
    /// What is to be done.
    pub script: &'a Script<'a>,
    /// The rows it concerns.
    pub rows: RowSet,
    /// What is added to counters.
    pub adds: Vec<CounterAdd>,
    /// How far each step is.
    pub steps: Vec<StepWork>,
    /// Whether something that was read does not fit together: all must be read again.
    pub is_stale: bool,
    /// What later steps may use.
    pub known: Known,
    failures: Vec<(usize, Error)>,
    now: Milliseconds,
}

/// How far a step is.
#[derive(Default)]
pub(super) struct StepWork {
    /// The places of its rows.
    pub places: Vec<usize>,
    /// What became of each row.
    pub made: Vec<Made>,
    /// The claim that leads to its row.
    pub claim: Option<Claim>,
    /// Where it stands.
    pub state: State,
}

/// A claim, and what lies there once it is read.
pub(super) struct Claim {
    key: Key,
    /// The claim, if it is there.
    pub found: Option<Keyed>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made {
    /// It was written, or removed, or stays as it is.
    Row(Applied),
    /// So much was added to it: the position among the adds.
    Added(usize),
}

/// Where a step stands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It waits for the steps of its key.
    #[default]
    Waiting,
    /// The claim that leads to its row is being read.
    Claimed,
    /// The keys of its rows are known.
    Located,
    /// It is done.
    Done,
    /// It cannot be done.
    Failed,
}

/// Whether some steps are known.
#[derive(PartialEq, Eq)]
pub(super) enum Standing {
    /// All of them.
    Known,
    /// Not all, for now.
    NotYet,
    /// One has failed.
    Never,
}

impl<'a> Work<'a> {
    /// An attempt that has done nothing yet.
    pub fn new(script: &'a Script<'a>, now: Milliseconds) -> Self {
        let names = script.steps.iter().map(|step| step.name.unwrap_or_default());
        Work {
            script,
            rows: RowSet::default(),
            adds: Vec::new(),
            steps: script.steps.iter().map(|_| StepWork::default()).collect(),
            is_stale: false,
            failures: Vec::new(),
            known: Known::nothing_of(names),
            now,
        }
    }

    /// Does everything up to the commit.
    pub async fn gather(&mut self, session: &mut Session<'_>) -> Result<()> {
        loop {
            let mut wanted = self.advance()?;
            if wanted.is_empty() || self.is_stale {
                return Ok(());
            }
            if session.schema().kind().atomicity() == Atomicity::Group {
                self.read_along(&mut wanted)?;
            }
            let rows = session.get(&wanted).await?;
            for (key, row) in wanted.into_iter().zip(rows) {
                self.take_in(&key, row)?;
            }
        }
    }

    /// Whether a step found all its rows there: then the whole was done before.
    pub fn is_done_before(&self) -> bool {
        self.steps.iter().any(|step| {
            let existed = |made: &Made| matches!(made, Made::Row(Applied::Existed));
            !step.made.is_empty()
                && step.made.len() == step.places.len()
                && step.made.iter().all(existed)
        })
    }

    /// The failure of the first step that failed, its checks judged.
    pub fn failure(&mut self) -> Result<Option<Error>> {
        for number in 0..self.steps.len() {
            if let Some(error) = self.judge_check(number)? {
                self.failures.push((number, error));
            }
        }
        self.failures.sort_by_key(|(number, _)| *number);
        let first = std::mem::take(&mut self.failures).into_iter().next();
        Ok(first.map(|(_, error)| error))
    }

    /// The step, and the row of the step, that adds to a counter.
    pub fn whose_add(&self, add: usize) -> Option<(usize, usize)> {
        self.steps.iter().enumerate().find_map(|(number, step)| {
            let is_it = |made: &Made| matches!(made, Made::Added(own) if *own == add);
            Some((number, step.made.iter().position(is_it)?))
        })
    }

    /// Moves every step as far as what is known allows; answers what must be read next.
    fn advance(&mut self) -> Result<Vec<Key>> {
        let mut wanted = Vec::new();
        loop {
            let mut moved = false;
            for number in 0..self.steps.len() {
                moved |= self.advance_step(number, &mut wanted)?;
            }
            if !moved {
                return Ok(wanted);
            }
        }
    }

    fn advance_step(&mut self, number: usize, wanted: &mut Vec<Key>) -> Result<bool> {
        let step = step_of(self.script, number)?;
        match self.work(number)?.state {
            State::Waiting => match self.standing(step.key_from) {
                Standing::Known => self.locate(number, step, wanted).map(|()| true),
                Standing::NotYet => Ok(false),
                Standing::Never => self.end(number, State::Failed),
            },
            State::Located => {
                if !self.is_read(number, step, wanted)? {
                    return Ok(false);
                }
                match &step.action {
                    Action::Check(look) => self.look(number, look),
                    Action::Run(part) => match self.may_run(number, step) {
                        Standing::Known => self.run(number, step, part),
                        Standing::NotYet => Ok(false),
                        // It may still find its own row, which then goes ahead of what failed.
                        Standing::Never if self.finds_rows(number, part)? => {
                            self.run(number, step, part)
                        }
                        Standing::Never => self.end(number, State::Failed),
                    },
                }
            }
            State::Claimed | State::Done | State::Failed => Ok(false),
        }
    }

    pub(super) fn standing(&self, steps: &[usize]) -> Standing {
        let mut standing = Standing::Known;
        for number in steps.iter().filter(|number| !self.known.has(**number)) {
            match self.steps.get(*number).map(|step| step.state) {
                Some(State::Failed) => return Standing::Never,
                _ => standing = Standing::NotYet,
            }
        }
        standing
    }

    /// Whether all rows that a step would make are there.
    fn finds_rows(&self, number: usize, part: &Part<'_>) -> Result<bool> {
        let makes = match part.pattern.verb {
            Verb::Insert => part.pattern.existing_returned || part.collection.model.immutable,
            Verb::Put => part.collection.model.immutable,
            _ => false,
        };
        for place in &self.work(number)?.places {
            let row = self.rows.get(*place)?;
            if !makes || row.changed || row.content().is_none() {
                return Ok(false);
            }
        }
        Ok(makes)
    }

    /// Changes wait for what they use, and for the changes before them.
    fn may_run(&self, number: usize, step: &ScriptStep<'_>) -> Standing {
        let earlier = self.script.steps.iter().zip(&self.steps).take(number);
        let in_order = earlier
            .filter(|(step, _)| matches!(step.action, Action::Run(_)))
            .all(|(_, work)| matches!(work.state, State::Done | State::Failed));
        if !in_order {
            return Standing::NotYet;
        }
        self.standing(step.all_from)
    }

    /// Works out the keys of a step's rows.
    fn locate(
        &mut self,
        number: usize,
        step: &ScriptStep<'_>,
        wanted: &mut Vec<Key>,
    ) -> Result<()> {
        match &step.action {
            Action::Run(part) => {
                let mut places = Vec::with_capacity(step.rows.count());
                for row in 0..step.rows.count() {
                    let inputs = self.script.inputs(step, row, &self.known);
                    let found = segments(part, &inputs)
                        .and_then(|values| Ok((part.collection.key.encode(&values)?, values)));
                    let (key, values) =
                        found.map_err(|error| self.script.place(error, number, row))?;
                    let known = self.rows.len();
                    let place = self.rows.locate(part.collection, key, values);
                    // Only a row that was known before can be one of these already.
                    let mut earlier = places.iter().take(if place < known { row } else { 0 });
                    if let Some(first) = earlier.position(|own| *own == place) {
                        let twice = part.error(ErrorKind::Argument, "two rows have the same key");
                        return Err(self.script.place(twice, number, row).with("same_as", first));
                    }
                    places.push(place);
                }
                let work = self.work_mut(number)?;
                work.places = places;
                work.state = State::Located;
            }
            Action::Check(look) => {
                let inputs = self.script.inputs(step, 0, &self.known);
                let found = look_key(look, &inputs);
                let (key, values) = found.map_err(|error| self.script.place(error, number, 0))?;
                if look.index.is_some() {
                    wanted.push(key.clone());
                    let work = self.work_mut(number)?;
                    work.claim = Some(Claim { key, found: None });
                    work.state = State::Claimed;
                    return Ok(());
                }
                let place = self.rows.locate(look.collection, key, values);
                let work = self.work_mut(number)?;
                work.places = vec![place];
                work.state = State::Located;
            }
        }
        Ok(())
    }

    pub(super) fn fail(&mut self, number: usize, row: usize, error: Error) {
        self.failures.push((number, self.script.place(error, number, row)));
    }

    pub(super) fn end(&mut self, number: usize, state: State) -> Result<bool> {
        self.work_mut(number)?.state = state;
        Ok(true)
    }

    pub(super) fn work(&self, number: usize) -> Result<&StepWork> {
        self.steps.get(number).ok_or_else(misplaced)
    }

    pub(super) fn work_mut(&mut self, number: usize) -> Result<&mut StepWork> {
        self.steps.get_mut(number).ok_or_else(misplaced)
    }
}

/// A step of the call.
pub(super) fn step_of<'s, 'a>(script: &'s Script<'a>, number: usize) -> Result<&'s ScriptStep<'a>> {
    script.steps.get(number).ok_or_else(misplaced)
}

/// The key of a row that is looked at, or of the claim that leads to it.
fn look_key(look: &Look<'_>, inputs: &dyn Inputs) -> Result<(Key, Vec<Value>)> {
    let filling = Filling { collection: &look.collection.model, filled: look.filled };
    let index = look.index.and_then(|index| look.collection.indexes.get(index));
    let (model, shape) = match index {
        Some(index) => (&index.model.key, &index.key),
        None => (&look.collection.model.key, &look.collection.key),
    };
    let values = model.segments().map(|segment| filling.required(segment, inputs));
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok((shape.encode(&values)?, values))
}

/// A step is asked for that the call does not have.
pub(super) fn misplaced() -> Error {
    Error::new(ErrorKind::Internal, "a step is not where its call says")
}

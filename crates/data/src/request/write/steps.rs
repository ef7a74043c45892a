//! What a step does once its rows are known: asks who may, looks, judges, changes.

use super::add::{amount, count};
use super::claim::{Held, holds_claim};
use super::delete::delete;
use super::gather::{Made, Standing, State, Work, misplaced, step_of};
use super::inputs::KnownRow;
use super::insert::insert;
use super::owner::is_foreign;
use super::part::Part;
use super::put::put;
use super::row::{RowState, RowView};
use super::script::{Action, Look, ScriptStep};
use super::update::{add_to_field, update};
use crate::change::CounterAdd;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::holds;
use crate::request::inputs::{InputScope, Inputs};
use crate::request::{Call, admit};
use crate::session::Session;
use keyspace::model::Verb;

impl Work<'_> {
    /// Judges the memberships that rows of earlier steps lead to. A step whose key is not known has
    /// failed, or is yet to come after a failure: there is no row that it could tell of.
    pub async fn admit(&self, session: &mut Session<'_>, call: &Call<'_>) -> Result<()> {
        let mut rows = Vec::new();
        for (number, ready) in call.pattern.steps.iter().enumerate() {
            let step = step_of(self.script, number)?;
            if ready.admitted_late && self.standing(step.key_from) == Standing::Known {
                let inputs = |row| (ready, self.script.inputs(step, row, &self.known));
                rows.extend((0..step.rows.count()).map(inputs));
            }
        }
        admit::late(session, call, &rows).await
    }

    /// Looks at a row as it was before the batch.
    pub(super) fn look(&mut self, number: usize, look: &Look<'_>) -> Result<bool> {
        let step = step_of(self.script, number)?;
        let place = self.work(number)?.places.first().copied().ok_or_else(misplaced)?;
        let claim = self.steps.get(number).and_then(|step| step.claim.as_ref());
        let claim = claim.and_then(|claim| claim.found.as_ref());
        let row = self.rows.get_mut(place)?;
        let inputs = self.script.inputs(step, 0, &self.known);
        let mut found = row.slots_read()?;
        if let (Some(slots), Some(claim)) = (&found, claim) {
            match holds_claim(look, row, slots, claim)? {
                Held::Yes => {}
                Held::No => found = None,
                Held::Moved => self.is_stale = true,
            }
        }
        if let Some(slots) = &found
            && is_foreign(look.collection, look.filled, slots, &inputs)?
        {
            found = None;
        }
        let Some(slots) = found else {
            self.fail(number, 0, missing(look));
            return self.end(number, State::Failed);
        };
        row.checked = true;
        self.known.learn(number, KnownRow::stored(row, slots));
        self.end(number, State::Done)
    }

    /// Whether the condition of a check holds; the failure if not.
    pub(super) fn judge_check(&self, number: usize) -> Result<Option<Error>> {
        let step = step_of(self.script, number)?;
        let (Action::Check(look), work) = (&step.action, self.work(number)?) else {
            return Ok(None);
        };
        let (Some(condition), State::Done) = (look.condition, work.state) else { return Ok(None) };
        let place = work.places.first().copied().ok_or_else(misplaced)?;
        let row = self.rows.get(place)?;
        let slots = row.slots_read()?.unwrap_or_default();
        let (collection, segments) = (look.collection.as_ref(), row.segments.as_slice());
        let view = RowView { collection, segments, slots: &slots };
        let inputs = self.script.inputs(step, 0, &self.known);
        if holds(condition, &InputScope { inputs: &inputs, row: Some(&view) })? {
            return Ok(None);
        }
        let failed = Error::new(ErrorKind::Conflict, "the row does not fulfil the condition")
            .with("collection", look.collection.name());
        Ok(Some(self.script.place(failed, number, 0)))
    }

    /// Makes the changes of a step.
    pub(super) fn run(
        &mut self,
        number: usize,
        step: &ScriptStep<'_>,
        part: &Part<'_>,
    ) -> Result<bool> {
        let mut failed = None;
        let places = std::mem::take(&mut self.work_mut(number)?.places);
        let mut made = Vec::with_capacity(places.len());
        let removed = match (part.pattern.verb, places.as_slice()) {
            (Verb::Delete, [place]) => Some(KnownRow::of(self.rows.get(*place)?)),
            _ => None,
        };
        for (row, place) in places.iter().enumerate() {
            let inputs = self.script.inputs(step, row, &self.known);
            let state = self.rows.get_mut(*place)?;
            match change(part, &inputs, state, &mut self.adds) {
                Ok(one) => made.push(one),
                Err(error) if is_failure(error.kind()) => {
                    failed = Some((row, error));
                    break;
                }
                Err(error) => return Err(self.script.place(error, number, row)),
            }
        }
        let work = self.work_mut(number)?;
        (work.places, work.made) = (places, made);
        self.learn(number, step, part, removed)?;
        match failed {
            None => self.end(number, State::Done),
            Some((row, error)) => {
                self.fail(number, row, error);
                self.end(number, State::Failed)
            }
        }
    }

    /// What later steps may use of a step's rows.
    fn learn(
        &mut self,
        number: usize,
        step: &ScriptStep<'_>,
        part: &Part<'_>,
        removed: Option<KnownRow>,
    ) -> Result<()> {
        if number + 1 == self.steps.len() {
            return Ok(());
        }
        let places = &self.work(number)?.places;
        let Some(row) = places.first().map(|place| self.rows.get(*place)).transpose()? else {
            return Ok(());
        };
        let known = match (step.rows.number(0), removed, row.content()) {
            (Some(_), _, _) => KnownRow::of_group(row),
            (None, Some(removed), _) => removed,
            (None, None, Some(content)) => {
                let inputs = self.script.inputs(step, 0, &self.known);
                if is_foreign(part.collection, part.filled, &content.slots, &inputs)? {
                    return Ok(());
                }
                KnownRow::of(row)
            }
            // Of a counter, the key is known.
            (None, None, None) if part.collection.model.is_counted() => KnownRow::of(row),
            (None, None, None) => return Ok(()),
        };
        self.known.learn(number, known);
        Ok(())
    }
}

/// Makes one change of one row.
fn change(
    part: &Part<'_>,
    inputs: &dyn Inputs,
    row: &mut RowState,
    adds: &mut Vec<CounterAdd>,
) -> Result<Made> {
    let field = part.pattern.target.as_ref().and_then(|target| target.field.as_deref());
    Ok(Made::Row(match (part.pattern.verb, field) {
        (Verb::Insert, _) => insert(part, inputs, row)?,
        (Verb::Put, _) => put(part, inputs, row)?,
        (Verb::Update, _) => update(part, inputs, row)?,
        (Verb::Delete, _) => delete(part, inputs, row)?,
        (Verb::Add, Some(field)) => add_to_field(part, inputs, row, field, amount(inputs)?)?,
        (Verb::Add, None) => {
            adds.push(count(part, inputs, row)?);
            return Ok(Made::Added(adds.len() - 1));
        }
        _ => return Err(misplaced()),
    }))
}

/// What the state of the store answers a caller, rather than a mistake of the call.
fn is_failure(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::Overflow)
}

/// The row that a check asks for is not there.
pub(super) fn missing(look: &Look<'_>) -> Error {
    Error::new(ErrorKind::NotFound, "there is no such row")
        .with("collection", look.collection.name())
}

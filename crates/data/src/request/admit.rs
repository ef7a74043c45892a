//! Who may call: the words of `allow`, and the caller's row where membership is asked for.
//!
//! ```text
//! allow of the pattern, and of every step but `step` ─▶ caller: somebody? a role?     no read
//!                                                    ─▶ member: the caller's rows     one read
//! rows of earlier steps, as far as a step is bound to them ─▶ late: the same          one read
//! ```
//!
//! This comes before anything else of a call, but for memberships that rows of earlier steps lead
//! to: these rows are read first, as the `atomic` around them allows. It never looks at the row
//! that a membership guards, so that whoever is denied learns nothing about it.

use super::Call;
use super::inputs::{CallInputs, InputScope, Inputs, binding, bound_value};
use super::prepare::{Prepared, PreparedStep};
use super::read::RowMembers;
use super::segments::{Filling, caller_value};
use crate::caller::Caller;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::holds;
use crate::schema::{CollectionSchema, Schema, constant};
use crate::session::Session;
use crate::store::Key;
use crate::value::Value;
use keyspace::model::{Allow, ArgumentRole, Assignment, ExpressionKind, Member, Segment, Type};

/// Judges what can be judged without reading: whether somebody calls, and with which role.
pub fn caller(prepared: &Prepared, caller: &Caller) -> Result<()> {
    let own = &prepared.pattern.allow;
    if *own == Allow::Step {
        return Err(Error::new(ErrorKind::Denied, "the pattern runs only inside an `atomic`")
            .with("pattern", prepared.name()));
    }
    let steps = prepared.steps.iter().filter_map(|step| step.run.as_ref());
    for allow in std::iter::once(own).chain(steps.map(|run| &run.allow)) {
        match allow {
            Allow::Public | Allow::Step => {}
            Allow::Role(role) if caller.has_role(role) => {}
            Allow::Role(role) => {
                return Err(Error::new(ErrorKind::Denied, "the caller has not the role that may")
                    .with("pattern", prepared.name())
                    .with("role", role));
            }
            Allow::Owner | Allow::User | Allow::Member(_) if caller.id().is_some() => {}
            Allow::Owner | Allow::User | Allow::Member(_) => {
                return Err(Error::new(ErrorKind::Denied, "the call must say who calls")
                    .with("pattern", prepared.name()));
            }
        }
    }
    Ok(())
}

/// Whether a membership must be judged.
pub fn asks_member(prepared: &Prepared) -> bool {
    let steps = prepared.steps.iter().filter_map(|step| step.run.as_ref());
    let mut asked = std::iter::once(&prepared.pattern.allow).chain(steps.map(|run| &run.allow));
    asked.any(|allow| matches!(allow, Allow::Member(_)))
}

/// Judges memberships: the caller's row in another collection, for each row a call leads to.
pub async fn member(session: &mut Session<'_>, call: &Call<'_>) -> Result<()> {
    let inputs = CallInputs::new(call, session.now);
    let schema = session.schema().clone();
    let mut asked = Vec::new();
    if let Allow::Member(member) = &call.pattern.pattern.allow {
        let seats = Seats { schema: &schema, member };
        seats.of_call(call.pattern, &inputs, &mut asked)?;
    }
    for (step, prepared) in call.pattern.pattern.steps.iter().zip(&call.pattern.steps) {
        let Some(run) = &prepared.run else { continue };
        if let (Allow::Member(member), false) = (&run.allow, prepared.admitted_late) {
            let seats = Seats { schema: &schema, member };
            let of_step = Step { call, outer: &inputs, bind: &step.bind, prepared };
            seats.of_step(&of_step, &mut asked)?;
        }
    }
    judge(session, call, &inputs, &asked).await
}

/// Judges memberships that rows of earlier steps lead to: each a step, and the inputs of one of its
/// rows.
pub async fn late<I: Inputs>(
    session: &mut Session<'_>,
    call: &Call<'_>,
    rows: &[(&PreparedStep, I)],
) -> Result<()> {
    let schema = session.schema().clone();
    let mut asked = Vec::new();
    for (step, inputs) in rows {
        if let Some(Allow::Member(member)) = step.run.as_ref().map(|run| &run.allow) {
            let filling = Filling { collection: &step.collection.model, filled: &step.filled };
            let value = |segment: &Segment, inputs: &dyn Inputs| filling.value(segment, inputs);
            Seats { schema: &schema, member }.ask(inputs, &value, &mut asked)?;
        }
    }
    judge(session, call, &CallInputs::new(call, session.now), &asked).await
}

/// Reads the rows that must be there, and judges each.
async fn judge(
    session: &mut Session<'_>,
    call: &Call<'_>,
    inputs: &CallInputs<'_>,
    asked: &[Seat<'_>],
) -> Result<()> {
    if asked.is_empty() {
        return Ok(());
    }
    let keys: Vec<Key> = asked.iter().map(|seat| seat.key.clone()).collect();
    let rows = session.get(&keys).await?;
    for (seat, row) in asked.iter().zip(rows) {
        let row = row.filter(|row| row.is_live(session.now));
        let admitted = match (row, &seat.member.condition) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(row), Some(condition)) => {
                let members = RowMembers::new(seat.collection, &seat.key, &row.value);
                holds(condition, &InputScope { inputs, row: Some(&members) })?
            }
        };
        if !admitted {
            return Err(Error::new(
                ErrorKind::Denied,
                "the caller is no member, or not such a one",
            )
            .with("pattern", call.pattern.name())
            .with("member", &seat.member.collection));
        }
    }
    Ok(())
}

/// A row that must be there.
struct Seat<'a> {
    collection: &'a CollectionSchema,
    member: &'a Member,
    key: Key,
}

/// What gives the value of a member's segment.
type Giver<'g> = dyn Fn(&Segment, &dyn Inputs) -> Result<Option<Value>> + 'g;

/// Finds the rows of one membership.
struct Seats<'a> {
    schema: &'a Schema,
    member: &'a Member,
}

impl<'a> Seats<'a> {
    /// For the rows a call leads to.
    fn of_call(
        &self,
        prepared: &Prepared,
        inputs: &CallInputs<'_>,
        asked: &mut Vec<Seat<'a>>,
    ) -> Result<()> {
        let value = |segment: &Segment, inputs: &dyn Inputs| of_target(prepared, segment, inputs);
        match inputs.rows().filter(|_| prepared.pattern.many.is_some()) {
            Some((each, rows)) => {
                rows.iter().try_for_each(|row| self.ask(&inputs.row(each, row), &value, asked))
            }
            None => self.ask(inputs, &value, asked),
        }
    }

    /// For the rows a step of an `atomic` leads to.
    fn of_step(&self, step: &Step<'_>, asked: &mut Vec<Seat<'a>>) -> Result<()> {
        let filled = &step.prepared.filled;
        let filling = Filling { collection: &step.prepared.collection.model, filled };
        let value = |segment: &Segment, inputs: &dyn Inputs| filling.value(segment, inputs);
        let many = step.prepared.run.as_ref().is_some_and(|run| run.many.is_some());
        match step.rows().filter(|_| many) {
            Some(rows) => rows
                .iter()
                .try_for_each(|row| self.ask(&StepInputs { step, outer: row }, &value, asked)),
            None => self.ask(&StepInputs { step, outer: step.outer }, &value, asked),
        }
    }

    fn ask(&self, inputs: &dyn Inputs, value: &Giver<'_>, asked: &mut Vec<Seat<'a>>) -> Result<()> {
        let collection = self.schema.collection(&self.member.collection)?;
        let mut values = Vec::new();
        for segment in collection.model.key.segments() {
            let of = &segment.segment_type;
            values.push(if segment.name == self.member.caller {
                inputs.caller_as(of)?
            } else {
                let found = value(segment, inputs)?.filter(|value| !value.is_null());
                let default = || segment.default.as_ref().map(|default| constant(default, of));
                found.or_else(default).ok_or_else(|| missing(segment))?
            });
        }
        let key = collection.key.encode(&values)?;
        if !asked.iter().any(|seat| seat.key == key && seat.member == self.member) {
            asked.push(Seat { collection, member: self.member, key });
        }
        Ok(())
    }
}

fn missing(segment: &Segment) -> Error {
    Error::new(ErrorKind::Argument, "an argument is missing")
        .with("argument", &segment.name)
        .with("type", &segment.segment_type)
}

/// The value of a member's segment: of the target's key, by name, or of what leads there.
fn of_target(prepared: &Prepared, segment: &Segment, inputs: &dyn Inputs) -> Result<Option<Value>> {
    let of = &segment.segment_type;
    if let (Some(collection), Some(key)) = (&prepared.collection, prepared.pattern.key()) {
        let filling = Filling { collection: &collection.model, filled: &prepared.filled };
        let own = key.segment(&segment.name);
        return filling.value(own.unwrap_or(segment), inputs);
    }
    for step in prepared.steps.iter().filter(|step| step.filled.contains(&segment.name)) {
        if let Some(value) = caller_value(&step.collection.model, &segment.name, of, inputs)? {
            return Ok(Some(value));
        }
    }
    inputs.argument(&segment.name, Some(of))
}

/// A step of an `atomic`, and what the call gives it.
struct Step<'a> {
    call: &'a Call<'a>,
    outer: &'a CallInputs<'a>,
    bind: &'a [Assignment],
    prepared: &'a PreparedStep,
}

impl<'a> Step<'a> {
    /// The rows of the call that the step's list names.
    fn rows(&self) -> Option<Vec<CallInputs<'a>>> {
        let bound = self.bind.iter().find(|bound| bound.name.value == "rows");
        let name = match bound.map(|bound| &bound.expression.kind) {
            Some(ExpressionKind::Argument(name)) => name.as_str(),
            _ => "rows",
        };
        let arguments = &self.call.pattern.pattern.arguments;
        let argument = arguments.iter().find(|argument| argument.name == name)?;
        match (&argument.role, self.call.given(name)) {
            (ArgumentRole::Rows(each), super::Given::Rows(rows)) => {
                Some(rows.iter().map(|row| self.outer.row(each, row)).collect())
            }
            _ => None,
        }
    }
}

/// The inputs of a step: its bindings, its pattern's, and what the call gives.
struct StepInputs<'a> {
    step: &'a Step<'a>,
    outer: &'a CallInputs<'a>,
}

impl Inputs for StepInputs<'_> {
    fn argument(&self, name: &str, of: Option<&Type>) -> Result<Option<Value>> {
        if let Some(bound) = binding(self.step.bind, name) {
            return bound_value(bound, self.outer, of).map(Some);
        }
        let run = self.step.prepared.run.as_ref();
        let own = run.map(|run| run.bind.as_slice()).unwrap_or_default();
        match binding(own, name) {
            Some(bound) => bound_value(bound, self, of).map(Some),
            None => self.outer.argument(name, of),
        }
    }

    fn now(&self) -> Milliseconds {
        self.outer.now()
    }

    fn caller(&self) -> &Caller {
        self.outer.caller()
    }
}

//! KW519: what a condition judges, and what a step hands on, stays what it is until the commit.
//!
//! A counter has no version, so that nothing can say at the commit whether its value is still what
//! was read; and a row that is deleted unread was never known.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Collection, Expression, ExpressionKind, Pattern, Step, StepAction, Verb};
use crate::plan::reads_stored_row;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        if let (Some(target), Some(condition)) = (&pattern.target, &pattern.condition) {
            judged(&target.collection, condition, problems);
        }
        for (number, step) in pattern.steps.iter().enumerate() {
            let bound = step.bind.iter().map(|bound| &bound.expression);
            let mut condition = None;
            if let StepAction::Check { target, condition: Some(own) } = &step.action {
                judged(&target.collection, own, problems);
                condition = Some(own);
            }
            let earlier = pattern.steps.get(..number).unwrap_or_default();
            for expression in bound.chain(condition) {
                handed_on(facts, earlier, expression, problems);
            }
        }
    }
}

/// Reports a condition on a counter that asks for its value.
fn judged(collection: &Collection, condition: &Expression, problems: &mut Vec<Diagnostic>) {
    let mut asked = None;
    condition.walk(&mut |inner| {
        if matches!(&inner.kind, ExpressionKind::Member(name) if name == "value") {
            asked = asked.or(Some(inner));
        }
    });
    let asked = asked.filter(|_| collection.is_counted());
    problems.extend(asked.map(|value| of_counter(collection, value)));
}

/// Reports every use of an earlier step's row that no commit holds.
fn handed_on(
    facts: &Facts<'_>,
    earlier: &[Step],
    expression: &Expression,
    problems: &mut Vec<Diagnostic>,
) {
    expression.walk(&mut |inner| {
        let ExpressionKind::StepMember(step, member) = &inner.kind else { return };
        let Some(step) = earlier.iter().find(|known| known.name == *step) else { return };
        let (target, run) = match &step.action {
            StepAction::Run(run) => (run.target.as_ref(), Some(run)),
            StepAction::Check { target, .. } => (Some(target), None),
        };
        let Some(collection) = target.map(|target| &target.collection) else { return };
        if collection.key.segment(member).is_some() {
            return;
        }
        let unread = |run: &&std::sync::Arc<Pattern>| {
            run.verb == Verb::Delete && !reads_stored_row(facts.keyspace, run)
        };
        if collection.is_counted() {
            problems.push(of_counter(collection, inner).also(step.span, "the step"));
        } else if run.filter(unread).is_some() {
            problems.push(of_deleted(collection, step, member, inner));
        }
    });
}

fn of_counter(collection: &Collection, value: &Expression) -> Diagnostic {
    let name = &collection.name.value;
    let message = format!("`{name}` is counted, and no commit can hold its value to what was read");
    Diagnostic::new(&codes::NOT_HELD, value.span, message)
        .also(collection.name.span, "counted without versions")
        .fix("to let only so much through, make it `value = \"window\"` with a `limit`")
        .fix("or keep the number in a field of a record, and `add` to the field")
}

fn of_deleted(
    collection: &Collection,
    step: &Step,
    member: &str,
    value: &Expression,
) -> Diagnostic {
    let name = &collection.name.value;
    let message = format!("`{}` deletes its row without reading it", step.name);
    Diagnostic::new(&codes::NOT_HELD, value.span, message)
        .also(step.span, "the step")
        .effect(format!("`{member}` would not be known"))
        .fix(format!("look at the row before: `{{ check = \"{name}\", as = \"old\" }}`"))
}

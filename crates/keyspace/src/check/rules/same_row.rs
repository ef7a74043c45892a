//! KW509 and KW518: steps of one batch, and the rows they share.
//!
//! Two steps that write one row leave only the second change; and an id that one step makes is
//! rarely meant to be given again for another.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{DefaultValue, Pattern, Segment, Step, StepAction, Verb};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| !pattern.steps.is_empty()) {
        for (number, step) in pattern.steps.iter().enumerate() {
            let mut earlier = pattern.steps.iter().take(number);
            let twin = earlier.find(|other| writes_same_row(other, step));
            problems.extend(twin.map(|twin| written_twice(twin, step)));
            problems.extend(asked_again(pattern, step));
        }
    }
}

fn run(step: &Step) -> Option<&Pattern> {
    match &step.action {
        StepAction::Run(run) => Some(run),
        StepAction::Check { .. } => None,
    }
}

fn is_made(segment: &Segment, run: &Pattern) -> bool {
    run.verb == Verb::Insert && matches!(segment.default, Some(DefaultValue::New(_)))
}

/// What a segment of the step's key is, in words: what it is bound to, or its own name.
fn value(step: &Step, run: &Pattern, segment: &str) -> String {
    let bound = step.bind.iter().chain(&run.bind).find(|bind| bind.name.value == segment);
    bound.map_or_else(|| format!("${segment}"), |bind| bind.expression.to_string())
}

fn writes_same_row(first: &Step, second: &Step) -> bool {
    let (Some(left), Some(right)) = (run(first), run(second)) else { return false };
    let (Some(own), Some(other)) = (&left.target, &right.target) else { return false };
    own.collection.name.value == other.collection.name.value
        && left.many.is_none()
        && right.many.is_none()
        && own.collection.key.segments().all(|segment| {
            !is_made(segment, left)
                && !is_made(segment, right)
                && value(first, left, &segment.name) == value(second, right, &segment.name)
        })
}

fn written_twice(first: &Step, second: &Step) -> Diagnostic {
    let message = format!("`{}` and `{}` write the same row", first.name, second.name);
    Diagnostic::new(&codes::BAD_STEP, second.span, message)
        .also(first.span, "the first step")
        .effect("only one of the two changes could stay")
        .fix("make one pattern that does both")
        .fix("or bind the key of one of them to another row")
}

/// A segment that another step of the batch makes, and this one takes as an argument.
fn asked_again(pattern: &Pattern, step: &Step) -> Option<Diagnostic> {
    let key = run(step)?.target.as_ref()?.collection.key.clone();
    let is_free = |name: &str| {
        pattern.argument(name).is_some() && !step.bind.iter().any(|bind| bind.name.value == name)
    };
    let own = run(step)?;
    for maker in pattern.steps.iter().filter(|maker| maker.name != step.name) {
        let Some(target) = run(maker).and_then(|run| run.target.as_ref()) else { continue };
        let made = target.collection.key.segments().find(|segment| {
            run(maker).is_some_and(|run| is_made(segment, run))
                && key.segment(&segment.name).is_some_and(|own_segment| !is_made(own_segment, own))
                && is_free(&segment.name)
        });
        let Some(made) = made else { continue };
        let name = &made.name;
        let message =
            format!("`{}` makes `{name}`, and this step asks the caller for it", maker.name);
        let run = &own.name.value;
        let bound =
            |value: String| format!("`{{ run = \"{run}\", bind = {{ {name} = \"{value}\" }} }}`");
        return Some(
            Diagnostic::new(&codes::MADE_AND_ASKED, step.span, message)
                .also(maker.span, "made here")
                .fix(format!(
                    "use the one that is made: {}",
                    bound(format!("{}.{name}", maker.name))
                ))
                .fix(format!("or say that it is another: {}", bound(format!("$other_{name}")))),
        );
    }
    None
}

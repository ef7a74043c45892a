//! KW512: a take knows from its condition where in the index to look.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{BinaryOperator, Expression, ExpressionKind, Pattern, Target, Type, Verb};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Take) {
        let Some(target) = pattern.target.as_ref().filter(|target| target.index.is_some()) else {
            continue;
        };
        let open = target.key().segments().find(|segment| !pattern.by.contains(&segment.name));
        let Some(open) = open else { continue };
        let members = open.source.as_ref().map(|source| source.members()).unwrap_or_default();
        let bounded = pattern
            .condition
            .as_ref()
            .is_some_and(|condition| members.iter().any(|name| bounds(condition, name)));
        if bounded {
            problems.extend(stays(pattern, target));
            continue;
        }
        let name = &open.name;
        let (span, message) = match &pattern.condition {
            Some(condition) => (
                condition.span,
                format!("the condition does not bound `{name}`, by which the index is sorted"),
            ),
            None => (pattern.verb_span, format!("no `if` bounds `{name}`, by which it looks")),
        };
        let bound = match open.segment_type {
            Type::Timestamp => format!("{name} <= now"),
            _ => format!("{name} = …"),
        };
        problems.push(
            Diagnostic::new(&codes::TAKE_UNBOUNDED, span, message)
                .also(open.span, "the first segment after the group")
                .fix(format!("bound it by what the row does not hold: `if = \"{bound} and …\"`"))
                .fix("or sort the index by what the condition asks"),
        );
    }
}

/// A row that its own taking leaves where it was: the next caller would take it too.
fn stays(pattern: &Pattern, target: &Target) -> Option<Diagnostic> {
    let index = target.index.as_ref()?;
    let sources = index.key.segments().filter_map(|segment| segment.source.as_ref());
    let judged = sources.chain(&index.when).chain(&pattern.condition);
    let watched: Vec<&str> = judged.flat_map(|expression| expression.members()).collect();
    let moves = |name: &str| watched.contains(&name);
    if pattern.compute.iter().any(|change| moves(&change.name.value)) {
        return None;
    }
    let message = "what it changes leaves the row where it is, to be taken again at once";
    let span = pattern.compute.first().map_or(pattern.verb_span, |change| change.name.span);
    Some(
        Diagnostic::new(&codes::TAKE_UNBOUNDED, span, message)
            .also(index.key.span, "the index it looks in")
            .effect("every caller would get the same row")
            .fix("move it in time: `compute = { due_at = \"now + 5m\" }`, for a lease")
            .fix("or out of the index: change what its `when` asks"),
    )
}

/// Whether a condition holds only within a range of `name`.
fn bounds(condition: &Expression, name: &str) -> bool {
    match &condition.kind {
        ExpressionKind::Binary(BinaryOperator::And, left, right) => {
            bounds(left, name) || bounds(right, name)
        }
        ExpressionKind::Binary(operator, left, right) => {
            operator.is_comparison()
                && *operator != BinaryOperator::NotEqual
                && (is_member(left, name) && is_known(right)
                    || is_member(right, name) && is_known(left))
        }
        ExpressionKind::In(operand, items) => {
            is_member(operand, name) && items.iter().all(is_known)
        }
        _ => false,
    }
}

fn is_member(side: &Expression, name: &str) -> bool {
    matches!(&side.kind, ExpressionKind::Member(member) if member == name)
}

/// Whether a value is known before any row is read.
fn is_known(side: &Expression) -> bool {
    side.members().is_empty()
}

//! KW512: a take knows from its condition where in the index to look.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{BinaryOperator, Expression, ExpressionKind, Verb};

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
            continue;
        }
        let name = &open.name;
        let span = pattern.condition.as_ref().map_or(pattern.verb_span, |condition| condition.span);
        let message =
            format!("the condition says nothing of `{name}`, by which the index is sorted");
        problems.push(
            Diagnostic::new(&codes::TAKE_UNBOUNDED, span, message)
                .also(open.span, "the first segment after the group")
                .fix(format!("bound it: `if = \"{name} <= now and …\"`"))
                .fix("or sort the index by what the condition asks"),
        );
    }
}

/// Whether a condition holds only within a range of `name`.
fn bounds(condition: &Expression, name: &str) -> bool {
    match &condition.kind {
        ExpressionKind::Binary(BinaryOperator::And, left, right) => {
            bounds(left, name) || bounds(right, name)
        }
        ExpressionKind::Binary(operator, left, right) => {
            let is_member = |side: &Expression| match &side.kind {
                ExpressionKind::Member(member) => member == name,
                _ => false,
            };
            operator.is_comparison()
                && *operator != BinaryOperator::NotEqual
                && (is_member(left) || is_member(right))
        }
        ExpressionKind::In(operand, _) => {
            matches!(&operand.kind, ExpressionKind::Member(member) if member == name)
        }
        _ => false,
    }
}

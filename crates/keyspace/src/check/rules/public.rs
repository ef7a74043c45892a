//! KW705: a call without a token has no caller, and nothing can be filled from it.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Allow, Expression, ExpressionKind, Pattern};
use crate::source::Span;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in facts.keyspace.patterns.iter().filter(|p| p.allow == Allow::Public) {
        let tenant = pattern.target.as_ref().and_then(|target| target.collection.tenant.as_ref());
        let used = match tenant {
            Some(tenant) => Some((tenant.span, format!("the tenant `{}`", tenant.name))),
            None => caller_in(pattern).map(|span| (span, "a binding".to_string())),
        };
        let Some((span, what)) = used else { continue };
        let name = &pattern.name;
        let message =
            format!("a public `{}` has no caller, from whom {what} is filled", name.value);
        problems.push(
            Diagnostic::new(&codes::BAD_ALLOW, name.span, message)
                .also(span, "filled from the caller")
                .fix("ask for a token: `allow = \"user\"`"),
        );
    }
}

/// Where a binding uses the caller.
fn caller_in(pattern: &Pattern) -> Option<Span> {
    let find = |expression: &Expression| {
        let mut found = None;
        expression.walk(&mut |inner| {
            if inner.kind == ExpressionKind::Caller {
                found = Some(inner.span);
            }
        });
        found
    };
    pattern.bind.iter().find_map(|bind| find(&bind.expression))
}

//! What a step of an `atomic` uses of the steps before it: their rows give its key, or its content.
//!
//! ```text
//! { check = "invites.by_code", as = "invite" }
//! { run = "join", bind = { guild_id = "invite.guild_id", role = "seat.role" } }
//!                          key: invite            all: invite, seat
//! ```
//!
//! A step's row can be looked for once the steps of its key are known, and changed once all are.

use super::bound::bound_to;
use crate::model::{Allow, Expression, ExpressionKind, Keyspace, Step, StepAction};

/// The earlier steps that a step uses, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses<'a> {
    /// Those whose rows give its key.
    pub key: Vec<&'a str>,
    /// All of them.
    pub all: Vec<&'a str>,
}

/// The earlier steps that a step uses.
pub fn uses(step: &Step) -> Uses<'_> {
    let mut uses = Uses::default();
    let (key, condition) = match &step.action {
        StepAction::Run(run) => (run.key(), None),
        StepAction::Check { target, condition } => (Some(target.key()), condition.as_ref()),
    };
    let mut met = Vec::new();
    for segment in key.into_iter().flat_map(|key| key.segments()) {
        follow(step, &segment.name, &mut met, &mut uses.key);
    }
    let bound = step.bind.iter().map(|bound| &bound.expression);
    for expression in bound.chain(condition) {
        named_in(expression, &mut uses.all);
    }
    uses
}

/// Whether the row of the membership that a step asks for is known only by rows of earlier steps.
/// Then it is read after these, and before the commit.
pub fn is_admitted_late(keyspace: &Keyspace, step: &Step) -> bool {
    let StepAction::Run(run) = &step.action else { return false };
    let Allow::Member(member) = &run.allow else { return false };
    let Some(collection) = keyspace.collection(&member.collection) else { return false };
    let mut found = Vec::new();
    for segment in collection.key.segments().filter(|segment| segment.name != member.caller) {
        follow(step, &segment.name, &mut Vec::new(), &mut found);
    }
    !found.is_empty()
}

/// The steps behind one argument of a step: by its own binding, or by one of the pattern's whose
/// arguments it binds.
fn follow<'a>(step: &'a Step, name: &'a str, met: &mut Vec<&'a str>, found: &mut Vec<&'a str>) {
    if met.contains(&name) {
        return;
    }
    met.push(name);
    if let Some(expression) = bound_to(&step.bind, name) {
        named_in(expression, found);
        return;
    }
    let StepAction::Run(run) = &step.action else { return };
    if let Some(expression) = bound_to(&run.bind, name) {
        for argument in expression.arguments() {
            follow(step, argument, met, found);
        }
    }
}

fn named_in<'a>(expression: &'a Expression, found: &mut Vec<&'a str>) {
    expression.walk(&mut |inner| {
        if let ExpressionKind::StepMember(name, _) = &inner.kind
            && !found.contains(&name.as_str())
        {
            found.push(name);
        }
    });
}

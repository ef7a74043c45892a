//! What keys are bound to: where each segment of a key gets its value from.
//!
//! ```text
//! template              user:{user_id}:notes | {note_id}
//! of a pattern          user:{user_id = caller}:notes | {note_id}
//! of an atomic's step   user:{user_id = $author}:notes | {note_id = write.note_id}
//! ```
//!
//! Groups are compared by these values, never by names alone.

use crate::model::{
    ArgumentRole, Assignment, Collection, DefaultValue, Expression, ExpressionKind, Key, Part,
    Pattern, Segment, Step, StepAction, Target, Verb,
};
use std::sync::Arc;

/// The group of the rows that one step of an `atomic` touches.
#[derive(Clone, Debug)]
pub struct BoundGroup {
    /// The step's name.
    pub step: String,
    /// Whose rows they are.
    pub collection: Arc<Collection>,
    /// The parts of the group, each with what it is bound to.
    pub parts: Vec<BoundPart>,
}

/// A part of a key and what it is bound to.
#[derive(Clone, Debug)]
pub enum BoundPart {
    /// Fixed text.
    Literal(String),
    /// A segment, and the argument or expression that gives its value.
    Value {
        /// The segment's name.
        name: String,
        /// Whether larger values stand first.
        descending: bool,
        /// Where its value comes from: `$user_id`, `caller`, `'kel'`, `invite.guild_id`.
        value: String,
    },
}

impl PartialEq for BoundPart {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (BoundPart::Literal(left), BoundPart::Literal(right)) => left == right,
            (BoundPart::Value { value: left, .. }, BoundPart::Value { value: right, .. }) => {
                left == right
            }
            _ => false,
        }
    }
}

impl BoundPart {
    /// As in a template; the value is named where it is not the argument of the same name.
    fn text(&self) -> String {
        match self {
            BoundPart::Literal(text) => text.clone(),
            BoundPart::Value { name, descending, value } => {
                let direction = if *descending { " desc" } else { "" };
                match value.strip_prefix('$') == Some(name) {
                    true => format!("{{{name}{direction}}}"),
                    false => format!("{{{name}{direction} = {value}}}"),
                }
            }
        }
    }
}

fn joined(parts: &[BoundPart], separator: char) -> String {
    let texts: Vec<String> = parts.iter().map(BoundPart::text).collect();
    texts.join(&separator.to_string())
}

impl BoundGroup {
    /// The parts through the last segment: the place on Redis Cluster.
    pub fn place(&self) -> &[BoundPart] {
        let last = self.parts.iter().rposition(|part| matches!(part, BoundPart::Value { .. }));
        last.and_then(|last| self.parts.get(..=last)).unwrap_or(&self.parts)
    }

    /// `service:{service_id}:published`.
    pub fn text(&self, separator: char) -> String {
        joined(&self.parts, separator)
    }
}

/// The group each step of an `atomic` touches, in order.
pub fn groups_of_atomic(atomic: &Pattern) -> Vec<BoundGroup> {
    let bound = atomic.steps.iter().enumerate().filter_map(|(number, step)| {
        let collection = collection_of(step)?;
        let parts = Binding::of_step(atomic, number, step).parts(collection.key.group());
        Some(BoundGroup { step: step.name.clone(), collection: collection.clone(), parts })
    });
    bound.collect()
}

pub(super) fn collection_of(step: &Step) -> Option<&Arc<Collection>> {
    target_of(step).map(|target| &target.collection)
}

fn target_of(step: &Step) -> Option<&Target> {
    match &step.action {
        StepAction::Run(pattern) => pattern.target.as_ref(),
        StepAction::Check { target, .. } => Some(target),
    }
}

pub(super) fn bound_to<'a>(bind: &'a [Assignment], name: &str) -> Option<&'a Expression> {
    bind.iter().find(|assignment| assignment.name.value == name).map(|found| &found.expression)
}

/// Whether an argument is given by each row of a call.
pub(super) fn is_of_rows(call: &Pattern, name: &str) -> bool {
    call.arguments.iter().any(|argument| match &argument.role {
        ArgumentRole::Rows(rows) => rows.iter().any(|row| row.name == name),
        _ => false,
    })
}

/// Who gives the values of a key's segments.
#[derive(Clone, Copy)]
pub(super) enum Binding<'a> {
    /// A call of a pattern.
    Call(&'a Pattern),
    /// A step of an `atomic`.
    Step {
        /// The pattern that is called.
        atomic: &'a Pattern,
        /// The steps before it.
        earlier: &'a [Step],
        /// The step.
        step: &'a Step,
    },
}

impl<'a> Binding<'a> {
    /// The binding of a step, by its number.
    pub fn of_step(atomic: &'a Pattern, number: usize, step: &'a Step) -> Self {
        let earlier = atomic.steps.get(..number).unwrap_or(&[]);
        Binding::Step { atomic, earlier, step }
    }

    /// A key with its bar, directions, and what its segments are bound to.
    pub fn key(self, key: &Key, separator: char) -> String {
        let group = joined(&self.parts(key.group()), separator);
        let rest = joined(&self.parts(key.rest()), separator);
        match (key.has_bar, rest.is_empty()) {
            (false, _) => group,
            (true, true) => format!("{group} |"),
            (true, false) => format!("{group} | {rest}"),
        }
    }

    fn parts(self, parts: &[Part]) -> Vec<BoundPart> {
        let bound = parts.iter().map(|part| match part {
            Part::Literal(text) => BoundPart::Literal(text.clone()),
            Part::Segment(segment) => BoundPart::Value {
                name: segment.name.clone(),
                descending: segment.descending,
                value: self.value(segment),
            },
        });
        bound.collect()
    }

    /// Where a segment gets its value from.
    fn value(self, segment: &Segment) -> String {
        match self {
            Binding::Call(pattern) => match bound_to(&pattern.bind, &segment.name) {
                Some(expression) => expression.to_string(),
                None => match given_by(pattern, segment) {
                    Given::New => "new".to_string(),
                    Given::Caller => "caller".to_string(),
                    Given::Argument | Given::Row => format!("${}", segment.name),
                },
            },
            Binding::Step { atomic, earlier, step } => value_in(atomic, earlier, step, segment),
        }
    }
}

/// What gives a segment that nothing is bound to.
enum Given {
    /// The call.
    Argument,
    /// The caller's identity.
    Caller,
    /// The insert itself.
    New,
    /// The row that an index leads to.
    Row,
}

fn given_by(pattern: &Pattern, segment: &Segment) -> Given {
    let name = &segment.name;
    if pattern.argument(name).is_some() || is_of_rows(pattern, name) {
        return Given::Argument;
    }
    let Some(target) = &pattern.target else { return Given::Argument };
    let generated = matches!(segment.default, Some(DefaultValue::New(_)));
    if pattern.verb == Verb::Insert && generated {
        return Given::New;
    }
    if target.key().segment(name).is_none() {
        return Given::Row;
    }
    // A list fixes the beginning of its key only.
    let walks = matches!(pattern.verb, Verb::List | Verb::Near | Verb::Take);
    match is_filled(&target.collection, segment) && (!walks || pattern.by.contains(name)) {
        true => Given::Caller,
        false => Given::Argument,
    }
}

/// Whether the caller fills the segment: owner and tenant come from one identity.
fn is_filled(collection: &Collection, segment: &Segment) -> bool {
    let members = segment.source.as_ref().map(Expression::members);
    let name = match &members {
        Some(members) => members.first().copied(),
        None => Some(segment.name.as_str()),
    };
    let owners = [&collection.owner, &collection.tenant];
    owners.into_iter().flatten().any(|owner| Some(owner.name.as_str()) == name)
}

/// Where a segment of a step's key gets its value from, seen from the `atomic`.
fn value_in(atomic: &Pattern, earlier: &[Step], step: &Step, segment: &Segment) -> String {
    let name = &segment.name;
    if let Some(expression) = bound_to(&step.bind, name) {
        return text_of(atomic, earlier, expression);
    }
    let own = format!("{}.{name}", step.name);
    let given = match &step.action {
        StepAction::Run(pattern) => match bound_to(&pattern.bind, name) {
            Some(expression) => {
                return match &expression.kind {
                    ExpressionKind::Argument(argument) => match bound_to(&step.bind, argument) {
                        Some(outer) => text_of(atomic, earlier, outer),
                        None => argument_of(atomic, argument),
                    },
                    _ => expression.to_string(),
                };
            }
            None => given_by(pattern, segment),
        },
        StepAction::Check { target, .. } if target.key().segment(name).is_none() => Given::Row,
        StepAction::Check { target, .. } => {
            let named = atomic.argument(name).is_some() || bound_to(&atomic.bind, name).is_some();
            match !named && is_filled(&target.collection, segment) {
                true => Given::Caller,
                false => Given::Argument,
            }
        }
    };
    match given {
        Given::New | Given::Row => own,
        Given::Caller => "caller".to_string(),
        Given::Argument => argument_of(atomic, name),
    }
}

fn text_of(atomic: &Pattern, earlier: &[Step], expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Argument(name) => argument_of(atomic, name),
        ExpressionKind::StepMember(name, member) => {
            let found = earlier.iter().position(|step| step.name == *name);
            let step = found.and_then(|number| earlier.get(number).map(|step| (number, step)));
            let segment = step.and_then(|(number, step)| {
                let segment = collection_of(step)?.key.segment(member)?;
                Some(value_in(atomic, earlier.get(..number)?, step, segment))
            });
            segment.unwrap_or_else(|| expression.to_string())
        }
        _ => expression.to_string(),
    }
}

fn argument_of(atomic: &Pattern, name: &str) -> String {
    match bound_to(&atomic.bind, name) {
        Some(expression) => expression.to_string(),
        None => format!("${name}"),
    }
}

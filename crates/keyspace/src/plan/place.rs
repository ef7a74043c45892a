//! Where rows live: what order a group gives, which groups the steps of an `atomic` touch, and
//! whether a store can change them together.
//!
//! ```text
//! template              user:{user_id}:notes | {note_id}
//! bound in an atomic    user:$author :notes              the group: a Cassandra partition
//!                       user:$author                     the place: a Redis Cluster hash tag
//! ```
//!
//! Groups are compared by what their segments are bound to, never by name alone.

use super::bounds::Refusal;
use crate::model::{
    ArgumentRole, Assignment, Collection, DefaultValue, Expression, ExpressionKind, Index, Key,
    Keyspace, Part, Pattern, Segment, Step, StepAction, StoreKind, Verb,
};
use std::sync::Arc;

/// The segment a list is sorted by: the first that is not fixed. None if the key is used up.
pub fn order_given<'a>(key: &'a Key, by: &[String]) -> Option<&'a Segment> {
    key.segments().find(|segment| !by.contains(&segment.name))
}

/// The parts of a group that decide where it lives on Redis Cluster: those through its last typed
/// segment, or all if it has none.
pub fn place(key: &Key) -> &[Part] {
    let group = key.group();
    let last = group.iter().rposition(|part| part.segment().is_some());
    last.and_then(|last| group.get(..=last)).unwrap_or(group)
}

/// Whether the entries of an index lie in the place of their records.
pub fn shares_place(collection: &Collection, index: &Index) -> bool {
    let (records, entries) = (place(&collection.key), place(&index.key));
    records.len() == entries.len()
        && records.iter().zip(entries).all(|(record, entry)| match (record, entry) {
            (Part::Literal(left), Part::Literal(right)) => left == right,
            (Part::Segment(left), Part::Segment(right)) => match &right.source {
                Some(source) => source.kind == ExpressionKind::Member(left.name.clone()),
                None => left.name == right.name,
            },
            _ => false,
        })
}

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

/// A part of a group and what it is bound to.
#[derive(Clone, Debug)]
pub enum BoundPart {
    /// Fixed text.
    Literal(String),
    /// A segment, and the argument or expression that gives its value.
    Value {
        /// The segment's name.
        name: String,
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
            BoundPart::Value { name, value } if *value == format!("${name}") => {
                format!("{{{name}}}")
            }
            BoundPart::Value { name, value } => format!("{{{name} = {value}}}"),
        }
    }

    fn template(&self) -> String {
        match self {
            BoundPart::Literal(text) => text.clone(),
            BoundPart::Value { name, .. } => format!("{{{name}}}"),
        }
    }
}

impl BoundGroup {
    /// The parts through the last segment: the place on Redis Cluster.
    pub fn place(&self) -> &[BoundPart] {
        let last = self.parts.iter().rposition(|part| matches!(part, BoundPart::Value { .. }));
        last.and_then(|last| self.parts.get(..=last)).unwrap_or(&self.parts)
    }

    /// `service:{service_id}:published`.
    pub fn text(&self, separator: char) -> String {
        let parts: Vec<String> = self.parts.iter().map(BoundPart::text).collect();
        parts.join(&separator.to_string())
    }
}

/// The group each step of an `atomic` touches, in order.
pub fn groups_of_atomic(atomic: &Pattern) -> Vec<BoundGroup> {
    let bound = atomic.steps.iter().enumerate().filter_map(|(number, step)| {
        let collection = collection_of(step)?;
        let earlier = atomic.steps.get(..number).unwrap_or(&[]);
        let parts = collection.key.group().iter().map(|part| match part {
            Part::Literal(text) => BoundPart::Literal(text.clone()),
            Part::Segment(segment) => BoundPart::Value {
                name: segment.name.clone(),
                value: value_of(atomic, earlier, step, segment),
            },
        });
        let parts = parts.collect();
        Some(BoundGroup { step: step.name.clone(), collection: collection.clone(), parts })
    });
    bound.collect()
}

pub(super) fn collection_of(step: &Step) -> Option<&Arc<Collection>> {
    match &step.action {
        StepAction::Run(pattern) => pattern.target.as_ref().map(|target| &target.collection),
        StepAction::Check { target, .. } => Some(&target.collection),
    }
}

fn bound_to<'a>(bind: &'a [Assignment], name: &str) -> Option<&'a Expression> {
    bind.iter().find(|assignment| assignment.name.value == name).map(|found| &found.expression)
}

/// Where a segment of a step's key gets its value from, seen from the `atomic`.
fn value_of(atomic: &Pattern, earlier: &[Step], step: &Step, segment: &Segment) -> String {
    let name = &segment.name;
    if let Some(expression) = bound_to(&step.bind, name) {
        return text_of(atomic, earlier, expression);
    }
    let own = format!("{}.{name}", step.name);
    match &step.action {
        StepAction::Run(pattern) => {
            if let Some(expression) = bound_to(&pattern.bind, name) {
                return match &expression.kind {
                    ExpressionKind::Argument(argument) => match bound_to(&step.bind, argument) {
                        Some(outer) => text_of(atomic, earlier, outer),
                        None => argument_of(atomic, argument),
                    },
                    _ => expression.to_string(),
                };
            }
            let given = pattern.argument(name).is_some();
            let generated = matches!(segment.default, Some(DefaultValue::New(_)));
            if pattern.verb == Verb::Insert && generated && !given {
                return own;
            }
            if !given && is_filled(step, name) {
                return "caller".to_string();
            }
        }
        StepAction::Check { target, .. } => {
            if target.key().segment(name).is_none() {
                return own;
            }
            if atomic.argument(name).is_none()
                && bound_to(&atomic.bind, name).is_none()
                && is_filled(step, name)
            {
                return "caller".to_string();
            }
        }
    }
    argument_of(atomic, name)
}

/// Whether the caller fills the segment: owner and tenant come from one identity.
fn is_filled(step: &Step, name: &str) -> bool {
    let Some(collection) = collection_of(step) else { return false };
    let owners = [&collection.owner, &collection.tenant];
    owners.into_iter().flatten().any(|owner| !owner.is_field && owner.name == name)
}

fn text_of(atomic: &Pattern, earlier: &[Step], expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Argument(name) => argument_of(atomic, name),
        ExpressionKind::StepMember(name, member) => {
            let found = earlier.iter().position(|step| step.name == *name);
            let step = found.and_then(|number| earlier.get(number).map(|step| (number, step)));
            let segment = step.and_then(|(number, step)| {
                let segment = collection_of(step)?.key.segment(member)?;
                Some(value_of(atomic, earlier.get(..number)?, step, segment))
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

/// Whether rows of one call differ in what an expression gives: it uses something each row holds.
fn varies(expression: &Expression, of_each_row: &dyn Fn(&str) -> bool) -> bool {
    let mut varies = false;
    expression.walk(&mut |inner| {
        if let ExpressionKind::Argument(name) = &inner.kind {
            varies |= of_each_row(name);
        }
    });
    varies
}

/// Whether an argument is given by each row of a call.
fn is_of_rows(call: &Pattern, name: &str) -> bool {
    call.arguments.iter().any(|argument| match &argument.role {
        ArgumentRole::Rows(rows) => rows.iter().any(|row| row.name == name),
        _ => false,
    })
}

/// Why a group-atomic store cannot change these groups together, if it cannot.
pub(super) fn across(
    keyspace: &Keyspace,
    store: StoreKind,
    groups: &[BoundGroup],
) -> Option<Refusal> {
    let one_place = |group: &BoundGroup, other: &BoundGroup| match store {
        StoreKind::RedisCluster => group.place() == other.place(),
        _ => group.parts == other.parts,
    };
    let (first, others) = groups.split_first()?;
    let other = others.iter().find(|other| !one_place(first, other))?;
    let separator = keyspace.separator;
    let unit = if store == StoreKind::RedisCluster { "places" } else { "groups" };
    let reason = format!(
        "`{}` is in `{}` and `{}` in `{}`: two {unit}, and a commit reaches only one",
        first.step,
        first.text(separator),
        other.step,
        other.text(separator),
    );
    Some(Refusal { code: 101, reason, fixes: vec![shared_group(first, other, separator), split()] })
}

fn split() -> String {
    "call the steps one by one, or keep to a store whose commits reach everywhere: memory, engine, \
     files, sqlite, postgres, redis"
        .to_string()
}

/// A key that would put the second collection in the group of the first.
fn shared_group(first: &BoundGroup, other: &BoundGroup, separator: char) -> String {
    let joined = |parts: Vec<String>| parts.join(&separator.to_string());
    let rest = |group: &BoundGroup| -> Vec<String> {
        let parts = group.collection.key.rest().iter().map(|part| match part {
            Part::Literal(text) => text.clone(),
            Part::Segment(segment) => format!("{{{}}}", segment.name),
        });
        parts.collect()
    };
    if first.collection.name.value == other.collection.name.value {
        let own = first.parts.iter().map(BoundPart::template).chain(rest(first)).collect();
        return format!(
            "begin the key of `{}` with something all its rows share, and end the group there: \
             `shared{separator}{{shared_id}} | {}`",
            first.collection.name.value,
            joined(own),
        );
    }
    let common = first.parts.iter().zip(&other.parts).take_while(|(left, right)| left == right);
    let common = common.count();
    let left = other.parts.iter().skip(common);
    let own = left.filter(|part| !first.parts.contains(part)).map(BoundPart::template);
    let group: Vec<String> = first.parts.iter().map(BoundPart::template).collect();
    let own: Vec<String> =
        own.chain(rest(other).into_iter().filter(|part| !group.contains(part))).collect();
    format!(
        "share a group, by the same text before the bar: `{} | {}` as the key of `{}`",
        joined(group),
        joined(own),
        other.collection.name.value,
    )
}

/// Why a group-atomic store cannot write several rows of one call together, if it cannot. A group's
/// segments are given once for all rows, unless they are bound to what each row holds.
pub(super) fn across_rows(keyspace: &Keyspace, pattern: &Pattern) -> Option<Refusal> {
    let of_each_row = |name: &str| is_of_rows(pattern, name);
    scattered(keyspace, pattern, |name| {
        bound_to(&pattern.bind, name).is_some_and(|bound| varies(bound, &of_each_row))
    })
}

/// The same of a step: its bindings come first, and use what a call of the `atomic` gives.
pub(super) fn across_rows_of_step(
    keyspace: &Keyspace,
    atomic: &Pattern,
    step: &Step,
) -> Option<Refusal> {
    let StepAction::Run(run) = &step.action else { return None };
    run.many?;
    let outer = |name: &str| is_of_rows(atomic, name);
    let inner = |name: &str| match bound_to(&step.bind, name) {
        Some(bound) => varies(bound, &outer),
        None => is_of_rows(run, name),
    };
    scattered(keyspace, run, |name| match bound_to(&step.bind, name) {
        Some(bound) => varies(bound, &outer),
        None => bound_to(&run.bind, name).is_some_and(|bound| varies(bound, &inner)),
    })
}

fn scattered(
    keyspace: &Keyspace,
    pattern: &Pattern,
    varies: impl Fn(&str) -> bool,
) -> Option<Refusal> {
    let key = &pattern.target.as_ref()?.collection.key;
    let segment = key.group_segments().find(|segment| varies(&segment.name))?;
    let template = key.template(keyspace.separator);
    let reason = format!(
        "each row gives its own `{}`, so that rows of `{template}` lie in many groups, and a \
         commit reaches only one",
        segment.name
    );
    let fixes = vec![format!("end the group of `{template}` before `{}`", segment.name), split()];
    Some(Refusal { code: 101, reason, fixes })
}

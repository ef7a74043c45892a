//! Why a store whose commits reach one group only cannot make a change, and what would help.
//!
//! ```text
//! user:{user_id}:list:{list_id} | …    ─┐ alike as far as `user:{user_id}`,
//! user:{user_id}:inbox                 ─┴▶ so the bar can stand there in both
//! ```
//!
//! A key is proposed only as it can be pasted: with its types, its owner still first.

use super::bound::{BoundGroup, BoundPart, bound_to, is_of_rows};
use super::bounds::Refusal;
use crate::layout::cql::shares_table;
use crate::model::{
    Atomicity, Collection, Expression, ExpressionKind, Key, Keyspace, Part, Pattern, Segment, Step,
    StepAction, StoreKind, Verb,
};

/// Why a group-atomic store cannot change these groups together, if it cannot.
pub(super) fn across(
    keyspace: &Keyspace,
    store: StoreKind,
    groups: &[BoundGroup],
) -> Option<Refusal> {
    let together = |group: &BoundGroup, other: &BoundGroup| match store {
        StoreKind::RedisCluster => group.place() == other.place(),
        // A conditional batch names one partition of one table.
        _ => group.parts == other.parts && shares_table(&group.collection, &other.collection),
    };
    let (first, others) = groups.split_first()?;
    let other = others.iter().find(|other| !together(first, other))?;
    let separator = keyspace.separator;
    let reason = format!(
        "`{}` is in `{}` and `{}` in `{}`: they lie apart, and a commit reaches only one group",
        first.step,
        first.text(separator),
        other.step,
        other.text(separator),
    );
    let nearer = callers_apart(first, other).or_else(|| shared_group(keyspace, groups));
    let nearer = nearer.unwrap_or_else(|| {
        format!(
            "make them two calls, as a reservation and its confirmation: first `{}`, then `{}`",
            first.step, other.step
        )
    });
    Some(Refusal { code: 101, reason, fixes: vec![nearer, whole_stores(keyspace)] })
}

/// The stores to keep to: those of the file whose commits reach everywhere, or the usual ones.
fn whole_stores(keyspace: &Keyspace) -> String {
    let whole = |store: &StoreKind| store.atomicity() == Atomicity::WholeStore;
    let mut stores: Vec<StoreKind> = keyspace.stores.iter().map(|store| store.value).collect();
    stores.retain(whole);
    if stores.is_empty() {
        stores = vec![StoreKind::Engine, StoreKind::Postgres, StoreKind::Redis];
    }
    let names: Vec<String> = stores.iter().map(|store| format!("\"{store}\"")).collect();
    format!("keep to stores whose commits reach everywhere: `stores = [{}]`", names.join(", "))
}

/// One segment that is the caller's in one collection and given by the call in the other.
fn callers_apart(first: &BoundGroup, other: &BoundGroup) -> Option<String> {
    let (left, right) = first.parts.iter().zip(&other.parts).find(|(left, right)| left != right)?;
    let (
        BoundPart::Value { name, value: left, .. },
        BoundPart::Value { name: other_name, value: right, .. },
    ) = (left, right)
    else {
        return None;
    };
    let argument = format!("${name}");
    let (filled, given) = match (left.as_str(), right.as_str()) {
        ("caller", value) if value == argument => (first, other),
        (value, "caller") if value == argument => (other, first),
        _ => return None,
    };
    if name != other_name {
        return None;
    }
    let declares = |collection: &Collection| {
        let owners = [("tenant", &collection.tenant), ("owner", &collection.owner)];
        let found = owners.into_iter().find(|(_, o)| o.as_ref().is_some_and(|o| o.name == *name));
        found.map(|(word, _)| word)
    };
    let word = declares(&filled.collection)?;
    let advice = match declares(&given.collection) {
        None => format!("declare `{word} = \"{name}\"` there too"),
        Some(_) => format!("bind it in `{}`: `bind = {{ {name} = \"caller\" }}`", given.step),
    };
    Some(format!(
        "`{name}` is the caller's in `{}` and an argument in `{}`: {advice}",
        filled.collection.name.value, given.collection.name.value,
    ))
}

/// Keys that would put all groups in one: the bar stands where they begin to differ.
fn shared_group(keyspace: &Keyspace, groups: &[BoundGroup]) -> Option<String> {
    let (first, others) = groups.split_first()?;
    let common = others.iter().map(|other| alike(first, other)).min()?;
    let mut moved: Vec<&Collection> = Vec::new();
    for group in groups {
        let collection = group.collection.as_ref();
        if collection.history.is_some() || collection.bucket.is_some() {
            return None;
        }
        let known = moved.iter().any(|other| other.name.value == collection.name.value);
        if collection.key.group_parts > common && !known {
            moved.push(collection);
        }
    }
    let keys: Option<Vec<String>> = moved
        .iter()
        .map(|collection| {
            let key = with_bar_at(collection, common, keyspace.separator)?;
            Some(format!("`{key}` as the key of `{}`", collection.name.value))
        })
        .collect();
    let keys = keys.filter(|keys| !keys.is_empty())?.join(", ");
    let lists = moved.iter().filter_map(|collection| longer_by(keyspace, collection, common));
    let lists: String = lists.map(|text| format!("; {text}")).collect();
    Some(format!("share a group, with the bar where they begin to differ: {keys}{lists}"))
}

/// How many parts two groups have in common from the start: bound, named and typed alike.
fn alike(first: &BoundGroup, other: &BoundGroup) -> usize {
    let parts = |group: &BoundGroup| -> Vec<(BoundPart, Part)> {
        group.parts.iter().cloned().zip(group.collection.key.group().iter().cloned()).collect()
    };
    let same = |left: &Part, right: &Part| match (left.segment(), right.segment()) {
        (Some(left), Some(right)) => {
            left.name == right.name && left.segment_type == right.segment_type
        }
        (None, None) => true,
        _ => false,
    };
    let pairs = parts(first).into_iter().zip(parts(other));
    pairs.take_while(|(left, right)| left.0 == right.0 && same(&left.1, &right.1)).count()
}

/// A collection's key as it is written, with its bar elsewhere; none where its group would have no
/// segment, or not those of its tenant and owner.
fn with_bar_at(collection: &Collection, at: usize, separator: char) -> Option<String> {
    let (group, rest) = collection.key.parts.split_at_checked(at)?;
    let holds =
        |name: &str| group.iter().filter_map(Part::segment).any(|segment| segment.name == name);
    let owners = [&collection.tenant, &collection.owner];
    let owned = owners.into_iter().flatten().all(|owner| owner.is_field || holds(&owner.name));
    if !owned || group.iter().all(|part| part.segment().is_none()) {
        return None;
    }
    Some(format!("{} | {}", written(group, separator), written(rest, separator)))
}

/// Parts as they stand in a file.
fn written(parts: &[Part], separator: char) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Literal(text) => text.clone(),
        Part::Segment(segment) => {
            let direction = if segment.descending { " desc" } else { "" };
            let default = segment.default.as_ref().map(|default| format!(" = {default}"));
            let default = default.unwrap_or_default();
            format!("{{{}: {}{direction}{default}}}", segment.name, segment.segment_type)
        }
    });
    texts.collect::<Vec<_>>().join(&separator.to_string())
}

/// What lists of a collection then say, where they gave more than its new group.
fn longer_by(keyspace: &Keyspace, collection: &Collection, at: usize) -> Option<String> {
    let lists = keyspace.patterns_of(collection).any(|pattern| {
        matches!(pattern.verb, Verb::List | Verb::Take)
            && pattern.target.as_ref().is_some_and(|target| target.index.is_none())
    });
    let mut left = collection.key.group().iter().skip(at).filter_map(Part::segment);
    left.next().filter(|_| lists)?;
    let names: Vec<String> = collection
        .key
        .group_segments()
        .map(|segment: &Segment| format!("\"{}\"", segment.name))
        .collect();
    let names = names.join(", ");
    Some(format!("lists of `{}` then say `by = [{names}]`", collection.name.value))
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
    let collection = &pattern.target.as_ref()?.collection;
    let key = &collection.key;
    let segment = key.group_segments().find(|segment| varies(&segment.name))?;
    let template = key.template(keyspace.separator);
    let reason = format!(
        "each row gives its own `{}`, so that rows of `{template}` lie in many groups, and a \
         commit reaches only one",
        segment.name
    );
    let shorter = before(key, segment)
        .and_then(|at| with_bar_at(collection, at, keyspace.separator))
        .map(|shorter| format!("end the group before `{}`: `{shorter}`", segment.name));
    let nearer = shorter.unwrap_or_else(|| {
        format!("make a call for each `{}`: the rows of one call share their group", segment.name)
    });
    Some(Refusal { code: 101, reason, fixes: vec![nearer, whole_stores(keyspace)] })
}

fn before(key: &Key, segment: &Segment) -> Option<usize> {
    key.parts.iter().position(|part| part.segment().is_some_and(|own| own.name == segment.name))
}

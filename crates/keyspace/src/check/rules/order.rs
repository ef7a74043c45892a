//! KW502: an order that is asserted is one the key gives.

use super::Facts;
use crate::check::resolve::ordered_index;
use crate::diagnostic::{Diagnostic, codes, listed, nearest};
use crate::model::{Collection, ExpressionKind, Key, Order, Pattern, Segment, Type};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for pattern in &facts.keyspace.patterns {
        let (Some(order), Some(target)) = (&pattern.order, &pattern.target) else { continue };
        if target.collection.member_type(&order.by).is_none() {
            let names = target.collection.member_names();
            let message = format!("`{}` has no field `{}`", target.collection.name.value, order.by);
            problems.push(
                suggested(
                    Diagnostic::new(&codes::UNDECLARED_FIELD, order.span, message),
                    order,
                    &names,
                )
                .fix(format!("it has {}", listed(names.iter().copied()))),
            );
            continue;
        }
        let key = target.key();
        let given = key.segments().find(|segment| !pattern.by.contains(&segment.name));
        problems.extend(problem(facts, pattern, order, key, given));
    }
}

/// The nearest name, in the direction that was written.
fn suggested(problem: Diagnostic, order: &Order, names: &[&str]) -> Diagnostic {
    let Some(near) = nearest(&order.by, names.iter().copied()) else { return problem };
    let meant = if order.descending { format!("{near} desc") } else { near.to_string() };
    problem.replace(format!("did you mean `{meant}`?"), order.span, meant)
}

fn problem(
    facts: &Facts<'_>,
    pattern: &Pattern,
    order: &Order,
    key: &Key,
    given: Option<&Segment>,
) -> Option<Diagnostic> {
    let collection = &pattern.target.as_ref()?.collection;
    if pattern.by.contains(&order.by) {
        return None;
    }
    let Some(segment) = given.filter(|segment| holds(segment, &order.by)) else {
        return Some(other_order(facts, pattern, order, key, given, collection));
    };
    if segment.segment_type == Type::Uuid {
        let message = format!("`{}` is a random uuid: its order says nothing", order.by);
        let declared = collection.key.segment(&order.by).map_or(segment.span, |own| own.span);
        return Some(
            Diagnostic::new(&codes::ORDER_NOT_GIVEN, order.span, message)
                .also(declared, "random")
                .effect(
                    "rows would come in an order that is neither of creation nor of anything else",
                )
                .fix(format!("make it time-ordered: `{{{}: timeuuid = new}}` or `ulid`", order.by))
                .fix("or leave `order` out, if any order will do"),
        );
    }
    if segment.descending != order.descending {
        let way = |descending: bool| if descending { "largest first" } else { "smallest first" };
        let message = format!(
            "the key gives `{}` {}, and the pattern asserts {}",
            order.by,
            way(segment.descending),
            way(order.descending)
        );
        let written =
            if segment.descending { format!("{} desc", order.by) } else { order.by.clone() };
        return Some(
            Diagnostic::new(&codes::ORDER_NOT_GIVEN, order.span, message)
                .also(segment.span, "the segment")
                .replace("assert what the key gives", order.span, written)
                .fix(match segment.descending {
                    true => "or take `desc` out of the key".to_string(),
                    false => format!("or store it so: `{{{} … desc}}`", order.by),
                }),
        );
    }
    None
}

/// Whether rows sorted by the segment are sorted by the field.
fn holds(segment: &Segment, name: &str) -> bool {
    match &segment.source {
        None => segment.name == name,
        Some(source) => matches!(&source.kind, ExpressionKind::Member(member) if member == name),
    }
}

fn other_order(
    facts: &Facts<'_>,
    pattern: &Pattern,
    order: &Order,
    key: &Key,
    given: Option<&Segment>,
    collection: &Collection,
) -> Diagnostic {
    let name = &collection.name.value;
    let given_name = given.map_or("nothing", |segment| segment.name.as_str());
    let message = format!("this key gives the order of `{given_name}`, not of `{}`", order.by);
    let direction = if order.descending { " desc" } else { "" };
    let sorted = format!("{}{direction}", order.by);
    let by: Vec<&str> = pattern.by.iter().map(String::as_str).collect();
    let (index, lines) = ordered_index(collection, &by, &sorted, facts.keyspace.separator);
    let problem = Diagnostic::new(&codes::ORDER_NOT_GIVEN, order.span, message)
        .also(given.map_or(key.span, |segment| segment.span), "rows come in this order")
        .effect("sorting would mean reading the whole group first, which Keyway never does");
    // The order is there, below segments that a call could give.
    let before: Vec<&str> = key
        .segments()
        .map(|segment| segment.name.as_str())
        .take_while(|segment| *segment != order.by)
        .collect();
    let problem = match key.segment(&order.by) {
        Some(_) => problem.paste(
            format!("let a call give {}", listed(before.iter().copied())),
            format!("by = {before:?}"),
        ),
        None => problem,
    };
    problem
        .paste(format!("declare an index in [collection.{name}] that has it"), lines)
        .fix(format!("and ask that: `list = \"{name}.{index}\"`"))
}

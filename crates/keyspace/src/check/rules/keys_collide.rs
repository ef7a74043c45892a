//! KW102: no two templates can render to the same key, the containers of groups included.
//!
//! Keys are compared as text, part by part: that is what Redis and files hold, and what people
//! read. A container is the key under which a store keeps a whole group: a list of its rows, a Set,
//! a Hash of counters.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::layout::redis::{self, Container, Role};
use crate::model::{Key, Part, StoreKind, Type};
use crate::source::Span;
use std::collections::HashMap;

/// A key that some store writes.
struct Written<'a> {
    parts: Vec<&'a Part>,
    what: String,
    is_container: bool,
    is_shared: bool,
    span: Span,
}

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let found = problems.len();
    check_on(facts, StoreKind::Redis, problems);
    // A cluster has a few names more: entries that end with their attempt.
    if problems.len() == found && facts.meant_for(&[StoreKind::RedisCluster]) {
        check_on(facts, StoreKind::RedisCluster, problems);
    }
}

fn check_on(facts: &Facts<'_>, store: StoreKind, problems: &mut Vec<Diagnostic>) {
    let containers = redis::containers(facts.keyspace, store);
    // Only keys that begin alike can meet; one that begins with a segment has been reported.
    let mut written: HashMap<&str, Vec<Written<'_>>> = HashMap::new();
    for new in containers.iter().filter_map(|container| written_as(facts, container)) {
        let Some(Part::Literal(first)) = new.parts.first() else { continue };
        let alike = written.entry(first).or_default();
        let collides = |other: &&Written<'_>| {
            !(new.is_shared && other.is_shared) && meet(&new.parts, &other.parts)
        };
        if let Some(other) = alike.iter().find(collides) {
            problems.push(collision(facts, &new, other));
        }
        alike.push(new);
    }
}

/// What Redis has under a key of its own; the other stores have no names beyond these.
fn written_as<'a>(facts: &Facts<'_>, container: &'a Container) -> Option<Written<'a>> {
    let serves = &container.serves;
    let collection = facts.keyspace.collection(&serves.collection)?;
    let (name, span) = match &serves.index {
        Some(index) => {
            let name = format!("{}.{index}", serves.collection);
            (name, collection.index(index)?.key.span)
        }
        None => (serves.collection.clone(), collection.key.span),
    };
    let is_container = !matches!(
        container.role,
        Role::Record | Role::Value | Role::Counter | Role::Entry | Role::Claim
    );
    let what = if is_container { "the list of a group of" } else { "a row of" };
    Some(Written {
        parts: container.parts.iter().collect(),
        what: format!("{what} `{name}`"),
        is_container,
        is_shared: container.role.is_shared(),
        span,
    })
}

fn collision(facts: &Facts<'_>, new: &Written<'_>, other: &Written<'_>) -> Diagnostic {
    let separator = facts.keyspace.separator;
    let example = example(&new.parts, &other.parts, separator);
    let message = format!("{} and {} could both be `{example}`", new.what, other.what);
    let problem = Diagnostic::new(&codes::KEYS_COLLIDE, new.span, message)
        .also(other.span, "the other template");
    let owned = |parts: &[&Part]| -> String {
        Key::template_of(&parts.iter().map(|part| (*part).clone()).collect::<Vec<_>>(), separator)
    };
    let container = [new, other].into_iter().find(|written| written.is_container);
    match container {
        Some(list) => problem
            .fix(format!("put a word behind the bar: `{} | item{separator}…`", owned(&list.parts)))
            .fix("or change a literal of one of them"),
        None => problem
            .fix("put a word of its own into one of them, before the bar")
            .fix("or change a literal of one of them"),
    }
}

/// Whether some values make two templates the same key.
fn meet(left: &[&Part], right: &[&Part]) -> bool {
    let path = |parts: &[&Part]| {
        parts.last().and_then(|p| p.segment()).is_some_and(|s| s.segment_type == Type::Path)
    };
    let (left_path, right_path) = (path(left), path(right));
    let common = match (left_path, right_path) {
        (false, false) if left.len() != right.len() => return false,
        (false, false) => left.len(),
        // A path may be empty, so that the other may be one part shorter, as long, or longer.
        (true, false) if right.len() + 1 < left.len() => return false,
        (false, true) if left.len() + 1 < right.len() => return false,
        (true, false) => left.len() - 1,
        (false, true) => right.len() - 1,
        (true, true) => left.len().min(right.len()) - 1,
    };
    left.iter().zip(right).take(common).all(|(left, right)| overlap(left, right))
}

fn overlap(left: &Part, right: &Part) -> bool {
    match (left, right) {
        (Part::Literal(left), Part::Literal(right)) => left == right,
        (Part::Literal(text), Part::Segment(segment))
        | (Part::Segment(segment), Part::Literal(text)) => can_be(&segment.segment_type, text),
        (Part::Segment(left), Part::Segment(right)) => {
            types_overlap(&left.segment_type, &right.segment_type)
        }
    }
}

/// Whether a value of a type can be written as this literal.
fn can_be(segment_type: &Type, text: &str) -> bool {
    match segment_type {
        Type::Text | Type::Path => true,
        Type::Enum(words) => words.iter().any(|word| word == text),
        Type::Bool => text == "true" || text == "false",
        Type::I64 => text.parse::<i64>().is_ok_and(|value| value.to_string() == text),
        Type::U64 => text.parse::<u64>().is_ok_and(|value| value.to_string() == text),
        Type::F64 => text.parse::<f64>().is_ok(),
        Type::Bytes => text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
        Type::Ulid => text.len() == 26 && text.chars().all(|c| c.is_ascii_alphanumeric()),
        Type::Date => text.len() == 10 && text.chars().filter(|c| *c == '-').count() == 2,
        Type::Uuid | Type::TimeUuid => {
            text.len() == 36 && text.chars().filter(|c| *c == '-').count() == 4
        }
        _ => false,
    }
}

fn types_overlap(left: &Type, right: &Type) -> bool {
    let loose = |t: &Type| matches!(t, Type::Text | Type::Path | Type::Bytes);
    if let (Type::Enum(left), Type::Enum(right)) = (left, right) {
        return left.iter().any(|word| right.contains(word));
    }
    let (word, other) = match (left, right) {
        (Type::Enum(words), other) | (other, Type::Enum(words)) => (Some(words), other),
        (_, other) => (None, other),
    };
    match word {
        Some(words) => words.iter().any(|word| can_be(other, word)),
        None => {
            loose(left) || loose(right) || left == right || (left.is_number() && right.is_number())
        }
    }
}

/// A key that both templates can be.
fn example(left: &[&Part], right: &[&Part], separator: char) -> String {
    let (longer, other) = if left.len() >= right.len() { (left, right) } else { (right, left) };
    let mut shown = Vec::new();
    for (number, part) in longer.iter().enumerate() {
        shown.push(match (part, other.get(number)) {
            (Part::Literal(text), _) | (_, Some(Part::Literal(text))) => text.clone(),
            // An empty path adds nothing.
            (Part::Segment(segment), None) if segment.segment_type == Type::Path => continue,
            (Part::Segment(segment), _) => example_value(&segment.segment_type),
        });
    }
    shown.join(&separator.to_string())
}

fn example_value(segment_type: &Type) -> String {
    let text = match segment_type {
        Type::Enum(words) => return words.first().cloned().unwrap_or_default(),
        Type::I64 | Type::U64 | Type::F64 => "7",
        Type::Bool => "true",
        Type::Date => "2026-11-15",
        Type::Uuid | Type::TimeUuid => "9b2e…",
        Type::Ulid => "01J…",
        _ => "x",
    };
    text.to_string()
}

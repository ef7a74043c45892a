//! Calls by chance.

use super::domain::{Chance, Kind};
use super::world::{Asked, Collection, Content, Field, Form, Function, Index, Verb, World};
use serde_json::{Map, Value as Json, json};
use std::fmt;

/// Something that is done.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// A pattern is called; `$3` stands for the fourth id that was made, if so many were.
    Call { pattern: usize, name: String, user: &'static str, arguments: Map<String, Json> },
    /// So many milliseconds pass.
    Pass(i64),
    /// Ended rows are removed.
    Sweep,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Call { name, user, arguments, .. } => {
                write!(formatter, "{user}> {name} {}", Json::Object(arguments.clone()))
            }
            Operation::Pass(milliseconds) => write!(formatter, "+{milliseconds}ms"),
            Operation::Sweep => formatter.write_str("sweep"),
        }
    }
}

/// So many things to do.
pub(super) fn operations(chance: &Chance, world: &World, count: usize) -> Vec<Operation> {
    (0..count).filter_map(|_| operation(chance, world)).collect()
}

fn operation(chance: &Chance, world: &World) -> Option<Operation> {
    match chance.below(40) {
        0 => return Some(Operation::Sweep),
        1..4 => {
            let times = [1, 1_000, 10 * 60_000, 20 * 60_000, 3_600_000];
            return chance.one(&times).map(|time| Operation::Pass(*time));
        }
        _ => {}
    }
    let pattern = chance.below(world.patterns.len());
    let asked = world.patterns.get(pattern)?;
    let collection = world.collections.get(asked.collection)?;
    let user = if chance.percent(70) { "ann" } else { "bob" };
    let arguments = arguments(chance, collection, asked);
    Some(Operation::Call { pattern, name: asked.name.clone(), user, arguments })
}

fn arguments(chance: &Chance, collection: &Collection, asked: &Asked) -> Map<String, Json> {
    let mut given = Map::new();
    match &asked.verb {
        Verb::Insert | Verb::Put => {
            key(chance, collection, matches!(asked.verb, Verb::Insert), &mut given);
            for field in collection.fields.iter().filter(|field| field.is_argument()) {
                if field.is_required() || chance.percent(70) {
                    given.insert(field.name.clone(), content(chance, field));
                }
            }
        }
        Verb::Update { set, .. } => {
            key(chance, collection, false, &mut given);
            let mut some = chance.some(set, 40);
            if some.is_empty() {
                some.extend(chance.one(set).cloned());
            }
            for field in some.iter().filter_map(|name| collection.field(name)) {
                given.insert(field.name.clone(), content(chance, field));
            }
        }
        Verb::Delete | Verb::Get => key(chance, collection, false, &mut given),
        Verb::Add | Verb::AddTo(_) => {
            key(chance, collection, false, &mut given);
            let amount = match (collection.content, chance.below(10)) {
                (Content::Window, number) => Some(json!(1 + number / 3)),
                (_, 0) => Some(json!("9223372036854775807")),
                (_, 1) => Some(json!("-9223372036854775808")),
                (_, 2..5) => None,
                (_, number) => Some(json!(number as i64 * 2 - 13)),
            };
            given.extend(amount.map(|amount| ("amount".to_string(), amount)));
        }
        Verb::GetBy(place) => {
            if let Some(index) = collection.indexes.get(*place) {
                parts(chance, collection, index, index.parts.len(), &mut given);
            }
        }
        Verb::List => {
            segments(chance, collection, collection.group, &mut given);
            let first = collection.segments.get(collection.group).map(|segment| segment.kind);
            page(chance, first, Function::None, &mut given);
        }
        Verb::ListBy { index, .. } => {
            if let Some(index) = collection.indexes.get(*index) {
                parts(chance, collection, index, index.group, &mut given);
                let (kind, function) = first_column(collection, index);
                page(chance, kind, function, &mut given);
            }
        }
    }
    given
}

/// What stands first behind the bar of an index: a part, or the first segment that is appended.
fn first_column(collection: &Collection, index: &Index) -> (Option<Kind>, Function) {
    if let Some(part) = index.parts.get(index.group) {
        return (Some(part.kind), part.function);
    }
    let appended = collection.segments.iter().find(|segment| {
        let has = |part: &super::world::Part| {
            part.source == segment.name && part.function == Function::None
        };
        !index.parts.iter().any(has)
    });
    (appended.map(|segment| segment.kind), Function::None)
}

/// The key of a row; an insert leaves out what it makes.
fn key(chance: &Chance, collection: &Collection, inserts: bool, given: &mut Map<String, Json>) {
    segments(chance, collection, collection.segments.len(), given);
    for segment in collection.segments.iter().filter(|segment| segment.made) {
        match inserts {
            true => given.remove(&segment.name),
            false => given.insert(segment.name.clone(), json!(format!("${}", chance.below(12)))),
        };
    }
}

fn segments(chance: &Chance, collection: &Collection, count: usize, given: &mut Map<String, Json>) {
    for (position, segment) in collection.segments.iter().take(count).enumerate() {
        if !collection.is_filled(&segment.name) {
            let value = segment_value(chance, segment.kind, position < collection.group);
            given.insert(segment.name.clone(), value);
        }
    }
}

/// A value of a segment. Most rows share their group; text before the bar is not empty.
fn segment_value(chance: &Chance, kind: Kind, in_group: bool) -> Json {
    let values = kind.values();
    let few = if in_group { 2 } else { values.len() };
    let values = values.into_iter().filter(|value| !in_group || *value != "");
    let values: Vec<Json> = values.take(few).collect();
    chance.one(&values).cloned().unwrap_or_default()
}

fn parts(
    chance: &Chance,
    collection: &Collection,
    index: &Index,
    count: usize,
    given: &mut Map<String, Json>,
) {
    for part in index.parts.iter().take(count) {
        if !collection.is_filled_part(part) {
            let values = part.kind.values().into_iter().filter(|value| *value != "");
            let values: Vec<Json> = values.collect();
            given.insert(part.argument.clone(), chance.one(&values).cloned().unwrap_or_default());
        }
    }
}

fn content(chance: &Chance, field: &Field) -> Json {
    match field.form {
        Form::Optional if chance.percent(30) => Json::Null,
        Form::List => (0..chance.below(4)).map(|_| chance.value(field.kind)).collect(),
        _ => chance.value(field.kind),
    }
}

/// What steers a page.
fn page(chance: &Chance, first: Option<Kind>, function: Function, given: &mut Map<String, Json>) {
    let mut give = |name: &str, value: Json| given.insert(name.to_string(), value);
    match first {
        Some(Kind::Path) if chance.percent(30) => {
            give("under", json!(["a"]));
        }
        Some(Kind::Text) if function == Function::None && chance.percent(15) => {
            give("starts", json!("a"));
        }
        Some(kind) if kind != Kind::Path => {
            if chance.percent(20) {
                give("from", chance.value(kind));
            }
            if chance.percent(20) {
                give("before", chance.value(kind));
            }
        }
        _ => {}
    }
    if chance.percent(50) {
        give("reverse", json!(chance.percent(80)));
    }
    if chance.percent(50) {
        give("limit", json!(1 + chance.below(5)));
    }
}

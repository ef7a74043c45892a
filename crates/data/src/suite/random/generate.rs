//! Keyspaces by chance.

use super::domain::{Chance, Kind};
use super::world::{
    Asked, Collection, Condition, Content, Field, Filled, Form, Function, Index, Life, Part,
    Segment, Verb, World,
};
use serde_json::{Value as Json, json};

/// A keyspace of 1 to 5 collections.
pub(super) fn world(chance: &Chance) -> World {
    let mut world = World { collections: Vec::new(), patterns: Vec::new() };
    for number in 0..=chance.below(5) {
        let (collection, plain) = collection(chance, &format!("c{number}"));
        patterns(chance, number, &collection, plain, &mut world.patterns);
        world.collections.push(collection);
    }
    world
}

/// A collection, and whether it is meant to be written blindly.
fn collection(chance: &Chance, name: &str) -> (Collection, bool) {
    let content = match chance.below(20) {
        0..12 => Content::Record,
        12..15 => Content::Value,
        15..17 => Content::Bare,
        17..19 => Content::Counter,
        _ => Content::Window,
    };
    let is_record = content == Content::Record;
    let immutable = is_record && chance.percent(15);
    let plain = !immutable && content != Content::Counter && chance.percent(30);
    let mut collection = Collection {
        name: name.to_string(),
        segments: Vec::new(),
        group: 0,
        content,
        fields: Vec::new(),
        immutable,
        life: Life::Endless,
        owner: None,
        indexes: Vec::new(),
    };
    segments(chance, &mut collection);
    match content {
        Content::Record => fields(chance, &mut collection),
        Content::Value => {
            let kinds = [Kind::Text, Kind::Json, Kind::Bytes];
            let kind = chance.one(&kinds).copied().unwrap_or(Kind::Text);
            collection.fields.push(field("value", kind, Form::One, Filled::ByCall));
        }
        _ => {}
    }
    own(chance, &mut collection, plain);
    life(chance, &mut collection);
    if !matches!(content, Content::Counter | Content::Window) {
        for number in 0..chance.below(4) {
            let index = index(chance, &collection, plain, number);
            collection.indexes.extend(index);
        }
    }
    (collection, plain)
}

fn field(name: &str, kind: Kind, form: Form, default: Filled) -> Field {
    Field { name: name.to_string(), kind, form, default }
}

fn segments(chance: &Chance, collection: &mut Collection) {
    let (group, rest) = (1 + chance.below(2), chance.below(3));
    collection.group = group;
    let makes = collection.content == Content::Record && chance.percent(25);
    for position in 0..group + rest {
        let name = format!("{}_s{position}", collection.name);
        let last = position + 1 == group + rest;
        let kind = chance.one(&Kind::IN_KEYS).copied().unwrap_or(Kind::Text);
        let kind = match (last && rest > 0, chance.below(10)) {
            (true, 0) if !makes => Kind::Path,
            (true, _) if makes => Kind::Ulid,
            _ => kind,
        };
        let made = makes && last && rest > 0;
        let descending = position >= group && kind != Kind::Path && chance.percent(40);
        collection.segments.push(Segment { name, kind, descending, made });
    }
}

fn fields(chance: &Chance, collection: &mut Collection) {
    for number in 0..1 + chance.below(5) {
        let name = format!("{}_f{number}", collection.name);
        let kind = match chance.below(14) {
            0 => Kind::Json,
            // Words, texts and times are what most indexes are about.
            1 => Kind::Text,
            2 => Kind::Timestamp,
            _ => chance.one(&Kind::IN_KEYS).copied().unwrap_or(Kind::Text),
        };
        let form = match chance.below(10) {
            0..3 => Form::Optional,
            3..5 if kind != Kind::Json => Form::List,
            _ => Form::One,
        };
        collection.fields.push(field(&name, kind, form, default(chance, kind, form)));
    }
    if chance.percent(10) {
        let kind = if chance.percent(50) { Kind::Text } else { Kind::Bytes };
        collection.fields.push(field("body", kind, Form::One, Filled::ByCall));
    }
}

fn default(chance: &Chance, kind: Kind, form: Form) -> Filled {
    match (kind, form, chance.below(6)) {
        (_, Form::List, 0..3) => Filled::Constant(json!([])),
        (Kind::Timestamp | Kind::Date, Form::One, 0) => Filled::Now,
        (Kind::Timestamp | Kind::Date, Form::One, 1) => Filled::Touch,
        (Kind::Text, Form::One, 0) => Filled::Caller,
        (Kind::Text, Form::One, 1) => Filled::Constant(json!("b")),
        (Kind::Word, Form::One, 0..3) => Filled::Constant(json!("mid")),
        (Kind::Bool, Form::One, 0..3) => Filled::Constant(json!(false)),
        (Kind::I64, Form::One, 0..3) => Filled::Constant(json!(-1)),
        (Kind::U64, Form::One, 0..2) => Filled::Constant(json!(9)),
        _ => Filled::ByCall,
    }
}

fn own(chance: &Chance, collection: &mut Collection, plain: bool) {
    let name = format!("{}_owner", collection.name);
    match chance.below(10) {
        0..2 => {
            let segment =
                Segment { name: name.clone(), kind: Kind::Text, descending: false, made: false };
            collection.segments.insert(0, segment);
            collection.group += 1;
            collection.owner = Some(name);
        }
        2 if collection.content == Content::Record && !plain => {
            collection.fields.push(field(&name, Kind::Text, Form::One, Filled::Owner));
            collection.owner = Some(name);
        }
        _ => {}
    }
}

fn life(chance: &Chance, collection: &mut Collection) {
    let ends = |field: &&Field| {
        let timed = field.kind == Kind::Timestamp && field.form == Form::Optional;
        timed && field.default == Filled::ByCall
    };
    let field = collection.fields.iter().find(ends).map(|field| field.name.clone());
    collection.life = match (chance.below(5), field, collection.content) {
        (0, _, content) if content != Content::Window => Life::HalfAnHour,
        (1..3, Some(field), _) => Life::Field(field),
        _ => Life::Endless,
    };
}

/// Everything an index may be made of.
fn sources(collection: &Collection, plain: bool, number: usize) -> Vec<Part> {
    let part = |source: &str, function, kind| Part {
        source: source.to_string(),
        function,
        descending: false,
        argument: source.to_string(),
        kind,
    };
    let segments = collection.segments.iter().filter(|segment| {
        segment.kind != Kind::Path && collection.owner.as_ref() != Some(&segment.name)
    });
    let mut parts: Vec<Part> =
        segments.map(|segment| part(&segment.name, Function::None, segment.kind)).collect();
    let fields = collection.fields.iter().filter(|field| !plain && field.name != "body");
    for field in fields.filter(|field| field.kind != Kind::Json) {
        let of = |function, kind| part(&field.name, function, kind);
        match (field.form, field.kind) {
            (Form::List, kind) => parts.push(of(Function::Each, kind)),
            // The value of a collection is indexed as text.
            _ if field.name == "value" && field.kind != Kind::Text => {}
            (_, Kind::Text) => {
                parts.push(of(Function::None, Kind::Text));
                parts.push(of(Function::Lower, Kind::Text));
            }
            (_, Kind::Timestamp) => {
                parts.push(of(Function::None, Kind::Timestamp));
                parts.push(of(Function::Floor, Kind::Timestamp));
                let mut day = of(Function::Day, Kind::Date);
                day.argument = format!("{}_d{number}", field.name);
                parts.push(day);
            }
            (_, kind) => parts.push(of(Function::None, kind)),
        }
    }
    parts
}

fn index(chance: &Chance, collection: &Collection, plain: bool, number: usize) -> Option<Index> {
    let mut sources = sources(collection, plain, number);
    let wanted = 1 + chance.below(3);
    let mut parts: Vec<Part> = Vec::new();
    while parts.len() < wanted && !sources.is_empty() {
        let part = sources.remove(chance.below(sources.len()));
        let each = |parts: &[Part]| parts.iter().any(|part| part.function == Function::Each);
        // A source stands in a key once, and one `each` is all there may be.
        let twice = parts.iter().any(|other| other.source == part.source);
        let plural = part.function == Function::Each && each(&parts);
        if !twice && !plural {
            parts.push(part);
        }
    }
    let mut group = 1 + chance.below(parts.len());
    for part in parts.iter_mut().skip(group) {
        part.descending = chance.percent(30);
    }
    if let (Some(owner), false) = (&collection.owner, collection.is_owned_by_field()) {
        let part = Part {
            source: owner.clone(),
            function: Function::None,
            descending: false,
            argument: owner.clone(),
            kind: Kind::Text,
        };
        parts.insert(0, part);
        group += 1;
    }
    let conditions = conditions(collection);
    let when = chance.one(&conditions).filter(|_| !plain && chance.percent(25)).cloned();
    let unique = !plain && !collection.is_owned_by_field() && chance.percent(25);
    let kept = |field: &&Field| !matches!(field.name.as_str(), "value" | "body");
    let kept: Vec<String> =
        collection.fields.iter().filter(kept).map(|field| field.name.clone()).collect();
    // A path is appended last, and stands in an index in no other way.
    let keep = match !plain && chance.percent(40) {
        true => chance.some(&kept, 50),
        false => Vec::new(),
    };
    let keep: Vec<String> =
        keep.into_iter().filter(|name| parts.iter().all(|part| part.source != *name)).collect();
    let name = format!("{}x{number}", collection.name);
    (!parts.is_empty()).then_some(Index { name, parts, group, unique, when, keep })
}

fn conditions(collection: &Collection) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for field in collection.fields.iter().filter(|field| field.form != Form::List) {
        let name = field.name.clone();
        match (field.kind, field.form) {
            _ if name == "body" || name == "value" => {}
            (Kind::Bool, _) => conditions.push(Condition::Equals(name, json!(true))),
            (Kind::Word, _) => conditions.push(Condition::Equals(name, json!("mid"))),
            (Kind::Text, _) => conditions.push(Condition::Equals(name, json!("a"))),
            (Kind::I64, _) => conditions.push(Condition::Above(name, 9)),
            (_, Form::Optional) => conditions.push(Condition::IsNull(name)),
            _ => {}
        }
    }
    conditions
}

/// Patterns for everything a collection is made for.
fn patterns(
    chance: &Chance,
    number: usize,
    collection: &Collection,
    plain: bool,
    patterns: &mut Vec<Asked>,
) {
    let mut ask = |what: &str, verb: Verb| {
        let name = format!("{}_{what}", collection.name);
        patterns.push(Asked { name, collection: number, verb });
    };
    match collection.content {
        Content::Window => return ask("add", Verb::Add),
        Content::Counter => ask("add", Verb::Add),
        _ => {
            let made = collection.segments.iter().any(|segment| segment.made);
            if !plain || made {
                ask("insert", Verb::Insert);
            }
            ask("delete", Verb::Delete);
            let puts = plain || collection.content == Content::Value || chance.percent(70);
            if puts && !collection.immutable {
                ask("put", Verb::Put);
            }
            if collection.content == Content::Record && !plain && !collection.immutable {
                updates(chance, collection, &mut ask);
            }
        }
    }
    ask("get", Verb::Get);
    if collection.group < collection.segments.len() {
        ask("list", Verb::List);
    }
    for (place, index) in collection.indexes.iter().enumerate() {
        if index.unique {
            ask(&format!("by{place}"), Verb::GetBy(place));
            continue;
        }
        ask(&format!("by{place}"), Verb::ListBy { index: place, fields: None });
        if !index.keep.is_empty() {
            let segments = collection.segments.iter().map(|segment| segment.name.clone());
            let fields: Vec<String> = segments.chain(index.keep.iter().cloned()).collect();
            ask(&format!("kept{place}"), Verb::ListBy { index: place, fields: Some(fields) });
        }
    }
}

fn updates(chance: &Chance, collection: &Collection, ask: &mut impl FnMut(&str, Verb)) {
    let settable = |field: &&Field| field.is_argument() && field.name != "body";
    let set: Vec<String> =
        collection.fields.iter().filter(settable).map(|field| field.name.clone()).collect();
    if set.is_empty() {
        return;
    }
    let update = |condition, creates| Verb::Update { set: set.clone(), condition, creates };
    ask("update", update(None, false));
    let conditions = conditions(collection);
    if let Some(condition) = chance.one(&conditions) {
        ask("update_if", update(Some(condition.clone()), false));
    }
    let made = collection.segments.iter().any(|segment| segment.made);
    let no_body = collection.field("body").is_none();
    if no_body && !made && chance.percent(40) {
        ask("update_or_add", update(None, true));
    }
    let number = |field: &&Field| {
        let whole = matches!(field.kind, Kind::I64 | Kind::U64);
        whole
            && field.form == Form::One
            && matches!(field.default, Filled::ByCall | Filled::Constant(Json::Number(_)))
    };
    if let Some(field) = collection.fields.iter().find(number) {
        ask("add", Verb::AddTo(field.name.clone()));
    }
}

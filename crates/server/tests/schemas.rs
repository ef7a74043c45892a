//! What is said of patterns is true of them: the calls of the five applications, each held against
//! the schemas of its arguments and of its answer.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use data::Caller;
use data::clock::{ManualClock, SeededRandom};
use data::memory::MemoryStore;
use data::request::{Call, Options, Runtime};
use data::suite::block_on;
use data::suite::patterns::{Called, Expected, Script, Step, read};
use jsonschema::Validator;
use keyspace::model::{Keyspace, StoreKind};
use serde_json::{Map, Value as Json, json};
use server::describe::Description;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const APPS: [(&str, &str, &str); 5] = [
    (
        "chat",
        include_str!("../../../apps/chat/keyspace.toml"),
        include_str!("../../../apps/chat/calls.cases"),
    ),
    (
        "keri",
        include_str!("../../../apps/keri/keyspace.toml"),
        include_str!("../../../apps/keri/calls.cases"),
    ),
    (
        "scaffold",
        include_str!("../../../apps/scaffold/keyspace.toml"),
        include_str!("../../../apps/scaffold/calls.cases"),
    ),
    (
        "spreadapi",
        include_str!("../../../apps/spreadapi/keyspace.toml"),
        include_str!("../../../apps/spreadapi/calls.cases"),
    ),
    (
        "documents",
        include_str!("../../../apps/documents/keyspace.toml"),
        include_str!("../../../apps/documents/calls.cases"),
    ),
];

/// 2026-11-15.
const NOW: i64 = 1_794_700_800_000;

fn keyspace_of(file: &str) -> Arc<Keyspace> {
    Arc::new(keyspace::read(file).keyspace.expect("the application's file is right"))
}

/// The schemas of the patterns that can be called: of arguments, and of answers.
fn validators(keyspace: &Keyspace) -> HashMap<String, (Validator, Validator)> {
    let described = Description::new(keyspace, StoreKind::Memory).patterns.into_iter();
    let compiled = |schema: &Map<String, Json>| {
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&Json::Object(schema.clone()))
            .expect("the schema is one")
    };
    described
        .map(|one| {
            let name = one.pattern.name.value.clone();
            (name, (compiled(&one.input), compiled(&one.output)))
        })
        .collect()
}

/// The applications' calls, and the suite's, which use every type and verb.
fn all_calls() -> Vec<(&'static str, Arc<Keyspace>, Vec<Script>)> {
    let mut all: Vec<_> = APPS
        .into_iter()
        .map(|(name, file, calls)| (name, keyspace_of(file), read(calls).expect("calls are right")))
        .collect();
    let suite = data::suite::patterns::keyspace().expect("the suite's file is right");
    all.push(("suite", suite, data::suite::patterns::scripts().expect("its calls are right")));
    all
}

#[test]
fn arguments_and_answers_fit_what_is_said_of_them() {
    for (app, keyspace, scripts) in all_calls() {
        let validators = validators(&keyspace);
        let mut answered = HashSet::new();
        for script in &scripts {
            block_on(play(app, &keyspace, script, &validators, &mut answered));
        }
        let silent = validators.keys().find(|name| !answered.contains(*name));
        assert!(app == "suite" || silent.is_none(), "{app}: no case answers {silent:?}");
    }
}

/// What the run time refuses whatever is stored, a schema refuses too: through the steps of an
/// atomic and what they bind, in rows, and in values that an index begins with.
#[test]
fn what_is_always_refused_is_said_beforehand() {
    let event = |credential: &str| {
        json!({ "body": "", "credential": credential, "event_type": "bis", "prior": "p",
            "registry_id": "r", "said": "s", "sn": 0 })
    };
    let alias = |value: &str| json!({ "alias": "a", "scope": "kel", "value": value });
    let chunks =
        |second: &str| json!({ "doc_id": "d", "rows": [{ "path": ["a"] }, { "path": [second] }] });
    for (app, pattern, right, wrong) in [
        ("keri", "accept_credential_event", event("c"), event("")),
        ("keri", "set_alias", alias("v"), alias("")),
        ("documents", "remove_chunks", chunks("b"), chunks("a")),
    ] {
        let (_, file, _) = APPS.into_iter().find(|(name, ..)| *name == app).unwrap();
        let validators = validators(&keyspace_of(file));
        let (input, _) = &validators[pattern];
        let problems = |json: &Json| {
            input.iter_errors(json).map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(problems(&right), Vec::<String>::new(), "{pattern}");
        assert!(!input.is_valid(&wrong), "{pattern}");
    }
    // Of an update, also as a step: models are given one plain object, others the whole schema.
    let (_, file, _) = APPS.into_iter().find(|(name, ..)| *name == "spreadapi").unwrap();
    let description = Description::new(&keyspace_of(file), StoreKind::Engine);
    let document: Json = serde_json::from_slice(&description.openapi).unwrap();
    let body = &document["paths"]["/publish"]["post"]["requestBody"]["content"]["application/json"];
    let least = json!([{ "required": ["apiPath"] }, { "required": ["apiSize"] }]);
    assert_eq!(body["schema"]["anyOf"], least);
}

/// Two rows that say the same are two rows where each is given an id of its own, and one row given
/// twice where their key is in them.
#[test]
fn rows_that_are_alike_are_refused_only_where_they_are_one() {
    let file = r#"
        [keyspace]
        name = "alike"

        [collection.lines]
        key    = "room:{room: text}:lines | {line_id: timeuuid = new}"
        fields = { text = "text" }
        expect = { rows_per_group = 100 }

        [pattern.say]
        insert = "lines"
        many   = 5

        [pattern.drop]
        delete = "lines"
        many   = 5

        [pattern.say_all]
        atomic = ["say"]
    "#;
    let keyspace = keyspace_of(file);
    let (store, validators) = (Arc::new(MemoryStore::new()), validators(&keyspace));
    let options = Options::new(Arc::new(ManualClock::at(NOW)), Arc::new(SeededRandom::new(7)));
    let runtime = block_on(Runtime::open(store, keyspace.clone(), options)).unwrap();
    let ann = Caller::user("ann");
    let said = json!({ "room": "r", "rows": [{ "text": "hello" }, { "text": "hello" }] });
    let id = json!({ "line_id": "5c4d8e2a-0000-11f1-8000-000000000001" });
    let dropped = json!({ "room": "r", "rows": [id, id] });
    for (name, json, is_right) in
        [("say", &said, true), ("say_all", &said, true), ("drop", &dropped, false)]
    {
        let prepared = runtime.pattern(name).unwrap();
        let given = prepared.given_from_json(&keyspace, json.as_object().unwrap()).unwrap();
        let call = Call::new(prepared, given, &ann);
        let answered = block_on(runtime.call(call));
        assert_eq!(answered.is_ok(), is_right, "{name}: {answered:?}");
        assert_eq!(validators[name].0.is_valid(json), is_right, "{name}");
    }
}

async fn play(
    app: &str,
    keyspace: &Arc<Keyspace>,
    script: &Script,
    validators: &HashMap<String, (Validator, Validator)>,
    answered: &mut HashSet<String>,
) {
    let clock = Arc::new(ManualClock::at(NOW));
    let options = Options::new(clock.clone(), Arc::new(SeededRandom::new(7)));
    let store = Arc::new(MemoryStore::new());
    let runtime = Runtime::open(store, keyspace.clone(), options).await.expect("it opens");
    let mut known = HashMap::new();
    for (line, step) in &script.steps {
        let called = match step {
            Step::Wait(milliseconds) => {
                clock.advance(*milliseconds);
                continue;
            }
            Step::Call(called) => called,
        };
        let Called { caller, pattern, arguments, expected } = called.as_ref();
        let arguments = filled(&Json::Object(arguments.clone()), &known);
        let Json::Object(given) = &arguments else { continue };
        let prepared = runtime.pattern(pattern).expect("the pattern is there");
        let given = prepared.given_from_json(keyspace, given);
        let place = format!("{app}, line {line}, {pattern}");
        let Some((input, output)) = validators.get(*pattern) else { continue };
        let reply = match given {
            Ok(given) => runtime.call(Call::new(prepared, given, caller)).await,
            Err(error) => Err(error),
        };
        let Expected::Answer(expected) = expected else { continue };
        fits(input, &arguments, &place);
        let answer = reply.expect(&place).answer.to_json(runtime.schema()).expect(&place);
        fits(output, &answer, &place);
        learn(expected, &answer, &mut known);
        answered.insert(pattern.to_string());
    }
}

fn fits(validator: &Validator, json: &Json, place: &str) {
    if let Err(error) = validator.validate(json) {
        panic!("{place}: {error} at {}, in {json}", error.instance_path());
    }
}

/// Arguments with what was remembered in place of its names.
fn filled(json: &Json, known: &HashMap<String, Json>) -> Json {
    match json {
        Json::String(text) => match text.strip_prefix('$') {
            Some(name) => known.get(name).unwrap_or(json).clone(),
            None => json.clone(),
        },
        Json::Array(items) => items.iter().map(|item| filled(item, known)).collect(),
        Json::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled(value, known))).collect()
        }
        other => other.clone(),
    }
}

/// Remembers what an answer has where `$name` is expected.
fn learn(expected: &Json, found: &Json, known: &mut HashMap<String, Json>) {
    match (expected, found) {
        (Json::String(text), _) if text.starts_with('$') => {
            let name = text.trim_start_matches('$').to_string();
            known.entry(name).or_insert_with(|| found.clone());
        }
        (Json::Object(members), Json::Object(there)) => {
            members.iter().for_each(|(name, wanted)| {
                learn(wanted, there.get(name).unwrap_or(&Json::Null), known);
            })
        }
        (Json::Array(items), Json::Array(there)) => {
            items.iter().zip(there).for_each(|(wanted, value)| learn(wanted, value, known));
        }
        _ => {}
    }
}

/// Every `$ref` of a document.
fn references<'j>(json: &'j Json, found: &mut Vec<&'j str>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| references(item, found)),
        Json::Object(members) => members.iter().for_each(|(name, value)| match value.as_str() {
            Some(to) if name == "$ref" => found.push(to),
            _ => references(value, found),
        }),
        _ => {}
    }
}

#[test]
fn documents_are_the_same_each_time_and_whole() {
    for (name, file, _) in APPS {
        let keyspace = keyspace_of(file);
        let description = Description::new(&keyspace, StoreKind::Engine);
        let again = Description::new(&keyspace_of(file), StoreKind::Engine);
        assert_eq!(description.openapi, again.openapi, "{name}");
        let document: Json = serde_json::from_slice(&description.openapi).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        for to in found {
            let there = document.pointer(to.trim_start_matches('#'));
            assert!(there.is_some(), "{name}: {to} leads nowhere");
        }
        for described in &description.patterns {
            let pattern = &described.pattern;
            let path = &document["paths"][format!("/{}", pattern.name.value)];
            let method = if pattern.verb.is_read() { "get" } else { "post" };
            let operation = &path[method];
            assert_eq!(operation["operationId"], pattern.name.value.as_str(), "{name}");
            let summary = operation["summary"].as_str().unwrap();
            assert!(pattern.about.as_deref().is_none_or(|about| about == summary), "{name}");
            assert!(operation["description"].as_str().unwrap().contains("at most"), "{name}");
        }
        let paths = document["paths"].as_object().unwrap().len();
        assert_eq!(paths, description.patterns.len() + 1, "{name}: only patterns, and /health");
    }
}

#[test]
fn wrong_arguments_do_not_fit() {
    let keyspace = keyspace_of(APPS[2].1);
    let validators = validators(&keyspace);
    let refused = |pattern: &str, arguments: Json| {
        let (input, _) = &validators[pattern];
        assert!(!input.is_valid(&arguments), "{pattern} takes {arguments}");
    };
    let taken = |pattern: &str, arguments: Json| {
        let (input, _) = &validators[pattern];
        assert!(input.is_valid(&arguments), "{pattern} refuses {arguments}");
    };
    use serde_json::json;
    refused("save_note", json!({ "title": "t" }));
    refused("save_note", json!({ "title": "t", "content": null }));
    refused("save_note", json!({ "title": "t", "content": "c", "user_id": "eve" }));
    refused("list_notes", json!({ "limit": 101 }));
    refused("list_notes", json!({ "limit": 0 }));
    taken("list_notes", json!({ "limit": 100, "cursor": null }));
    refused("put_preferences", json!({ "value": null }));
    taken("put_preferences", json!({ "value": { "a": null } }));
    refused("find_nearby", json!({ "lat": 91, "lon": 0, "radius": 1 }));
    refused("find_nearby", json!({ "lat": 0, "lon": 0, "radius": 5001 }));
    taken("find_nearby", json!({ "lat": 0, "lon": 0, "radius": 5000 }));
    refused("save_location", json!({ "name": "n", "lat": 91, "lon": 0 }));
    taken("count", json!({ "name": "n", "amount": i64::MIN }));
    taken("count", json!({ "name": "n", "amount": i64::MAX.to_string() }));
    taken("count", json!({ "name": "n", "amount": i64::MIN.to_string() }));
    refused("count", json!({ "name": "n", "amount": "9223372036854775808" }));
    refused("count", json!({ "name": "n", "amount": "-9223372036854775809" }));
    refused("count", json!({ "name": "n", "amount": "01" }));
    refused("count", json!({ "name": "n", "amount": "-0" }));
    refused("count", json!({ "name": "n", "amount": 1.5 }));
}

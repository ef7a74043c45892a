//! What patterns cost, in numbers. The columns are those of `StoreKind::ALL`:
//! memory, engine, files, sqlite, postgres, redis, redis-cluster, cassandra, scylla, indexeddb.

mod apart;
mod atomics;
mod reads;
mod writes;

use super::{Answer, Bounds, Plan, explain, plan, plans};
use crate::diagnostic::Severity;
use crate::model::{Bucket, Expect, Keyspace, Mode, Pattern, StepAction, StoreKind, Verb};
use crate::source::Span;
use std::sync::Arc;

/// Notes in the group of their user; more settings may follow.
const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: uuid}:notes | {note_id: timeuuid = new}"
    fields = { title = "text", status = "text", tags = "[text] = []" }
"#;

const INSERT_NOTE: &str = r#"
    [pattern.add_note]
    insert = "notes"
"#;

const USERS: &str = r#"
    [collection.users]
    key = "user:{user_id: uuid}"
    fields = { email = "text", status = "text" }
    index.users_by_email = { key = "email:{email}", unique = true }
"#;

fn file(parts: &[&str]) -> String {
    format!("[keyspace]\nname = \"test\"\n{}", parts.join("\n"))
}

/// What a file means, which must be without error.
fn keyspace(parts: &[&str]) -> Keyspace {
    let reading = crate::read(&file(parts));
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    reading.keyspace.unwrap()
}

/// The plan of the first pattern.
fn plan_of(parts: &[&str]) -> Plan {
    let keyspace = keyspace(parts);
    plan(&keyspace, &keyspace.patterns[0])
}

/// The plan of the first pattern, although the checker refuses it.
fn plan_of_refused(parts: &[&str]) -> Plan {
    let text = file(parts);
    assert!(crate::read(&text).keyspace.is_none());
    let (tree, mut problems) = crate::parse::parse(&text);
    let keyspace = crate::check::resolve::resolve(&tree, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    plan(&keyspace, &keyspace.patterns[0])
}

fn bounds(plan: &Plan, store: StoreKind) -> Bounds {
    match plan.answer(store) {
        Answer::Refused(refusal) => panic!("{store}: {refusal:?}"),
        answer => *answer.bounds().unwrap(),
    }
}

/// The round trips on every store; 0 where it is refused.
fn trips(plan: &Plan) -> Vec<u64> {
    plan.answers().map(|(_, answer)| answer.bounds().map_or(0, |b| b.round_trips)).collect()
}

#[test]
fn modes_are_said_with_their_reason() {
    let get = r#"
        [pattern.get_user]
        get = "users"
    "#;
    let keyspace = keyspace(&[USERS, get]);
    assert_eq!(keyspace.mode(&keyspace.collections[0]), Mode::Conditional);
    assert_eq!(explain::modes(&keyspace), "users  conditional: users_by_email is unique\n");
}

#[test]
fn no_number_is_too_large() {
    let indexed = r#"
        [collection.notes]
        key = "user:{user_id: uuid}:notes | {note_id: timeuuid = new}"
        fields = { tags = "[text]", lat = "f64", lon = "f64" }
        index.by_tag = { key = "tag:{each(tags)}:{area = geohash(lat, lon, 12)} | {note_id}" }

        [pattern.every]
        list = "notes.by_tag"
        page = 10

        [pattern.add]
        insert = "notes"

        [pattern.erase]
        delete = "notes"

        [pattern.both]
        atomic = ["add", "erase"]
    "#;
    let keyspace = keyspace(&[indexed]);
    let (rows_per_group, rows_per_day) = (Some(u64::MAX), Some(u64::MAX));
    let expect = Expect { rows_per_group, rows_per_day, row_bytes: Some(u64::MAX) };
    let mut notes = keyspace.collections[0].clone();
    let collection = Arc::make_mut(&mut notes);
    collection.expect = expect;
    collection.bucket =
        Some(Bucket { by: "note_id".into(), every: u64::MAX, span: Span::default() });
    Arc::make_mut(&mut collection.indexes[0]).expect = expect;
    for verb in Verb::ALL {
        for index in [None, Some(notes.indexes[0].clone())] {
            for radius in [f64::NAN, f64::INFINITY, f64::MAX, -1.0] {
                let mut keyspace = keyspace.clone();
                keyspace.collections[0] = notes.clone();
                let mut every = Pattern::clone(&keyspace.patterns[0]);
                let target = every.target.as_mut().unwrap();
                (target.collection, target.index) = (notes.clone(), index.clone());
                (every.verb, every.radius_max) = (verb, Some(radius));
                (every.page, every.many) = (Some(u64::MAX), Some(u64::MAX));
                let every = Arc::new(every);
                for step in &mut Arc::make_mut(&mut keyspace.patterns[3]).steps {
                    step.action = StepAction::Run(every.clone());
                }
                keyspace.patterns[0] = every;
                let plans = plans(&keyspace);
                assert!(plans.iter().all(|plan| !explain::text(&keyspace, plan, None).is_empty()));
                assert!(!explain::table(&plans, None).is_empty());
            }
        }
    }
}

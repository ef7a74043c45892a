//! Plans of the five applications: every printed form is kept in `golden/plan`, and every bound
//! must make sense, here and for the keyspaces of `golden/layout`. `KEYWAY_BLESS=1` rewrites what
//! is expected.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use keyspace::model::{Atomicity, Keyspace, StepAction, StoreKind, Verb, limits};
use keyspace::plan::{self, Answer, Plan, Step, explain};
use std::path::{Path, PathBuf};

const APPS: [&str; 5] = ["chat", "documents", "keri", "scaffold", "spreadapi"];

/// Keyspaces kept beside their layouts, for what the applications do not have.
const OURS: [&str; 3] = ["ledger", "shapes", "types"];

/// Patterns shown in words: one of each kind of answer.
const IN_WORDS: [(&str, &str); 9] = [
    ("chat", "read_messages"),
    ("chat", "remove_reaction"),
    ("chat", "open_direct"),
    ("documents", "snapshot"),
    ("keri", "accept_kel_event"),
    ("scaffold", "change_email"),
    ("scaffold", "find_nearby"),
    ("spreadapi", "figures"),
    ("spreadapi", "publish"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(app: &str) -> Keyspace {
    let directory = match OURS.contains(&app) {
        true => "crates/keyspace/tests/golden/layout",
        false => "apps",
    };
    let path = root().join(format!("{directory}/{app}/keyspace.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let reading = keyspace::read(&text);
    let messages: Vec<String> = reading.diagnostics.iter().map(|d| format!("{d:?}")).collect();
    reading.keyspace.unwrap_or_else(|| panic!("{app}: {}", messages.join("\n")))
}

fn golden(name: &str, actual: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plan");
    let path = directory.join(format!("{name}.txt"));
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = expected.lines().map(Some).chain(std::iter::repeat(None));
    for (number, (actual, expected)) in actual.lines().zip(lines).enumerate() {
        let line = number + 1;
        assert_eq!(Some(actual), expected, "{name}.txt:{line}; KEYWAY_BLESS=1 rewrites it");
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "{name}.txt has more lines");
}

#[test]
fn the_tables_of_the_applications() {
    for app in APPS {
        let keyspace = read(app);
        let plans = plan::plans(&keyspace);
        let mut text = format!("{}\n{}", explain::modes(&keyspace), explain::table(&plans, None));
        for store in [StoreKind::Redis, StoreKind::Cassandra] {
            text.push_str(&format!("\n{store}\n{}", explain::table(&plans, Some(store))));
        }
        golden(app, &text);
    }
}

#[test]
fn some_patterns_in_words() {
    for (app, name) in IN_WORDS {
        let keyspace = read(app);
        let pattern = keyspace.pattern(name).unwrap_or_else(|| panic!("{app} has no {name}"));
        let plan = plan::plan(&keyspace, pattern);
        golden(&format!("{app}.{name}"), &explain::text(&keyspace, &plan, None));
    }
}

#[test]
fn no_line_is_too_wide() {
    for app in APPS {
        let keyspace = read(app);
        let plans = plan::plans(&keyspace);
        let stores = std::iter::once(None).chain(StoreKind::ALL.map(Some));
        for store in stores {
            let texts = plans.iter().map(|plan| explain::text(&keyspace, plan, store));
            let text: String = texts.chain([explain::table(&plans, store)]).collect();
            for line in text.lines() {
                assert!(line.chars().count() <= 120, "{app} {store:?}: {line}");
                assert_eq!(line, line.trim_end(), "{app}: spaces at the end");
            }
        }
    }
}

#[test]
fn every_bound_makes_sense() {
    for app in APPS.into_iter().chain(OURS) {
        for plan in plan::plans(&read(app)) {
            assert!(!plan.steps.is_empty(), "{app} {}", plan.pattern.name.value);
            judges_what_was_read(app, &plan);
            for (store, answer) in plan.answers() {
                let what = format!("{app} {} {store}", plan.pattern.name.value);
                sensible(&what, &plan, answer);
                fits(&what, store, &plan, answer);
            }
        }
    }
}

/// Whether a step that reads waits for what was read before it; none if it reads nothing.
fn waits(step: &Step) -> Option<bool> {
    match step {
        Step::Admit { .. } | Step::Point { .. } | Step::Range { .. } | Step::Cover { .. } => {
            Some(false)
        }
        Step::Fetch { .. } => Some(true),
        _ => None,
    }
}

/// An owner or a tenant is compared only with a row that a step before has read, or an entry that
/// holds it.
fn judges_what_was_read(app: &str, plan: &Plan) {
    for (number, step) in plan.steps.iter().enumerate() {
        let Step::Judge { condition } = step else { continue };
        let Some(field) = condition.strip_suffix(" is the caller's") else { continue };
        let what = format!("{app} {}: {field}", plan.pattern.name.value);
        let before = &plan.steps[..number];
        let ran = plan.pattern.steps.iter().filter_map(|step| match &step.action {
            StepAction::Run(run) => run.target.as_ref(),
            StepAction::Check { .. } => None,
        });
        let mut targets = plan.pattern.target.iter().chain(ran).filter(|target| {
            let owners = [&target.collection.owner, &target.collection.tenant];
            owners.into_iter().flatten().any(|owner| owner.is_field && owner.name == field)
        });
        assert!(
            targets.any(|target| before.iter().any(|step| match step {
                // An entry need not hold the field; a row does.
                Step::Point { target: read, .. } | Step::Range { target: read, .. } => {
                    let index = target.index.as_ref().filter(|_| read.contains('.'));
                    let holds = index.is_none_or(|index| {
                        index.key.segment(field).is_some()
                            || index.keep.iter().any(|kept| kept.value == field)
                    });
                    read.split('.').next() == Some(&target.collection.name.value) && holds
                }
                Step::Fetch { collection, .. } => *collection == target.collection.name.value,
                _ => false,
            })),
            "{what} is judged before it is read: {:?}",
            plan.steps
        );
    }
}

/// What is written is held to the batches that write it, and every wait is counted.
fn fits(what: &str, store: StoreKind, plan: &Plan, answer: &Answer) {
    let Some(bounds) = answer.bounds() else { return };
    let writes = |step: &&Step| matches!(step, Step::Commit { .. } | Step::Remove { .. });
    let batches = plan.steps.iter().filter(writes).count() as u64;
    let cap = match store.is_cql() && plan.pattern.many.is_some() && bounds.transactions == 0 {
        true => limits::CASSANDRA_BATCH_BYTES_MAX,
        false => limits::BATCH_BYTES_MAX,
    };
    // Where a commit reaches one group, claims and entries elsewhere are batches of their own: each
    // row written is one at most.
    let batches = match store.atomicity() {
        Atomicity::WholeStore => batches,
        Atomicity::Group => batches.max(bounds.rows_written),
    };
    assert!(bounds.bytes_written <= batches * cap, "{what}: {bounds:?}");
    let reads: Vec<bool> = plan.steps.iter().filter_map(waits).collect();
    let waits = reads.iter().filter(|waits| **waits).count() + usize::from(!reads.is_empty());
    assert!(bounds.round_trips >= waits as u64, "{what}: {waits} waits, {bounds:?}");
}

fn sensible(what: &str, plan: &Plan, answer: &Answer) {
    let Some(bounds) = answer.bounds() else {
        let refusal = answer.refusal().unwrap();
        assert!(!refusal.reason.is_empty() && !refusal.fixes.is_empty(), "{what}");
        return;
    };
    let finite = [bounds.bytes_read, bounds.bytes_written, bounds.rows_read, bounds.rows_written];
    assert!(finite.iter().all(|figure| *figure < u64::MAX / 2), "{what}: {bounds:?}");
    assert!((1..=20_000).contains(&bounds.round_trips), "{what}: {bounds:?}");
    assert!(bounds.attempts >= 1 && bounds.attempts <= limits::TAKE_CANDIDATES_MAX, "{what}");
    assert!(bounds.bytes_read_usual <= bounds.bytes_read, "{what}: {bounds:?}");
    assert!(bounds.bytes_written_usual <= bounds.bytes_written, "{what}: {bounds:?}");
    match plan.pattern.verb {
        Verb::Get | Verb::List | Verb::Near | Verb::Load => {
            assert!(bounds.rows_read > 0 && bounds.bytes_read > 0, "{what}: {bounds:?}");
            assert!(bounds.rows_written == 0 && bounds.transactions == 0, "{what}: {bounds:?}");
        }
        _ => assert!(bounds.rows_written > 0 && bounds.bytes_written > 0, "{what}: {bounds:?}"),
    }
}

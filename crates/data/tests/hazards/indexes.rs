//! Indexes.

use crate::support::{Bench, Once};
use data::maintain::{Export, Problem, ProblemKind, Scrub};
use data::memory::{Fault, MemoryStore, PartitionedMemory};
use data::store::Store;
use data::suite::{block_on, patterns};
use keyspace::diagnostic::codes;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;

fn note(title: &str, tags: &[&str], pinned: bool) -> Json {
    json!({"title": title, "tags": tags, "pinned": pinned, "due": "2027-02-01T00:00:00Z"})
}

/// After a fault at any call of the store, each list answers what the row says.
#[test]
fn x1_a_row_and_its_entries_change_together() {
    let make: [fn() -> Arc<dyn Store>; 2] =
        [|| Arc::new(MemoryStore::new()), || Arc::new(PartitionedMemory::new())];
    let mut happened = 0;
    for (make, fault, calls) in make.into_iter().flat_map(|make| {
        [Fault::Refuse, Fault::Lose]
            .into_iter()
            .flat_map(move |fault| (0..20).map(move |calls| (make, fault, calls)))
    }) {
        let once = Once::new(fault);
        let bench = Bench::open(patterns::KEYSPACE, once.over(make()));
        let id = bench.ok("add_note", note("a", &["x", "y"], true))["row"]["note_id"].clone();
        once.after(calls);
        let edit = json!({"note_id": id, "title": "b", "tags": ["y", "z"], "pinned": false});
        let _ = bench.call("ann", "edit_note", edit);
        happened += i32::from(once.has_happened());
        once.after(-1);
        let row = bench.ok("note", json!({"note_id": id}))["row"].clone();
        for tag in ["x", "y", "z"] {
            let has = row["tags"].as_array().unwrap().contains(&json!(tag));
            let found = bench.column("tagged_titles", json!({"tags": tag}), "title");
            let wanted: Vec<Json> = has.then(|| row["title"].clone()).into_iter().collect();
            assert_eq!(found, wanted, "{fault:?} at {calls}: {row}");
        }
        let pinned = bench.column("pinned", json!({}), "title");
        assert_eq!(pinned.len(), usize::from(row["pinned"] == true), "{fault:?} at {calls}");
        let missing = |problem: &&Problem| problem.kind != ProblemKind::LeftBehind;
        assert_eq!(bench.scrub().0.iter().find(missing), None, "{fault:?} at {calls}");
    }
    assert!(happened >= 8, "only {happened} calls met their fault");
}

#[test]
fn x2_an_update_leaves_no_old_entry() {
    for bench in Bench::scripts() {
        let id = bench.ok("add_note", note("a", &["x", "y"], true))["row"]["note_id"].clone();
        // Two tags, the pin, the date and the day.
        assert_eq!(bench.entries(), 5);
        bench.ok("edit_note", json!({"note_id": id, "tags": ["z"]}));
        assert_eq!(bench.entries(), 4);
        bench.ok("edit_note", json!({"note_id": id, "pinned": false, "due": null}));
        assert_eq!(bench.entries(), 2);
        assert_eq!(bench.column("tagged", json!({"tags": "x"}), "title").len(), 0);
    }
}

#[test]
fn x4_a_delete_leaves_nothing() {
    for bench in Bench::scripts() {
        let id = bench.ok("add_note", note("a", &["x", "y"], true))["row"]["note_id"].clone();
        bench.ok(
            "add_user",
            json!({"user_id": "u", "name": "n", "email": "e", "handles": ["h", "i"]}),
        );
        bench.ok("put_label", json!({"name": "n", "value": "v"}));
        bench.ok("follow", json!({"follower": "a", "followed": "b"}));
        assert!(bench.entries() > 8);
        bench.ok("drop_note", json!({"note_id": id}));
        bench.ok("drop_user", json!({"user_id": "u"}));
        bench.ok("unfollow", json!({"follower": "a", "followed": "b"}));
        assert_eq!(bench.entries(), 1, "the label's is left");
    }
}

#[test]
fn x5_tags_and_the_recent_do_not_only_grow() {
    for bench in Bench::scripts() {
        let id = bench.ok("add_note", note("a", &["t0"], false))["row"]["note_id"].clone();
        for round in 1..40 {
            let due = format!("2027-02-{:02}T00:00:00Z", 1 + round % 28);
            let tags = [format!("t{round}"), format!("t{}", round + 1)];
            bench.ok("edit_note", json!({"note_id": id, "tags": tags, "due": due}));
            assert_eq!(bench.entries(), 4, "two tags, the date and the day");
        }
    }
}

#[test]
fn x7_an_email_is_the_same_in_any_case() {
    for bench in Bench::scripts() {
        bench.ok("add_user", json!({"user_id": "u", "name": "n", "email": "Ann@Example.org"}));
        for twin in ["ann@example.org", "ANN@EXAMPLE.ORG", "aNN@eXAMPLE.oRG"] {
            let twins = json!({"user_id": twin, "name": "n", "email": twin});
            assert_eq!(bench.kind("add_user", twins), data::ErrorKind::Taken);
            assert_eq!(bench.ok("user_by_email", json!({"email": twin}))["row"]["user_id"], "u");
        }
    }
    let unfolded = patterns::KEYSPACE.replace("email:{lower(email)}", "email:{email}");
    let reading = keyspace::read(&unfolded);
    let warned = reading.diagnostics.iter().any(|found| *found.code == codes::CASE_OF_UNIQUE);
    assert!(warned, "whoever does not fold is told");
}

fn words(bench: &Bench, count: usize) -> BTreeSet<String> {
    let word = |number: usize| {
        let word = format!("{number:05}");
        bench.ok(
            "put_word",
            json!({"language": format!("l{}", number % 7), "word": word, "meaning": ""}),
        );
        word
    };
    (0..count).map(word).collect()
}

#[test]
fn x9_an_export_misses_nothing_while_rows_go() {
    for bench in Bench::scripts() {
        let wanted = words(&bench, 1_300);
        let store = bench.runtime.store().clone();
        let only = ["words".to_string()];
        let schema = bench.runtime.schema();
        let mut export = Export::new(store.as_ref(), schema, &bench.clock, Some(&only)).unwrap();
        let (mut seen, mut pages) = (BTreeSet::new(), 0);
        while let Some(rows) = block_on(export.next()).unwrap() {
            pages += 1;
            for row in rows {
                let row = row.record.to_json().unwrap();
                assert!(seen.insert(row["word"].as_str().unwrap().to_string()), "{row} twice");
                // New rows before and behind, where the walk has been and where it will be.
                let language = row["language"].as_str().unwrap();
                let new =
                    json!({"language": language, "word": format!("{language}!"), "meaning": ""});
                bench.ok("put_word", new);
            }
        }
        assert!(pages > 1);
        assert!(seen.is_superset(&wanted), "a page was left out");
    }
}

#[test]
fn x9_a_scrub_under_changes_reports_nothing_that_is_not_so() {
    for bench in Bench::scripts() {
        for number in 0..700 {
            bench.ok("put_label", json!({"name": number.to_string(), "value": "v"}));
        }
        let scrub = Scrub {
            store: bench.runtime.store().as_ref(),
            schema: bench.runtime.schema(),
            clock: &bench.clock,
            random: bench.random.as_ref(),
            repair: false,
        };
        let (mut problems, mut next) = (Vec::new(), 0);
        let mut seen = |problem: Option<&Problem>, _: &_| {
            problems.extend(problem.cloned());
            for _ in 0..50 {
                let value = format!("v{}", next % 3);
                bench
                    .ok("put_label", json!({"name": (next * 7 % 700).to_string(), "value": value}));
                next += 1;
            }
        };
        block_on(scrub.run(&mut seen)).unwrap();
        assert!(next > 100);
        assert_eq!(problems, []);
    }
}

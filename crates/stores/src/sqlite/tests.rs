//! What happens when the disk refuses a COMMIT, and that every step of the protocol is missed when
//! it is left out: tests that need the inside of a store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::commit::{Committer, Fault};
use super::steps::{Step, do_between, leave_out, left_out};
use super::writer::Job;
use super::*;
use crate::common::{Folder, NOW, add, batch, check, put, totals, wait};
use data::Value;
use data::store::Expect;
use std::panic::{AssertUnwindSafe, catch_unwind};

const KEYSPACE: &str = r#"
[keyspace]
name = "inside"

[collection.notes]
key   = "notes:{id: text}"
value = "text"
[pattern.insert_note]
insert = "notes"
allow  = "user"
[pattern.get_note]
get = "notes"

[collection.counts]
key   = "counts:{id: text}"
value = "counter"
[pattern.count]
add   = "counts"
allow = "user"
[pattern.get_count]
get = "counts"

[collection.days]
key    = "days | {at: timestamp}"
value  = "text"
expect = { rows_per_group = 100 }
[pattern.insert_day]
insert = "days"
allow  = "user"
[pattern.list_days]
list = "days"
page = 10

[collection.leases]
key    = "leases:{id: text}"
fields = { owner = "text" }
ttl    = "1h"
expect = { rows_per_group = 100 }
index.leases_by_owner = { key = "owner:{owner} | {id}", expect = { rows_per_group = 100 } }
[pattern.put_lease]
put   = "leases"
allow = "user"
[pattern.leases_of]
list = "leases.leases_by_owner"
page = 10

[collection.pages]
key    = "pages | {place: text..}"
fields = { title = "text" }
expect = { rows_per_group = 100 }
index.pages_by_title = { key = "titles | {title}", unique = true, expect = { rows_per_group = 100 } }
[pattern.put_page]
put   = "pages"
allow = "user"
[pattern.pages_by_title]
list = "pages.pages_by_title"
page = 10
"#;

fn keyspace() -> Arc<Keyspace> {
    let reading = keyspace::read(KEYSPACE);
    Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics)))
}

/// A store that is ready.
struct Bench {
    store: SqliteStore,
    schema: Arc<Schema>,
}

impl Bench {
    fn open(folder: &Folder, durability: Durability) -> Bench {
        let path = folder.path().join("inside.db");
        let store = SqliteStore::open(path, &Options { durability }).unwrap();
        let schema = wait(store.ensure(&keyspace())).unwrap();
        Bench { store, schema }
    }

    fn key(&self, collection: &str, value: Value) -> Key {
        self.schema.collection(collection).unwrap().key.encode([&value]).unwrap()
    }

    fn note(&self, id: &str) -> Key {
        self.key("notes", Value::Text(id.to_string()))
    }

    fn count(&self, id: &str) -> Key {
        self.key("counts", Value::Text(id.to_string()))
    }

    fn text(&self, id: &str) -> Option<String> {
        let row = wait(self.store.get(&[self.note(id)])).unwrap().remove(0);
        row.map(|row| String::from_utf8(row.value.to_vec()).unwrap())
    }

    fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> T {
        wait(self.store.run(move |committer| Ok(work(committer)))).unwrap()
    }

    fn fail(&self, fault: Option<Fault>) {
        self.on_writer(move |committer| committer.fault = fault);
    }

    /// Commits a group as the thread would, all of it in one transaction.
    fn group(&self, batches: Vec<Batch>) -> Vec<Result<Outcome>> {
        let tables = self.store.readers.tables().unwrap();
        self.on_writer(move |committer| {
            let job = |batch| Job { batch, tables: &tables, is_new: false };
            let jobs: Vec<Job<'_>> = batches.iter().map(job).collect();
            committer.begin(true).unwrap();
            committer.commit_begun(&jobs)
        })
    }
}

#[test]
fn commits_are_forgotten_in_time_however_many_there_are() {
    let folder = Folder::new();
    let bench = Bench::open(&folder, Durability::Process);
    let minute = 60_000;
    // Ids of every age, most of them in order: what is old is found wherever it lies.
    let id = |number: u64| if number.is_multiple_of(7) { u64::MAX - number } else { number };
    let (per_minute, minutes) = (400, 40);
    let mut last = 0;
    for now in 0..minutes {
        for number in 0..per_minute {
            last = now * per_minute + number;
            let a = vec![put(bench.note("a"), "again", None)];
            let at = NOW + now as i64 * minute + number as i64;
            totals(wait(bench.store.commit(&batch(id(last), at, a))));
        }
    }
    let kept: i64 = bench.on_writer(|committer| {
        let count = "SELECT count(*) FROM keyway_calls";
        committer.connection.query_row(count, [], |row| row.get(0)).unwrap()
    });
    let needed = per_minute as i64 * 10;
    assert!((needed..needed * 3 / 2).contains(&kept), "{kept} are kept, {needed} are needed");
    // One of ten minutes ago is known, so that it is not done again.
    let of_old = last - per_minute * 9;
    let other =
        batch(id(of_old), NOW + minutes as i64 * minute, vec![put(bench.note("a"), "no", None)]);
    totals(wait(bench.store.commit(&other)));
    assert_eq!(bench.text("a").as_deref(), Some("again"));
}

#[test]
fn an_index_that_is_no_longer_used_goes() {
    let folder = Folder::new();
    let named = |bench: &Bench| -> i64 {
        bench.on_writer(|committer| {
            let count = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'keyway_calls_%'";
            committer.connection.query_row(count, [], |row| row.get(0)).unwrap()
        })
    };
    for (made, left) in [("(at)", 0), ("(at, id)", 1)] {
        let bench = Bench::open(&folder, Durability::Process);
        let text = format!("CREATE INDEX keyway_calls_expires ON keyway_calls {made}");
        bench.on_writer(move |committer| committer.connection.execute_batch(&text).unwrap());
        assert_eq!(named(&bench), 1);
        drop(bench);
        // One that somebody else made under this name is theirs.
        assert_eq!(named(&Bench::open(&folder, Durability::Process)), left);
    }
}

#[test]
fn after_a_commit_that_failed_nothing_is_written_and_reads_go_on() {
    for durability in [Durability::None, Durability::Process, Durability::Power] {
        for fault in [Fault::Before, Fault::After] {
            let folder = Folder::new();
            let broken = Bench::open(&folder, durability);
            let a = broken.note("a");
            totals(wait(broken.store.commit(&batch(1, NOW, vec![put(a.clone(), "old", None)]))));
            broken.fail(Some(fault));
            let unknown = batch(2, NOW, vec![put(a.clone(), "new", None)]);
            let outcome = wait(broken.store.commit(&unknown)).unwrap();
            assert_eq!(outcome, Outcome::Indeterminate { id: unknown.id });
            // The disk works again, but what it holds is not known: no second attempt.
            broken.fail(None);
            for number in 3..5 {
                let error = wait(broken.store.commit(&batch(number, NOW, Vec::new()))).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Poisoned);
            }
            assert_eq!(wait(broken.store.sweep(NOW, 9)).unwrap_err().kind(), ErrorKind::Poisoned);
            let expected = if fault == Fault::Before { "old" } else { "new" };
            assert_eq!(broken.text("a").as_deref(), Some(expected));
            assert_eq!(wait(broken.store.close()).unwrap_err().kind(), ErrorKind::Poisoned);
            // Opened anew, the same batch finds out what became of it, and is there once.
            let mended = Bench::open(&folder, durability);
            totals(wait(mended.store.commit(&unknown)));
            assert_eq!(mended.text("a").as_deref(), Some("new"));
        }
    }
}

#[test]
fn a_full_disk_is_no_end() {
    let folder = Folder::new();
    let bench = Bench::open(&folder, Durability::Power);
    bench.fail(Some(Fault::Full));
    let first = batch(1, NOW, vec![put(bench.note("a"), "v", None)]);
    let error = wait(bench.store.commit(&first)).unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
    assert_eq!(bench.text("a"), None);
    bench.fail(None);
    totals(wait(bench.store.commit(&first)));
    assert_eq!(bench.text("a").as_deref(), Some("v"));
}

#[test]
fn a_group_is_judged_in_order_and_fails_together() {
    let folder = Folder::new();
    let bench = Bench::open(&folder, Durability::Power);
    let counted = |number: u64, adds: usize| {
        batch(number, NOW, (0..adds).map(|_| add(bench.count("n"), 1)).collect())
    };
    totals(wait(bench.store.commit(&counted(1, 1))));
    let group = |from: u64| {
        let note = bench.note(&from.to_string());
        let mut absent = batch(from + 2, NOW, vec![put(bench.note("b"), "v", None)]);
        absent.checks = vec![check(note.clone(), Expect::Absent)];
        vec![
            counted(from, 1),
            batch(from + 1, NOW, vec![put(note, "v", None)]),
            absent,
            counted(from, 1),
            counted(from + 3, 2),
            counted(1, 1),
        ]
    };
    let values = |outcome: &Result<Outcome>| match outcome {
        Ok(Outcome::Committed { totals }) => totals.iter().map(|total| total.value).collect(),
        _ => vec![-1],
    };
    let answers = bench.group(group(20));
    let found: Vec<Vec<i64>> = answers.iter().map(values).collect();
    assert_eq!(found, [vec![2], vec![], vec![-1], vec![2], vec![3, 4], vec![1]]);
    assert!(matches!(answers[2], Ok(Outcome::Conflict(_))));
    bench.fail(Some(Fault::Before));
    let answers = bench.group(group(30));
    for at in [0, 1, 3, 4] {
        assert!(matches!(answers[at], Ok(Outcome::Indeterminate { .. })), "{at}");
    }
    // Judged by a batch that may be lost, but itself certainly not there.
    assert_eq!(answers[2].as_ref().unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(values(&answers[5]), [1], "what was known before is known");
}

/// A step left out, what the writer's thread must leave out too, and the check that misses it.
type Case = (Step, fn());

const CASES: [Case; 13] = [
    (Step::Log, a_read_holds_up_no_commit),
    (Step::Sync, the_log_is_synced_at_every_commit),
    (Step::Immediate, two_writers_wait_for_each_other),
    (Step::Wait, another_writer_is_waited_for),
    (Step::Apart, a_batch_that_fails_leaves_nothing_and_takes_nothing_along),
    (Step::CommitFirst, nobody_is_answered_before_the_commit),
    (Step::Outcome, a_batch_sent_again_is_known),
    (Step::Known, a_batch_sent_again_is_known),
    (Step::Rollback, a_batch_that_fails_alone_leaves_nothing_open),
    (Step::Poison, nothing_is_written_after_a_commit_that_may_have_happened),
    (Step::OneCommit, a_read_of_two_rows_sees_one_commit),
    (Step::Entries, entries_are_swept_with_their_row),
    (Step::Forms, a_time_that_does_not_sort_is_refused),
];

#[test]
fn every_step_is_missed_when_it_is_left_out() {
    for (step, check) in CASES {
        check();
        leave_out(Some(step));
        let missed = catch_unwind(AssertUnwindSafe(check)).is_err();
        leave_out(None);
        do_between(None);
        assert!(missed, "{step:?} was left out and nothing noticed");
    }
}

/// A store whose writer leaves out what this thread does.
fn bench(folder: &Folder) -> Bench {
    let step = left_out();
    let bench = Bench::open(folder, Durability::Power);
    bench.on_writer(move |_| leave_out(step));
    bench
}

fn the_log_is_synced_at_every_commit() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let level = bench.on_writer(|committer| {
        committer.connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(level.unwrap(), 2, "FULL");
}

fn a_read_holds_up_no_commit() {
    let folder = Folder::new();
    let bench = bench(&folder);
    // A commit that must wait for readers is not waited for here.
    bench
        .on_writer(|committer| committer.connection.busy_timeout(std::time::Duration::ZERO))
        .unwrap();
    let reader = rusqlite::Connection::open(folder.path().join("inside.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM notes").unwrap();
    totals(wait(bench.store.commit(&batch(1, NOW, vec![put(bench.note("a"), "v", None)]))));
    assert_eq!(bench.text("a").as_deref(), Some("v"));
}

fn another_writer_is_waited_for() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let other = rusqlite::Connection::open(folder.path().join("inside.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (begun, is_begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (bench, first) = (&bench, batch(1, NOW, vec![put(bench.note("a"), "v", None)]));
        let commit = scope.spawn(move || {
            begun.send(()).unwrap();
            wait(bench.store.commit(&first))
        });
        is_begun.recv().unwrap();
        // Long enough for the commit to meet the other, which it may as well meet too late.
        std::thread::sleep(std::time::Duration::from_millis(200));
        other.execute_batch("COMMIT").unwrap();
        totals(commit.join().unwrap());
    });
}

fn two_writers_wait_for_each_other() {
    let folder = Folder::new();
    let (one, other) = (bench(&folder), bench(&folder));
    std::thread::scope(|scope| {
        for (bench, first) in [(&one, 1_000), (&other, 2_000)] {
            scope.spawn(move || {
                for number in first..first + 200 {
                    let write = add(bench.count("n"), 1);
                    totals(wait(bench.store.commit(&batch(number, NOW, vec![write]))));
                }
            });
        }
    });
    let row = wait(one.store.get(&[one.count("n")])).unwrap().remove(0).unwrap();
    assert_eq!(row.value.as_ref(), 400_i64.to_be_bytes());
}

fn a_batch_that_fails_leaves_nothing_and_takes_nothing_along() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON notes WHEN new.id = 'bad' \
                   BEGIN SELECT raise(ABORT, 'refused'); END";
    bench.on_writer(|committer| committer.connection.execute_batch(trigger).unwrap());
    let note = |id: &str| put(bench.note(id), "v", None);
    let answers = bench.group(vec![
        batch(1, NOW, vec![note("before")]),
        batch(2, NOW, vec![note("half"), note("bad")]),
        batch(3, NOW, vec![note("after")]),
    ]);
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    assert_eq!(answers[1].as_ref().unwrap_err().kind(), ErrorKind::Mismatch);
    let found = ["before", "half", "bad", "after"].map(|id| bench.text(id).is_some());
    assert_eq!(found, [true, false, false, true]);
}

fn a_batch_that_fails_alone_leaves_nothing_open() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON notes WHEN new.id = 'bad' \
                   BEGIN SELECT raise(ABORT, 'refused'); END";
    bench.on_writer(|committer| committer.connection.execute_batch(trigger).unwrap());
    let commit = |number: u64, ids: &[&str]| {
        let writes = ids.iter().map(|id| put(bench.note(id), "v", None)).collect();
        wait(bench.store.commit(&batch(number, NOW, writes)))
    };
    assert_eq!(commit(1, &["half", "bad"]).unwrap_err().kind(), ErrorKind::Mismatch);
    totals(commit(2, &["after"]));
    assert_eq!(["half", "after"].map(|id| bench.text(id).is_some()), [false, true]);
}

fn nobody_is_answered_before_the_commit() {
    let folder = Folder::new();
    let bench = bench(&folder);
    bench.fail(Some(Fault::Before));
    let outcome = wait(bench.store.commit(&batch(1, NOW, vec![put(bench.note("a"), "v", None)])));
    assert!(matches!(outcome, Ok(Outcome::Indeterminate { .. })), "{outcome:?}");
}

fn a_batch_sent_again_is_known() {
    let folder = Folder::new();
    let first = bench(&folder);
    let batch = batch(1, NOW, vec![add(first.count("n"), 5)]);
    let before = totals(wait(first.store.commit(&batch)));
    wait(first.store.close()).unwrap();
    let again = bench(&folder);
    assert_eq!(totals(wait(again.store.commit(&batch))), before);
}

fn nothing_is_written_after_a_commit_that_may_have_happened() {
    let folder = Folder::new();
    let bench = bench(&folder);
    bench.fail(Some(Fault::After));
    let first = batch(1, NOW, vec![put(bench.note("a"), "v", None)]);
    wait(bench.store.commit(&first)).unwrap();
    bench.fail(None);
    let second = wait(bench.store.commit(&batch(2, NOW, Vec::new())));
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Poisoned);
}

fn a_read_of_two_rows_sees_one_commit() {
    let folder = Folder::new();
    let bench = Arc::new(bench(&folder));
    let keys = [bench.note("a"), bench.note("b")];
    let both = |number: u64, text: &'static str| {
        batch(number, NOW, keys.iter().map(|key| put(key.clone(), text, None)).collect())
    };
    totals(wait(bench.store.commit(&both(1, "old"))));
    let (other, new) = (bench.clone(), both(2, "new"));
    // Before the second row is read, both are written.
    do_between(Some(Box::new(move || {
        let (other, new) = (other.clone(), new.clone());
        do_between(Some(Box::new(move || drop(totals(wait(other.store.commit(&new)))))));
    })));
    let rows = wait(bench.store.get(&keys)).unwrap();
    do_between(None);
    let texts: Vec<_> = rows.into_iter().map(|row| row.unwrap().value).collect();
    assert_eq!(texts[0], texts[1]);
    assert_eq!(bench.text("a").as_deref(), Some("new"), "the other commit happened meanwhile");
}

fn entries_are_swept_with_their_row() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let leases = bench.schema.collection("leases").unwrap();
    let (id, owner) = (Value::Text("l".to_string()), Value::Text("ann".to_string()));
    let entry = leases.indexes[0].key.encode([&owner, &id]).unwrap();
    let row = Write::Put {
        key: bench.key("leases", id),
        value: leases.encode(std::slice::from_ref(&owner)).unwrap(),
        expires: Some(NOW + 10),
        versioned: leases.mode.has_version(),
        trail: None,
    };
    let listed = Write::Put {
        key: entry.clone(),
        value: bytes::Bytes::new(),
        expires: Some(NOW + 10),
        versioned: false,
        trail: None,
    };
    totals(wait(bench.store.commit(&batch(1, NOW, vec![row, listed]))));
    assert_eq!(wait(bench.store.sweep(NOW + 9, 10)).unwrap(), 0);
    assert_eq!(wait(bench.store.sweep(NOW + 10, 10)).unwrap(), 1);
    assert_eq!(wait(bench.store.get(&[entry])).unwrap(), [None]);
}

fn a_time_that_does_not_sort_is_refused() {
    let folder = Folder::new();
    let bench = bench(&folder);
    let day = |at: i64| bench.key("days", Value::Timestamp(at));
    let far = day(253_402_300_800_000);
    let writes = vec![put(bench.note("a"), "v", None), put(far.clone(), "v", None)];
    let error = wait(bench.store.commit(&batch(1, NOW, writes))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert_eq!(error.value("column"), Some("at"));
    assert_eq!(bench.text("a"), None);
    // It may be asked for, and bounds a range as it should.
    assert_eq!(wait(bench.store.get(std::slice::from_ref(&far))).unwrap(), [None]);
    totals(wait(bench.store.commit(&batch(2, NOW, vec![put(day(NOW), "v", None)]))));
    let range =
        data::store::Range { start: day(i64::MIN).bytes().clone(), end: far.bytes().clone() };
    let page = wait(Store::scan(&bench.store, &Scan { range, reverse: true, rows: 10 })).unwrap();
    assert_eq!(page.rows.len(), 1);
}

#[test]
fn a_reader_that_panics_is_not_used_again_and_a_closed_store_reads_nothing() {
    let folder = Folder::new();
    let bench = bench(&folder);
    totals(wait(bench.store.commit(&batch(1, NOW, vec![put(bench.note("a"), "one", None)]))));
    let broken = catch_unwind(AssertUnwindSafe(|| {
        bench.store.readers.read(|connection, _| -> Result<()> {
            connection.execute_batch("BEGIN; SELECT * FROM notes").unwrap();
            panic!("in the middle of a read")
        })
    }));
    assert!(broken.is_err());
    totals(wait(bench.store.commit(&batch(2, NOW, vec![put(bench.note("a"), "two", None)]))));
    assert_eq!(bench.text("a").as_deref(), Some("two"));
    // A read inside of a read has a connection of its own, however many there are.
    fn deeper(bench: &Bench, left: usize) -> Option<String> {
        match left {
            0 => bench.text("a"),
            _ => bench.store.readers.read(|_, _| Ok(deeper(bench, left - 1))).unwrap(),
        }
    }
    assert_eq!(deeper(&bench, 20).as_deref(), Some("two"));
    wait(bench.store.close()).unwrap();
    let refused = wait(bench.store.get(&[bench.note("a")])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
}

/// A claim does not name a path as the key of its row sorts it, so that no statement joins them.
#[test]
fn entries_and_rows_that_no_statement_joins_are_of_one_commit_too() {
    let folder = Folder::new();
    let bench = Arc::new(bench(&folder));
    let collection = bench.schema.collection("pages").unwrap().clone();
    let index = collection.indexes[0].clone();
    let at = [Value::Path(vec!["a".to_string(), "b\0".to_string()])];
    let slots = [Value::Text("Title".to_string())];
    let key = collection.key.encode(&at).unwrap();
    let claim = data::entries::entries(&collection, &at, &slots).unwrap().remove(0);
    let versioned = collection.mode.has_version();
    let put = |key: &Key, value| {
        let (key, trail) = (key.clone(), None);
        Write::Put { key, value, expires: None, versioned, trail }
    };
    let writes = vec![put(&key, collection.encode(&slots).unwrap()), put(&claim.key, claim.value)];
    totals(wait(bench.store.commit(&batch(1, NOW, writes))));
    let front = index.key.front([]).unwrap();
    let scan = Scan { range: index.key.children(&front), reverse: false, rows: 5 };
    let gone = vec![Write::Delete { key: key.clone() }, Write::Delete { key: claim.key }];
    let (other, second) = (bench.clone(), batch(2, NOW, gone));
    do_between(Some(Box::new(move || {
        totals(wait(other.store.commit(&second)));
    })));
    let through = Through { scan: &scan, named: 5, collection: &collection, index: &index };
    let joined = wait(Store::scan_through(&bench.store, &through)).unwrap().unwrap();
    let rows: Vec<_> = joined.rows.into_iter().flatten().map(|row| row.key).collect();
    assert_eq!(rows, [key]);
    let after = wait(Store::scan_through(&bench.store, &through)).unwrap().unwrap();
    assert_eq!((after.entries.rows.len(), after.rows.len()), (0, 0));
}

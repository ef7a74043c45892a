//! Every step of the protocol is missed when it is left out; every statement goes by an index.
//!
//! A test runs on one thread, which is where a step is left out; the server does the rest.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::steps::{Step, leave_out, pause};
use super::{Options, PostgresStore};
use bytes::Bytes;
use data::schema::{Schema, Space};
use data::store::{
    Batch, Check, CommitId, Durability, Expect, Key, Outcome, Range, Scan, Store, Through, Write,
};
use data::{ErrorKind, Value};
use futures_util::future::{join, join_all};
use servers::postgres::{Postgres, url};
use servers::proxy::Proxy;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

const NOW: i64 = 1_800_000_000_000;

const FILE: &str = r#"
[keyspace]
name = "steps"

[collection.notes]
key    = "room:{room: text} | {note: text}"
fields = { name = "text", at = "timestamp" }
ttl    = "1d"
expect = { rows_per_group = 1_000 }
index.by_name = { key = "name:{lower(name)}", unique = true }
index.by_time = { key = "time:{room} | {at desc}:{note}", expect = { rows_per_group = 1_000 } }

[collection.counts]
key    = "count:{room: text} | {count: text}"
value  = "counter"
expect = { rows_per_group = 1_000 }

[collection.downs]
key    = "down:{room: text} | {a: timestamp desc}:{b: text desc}"
value  = "text"
expect = { rows_per_group = 1_000 }

[collection.mixes]
key    = "mix:{room: text} | {a: timestamp desc}:{b: text}:{c: u64 desc}"
value  = "text"
expect = { rows_per_group = 1_000 }

[pattern.add_note]
insert = "notes"
allow  = "user"
[pattern.notes]
list = "notes"
page = 10
[pattern.notes_by_time]
list = "notes.by_time"
page = 10
[pattern.count]
add   = "counts"
allow = "user"
[pattern.counts]
list = "counts"
page = 10
[pattern.put_down]
put   = "downs"
allow = "user"
[pattern.downs]
list = "downs"
page = 10
[pattern.put_mix]
put   = "mixes"
allow = "user"
[pattern.mixes]
list = "mixes"
page = 10
"#;

/// A store in a database of its own.
struct Bench {
    store: Arc<PostgresStore>,
    schema: Arc<Schema>,
    database: String,
}

impl Bench {
    async fn new() -> Bench {
        let database = Postgres::shared().database();
        Bench::at(&Postgres::shared().url(&database), database).await
    }

    async fn at(url: &str, database: String) -> Bench {
        let options = Options { durability: Durability::Process, ..Options::default() };
        let store = Arc::new(PostgresStore::open(url, &options).unwrap());
        let keyspace = keyspace::read(FILE).keyspace.expect("it is a keyspace");
        let schema = store.ensure(&Arc::new(keyspace)).await.unwrap();
        Bench { store, schema, database }
    }

    fn key(&self, collection: &str, name: &str) -> Key {
        let segments = [Value::Text("r".to_string()), Value::Text(name.to_string())];
        self.schema.collection(collection).unwrap().key.encode(&segments).unwrap()
    }

    /// A note with its entries, as an insert writes it; `name` is claimed.
    fn note(&self, note: &str, name: &str) -> (Vec<Check>, Vec<Write>) {
        let notes = self.schema.collection("notes").unwrap();
        let segments = [Value::Text("r".to_string()), Value::Text(note.to_string())];
        let slots = [Value::Text(name.to_string()), Value::Timestamp(NOW)];
        let put = |key: Key, value: Bytes, versioned| {
            let expires = Some(NOW + 1_000);
            Write::Put { key, value, expires, versioned, trail: None }
        };
        let key = notes.key.encode(&segments).unwrap();
        let mut checks = vec![Check { key: key.clone(), expect: Expect::Absent }];
        let mut writes = vec![put(key, notes.encode(&slots).unwrap(), true)];
        for entry in data::entries::entries(notes, &segments, &slots).unwrap() {
            let unique = notes.indexes[entry.index].model.unique;
            if unique {
                checks.push(Check { key: entry.key.clone(), expect: Expect::Absent });
            }
            writes.push(put(entry.key, entry.value, unique));
        }
        (checks, writes)
    }

    fn add(&self, name: &str) -> Write {
        Write::Add { key: self.key("counts", name), amount: 1, expires: None, window: None }
    }

    async fn count(&self, name: &str) -> i64 {
        let row = self.store.get(&[self.key("counts", name)]).await.unwrap().remove(0);
        row.map_or(0, |row| i64::from_be_bytes(row.value.as_ref().try_into().unwrap()))
    }

    fn sees(&self, statement: &str) -> String {
        Postgres::shared().psql(&self.database, statement)
    }
}

fn batch(number: u64, checks: Vec<Check>, writes: Vec<Write>) -> Batch {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    let id = CommitId::from_bytes(bytes);
    Batch { id, now: NOW, checks, writes, deadline: NOW + 20_000 }
}

fn is_committed(outcome: &data::Result<Outcome>) -> bool {
    matches!(outcome, Ok(Outcome::Committed { .. }))
}

/// Runs on this thread alone.
fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work);
}

/// A step left out, and the check that misses it.
type Case = (Step, fn());

const CASES: [Case; 11] = [
    (Step::Locks, of_two_batches_that_exclude_each_other_one_is_committed),
    (Step::Sorted, batches_with_the_same_keys_never_wait_in_a_circle),
    (Step::LocksFirst, counters_are_exact_whoever_adds_meanwhile),
    (Step::Fresh, a_batch_that_waited_sees_what_it_waited_for),
    (Step::ClaimLock, one_of_two_gets_a_unique_value),
    (Step::StoreLock, a_batch_of_many_keys_and_a_small_one_count_exactly),
    (Step::Outcome, a_lost_reply_counts_once),
    (Step::OutcomeInside, a_lost_reply_counts_once),
    (Step::OutcomeOfConflict, an_insert_whose_reply_was_lost_is_no_conflict),
    (Step::Snapshot, a_read_of_two_tables_sees_one_commit),
    (Step::Entries, entries_are_swept_with_their_row),
];

#[test]
fn every_step_is_missed_when_it_is_left_out() {
    for (step, check) in CASES {
        pause(0);
        check();
        leave_out(Some(step));
        let missed = catch_unwind(AssertUnwindSafe(check)).is_err();
        leave_out(None);
        pause(0);
        assert!(missed, "{step:?} was left out and nothing noticed");
    }
}

fn of_two_batches_that_exclude_each_other_one_is_committed() {
    run(async {
        let bench = Bench::new().await;
        pause(30);
        let one = |own: &str, other: &str, number| {
            let key = bench.key("counts", other);
            let checks = vec![Check { key, expect: Expect::Absent }];
            batch(number, checks, vec![bench.add(own)])
        };
        let (first, second) = (one("a", "b", 1), one("b", "a", 2));
        let (first, second) = join(bench.store.commit(&first), bench.store.commit(&second)).await;
        assert_eq!([first, second].iter().filter(|outcome| is_committed(outcome)).count(), 1);
    });
}

fn batches_with_the_same_keys_never_wait_in_a_circle() {
    run(async {
        let bench = Bench::new().await;
        let deadlocks = || {
            bench.sees("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        };
        let before = deadlocks();
        for round in 0..6 {
            let batches: Vec<Batch> = (0..4)
                .map(|number| {
                    let writes = ["a", "b", "c", "d"].map(|name| bench.add(name)).to_vec();
                    batch(round * 10 + number, Vec::new(), writes)
                })
                .collect();
            let outcomes = join_all(batches.iter().map(|batch| bench.store.commit(batch))).await;
            assert!(outcomes.iter().all(is_committed), "{outcomes:?}");
        }
        // The server tells what happened with a delay.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        assert_eq!(deadlocks(), before);
    });
}

fn counters_are_exact_whoever_adds_meanwhile() {
    run(async {
        let bench = Bench::new().await;
        let batches: Vec<Batch> =
            (0..16).map(|number| batch(number, Vec::new(), vec![bench.add("n")])).collect();
        let outcomes = join_all(batches.iter().map(|batch| bench.store.commit(batch))).await;
        assert!(outcomes.iter().all(is_committed), "{outcomes:?}");
        assert_eq!(bench.count("n").await, 16);
    });
}

fn a_batch_that_waited_sees_what_it_waited_for() {
    run(async {
        let bench = Bench::new().await;
        pause(100);
        let first = batch(1, Vec::new(), vec![bench.add("n")]);
        let checks = vec![Check { key: bench.key("counts", "n"), expect: Expect::Absent }];
        let second = batch(2, checks, vec![bench.add("m")]);
        let later = async {
            // By now the first has its lock, and waits before it writes.
            tokio::time::sleep(Duration::from_millis(60)).await;
            bench.store.commit(&second).await
        };
        let (first, second) = join(bench.store.commit(&first), later).await;
        assert!(is_committed(&first), "{first:?}");
        assert!(matches!(second, Ok(Outcome::Conflict(_))), "{second:?}");
    });
}

fn one_of_two_gets_a_unique_value() {
    run(async {
        let bench = Bench::new().await;
        pause(30);
        let (one, other) = (bench.note("one", "Ann"), bench.note("two", "ANN"));
        let (one, other) = (batch(1, one.0, one.1), batch(2, other.0, other.1));
        let (one, other) = join(bench.store.commit(&one), bench.store.commit(&other)).await;
        assert_eq!([one, other].iter().filter(|outcome| is_committed(outcome)).count(), 1);
    });
}

fn a_batch_of_many_keys_and_a_small_one_count_exactly() {
    run(async {
        let bench = Bench::new().await;
        pause(30);
        let many: Vec<Write> = (0..300).map(|number| bench.add(&number.to_string())).collect();
        let many = batch(1, Vec::new(), many);
        let small: Vec<Batch> =
            (2..8).map(|number| batch(number, Vec::new(), vec![bench.add("7")])).collect();
        let small = join_all(small.iter().map(|batch| bench.store.commit(batch)));
        let (many, small) = join(bench.store.commit(&many), small).await;
        assert!(is_committed(&many) && small.iter().all(is_committed), "{many:?} {small:?}");
        assert_eq!(bench.count("7").await, 7);
    });
}

/// A bench whose next commit is done and not answered.
async fn without_reply() -> (Bench, Proxy) {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&format!("127.0.0.1:{}", server.port()));
    let bench = Bench::at(&url(proxy.port(), &database), database).await;
    // What the server says when it has committed.
    proxy.cut_reply(b"COMMIT\0");
    (bench, proxy)
}

fn a_lost_reply_counts_once() {
    run(async {
        let (bench, proxy) = without_reply().await;
        let outcome = bench.store.commit(&batch(1, Vec::new(), vec![bench.add("n")])).await;
        assert!(is_committed(&outcome) && proxy.cuts() == 1, "{outcome:?}");
        assert_eq!(bench.count("n").await, 1);
    });
}

fn an_insert_whose_reply_was_lost_is_no_conflict() {
    run(async {
        let (bench, proxy) = without_reply().await;
        let (checks, writes) = bench.note("one", "Ann");
        let outcome = bench.store.commit(&batch(1, checks, writes)).await;
        assert!(is_committed(&outcome) && proxy.cuts() == 1, "{outcome:?}");
    });
}

fn a_read_of_two_tables_sees_one_commit() {
    run(async {
        let bench = Bench::new().await;
        let down = |number: u64| {
            let segments = [Value::Text("r".into()), Value::Timestamp(1), Value::Text("x".into())];
            let key = bench.schema.collection("downs").unwrap().key.encode(&segments).unwrap();
            let value = Bytes::from(number.to_string());
            Write::Put { key, value, expires: None, versioned: false, trail: None }
        };
        let writing = async {
            for number in 1..=300 {
                let writes = vec![bench.add("n"), down(number)];
                assert!(is_committed(&bench.store.commit(&batch(number, vec![], writes)).await));
            }
        };
        let reading = async {
            let keys = [bench.key("counts", "n"), down(0).key().clone()];
            loop {
                let rows = bench.store.get(&keys).await.unwrap();
                let [Some(count), Some(down)] = rows.as_slice() else { continue };
                let count = i64::from_be_bytes(count.value.as_ref().try_into().unwrap());
                assert_eq!(down.value, count.to_string());
                if count == 300 {
                    return;
                }
            }
        };
        join(writing, reading).await;
    });
}

fn entries_are_swept_with_their_row() {
    run(async {
        let bench = Bench::new().await;
        for number in 0..3 {
            let (checks, writes) = bench.note(&number.to_string(), &format!("Name {number}"));
            assert!(is_committed(&bench.store.commit(&batch(number, checks, writes)).await));
        }
        assert_eq!(bench.store.sweep(NOW, 100).await.unwrap(), 0);
        assert_eq!(bench.store.sweep(NOW + 1_000, 100).await.unwrap(), 6, "rows and claims");
        let left = "SELECT (SELECT count(*) FROM steps.notes), \
            (SELECT count(*) FROM steps.by_name), (SELECT count(*) FROM steps.by_time)";
        assert_eq!(bench.sees(left), "0|0|0\n");
    });
}

#[test]
fn commits_are_forgotten_in_time_however_many_there_are() {
    run(async {
        let bench = Bench::new().await;
        let minute = 60_000;
        let kept = batch(1, Vec::new(), vec![bench.add("n")]);
        assert!(is_committed(&bench.store.commit(&kept).await));
        // More than one statement removes, each older than the one that is kept by a minute.
        bench.sees(
            "INSERT INTO steps.keyway_calls (id, outcome, at) \
             SELECT gen_random_uuid(), outcome, at - interval '61 seconds' - n * interval '1 ms' \
             FROM steps.keyway_calls, generate_series(1, 12000) AS n",
        );
        bench.store.sweep(NOW + 9 * minute, 500).await.unwrap();
        let left = || bench.sees("SELECT count(*) FROM steps.keyway_calls");
        assert_eq!(left(), "1\n", "what is older than ten minutes is still there");
        // One of nine minutes ago is known, so that it is not done again.
        assert!(is_committed(&bench.store.commit(&kept).await));
        assert_eq!(bench.count("n").await, 1);
        bench.store.sweep(NOW + 10 * minute + 1, 500).await.unwrap();
        assert_eq!(left(), "0\n");
    });
}

#[test]
fn a_key_that_is_too_long_for_an_index_is_refused() {
    run(async {
        let bench = Bench::new().await;
        // A thousand bytes that cannot be compressed, each of them two in the column.
        let name: String = (0..1_000_u32).map(|n| if n % 3 == 0 { '\u{1}' } else { 'x' }).collect();
        let (checks, writes) = bench.note(&name, "Ann");
        assert!(is_committed(&bench.store.commit(&batch(1, checks, writes)).await));
        let other = bench.store.get(&[Key::from(vec![0, 99, 1])]).await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Corrupt, "{other}");
    });
}

/// Plans of reads, and of forgetting, with the settings of the store's own sessions: none reads a
/// whole table, and none sorts.
#[test]
fn every_scan_goes_by_an_index() {
    run(async {
        let bench = Bench::new().await;
        let ready = bench.store.ready().unwrap();
        let mut lease =
            ready.pool.lease(tokio::time::Instant::now() + Duration::from_secs(20)).await.unwrap();
        let mut plans = Vec::new();
        for table in ready.tables.all() {
            let shape = table.shape.shape();
            let segments: Vec<Value> = shape.types.iter().map(sample).collect();
            let whole = shape.encode(&segments).unwrap();
            let front = shape.front(segments.iter().take(shape.group.max(1))).unwrap();
            let group = shape.children(&front);
            for range in [group.clone(), group.after(&whole, false), group.after(&whole, true)] {
                for reverse in [false, true] {
                    let scan = Scan { range: range.clone(), reverse, rows: 10 };
                    bench.store.scan(&scan).await.unwrap();
                    if let Ok(Space::Entries(collection, index)) =
                        ready.tables.schema.space(shape.space)
                    {
                        let index = &collection.indexes[*index];
                        let through = Through { scan: &scan, named: 9, collection, index };
                        assert!(bench.store.scan_through(&through).await.unwrap().is_some());
                    }
                }
            }
            bench.store.walk(&walk_of(shape.space)).await.unwrap();
            bench.store.get(&[whole.clone(), whole]).await.unwrap();
            plans.extend(table.statements());
        }
        plans.push(ready.tables.calls.as_ref().unwrap().forget.clone());
        assert!(plans.len() > 40, "{} statements", plans.len());
        assert!(plans.iter().any(|text| text.contains("LEFT JOIN")));
        for (number, text) in plans.iter().enumerate() {
            let places = (1..).take_while(|place| text.contains(&format!("${place}"))).count();
            let nulls = vec!["NULL"; places].join(", ");
            let client = lease.client().unwrap();
            client.batch_execute(&format!("PREPARE plan_{number} AS {text}")).await.unwrap();
            let explain = format!("EXPLAIN EXECUTE plan_{number}({nulls})");
            let rows = client.query(&explain, &[]).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let plan = plan.join("\n");
            let is_bad = ["Seq Scan", "Sort", "Hash Join", "Merge Join"];
            assert!(!is_bad.iter().any(|bad| plan.contains(bad)), "{text}\n{plan}");
        }
        lease.statement(&ready.take).await.unwrap();
    });
}

fn walk_of(space: u16) -> Scan {
    let start = Bytes::copy_from_slice(&space.to_be_bytes());
    let end = Bytes::copy_from_slice(&(space + 1).to_be_bytes());
    Scan { range: Range { start, end }, reverse: false, rows: 10 }
}

fn sample(of: &keyspace::model::Type) -> Value {
    use keyspace::model::Type;
    match of.required() {
        Type::Timestamp => Value::Timestamp(NOW),
        Type::U64 => Value::U64(7),
        _ => Value::Text("x".to_string()),
    }
}

//! A server that is killed, backends that are ended, and connections that are cut around a commit.

use crate::load::{Load, call};
use crate::{keyspace, open, runtime};
use data::clock::{ManualClock, SeededRandom};
use data::request::{Options, Runtime};
use data::schema::Schema;
use data::store::{Batch, Check, CommitId, Expect, Outcome, Store, Write};
use data::{ErrorKind, Value};
use futures_util::future::join;
use serde_json::json;
use servers::postgres::{Postgres, url};
use servers::proxy::{Cut, Proxy};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The whole statement, and what the server answers to it: BEGIN names a level that begins with the
/// same word.
pub(crate) const COMMIT: &[u8] = b"COMMIT\0";
const NOW: i64 = 1_800_000_000_000;

/// How often a server is killed; `KEYWAY_KILLS` says otherwise.
fn kills() -> u32 {
    std::env::var("KEYWAY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

#[test]
fn a_server_that_is_killed_under_load_loses_nothing() {
    let server = Arc::new(Postgres::start());
    let store_url = server.url(&server.database());
    runtime().block_on(async {
        let load = Load::begin(open(&store_url), 8, 20_000).await;
        for round in 0..kills() {
            sleep(Duration::from_millis(150 + u64::from(round * 37 % 200))).await;
            let server = server.clone();
            tokio::task::spawn_blocking(move || {
                server.kill();
                server.restart();
            })
            .await
            .unwrap();
        }
        sleep(Duration::from_millis(300)).await;
        let told = load.end().await;
        println!("{told:?}");
        assert!(told.changes > 50, "{} changes", told.changes);
    });
}

#[test]
fn backends_that_are_ended_in_the_middle_lose_nothing() {
    let server = Arc::new(Postgres::start());
    let database = server.database();
    runtime().block_on(async {
        let load = Load::begin(open(&server.url(&database)), 8, 20_000).await;
        let (client, connection) =
            tokio_postgres::connect(&server.url(&database), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE application_name = 'keyway' AND state <> 'idle'";
        let mut ended = 0;
        for _ in 0..60 {
            sleep(Duration::from_millis(20)).await;
            let row = client.query_one(end, &[]).await.unwrap();
            ended += row.get::<_, i64>(0);
        }
        let told = load.end().await;
        println!("{ended} ended, {told:?}");
        assert!(ended > 20 && told.changes > 50, "{ended} ended, {} changes", told.changes);
    });
}

#[test]
fn a_commit_that_never_arrived_is_done_once() {
    around_commit(|proxy| proxy.cut(Cut::Before, COMMIT, 0));
}

#[test]
fn a_commit_that_arrived_or_not_is_done_once() {
    around_commit(|proxy| proxy.cut(Cut::After, COMMIT, 0));
}

#[test]
fn a_commit_whose_reply_is_lost_counts_once() {
    around_commit(|proxy| proxy.cut_reply(COMMIT));
}

/// Several callers, rows with indexes and claims, and connections cut around commits.
#[test]
fn commits_that_are_cut_under_load_leave_every_index_true() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let load = Load::begin(open(&url(proxy.port(), &database)), 6, 20_000).await;
        for number in 1..=45_u64 {
            match number % 3 {
                0 => proxy.cut(Cut::Before, COMMIT, number % 4),
                1 => proxy.cut(Cut::After, COMMIT, number % 4),
                _ => proxy.cut_reply(COMMIT),
            }
            while proxy.cuts() < number {
                sleep(Duration::from_millis(1)).await;
            }
            sleep(Duration::from_millis(20)).await;
        }
        let told = load.end().await;
        println!("{told:?}");
        assert!(told.changes > 50, "{} changes", told.changes);
        assert_eq!(told.unknown, 0, "a server that is there says what became of a commit");
    });
}

/// A batch that inserts a note of its own and adds one to what all of them count.
pub(crate) fn note_and_count(schema: &Schema, number: u8) -> Batch {
    let key = |collection: &str, name: &str| {
        let segments = [Value::Text("room".to_string()), Value::Text(name.to_string())];
        schema.collection(collection).unwrap().key.encode(&segments).unwrap()
    };
    let (note, count) = (key("notes", &number.to_string()), key("counts", "all"));
    let checks = vec![Check { key: note.clone(), expect: Expect::Absent }];
    let value = "value".into();
    let insert = Write::Put { key: note, value, expires: None, versioned: true, trail: None };
    let add = Write::Add { key: count, amount: 1, expires: None, window: None };
    let (id, writes) = (CommitId::from_bytes([number; 16]), vec![insert, add]);
    Batch { id, now: NOW, checks, writes, deadline: NOW + 20_000 }
}

/// Additions and inserts, the connection cut at every commit.
fn around_commit(cut: fn(&Proxy)) {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        for number in 1..=5_u8 {
            let batch = note_and_count(&schema, number);
            cut(&proxy);
            let Outcome::Committed { totals } = store.commit(&batch).await.unwrap() else {
                panic!("{number} is a conflict");
            };
            assert_eq!(totals[0].value, i64::from(number), "counted twice, or not at all");
            assert_eq!(proxy.cuts(), u64::from(number), "nothing was cut");
        }
    });
}

#[test]
fn without_checks_too_a_lost_reply_is_found_out() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        let segments = [Value::Text("room".to_string()), Value::Text("row".to_string())];
        let key = schema.collection("notes").unwrap().key.encode(&segments).unwrap();
        let cuts: [fn(&Proxy); 3] = [
            |proxy| proxy.cut(Cut::Before, COMMIT, 0),
            |proxy| proxy.cut(Cut::After, COMMIT, 0),
            |proxy| proxy.cut_reply(COMMIT),
        ];
        for (number, cut) in (1..).zip(cuts) {
            let put = |value: &'static str| {
                let (key, value) = (key.clone(), value.into());
                vec![Write::Put { key, value, expires: None, versioned: true, trail: None }]
            };
            let batch = |number: u8, writes| Batch {
                id: CommitId::from_bytes([number; 16]),
                now: NOW,
                checks: Vec::new(),
                writes,
                deadline: NOW + 20_000,
            };
            cut(&proxy);
            let first = batch(number, put("first"));
            assert!(matches!(store.commit(&first).await, Ok(Outcome::Committed { .. })));
            assert_eq!(proxy.cuts(), u64::from(number));
            // Sent once more behind another, it must not write over it.
            store.commit(&batch(number + 10, put("second"))).await.unwrap();
            assert!(matches!(store.commit(&first).await, Ok(Outcome::Committed { .. })));
            let row = store.get(std::slice::from_ref(&key)).await.unwrap().remove(0).unwrap();
            assert_eq!(row.value, "second");
        }
    });
}

/// Backends in the middle of COMMIT with the transaction of one, and those that wait for a lock.
const WAITING: &str = "\
    SELECT count(*) FILTER (WHERE wait_event = 'PgSleep' AND query = 'COMMIT'), \
        max(backend_xid::text) FILTER (WHERE wait_event = 'PgSleep'), \
        count(*) FILTER (WHERE wait_event_type = 'Lock') \
    FROM pg_stat_activity WHERE datname = current_database()";
/// Rows and outcomes, and those that a transaction wrote.
const WRITTEN: &str = "\
    SELECT count(*), count(*) FILTER (WHERE xmin::text = $1) \
    FROM (SELECT xmin FROM suite.keyway_calls UNION ALL SELECT xmin FROM suite.counts \
        UNION ALL SELECT xmin FROM suite.notes) AS written";

/// Lets COMMIT take longer than the server needs to notice that a client is gone, which rolls back
/// what the client began; or does not let it notice.
fn slow_commit(is_noticed: bool) -> String {
    let (notice, seconds) = if is_noticed { ("1s", 2) } else { ("0", 3) };
    format!(
        "CREATE OR REPLACE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS \
            $$ BEGIN PERFORM set_config('client_connection_check_interval', '{notice}', true); \
            PERFORM pg_sleep({seconds}); RETURN NULL; END $$; \
        DROP TRIGGER IF EXISTS slowly ON suite.keyway_calls; \
        CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON suite.keyway_calls \
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly()"
    )
}

/// Cuts the connection once the server is in the middle of COMMIT; the transaction that was under
/// way. Unless it is rolled back soon, another backend is seen to wait for it.
async fn break_during_commit(
    client: &tokio_postgres::Client,
    proxy: &Proxy,
    is_noticed: bool,
) -> String {
    let waiting = async || {
        let row = client.query_one(WAITING, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, Option<String>>(1), row.get::<_, i64>(2))
    };
    let first = loop {
        if let (1, Some(first), 0) = waiting().await {
            break first;
        }
        sleep(Duration::from_millis(1)).await;
    };
    proxy.cut_all();
    let both = (1, Some(first), 1);
    while !is_noticed && waiting().await != both {
        sleep(Duration::from_millis(1)).await;
    }
    both.1.unwrap()
}

/// The connection breaks while the server is in the middle of COMMIT: the batch is sent again, and
/// waits until the first is committed or rolled back.
#[test]
fn a_commit_that_is_still_under_way_is_waited_for() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        let (client, connection) =
            tokio_postgres::connect(&server.url(&database), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for (number, is_noticed) in [(1, false), (2, false), (3, true), (4, true)] {
            client.batch_execute(&slow_commit(is_noticed)).await.unwrap();
            let is_add = number % 2 == 1;
            let collection = if is_add { "counts" } else { "notes" };
            let segments = [Value::Text("room".to_string()), Value::Text(number.to_string())];
            let key = schema.collection(collection).unwrap().key.encode(&segments).unwrap();
            let value = "value".into();
            // One reads before it writes, the other is a single message.
            let write = match is_add {
                true => Write::Add { key, amount: 1, expires: None, window: None },
                false => Write::Put { key, value, expires: None, versioned: true, trail: None },
            };
            let id = CommitId::from_bytes([number; 16]);
            let (checks, deadline) = (Vec::new(), NOW + 20_000);
            let batch = Batch { id, now: NOW, checks, writes: vec![write], deadline };
            let breaks = break_during_commit(&client, &proxy, is_noticed);
            let breaks = timeout(Duration::from_secs(15), breaks);
            let (outcome, first) = join(store.commit(&batch), breaks).await;
            let first = first.expect("the second waits while the first is under way");
            let Outcome::Committed { totals } = outcome.unwrap() else {
                panic!("{number} is a conflict");
            };
            let totals: Vec<i64> = totals.iter().map(|total| total.value).collect();
            assert_eq!(totals, if is_add { vec![1] } else { vec![] }, "{number}: done twice");
            let row = client.query_one(WRITTEN, &[&first]).await.unwrap();
            let written = (row.get::<_, i64>(0), row.get::<_, i64>(1));
            let of_first = if is_noticed { 0 } else { 2 };
            assert_eq!(written, (i64::from(number) * 2, of_first), "{number}: a row, an outcome");
        }
    });
}

/// Ends the backend that is in the middle of COMMIT, once; the transaction it had.
const END_COMMIT: &str = "\
    SELECT backend_xid::text, pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND wait_event = 'PgSleep' AND query = 'COMMIT'";

/// The backend is ended in the middle of COMMIT: nothing of it is there, and the batch is done once
/// by another.
#[test]
fn a_backend_that_is_ended_in_the_middle_of_commit_is_found_out() {
    let server = Postgres::shared();
    let database = server.database();
    runtime().block_on(async {
        let store = open(&server.url(&database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        let (client, connection) =
            tokio_postgres::connect(&server.url(&database), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&slow_commit(false)).await.unwrap();
        for number in 1..=3_u8 {
            let batch = note_and_count(&schema, number);
            let end = async {
                loop {
                    if let Some(row) = client.query_opt(END_COMMIT, &[]).await.unwrap() {
                        assert!(row.get::<_, bool>(1));
                        break row.get::<_, String>(0);
                    }
                    sleep(Duration::from_millis(1)).await;
                }
            };
            let end = timeout(Duration::from_secs(15), end);
            let (outcome, ended) = join(store.commit(&batch), end).await;
            let ended = ended.expect("a backend is in the middle of COMMIT");
            let Outcome::Committed { totals } = outcome.unwrap() else {
                panic!("{number} is a conflict");
            };
            assert_eq!(totals[0].value, i64::from(number), "counted twice, or not at all");
            let row = client.query_one(WRITTEN, &[&ended]).await.unwrap();
            // The notes, the outcomes, and the one counter of them all.
            let written = (row.get::<_, i64>(0), row.get::<_, i64>(1));
            assert_eq!(written, (i64::from(number) * 2 + 1, 0), "{number}: of who was ended");
        }
    });
}

#[test]
fn a_server_out_of_reach_is_told_and_nothing_is_lost_when_it_returns() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let text = include_str!("../kill_patterns/keyspace.toml");
        let clock = Arc::new(ManualClock::at(NOW));
        let options = Options::new(clock, Arc::new(SeededRandom::new(7)));
        let runtime = Runtime::open(store.clone(), keyspace(text), options).await.unwrap();
        let hit = json!({"page": "front", "amount": 1});
        call(&runtime, "me", "hit", &hit).await.unwrap();
        // Its clock is the machine's here; whoever asks it learns whether it is there.
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let told = store.time().await.unwrap().unwrap();
        assert!(now.abs_diff(u128::try_from(told).unwrap()) < 5_000, "{told} is not {now}");
        proxy.refuse(true);
        let away = store.time().await.unwrap_err();
        assert_eq!(away.kind(), ErrorKind::Unavailable, "{away:?}");
        let away = call(&runtime, "me", "hit", &hit).await.unwrap_err();
        assert_eq!(away.kind(), ErrorKind::Unavailable, "{away:?}");
        assert!(away.is_retryable());
        let away = call(&runtime, "me", "hits", &json!({"page": "front"})).await.unwrap_err();
        assert_eq!(away.kind(), ErrorKind::Unavailable, "{away:?}");
        proxy.refuse(false);
        let back = call(&runtime, "me", "hit", &hit).await.unwrap();
        assert_eq!(back["total"], json!(2));
        store.time().await.unwrap();
    });
}

#[test]
fn a_server_gone_during_a_commit_leaves_its_fate_open_until_the_deadline() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        let segments = [Value::Text("room".to_string()), Value::Text("row".to_string())];
        let key = schema.collection("counts").unwrap().key.encode(&segments).unwrap();
        let add = Write::Add { key, amount: 1, expires: None, window: None };
        let batch = Batch {
            id: CommitId::from_bytes([1; 16]),
            now: NOW,
            checks: Vec::new(),
            writes: vec![add],
            deadline: NOW + 1_500,
        };
        proxy.cut_reply(COMMIT);
        let commit = store.commit(&batch);
        let gone = async {
            while proxy.cuts() == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            proxy.refuse(true);
        };
        let (outcome, ()) = join(commit, gone).await;
        assert_eq!(outcome.unwrap(), Outcome::Indeterminate { id: batch.id });
        proxy.refuse(false);
        let Outcome::Committed { totals } = store.commit(&batch).await.unwrap() else {
            panic!("the same batch again is a conflict");
        };
        assert_eq!(totals[0].value, 1);
    });
}

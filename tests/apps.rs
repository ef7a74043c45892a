//! The five applications run: every pattern of each file, on every store there is.
//!
//! `apps/*/calls.cases` holds the calls, in the notation of the suite's scripts. A pattern that no
//! script calls with success fails this test, and so does a store that refuses one it is not known
//! to refuse.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use data::memory::{MemoryStore, PartitionedMemory};
use data::store::{Durability, Store};
use data::suite::patterns::{Expected, Script, Step, play, read};
use data::suite::{Options, Report, block_on};
use futures_util::future::BoxFuture;
use keyspace::model::{Allow, Keyspace};
use std::collections::HashSet;
use std::sync::Arc;
use stores::engine::EngineStore;
use stores::sqlite::SqliteStore;

const APPS: [(&str, &str, &str); 5] = [
    app(
        "chat",
        include_str!("../apps/chat/keyspace.toml"),
        include_str!("../apps/chat/calls.cases"),
    ),
    app(
        "keri",
        include_str!("../apps/keri/keyspace.toml"),
        include_str!("../apps/keri/calls.cases"),
    ),
    app(
        "scaffold",
        include_str!("../apps/scaffold/keyspace.toml"),
        include_str!("../apps/scaffold/calls.cases"),
    ),
    app(
        "spreadapi",
        include_str!("../apps/spreadapi/keyspace.toml"),
        include_str!("../apps/spreadapi/calls.cases"),
    ),
    app(
        "documents",
        include_str!("../apps/documents/keyspace.toml"),
        include_str!("../apps/documents/calls.cases"),
    ),
];

const fn app(
    name: &'static str,
    keyspace: &'static str,
    calls: &'static str,
) -> (&'static str, &'static str, &'static str) {
    (name, keyspace, calls)
}

fn apps() -> Vec<(&'static str, Arc<Keyspace>, Vec<Script>)> {
    let read_one = |(name, file, calls): (&'static str, &str, &'static str)| {
        let keyspace = keyspace::read(file).keyspace.expect("the application's file is right");
        (name, Arc::new(keyspace), read(calls).expect("its calls can be read"))
    };
    APPS.into_iter().map(read_one).collect()
}

#[test]
fn every_pattern_is_called() {
    for (name, keyspace, scripts) in apps() {
        let steps = scripts.iter().flat_map(|script| &script.steps);
        let called: HashSet<&str> = steps
            .filter_map(|(_, step)| match step {
                Step::Call(call) if matches!(call.expected, Expected::Answer(_)) => {
                    Some(call.pattern)
                }
                _ => None,
            })
            .collect();
        for pattern in &keyspace.patterns {
            let runs = !pattern.verb.is_history() && pattern.allow != Allow::Step;
            let is_called = called.contains(pattern.name.value.as_str());
            assert!(!runs || is_called, "{name}: nobody calls {}", pattern.name.value);
        }
    }
}

fn play_all(make: &dyn Fn() -> BoxFuture<'static, Arc<dyn Store>>) -> Vec<(&'static str, Report)> {
    let one = |(name, keyspace, scripts): (&'static str, Arc<Keyspace>, Vec<Script>)| {
        let make = || make();
        let report = block_on(play(&scripts, &keyspace, &make, &Options::default()));
        (name, report.expect("the scripts can be played"))
    };
    apps().into_iter().map(one).collect()
}

#[test]
fn the_applications_run_in_memory() {
    let make = || Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }) as _;
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
    }
}

#[test]
fn the_applications_run_on_the_engine() {
    let folder = std::env::temp_dir().join(format!("keyway-apps-{}", std::process::id()));
    let number = std::sync::atomic::AtomicU32::new(0);
    let make = || {
        let next = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let path = folder.join(next.to_string());
        let options = stores::engine::Options {
            durability: Durability::Process,
            ..stores::engine::Options::default()
        };
        let store = EngineStore::open(path, &options).expect("a new folder can be opened");
        Box::pin(async move { Arc::new(store) as Arc<dyn Store> }) as _
    };
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
    }
    std::fs::remove_dir_all(folder).expect("the folder can be removed");
}

#[test]
fn the_applications_run_on_redis() {
    let runtime = tokio::runtime::Runtime::new().expect("a run time can be made");
    let _entered = runtime.enter();
    let server = servers::redis::RedisServer::start(&[]);
    let options =
        stores::redis::Options { port: server.port(), ..stores::redis::Options::default() };
    let make = || {
        server.cli(&["FLUSHALL"]);
        let options = options.clone();
        Box::pin(async move {
            let store = stores::redis::RedisStore::open(options).await.expect("it can be opened");
            Arc::new(data::suite::Ahead::of_clock(Arc::new(store))) as Arc<dyn Store>
        }) as _
    };
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
    }
}

#[test]
fn the_applications_run_on_redis_cluster() {
    // Rows of several places in one call: refused by the checker too.
    let refused = ["a key event log and its head", "direct messages", "registries"];
    let runtime = tokio::runtime::Runtime::new().expect("a run time can be made");
    let _entered = runtime.enter();
    let cluster = servers::redis_cluster::RedisCluster::start(&[]);
    let options = stores::redis::ClusterOptions {
        nodes: cluster.addresses(),
        ..stores::redis::ClusterOptions::default()
    };
    let make = || {
        cluster.flush();
        let options = options.clone();
        Box::pin(async move {
            let store = stores::redis::RedisStore::open_cluster(options).await;
            let store = store.expect("it can be opened");
            Arc::new(data::suite::Ahead::of_clock(Arc::new(store))) as Arc<dyn Store>
        }) as _
    };
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty(), "{name}: {report}");
        for (script, _) in &report.not_offered {
            assert!(refused.contains(script), "{name}: {script} is refused: {report}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_applications_run_on_postgres_and_leave_what_the_layout_prints() {
    use servers::postgres::Postgres;
    let runtime = tokio::runtime::Runtime::new().expect("a run time can be made");
    let _entered = runtime.enter();
    let server = Postgres::shared();
    for (name, keyspace, scripts) in apps() {
        let printed = server.database();
        server.psql(&printed, &keyspace::layout::postgres::print(&keyspace));
        let made = std::sync::Mutex::new(Vec::new());
        let make = || {
            let database = server.database();
            let store = new_postgres(&server.url(&database));
            made.lock().expect("nobody panicked").push((database, store.clone()));
            Box::pin(async move { store as Arc<dyn Store> }) as _
        };
        let report = block_on(play(&scripts, &keyspace, &make, &Options::default()));
        let report = report.expect("the scripts can be played");
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        for (number, (database, store)) in
            made.into_inner().expect("nobody panicked").iter().enumerate()
        {
            scrub_is_clean(name, store.as_ref(), &keyspace);
            // All databases of an application are made alike.
            if number == 0 {
                assert_eq!(server.structure(database), server.structure(&printed), "{name}");
            }
        }
    }
}

/// A store on a server that does not wait for the disk.
#[cfg(unix)]
fn new_postgres(url: &str) -> Arc<stores::postgres::PostgresStore> {
    let options = stores::postgres::Options {
        durability: Durability::Process,
        ..stores::postgres::Options::default()
    };
    let store = stores::postgres::PostgresStore::open(url, &options);
    Arc::new(store.expect("the URL is right"))
}

/// Every index and claim of a store is true.
#[cfg(unix)]
fn scrub_is_clean(name: &str, store: &dyn Store, keyspace: &Arc<Keyspace>) {
    use data::clock::{ManualClock, SeededRandom};
    use data::maintain::Scrub;
    let schema = block_on(store.ensure(keyspace)).expect("it was ready before");
    let scrub = Scrub {
        store,
        schema: &schema,
        clock: &ManualClock::at(Options::default().now),
        random: &SeededRandom::new(1),
        repair: false,
    };
    let mut problems = Vec::new();
    let mut seen = |problem: Option<&_>, _: &_| problems.extend(problem.cloned());
    block_on(scrub.run(&mut seen)).expect("everything can be read");
    assert!(problems.is_empty(), "{name}: {problems:?}");
}

#[test]
#[cfg(unix)]
fn the_applications_run_on_files() {
    use stores::files::FilesStore;
    let folder = std::env::temp_dir().join(format!("keyway-apps-files-{}", std::process::id()));
    let number = std::sync::atomic::AtomicU32::new(0);
    let make = || {
        let next = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let path = folder.join(next.to_string());
        let options = stores::files::Options {
            durability: Durability::Process,
            ..stores::files::Options::default()
        };
        let store = FilesStore::open(path, &options).expect("a new folder can be opened");
        Box::pin(async move { Arc::new(store) as Arc<dyn Store> }) as _
    };
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
    }
    std::fs::remove_dir_all(folder).expect("the folder can be removed");
}

#[test]
fn the_applications_run_on_sqlite() {
    let folder = std::env::temp_dir().join(format!("keyway-apps-sqlite-{}", std::process::id()));
    let number = std::sync::atomic::AtomicU32::new(0);
    let make = || {
        let next = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let options = stores::sqlite::Options { durability: Durability::Process };
        let path = folder.join(format!("{next}.db"));
        let store = SqliteStore::open(path, &options).expect("a new file can be opened");
        Box::pin(async move { Arc::new(store) as Arc<dyn Store> }) as _
    };
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
    }
    std::fs::remove_dir_all(folder).expect("the folder can be removed");
}

#[test]
fn the_applications_run_where_a_commit_reaches_one_group() {
    // Batches over several groups of conditional rows: refused by the checker too.
    let refused = [
        "a key event log and its head",
        "registries",
        "a draft and its owner",
        "publishing",
        "a client within the service's own limit",
        "tokens",
    ];
    let make = || Box::pin(async { Arc::new(PartitionedMemory::new()) as Arc<dyn Store> }) as _;
    for (name, report) in play_all(&make) {
        assert!(report.failed.is_empty(), "{name}: {report}");
        for (script, _) in &report.not_offered {
            assert!(refused.contains(script), "{name}: {script} is refused: {report}");
        }
    }
}

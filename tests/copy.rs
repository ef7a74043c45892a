//! A keyspace with rows of every kind moves between every two stores, and back is the same.
//!
//! Each store is filled with the same rows and copied to each of the others, through URLs as a user
//! gives them; the comparison and the scrub of the target must find nothing.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use data::clock::SystemRandom;
use data::maintain::{Comparison, Copy, Existing, Import, Problem, Scrub, Side};
use data::schema::CollectionSchema;
use data::suite::patterns::KEYSPACE;
use data::{ErrorKind, Value};
use keyspace::model::{Content, Ttl, Type};
use keyway::Keyway;
use servers::cassandra::Cassandra;
use servers::postgres::Postgres;
use servers::process::Folder;
use servers::redis::RedisServer;
use servers::redis_cluster::RedisCluster;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::runtime::Runtime;

/// Rows of each collection.
const ROWS: i64 = 60;
/// A collection of small rows, and how many it has: more than one page of a walk.
const LONG: (&str, i64) = ("settings", 600);

/// The stores, each a way to a place where nothing is.
struct Stores {
    folder: Folder,
    postgres: Postgres,
    redis: RedisServer,
    cluster: RedisCluster,
    cassandra: &'static Cassandra,
    number: AtomicU32,
}

const KINDS: [&str; 8] =
    ["memory", "engine", "files", "sqlite", "postgres", "redis", "redis-cluster", "cassandra"];

impl Stores {
    fn start() -> Stores {
        Stores {
            folder: Folder::new("copy"),
            postgres: Postgres::start(),
            redis: RedisServer::start(&["--appendonly", "yes"]),
            cluster: RedisCluster::start(&["--appendonly", "yes"]),
            cassandra: Cassandra::shared(),
            number: AtomicU32::new(0),
        }
    }

    /// Takes away what a copy has left: a node slows down with the tables it has.
    fn forget(&self, url: &str) {
        if let Some(rest) = url.strip_prefix("cassandra://") {
            let place = rest.split(['/', '?']).nth(1).unwrap();
            self.cassandra.cql(&format!("DROP KEYSPACE {place}"));
        }
    }

    /// The URL of a new, empty store.
    fn url(&self, kind: &str) -> String {
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        let path = self.folder.path().join(number.to_string());
        let path = path.display();
        match kind {
            "memory" => "memory:".to_string(),
            "engine" | "files" => format!("{kind}:{path}?durability=process"),
            "sqlite" => format!("sqlite:{path}.db?durability=process"),
            "postgres" => {
                let url = self.postgres.url(&self.postgres.database());
                format!("{url}?durability=process")
            }
            "redis" => format!("{}?prefix=copy{number}:&durability=process", self.redis.url()),
            "redis-cluster" => {
                format!("{}?prefix=copy{number}:&durability=process", self.cluster.url())
            }
            "cassandra" => {
                format!("{}?replication=1", self.cassandra.url(&format!("copy{number}")))
            }
            other => panic!("no store is called {other}"),
        }
    }
}

fn side(keyway: &Keyway) -> Side<'_> {
    Side { store: keyway.runtime().store().as_ref(), schema: keyway.runtime().schema() }
}

/// A value of a type, another for each number.
fn value(of: &Type, number: i64) -> Value {
    let word = format!("w {number}: é/%{{}}");
    match of {
        Type::Bool => Value::Bool(number % 2 == 0),
        Type::I64 => Value::I64(number - 5),
        Type::U64 => Value::U64(u64::MAX - number.unsigned_abs()),
        Type::F64 => Value::F64(f64::from(i32::try_from(number).unwrap()) / 7.0),
        Type::Text => Value::Text(word),
        Type::Bytes => Value::Bytes(vec![0, 255, number.to_be_bytes()[7]].into()),
        Type::Uuid => Value::Uuid(number.to_be_bytes().repeat(2).try_into().unwrap()),
        Type::TimeUuid => {
            let [.., a, b] = number.to_be_bytes();
            Value::TimeUuid([0, 0, a, b, 0, 0, 0x11, 0xef, 0x80, 1, 2, 3, 4, 5, 6, 7])
        }
        Type::Ulid => Value::Ulid(number.to_be_bytes().repeat(2).try_into().unwrap()),
        Type::Timestamp => Value::Timestamp(1_800_000_000_000 + number * 1_001),
        Type::Duration => Value::Duration(number * 1_001),
        Type::Date => Value::Date(20_000 + i32::try_from(number).unwrap()),
        Type::Enum(words) => Value::Text(words.first().unwrap().clone()),
        Type::Path => Value::Path(vec![word, "b".to_string()]),
        Type::Json => Value::Json(serde_json::json!({ "z": [number, null, 0.5], "a": word })),
        Type::List(item) => Value::List(vec![value(item, number), value(item, number + 1)]),
        Type::Optional(_) if number % 3 == 0 => Value::Null,
        Type::Optional(inner) => value(inner, number),
    }
}

/// When a row of a collection ends: never within this test, or not at all.
fn expires(collection: &CollectionSchema, slots: &[Value], later: i64) -> Option<i64> {
    if let Some(Ttl::Field(name)) = &collection.model.ttl {
        return match collection.slot(name).and_then(|slot| slots.get(slot)) {
            Some(Value::Timestamp(at)) => Some(*at),
            _ => None,
        };
    }
    let is_window = matches!(collection.model.content, Content::Window { .. });
    (collection.model.ttl.is_some() || is_window).then_some(later)
}

async fn fill(keyway: &Keyway) {
    let runtime = keyway.runtime();
    let (clock, random) = (runtime.options().clock.as_ref(), SystemRandom::start().unwrap());
    let Side { store, schema } = side(keyway);
    let mut import = Import::new(store, schema, clock, &random, Existing::Replace);
    let mut rows = 0;
    for collection in schema.collections() {
        let count = if collection.name() == LONG.0 { LONG.1 } else { ROWS };
        for number in 0..count {
            let segments = collection.key.types.iter().map(|of| value(of, number)).collect();
            let slots = collection.slots.iter().map(|slot| value(&slot.slot_type, number));
            let slots: Vec<Value> = slots.collect();
            let expires = expires(collection, &slots, clock.now() + 86_400_000 + number);
            import.row(collection.clone(), segments, slots, expires).await.unwrap();
            match import.finish().await {
                Ok(_) => rows += 1,
                // A value of this test may be one that a unique index has, or that no index takes.
                Err(error) if matches!(error.kind(), ErrorKind::Taken | ErrorKind::Argument) => {}
                Err(error) => panic!("{}: {error}", collection.name()),
            }
        }
    }
    assert!(rows > 1_000, "only {rows} rows could be stored");
}

async fn copy(from: &Keyway, to: &Keyway) {
    let random = SystemRandom::start().unwrap();
    let clock = to.runtime().options().clock.as_ref();
    let mut copy = Copy::new(side(from), side(to), (clock, &random), None).unwrap();
    while copy.next().await.unwrap().is_some() {}
    let mut comparison = Comparison::new(side(from), side(to), clock);
    let mut rows = 0;
    while let Some(one) = comparison.next(&mut |_| ()).await.unwrap() {
        assert!(one.is_same(), "{one:?}");
        let least = if one.collection == LONG.0 { LONG.1.unsigned_abs() } else { 0 };
        assert!(one.from.rows >= least, "{one:?}");
        rows += one.from.rows;
    }
    assert!(rows > 1_000, "only {rows} rows were compared");
    let Side { store, schema } = side(to);
    let scrub = Scrub { store, schema, clock, random: &random, repair: false };
    let mut problems: Vec<Problem> = Vec::new();
    scrub.run(&mut |problem, _| problems.extend(problem.cloned())).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn every_store_copies_to_every_other() {
    let runtime = Runtime::new().unwrap();
    let stores = Arc::new(Stores::start());
    runtime.block_on(async {
        for from in KINDS {
            let source_url = stores.url(from);
            let source = Keyway::builder().open_text(KEYSPACE, &source_url).await.unwrap();
            fill(&source).await;
            for to in KINDS {
                println!("{from} to {to}");
                let url = stores.url(to);
                let target = Keyway::builder().open_text(KEYSPACE, &url).await.unwrap();
                copy(&source, &target).await;
                target.close().await.unwrap();
                stores.forget(&url);
            }
            source.close().await.unwrap();
            stores.forget(&source_url);
        }
    });
}

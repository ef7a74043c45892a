//! A keyspace with rows of every kind moves between every two stores, and back is the same.
//!
//! Each store is filled with the same rows and copied to each of the others, through URLs as a user
//! gives them; the comparison and the scrub of the target must find nothing. A copy is interrupted
//! after every stretch. Rows with every type, in keys and in fields, go round all stores.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use data::clock::SystemRandom;
use data::maintain::{Comparison, Copy, CopyMark, Existing, Import, Problem, Scrub, Side, Walk};
use data::schema::CollectionSchema;
use data::store::Keyed;
use data::suite::patterns::KEYSPACE;
use data::{ErrorKind, Value};
use keyspace::model::{Content, Ttl, Type};
use keyway::Keyway;
use servers::cassandra::Cassandra;
use servers::postgres::Postgres;
use servers::process::Folder;
use servers::redis::RedisServer;
use servers::redis_cluster::RedisCluster;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
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

    /// Takes away what a copy has left: a node slows down with the tables it has, and a walk with
    /// the keys of others.
    fn forget(&self, url: &str) {
        if let Some((_, rest)) = url.split_once("?prefix=") {
            let names = format!("{}*", rest.split('&').next().unwrap());
            let remove = "for _, name in ipairs(redis.call('KEYS', ARGV[1])) do \
                          redis.call('UNLINK', name) end";
            if url.starts_with("redis-cluster") {
                for node in self.cluster.masters() {
                    self.cluster.cli(node, &["EVAL", remove, "0", &names]);
                }
            } else {
                self.redis.cli(&["EVAL", remove, "0", &names]);
            }
        }
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

/// A keyspace that has every type in a key, up and down, and in fields.
const TYPES: &str = include_str!("../crates/keyspace/tests/golden/layout/types/keyspace.toml");

/// The same without histories, which not every store keeps.
fn types() -> String {
    let (before, rest) = TYPES.split_once("[history.doc]").unwrap();
    let (_, behind) = rest.split_once("[pattern.put_keys]").unwrap();
    let (patterns, _) = behind.split_once("[pattern.append]").unwrap();
    format!("{before}[pattern.put_keys]{patterns}")
}

/// A day, in milliseconds: no row ends within this test.
const DAY: i64 = 86_400_000;

/// A value of a type, another for each number.
fn value(of: &Type, number: i64, now: i64) -> Value {
    let word = format!("w {number}: é/%{{}}");
    let [.., a, b] = number.to_be_bytes();
    match of {
        Type::Bool => Value::Bool(number % 2 == 0),
        Type::I64 => Value::I64(number - 5),
        Type::U64 => Value::U64(u64::MAX - number.unsigned_abs()),
        Type::F64 => Value::F64(f64::from(i32::try_from(number - 9).unwrap()) / 7.0),
        Type::Text => Value::Text(word),
        Type::Bytes => Value::Bytes(vec![0, 255, b].into()),
        // Versions 7 and 1: a database may look at them, and have those of one version only.
        Type::Uuid => Value::Uuid([b, 1, 2, 3, a, b, 0x7a, 7, 0xb8, 9, 10, 11, 12, 13, 14, 15]),
        Type::TimeUuid => {
            Value::TimeUuid([0, 0, a, b, 0, 0, 0x11, 0xef, 0x80, 1, 2, 3, 4, 5, 6, 7])
        }
        Type::Ulid => Value::Ulid(number.to_be_bytes().repeat(2).try_into().unwrap()),
        Type::Timestamp => Value::Timestamp(now + DAY + number * 1_001),
        Type::Duration => Value::Duration(number * 1_001),
        Type::Date => Value::Date(20_000 + i32::try_from(number).unwrap()),
        Type::Enum(words) => {
            let at = usize::try_from(number).unwrap() % words.len();
            Value::Text(words.get(at).unwrap().clone())
        }
        Type::Path => Value::Path(vec![word, "b".to_string()]),
        Type::Json => Value::Json(serde_json::json!({ "z": [number, null, 0.5], "a": word })),
        Type::List(item) => {
            Value::List(vec![value(item, number, now), value(item, number + 1, now)])
        }
        Type::Optional(_) if number % 3 == 0 => Value::Null,
        Type::Optional(inner) => value(inner, number, now),
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

/// Fills a store, and answers how many rows each collection has.
async fn fill(keyway: &Keyway) -> BTreeMap<String, u64> {
    let runtime = keyway.runtime();
    let (clock, random) = (runtime.options().clock.as_ref(), SystemRandom::start().unwrap());
    let now = clock.now();
    let Side { store, schema } = side(keyway);
    let mut import = Import::new(store, schema, clock, &random, Existing::Replace);
    let mut filled = BTreeMap::new();
    for collection in schema.collections() {
        let has_one_key = collection.key.types.is_empty();
        let count = match collection.name() {
            name if name == LONG.0 => LONG.1,
            _ => ROWS,
        };
        let mut refused = Vec::new();
        for number in 0..count {
            let segments = collection.key.types.iter().map(|of| value(of, number, now)).collect();
            let slots = collection.slots.iter().map(|slot| value(&slot.slot_type, number, now));
            let slots: Vec<Value> = slots.collect();
            let expires = expires(collection, &slots, now + DAY + number);
            import.row(collection.clone(), segments, slots, expires).await.unwrap();
            match import.finish().await {
                Ok(_) => {}
                // A value of this test may be one that a unique index has, or that no index takes.
                Err(error) if matches!(error.kind(), ErrorKind::Taken | ErrorKind::Argument) => {
                    refused.push(error);
                }
                Err(error) => panic!("{}: {error}", collection.name()),
            }
        }
        let mut walk = Walk::over(collection.key.space);
        let mut rows = 0;
        while let Some(page) = walk.next(store).await.unwrap() {
            let lasts = |keyed: &&Keyed| keyed.row.is_live(now + DAY / 2);
            rows += page.iter().filter(lasts).count() as u64;
        }
        let least = if has_one_key { 1 } else { count.unsigned_abs() / 2 };
        assert!(rows >= least, "{}: {rows} rows of {count}, {refused:?}", collection.name());
        filled.insert(collection.name().to_string(), rows);
    }
    filled
}

/// Copies, and begins each stretch as after an interruption.
async fn copy(from: &Keyway, to: &Keyway, filled: &BTreeMap<String, u64>) {
    let random = SystemRandom::start().unwrap();
    let clock = to.runtime().options().clock.as_ref();
    let (mut mark, mut copied): (Option<CopyMark>, u64) = (None, 0);
    loop {
        let mut copy = Copy::new(side(from), side(to), (clock, &random), mark.as_ref()).unwrap();
        let next = copy.next().await.unwrap();
        assert_eq!(copy.begun_anew, None);
        copied += copy.rows;
        // The last stretch is copied as often as it is asked for.
        if next == mark {
            break;
        }
        mark = next;
    }
    let all: u64 = filled.values().sum();
    assert!((all..2 * all).contains(&copied), "{copied} rows copied of {all}");
    let mut comparison = Comparison::new(side(from), side(to), clock);
    let mut compared = BTreeMap::new();
    while let Some(one) = comparison.next(&mut |_| ()).await.unwrap() {
        assert!(one.is_same(), "{one:?}");
        assert_eq!((one.from.ending, one.to.ending), (0, 0));
        compared.insert(one.collection, one.from.rows);
    }
    assert_eq!(&compared, filled);
    let Side { store, schema } = side(to);
    let scrub = Scrub { store, schema, clock, random: &random, repair: false };
    let mut problems: Vec<Problem> = Vec::new();
    scrub.run(&mut |problem, _| problems.extend(problem.cloned())).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

/// Fills a store and copies it to others.
async fn copy_to(stores: &Stores, keyspace: &str, from: &str, others: &[&str]) {
    let source_url = stores.url(from);
    let source = Keyway::builder().open_text(keyspace, &source_url).await.unwrap();
    let begun = Instant::now();
    let filled = fill(&source).await;
    println!("{from} filled in {:.1?}: {filled:?}", begun.elapsed());
    for to in others {
        let begun = Instant::now();
        let url = stores.url(to);
        let target = Keyway::builder().open_text(keyspace, &url).await.unwrap();
        copy(&source, &target, &filled).await;
        target.close().await.unwrap();
        stores.forget(&url);
        println!("{from} to {to} in {:.1?}", begun.elapsed());
    }
    source.close().await.unwrap();
    stores.forget(&source_url);
}

/// Each store and the next one, the last one and the first.
fn ring() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.into_iter().zip(KINDS.into_iter().cycle().skip(1))
}

#[test]
fn every_store_copies_to_every_other() {
    let runtime = Runtime::new().unwrap();
    let stores = Stores::start();
    runtime.block_on(async {
        for (from, to) in ring() {
            copy_to(&stores, &types(), from, &[to]).await;
        }
        for from in KINDS {
            copy_to(&stores, KEYSPACE, from, &KINDS).await;
        }
    });
}

#[test]
fn the_keyspaces_have_every_type_in_keys_and_in_fields() {
    let read = keyspace::read(&types()).keyspace.unwrap();
    let mut keys: BTreeSet<&'static str> = BTreeSet::new();
    let mut fields = keys.clone();
    for collection in &read.collections {
        keys.extend(collection.key.segments().map(|segment| name_of(&segment.segment_type)));
        for field in collection.fields() {
            let mut of = &field.field_type;
            fields.insert(name_of(of));
            while let Type::Optional(inner) | Type::List(inner) = of {
                of = inner;
                fields.insert(name_of(of));
            }
        }
    }
    let of_both = [
        "bool",
        "i64",
        "u64",
        "f64",
        "text",
        "bytes",
        "uuid",
        "timeuuid",
        "ulid",
        "timestamp",
        "date",
        "enum",
    ];
    let with = |more: &[&'static str]| of_both.iter().chain(more).copied().collect();
    assert_eq!(keys, with(&["path"]));
    assert_eq!(fields, with(&["json", "list", "optional"]));
}

/// The name of a type. A new one fails to compile here, and belongs into [`TYPES`].
fn name_of(of: &Type) -> &'static str {
    match of {
        Type::Bool => "bool",
        Type::I64 => "i64",
        Type::U64 => "u64",
        Type::F64 => "f64",
        Type::Text => "text",
        Type::Bytes => "bytes",
        Type::Uuid => "uuid",
        Type::TimeUuid => "timeuuid",
        Type::Ulid => "ulid",
        Type::Timestamp => "timestamp",
        Type::Duration => "duration",
        Type::Date => "date",
        Type::Enum(_) => "enum",
        Type::Path => "path",
        Type::Json => "json",
        Type::List(_) => "list",
        Type::Optional(_) => "optional",
    }
}

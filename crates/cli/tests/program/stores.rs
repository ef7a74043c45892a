//! Commands on every kind of store: what only looks writes nothing, a store is not copied onto
//! itself, a copy that is killed goes on, and memory does not grow with the rows.

use crate::{Directory, SHOP, command, keyway, keyway_with, root};
use serde_json::json;
use servers::cassandra::Cassandra;
use servers::postgres::Postgres;
use servers::redis::RedisServer;
use servers::redis_cluster::RedisCluster;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// The servers, and places on them and on the disk.
struct Places {
    directory: Directory,
    postgres: Postgres,
    database: String,
    redis: RedisServer,
}

const KINDS: [&str; 5] = ["engine", "files", "sqlite", "postgres", "redis"];

impl Places {
    fn new(test: &str) -> Places {
        let postgres = Postgres::start();
        let database = postgres.database();
        let redis = RedisServer::start(&[]);
        Places { directory: Directory::new(test), postgres, database, redis }
    }

    /// The place of a kind, by one of its names.
    fn url(&self, kind: &str) -> String {
        match kind {
            "sqlite" => format!("sqlite:{}", self.directory.path("theirs.db")),
            "postgres" => format!("{}?durability=process", self.postgres.url(&self.database)),
            "redis" => format!("redis://{}/6", self.redis.address()),
            kind => format!("{kind}:{}", self.directory.path(kind)),
        }
    }

    /// The same place by another name.
    fn other_url(&self, kind: &str) -> String {
        match kind {
            "postgres" | "redis" => self.url(kind).replace("127.0.0.1", "localhost"),
            kind => {
                let url = self.url(kind);
                let at = url.rfind('/').unwrap();
                format!("{}/.{}", &url[..at], &url[at..])
            }
        }
    }

    /// Puts something of another program's there; directories are left empty.
    fn settle(&self) {
        for kind in ["engine", "files"] {
            fs::create_dir(self.directory.path(kind)).unwrap();
        }
        let theirs = rusqlite::Connection::open(self.directory.path("theirs.db")).unwrap();
        theirs.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (7)").unwrap();
        self.postgres.psql(&self.database, "CREATE TABLE t (n bigint)");
        self.redis.cli(&["-n", "6", "SET", "theirs", "7"]);
    }

    /// Everything that is there.
    fn found(&self) -> (BTreeMap<String, Vec<u8>>, String, String) {
        let mut files = BTreeMap::new();
        gather(&self.directory.0, &mut files);
        let tables = "SELECT nspname FROM pg_namespace UNION ALL SELECT relname FROM pg_class \
                      ORDER BY 1";
        let tables = self.postgres.psql(&self.database, tables);
        (files, tables, self.redis.cli(&["-n", "6", "KEYS", "*"]))
    }
}

fn gather(directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let content = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
        files.insert(path.display().to_string(), content);
        if path.is_dir() {
            gather(&path, files);
        }
    }
}

#[test]
fn what_only_looks_writes_nothing_on_any_store() {
    let places = Places::new("stores-look");
    places.settle();
    let filled = format!("engine:{}", places.directory.path("filled"));
    let add = ["run", SHOP, "view", "sku=1", "--as", "ann", "--store", &filled];
    assert_eq!(keyway(&add).status, 0);
    let new = format!("engine:{}", places.directory.path("new"));
    let before = places.found();
    for kind in KINDS {
        let url = places.url(kind);
        let url = url.as_str();
        let commands: [(&[&str], &str); 5] = [
            (&["export", SHOP, "--store", url], "--store"),
            (&["scrub", SHOP, "--store", url], "--store"),
            (&["scrub", SHOP, "--repair", "--store", url], "--store"),
            (&["copy", SHOP, "--from", url, "--to", &new], "--from"),
            (&["copy", SHOP, "--from", &filled, "--to", url, "--compare-only"], "--to"),
        ];
        for (arguments, option) in commands {
            let ran = keyway(arguments);
            assert_eq!((ran.status, ran.output.as_str()), (4, ""), "{arguments:?}");
            assert!(ran.complaint.contains("there is no store in "), "{}", ran.complaint);
            let fix = format!("{option} {kind}:");
            assert!(ran.complaint.contains(&fix), "{fix}: {}", ran.complaint);
            let (mut files, tables, keys) = places.found();
            // A store that is only read is opened all the same.
            let own = places.directory.path("filled");
            files.retain(|path, _| !path.starts_with(&own));
            let mut was = before.0.clone();
            was.retain(|path, _| !path.starts_with(&own));
            assert_eq!(files.keys().collect::<Vec<_>>(), was.keys().collect::<Vec<_>>());
            assert!(files == was, "{arguments:?} changed a file");
            assert_eq!((&tables, &keys), (&before.1, &before.2), "{arguments:?}");
        }
    }
}

#[test]
fn a_store_that_is_made_is_told_once() {
    let places = Places::new("stores-made");
    let missing = format!("sqlite:{}", places.directory.path("missing/x.db"));
    let urls = KINDS.iter().map(|kind| places.url(kind)).chain([missing]);
    for url in urls {
        let add = ["run", SHOP, "view", "sku=1", "--as", "ann", "--store", &url];
        let told = |ran: &crate::Ran| ran.complaint.matches("note: made a store in ").count();
        let (first, second) = (keyway(&add), keyway(&add));
        assert_eq!((first.status, told(&first)), (0, 1), "{url}: {}", first.complaint);
        assert_eq!((second.status, told(&second)), (0, 0), "{url}: {}", second.complaint);
    }
    let ran = keyway(&["run", SHOP, "view", "sku=1", "--as", "ann", "--store", "memory:"]);
    assert_eq!((ran.status, ran.complaint.as_str()), (0, ""));
}

#[test]
fn a_store_is_not_copied_onto_itself_by_another_name() {
    let places = Places::new("stores-itself");
    for kind in KINDS {
        let (from, to) = (places.url(kind), places.other_url(kind));
        assert_ne!(from, to);
        let add = ["run", SHOP, "view", "sku=1", "--as", "ann", "--store", &from];
        assert_eq!(keyway(&add).status, 0);
        let mut names = vec![to];
        if kind == "sqlite" {
            let (file, link) = (places.directory.path("theirs.db"), places.directory.path("l.db"));
            fs::hard_link(file, &link).unwrap();
            names.push(format!("sqlite:{link}"));
        }
        for to in names {
            let ran = keyway(&["copy", SHOP, "--from", &from, "--to", &to]);
            assert_eq!(ran.status, 2, "{to}: {}{}", ran.output, ran.complaint);
            assert!(ran.complaint.contains("onto itself"), "{to}: {}", ran.complaint);
        }
    }
    // Another database of the same server is another store.
    let to = format!("redis://{}/7", places.redis.address());
    let ran = keyway(&["copy", SHOP, "--from", &places.url("redis"), "--to", &to]);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
}

/// An export of so many pictures, each of so many bytes.
fn pictures(count: usize, bytes: usize) -> String {
    let mut lines = "{\"keyway\":1,\"keyspace\":\"shop\"}\n".to_string();
    // Four letters are three bytes.
    let value = "QUJD".repeat(bytes.div_ceil(3));
    for number in 0..count {
        let row = json!({ "sku": number.to_string(), "value": value });
        lines.push_str(&format!("{}\n", json!({ "collection": "pictures", "row": row })));
    }
    lines + &format!("{{\"end\":{{\"rows\":{count}}}}}\n")
}

/// A copy of the shop's file, with notes of copies beside it alone.
fn own_file(directory: &Directory) -> String {
    directory.write("shop.toml", &fs::read_to_string(root().join(SHOP)).unwrap())
}

/// What the note of a copy says, if there is one: the collection, and the digits of the last key.
fn noted(directory: &Directory) -> Option<(String, String)> {
    let names = fs::read_dir(directory.path(".keyway")).ok()?.flatten();
    let mut notes = names.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("copy-") && !name.ends_with(".part")
    });
    let text = fs::read_to_string(notes.next()?.path()).ok()?;
    let mut lines = text.lines();
    Some((lines.next()?.to_string(), lines.next().unwrap_or_default().to_string()))
}

/// Kills a copy in the middle of a collection and runs it again, once something else has happened;
/// answers what it says then.
fn killed_and_run_again(
    (directory, file): (&Directory, &str),
    (from, to): (&str, &str),
    rows: usize,
    meanwhile: impl FnOnce(),
) -> serde_json::Value {
    let filled = keyway_with(&["import", file, "--store", from], &pictures(rows, 30), &[]);
    assert_eq!(filled.status, 0, "{}", filled.complaint);
    let copy = ["copy", file, "--from", from, "--to", to, "--json"];
    let mut child = command(&copy).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    loop {
        assert!(child.try_wait().unwrap().is_none(), "the copy was not killed in time");
        if noted(directory).is_some_and(|(name, after)| name == "pictures" && !after.is_empty()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(noted(directory).unwrap().0, "pictures");
    meanwhile();
    let ran = keyway(&copy);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert_eq!(noted(directory), None);
    let said: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    let collections = said["collections"].as_array().unwrap();
    let found = collections.iter().find(|one| one["collection"] == "pictures").unwrap();
    assert_eq!(found["to"]["rows"], rows);
    assert_eq!(found["same"], true);
    assert_eq!(said["compared"], rows);
    assert_eq!(said["resumed"], true);
    said
}

/// An engine to copy to.
fn target(directory: &Directory) -> String {
    format!("engine:{}?durability=process", directory.path("target"))
}

/// A shop of pictures only.
const PICTURES: &str = r#"
[keyspace]
name = "shop"

[collection.pictures]
key   = "picture:{sku: text}"
value = "bytes"

[pattern]
picture     = { get = "pictures" }
put_picture = { put = "pictures", allow = "user" }
"#;

/// That a copy which was killed went on, and did not copy everything once more.
fn went_on(said: &serde_json::Value, rows: usize) {
    assert_eq!(said["begun_anew"], serde_json::Value::Null, "{said}");
    assert!(said["copied"].as_u64().unwrap() < rows as u64, "{said}");
}

#[test]
fn a_copy_that_is_killed_goes_on() {
    const ROWS: usize = 30_000;
    let directory = Directory::new("stores-killed-sqlite");
    let from = format!("sqlite:{}?durability=process", directory.path("source.db"));
    let (file, to) = (own_file(&directory), target(&directory));
    went_on(&killed_and_run_again((&directory, &file), (&from, &to), ROWS, || ()), ROWS);
}

/// Every kind is a source and a target once. A row of files and of Cassandra takes longer.
#[test]
fn a_copy_that_is_killed_goes_on_between_all_kinds() {
    const RING: [(&str, usize); 6] = [
        ("engine", 4_000),
        ("files", 8_000),
        ("postgres", 15_000),
        ("sqlite", 10_000),
        ("cassandra", 8_000),
        ("redis", 20_000),
    ];
    for (number, (from, rows)) in RING.into_iter().enumerate() {
        let (to, _) = RING[(number + 1) % RING.len()];
        let directory = Directory::new(&format!("stores-killed-{from}"));
        let (redis, postgres) = (RedisServer::start(&[]), Postgres::shared());
        let url = |kind: &str| match kind {
            "sqlite" => format!("sqlite:{}?durability=process", directory.path("a.db")),
            "postgres" => format!("{}?durability=process", postgres.url(&postgres.database())),
            "redis" => redis.url(),
            "cassandra" => {
                format!("{}?replication=1", Cassandra::shared().url(&format!("ring_{from}")))
            }
            kind => format!("{kind}:{}?durability=process", directory.path(kind)),
        };
        // Without the pattern that reaches several places.
        let file = directory.write("pictures.toml", PICTURES);
        let said = killed_and_run_again((&directory, &file), (&url(from), &url(to)), rows, || ());
        println!("{from} to {to}: {} of {rows} were left", said["copied"]);
        went_on(&said, rows);
    }
}

#[test]
fn a_copy_from_redis_that_is_killed_goes_on() {
    const ROWS: usize = 30_000;
    let redis = RedisServer::start(&[]);
    // What others have there is passed over.
    let fill = "for n = 1, 20000 do redis.call('SET', 'other:' .. n, '') end";
    redis.cli(&["EVAL", fill, "0"]);
    let directory = Directory::new("stores-killed-redis");
    let (file, urls) = (own_file(&directory), (&*redis.url(), &*target(&directory)));
    went_on(&killed_and_run_again((&directory, &file), urls, ROWS, || ()), ROWS);
}

#[test]
fn a_copy_from_a_cluster_that_is_killed_goes_on() {
    const ROWS: usize = 6_000;
    let cluster = RedisCluster::start(&["--appendonly", "yes"]);
    let directory = Directory::new("stores-killed-cluster");
    // Without the pattern that reaches several places.
    let file = directory.write("pictures.toml", PICTURES);
    let from = format!("{}?durability=process", cluster.url());
    let to = target(&directory);
    went_on(&killed_and_run_again((&directory, &file), (&from, &to), ROWS, || ()), ROWS);
}

#[test]
fn a_collection_begins_anew_where_redis_was_started_again_meanwhile() {
    const ROWS: usize = 10_000;
    let mut redis = RedisServer::start(&["--appendonly", "yes"]);
    let (directory, from) = (Directory::new("stores-killed-restarted"), redis.url());
    let (file, to) = (own_file(&directory), target(&directory));
    let again = || redis.restart();
    let said = killed_and_run_again((&directory, &file), (&from, &to), ROWS, again);
    assert_eq!(said["begun_anew"], "pictures");
    assert!(said["copied"].as_u64().unwrap() >= ROWS as u64, "{said}");
}

/// The most memory that a run of the program had, in KiB.
fn peak(arguments: &[&str]) -> u64 {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        peak = found.unwrap_or(0).max(peak);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "{arguments:?}");
    peak
}

/// Bytes of a row whose copies are measured.
#[cfg(target_os = "linux")]
const ROW: usize = 6_000;
/// KiB by which memory may be more with three times the rows. The rows alone are 72 MB more. Both
/// times they are more than what databases keep in memory, which fills up as far as it may: what is
/// left is chance.
#[cfg(target_os = "linux")]
const CHANCE: u64 = 32 << 10;

/// Servers, and a directory, on which memory is measured.
#[cfg(target_os = "linux")]
struct Measured {
    directory: Directory,
    postgres: &'static Postgres,
    redis: RedisServer,
    cluster: OnceCell<RedisCluster>,
}

#[cfg(target_os = "linux")]
impl Measured {
    fn new(test: &str) -> Measured {
        let (directory, redis) = (Directory::new(test), RedisServer::start(&[]));
        Measured { directory, postgres: Postgres::shared(), redis, cluster: OnceCell::new() }
    }

    /// The URL of an empty store of a kind.
    fn url(&self, kind: &str, name: &str) -> String {
        match kind {
            "sqlite" => format!("sqlite:{}.db?durability=none", self.directory.path(name)),
            // Little more than it needs, so that it is filled both times.
            "engine" => {
                let path = self.directory.path(name);
                format!("engine:{path}?durability=process&cache_mib=8")
            }
            "files" => {
                let path = self.directory.path(name);
                format!("files:{path}?durability=process&cache_mib=8")
            }
            "redis" => {
                self.redis.cli(&["FLUSHALL"]);
                self.redis.url()
            }
            "redis-cluster" => {
                let cluster = self.cluster.get_or_init(|| RedisCluster::start(&[]));
                format!("{}?prefix={name}:", cluster.url())
            }
            "cassandra" => {
                let place = name.replace('-', "_");
                format!("{}?replication=1", Cassandra::shared().url(&place))
            }
            _ => format!("{}?durability=none", self.postgres.url(&self.postgres.database())),
        }
    }

    /// The most memory of an export and of a copy, in KiB, of so many rows of so many bytes between
    /// two kinds.
    fn peaks(&self, (from, to): (&str, &str), rows: usize, bytes: usize) -> (u64, u64) {
        let name = format!("{from}-{to}-{rows}");
        let (from, to) = (self.url(from, &format!("{name}-from")), self.url(to, &name));
        // Without the pattern that reaches several places.
        let file = self.directory.write("pictures.toml", PICTURES);
        let lines = pictures(rows, bytes);
        let filled = keyway_with(&["import", &file, "--store", &from], &lines, &[]);
        assert_eq!(filled.status, 0, "{}", filled.complaint);
        let out = self.directory.path("rows.jsonl");
        let exported = peak(&["export", &file, "--store", &from, "-o", &out]);
        let copied = peak(&["copy", &file, "--from", &from, "--to", &to]);
        println!("{name}: {exported} KiB at most for an export, {copied} KiB for a copy");
        (exported, copied)
    }

    /// By how much memory is more for three times so many rows, of an export and of a copy.
    fn growth(&self, kinds: (&str, &str), rows: usize, bytes: usize) -> (u64, u64) {
        let (small, large) = (self.peaks(kinds, rows, bytes), self.peaks(kinds, 3 * rows, bytes));
        (large.0.saturating_sub(small.0), large.1.saturating_sub(small.1))
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_rows_of_a_source() {
    let measured = Measured::new("stores-memory-from");
    for from in ["sqlite", "redis", "postgres", "engine", "redis-cluster", "cassandra"] {
        let (exported, copied) = measured.growth((from, "sqlite"), 6_000, ROW);
        assert!(exported < CHANCE && copied < CHANCE, "{from}: {exported}, {copied} KiB");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_rows_of_a_target() {
    let measured = Measured::new("stores-memory-to");
    // Not the engine: it keeps what is written until it has sorted it in, and is late now and then.
    for to in ["postgres", "redis", "redis-cluster", "cassandra"] {
        let (_, copied) = measured.growth(("sqlite", to), 6_000, ROW);
        assert!(copied < CHANCE, "{to}: {copied} KiB");
    }
}

/// KiB that a tree of files may need for a row: it keeps all keys in memory, but no rows.
#[cfg(target_os = "linux")]
const FILES_ROW: u64 = 5;
/// Bytes of such a row: four times what it may need, so that one kept even by a third is seen.
#[cfg(target_os = "linux")]
const FILES_ROW_BYTES: usize = 20_000;

#[test]
#[cfg(target_os = "linux")]
fn a_tree_of_files_needs_memory_for_its_keys() {
    let measured = Measured::new("stores-memory-files");
    for kinds in [("sqlite", "files"), ("files", "sqlite")] {
        let (exported, copied) = measured.growth(kinds, 5_000, FILES_ROW_BYTES);
        let most = 10_000 * FILES_ROW;
        println!("{kinds:?}: {exported} and {copied} KiB for 10,000 rows more, {most} at most");
        assert!(exported.max(copied) < most, "{kinds:?}: {exported}, {copied} KiB");
    }
}

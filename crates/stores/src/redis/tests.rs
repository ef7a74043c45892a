//! Scripts with something left out: each is noticed by a test that is named here.
//!
//! The suite's cases are run against a store whose commit script was changed; and a few things that
//! only a real server shows are tried by hand.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use super::{Options, RedisStore};
use data::clock::SeededRandom;
use data::schema::Schema;
use data::store::{Batch, CommitId, Key, OUTCOME_KEPT, Outcome, Store, Write};
use data::suite;
use data::value::Value;
use data::{ErrorKind, Result};
use futures_util::future::BoxFuture;
use keyspace::layout::redis::CALL_MILLISECONDS;
use servers::redis::RedisServer;
use std::future::Future;
use std::sync::Arc;

const SCRIPT: &str = include_str!("commit.lua");

fn in_runtime<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().worker_threads(2).build().unwrap().block_on(test)
}

fn as_tasks(clients: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let tasks: Vec<_> = clients.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            let _ = task.await;
        }
    })
}

/// The script without a look at types; which keys are there is still known.
fn without_guard() -> String {
    with("if found ~= expected then return { 'type', number, found, expected } end", "")
}

/// The script without one of its phases.
fn without(phase: &str) -> String {
    let begin = SCRIPT.find(&format!("-- [{phase}]")).expect(phase);
    let end = SCRIPT.find(&format!("-- [/{phase}]")).expect(phase);
    let (front, back) = (SCRIPT.get(..begin).unwrap(), SCRIPT.get(end..).unwrap());
    format!("{front}{back}")
}

/// The script with something else in the place of something.
fn with(from: &str, to: &str) -> String {
    assert!(SCRIPT.contains(from), "{from}");
    SCRIPT.replace(from, to)
}

async fn open(server: &RedisServer, script: &str) -> Arc<RedisStore> {
    let options = Options { port: server.port(), ..Options::default() };
    Arc::new(RedisStore::open_with(options, script).await.unwrap())
}

#[test]
fn the_script_remembers_as_long_as_the_layout_says() {
    assert_eq!(u128::from(CALL_MILLISECONDS), OUTCOME_KEPT.as_millis());
    assert!(SCRIPT.contains(&format!("'PX', {CALL_MILLISECONDS}")));
    assert!(SCRIPT.starts_with("#!lua\n"));
}

/// Scripts without one of their parts: what is wrong, the script, the case that finds it.
fn sabotages() -> Vec<(&'static str, String, &'static str)> {
    let late =
        with("if not holds then return { 'check'", "if not holds then LATE = LATE or { 'check'");
    let late = late
        .replace("local at, step = 3,", "local LATE\nlocal at, step = 3,")
        .replace("return 'done' .. outcome", "return LATE or 'done' .. outcome");
    let end_of_text = "sum.ends = high, low, drops and string.format('%.0f', drops) or ''";
    vec![
        ("no outcome is asked for", without("outcome"), "again: an add counts once"),
        ("no outcome is kept", without("remember"), "again: an add counts once"),
        ("writes before checks", late, "batch: a failed check leaves every row as it was"),
        (
            "ends are not judged",
            with("there and not (ends and tonumber(ends) <= now)", "there"),
            "check: absent, at its end",
        ),
        (
            "versions are not compared",
            with("holds = live and version == given[at]", "holds = live"),
            "update: an old version never wins",
        ),
        (
            "numbers may overflow",
            with("if is_outside(high, low) then\n", "if false then\n"),
            "add: past the largest number is refused",
        ),
        (
            "numbers are floats",
            with("text_of(high, low)\n", "string.format('%.0f', high * 1e9 + low)\n"),
            "add: up to the largest number",
        ),
        (
            "windows have no limit",
            with("if high > limit_high or (high", "if false and (high"),
            "window: refuses one more",
        ),
        (
            "an ended counter counts on",
            with("if drops and drops <= now then text = false end", ""),
            "add: at the end begins anew",
        ),
        (
            "a counter ends later with each add",
            with(end_of_text, "sum.ends = high, low, ends"),
            "add: a later one leaves the end",
        ),
        (
            "a row's end stays when it is put without one",
            with("call('SET', own, given[at])", "call('SET', own, given[at], 'KEEPTTL')"),
            "put: without an end, onto a row with one",
        ),
    ]
}

#[test]
fn each_part_of_the_script_is_missed_by_a_case_of_the_suite() {
    let server = RedisServer::start(&[]);
    let cases = suite::cases();
    let mut missed = Vec::new();
    for (what, script, name) in sabotages() {
        let case = cases.iter().find(|case| case.name == name).expect(name);
        let run = |script: &str| {
            server.cli(&["FLUSHALL"]);
            in_runtime(async {
                let store: Arc<dyn Store> = open(&server, script).await;
                let make = || {
                    let store = store.clone();
                    Box::pin(async { store }) as _
                };
                let options = suite::Options { clients: as_tasks, ..suite::Options::default() };
                suite::run_cases(std::slice::from_ref(case), &make, &options).await
            })
        };
        assert!(!run(SCRIPT).rejects(name), "{name} passes with the whole script");
        if !run(&script).rejects(name) {
            missed.push(format!("{what} is not seen by: {name}"));
        }
    }
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}

const FILE: &str = r#"
[keyspace]
name = "parts"
[collection.notes]
key = "note:{id: text}"
fields = { text = "text" }
[collection.likes]
key = "post:{post: text}:likes | {user: text}"
expect = { rows_per_group = 100 }
[collection.logs]
key = "log:{log: text} | {at: timestamp}"
fields = { line = "text" }
bucket = { by = "at", every = "1h" }
[pattern.put_note]
put = "notes"
allow = "user"
[pattern.note]
get = "notes"
[pattern.like]
put = "likes"
allow = "user"
[pattern.likes_of]
list = "likes"
page = 10
[pattern.log]
put = "logs"
allow = "user"
[pattern.drop_log]
delete = "logs"
allow = "user"
[pattern.logs_of]
list = "logs"
page = 10
"#;

/// A store with a few kinds of rows.
struct Parts {
    store: Arc<RedisStore>,
    schema: Arc<Schema>,
    random: SeededRandom,
}

impl Parts {
    async fn open(server: &RedisServer, script: &str) -> Parts {
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        server.cli(&["FLUSHALL"]);
        let store = open(server, script).await;
        let keyspace = Arc::new(keyspace::read(FILE).keyspace.unwrap());
        let schema = store.ensure(&keyspace).await.unwrap();
        Parts { store, schema, random: SeededRandom::new(1) }
    }

    fn put(&self, collection: &str, segments: &[Value], slots: &[Value]) -> Write {
        let collection = self.schema.collection(collection).unwrap();
        Write::Put {
            key: collection.key.encode(segments).unwrap(),
            value: collection.encode(slots).unwrap(),
            expires: None,
            versioned: false,
            trail: None,
        }
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome> {
        let id = CommitId::new(1, &self.random);
        let batch = Batch { id, now: 1, checks: Vec::new(), writes, deadline: 2_000 };
        self.store.commit(&batch).await
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Runs a test with the whole script, which must pass, and with a part left out, which must not.
fn missed_by(broken: &str, test: impl AsyncFn(Parts, &RedisServer) -> bool) {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        assert!(test(Parts::open(&server, SCRIPT).await, &server).await, "the whole script");
        assert!(!test(Parts::open(&server, broken).await, &server).await, "it is not missed");
    });
}

#[test]
fn without_the_type_guard_a_batch_is_torn() {
    missed_by(&without_guard(), async |parts, server| {
        server.cli(&["SET", "log:l:2026-11-15T1000Z", "theirs"]);
        let one = parts.put("notes", &[text("a")], &[text("t")]);
        let at = Value::Timestamp(1_794_736_800_000);
        let two = parts.put("logs", &[text("l"), at], &[text("line")]);
        let answer = parts.commit(vec![one, two]).await;
        let is_refused = answer.is_err_and(|error| error.kind() == ErrorKind::Mismatch);
        is_refused && server.cli(&["EXISTS", "note:a"]) == "0"
    });
}

#[test]
fn without_the_type_guard_a_foreign_key_is_overwritten() {
    missed_by(&without_guard(), async |parts, server| {
        server.cli(&["LPUSH", "note:b", "theirs"]);
        let write = parts.put("notes", &[text("b")], &[text("t")]);
        parts.commit(vec![write]).await.is_err() && server.cli(&["TYPE", "note:b"]) == "list"
    });
}

#[test]
fn without_the_shebang_a_batch_begins_without_memory() {
    missed_by(&with("#!lua\n", ""), async |parts, server| {
        let put = |value: &str| parts.put("notes", &[text("a")], &[text(value)]);
        parts.commit(vec![put("old")]).await.unwrap();
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        let answer = parts.commit(vec![put("new")]).await;
        answer.is_err() && server.cli(&["HGET", "note:a", "text"]) == "old"
    });
}

#[test]
fn without_its_limit_a_set_grows_without_end() {
    missed_by(
        &with("if members > largest then return { 'large', number, members } end", ""),
        async |parts, server| {
            server.cli(&[
                "EVAL",
                "for n = 1, 10000 do redis.call('SADD', KEYS[1], 'x' .. n) end",
                "1",
                "post:p:likes",
            ]);
            let write = parts.put("likes", &[text("p"), text("one more")], &[]);
            let answer = parts.commit(vec![write]).await;
            answer.is_err_and(|error| error.kind() == ErrorKind::TooLarge)
                && server.cli(&["SCARD", "post:p:likes"]) == "10000"
        },
    );
}

#[test]
fn without_the_directory_an_empty_slice_stays_named() {
    let broken = with("if call('EXISTS', own) == 0 then", "if false then");
    missed_by(&broken, async |parts, server| {
        let at = Value::Timestamp(1_794_736_800_000);
        let write = parts.put("logs", &[text("l"), at], &[text("line")]);
        let key: Key = write.key().clone();
        parts.commit(vec![write]).await.unwrap();
        assert_eq!(server.cli(&["ZRANGE", "~b:log:l", "0", "-1"]), "2026-11-15T1000Z");
        parts.commit(vec![Write::Delete { key }]).await.unwrap();
        server.cli(&["EXISTS", "~b:log:l"]) == "0"
    });
}

#[test]
fn without_its_removal_a_deleted_row_stays_listed() {
    missed_by(&with("call('ZREM', own, given[at])", ""), async |parts, server| {
        let at = Value::Timestamp(1_794_736_800_000);
        let write = parts.put("logs", &[text("l"), at], &[text("line")]);
        let key: Key = write.key().clone();
        parts.commit(vec![write]).await.unwrap();
        assert_eq!(server.cli(&["ZCARD", "log:l:2026-11-15T1000Z"]), "1");
        parts.commit(vec![Write::Delete { key }]).await.unwrap();
        server.cli(&["ZCARD", "log:l:2026-11-15T1000Z"]) == "0"
    });
}

//! What a person sees who opens the file with SQLite's own tools: the printed layout, no more and
//! no less, and data that plain SQL reads and joins.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;
#[path = "common/runtime.rs"]
mod runtime;

use common::{Folder, wait};
use data::store::{Durability, Store};
use data::suite::patterns::{play, read};
use data::suite::{Options, block_on};
use keyspace::model::{Keyspace, StoreKind};
use runtime::{call, keyspace, open, scrub};
use rusqlite::Connection;
use rusqlite::types::Value as Stored;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use stores::sqlite::{self, SqliteStore};

const APPS: [(&str, &str, &str); 5] = [
    (
        "chat",
        include_str!("../../../apps/chat/keyspace.toml"),
        include_str!("../../../apps/chat/calls.cases"),
    ),
    (
        "keri",
        include_str!("../../../apps/keri/keyspace.toml"),
        include_str!("../../../apps/keri/calls.cases"),
    ),
    (
        "scaffold",
        include_str!("../../../apps/scaffold/keyspace.toml"),
        include_str!("../../../apps/scaffold/calls.cases"),
    ),
    (
        "spreadapi",
        include_str!("../../../apps/spreadapi/keyspace.toml"),
        include_str!("../../../apps/spreadapi/calls.cases"),
    ),
    (
        "documents",
        include_str!("../../../apps/documents/keyspace.toml"),
        include_str!("../../../apps/documents/calls.cases"),
    ),
];

const TYPES: &str = include_str!("../../keyspace/tests/golden/layout/types/keyspace.toml");

fn store(path: &Path) -> Arc<dyn Store> {
    let options = sqlite::Options { durability: Durability::Process };
    Arc::new(SqliteStore::open(path, &options).unwrap())
}

/// What a printed layout makes: the name of each table and index, and its statement.
fn printed(keyspace: &Keyspace) -> BTreeMap<String, String> {
    let text = keyspace::layout::print(keyspace, StoreKind::Sqlite);
    let mut made = BTreeMap::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    for statement in lines.join("\n").split(";\n").map(str::trim).filter(|text| !text.is_empty()) {
        let statement = statement.trim_end_matches(';').replacen(" IF NOT EXISTS", "", 1);
        let name = statement.split_whitespace().nth(2).unwrap().trim_matches('"').to_string();
        made.insert(name, statement);
    }
    made
}

/// What a file has: the name of each table and index, and its statement, as `.schema` shows them.
fn found(path: &Path) -> BTreeMap<String, String> {
    let connection = Connection::open(path).unwrap();
    let text = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex%'";
    let mut statement = connection.prepare(text).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn after_the_applications_ran_a_file_is_what_the_layout_prints() {
    let folder = Folder::new();
    let number = AtomicU32::new(0);
    let mut rows = 0;
    for (name, file, calls) in APPS {
        let keyspace = keyspace(file);
        let files: Mutex<Vec<(PathBuf, Arc<dyn Store>)>> = Mutex::new(Vec::new());
        let make = || {
            let next = number.fetch_add(1, Ordering::SeqCst);
            let path = folder.path().join(format!("{name}-{next}.db"));
            let store = store(&path);
            files.lock().unwrap().push((path, store.clone()));
            Box::pin(async { store }) as _
        };
        let scripts = read(calls).unwrap();
        let report = block_on(play(&scripts, &keyspace, &make, &Options::default())).unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        let files = files.into_inner().unwrap();
        assert!(!files.is_empty(), "{name}");
        for (path, store) in files {
            let runtime = open(&store, &keyspace).unwrap();
            scrub(store.as_ref(), &runtime);
            wait(store.close()).unwrap();
            assert_eq!(found(&path), printed(&keyspace), "{name}");
            rows += count_rows(&path);
        }
    }
    assert!(rows > 150, "{rows} rows: the applications hardly stored anything");
}

fn count_rows(path: &Path) -> i64 {
    let connection = Connection::open(path).unwrap();
    let damage: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(damage, "ok");
    let tables: Vec<String> = found(path)
        .into_iter()
        .filter(|(_, text)| text.starts_with("CREATE TABLE"))
        .map(|(name, _)| name)
        .collect();
    let count = |name: &String| {
        let text = format!("SELECT count(*) FROM \"{name}\"");
        connection.query_row(&text, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    tables.iter().map(count).sum()
}

/// What the machine's own SQLite answers, which is another version than ours: the columns of a row.
fn row_elsewhere(path: &Path, text: &str) -> Vec<String> {
    let program = "import json, sqlite3, sys; \
        row = sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone(); \
        print(json.dumps([str(column) for column in row]))";
    let mut command = Command::new("python3");
    let output = command.args(["-c", program]).arg(path).arg(text).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// One row of a plain SELECT.
fn row(path: &Path, text: &str) -> Vec<Stored> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(text).unwrap();
    let columns = statement.column_count();
    statement.query_row([], |row| (0..columns).map(|place| row.get(place)).collect()).unwrap()
}

fn text(text: &str) -> Stored {
    Stored::Text(text.to_string())
}

#[test]
fn values_have_the_forms_the_layout_says() {
    let folder = Folder::new();
    let path = folder.path().join("types.db");
    let store = store(&path);
    let runtime = open(&store, &keyspace(TYPES)).unwrap();
    let given = json!({
        "f_text": "a\u{0}é", "f_bytes": "AP8", "f_bool": true, "f_i64": "-9223372036854775808",
        "f_u64": 42, "f_f64": 0.1, "f_uuid": "00000000-0000-4000-8000-000000000001",
        "f_timeuuid": "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d",
        "f_ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "f_timestamp": "2026-11-15T10:00:00.123Z",
        "f_date": "2026-11-15", "f_enum": "that",
        "f_json": {"b": [1, 18446744073709551615u64, 1e300], "a": null},
        "l_text": ["x", ""], "l_bytes": ["AP8"], "l_u64": ["18446744073709551615", 1],
        "l_timestamp": ["2026-11-15T10:00:00.000Z"], "l_enum": ["low"], "l_optional": [null, "a"],
        "l_json": [{"z": 1, "a": 2}], "l_list": [[1], []], "body": "words"
    });
    let answer = call(&runtime, "ann", "insert_fields", &given).unwrap();
    let id = answer["row"]["id"].as_str().unwrap();
    let stored = row(
        &path,
        "SELECT id, f_text, f_bytes, f_bool, f_i64, f_u64, f_f64, f_uuid, f_timeuuid, f_ulid, \
         f_timestamp, f_date, f_enum, f_json, o_text, o_u64, o_bool, o_enum, o_json, l_text, \
         l_bytes, l_u64, l_timestamp, l_enum, l_optional, l_json, l_list, data FROM fields",
    );
    for (number, (found, expected)) in stored.iter().zip(&stored_forms(id)).enumerate() {
        assert_eq!(found, expected, "column {number}");
    }
    // And back: what the file holds is what a call answers.
    let found = call(&runtime, "ann", "get_fields", &json!({"id": id})).unwrap();
    assert_eq!(found["row"]["f_json"], given["f_json"]);
    assert_eq!(found["row"]["f_timeuuid"], given["f_timeuuid"]);
    assert_eq!(found["row"]["l_u64"], given["l_u64"]);
}

fn stored_forms(id: &str) -> [Stored; 28] {
    [
        text(id),
        text("a\u{0}é"),
        Stored::Blob(vec![0, 0xff]),
        Stored::Integer(1),
        Stored::Integer(i64::MIN),
        text("00000000000000000042"),
        Stored::Real(0.1),
        text("00000000-0000-4000-8000-000000000001"),
        text("1e940672-c5ea-64c0-8b2d-1b9d6bcdbbfd"),
        text("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        text("2026-11-15T10:00:00.123Z"),
        text("2026-11-15"),
        text("that"),
        text(r#"{"b":[1,18446744073709551615,1e+300],"a":null}"#),
        Stored::Null,
        Stored::Null,
        Stored::Null,
        Stored::Null,
        Stored::Null,
        text(r#"["x",""]"#),
        text(r#"["AP8"]"#),
        text(r#"["18446744073709551615",1]"#),
        text(r#"["2026-11-15T10:00:00.000Z"]"#),
        text(r#"["low"]"#),
        text(r#"[null,"a"]"#),
        text(r#"[{"z":1,"a":2}]"#),
        text("[[1],[]]"),
        text("words"),
    ]
}

const SHOP: &str = r#"
[keyspace]
name = "shop"

[collection.customers]
key    = "customer:{customer_id: text}"
fields = { name = "text", since = "date" }
[pattern.put_customer]
put   = "customers"
allow = "user"

[collection.orders]
key    = "customer:{customer_id: text}:orders | {at: timestamp desc}:{order_id: text}"
fields = { cents = "i64", tags = "[text]", status = "open|paid" }
expect = { rows_per_group = 1_000 }
index.orders_by_status = { key = "status:{status} | {at}:{order_id}", expect = { rows_per_group = 1_000 } }
[pattern.put_order]
put   = "orders"
allow = "user"
[pattern.orders_by_status]
list = "orders.orders_by_status"
page = 10
"#;

#[test]
fn plain_sql_joins_what_keyway_wrote() {
    let folder = Folder::new();
    let path = folder.path().join("shop.db");
    let store = store(&path);
    let runtime = open(&store, &keyspace(SHOP)).unwrap();
    for (id, name) in [("c1", "Ann"), ("c2", "Bo")] {
        let customer = json!({"customer_id": id, "name": name, "since": "2026-01-01"});
        call(&runtime, "x", "put_customer", &customer).unwrap();
    }
    for (customer, order, day, cents, status) in [
        ("c1", "o1", 14, 500, "paid"),
        ("c1", "o2", 15, 250, "open"),
        ("c2", "o3", 15, 700, "paid"),
        ("c1", "o4", 16, 125, "paid"),
    ] {
        let order = json!({"customer_id": customer, "at": format!("2026-11-{day}T08:30:00.000Z"),
            "order_id": order, "cents": cents, "tags": ["gift"], "status": status});
        call(&runtime, "x", "put_order", &order).unwrap();
    }
    let join = "SELECT c.name, count(*), sum(o.cents), max(date(o.at)), group_concat(j.value) \
         FROM customers c JOIN orders o USING (customer_id), json_each(o.tags) j \
         WHERE o.status = 'paid' AND o.at >= '2026-11-14' GROUP BY c.customer_id ORDER BY c.name";
    let joined = row(&path, join);
    let expected = [
        text("Ann"),
        Stored::Integer(2),
        Stored::Integer(625),
        text("2026-11-16"),
        text("gift,gift"),
    ];
    assert_eq!(joined, expected);
    assert_eq!(row_elsewhere(&path, join), ["Ann", "2", "625", "2026-11-16", "gift,gift"]);
    // The index is a table like any other, in its own order.
    let listed = row(
        &path,
        "SELECT group_concat(order_id) FROM (SELECT order_id FROM orders_by_status \
         WHERE status = 'paid' ORDER BY at)",
    );
    assert_eq!(listed, [text("o1,o3,o4")]);
    // What somebody writes by hand, Keyway reads.
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE customers SET name = 'Anna' WHERE customer_id = 'c1'", []).unwrap();
    let names = names(&store, &runtime);
    assert!(names.contains("Anna") && names.contains("Bo"), "{names:?}");
}

/// The names of all customers, as the store reads them.
fn names(store: &Arc<dyn Store>, runtime: &data::request::Runtime) -> BTreeSet<String> {
    let customers = runtime.schema().collection("customers").unwrap();
    let range = customers.key.children(&customers.key.front([]).unwrap());
    let page = wait(store.scan(&data::store::Scan { range, reverse: false, rows: 10 })).unwrap();
    let name = |row: &data::store::Keyed| match customers.read(&row.row.value, 0).unwrap() {
        data::Value::Text(name) => name,
        other => panic!("{other:?}"),
    };
    page.rows.iter().map(name).collect()
}

//! Bytes come back as they were given: every type of field, through files and a restart.

#![cfg(all(feature = "files", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use bytes::Bytes;
use common::{Folder, NOW, batch, totals, wait};
use data::Value;
use data::schema::Schema;
use data::store::{Durability, Key, Store, Write};
use serde_json::json;
use std::sync::Arc;
use stores::files::{FilesStore, Options};

const KEYSPACE: &str = r#"
[keyspace]
name  = "types"
names = "camelCase"

[collection.all]
key  = "all:{id: text}"
body = "bytes"
[collection.all.fields]
a_text = "text"
a_bytes = "bytes"
a_bool = "bool"
an_i64 = "i64"
a_u64 = "u64"
an_f64 = "f64"
a_uuid = "uuid"
a_timeuuid = "timeuuid"
a_ulid = "ulid"
a_timestamp = "timestamp"
a_date = "date"
an_enum = "low|high"
a_json = "json"
o_text = "text?"
o_number = "u64? = 5"
o_json = "json?"
o_enum = "low|high?"
texts = "[text]"
blobs = "[bytes]"
numbers = "[u64]"
optional = "[text?]"
lists = "[[f64]]"
jsons = "[json]"

[collection.json]
key   = "json:{id: text}"
value = "json"

[collection.text]
key   = "text:{id: text}"
value = "text"

[collection.count]
key   = "count:{id: text}"
value = "counter"

[pattern]
put_all  = { put = "all", allow = "user" }
all      = { get = "all" }
put_json = { put = "json", allow = "user" }
json     = { get = "json" }
put_text = { put = "text", allow = "user" }
text     = { get = "text" }
count    = { add = "count", allow = "user" }
counted  = { get = "count" }
"#;

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

fn list(items: &[Value]) -> Value {
    Value::List(items.to_vec())
}

fn blob(bytes: &[u8]) -> Value {
    Value::Bytes(Bytes::copy_from_slice(bytes))
}

/// A value of each required type.
fn scalars(
    number: i64,
    natural: u64,
    float: f64,
    word: &str,
    any: serde_json::Value,
) -> Vec<Value> {
    let time = [0x51, 0xcc, 0x50, 0x00, 0xe0, 0xdb, 0x11, 0xf1, 0x94, 0x72, 1, 2, 3, 4, 5, 6];
    let version4 = [0x51, 0xcc, 0x50, 0x00, 0xe0, 0xdb, 0x41, 0xf1, 0x94, 0x72, 1, 2, 3, 4, 5, 6];
    vec![
        text(word),
        blob(word.as_bytes()),
        Value::Bool(number > 0),
        Value::I64(number),
        Value::U64(natural),
        Value::F64(float),
        Value::Uuid(version4),
        Value::TimeUuid(time),
        Value::Ulid([0x7f; 16]),
        Value::Timestamp(number / 1_000_000),
        Value::Date(i32::try_from(number % 100_000).unwrap()),
        text("high"),
        Value::Json(any),
    ]
}

/// Small values, large ones, and empty ones or null.
fn records() -> Vec<Vec<Value>> {
    let nested = json!({"z": [1, {"b": null, "a": -0.5}], "a": 18_446_744_073_709_551_615_u64,
        "m": 1e300, "e": "\u{0}\u{1f}\u{2028}\"\\/é💥", "n": -9_223_372_036_854_775_808_i64});
    let row = |scalars: Vec<Value>, options: [Value; 4], lists: [Value; 6], body: &[u8]| {
        [scalars, options.to_vec(), lists.to_vec(), vec![blob(body)]].concat()
    };
    vec![
        row(
            scalars(7, 7, 1.5, "word", json!({"any": "thing"})),
            [text("there"), Value::U64(1), Value::Json(json!([1])), text("low")],
            [
                list(&[text("a"), text("")]),
                list(&[blob(b"\0"), blob(b"")]),
                list(&[Value::U64(u64::MAX)]),
                list(&[Value::Null, text("x"), Value::Null]),
                list(&[list(&[]), list(&[Value::F64(0.1), Value::F64(-1e-300)])]),
                list(&[Value::Json(json!(false)), Value::Json(nested.clone())]),
            ],
            b"body\0\xff",
        ),
        row(
            scalars(i64::MAX, u64::MAX, f64::MAX, "é\u{0}\r\n\t\"\\💥", nested),
            [Value::Null, Value::Null, Value::Null, Value::Null],
            [list(&[]), list(&[]), list(&[]), list(&[]), list(&[]), list(&[])],
            b"",
        ),
        row(
            scalars(i64::MIN, 0, 5e-324, "", json!("")),
            [text(""), Value::U64(0), Value::Json(json!(0)), text("low")],
            [list(&[text("null")]), list(&[]), list(&[]), list(&[]), list(&[]), list(&[])],
            b"{}",
        ),
        row(
            // Negative zero is zero when it is encoded.
            scalars(-1, 1 << 53, -0.0, "null", json!([[], {}, ""])),
            [text("null"), Value::Null, Value::Json(json!({})), Value::Null],
            [list(&[]), list(&[]), list(&[]), list(&[Value::Null]), list(&[]), list(&[])],
            b"\xef\xbb\xbf",
        ),
    ]
}

fn open(folder: &Folder) -> (FilesStore, Arc<Schema>) {
    let options = Options { durability: Durability::Process, ..Options::default() };
    let store = FilesStore::open(folder.path(), &options).unwrap();
    let reading = keyspace::read(KEYSPACE);
    let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    let schema = wait(store.ensure(&Arc::new(keyspace))).unwrap();
    (store, schema)
}

fn rows(schema: &Schema) -> Vec<(Key, Bytes)> {
    let mut rows = Vec::new();
    let mut add = |collection: &str, slots: &[Value]| {
        let collection = schema.collection(collection).unwrap();
        let key = collection.key.encode(&[text(&rows.len().to_string())]).unwrap();
        rows.push((key, collection.encode(slots).unwrap()));
    };
    records().iter().for_each(|slots| add("all", slots));
    for any in [json!(false), json!([]), json!({"b": 1, "a": [2.5e-7]}), json!("text"), json!(-0.0)]
    {
        add("json", &[Value::Json(any)]);
    }
    for any in ["", "\n", "text\n", "\u{feff}x", "{}"] {
        add("text", &[text(any)]);
    }
    for any in [0, -1, i64::MAX, i64::MIN] {
        add("count", &[Value::I64(any)]);
    }
    rows
}

#[test]
fn every_type_comes_back_as_it_was() {
    let folder = Folder::new();
    let (store, schema) = open(&folder);
    let rows = rows(&schema);
    for (number, (key, value)) in (1..).zip(&rows) {
        let (key, value) = (key.clone(), value.clone());
        let put = Write::Put { key, value, expires: None, versioned: false, trail: None };
        totals(wait(store.commit(&batch(number, NOW, vec![put]))));
    }
    let check = |store: &FilesStore| {
        for (key, value) in &rows {
            let row = wait(store.get(std::slice::from_ref(key))).unwrap().remove(0).unwrap();
            assert_eq!(row.value, value, "{key:?}");
        }
    };
    check(&store);
    wait(store.close()).unwrap();
    let (store, _) = open(&folder);
    check(&store);
    assert_eq!(store.problems(), []);
    let fields = std::fs::read_to_string(folder.path().join("all/0.fields.json")).unwrap();
    for part in ["\"aText\": \"word\"", "\"aTimestamp\": \"1970", "\"oNumber\": 1,"] {
        assert!(fields.contains(part), "{fields}");
    }
    assert_eq!(std::fs::read(folder.path().join("all/0")).unwrap(), b"body\0\xff");
}

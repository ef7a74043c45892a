//! Every type of value comes back byte for byte, in a Hash, a String, an entry and a claim.

use crate::support::{in_runtime, store};
use bytes::Bytes;
use data::clock::SeededRandom;
use data::schema::{CollectionSchema, Schema};
use data::store::{Batch, CommitId, Key, Outcome, Store, Write};
use data::value::Value;
use serde_json::json;
use servers::redis::RedisServer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FILE: &str = r#"
[keyspace]
name = "every"

[collection.records]
key = "record:{id: text}"
fields = { a_text = "text", some_bytes = "bytes", a_bool = "bool", an_i64 = "i64", a_u64 = "u64", an_f64 = "f64", a_uuid = "uuid", a_timeuuid = "timeuuid", a_ulid = "ulid", a_timestamp = "timestamp", a_date = "date", a_word = "low|mid|null", a_json = "json", o_text = "text?", o_json = "json?", o_word = "low|null?", d_text = "text? = 'x'", texts = "[text]", numbers = "[u64]", floats = "[f64]", times = "[timestamp]", lists = "[[i64]]", maybe = "[text?]" }
body = "bytes"
index.by_uuid = { key = "uuid:{a_uuid}", unique = true, keep = ["a_text", "o_text", "an_f64", "lists"] }
index.by_word = { key = "word:{a_word} | {an_i64 desc}", keep = ["o_json", "maybe", "d_text"] }

[collection.empty]
key = "empty:{id: text}"
fields = { only = "text?" }

[collection.notes]
key = "note:{id: text}"
fields = { title = "text" }
body = "text"

[pattern.put_record]
put = "records"
allow = "user"
[pattern.record]
get = "records"
[pattern.by_uuid]
get = "records.by_uuid"
fields = ["a_text", "o_text", "an_f64", "lists"]
[pattern.by_word]
list = "records.by_word"
fields = ["id", "o_json", "maybe", "d_text"]
page = 10
[pattern.put_empty]
put = "empty"
allow = "user"
[pattern.empty]
get = "empty"
[pattern.put_note]
put = "notes"
allow = "user"
[pattern.note]
get = "notes"
"#;

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Rows of values, each a value for every slot.
fn records() -> Vec<Vec<Value>> {
    let big =
        json!({"z": 1, "a": [null, 1e300, -0.5, 18446744073709551615u64, {"": ""}], "m": "%:{}"});
    let full = vec![
        text("a:b%{}\u{0}\u{1f}\u{10ffff}"),
        Value::Bytes(Bytes::from((0..=255).collect::<Vec<u8>>())),
        Value::Bool(true),
        Value::I64(i64::MIN),
        Value::U64(u64::MAX),
        Value::F64(5e-324),
        Value::Uuid([0xff; 16]),
        Value::TimeUuid([1, 2, 3, 4, 5, 6, 0x11, 8, 0x80, 10, 11, 12, 13, 14, 15, 16]),
        Value::Ulid([7; 16]),
        Value::Timestamp(253_402_300_800_000),
        Value::Date(-1),
        text("null"),
        Value::Json(big),
        text("null"),
        Value::Json(json!([])),
        text("null"),
        text(""),
        Value::List(vec![text(""), text("null"), text("\"")]),
        Value::List(vec![Value::U64(u64::MAX), Value::U64(0)]),
        Value::List([0.1, 1e21, f64::MAX, -2.5e-7].map(Value::F64).to_vec()),
        Value::List(vec![Value::Timestamp(-1)]),
        Value::List(vec![Value::List(vec![]), Value::List(vec![Value::I64(i64::MAX)])]),
        Value::List(vec![Value::Null, text("null")]),
        Value::Bytes(Bytes::from_static(b"\0raw \xff\xfe")),
    ];
    let empty = vec![
        text(""),
        Value::Bytes(Bytes::new()),
        Value::Bool(false),
        Value::I64(0),
        Value::U64(0),
        // Records know no negative zero.
        Value::F64(0.0),
        Value::Uuid([0; 16]),
        Value::TimeUuid([0, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        Value::Ulid([0; 16]),
        Value::Timestamp(0),
        Value::Date(0),
        text("low"),
        Value::Json(json!({})),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::List(vec![]),
        Value::List(vec![]),
        Value::List(vec![]),
        Value::List(vec![]),
        Value::List(vec![]),
        Value::List(vec![]),
        Value::Bytes(Bytes::new()),
    ];
    vec![full, empty]
}

/// Puts a row and its entries, and expects each back as it was given.
async fn round_trip(store: &dyn Store, collection: &CollectionSchema, id: &str, slots: &[Value]) {
    let segments = [text(id)];
    let mut rows: Vec<(Key, Bytes)> =
        vec![(collection.key.encode(&segments).unwrap(), collection.encode(slots).unwrap())];
    let entries = data::entries::entries(collection, &segments, slots).unwrap();
    rows.extend(entries.into_iter().map(|entry| (entry.key, entry.value)));
    let versioned = collection.mode.has_version();
    let writes = rows.iter().enumerate().map(|(number, (key, value))| Write::Put {
        key: key.clone(),
        value: value.clone(),
        expires: None,
        versioned: versioned && number == 0,
        trail: None,
    });
    // Another id each time: a batch with a known id is not applied again.
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::SeqCst);
    let commit = CommitId::new(1, &SeededRandom::new(seed));
    let batch =
        Batch { id: commit, now: 1, checks: vec![], writes: writes.collect(), deadline: 10_000 };
    let outcome = store.commit(&batch).await.unwrap();
    assert!(matches!(outcome, Outcome::Committed { .. }));
    let keys: Vec<Key> = rows.iter().map(|(key, _)| key.clone()).collect();
    let found = store.get(&keys).await.unwrap();
    for ((key, value), row) in rows.iter().zip(found) {
        let row = row.unwrap_or_else(|| panic!("{key:?} is not there"));
        assert_eq!(row.value, value, "{key:?}");
    }
}

#[test]
fn every_value_comes_back_as_it_was_given() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let store = store(&server).await;
        let keyspace = Arc::new(keyspace::read(FILE).keyspace.expect("the file is right"));
        let schema: Arc<Schema> = store.ensure(&keyspace).await.unwrap();
        let records_of = schema.collection("records").unwrap();
        for (number, slots) in records().iter().enumerate() {
            round_trip(store.as_ref(), records_of, &"x".repeat(number + 1), slots).await;
        }
        let empty = schema.collection("empty").unwrap();
        round_trip(store.as_ref(), empty, "all null", &[Value::Null]).await;
        round_trip(store.as_ref(), empty, "none", &[text("")]).await;
        let notes = schema.collection("notes").unwrap();
        round_trip(store.as_ref(), notes, "n", &[text("t"), text("body\nof text")]).await;
        // As a person sees it.
        let get = |field| server.cli(&["HGET", "record:x", field]);
        assert_eq!(get("a_bool"), "true");
        assert_eq!(get("a_timestamp"), "+10000-01-01T00:00:00.000Z");
        assert_eq!(get("lists"), "[[],[\"9223372036854775807\"]]");
        assert_eq!(server.cli(&["HGET", "record:xx", "~n"]), "d_text");
        assert_eq!(server.cli(&["HGETALL", "empty:all null"]), "~r\n1");
        assert_eq!(server.cli(&["HGET", "note:n", "data"]), "body\nof text");
    });
}

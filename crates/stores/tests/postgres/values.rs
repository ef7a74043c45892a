//! Values of every type come back as the bytes they were, and stand in the order of their keys.

use crate::{keyspace, new_store, runtime};
use bytes::Bytes;
use data::catalogue::Catalogue;
use data::entries::entries;
use data::schema::CollectionSchema;
use data::store::{Batch, CommitId, Key, Keyed, Outcome, Range, Row, Scan, Store, Write};
use data::{ErrorKind, Value};
use keyspace::model::{Content, Mode, Ttl, Type};
use serde_json::json;
use std::collections::BTreeMap;

const TYPES: &str = include_str!("../../../keyspace/tests/golden/layout/types/keyspace.toml");
const NOW: i64 = 1_800_000_000_000;

/// A value of a type, the unusual ones among them.
fn sample(of: &Type, number: usize) -> Value {
    let pick = |some: &[Value]| some[number % some.len()].clone();
    let text = |some: &[&str]| Value::Text(some[number % some.len()].to_string());
    match of {
        Type::Text => text(&["x", "a\0b", "\u{1}", "é", "\u{1}\u{2}", "'\"\\", "\u{10ffff}", ""]),
        Type::Enum(words) => Value::Text(words[number % words.len()].clone()),
        Type::Bytes => pick(&[b"".as_slice(), b"\0\xff", b"\\x00"].map(|b| Value::Bytes(b.into()))),
        Type::Bool => Value::Bool(number % 2 == 1),
        Type::I64 => pick(&[i64::MIN, -1, 0, i64::MAX].map(Value::I64)),
        Type::Duration => pick(&[-1, 0, i64::MAX].map(Value::Duration)),
        Type::U64 => pick(&[0, 7, 9_999, 10_000, 1 << 53, 100_000_000, u64::MAX].map(Value::U64)),
        Type::F64 => pick(&[0.0, -0.0, 5e-324, -1e300, 0.1, f64::MAX].map(Value::F64)),
        Type::Uuid => pick(&[0, u128::MAX].map(|id| Value::Uuid(id.to_be_bytes()))),
        Type::TimeUuid => {
            let ids = [
                0x1234_5678_9abc_1def_8123_4567_89ab_cdef_u128,
                0xffff_ffff_ffff_1fff_bfff_ffff_ffff_ffff,
                0x0000_0000_0000_1000_8000_0000_0000_0000,
            ];
            pick(&ids.map(|id| Value::TimeUuid(id.to_be_bytes())))
        }
        Type::Ulid => pick(&[0, u128::MAX].map(|id| Value::Ulid(id.to_be_bytes()))),
        Type::Timestamp => pick(
            &[-210_866_803_200_000, -62_135_596_800_000, -1, 0, 1_794_736_800_123]
                .map(Value::Timestamp),
        ),
        Type::Date => pick(&[-2_440_588, -719_162, 0, 20_000, 2_145_042_905].map(Value::Date)),
        Type::Path => pick(
            &[vec![], vec!["a/b".to_string(), "{".to_string()], vec!["\0".to_string()]]
                .map(Value::Path),
        ),
        Type::Json => pick(
            &[
                json!({"z": [1e300, 18_446_744_073_709_551_615_u64, -0.0], "a": {"b": null}}),
                json!(null),
                json!("te\u{0}xt\u{1}"),
                json!([]),
                json!({"": {"é": [[], {}]}}),
            ]
            .map(Value::Json),
        ),
        // A list of JSON has no null: that would be no value.
        Type::List(item) if **item == Type::Json => {
            Value::List((0..number % 4).map(|more| Value::Json(json!([more, {}]))).collect())
        }
        Type::List(item) => {
            Value::List((0..number % 4).map(|more| sample(item, number + more)).collect())
        }
        Type::Optional(_) if number.is_multiple_of(3) => Value::Null,
        Type::Optional(inner) => sample(inner, number),
    }
}

/// A row of a collection and its entries, as a commit would write them.
fn rows(collection: &CollectionSchema, id: CommitId, number: usize) -> Vec<(Key, Row)> {
    let segments: Vec<Value> =
        collection.key.types.iter().enumerate().map(|(n, of)| sample(of, number + n)).collect();
    let slots = collection.slots.iter().enumerate();
    let slots: Vec<Value> = slots.map(|(n, slot)| sample(&slot.slot_type, number + n)).collect();
    let value = collection.encode(&slots).unwrap();
    let expires = match (&collection.model.ttl, &collection.model.content) {
        (Some(Ttl::After(_)), _) | (_, Content::Window { .. }) => {
            (!number.is_multiple_of(4)).then_some(NOW + number as i64)
        }
        (Some(Ttl::Field(name)), _) => match slots[collection.slot(name).unwrap()] {
            Value::Timestamp(at) => Some(at),
            _ => None,
        },
        (None, _) => None,
    };
    let version = (collection.mode == Mode::Conditional).then_some(id);
    let key = collection.key.encode(&segments).unwrap();
    let mut rows = vec![(key, Row { value, version, expires, trail: None })];
    // Some samples no index takes: a text before the bar must not be empty.
    for entry in entries(collection, &segments, &slots).unwrap_or_default() {
        let (version, trail) = (None, None);
        rows.push((entry.key, Row { value: entry.value, version, expires, trail }));
    }
    rows
}

fn put(key: &Key, row: &Row) -> Write {
    Write::Put {
        key: key.clone(),
        value: row.value.clone(),
        expires: row.expires,
        versioned: row.version.is_some(),
        trail: None,
    }
}

fn batch(number: u64, writes: Vec<Write>) -> Batch {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    let id = CommitId::from_bytes(bytes);
    Batch { id, now: NOW, checks: Vec::new(), writes, deadline: NOW + 30_000 }
}

#[test]
fn rows_of_every_type_come_back_as_they_were() {
    runtime().block_on(async {
        let store = new_store();
        let schema = store.ensure(&keyspace(TYPES)).await.unwrap();
        let mut expected: BTreeMap<Key, Row> = BTreeMap::new();
        let mut count = 0;
        for collection in schema.collections() {
            if collection.model.history.is_some() {
                continue;
            }
            for number in 0..24 {
                count += 1;
                let id = batch(count, Vec::new()).id;
                let rows = rows(collection, id, number);
                let writes = rows.iter().map(|(key, row)| put(key, row)).collect();
                let outcome = store.commit(&batch(count, writes)).await.unwrap();
                assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
                expected.extend(rows);
            }
        }
        let keys: Vec<Key> = expected.keys().cloned().collect();
        let found = store.get(&keys).await.unwrap();
        for (key, row) in keys.iter().zip(found) {
            assert_eq!(row.as_ref(), expected.get(key), "{key:?}");
        }
        for space in 1..=20_u16 {
            let range = Range {
                start: Bytes::copy_from_slice(&space.to_be_bytes()),
                end: Bytes::copy_from_slice(&(space + 1).to_be_bytes()),
            };
            let of_space = expected.iter().filter(|(key, _)| key.space() == space);
            let of_space: Vec<Keyed> =
                of_space.map(|(key, row)| Keyed { key: key.clone(), row: row.clone() }).collect();
            for reverse in [false, true] {
                let scan = Scan { range: range.clone(), reverse, rows: 1_000 };
                let mut found = store.scan(&scan).await.unwrap().rows;
                if reverse {
                    found.reverse();
                }
                assert_eq!(found, of_space, "{space}");
            }
        }
    });
}

#[test]
fn a_time_that_postgres_lacks_is_refused_by_name_and_can_be_asked_for() {
    runtime().block_on(async {
        let store = new_store();
        let text = "[keyspace]\nname = 'far'\n\
            [collection.days]\nkey = 'day:{room: text} | {at: timestamp}'\n\
            fields = { seen = 'timestamp' }\nexpect = { rows_per_group = 10 }\n\
            [pattern.put_day]\nput = 'days'\nallow = 'user'\n\
            [pattern.days]\nlist = 'days'\npage = 10\n";
        let schema = store.ensure(&keyspace(text)).await.unwrap();
        let days = schema.collection("days").unwrap();
        let key = |at: i64| {
            days.key.encode(&[Value::Text("r".to_string()), Value::Timestamp(at)]).unwrap()
        };
        let write = |at: i64, seen: i64| {
            let value = days.encode(&[Value::Timestamp(seen)]).unwrap();
            vec![put(&key(at), &Row { value, version: None, expires: None, trail: None })]
        };
        let first = -210_866_803_200_000;
        for (number, (at, seen)) in
            [(first - 1, 0), (i64::MAX, 0), (0, i64::MIN)].iter().enumerate()
        {
            let refused = store.commit(&batch(number as u64, write(*at, *seen))).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
            let field = if *seen == 0 { "at" } else { "seen" };
            assert_eq!(refused.value("field"), Some(field), "{refused}");
        }
        store.commit(&batch(9, write(first, first))).await.unwrap();
        let found = store.get(&[key(first), key(i64::MIN), key(i64::MAX)]).await.unwrap();
        assert!(found[0].is_some() && found[1].is_none() && found[2].is_none());
        let range =
            Range { start: key(i64::MIN).bytes().clone(), end: key(i64::MAX).bytes().clone() };
        let page = store.scan(&Scan { range, reverse: false, rows: 10 }).await.unwrap();
        assert_eq!(page.rows.len(), 1);
    });
}

#[test]
fn what_psql_sees_reads_well() {
    let server = servers::postgres::Postgres::shared();
    let database = server.database();
    runtime().block_on(async {
        let store = crate::open(&server.url(&database));
        let schema = store.ensure(&keyspace(TYPES)).await.unwrap();
        assert_eq!(*schema.catalogue(), Catalogue::fresh(schema.keyspace()));
        let own = schema.collection("own").unwrap();
        let path = Value::Path(vec!["a".to_string(), "b".to_string()]);
        let key = own.key.encode(&[Value::Text("w".to_string()), path]).unwrap();
        let value = Bytes::from_static(b"\x01\x02");
        let row = Row { value, version: None, expires: None, trail: None };
        store.commit(&batch(1, vec![put(&key, &row)])).await.unwrap();
        let hits = schema.collection("hits").unwrap();
        let key = hits.key.encode(&[Value::Text("w".to_string())]).unwrap();
        let add = Write::Add { key, amount: 5, expires: Some(NOW), window: None };
        store.commit(&batch(2, vec![add])).await.unwrap();
        let all = schema.collection("all").unwrap();
        let key = all.key.encode(&[Value::Date(20_000), Value::U64(u64::MAX)]).unwrap();
        let value = Bytes::from_static(br#"{"b":1,"a":[1.5,2]}"#);
        let id = batch(3, Vec::new()).id;
        let row = Row { value, version: Some(id), expires: None, trail: None };
        store.commit(&batch(3, vec![put(&key, &row)])).await.unwrap();
    });
    let sees = |statement: &str| server.psql(&database, statement);
    assert_eq!(sees("SELECT word, a_path, value FROM types.own"), "w|{a,b}|\\x0102\n");
    assert_eq!(sees("SELECT * FROM types.hits"), "w|5|2027-01-15 08:00:00+00\n");
    assert_eq!(
        sees("SELECT * FROM types.\"all\""),
        "2024-10-04|18446744073709551615|{\"b\":1,\"a\":[1.5,2]}|\
         00000000-0000-7000-8000-000000000003\n"
    );
    assert_eq!(sees("SELECT name, format FROM types.keyway"), "types|1\n");
}

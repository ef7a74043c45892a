//! Rows whose keys hold the signs that `LIKE` takes for any letter: a range reads those that are in
//! it, and not those that would be like them.

use data::Value;
use data::store::{Batch, CommitId, Keyed, Outcome, Range, Scan, Store, Write};
use std::sync::Arc;

const FILE: &str = r#"
[keyspace]
name = "like"

[collection.names]
key    = "names:{room: text} | {name: text}"
value  = "text"
expect = { rows_per_group = 100 }

[pattern]
put_name = { put = "names", allow = "user" }
names    = { list = "names", page = 10 }
"#;

const NOW: i64 = 1_800_000_000_000;
const SIGNS: [&str; 6] = ["a%", "a_", "a", "ab", "abc", "a\\"];

/// Writes every sign as a group and as a name, and reads each group and each beginning of a name.
pub async fn check(store: &dyn Store) {
    let keyspace = Arc::new(keyspace::read(FILE).keyspace.unwrap());
    let schema = store.ensure(&keyspace).await.unwrap();
    let names = schema.collection("names").unwrap();
    let text = |text: &str| Value::Text(text.to_string());
    let key = |room: &str, name: &str| names.key.encode(&[text(room), text(name)]).unwrap();
    let ends: Vec<String> =
        SIGNS.iter().flat_map(|sign| [sign.to_string(), format!("{sign}c")]).collect();
    let mut writes = Vec::new();
    for room in SIGNS {
        for name in &ends {
            let (key, value) = (key(room, name), names.encode(&[text(name)]).unwrap());
            let (expires, versioned, trail) = (None, false, None);
            if !writes.iter().any(|write: &Write| *write.key() == key) {
                writes.push(Write::Put { key, value, expires, versioned, trail });
            }
        }
    }
    let id = CommitId::from_bytes([9; 16]);
    let batch = Batch { id, now: NOW, checks: Vec::new(), writes, deadline: NOW + 60_000 };
    assert!(matches!(store.commit(&batch).await.unwrap(), Outcome::Committed { .. }));
    for room in SIGNS {
        let group = names.key.children(&names.key.front(&[text(room)]).unwrap());
        let mut expected: Vec<&str> = ends.iter().map(String::as_str).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(read(store, names, group, room).await, expected, "{room}");
        for sign in SIGNS {
            let last = format!("{sign}\u{10ffff}");
            let (start, end) = (key(room, sign), key(room, &last));
            let range = Range { start: start.bytes().clone(), end: end.bytes().clone() };
            let of = expected.iter().copied().filter(|name| name.starts_with(sign));
            assert_eq!(read(store, names, range, room).await, of.collect::<Vec<_>>(), "{sign}");
        }
    }
}

/// The names in a range, all of them of one room.
async fn read(
    store: &dyn Store,
    names: &data::schema::CollectionSchema,
    range: Range,
    room: &str,
) -> Vec<String> {
    let page = store.scan(&Scan { range, reverse: false, rows: 100 }).await.unwrap();
    let name = |keyed: &Keyed| match names.key.decode(&keyed.key).unwrap().as_slice() {
        [Value::Text(found), Value::Text(name)] if found == room => name.clone(),
        other => panic!("{other:?}"),
    };
    page.rows.iter().map(name).collect()
}

//! Rows of every kind of table go into columns and come back as the bytes they were; statements
//! read as an expert would write them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use super::join::Join;
use super::statement::{ScanForm, Writer};
use super::table::{Parts, TableShape};
use crate::native::range::bounds;
use bytes::Bytes;
use data::catalogue::Catalogue;
use data::entries::entries;
use data::schema::{CollectionSchema, Schema};
use data::store::{CommitId, Range, Versions};
use data::{Error, Value};
use keyspace::layout::sqlite::{SqliteType, layout};
use keyspace::layout::words::Dialect;
use keyspace::model::{Content, Mode, StoreKind, Ttl, Type};
use serde_json::json;
use std::sync::Arc;

const TYPES: &str = include_str!("../../../keyspace/tests/golden/layout/types/keyspace.toml");
const APPS: [&str; 5] = [
    include_str!("../../../../apps/chat/keyspace.toml"),
    include_str!("../../../../apps/documents/keyspace.toml"),
    include_str!("../../../../apps/keri/keyspace.toml"),
    include_str!("../../../../apps/scaffold/keyspace.toml"),
    include_str!("../../../../apps/spreadapi/keyspace.toml"),
];

fn schema(text: &str) -> Schema {
    let keyspace = Arc::new(keyspace::read(text).keyspace.expect("it is a keyspace"));
    let catalogue = Catalogue::fresh(&keyspace);
    Schema::new(keyspace, StoreKind::Sqlite, catalogue).unwrap()
}

fn tables(schema: &Schema) -> Vec<TableShape<SqliteType>> {
    let tables = layout(schema.keyspace()).tables;
    tables.iter().filter_map(|table| TableShape::new(&table.table, schema).unwrap()).collect()
}

/// A value of a type, the unusual ones among them.
fn sample(of: &Type, number: usize) -> Value {
    let pick = |some: &[Value]| some[number % some.len()].clone();
    let text = |some: &[&str]| Value::Text(some[number % some.len()].to_string());
    match of {
        Type::Text => text(&["", "a\0b", "é", "{\"not\": json}", "\u{10ffff}"]),
        Type::Enum(words) => Value::Text(words[number % words.len()].clone()),
        Type::Bytes => pick(&[b"".as_slice(), b"\0\xff"].map(|b| Value::Bytes(b.into()))),
        Type::Bool => Value::Bool(number % 2 == 1),
        Type::I64 => pick(&[i64::MIN, 0, i64::MAX].map(Value::I64)),
        Type::Duration => pick(&[-1, 0, i64::MAX].map(Value::Duration)),
        Type::U64 => pick(&[0, 1 << 53, u64::MAX].map(Value::U64)),
        Type::F64 => pick(&[0.0, -0.0, 5e-324, -1e300, 0.1].map(Value::F64)),
        Type::Uuid => pick(&[0, u128::MAX].map(|id| Value::Uuid(id.to_be_bytes()))),
        Type::TimeUuid => {
            let bits = 0x1234_5678_9abc_1def_8123_4567_89ab_cdef_u128 + number as u128;
            Value::TimeUuid(bits.to_be_bytes())
        }
        Type::Ulid => pick(&[0, u128::MAX].map(|id| Value::Ulid(id.to_be_bytes()))),
        Type::Timestamp => {
            pick(&[-62_135_596_800_000, -1, 1_794_736_800_123].map(Value::Timestamp))
        }
        Type::Date => pick(&[-719_162, 0, 20_000].map(Value::Date)),
        Type::Path => pick(&[vec![], vec!["a/b".to_string(), "[".to_string()]].map(Value::Path)),
        Type::Json => pick(
            &[
                json!({"z": [1e300, 18_446_744_073_709_551_615_u64], "a": {"b": null}}),
                json!(null),
                json!("text"),
                json!([]),
            ]
            .map(Value::Json),
        ),
        Type::List(item) => {
            Value::List((0..number % 3).map(|more| sample(item, number + more)).collect())
        }
        Type::Optional(_) if number.is_multiple_of(3) => Value::Null,
        Type::Optional(inner) => sample(inner, number),
    }
}

/// The rows of a collection, and of its indexes, that some samples make.
fn rows(collection: &CollectionSchema, number: usize) -> Vec<(u16, Vec<Value>, Bytes)> {
    let segments: Vec<Value> =
        collection.key.types.iter().map(|of| sample(of, number + 1)).collect();
    let slots = collection.slots.iter().enumerate();
    let slots: Vec<Value> =
        slots.map(|(place, slot)| sample(&slot.slot_type, number + place)).collect();
    let mut rows =
        vec![(collection.key.space, segments.clone(), collection.encode(&slots).unwrap())];
    // Some samples no index takes: a text before the bar must not be empty.
    for entry in entries(collection, &segments, &slots).unwrap_or_default() {
        let shape = &collection.indexes[entry.index].key;
        rows.push((shape.space, shape.decode(&entry.key).unwrap(), entry.value));
    }
    rows
}

/// When a row ends: as its field says, or at some instant.
fn ends(collection: &CollectionSchema, row: &Bytes) -> Option<i64> {
    match (&collection.model.ttl, &collection.model.content) {
        (Some(Ttl::After(_)), _) | (_, Content::Window { .. }) => Some(1_794_736_800_000),
        (Some(Ttl::Field(name)), _) => {
            match collection.read(row, collection.slot(name).unwrap()).unwrap() {
                Value::Timestamp(at) => Some(at),
                _ => None,
            }
        }
        (None, _) => None,
    }
}

#[test]
fn rows_come_back_from_their_columns_as_the_bytes_they_were() {
    let mut seen = 0;
    for text in APPS.into_iter().chain([TYPES]) {
        let schema = schema(text);
        let tables = tables(&schema);
        for collection in schema.collections() {
            if collection.model.history.is_some() {
                continue;
            }
            for number in 0..12 {
                let rows = rows(collection, number);
                let expires = ends(collection, &rows[0].2);
                for (space, segments, value) in rows {
                    let table = tables.iter().find(|table| table.space == space).unwrap();
                    let versioned =
                        space == collection.key.space && collection.mode == Mode::Conditional;
                    let version = versioned.then(|| CommitId::from_bytes([7; 16]));
                    let parts = Parts { value: &value, version, expires };
                    round_trip(table, &segments, parts).unwrap();
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

fn round_trip(
    table: &TableShape<SqliteType>,
    segments: &[Value],
    parts: Parts<'_>,
) -> Result<(), Error> {
    let columns = table.columns_of(segments, parts)?;
    let at = |places: &[usize]| places.iter().map(|p| columns[*p].clone()).collect::<Vec<_>>();
    let back = table.segments_of(at(&table.segments))?;
    assert_eq!(table.key_of(&back)?, table.key_of(segments)?, "{}", table.name);
    let row = table.row_of(&back, at(&table.content))?;
    assert_eq!(row.value, *parts.value, "{}: {columns:?}", table.name);
    assert_eq!((row.version, row.expires), (parts.version, parts.expires), "{}", table.name);
    Ok(())
}

#[test]
fn a_row_that_its_table_cannot_hold_is_refused() {
    let schema = schema(APPS[0]);
    for table in tables(&schema) {
        let collection = schema.collections().iter().find(|c| c.key.space == table.space);
        let Some(collection) = collection else { continue };
        let (_, segments, value) = rows(collection, 1).swap_remove(0);
        let version = match collection.mode {
            Mode::Conditional => None,
            _ => Some(CommitId::from_bytes([7; 16])),
        };
        let expires = ends(collection, &value);
        let parts = Parts { value: &value, version, expires };
        assert!(table.columns_of(&segments, parts).is_err(), "{}: version", table.name);
        let version = version.is_none().then(|| CommitId::from_bytes([7; 16]));
        let expires = expires.map_or(Some(1), |at| Some(at + 1)).filter(|_| expires.is_none());
        let parts = Parts { value: &value, version, expires };
        assert!(table.columns_of(&segments, parts).is_err(), "{}: end", table.name);
    }
}

const MIXED: &str = r#"
[keyspace]
name = "mixed"
[collection.events]
key    = "events:{room: text} | {at: timestamp desc}:{seq: i64 desc}:{id: text}"
value  = "text"
expect = { rows_per_group = 1_000 }
[pattern.put_events]
put   = "events"
allow = "user"
[pattern.list_events]
list = "events"
page = 10
"#;

#[test]
fn statements_read_as_an_expert_writes_them() {
    let schema = schema(MIXED);
    let tables = tables(&schema);
    let table = &tables[0];
    let writer = Writer { dialect: Dialect::Sqlite };
    assert_eq!(
        writer.get(table),
        "SELECT value FROM events WHERE room = ?1 AND at = ?2 AND seq = ?3 AND id = ?4"
    );
    assert_eq!(
        writer.put(table),
        "INSERT INTO events (room, at, seq, id, value) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (room, at, seq, id) DO UPDATE SET value = excluded.value"
    );
    let room = Value::Text("r".to_string());
    let front = table.shape().front([&room]).unwrap();
    let last = [room, Value::Timestamp(5), Value::I64(7), Value::Text("x".to_string())];
    let after = table.shape().children(&front).after(&table.key_of(&last).unwrap(), false);
    let texts = |range: &Range, reverse: bool| {
        let stretches = bounds(table.shape(), range).unwrap().stretches(table.shape());
        let forms =
            stretches.iter().map(|stretch| ScanForm::of(stretch, reverse, Versions::Wanted));
        forms.map(|form| writer.scan(table, form, form.equal)).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&after, false),
        [
            "SELECT id, value FROM events WHERE room = ?1 AND at = ?2 AND seq = ?3 AND id > ?4 \
             ORDER BY id LIMIT ?5",
            "SELECT at, seq, id, value FROM events WHERE room = ?1 AND (at, seq) < (?2, ?3) \
             ORDER BY at DESC, seq DESC, id LIMIT ?4",
        ]
    );
    assert_eq!(
        texts(&table.shape().children(&front), true),
        ["SELECT at, seq, id, value FROM events WHERE room = ?1 \
          ORDER BY at, seq, id DESC LIMIT ?2"]
    );
}

const INDEXED: &str = r#"
[keyspace]
name = "indexed"
[collection.notes]
key    = "user:{author: u64}:notes | {id: ulid desc}"
fields = { title = "text?", tag = "text", serial = "text" }
expect = { rows_per_group = 100 }
index.by_tag    = { key = "tag:{tag} | {id desc}", expect = { rows_per_group = 100 } }
index.by_serial = { key = "serials | {serial}", unique = true, expect = { rows_per_group = 100 } }
[pattern.put_notes]
put   = "notes"
allow = "user"
[pattern.list_notes]
list = "notes.by_tag"
page = 10
[pattern.list_serials]
list = "notes.by_serial"
page = 10

[collection.pages]
key    = "pages | {place: text..}"
fields = { title = "text" }
expect = { rows_per_group = 100 }
index.by_title = { key = "titles | {title}", unique = true, expect = { rows_per_group = 100 } }
[pattern.put_pages]
put   = "pages"
allow = "user"
[pattern.list_pages]
list = "pages.by_title"
page = 10
"#;

#[test]
fn entries_lead_to_rows_by_the_primary_key_or_not_at_all() {
    let schema = schema(INDEXED);
    let tables = tables(&schema);
    let table = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    let writer = Writer { dialect: Dialect::Sqlite };
    let versions = Versions::Wanted;
    let lower = Some((2, false));
    let form = ScanForm { equal: 1, lower, upper: None, reverse: false, versions };
    let text = |entries: &str, form: ScanForm| {
        let both = (table(entries), table("notes"));
        let join = Join::new(both.0, both.1).unwrap();
        writer.scan_through(both, &join, form, form.equal)
    };
    assert_eq!(
        text("by_tag", form),
        "SELECT e.id, e.author, r.title, r.tag, r.serial, r._v FROM by_tag e \
         LEFT JOIN notes r ON r.author = e.author AND r.id = e.id \
         WHERE e.tag = ?1 AND (e.id, e.author) < (?2, ?3) \
         ORDER BY e.id DESC, e.author LIMIT ?4"
    );
    let bare = ScanForm { versions: Versions::Unwanted, ..form };
    assert_eq!(text("by_tag", bare), text("by_tag", form).replace(", r._v FROM", " FROM"));
    let all = ScanForm { equal: 0, lower: None, upper: None, reverse: true, versions };
    assert_eq!(
        text("by_serial", all),
        "SELECT e.serial, e.author, e.id, r.title, r.tag, r.serial, r._v FROM by_serial e \
         LEFT JOIN notes r ON r.author = e.author AND r.id = e.id \
         ORDER BY e.serial DESC LIMIT ?1"
    );
    // Its key sorts by other bytes than a claim names its owner with.
    assert_eq!(Join::new(table("by_title"), table("pages")), None);
    assert_eq!(Join::new(table("notes"), table("notes")), None);
}

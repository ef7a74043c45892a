//! Entries of rows, the way back to their owners, and what changes between two states of a row.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::*;
use crate::catalogue::Catalogue;
use crate::clock::SeededRandom;
use crate::schema::Schema;
use keyspace::key::KeyType;
use keyspace::model::StoreKind;
use std::collections::BTreeMap;
use std::sync::Arc;

const FILE: &str = r#"
[keyspace]
name = "photos"

[collection.photos]
key    = "album:{album: text} | {at: timestamp desc}:{photo_id: ulid}"
expect = { rows_per_group = 100 }

[collection.photos.fields]
title   = "text"
email   = "text?"
tags    = "[text] = []"
painter = "text?"
lat     = "f64"
lon     = "f64"
size    = "u64"
state   = "open|done = 'open'"
spot    = "text?"

[collection.photos.index]
by_email        = { key = "email:{lower(email)}", unique = true, keep = ["state", "email"] }
by_title.key    = "title:{lower(title)} | {size desc}:{at}"
by_title.keep   = ["title", "size"]
by_person.key   = "person:{person = lower(each(tags, painter))} | {at}"
by_place.key    = "place:{area = cell(lat, lon, 12)} | {photo_id}"
by_place.expect = { rows_per_group = 100 }
by_spot         = { key = "spot:{spot} | {at}", when = "state = 'open' and size > 10" }
by_number.key   = "number:{number = each(cell(lat, lon, 3), size)} | {at}"

[collection.mottos]
key   = "motto:{family: text}"
value = "text"
index.by_motto.key = "same:{motto = hash(value)} | {family}"

[pattern]
add       = { insert = "photos", allow = "user" }
titles    = { list = "photos.by_title", page = 10 }
persons   = { list = "photos.by_person", page = 10 }
places    = { near = "photos.by_place", max_radius = 1_000, page = 10 }
spots     = { list = "photos.by_spot", page = 10 }
numbers   = { list = "photos.by_number", page = 10 }
list      = { list = "photos", page = 10 }
put_motto = { put = "mottos", allow = "user" }
same      = { list = "mottos.by_motto", page = 10 }
"#;

fn schema(kind: StoreKind) -> Schema {
    let reading = keyspace::read(FILE);
    let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:#?}", reading.diagnostics));
    let catalogue = Catalogue::fresh(&keyspace);
    Schema::new(Arc::new(keyspace), kind, catalogue).unwrap()
}

fn photos() -> Arc<CollectionSchema> {
    schema(StoreKind::Memory).collection("photos").unwrap().clone()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

fn segments() -> Vec<Value> {
    vec![text("summer"), Value::Timestamp(1_794_738_030_400), Value::Ulid([7; 16])]
}

/// A photo with these fields; the others have ordinary values.
fn slots(changed: &[(&str, Value)]) -> Vec<Value> {
    let tags = Value::List(["Ann", "ANN", "Bo"].map(text).to_vec());
    let ordinary = [
        ("title", text("Straße")),
        ("email", text("Ann@Example.org")),
        ("tags", tags),
        ("painter", text("Cy")),
        ("lat", Value::F64(59.9139)),
        ("lon", Value::F64(10.7522)),
        ("size", Value::U64(12)),
        ("state", text("open")),
        ("spot", text("harbour")),
    ];
    let value = |name: &str, ordinary: Value| {
        let found = changed.iter().find(|(known, _)| *known == name);
        found.map_or(ordinary, |(_, value)| value.clone())
    };
    ordinary.into_iter().map(|(name, ordinary)| value(name, ordinary)).collect()
}

/// The values of the entries of one index.
fn decoded(collection: &CollectionSchema, found: &[Entry], name: &str) -> Vec<Vec<Value>> {
    let (number, index) =
        collection.indexes.iter().enumerate().find(|(_, index)| index.name() == name).unwrap();
    let own = found.iter().filter(|entry| entry.index == number);
    own.map(|entry| index.key.decode(&entry.key).unwrap()).collect()
}

fn keyed(entry: &Entry) -> Keyed {
    let row = Row { value: entry.value.clone(), version: None, expires: None, trail: None };
    Keyed { key: entry.key.clone(), row }
}

#[test]
fn a_row_has_an_entry_in_every_index_it_has_values_for() {
    let photos = photos();
    let found = entries(&photos, &segments(), &slots(&[])).unwrap();
    let [album, at, id] = <[Value; 3]>::try_from(segments()).unwrap();
    let decoded = |name: &str| decoded(&photos, &found, name);
    assert_eq!(
        decoded("by_title"),
        [vec![text("strasse"), Value::U64(12), at.clone(), album.clone(), id.clone()]]
    );
    assert_eq!(decoded("by_email"), [vec![text("ann@example.org")]]);
    let persons: Vec<Value> =
        decoded("by_person").into_iter().map(|mut values| values.remove(0)).collect();
    assert_eq!(persons, ["ann", "bo", "cy"].map(text));
    assert_eq!(
        decoded("by_place"),
        [vec![Value::Cell(0x4641_6e70_0000_0000), id.clone(), album.clone(), at.clone()]]
    );
    assert_eq!(decoded("by_spot"), [vec![text("harbour"), at.clone(), album.clone(), id.clone()]]);
    let cell = crate::geo::cell(59.9139, 10.7522, 3).unwrap();
    let numbers: Vec<Value> =
        decoded("by_number").into_iter().map(|mut values| values.remove(0)).collect();
    assert_eq!(numbers, [Value::U64(cell), Value::U64(12)]);
    assert_eq!(found.len(), 9);
}

#[test]
fn without_a_value_or_its_condition_there_is_no_entry() {
    let photos = photos();
    for (name, changed) in [
        ("by_email", vec![("email", Value::Null)]),
        ("by_spot", vec![("spot", Value::Null)]),
        ("by_spot", vec![("state", text("done"))]),
        ("by_spot", vec![("size", Value::U64(10))]),
        ("by_person", vec![("tags", Value::List(Vec::new())), ("painter", Value::Null)]),
    ] {
        let all = entries(&photos, &segments(), &slots(&[])).unwrap();
        assert!(!decoded(&photos, &all, name).is_empty(), "{name}");
        let found = entries(&photos, &segments(), &slots(&changed)).unwrap();
        assert!(decoded(&photos, &found, name).is_empty(), "{name} {changed:?}");
    }
}

#[test]
fn a_cell_is_looked_up_by_its_number() {
    let photos = photos();
    let place = photos.indexes.iter().find(|index| index.name() == "by_place").unwrap();
    let number = 0x4641_6e70_0000_0000;
    let front = place.key.front([&Value::U64(number)]).unwrap();
    assert_eq!(front, place.key.front([&Value::Cell(number)]).unwrap());
}

#[test]
fn values_of_rows_are_indexed_too() {
    let mottos = schema(StoreKind::Memory).collection("mottos").unwrap().clone();
    let found = entries(&mottos, &[text("stark")], &[text("winter is coming")]).unwrap();
    let hash = blake3::hash(b"winter is coming");
    let hash = Value::Bytes(Bytes::copy_from_slice(&hash.as_bytes()[..16]));
    assert_eq!(decoded(&mottos, &found, "by_motto"), [vec![hash, text("stark")]]);
}

#[test]
fn entries_and_claims_hold_what_is_kept() {
    let photos = photos();
    let found = entries(&photos, &segments(), &slots(&[])).unwrap();
    let index = |name: &str| photos.indexes.iter().find(|index| index.name() == name).unwrap();
    let of = |name: &str| {
        let index = index(name);
        let entry = found.iter().find(|e| photos.indexes[e.index].name() == name).unwrap();
        let kept = kept(index, &keyed(entry).row).unwrap().into_owned();
        (index.keep.decode(&kept).unwrap(), kept)
    };
    assert_eq!(of("by_title").0, [text("Straße"), Value::U64(12)]);
    assert_eq!(of("by_email").0, [text("open"), text("Ann@Example.org")]);
    let spot = found.iter().find(|e| photos.indexes[e.index].name() == "by_spot").unwrap();
    assert!(spot.value.is_empty());
    let claim = found.iter().find(|e| photos.indexes[e.index].name() == "by_email").unwrap();
    let (owner, kept) = split_claim(&claim.value).unwrap();
    assert_eq!(owner, photos.key.encode(&segments()).unwrap());
    assert_eq!(kept, of("by_email").1);
}

#[test]
fn every_entry_leads_back_to_its_row() {
    let random = SeededRandom::new(9);
    for kind in [StoreKind::Memory, StoreKind::Cassandra] {
        let photos = schema(kind).collection("photos").unwrap().clone();
        for _ in 0..1_000 {
            let album: String = (0..random.number() % 5 + 1)
                .map(|_| ['\0', 'a', 'ÿ', '\u{10ffff}'][(random.number() % 4) as usize])
                .collect();
            let at = Value::Timestamp(random.number() as i64);
            let id = Value::Ulid((u128::from(random.number()) << 64).to_be_bytes());
            let segments = [text(&album), at, id];
            let key = photos.key.encode(&segments).unwrap();
            let found = entries(&photos, &segments, &slots(&[])).unwrap();
            assert_eq!(found.len(), 9);
            for entry in &found {
                let index = &photos.indexes[entry.index];
                let mut keyed = keyed(entry);
                if index.key.attempt {
                    let mut bytes = keyed.key.bytes().to_vec();
                    let uuid = KeyType::Uuid.ascending();
                    let attempt = key::encode(0, &[uuid], &[key::Value::Uuid([3; 16])]).unwrap();
                    bytes.extend_from_slice(&attempt[2..]);
                    keyed.key = Key::from(bytes);
                }
                assert_eq!(owner(&photos, index, &keyed).unwrap(), key);
            }
        }
    }
}

#[test]
fn damaged_entries_are_corrupt_and_nothing_worse() {
    let photos = photos();
    for entry in entries(&photos, &segments(), &slots(&[])).unwrap() {
        let index = &photos.indexes[entry.index];
        let whole = keyed(&entry);
        for length in 0..whole.key.bytes().len() {
            let mut cut = whole.clone();
            cut.key = Key::new(whole.key.bytes().slice(..length));
            let cut_claim = whole.row.value.slice(..length.min(whole.row.value.len()));
            if index.model.unique {
                cut.row.value = cut_claim;
            }
            if let Err(error) = owner(&photos, index, &cut) {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
            }
        }
    }
    assert!(split_claim(&Bytes::from_static(&[0])).is_err());
    assert!(split_claim(&Bytes::from_static(&[0, 3, 1, 2])).is_err());
    assert!(split_claim(&Bytes::from_static(&[0, 2, 1, 2])).is_ok());
}

#[test]
fn what_cannot_be_indexed_is_refused_by_name() {
    let photos = photos();
    let many = Value::List((0..101).map(|number| text(&number.to_string())).collect());
    for (changed, kind, index) in [
        (("tags", many), ErrorKind::TooLarge, "by_person"),
        (("lat", Value::F64(91.0)), ErrorKind::Argument, "by_place"),
        (("title", text("")), ErrorKind::Argument, "by_title"),
        (("tags", Value::List(vec![text("")])), ErrorKind::Argument, "by_person"),
        (("spot", text("")), ErrorKind::Argument, "by_spot"),
        (("title", text(&"x".repeat(1_100))), ErrorKind::TooLarge, "by_title"),
    ] {
        let what = format!("{changed:?}");
        let error = entries(&photos, &segments(), &slots(&[changed])).expect_err(&what);
        assert_eq!((error.kind(), error.value("index")), (kind, Some(index)), "{what}: {error}");
    }
}

#[test]
fn a_diff_is_what_changed() {
    let photos = photos();
    let of = |changed: &[(&str, Value)]| entries(&photos, &segments(), &slots(changed)).unwrap();
    let names = |entries: &[Entry]| {
        let mut names: Vec<&str> =
            entries.iter().map(|entry| photos.indexes[entry.index].name()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let changes = |before: &[(&str, Value)], after: &[(&str, Value)], moved: bool| {
        let (gained, lost) = diff(of(before), of(after), moved);
        (names(&gained), names(&lost))
    };
    let pair = |gained: &str, lost: &str| (gained.to_string(), lost.to_string());
    assert_eq!(changes(&[], &[], false), pair("", ""));
    let all =
        "by_email by_number by_number by_person by_person by_person by_place by_spot by_title";
    assert_eq!(changes(&[], &[], true), pair(all, ""));
    // The title is folded alike, and kept.
    assert_eq!(changes(&[], &[("title", text("STRASSE"))], false), pair("by_title", ""));
    assert_eq!(changes(&[], &[("title", text("Weg"))], false), pair("by_title", "by_title"));
    assert_eq!(changes(&[], &[("state", text("done"))], false), pair("by_email", "by_spot"));
    assert_eq!(changes(&[("email", Value::Null)], &[], false), pair("by_email", ""));
    assert_eq!(changes(&[], &[("painter", text("Di"))], false), pair("by_person", "by_person"));
    assert_eq!(changes(&[], &[("painter", text("bo"))], false), pair("", "by_person"));
    let (gained, lost) = diff(of(&[]), Vec::new(), true);
    assert_eq!((names(&gained), names(&lost)), pair("", all));
    let (gained, lost) = diff(Vec::new(), of(&[]), false);
    assert_eq!((names(&gained), names(&lost)), pair(all, ""));
}

/// Whatever two states are, losing and gaining leads from one to the other, with nothing in vain.
#[test]
fn a_diff_leads_from_one_state_to_the_other() {
    let random = SeededRandom::new(11);
    let entry = || {
        let key = Key::new(vec![0, 1, (random.number() % 24) as u8]);
        (key, Bytes::from(vec![(random.number() % 2) as u8]))
    };
    let state = |count: u64| -> BTreeMap<Key, Bytes> { (0..count).map(|_| entry()).collect() };
    let list = |state: &BTreeMap<Key, Bytes>| -> Vec<Entry> {
        let entries = state.iter().rev();
        entries
            .map(|(key, value)| Entry { index: 0, key: key.clone(), value: value.clone() })
            .collect()
    };
    for _ in 0..20_000 {
        let (before, after) = (state(random.number() % 16), state(random.number() % 16));
        let moved = random.number().is_multiple_of(2);
        let (gained, lost) = diff(list(&before), list(&after), moved);
        let mut reached = before.clone();
        for entry in &lost {
            assert!(reached.remove(&entry.key).is_some() && !after.contains_key(&entry.key));
        }
        for entry in &gained {
            let old = reached.insert(entry.key.clone(), entry.value.clone());
            assert!(moved || old.as_ref() != Some(&entry.value));
        }
        assert_eq!(reached, after);
        assert!(!moved || gained.len() == after.len());
    }
}

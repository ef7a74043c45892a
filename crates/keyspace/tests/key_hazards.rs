//! Mistakes that were made in real systems with keys like ours, one test for each.
//!
//! A test here shows the mistake in its smallest form and must fail if we ever make it too.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::{BTreeSet, HashSet};

use keyspace::key::text::{self, Part, Separator};
use keyspace::key::{self, Direction, KeyType, Segment, Value};

const TWO_TEXTS: [Segment; 2] = [KeyType::Text.ascending(), KeyType::Text.ascending()];
const USER_NOTE: [Part<'_>; 4] = [
    Part::Literal("user"),
    Part::Segment(KeyType::Text),
    Part::Literal("notes"),
    Part::Segment(KeyType::Text),
];

fn encode(shape: &[Segment], values: &[Value<'_>]) -> Vec<u8> {
    key::encode(7, shape, values).unwrap()
}

/// The values of one segment, in the order of their keys.
fn sorted<'v>(segment: Segment, mut values: Vec<Value<'v>>) -> Vec<Value<'v>> {
    values.sort_by_key(|value| encode(&[segment], std::slice::from_ref(value)));
    values
}

#[test]
fn hazard_k1_separator_in_an_id_cannot_collide() {
    let pieces = ["", "a", "b", ":", "a:b", "b:c", "/", "%3a", "%", "{a}", "\0", "\u{1}", ".."];
    let (mut keys, mut colons, mut slashes) = (HashSet::new(), HashSet::new(), HashSet::new());
    for first in pieces {
        for second in pieces {
            let values = [Value::text(first), Value::text(second)];
            assert!(keys.insert(encode(&TWO_TEXTS, &values)), "{first:?} {second:?}");
            let colon = text::format(Separator::Colon, &USER_NOTE, &values).unwrap();
            assert_eq!(colon.matches(':').count(), 3, "{colon}");
            assert!(colons.insert(colon), "{first:?} {second:?}");
            let slash = text::format(Separator::Slash, &USER_NOTE, &values).unwrap();
            assert_eq!(slash.matches('/').count(), 3, "{slash}");
            assert!(slashes.insert(slash), "{first:?} {second:?}");
        }
    }
}

#[test]
fn hazard_k1_an_id_cannot_escape_its_namespace() {
    let mine = key::children(&key::encode_front(7, &TWO_TEXTS, &[Value::text("a")]).unwrap());
    for (owner, note) in [("a:b", "c"), ("a\0", "c"), ("a\0\u{1}b", "c"), ("", "a"), ("b", "a")] {
        let key = encode(&TWO_TEXTS, &[Value::text(owner), Value::text(note)]);
        assert!(!mine.contains(&key), "{owner:?}");
    }
    assert!(mine.contains(&encode(&TWO_TEXTS, &[Value::text("a"), Value::text("b:c")])));
}

#[test]
fn hazard_k2_a_prefix_is_whole_segments() {
    let documents = key::encode_front(7, &TWO_TEXTS, &[Value::text("doc1")]).unwrap();
    let range = key::children(&documents);
    assert!(range.contains(&encode(&TWO_TEXTS, &[Value::text("doc1"), Value::text("x")])));
    assert!(!range.contains(&encode(&TWO_TEXTS, &[Value::text("doc10"), Value::text("x")])));
    assert!(!range.contains(&documents));

    let path = [KeyType::Path.ascending()];
    let range = key::under(&[0, 7], Direction::Ascending, &["a"]).unwrap();
    assert!(range.contains(&encode(&path, &[Value::path(&["a"])])));
    assert!(range.contains(&encode(&path, &[Value::path(&["a", "b"])])));
    assert!(!range.contains(&encode(&path, &[Value::path(&["ab"])])));
    assert!(!range.contains(&encode(&path, &[Value::path(&["a\0"])])));
}

#[test]
fn hazard_k2_a_collection_does_not_list_another() {
    let users = key::children(&key::encode(1, &[], &[]).unwrap());
    let shape = [KeyType::Text.ascending()];
    assert!(users.contains(&key::encode(1, &shape, &[Value::text("x")]).unwrap()));
    for other in [0, 2, 0x0100, 0x0131, u16::MAX] {
        let key = key::encode(other, &shape, &[Value::text("x")]).unwrap();
        assert!(!users.contains(&key), "{other}");
    }
    let last = key::children(&key::encode(u16::MAX, &[], &[]).unwrap());
    assert!(last.contains(&key::encode(u16::MAX, &shape, &[Value::text("x")]).unwrap()));
}

#[test]
fn hazard_k3_numbers_sort_as_numbers() {
    let numbers = [i64::MIN, -256, -255, -10, -2, -1, 0, 1, 2, 10, 255, 256, i64::MAX];
    let expected: Vec<_> = numbers.into_iter().map(Value::I64).collect();
    let mut shuffled = expected.clone();
    shuffled.reverse();
    shuffled.swap(2, 7);
    assert_eq!(sorted(KeyType::I64.ascending(), shuffled.clone()), expected);
    let falling: Vec<_> = expected.iter().rev().cloned().collect();
    assert_eq!(sorted(KeyType::I64.descending(), shuffled), falling);
}

#[test]
fn hazard_k3_a_range_of_negative_numbers_is_not_empty() {
    for segment in [KeyType::I64.ascending(), KeyType::I64.descending()] {
        let (from, before) = (Value::I64(-300), Value::I64(-2));
        let range = key::between(&[0, 7], segment, Some(&from), Some(&before)).unwrap();
        assert!(!range.is_empty());
        let inside = |number| range.contains(&encode(&[segment], &[Value::I64(number)]));
        let found: Vec<_> = (-400..400).filter(|number| inside(*number)).collect();
        assert_eq!(found, (-300..-2).collect::<Vec<_>>());
    }
}

#[test]
fn hazard_k3_digits_are_read_in_the_base_they_are_written_in() {
    let template = [Part::Literal("k"), Part::Segment(KeyType::I64)];
    for wrong in ["k:0x10", "k:1f", "k:010", "k:1_000", "k: 1", "k:1e3", "k:٣"] {
        assert!(text::parse(Separator::Colon, &template, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn hazard_k4_time_uuids_sort_by_time() {
    // In each pair the raw bytes sort the other way round than the times.
    let uuid = |ticks: u64, node: u64| {
        let (low, mid, high) = (ticks & 0xffff_ffff, ticks >> 32 & 0xffff, ticks >> 48);
        let time = u128::from(low << 32 | mid << 16 | 0x1000 | high);
        (time << 64 | u128::from(1_u64 << 63 | node)).to_be_bytes()
    };
    let ticks = [1, 0xffff_ffff, 0x1_0000_0000, 0xffff_ffff_ffff, 0x1_0000_0000_0000, 1 << 59];
    let expected: Vec<_> = ticks.map(|ticks| Value::TimeUuid(uuid(ticks, 5))).into();
    let mut raw = expected.clone();
    raw.sort_by_key(|value| match value {
        Value::TimeUuid(bytes) => *bytes,
        other => panic!("{other:?}"),
    });
    assert_ne!(raw, expected);
    assert_eq!(sorted(KeyType::TimeUuid.ascending(), raw), expected);

    // Two ids of one moment are two keys.
    let shape = [KeyType::TimeUuid.ascending()];
    let [first, second] = [5, 6].map(|node| encode(&shape, &[Value::TimeUuid(uuid(9, node))]));
    assert_ne!(first, second);
}

#[test]
fn hazard_k4_other_uuids_are_refused_as_time_uuids() {
    let shape = [KeyType::TimeUuid.ascending()];
    let v1 = 0x7d44_4840_9dc0_11d1_b245_5ffd_ce74_fad2_u128;
    assert!(key::encode(7, &shape, &[Value::TimeUuid(v1.to_be_bytes())]).is_ok());
    for version in (0..16_u128).filter(|version| *version != 1) {
        let other = v1 & !(0xf << 76) | version << 76;
        let error = key::encode(7, &shape, &[Value::TimeUuid(other.to_be_bytes())]).unwrap_err();
        assert_eq!(error.kind(), key::ErrorKind::NotTimeUuid);
    }
    for variant in [0_u128, 1, 3] {
        let other = v1 & !(3 << 62) | variant << 62;
        assert!(key::encode(7, &shape, &[Value::TimeUuid(other.to_be_bytes())]).is_err());
    }
}

#[test]
fn hazard_k5_two_descending_segments_keep_their_order() {
    let shape = [KeyType::Text.descending(), KeyType::Text.descending()];
    let pieces = ["", "\0", "\0\0", "\0\u{1}", "\u{1}", "a", "a\0", "a\0\0", "a\u{ff}", "b"];
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for first in pieces {
        pairs.extend(pieces.map(|second| (first, second)));
    }
    let encode = |pair: &(&str, &str)| encode(&shape, &[Value::text(pair.0), Value::text(pair.1)]);
    let mut by_bytes = pairs.clone();
    by_bytes.sort_by_key(encode);
    pairs.sort();
    pairs.reverse();
    assert_eq!(by_bytes, pairs);
    let keys: BTreeSet<_> = pairs.iter().map(encode).collect();
    for (left, right) in keys.iter().zip(keys.iter().skip(1)) {
        assert!(!right.starts_with(left));
    }
}

#[test]
fn hazard_k6_text_comes_back_as_it_was_given() {
    let twins = ["É", "é", "e\u{301}", "E", "ﬀ", "ff", "ı", "İ", "ß", "ss", "\u{feff}a", "a ", "a"];
    let mut seen = HashSet::new();
    let template = [Part::Literal("k"), Part::Segment(KeyType::Text)];
    for twin in twins {
        for segment in [KeyType::Text.ascending(), KeyType::Text.descending()] {
            let key = encode(&[segment], &[Value::text(twin)]);
            assert_eq!(key::decode(&key, &[segment]).unwrap().1, [Value::text(twin)]);
            assert!(seen.insert(key), "{twin:?}");
        }
        let name = text::format(Separator::Slash, &template, &[Value::text(twin)]).unwrap();
        let back = text::parse(Separator::Slash, &template, &name).unwrap();
        assert_eq!(back, [Value::text(twin)]);
        assert!(seen.insert(name.into_bytes()), "{twin:?}");
    }
}

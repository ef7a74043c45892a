//! Ranges against brute force: every type, both directions, bounds that are keys and that are none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use super::key::{encode, sort_bytes, values};
use super::range::{Bounds, Edge, bounds, spaces};
use data::clock::SeededRandom;
use data::schema::KeyShape;
use data::store::{Key, Range};
use keyspace::key::{self, Direction, KeyType, Segment, Value};
use keyspace::model;
use std::cmp::Ordering;

const SPACE: u16 = 0x0107;

/// Some values of a type, the ends of its range among them.
fn samples(kind: KeyType) -> Vec<Value<'static>> {
    let numbers = [i64::MIN, -65_537, -256, -255, -1, 0, 1, 255, 256, 1 << 40, i64::MAX];
    let ids = [0, 1, 0xff, 1 << 64, u128::MAX >> 1, u128::MAX];
    let times = [(0, 0), (0, 1), (1 << 33, 0x80), (1 << 59, 0x7f00), ((1 << 60) - 1, u64::MAX)];
    match kind {
        KeyType::Bool => [false, true].map(Value::Bool).to_vec(),
        KeyType::I64 => numbers.map(Value::I64).to_vec(),
        KeyType::Timestamp => numbers.map(Value::Timestamp).to_vec(),
        KeyType::U64 => [0, 1, 255, 256, 1 << 63, u64::MAX].map(Value::U64).to_vec(),
        KeyType::Cell => [0, 1, 255, 256, 1 << 63, u64::MAX].map(Value::Cell).to_vec(),
        KeyType::Date => [i32::MIN, -1, 0, 1, 20_000, i32::MAX].map(Value::Date).to_vec(),
        KeyType::F64 => [f64::NEG_INFINITY, -1.5, -5e-324, 0.0, 5e-324, 2.0, f64::INFINITY]
            .map(Value::F64)
            .to_vec(),
        KeyType::Uuid => ids.map(|id| Value::Uuid(id.to_be_bytes())).to_vec(),
        KeyType::Ulid => ids.map(|id| Value::Ulid(id.to_be_bytes())).to_vec(),
        KeyType::TimeUuid => times.map(time_uuid).to_vec(),
        KeyType::Bytes => {
            let strings: [&[u8]; 9] =
                [b"", b"\0", b"\0\0", b"\0\xff", b"\x01", b"a", b"a\0", b"\xff", b"\xff\xff"];
            strings.map(Value::bytes).to_vec()
        }
        KeyType::Text => texts().map(Value::text).to_vec(),
        KeyType::Path => {
            let mut paths = vec![Value::Path(Vec::new())];
            for one in texts() {
                paths.push(Value::path(&[one]));
                paths.extend(["", "\0", "a", "\u{10ffff}"].map(|two| Value::path(&[one, two])));
            }
            paths
        }
    }
}

fn texts() -> [&'static str; 15] {
    let ends = ["\u{7f}", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}"];
    let [a, b, c, d, e, f, g] = ends;
    ["", "\0", "\0\0", "\u{1}", "a", "a\0", "ab", a, b, c, d, e, f, g, "\u{10ffff}\u{10ffff}"]
}

fn time_uuid((time, rest): (u128, u64)) -> Value<'static> {
    let (low, middle, high) = (time & 0xffff_ffff, time >> 32 & 0xffff, time >> 48);
    let rest = u128::from(rest & !(3 << 62) | 2 << 62);
    let bits = low << 96 | middle << 80 | (high | 0x1000) << 64 | rest;
    Value::TimeUuid(bits.to_be_bytes())
}

fn shape(segments: Vec<Segment>) -> KeyShape {
    KeyShape {
        space: SPACE,
        names: segments.iter().map(|segment| format!("{:?}", segment.kind)).collect(),
        types: segments.iter().map(|_| model::Type::Text).collect(),
        segments,
        group: 1,
        family: SPACE,
        slices: None,
        attempt: false,
    }
}

/// Chance, without a clock.
struct Chance(SeededRandom);

impl Chance {
    fn below(&self, most: usize) -> usize {
        (self.0.number() % most as u64) as usize
    }

    fn of<'a, T>(&self, some: &'a [T]) -> &'a T {
        &some[self.below(some.len())]
    }
}

/// A bound: a key, the front of one, or something near them.
fn bound(chance: &Chance, keys: &[Key]) -> Vec<u8> {
    let mut bytes = chance.of(keys).bytes().to_vec();
    if chance.below(3) > 0 {
        bytes.truncate(chance.below(bytes.len() + 1));
    }
    match chance.below(6) {
        0 => bytes.push(*chance.of(&[0, 1, 0x7f, 0xfe, 0xff])),
        1 => bytes.extend([*chance.of(&[0, 0xff]), *chance.of(&[0, 1, 2, 0xfe, 0xff])]),
        2 => {
            if let Some(last) = bytes.last_mut() {
                *last = last.wrapping_add(*chance.of(&[1, 0xff]));
            }
        }
        _ => {}
    }
    bytes
}

/// How two tuples of values compare by the segments of a shape, as far as the shorter goes.
fn compare(segments: &[Segment], one: &[Value<'_>], other: &[Value<'_>]) -> Ordering {
    let by = segments.iter().zip(one.iter().zip(other)).map(|(segment, (one, other))| {
        let order = sort_bytes(*segment, one).unwrap().cmp(&sort_bytes(*segment, other).unwrap());
        match segment.direction {
            Direction::Ascending => order,
            Direction::Descending => order.reverse(),
        }
    });
    by.fold(Ordering::Equal, Ordering::then)
}

fn holds(shape: &KeyShape, bounds: &Bounds<'_>, key: &[Value<'_>]) -> bool {
    let (front, rest) = key.split_at(bounds.equal.len());
    let segments = &shape.segments[bounds.equal.len()..];
    let within = |edge: &Option<Edge<'_>>, side: Ordering| {
        edge.as_ref().is_none_or(|edge| {
            assert!(!edge.values.is_empty());
            match compare(segments, rest, &edge.values) {
                Ordering::Equal => edge.inclusive,
                order => order == side,
            }
        })
    };
    compare(&shape.segments, front, &bounds.equal) == Ordering::Equal
        && within(&bounds.lower, Ordering::Greater)
        && within(&bounds.upper, Ordering::Less)
}

/// Compares one range with what it says of itself.
fn check(shape: &KeyShape, keys: &[Key], range: &Range) {
    let said = bounds(shape, range);
    let stretches = said.clone().map_or(Vec::new(), |bounds| bounds.stretches(shape));
    let mut previous = 0;
    for key in keys {
        let key_values = values(shape, key.as_ref()).unwrap();
        let inside = range.contains(key.as_ref());
        let held = said.as_ref().is_some_and(|said| holds(shape, said, &key_values));
        assert_eq!(held, inside, "{key:?} in {range:?}: {said:?}");
        let mut at = (0..stretches.len()).filter(|n| holds(shape, &stretches[*n], &key_values));
        let first = at.next();
        assert_eq!(first.is_some(), inside, "{key:?} in {range:?}: {stretches:?}");
        assert_eq!(at.next(), None, "{key:?} twice in {stretches:?}");
        // The keys are sorted: they go through the stretches in order.
        assert!(first.is_none_or(|first| first >= previous), "{key:?} in {stretches:?}");
        previous = first.unwrap_or(previous);
    }
    for stretch in &stretches {
        for edge in stretch.lower.iter().chain(&stretch.upper) {
            let own = shape.segments.iter().skip(stretch.equal.len()).take(edge.values.len());
            let mut directions: Vec<Direction> = own.map(|segment| segment.direction).collect();
            directions.dedup();
            assert_eq!(directions.len(), 1, "{stretch:?}");
        }
    }
}

/// Every key of a shape, sorted.
fn all_keys(shape: &KeyShape) -> Vec<Key> {
    let mut rows: Vec<Vec<Value<'static>>> = vec![Vec::new()];
    for segment in &shape.segments {
        let mut some = samples(segment.kind);
        if shape.segments.len() > 2 {
            // Enough to meet every edge, few enough to try often.
            some = some.into_iter().step_by(3).collect();
        }
        let longer = rows.iter().flat_map(|row| {
            some.iter().map(|value| row.iter().cloned().chain([value.clone()]).collect())
        });
        rows = longer.collect();
    }
    let mut keys: Vec<Key> = rows.iter().map(|row| encode(shape, row).unwrap()).collect();
    keys.sort();
    keys
}

fn try_ranges(shape: &KeyShape, seed: u64, count: usize) {
    println!("seed {seed}");
    let chance = Chance(SeededRandom::new(seed));
    let keys = all_keys(shape);
    for _ in 0..count {
        let (start, end) = (bound(&chance, &keys), bound(&chance, &keys));
        let range = match chance.below(4) {
            0 => Range::from(key::children(&start)),
            1 => {
                let all = Range { start: start.into(), end: end.into() };
                all.after(chance.of(&keys), chance.below(2) == 0)
            }
            _ => Range { start: start.into(), end: end.into() },
        };
        check(shape, &keys, &range);
    }
}

#[test]
fn a_range_is_what_its_bounds_say_for_every_type_and_direction() {
    for (number, kind) in KeyType::ALL.into_iter().enumerate() {
        for segment in [kind.ascending(), kind.descending()] {
            try_ranges(&shape(vec![segment]), number as u64, 3_000);
        }
    }
}

#[test]
fn a_range_over_several_segments_is_what_its_bounds_say() {
    let text = KeyType::Text.ascending();
    for (number, kind) in KeyType::ALL.into_iter().enumerate() {
        let middle = [kind.ascending(), kind.descending()];
        for (middle, last) in middle.into_iter().flat_map(|m| {
            [KeyType::I64.ascending(), KeyType::Text.descending()].map(|last| (m, last))
        }) {
            try_ranges(&shape(vec![text, middle, last]), 100 + number as u64, 150);
        }
    }
}

#[test]
fn ranges_that_patterns_make_are_exact() {
    let segments =
        vec![KeyType::Text.ascending(), KeyType::Text.descending(), KeyType::I64.ascending()];
    let shape = shape(segments);
    let keys = all_keys(&shape);
    let whole = Range::from(key::children(&SPACE.to_be_bytes()));
    check(&shape, &keys, &whole);
    assert_eq!(bounds(&shape, &whole).unwrap().lower, None);
    let front = key::encode_front(SPACE, &shape.segments, &[Value::text("a")]).unwrap();
    let group = Range::from(key::children(&front));
    check(&shape, &keys, &group);
    let expected = Bounds { equal: vec![Value::text("a")], lower: None, upper: None };
    assert_eq!(bounds(&shape, &group), Some(expected));
    for begins in ["", "\0", "a", "\u{7f}", "\u{d7ff}", "\u{ffff}", "\u{10ffff}"] {
        let starts = key::starts(&front, Direction::Descending, begins).unwrap();
        check(&shape, &keys, &Range::from(starts));
    }
    for from in samples(KeyType::Text) {
        for before in samples(KeyType::Text) {
            let between = key::between(&front, shape.segments[1], Some(&from), Some(&before));
            check(&shape, &keys, &Range::from(between.unwrap()));
        }
    }
    for key in &keys {
        check(&shape, &keys, &group.after(key, false));
        check(&shape, &keys, &group.after(key, true));
    }
}

#[test]
fn paths_beneath_a_path_are_a_range() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let segment = Segment { direction, ..KeyType::Path.ascending() };
        let shape = shape(vec![segment]);
        let keys = all_keys(&shape);
        for path in [&[][..], &["a"], &["a", ""], &["\u{10ffff}\u{10ffff}"]] {
            let under = key::under(&SPACE.to_be_bytes(), direction, path).unwrap();
            check(&shape, &keys, &Range::from(under));
        }
    }
}

#[test]
fn an_attempt_behind_the_segments_loosens_an_edge() {
    let shape = KeyShape { attempt: true, ..shape(vec![KeyType::I64.ascending()]) };
    let key = key::encode(SPACE, &[KeyType::I64.ascending()], &[Value::I64(5)]).unwrap();
    let range = Range { start: [&key[..], &[0x38]].concat().into(), end: vec![0xff].into() };
    let lower = bounds(&shape, &range).unwrap().lower.unwrap();
    assert_eq!(lower, Edge { values: vec![Value::I64(5)], inclusive: true });
}

#[test]
fn spaces_are_those_a_range_can_reach() {
    let range =
        |start: &[u8], end: &[u8]| Range { start: start.to_vec().into(), end: end.to_vec().into() };
    assert_eq!(spaces(&range(&[0, 1], &[0, 2])), Some(1..=1));
    assert_eq!(spaces(&range(&[0, 1, 5], &[0, 2, 0])), Some(1..=2));
    assert_eq!(spaces(&range(&[], &[0xff])), Some(0..=0xfeff));
    assert_eq!(spaces(&range(&[], &[])), None);
    assert_eq!(spaces(&range(&[0, 7], &[0, 7])), None);
}

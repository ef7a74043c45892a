//! Random keys against a plain model of their order: more than ten million pairs in each run.
//!
//! The model compares values and knows nothing of bytes. Every run draws a new seed; a failure
//! prints it, and `KEYWAY_SEED` replays it. A found case becomes a vector or a small test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::cmp::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use generator::Random;
use keyspace::key::text::{self, Part, Separator};
use keyspace::key::{self, Direction, KeyReader, KeyType, KeyWriter, Segment, Value};

#[path = "key_properties/generator.rs"]
mod generator;

/// Pairs drawn by each of the two threads of the order test.
const PAIRS_PER_THREAD: u64 = 5_000_000;

fn seed() -> u64 {
    let now =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |age| age.as_nanos() as u64);
    match std::env::var("KEYWAY_SEED") {
        Ok(text) => text.parse().expect("KEYWAY_SEED is a number"),
        Err(_) => now(),
    }
}

/// The order of two values by what they mean.
fn compare_values(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::I64(left), Value::I64(right)) => left.cmp(right),
        (Value::U64(left), Value::U64(right)) => left.cmp(right),
        (Value::F64(left), Value::F64(right)) => left.partial_cmp(right).expect("no NaN"),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.chars().cmp(right.chars()),
        (Value::Path(left), Value::Path(right)) => left.cmp(right),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::Ulid(left), Value::Ulid(right)) => left.cmp(right),
        (Value::TimeUuid(left), Value::TimeUuid(right)) => time(left).cmp(&time(right)),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Cell(left), Value::Cell(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        _ => panic!("two types in one place"),
    }
}

/// Ticks since 1582, then the clock and the node as signed bytes.
fn time(uuid: &[u8; 16]) -> (u64, Vec<i8>) {
    let low = u64::from(u32::from_be_bytes(uuid[0..4].try_into().unwrap()));
    let mid = u64::from(u16::from_be_bytes(uuid[4..6].try_into().unwrap()));
    let high = u64::from(u16::from_be_bytes(uuid[6..8].try_into().unwrap()) & 0x0fff);
    let rest = uuid[8..].iter().map(|byte| *byte as i8).collect();
    (high << 48 | mid << 32 | low, rest)
}

fn compare_keys(shape: &[Segment], left: &[Value<'_>], right: &[Value<'_>]) -> Ordering {
    for (segment, (left, right)) in shape.iter().zip(left.iter().zip(right)) {
        let order = compare_values(left, right);
        if order != Ordering::Equal {
            return match segment.direction {
                Direction::Ascending => order,
                Direction::Descending => order.reverse(),
            };
        }
    }
    left.len().cmp(&right.len())
}

fn write(buffer: &mut Vec<u8>, shape: &[Segment], values: &[Value<'_>]) {
    buffer.clear();
    let mut writer = KeyWriter::new(buffer, 7);
    for (segment, value) in shape.iter().zip(values) {
        writer.value(*segment, value).expect("a value that fits");
    }
}

fn check_pairs(seed: u64, pairs: u64) {
    let mut random = Random::new(seed);
    let (mut left_bytes, mut right_bytes) = (Vec::new(), Vec::new());
    let mut drawn = 0;
    while drawn < pairs {
        let shape = random.shape();
        let mut left = random.values(&shape);
        for _ in 0..16 {
            let right = random.near(&shape, &left);
            write(&mut left_bytes, &shape, &left);
            write(&mut right_bytes, &shape, &right);
            let say = || format!("KEYWAY_SEED={seed} {shape:?} {left:?} {right:?}");
            let order = compare_keys(&shape, &left, &right);
            assert_eq!(left_bytes.cmp(&right_bytes), order, "order: {}", say());
            let prefix = left_bytes.starts_with(&right_bytes) && order != Ordering::Equal;
            assert!(!prefix, "prefix: {}", say());
            drawn += 1;
            left = right;
        }
        let (collection, decoded) = key::decode(&right_bytes, &shape).expect("what was written");
        assert_eq!((collection, &decoded), (7, &left), "KEYWAY_SEED={seed} round trip");
    }
}

#[test]
fn byte_order_is_value_order_in_ten_million_pairs() {
    let seed = seed();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || check_pairs(seed.wrapping_add(thread), PAIRS_PER_THREAD));
        }
    });
}

#[test]
fn every_type_in_every_direction_keeps_its_order() {
    let seed = seed();
    let mut random = Random::new(seed);
    for kind in KeyType::ALL {
        for segment in [kind.ascending(), kind.descending(), kind.ascending().or_null()] {
            let shape = [segment];
            let mut keys: Vec<_> = (0..300).map(|_| random.values(&shape)).collect();
            keys.sort_by(|left, right| compare_keys(&shape, left, right));
            let encode = |values: &Vec<Value<'_>>| key::encode(7, &shape, values).unwrap();
            let encoded: Vec<_> = keys.iter().map(encode).collect();
            assert!(encoded.is_sorted(), "KEYWAY_SEED={seed} {segment:?}");
        }
    }
}

#[test]
fn integers_of_both_kinds_lie_on_one_line() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..100_000 {
        let (signed, unsigned) = (random.i64(), random.i64() as u64);
        let left = key::encode(7, &[KeyType::I64.ascending()], &[Value::I64(signed)]).unwrap();
        let right = key::encode(7, &[KeyType::U64.ascending()], &[Value::U64(unsigned)]).unwrap();
        let order = i128::from(signed).cmp(&i128::from(unsigned));
        assert_eq!(left.cmp(&right), order, "KEYWAY_SEED={seed} {signed} {unsigned}");
    }
}

#[test]
fn a_prefix_range_holds_exactly_the_children() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..100_000 {
        let shape = random.shape();
        let values = random.values(&shape);
        let other = random.near(&shape, &values);
        let cut = random.below(shape.len() as u64 + 1) as usize;
        let prefix = key::encode_front(7, &shape, &values[..cut]).unwrap();
        let key = key::encode(7, &shape, &other).unwrap();
        let child = cut < shape.len() && values[..cut] == other[..cut];
        let range = key::children(&prefix);
        let say = || format!("KEYWAY_SEED={seed} {shape:?} {cut} {values:?} {other:?}");
        assert_eq!(range.contains(&key), child, "{}", say());
        assert!(!range.contains(&prefix), "{}", say());
    }
}

#[test]
fn a_segment_passed_by_ends_where_one_that_is_read_does() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..100_000 {
        let shape = random.shape();
        let values = random.values(&shape);
        let key = key::encode(7, &shape, &values).unwrap();
        let mut reading = KeyReader::new(&key).unwrap();
        for (number, segment) in shape.iter().enumerate() {
            let mut passing = reading.clone();
            passing.skip(*segment).unwrap();
            reading.value(*segment).unwrap();
            let ends = [passing.offset(), reading.offset()];
            assert_eq!(ends[0], ends[1], "KEYWAY_SEED={seed} {shape:?} {values:?} {number}");
            // One that is cut short is noticed, whatever its type.
            let cut = key.len().min(ends[1]) - 1;
            let mut passing = KeyReader::new(&key[..cut]).unwrap();
            let passed = shape[..=number].iter().try_for_each(|segment| passing.skip(*segment));
            assert!(passed.is_err(), "KEYWAY_SEED={seed} {shape:?} {values:?} {number}");
        }
    }
}

#[test]
fn bounds_are_by_value_in_both_directions() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..200_000 {
        let kind = KeyType::ALL[random.below(KeyType::ALL.len() as u64) as usize];
        let direction = random.direction();
        let shape = [Segment { kind, direction, nullable: false }, KeyType::U64.ascending()];
        let key = random.values(&shape);
        let from = random.near(&shape, &key);
        let before = random.near(&shape, &key);
        let from = (random.below(4) > 0).then_some(&from[0]);
        let before = (random.below(4) > 0).then_some(&before[0]);
        let range = key::between(&[0, 7], shape[0], from, before).unwrap();
        let low = from.is_none_or(|from| compare_values(from, &key[0]).is_le());
        let high = before.is_none_or(|before| compare_values(&key[0], before).is_lt());
        let bytes = key::encode(7, &shape, &key).unwrap();
        let say = || format!("KEYWAY_SEED={seed} {direction:?} {from:?} {key:?} {before:?}");
        assert_eq!(range.contains(&bytes), low && high, "{}", say());
        assert!(range.start <= range.end, "{}", say());
    }
}

#[test]
fn starts_and_under_hold_exactly_what_begins_so() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..200_000 {
        let direction = random.direction();
        let (whole, front) = (random.text(), random.text());
        let shape = [Segment { kind: KeyType::Text, direction, nullable: false }];
        let bytes = key::encode(7, &shape, &[Value::text(&whole)]).unwrap();
        let range = key::starts(&[0, 7], direction, &front).unwrap();
        let say = || format!("KEYWAY_SEED={seed} {direction:?} {whole:?} {front:?}");
        assert_eq!(range.contains(&bytes), whole.starts_with(&front), "{}", say());

        let (whole, front) = (random.path(), random.path());
        let shape = [Segment { kind: KeyType::Path, direction, nullable: false }];
        let bytes = key::encode(7, &shape, &[Value::Path(whole.clone())]).unwrap();
        let range = key::under(&[0, 7], direction, &front).unwrap();
        let say = || format!("KEYWAY_SEED={seed} {direction:?} {whole:?} {front:?}");
        assert_eq!(range.contains(&bytes), whole.starts_with(&front), "{}", say());
    }
}

#[test]
fn random_bytes_never_panic_and_what_is_accepted_is_canonical() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut accepted = 0;
    for _ in 0..1_000_000 {
        let shape = random.shape();
        let mut bytes = vec![0, 7];
        if random.below(4) == 0 {
            bytes.extend(random.bytes());
        } else {
            write(&mut bytes, &shape, &random.values(&shape));
            random.damage(&mut bytes);
        }
        if let Ok((collection, values)) = key::decode(&bytes, &shape) {
            let again = key::encode(collection, &shape, &values).expect("decoded values");
            assert_eq!(again, bytes, "KEYWAY_SEED={seed} {shape:?}");
            accepted += 1;
        }
    }
    assert!(accepted > 10_000, "KEYWAY_SEED={seed}: {accepted} accepted");
}

#[test]
fn text_comes_back_and_only_canonical_text_is_accepted() {
    let seed = seed();
    let mut random = Random::new(seed);
    for _ in 0..200_000 {
        let shape = random.text_shape();
        let values = random.values(&shape);
        let segments = shape.iter().map(|segment| Part::Segment(segment.kind));
        let template: Vec<_> = std::iter::once(Part::Literal("notes")).chain(segments).collect();
        for separator in [Separator::Colon, Separator::Slash] {
            let text = text::format(separator, &template, &values).expect("a text");
            let parsed = text::parse(separator, &template, &text).expect("its own text");
            assert_eq!(parsed, values, "KEYWAY_SEED={seed} {text}");
            let damaged = random.damage_text(&text);
            if let Ok(values) = text::parse(separator, &template, &damaged) {
                let again = text::format(separator, &template, &values).expect("parsed values");
                assert_eq!(again, damaged, "KEYWAY_SEED={seed}");
            }
        }
    }
}

#[test]
fn a_refused_value_leaves_the_buffer_as_it_was() {
    let long = "x".repeat(2_000);
    let zeros = "\0".repeat(600);
    let nearly = "x".repeat(1_000);
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut buffer = b"before".to_vec();
        let mut writer = KeyWriter::new(&mut buffer, 7);
        writer.text(&nearly, direction).unwrap();
        assert!(writer.text(&long, direction).is_err());
        assert!(writer.text(&zeros, direction).is_err());
        assert!(writer.path(&[&zeros], direction).is_err());
        assert!(writer.path(&["a", &long], direction).is_err());
        assert!(writer.f64(f64::NAN, direction).is_err());
        assert!(writer.time_uuid(&[0xff; 16], direction).is_err());
        assert!(writer.value(KeyType::Bool.ascending(), &Value::Null).is_err());
        writer.uuid(&[7; 16], direction).unwrap();
        assert_eq!(writer.written(), 2 + 1_003 + 17);
        assert!(writer.cell(7, direction).is_err());
        for _ in 0..2 {
            writer.bool(true, direction).unwrap();
        }
        assert!(writer.bool(true, direction).is_err());
        assert_eq!(buffer.len(), 6 + 1_024);
        let mut reader = KeyReader::new(&buffer[6..]).unwrap();
        assert_eq!(reader.text(direction).unwrap(), nearly);
        assert_eq!(reader.uuid(direction).unwrap(), [7; 16]);
    }
}

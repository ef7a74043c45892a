//! Expressions and what they give; and the checker's word held against the evaluation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod agreement;

use super::convert::identify;
use super::*;
use bytes::Bytes;
use keyspace::parse::{SourceString, read_expression};
use keyspace::source::Span;

/// 2026-11-15T10:20:30.400Z
const NOW: Milliseconds = 1_794_738_030_400;
const ULID: [u8; 16] = *b"\x01\xa1\xdf\xe0\x1b\x80ABCDEFGHIJ";
const UUID: &str = "6c2f9a4e-5b1d-4e0f-8a7b-0123456789ab";

fn read(text: &str) -> Expression {
    let source = SourceString::bare(Span::new(0, text.len()), text);
    let mut problems = Vec::new();
    let read = read_expression(&source, &mut problems);
    assert!(problems.is_empty(), "{text}: {problems:?}");
    read
}

/// A record, a call and a step with a value of every kind.
struct World;

fn world(name: &str) -> Option<Value> {
    Some(match name {
        "title" => Value::Text("Öl & STRASSE".into()),
        "word" => Value::Text("open".into()),
        "missing" | "no_list" => Value::Null,
        "flag" => Value::Bool(true),
        "small" => Value::I64(-7),
        "large" => Value::U64(u64::MAX),
        "count" => Value::U64(5),
        "most" => Value::I64(i64::MAX),
        "ratio" => Value::F64(1.5),
        "huge" => Value::F64(f64::MAX),
        "lat" => Value::F64(59.9139),
        "lon" => Value::F64(10.7522),
        "at" => Value::Timestamp(NOW),
        "early" => Value::Timestamp(-1),
        "last" => Value::Timestamp(i64::MAX),
        "on" => Value::Date(20_407),
        "made" => Value::Ulid(ULID),
        "id" => identify(UUID, &Type::Uuid).unwrap(),
        "data" => Value::Bytes(Bytes::from_static(b"\x00\xff")),
        "wait" => Value::Duration(90_000),
        "tags" => Value::List(vec![
            Value::Text("b".into()),
            Value::Text("B".into()),
            Value::Null,
            Value::Text("a".into()),
            Value::Text("b".into()),
        ]),
        "numbers" => Value::List((0..200).map(Value::I64).collect()),
        "json" => Value::Json(serde_json::json!({"b": [1, 2.5], "a": null})),
        "path" => Value::Path(vec!["a".into(), "b".into()]),
        _ => return None,
    })
}

impl Scope for World {
    fn member(&self, name: &str) -> Result<Value> {
        world(name).ok_or_else(|| unseen("member", name))
    }

    fn argument(&self, name: &str) -> Result<Value> {
        world(name).ok_or_else(|| unseen("argument", name))
    }

    fn step_member(&self, step: &str, name: &str) -> Result<Value> {
        assert_eq!(step, "earlier");
        world(name).ok_or_else(|| unseen("step", name))
    }

    fn now(&self) -> Milliseconds {
        NOW
    }

    fn caller(&self) -> Result<Value> {
        Ok(Value::Text(UUID.to_ascii_uppercase()))
    }
}

fn value(text: &str) -> Value {
    evaluate(&read(text), &World, None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn typed(text: &str, of: &Type) -> Value {
    evaluate(&read(text), &World, Some(of)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn kind(text: &str, of: Option<&Type>) -> ErrorKind {
    evaluate(&read(text), &World, of).expect_err(text).kind()
}

#[track_caller]
fn all_hold(texts: &[&str]) {
    for text in texts {
        assert!(holds(&read(text), &World).unwrap(), "{text}");
        assert!(!holds(&read(&format!("not ({text})")), &World).unwrap(), "not {text}");
    }
}

fn count(list: Value) -> usize {
    let Value::List(values) = list else { panic!("{list:?} is no list") };
    values.len()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

#[test]
fn comparisons_are_by_value() {
    all_hold(&[
        "small < count",
        "small < large",
        "large > 9223372036854775807",
        "count = 5 and count != 6 and count <= 5 and count >= 5",
        "ratio > 1 and ratio < 2 and ratio = 1.5",
        "title > 'A' and word = 'open' and word < 'opened'",
        "'a' < 'ä' and 'Z' < 'a'",
        "at = now and at - 1s < now and early < at",
        "on > day(early)",
        "flag = true and flag and flag != false",
        "data = data and not data < data",
        "wait = 90 and wait > 1m and wait < 2m",
        "earlier.count = $count",
        "made = made and id = id",
        "cell(lat, lon, 12) = 5062448883456540672",
    ]);
}

/// Values that differ in a few bits are compared as their keys are.
#[test]
fn ids_compare_as_their_keys_do() {
    let random = crate::clock::SeededRandom::new(5);
    let base = *b"aaaaaa\x11\x11\x81aaaaaaa";
    let changed = || {
        let bit = random.number() % 128;
        let bytes = (u128::from_be_bytes(base) ^ 1 << bit).to_be_bytes();
        // Version and variant stay.
        let [.., six, _, eight, _, _, _, _, _, _, _] = bytes;
        (six >> 4 == 1 && eight >> 6 == 2).then_some(bytes)
    };
    for _ in 0..10_000 {
        let (Some(left), Some(right)) = (changed(), changed()) else { continue };
        for of in [Value::Uuid, Value::TimeUuid, Value::Ulid] {
            let (left, right) = (of(left), of(right));
            let key = |value: &Value| {
                let segment = value.as_segment().unwrap();
                keyspace::key::encode(1, &[segment.kind().unwrap().ascending()], &[segment])
                    .unwrap()
            };
            let order = compare(&left.clone().into(), &right.clone().into()).unwrap();
            let expected = compare::Compared::Ordered(key(&left).cmp(&key(&right)));
            assert_eq!(order, expected, "{left:?} {right:?}");
        }
    }
}

#[test]
fn nothing_compares_with_null() {
    for operator in ["=", "!=", "<", "<=", ">", ">="] {
        for side in ["missing", "missing + 1", "-missing", "lower(missing)", "day(missing)"] {
            let text = format!("{side} {operator} {side}");
            assert!(!holds(&read(&text), &World).unwrap(), "{text}");
        }
    }
    all_hold(&[
        "missing is null and not missing is not null",
        "word is not null",
        "not missing = 'a' and not missing in ('a', 'b')",
        "not word in (missing, 'shut')",
        "word in ('shut', 'open')",
        "small in (1, -7)",
        "missing + 1 is null and now - missing is null",
    ]);
}

#[test]
fn the_right_side_is_asked_only_if_it_decides() {
    all_hold(&[
        "word = 'open' or most + most > 0",
        "true or flag",
        "not (false and flag)",
        "flag and (false or true)",
    ]);
}

#[test]
fn callers_are_compared_as_ids_of_the_other_side() {
    all_hold(&["id = caller", "caller = id", "not made = caller", "made != caller"]);
    all_hold(&["count != caller", "not count = caller", "not small < caller", "caller in (id)"]);
    assert_eq!(typed("caller", &Type::Uuid), world("id").unwrap());
    assert_eq!(typed("caller", &Type::Text), text(&UUID.to_ascii_uppercase()));
    assert_eq!(kind("caller", Some(&Type::Ulid)), ErrorKind::Denied);
    assert_eq!(kind("caller", Some(&Type::I64)), ErrorKind::Denied);
    for (id, of, is_one) in [
        ("42", Type::I64, true),
        ("042", Type::I64, false),
        ("-1", Type::U64, false),
        ("01arz3ndektsv4rrffq69g5fav", Type::Ulid, true),
        (UUID, Type::TimeUuid, false),
        (UUID, Type::Bytes, false),
    ] {
        assert_eq!(identify(id, &of).is_some(), is_one, "{id} {of}");
    }
}

#[test]
fn numbers_have_the_type_they_meet() {
    assert_eq!(value("1"), Value::I64(1));
    assert_eq!(value("18446744073709551615"), Value::U64(u64::MAX));
    assert_eq!(value("1.5"), Value::F64(1.5));
    assert_eq!(value("count + 1"), Value::U64(6));
    assert_eq!(value("small + 1"), Value::I64(-6));
    assert_eq!(value("count + small"), Value::I64(-2));
    assert_eq!(value("ratio + 1"), Value::F64(2.5));
    assert_eq!(value("-count"), Value::I64(-5));
    assert_eq!(value("-ratio"), Value::F64(-1.5));
    assert_eq!(typed("1", &Type::F64), Value::F64(1.0));
    assert_eq!(typed("1", &Type::U64), Value::U64(1));
    assert_eq!(typed("count", &Type::I64), Value::I64(5));
    assert_eq!(typed("missing", &Type::Optional(Box::new(Type::I64))), Value::Null);
    assert_eq!(typed("cell(lat, lon, 12)", &Type::U64), Value::U64(0x4641_6e70_0000_0000));
}

#[test]
fn only_what_becomes_a_value_must_fit() {
    assert_eq!(value("most + 1 - 1"), Value::I64(i64::MAX));
    assert_eq!(value("large - large + 1"), Value::U64(1));
    all_hold(&["count - 6 < 0", "most + 1 > most", "large + large > large", "last + 1s > last"]);
    for (expression, of) in [
        ("most + 1", None),
        ("small - most - 2", None),
        ("count - 6", None),
        ("large + 1", None),
        ("-large", None),
        ("large", Some(Type::I64)),
        ("small", Some(Type::U64)),
        ("huge + huge", None),
        ("last + 1s", None),
        ("most", Some(Type::Duration)),
        ("now - last", Some(Type::U64)),
        ("day(last)", None),
        ("99999999999999999999999999999999999999999", None),
    ] {
        assert_eq!(kind(expression, of.as_ref()), ErrorKind::Overflow, "{expression}");
    }
}

#[test]
fn times_and_lengths_add_up() {
    assert_eq!(value("now"), Value::Timestamp(NOW));
    assert_eq!(value("now + 30s"), Value::Timestamp(NOW + 30_000));
    assert_eq!(value("now - 10m"), Value::Timestamp(NOW - 600_000));
    assert_eq!(value("count + now"), Value::Timestamp(NOW + 5_000));
    assert_eq!(value("now + small"), Value::Timestamp(NOW - 7_000));
    assert_eq!(value("now - early"), Value::Duration(NOW + 1));
    assert_eq!(value("wait + 30s"), Value::Duration(120_000));
    assert_eq!(value("wait - 30"), Value::Duration(60_000));
    assert_eq!(value("30 - wait"), Value::Duration(-60_000));
    assert_eq!(value("-wait"), Value::Duration(-90_000));
    assert_eq!(typed("15", &Type::Duration), Value::Duration(15_000));
    assert_eq!(typed("1500ms", &Type::I64), Value::I64(1));
    assert_eq!(typed("-1500ms", &Type::I64), Value::I64(-1));
    assert_eq!(typed("now - early", &Type::U64), Value::U64(NOW as u64 / 1_000));
    assert_eq!(kind("-wait", Some(&Type::U64)), ErrorKind::Overflow);
}

#[test]
fn functions_of_time_are_utc() {
    assert_eq!(value("floor(at, '1h')"), Value::Timestamp(1_794_736_800_000));
    assert_eq!(value("floor(at, 1h)"), Value::Timestamp(1_794_736_800_000));
    assert_eq!(value("floor(early, '1d')"), Value::Timestamp(-86_400_000));
    assert_eq!(value("day(at)"), Value::Date(20_772));
    assert_eq!(value("day(early)"), Value::Date(-1));
    assert_eq!(value("month(at)"), text("2026-11"));
    assert_eq!(value("month(early)"), text("1969-12"));
    assert_eq!(value("month(on)"), text("2025-11"));
    assert_eq!(value("day(on)"), Value::Date(20_407));
    assert_eq!(value("day(made)"), Value::Date(20_772));
    assert_eq!(value("floor(made, '1d')"), Value::Timestamp(20_772 * 86_400_000));
    assert_eq!(value("month(floor(at - 300d, '1d'))"), text("2026-01"));
    assert_eq!(value("day(missing)"), Value::Null);
}

#[test]
fn each_gives_every_value_once() {
    let list = |texts: &[&str]| Value::List(texts.iter().map(|t| text(t)).collect());
    assert_eq!(value("each(tags)"), list(&["b", "B", "a"]));
    assert_eq!(value("each(tags, word, missing, no_list)"), list(&["b", "B", "a", "open"]));
    assert_eq!(value("lower(each(tags, title))"), list(&["b", "a", "öl & strasse"]));
    assert_eq!(value("each(missing)"), list(&[]));
    let numbers = [-7, -2].map(Value::I64).to_vec();
    assert_eq!(value("each(small, count + small)"), Value::List(numbers));
    assert_eq!(count(value("day(each(at, early))")), 2);
    assert_eq!(count(value("hash(each(tags))")), 3);
    assert_eq!(kind("each(numbers)", None), ErrorKind::TooLarge);
}

#[test]
fn a_hundred_values_are_not_too_many() {
    let of = |count: i64| {
        let list = Value::List((0..count).chain(0..count).map(Value::I64).collect());
        struct Only(Value);
        impl Scope for Only {
            fn member(&self, _: &str) -> Result<Value> {
                Ok(self.0.clone())
            }
        }
        evaluate(&read("each(list)"), &Only(list), None)
    };
    assert_eq!(count(of(100).unwrap()), 100);
    assert_eq!(of(101).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn places_are_cells() {
    assert_eq!(value("geohash(lat, lon, 5)"), text("u4xsu"));
    assert_eq!(value("cell(lat, lon, 12)"), Value::Cell(0x4641_6e70_0000_0000));
    assert_eq!(value("geohash(0, 0.0, 3)"), text("s00"));
    assert_eq!(value("cell(missing, lon, 12)"), Value::Null);
    assert_eq!(value("geohash(lat, missing, 12)"), Value::Null);
    assert_eq!(kind("cell(huge, lon, 12)", None), ErrorKind::Argument);
    assert_eq!(kind("geohash(lat, huge, 12)", None), ErrorKind::Argument);
}

/// Hashes are stored: these bytes never change.
#[test]
fn hashes_stay_as_they_are() {
    let hash = |text: &str| match value(&format!("hash({text})")) {
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        other => panic!("{other:?}"),
    };
    let of = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..32].to_string();
    assert_eq!(hash("word"), "a1a614136bd7aa340fee5a62b4591b25");
    for (name, bytes) in [
        ("word", b"open".as_slice()),
        ("data", b"\x00\xff"),
        ("small", b"-7"),
        ("ratio", b"1.5"),
        ("flag", b"true"),
        ("at", b"2026-11-15T10:20:30.400Z"),
        ("id", UUID.as_bytes()),
        ("json", br#"{"a":null,"b":[1,2.5]}"#),
        ("path", br#"["a","b"]"#),
        ("wait", b"90000"),
        ("cell(lat, lon, 12)", b"5062448883456540672"),
    ] {
        assert_eq!(hash(name), of(bytes), "{name}");
    }
    assert_eq!(value("hash(missing)"), Value::Null);
}

#[test]
fn everything_goes_into_json() {
    let json = |expression: &str| match typed(expression, &Type::Json) {
        Value::Json(json) => json.to_string(),
        other => panic!("{other:?}"),
    };
    for (expression, expected) in [
        ("null", "null"),
        ("12", "12"),
        ("1.5", "1.5"),
        ("'a'", "\"a\""),
        ("flag", "true"),
        ("large", "18446744073709551615"),
        ("at", "\"2026-11-15T10:20:30.400Z\""),
        ("on", "\"2025-11-15\""),
        ("data", "\"AP8\""),
        ("wait", "\"90s\""),
        ("json", r#"{"b":[1,2.5],"a":null}"#),
        ("path", r#"["a","b"]"#),
        ("numbers", &serde_json::json!((0..200).collect::<Vec<i64>>()).to_string()),
    ] {
        assert_eq!(json(expression), expected, "{expression}");
    }
    assert_eq!(typed("null", &Type::Optional(Box::new(Type::Json))), Value::Null);
}

#[test]
fn what_a_scope_does_not_offer_is_an_error() {
    struct Nothing;
    impl Scope for Nothing {}
    for expression in ["title", "$title", "earlier.title", "caller", "each(title)"] {
        let error = evaluate(&read(expression), &Nothing, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{expression}");
        assert!(holds(&read(&format!("{expression} is null")), &Nothing).is_err());
    }
}

//! Values from JSON and text and back: what is accepted, what is refused, and that nothing is lost.

use super::Value;
use super::sample::Sample;
use crate::error::ErrorKind;
use bytes::Bytes;
use keyspace::model::Type;
use serde_json::{Value as Json, json};

fn optional(of: Type) -> Type {
    Type::Optional(Box::new(of))
}

fn list(of: Type) -> Type {
    Type::List(Box::new(of))
}

fn words() -> Type {
    Type::Enum(vec!["open".to_string(), "done".to_string()])
}

const UUID: [u8; 16] = [
    0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0x4d, 0x01, 0xb4, 0x2d, 0x00, 0xcf, 0x4f, 0xc9, 0x64, 0xff,
];
const UUID_TEXT: &str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
/// 2026-11-15T10:00:00Z
const TEN: i64 = 1_794_736_800_000;

#[test]
fn what_is_written_is_read_again() {
    for seed in 0..20_000 {
        let sample = Sample::new(seed);
        let of = sample.field_type(2);
        let value = sample.value(&of);
        let json = value.to_json(&of);
        assert_eq!(Value::from_json(&json, &of).unwrap(), value, "seed {seed}: {of} {json}");
        let sent: Json = serde_json::from_str(&json.to_string()).unwrap();
        assert_eq!(Value::from_json(&sent, &of).unwrap(), value, "seed {seed}: {of} {json}");
        let text = value.to_text(&of);
        // To a text, `null` is a text.
        if !value.is_null() || text != "null" {
            assert_eq!(Value::from_text(&text, &of).unwrap(), value, "seed {seed}: {of} {text}");
        }
    }
}

#[test]
fn json_has_one_spelling_for_each_value() {
    let cases = [
        (Value::Text("a".into()), Type::Text, json!("a")),
        (Value::Bytes(Bytes::from_static(&[0xfb, 0xff])), Type::Bytes, json!("-_8")),
        (Value::Bool(true), Type::Bool, json!(true)),
        (Value::I64(-5), Type::I64, json!(-5)),
        (Value::I64(1 << 53), Type::I64, json!(9_007_199_254_740_992_i64)),
        (Value::I64((1 << 53) + 1), Type::I64, json!("9007199254740993")),
        (Value::I64(-(1 << 53)), Type::I64, json!(-9_007_199_254_740_992_i64)),
        (Value::I64(i64::MIN), Type::I64, json!("-9223372036854775808")),
        (Value::U64(u64::MAX), Type::U64, json!("18446744073709551615")),
        (Value::F64(0.1), Type::F64, json!(0.1)),
        (Value::Uuid(UUID), Type::Uuid, json!(UUID_TEXT)),
        (Value::Timestamp(TEN), Type::Timestamp, json!("2026-11-15T10:00:00.000Z")),
        (Value::Date(20_772), Type::Date, json!("2026-11-15")),
        (Value::Duration(900_000), Type::Duration, json!("15m")),
        (Value::Text("open".into()), words(), json!("open")),
        (Value::Path(vec!["a".into(), "b".into()]), Type::Path, json!(["a", "b"])),
        (Value::List(vec![Value::I64(1), Value::I64(2)]), list(Type::I64), json!([1, 2])),
        (Value::Json(json!({ "b": 1, "a": [null] })), Type::Json, json!({ "b": 1, "a": [null] })),
        (Value::Null, optional(Type::Text), Json::Null),
        (Value::Ulid([0xff; 16]), Type::Ulid, json!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")),
    ];
    for (value, of, json) in cases {
        assert_eq!(value.to_json(&of), json, "{of}");
        assert_eq!(Value::from_json(&json, &of).unwrap(), value, "{of}");
    }
}

#[test]
fn json_is_understood_in_other_spellings() {
    let cases = [
        (json!("42"), Type::I64, Value::I64(42)),
        (json!(42.0), Type::I64, Value::I64(42)),
        (json!("18446744073709551615"), Type::U64, Value::U64(u64::MAX)),
        (json!(u64::MAX), Type::U64, Value::U64(u64::MAX)),
        (json!(7), Type::F64, Value::F64(7.0)),
        (json!(UUID_TEXT.to_uppercase()), Type::Uuid, Value::Uuid(UUID)),
        (json!("7zzzzzzzzzzzzzzzzzzzzzzzzz"), Type::Ulid, Value::Ulid([0xff; 16])),
        (json!("2026-11-15T10:00:00Z"), Type::Timestamp, Value::Timestamp(TEN)),
        (json!("2026-11-15t10:00:00z"), Type::Timestamp, Value::Timestamp(TEN)),
        (json!("2026-11-15T12:30:00+02:30"), Type::Timestamp, Value::Timestamp(TEN)),
        (json!("2026-11-15T02:00:00.000-08:00"), Type::Timestamp, Value::Timestamp(TEN)),
        (json!("2026-11-15T10:00:00.5Z"), Type::Timestamp, Value::Timestamp(TEN + 500)),
        (json!("2026-11-15T10:00:00.123999+00:00"), Type::Timestamp, Value::Timestamp(TEN + 123)),
        (json!(30), Type::Duration, Value::Duration(30_000)),
        (json!("30"), Type::Duration, Value::Duration(30_000)),
        (json!("1500ms"), Type::Duration, Value::Duration(1_500)),
        (json!("-7d"), Type::Duration, Value::Duration(-604_800_000)),
        (json!("0s"), Type::Duration, Value::Duration(0)),
    ];
    for (json, of, value) in cases {
        assert_eq!(Value::from_json(&json, &of).unwrap(), value, "{of} {json}");
    }
}

#[test]
fn negative_zero_becomes_zero() {
    let values = [
        Value::from_json(&json!(-0.0), &Type::F64).unwrap(),
        Value::from_text("-0", &Type::F64).unwrap(),
    ];
    for value in values {
        let Value::F64(number) = value else { panic!("{value:?}") };
        assert!(number.is_sign_positive());
    }
    assert_eq!(Value::F64(-0.0).to_json(&Type::F64), json!(0.0));
}

#[test]
fn what_is_no_value_of_its_type_is_refused() {
    let cases = [
        (json!(null), Type::Text),
        (json!(null), Type::Json),
        (json!(1), Type::Text),
        (json!("true"), Type::Bool),
        (json!(1.5), Type::I64),
        (json!(1e300), Type::I64),
        (json!(u64::MAX), Type::I64),
        (json!("1.0"), Type::I64),
        (json!("+1"), Type::I64),
        (json!(" 1"), Type::I64),
        (json!(-1), Type::U64),
        (json!("-1"), Type::U64),
        (json!("1"), Type::F64),
        (json!("NaN"), Type::F64),
        (json!("Infinity"), Type::F64),
        (json!("Zg=="), Type::Bytes),
        (json!("Zh"), Type::Bytes),
        (json!([1, 2]), Type::Bytes),
        (json!("6f9619ff8b864d01b42d00cf4fc964ff"), Type::Uuid),
        // Of version 4, where time is asked for.
        (json!(UUID_TEXT), Type::TimeUuid),
        (json!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), Type::Ulid),
        (json!(TEN), Type::Timestamp),
        (json!("2026-11-15"), Type::Timestamp),
        (json!("2026-11-15T10:00:00"), Type::Timestamp),
        (json!("2026-11-15T24:00:00Z"), Type::Timestamp),
        (json!("2026-02-29T10:00:00Z"), Type::Timestamp),
        (json!("2026-11-15T10:00:60Z"), Type::Timestamp),
        (json!("2026-11-15T10:00:00.Z"), Type::Timestamp),
        (json!("2026-11-15T10:00:00+2:00"), Type::Timestamp),
        (json!("2026-11-15T10:00:00+24:00"), Type::Timestamp),
        (json!("2026-11-15T10:00:00+é0"), Type::Timestamp),
        (json!("2026-2-3"), Type::Date),
        (json!("2026-02-29"), Type::Date),
        (json!("OPEN"), words()),
        (json!("15 minutes"), Type::Duration),
        (json!("0x"), Type::Duration),
        (json!(1.5), Type::Duration),
        (json!(i64::MAX), Type::Duration),
        (json!("a/b"), Type::Path),
        (json!(["a", 1]), Type::Path),
        (json!([1, "a"]), list(Type::I64)),
        (json!([1, null]), list(Type::I64)),
        (json!({}), list(Type::I64)),
    ];
    for (json, of) in cases {
        let error = Value::from_json(&json, &of).map(|value| panic!("{of} {json}: {value:?}"));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{of} {json}");
        assert!(error.value("expected").is_some() && error.value("given").is_some(), "{error}");
    }
}

#[test]
fn a_refusal_names_what_was_expected_and_shows_a_little_of_what_was_given() {
    let given = "ü".repeat(100);
    let error = Value::from_json(&json!(given), &words()).unwrap_err();
    assert_eq!(error.message(), "a value is not of its type");
    assert_eq!(error.value("expected"), Some("one of open, done"));
    assert_eq!(error.value("given"), Some("ü".repeat(64).as_str()));
    let error = Value::from_json(&json!([1, "x"]), &list(Type::I64)).unwrap_err();
    assert_eq!(error.value("item"), Some("1"));
}

#[test]
fn json_is_at_most_64_deep() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Value::from_text(&nested(64), &Type::Json).is_ok());
    let error = Value::from_text(&nested(65), &Type::Json).unwrap_err();
    assert_eq!(error.value("depth_max"), Some("64"));
    // Deeper than the parser goes.
    assert_eq!(
        Value::from_text(&nested(200), &Type::Json).unwrap_err().kind(),
        ErrorKind::Argument
    );
    // The same inside a list.
    let json: Json = serde_json::from_str(&format!("[{}]", nested(65))).unwrap();
    assert!(Value::from_json(&json, &list(Type::Json)).is_err());
}

#[test]
fn a_command_line_says_it_in_text() {
    let path = |parts: &[&str]| Value::Path(parts.iter().map(|part| part.to_string()).collect());
    let cases = [
        ("null", optional(Type::I64), Value::Null),
        ("null", optional(Type::Json), Value::Null),
        ("null", optional(Type::Text), Value::Text("null".into())),
        ("12", optional(Type::I64), Value::I64(12)),
        ("", Type::Text, Value::Text(String::new())),
        ("1e3", Type::F64, Value::F64(1_000.0)),
        ("1.0", Type::F64, Value::F64(1.0)),
        ("false", Type::Bool, Value::Bool(false)),
        ("15m", Type::Duration, Value::Duration(900_000)),
        ("[\"a\", \"b\"]", list(Type::Text), {
            Value::List(vec![Value::Text("a".into()), Value::Text("b".into())])
        }),
        ("{\"a\": 1}", Type::Json, Value::Json(json!({ "a": 1 }))),
        ("a/b/c", Type::Path, path(&["a", "b", "c"])),
        ("[\"a/b\", \"c\"]", Type::Path, path(&["a/b", "c"])),
        ("a//", Type::Path, path(&["a", "", ""])),
        ("", Type::Path, path(&[])),
    ];
    for (text, of, value) in cases {
        assert_eq!(Value::from_text(text, &of).unwrap(), value, "{of} {text}");
    }
    for (text, of) in [
        ("yes", Type::Bool),
        ("inf", Type::F64),
        ("NaN", Type::F64),
        ("a, b", list(Type::Text)),
        ("null", Type::I64),
        ("null", Type::Json),
        ("{", Type::Json),
        ("{\"a\": 1, \"a\": 2}", Type::Json),
        ("[{\"a\": 1, \"a\": 2}]", list(Type::Json)),
        ("{} {}", Type::Json),
        ("[1", Type::Path),
    ] {
        let error = Value::from_text(text, &of).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{of} {text}");
    }
}

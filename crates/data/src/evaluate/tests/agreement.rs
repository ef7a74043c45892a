//! Whatever the checker accepts can be evaluated, and has the type the checker says.
//!
//! Random expressions over names of every type are typed by the checker; those it accepts are
//! evaluated with ordinary and extreme values, missing ones included.

use super::super::*;
use super::read;
use crate::clock::SeededRandom;
use bytes::Bytes;
use keyspace::check::scope::Scope as Names;
use keyspace::check::typing::{Typed, Typer};
use std::collections::HashMap;

const SEED: u64 = 77_003;
const EXPRESSIONS: usize = 20_000;

fn types() -> Vec<(&'static str, Type)> {
    let words = Type::Enum(vec!["open".into(), "done".into()]);
    vec![
        ("text", Type::Text),
        ("word", words),
        ("bytes", Type::Bytes),
        ("flag", Type::Bool),
        ("signed", Type::I64),
        ("unsigned", Type::U64),
        ("float", Type::F64),
        ("uuid", Type::Uuid),
        ("made", Type::TimeUuid),
        ("ulid", Type::Ulid),
        ("at", Type::Timestamp),
        ("on", Type::Date),
        ("wait", Type::Duration),
        ("json", Type::Json),
        ("path", Type::Path),
        ("list", Type::List(Box::new(Type::Text))),
    ]
}

fn names() -> Vec<(String, Type)> {
    let plain = types().into_iter().map(|(name, of)| (name.to_string(), of));
    let optional = types()
        .into_iter()
        .map(|(name, of)| (format!("{name}_maybe"), Type::Optional(Box::new(of))));
    plain.chain(optional).collect()
}

fn pick<T: Clone>(random: &SeededRandom, from: &[T]) -> T {
    from[(random.number() % from.len() as u64) as usize].clone()
}

fn expression(random: &SeededRandom, names: &[(String, Type)], depth: u32) -> String {
    let inner = || expression(random, names, depth - 1);
    if depth == 0 || random.number().is_multiple_of(5) {
        let leaves =
            ["0", "1", "7", "1.5", "'open'", "'a'", "true", "null", "30s", "now", "caller"];
        return match random.number() % 3 {
            0 => pick(random, &leaves).to_string(),
            1 => pick(random, names).0,
            _ => format!("${}", pick(random, names).0),
        };
    }
    match random.number() % 16 {
        0 | 1 => format!("({} + {})", inner(), inner()),
        2 | 3 => format!("({} - {})", inner(), inner()),
        4 => format!("(-{})", inner()),
        5 => format!("(not {})", inner()),
        6 => format!("({} and {})", inner(), inner()),
        7 => format!("({} or {})", inner(), inner()),
        8 | 9 => {
            let operator = pick(random, &["=", "!=", "<", "<=", ">", ">="]);
            format!("({} {operator} {})", inner(), inner())
        }
        10 => format!("({} in ({}, {}))", inner(), inner(), inner()),
        11 => format!("({} is not null)", inner()),
        12 => format!("lower({})", inner()),
        13 => pick(random, &["day", "month", "hash"]).to_string() + &format!("({})", inner()),
        14 => format!("floor({}, '1h')", inner()),
        _ => {
            let area = pick(random, &["geohash", "cell"]);
            format!("{area}({}, {}, 5)", inner(), inner())
        }
    }
}

struct Chosen(HashMap<String, Value>);

impl Scope for Chosen {
    fn member(&self, name: &str) -> Result<Value> {
        Ok(self.0[name].clone())
    }

    fn argument(&self, name: &str) -> Result<Value> {
        Ok(self.0[name].clone())
    }

    fn now(&self) -> Milliseconds {
        1_794_738_030_400
    }

    fn caller(&self) -> Result<Value> {
        Ok(Value::Text("6c2f9a4e-5b1d-4e0f-8a7b-0123456789ab".into()))
    }
}

fn chosen(random: &SeededRandom, names: &[(String, Type)]) -> Chosen {
    let of = |of: &Type| -> Value {
        let number = pick(random, &[0, 1, -1, 7, 1_794_738_030_400, i64::MAX, i64::MIN]);
        match of.required() {
            _ if of.is_optional() && random.number().is_multiple_of(3) => Value::Null,
            Type::Text => Value::Text(pick(random, &["", "a", "Straße", "open"]).into()),
            Type::Enum(words) => Value::Text(pick(random, words)),
            Type::Bytes => Value::Bytes(Bytes::from_static(b"\x00a")),
            Type::Bool => Value::Bool(number > 0),
            Type::I64 => Value::I64(number),
            Type::U64 => Value::U64(number as u64),
            Type::F64 => Value::F64(pick(random, &[0.0, -1.5, 59.9, 1e300, f64::MAX])),
            Type::Uuid => Value::Uuid([7; 16]),
            Type::TimeUuid => Value::TimeUuid(*b"aaaaaa\x11\x11\x81aaaaaaa"),
            Type::Ulid => Value::Ulid([1; 16]),
            Type::Timestamp => Value::Timestamp(number),
            Type::Date => Value::Date(pick(random, &[0, 20_772, i32::MAX, i32::MIN])),
            Type::Duration => Value::Duration(number),
            Type::Json => Value::Json(serde_json::json!({"a": [1]})),
            Type::Path => Value::Path(vec!["a".into()]),
            Type::List(_) => Value::List(vec![Value::Text("a".into()), Value::Null]),
            Type::Optional(_) => Value::Null,
        }
    };
    Chosen(names.iter().map(|(name, known)| (name.clone(), of(known))).collect())
}

/// Whether a value is one of a type; null is one of an optional type only.
fn is_of(value: &Value, of: &Type) -> bool {
    match (value, of) {
        (Value::Null, of) => of.is_optional(),
        (value, Type::Optional(inner)) => is_of(value, inner),
        (Value::Text(text), Type::Enum(words)) => words.contains(text),
        (Value::Text(_), Type::Text)
        | (Value::Bytes(_), Type::Bytes)
        | (Value::Bool(_), Type::Bool)
        | (Value::I64(_), Type::I64)
        | (Value::U64(_) | Value::Cell(_), Type::U64)
        | (Value::F64(_), Type::F64)
        | (Value::Uuid(_), Type::Uuid)
        | (Value::TimeUuid(_), Type::TimeUuid)
        | (Value::Ulid(_), Type::Ulid)
        | (Value::Timestamp(_), Type::Timestamp)
        | (Value::Date(_), Type::Date)
        | (Value::Duration(_), Type::Duration)
        | (Value::Json(_), Type::Json)
        | (Value::Path(_), Type::Path)
        | (Value::List(_), Type::List(_)) => true,
        _ => false,
    }
}

fn scope() -> Names {
    Names {
        members: Some(names()),
        arguments: Some(names()),
        outside_world: true,
        ..Names::default()
    }
}

fn checked(expression: &Expression, scope: &Names) -> Option<Typed> {
    let mut problems = Vec::new();
    let typed = Typer { scope, problems: &mut problems }.type_of(expression);
    problems.is_empty().then_some(typed)
}

/// Problems of the values, not of the expression.
fn is_ordinary(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Overflow | ErrorKind::Argument)
}

#[test]
fn what_the_checker_accepts_has_the_type_it_says() {
    println!("seed {SEED}");
    let (random, scope, names) = (SeededRandom::new(SEED), scope(), names());
    let (mut accepted, mut valued) = (0, 0);
    while accepted < EXPRESSIONS {
        let text = expression(&random, &names, 3);
        let read = read(&text);
        let Some(typed) = checked(&read, &scope) else { continue };
        accepted += 1;
        let values = chosen(&random, &names);
        match (evaluate(&read, &values, None), &typed) {
            (Err(error), _) => assert!(is_ordinary(&error), "{text}: {error}"),
            (Ok(value), Typed::Known(known)) => {
                valued += 1;
                assert!(is_of(&value, known), "{text} is {known} and gave {value:?}");
                assert!(*known != Type::Bool || holds(&read, &values).is_ok(), "{text}");
            }
            (Ok(value), _) => assert!(!matches!(value, Value::List(_)), "{text}: {value:?}"),
        }
    }
    assert!(valued > EXPRESSIONS / 3, "{valued}");
}

#[test]
fn what_the_checker_lets_into_a_type_becomes_one_of_it() {
    println!("seed {SEED}");
    let (random, scope, names) = (SeededRandom::new(SEED), scope(), names());
    let targets: Vec<Type> = names.iter().map(|(_, of)| of.clone()).collect();
    let mut accepted = 0;
    while accepted < EXPRESSIONS {
        let (text, target) = (expression(&random, &names, 2), pick(&random, &targets));
        let read = read(&text);
        let mut problems = Vec::new();
        Typer { scope: &scope, problems: &mut problems }.assigned(&read, &target, "it");
        if !problems.is_empty() {
            continue;
        }
        accepted += 1;
        match evaluate(&read, &chosen(&random, &names), Some(&target)) {
            // A caller's id is of one type only.
            Err(error) if error.kind() == ErrorKind::Denied => assert!(text.contains("caller")),
            Err(error) => assert!(is_ordinary(&error), "{text}: {error}"),
            Ok(value) => assert!(is_of(&value, &target), "{text} as {target} is {value:?}"),
        }
    }
}

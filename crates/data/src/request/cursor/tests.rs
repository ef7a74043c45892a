//! A cursor opens for what it was sealed for, and for nothing else.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice)]

use super::{CursorKey, LIFE, Mark, NONCE_BYTES, TEXT_BYTES_MAX, put_value};
use crate::clock::SeededRandom;
use crate::error::{Error, ErrorKind};
use crate::request::next::{Cursor, Unsealed};
use crate::store::Key;
use crate::value::Value;
use bytes::Bytes;
use keyspace::key;
use keyspace::key::text::{parse_scalar, scalar_text};
use std::sync::Arc;

const NOW: i64 = 1_794_736_800_000;
const BOUND: &[u8] = b"ann, list_notes, open";

fn sealed(key: &CursorKey, mark: &Mark) -> String {
    key.seal(BOUND, mark, NOW, &SeededRandom::new(7)).unwrap()
}

fn mark() -> Mark {
    Mark::Key(Key::from(b"\x00\x01a key that was read".to_vec()))
}

fn refused(key: &CursorKey, bound: &[u8], text: &str, now: i64) -> Error {
    let error = key.open(bound, text, now).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cursor);
    assert!(error.context().is_empty(), "{error}");
    error
}

fn bytes_of(text: &str) -> Vec<u8> {
    match parse_scalar(key::KeyType::Bytes, text).unwrap() {
        key::Value::Bytes(bytes) => bytes.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn text_of(bytes: &[u8]) -> String {
    scalar_text(&key::Value::bytes(bytes)).unwrap().into_owned()
}

#[test]
fn what_is_sealed_is_opened() {
    let key = CursorKey::new([1; 32]);
    for mark in [mark(), Mark::Slice(-3), Mark::Slice(i64::MAX), Mark::Key(Key::from(vec![]))] {
        assert_eq!(key.open(BOUND, &sealed(&key, &mark), NOW).unwrap(), mark);
    }
}

#[test]
fn an_answer_seals_once_and_only_for_whoever_looks() {
    let (key, random) = (CursorKey::new([1; 32]), Arc::new(SeededRandom::new(7)));
    let cursor = || {
        let (key, random, bound) = (key.clone(), random.clone(), BOUND.to_vec());
        Cursor::new(Unsealed { key, random, bound, mark: mark(), now: NOW })
    };
    drop(cursor());
    assert_eq!(random.number(), SeededRandom::new(7).number());
    let (one, other) = (cursor(), cursor());
    let again = one.clone();
    assert_eq!(key.open(BOUND, &one, NOW).unwrap(), mark());
    assert_eq!((again.to_string(), &again), (String::from(one.clone()), &one));
    assert_ne!(one, other);
}

#[test]
fn the_longest_key_fits() {
    let key = CursorKey::new([1; 32]);
    let mark = Mark::Key(Key::from(vec![0xff; 1_024]));
    let text = sealed(&key, &mark);
    assert!(text.len() <= TEXT_BYTES_MAX);
    assert_eq!(key.open(BOUND, &text, NOW).unwrap(), mark);
}

#[test]
fn nothing_of_the_key_can_be_read() {
    let text = sealed(&CursorKey::new([1; 32]), &mark());
    let bytes = bytes_of(&text);
    assert!(!bytes.windows(3).any(|window| window == b"key"));
}

#[test]
fn every_flipped_bit_is_refused() {
    let key = CursorKey::new([1; 32]);
    let bytes = bytes_of(&sealed(&key, &mark()));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&key, BOUND, &text_of(&flipped), NOW);
    }
}

#[test]
fn every_truncation_is_refused() {
    let key = CursorKey::new([1; 32]);
    let text = sealed(&key, &mark());
    for length in 0..text.len() {
        refused(&key, BOUND, &text[..length], NOW);
    }
    refused(&key, BOUND, &format!("{text}A"), NOW);
}

#[test]
fn what_is_too_long_or_no_base64_is_refused_alike() {
    let key = CursorKey::new([1; 32]);
    let text = sealed(&key, &mark());
    let megabyte = text.repeat((1 << 20) / text.len() + 1);
    let wrong = refused(&key, b"another", &text, NOW).to_string();
    for text in [megabyte.as_str(), "", "=", "ä", "a b", &text.replace(&text[..1], "%")] {
        assert_eq!(refused(&key, BOUND, text, NOW).to_string(), wrong);
    }
}

#[test]
fn a_cursor_ends_after_a_day() {
    let key = CursorKey::new([1; 32]);
    let text = sealed(&key, &mark());
    assert!(key.open(BOUND, &text, NOW + LIFE - 1).is_ok());
    refused(&key, BOUND, &text, NOW + LIFE);
}

#[test]
fn a_key_and_the_one_before_it_are_accepted() {
    let old = sealed(&CursorKey::new([1; 32]), &mark());
    let exchanged = CursorKey::new([2; 32]).after([1; 32]);
    assert_eq!(exchanged.open(BOUND, &old, NOW).unwrap(), mark());
    assert_eq!(exchanged.open(BOUND, &sealed(&exchanged, &mark()), NOW).unwrap(), mark());
    // The one before that is not.
    refused(&CursorKey::new([3; 32]).after([2; 32]), BOUND, &old, NOW);
    // A cursor says which key sealed it, and another key's id does not help.
    let mut bytes = bytes_of(&old);
    for id in 0..=u8::MAX {
        bytes[0] = id;
        refused(&CursorKey::new([3; 32]).after([2; 32]), BOUND, &text_of(&bytes), NOW);
    }
}

#[test]
fn keys_are_told_apart_by_their_id() {
    let ids: std::collections::HashSet<u8> =
        (0..32).map(|n| CursorKey::new([n; 32]).current.id).collect();
    assert!(ids.len() > 20, "{ids:?}");
}

#[test]
fn no_nonce_is_used_twice() {
    let (key, random) = (CursorKey::new([1; 32]), SeededRandom::new(1));
    let nonce = |_| {
        let text = key.seal(BOUND, &mark(), NOW, &random).unwrap();
        bytes_of(&text)[1..=NONCE_BYTES].to_vec()
    };
    let nonces: std::collections::HashSet<Vec<u8>> = (0..100).map(nonce).collect();
    assert_eq!(nonces.len(), 100);
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(format!("{:?}", CursorKey::new([9; 32])), "CursorKey(…)");
}

#[test]
fn no_two_values_are_bound_alike() {
    let text = |text: &str| Value::Text(text.to_string());
    let values = [
        Value::Null,
        Value::Bool(false),
        Value::Bool(true),
        Value::I64(1),
        Value::U64(1),
        Value::F64(1.0),
        Value::Timestamp(1),
        Value::Duration(1),
        Value::Cell(1),
        Value::Date(1),
        text(""),
        text("1"),
        Value::Bytes(Bytes::from_static(b"1")),
        Value::Uuid([1; 16]),
        Value::TimeUuid([1; 16]),
        Value::Ulid([1; 16]),
        Value::Json(serde_json::json!("1")),
        Value::Json(serde_json::json!(1)),
        Value::Path(vec!["a".to_string(), "b".to_string()]),
        Value::Path(vec!["ab".to_string()]),
        Value::List(vec![text("a"), text("b")]),
        Value::List(vec![text("ab")]),
        Value::List(vec![Value::List(vec![text("a")]), text("b")]),
        Value::List(vec![Value::List(vec![text("a"), text("b")])]),
    ];
    let bound = values.iter().map(|value| {
        let mut bytes = Vec::new();
        put_value(&mut bytes, value);
        bytes
    });
    let bound: std::collections::HashSet<Vec<u8>> = bound.collect();
    assert_eq!(bound.len(), values.len());
}

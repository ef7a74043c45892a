//! Limits and refusals at the doors of the key codec, each by its reason.
//!
//! A refusal that has no test here or among the vectors is a refusal nobody can rely on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyspace::key::text::{self, Part, Separator};
use keyspace::key::{
    self, Direction, Error, ErrorKind, KEY_SEGMENTS_MAX, KEY_TEXT_BYTES_MAX, KeyType, KeyWriter,
    Value,
};

const UP: Direction = Direction::Ascending;

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.expect_err("a refusal").kind()
}

#[test]
fn a_writer_takes_sixty_four_segments_and_counts_no_refused_one() {
    let mut buffer = Vec::new();
    let mut writer = KeyWriter::new(&mut buffer, 7);
    let zeros = "\0".repeat(600);
    for _ in 0..KEY_SEGMENTS_MAX {
        assert_eq!(kind(writer.text(&zeros, UP)), ErrorKind::KeyTooLong);
        assert_eq!(kind(writer.path(&["a", &zeros], UP)), ErrorKind::KeyTooLong);
        writer.bool(true, UP).unwrap();
    }
    assert_eq!(kind(writer.bool(true, UP)), ErrorKind::TooManySegments);
    assert_eq!(kind(writer.text("a", UP)), ErrorKind::TooManySegments);
    assert_eq!(buffer.len(), 2 + KEY_SEGMENTS_MAX);
}

#[test]
fn values_must_fit_their_shape() {
    let shape = [KeyType::Text.ascending(), KeyType::I64.ascending()];
    let text = Value::text("a");
    let encode = |values: &[Value<'_>]| key::encode(7, &shape, values);
    assert_eq!(kind(encode(std::slice::from_ref(&text))), ErrorKind::ValueCount);
    assert_eq!(kind(encode(&[text.clone(), Value::U64(1)])), ErrorKind::WrongType);
    assert_eq!(kind(encode(&[Value::Null, Value::I64(1)])), ErrorKind::WrongType);
    let three = [text, Value::I64(1), Value::I64(1)];
    assert_eq!(kind(key::encode_front(7, &shape, &three)), ErrorKind::ValueCount);
    let bound = Value::U64(1);
    let range = key::between(&[0, 7], KeyType::I64.ascending(), Some(&bound), None);
    assert_eq!(kind(range), ErrorKind::WrongType);
    let nan = key::encode(7, &[KeyType::F64.ascending()], &[Value::F64(f64::NAN)]);
    assert_eq!(kind(nan), ErrorKind::NotANumber);
}

#[test]
fn a_huge_value_is_refused_before_it_is_copied() {
    let huge = "x".repeat(1 << 20);
    let mut buffer = Vec::with_capacity(64);
    let mut writer = KeyWriter::new(&mut buffer, 7);
    assert_eq!(kind(writer.text(&huge, UP)), ErrorKind::KeyTooLong);
    assert_eq!(kind(writer.path(&[&huge], UP)), ErrorKind::KeyTooLong);
    assert_eq!(kind(key::starts(&[0, 7], UP, &huge)), ErrorKind::KeyTooLong);
    assert!(buffer.capacity() < 1 << 12);
}

#[test]
fn a_path_stands_last_and_not_first() {
    let path = Part::Segment(KeyType::Path);
    let empty = [Value::path(&[])];
    let one_empty = [Value::path(&[""])];
    for values in [&empty, &one_empty] {
        let alone = text::format(Separator::Colon, &[path], values);
        assert_eq!(kind(alone), ErrorKind::PathPlace);
        let inside = text::format(Separator::Colon, &[Part::Literal("k"), path, path], values);
        assert_eq!(kind(inside), ErrorKind::PathPlace);
    }
    assert_eq!(kind(text::parse(Separator::Colon, &[path], "")), ErrorKind::PathPlace);
    let template = [Part::Literal("k"), path];
    assert_eq!(text::format(Separator::Colon, &template, &empty).unwrap(), "k");
    assert_eq!(text::format(Separator::Colon, &template, &one_empty).unwrap(), "k:");
    assert_eq!(text::parse(Separator::Colon, &template, "k").unwrap(), empty);
    assert_eq!(text::parse(Separator::Colon, &template, "k:").unwrap(), one_empty);
}

#[test]
fn texts_have_a_length_and_values_of_their_template() {
    let template = [Part::Literal("k"), Part::Segment(KeyType::Text)];
    let format = |values: &[Value<'_>]| text::format(Separator::Colon, &template, values);
    let longest = "x".repeat(KEY_TEXT_BYTES_MAX - 2);
    let spelled = format(&[Value::text(&longest)]).unwrap();
    assert_eq!(spelled.len(), KEY_TEXT_BYTES_MAX);
    assert!(text::parse(Separator::Colon, &template, &spelled).is_ok());
    let too_long = format!("{longest}x");
    assert_eq!(kind(format(&[Value::text(&too_long)])), ErrorKind::TextTooLong);
    let parsed = text::parse(Separator::Colon, &template, &format!("{spelled}x"));
    assert_eq!(kind(parsed), ErrorKind::TextTooLong);
    assert_eq!(kind(format(&[])), ErrorKind::ValueCount);
    assert_eq!(kind(format(&[Value::text("a"), Value::text("b")])), ErrorKind::ValueCount);
    assert_eq!(kind(format(&[Value::I64(1)])), ErrorKind::WrongType);
    assert_eq!(kind(format(&[Value::Null])), ErrorKind::NullText);
    assert_eq!(kind(text::scalar_text(&Value::F64(f64::NAN))), ErrorKind::NotANumber);
    assert_eq!(kind(text::scalar_text(&Value::TimeUuid([0; 16]))), ErrorKind::NotTimeUuid);
    assert_eq!(kind(text::scalar_text(&Value::path(&["a"]))), ErrorKind::PathPlace);
}

#[test]
fn a_key_without_parts_is_the_empty_text() {
    assert_eq!(text::format(Separator::Slash, &[], &[]).unwrap(), "");
    assert_eq!(text::parse(Separator::Slash, &[], "").unwrap(), []);
    assert_eq!(kind(text::parse(Separator::Slash, &[], "k")), ErrorKind::PartCount);
}

#[test]
fn an_error_says_where_and_shows_nothing_of_the_key() {
    let key = [0x00, 0x07, 0x31, b's', b'e', b'c', 0x00, 0x02];
    let error = key::decode(&key, &[KeyType::Text.ascending()]).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadEscape, 7));
    let message = error.to_string();
    assert!(message.ends_with("(at byte 7)") && !message.contains("sec"), "{message}");
    let template = [Part::Literal("k"), Part::Segment(KeyType::I64)];
    let error = text::parse(Separator::Colon, &template, "k:x").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadText, 2));
}

//! Reads types and defaults: `[text] = []`, `draft|published = 'draft'`, `timestamp = now`.

use super::cursor::{Cursor, is_word};
use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::model::limits::{ENUM_WORDS_MAX, EXPRESSION_DEPTH_MAX};
use crate::model::{DefaultValue, Type};
use crate::source::Spanned;

/// The names of the simple types.
pub const SIMPLE_TYPES: [&str; 13] = [
    "text",
    "bytes",
    "bool",
    "i64",
    "u64",
    "f64",
    "uuid",
    "timeuuid",
    "ulid",
    "timestamp",
    "date",
    "json",
    "duration",
];

/// Names from other systems, and what they are called here.
const OTHER_NAMES: [(&str, &str); 23] = [
    ("string", "text"),
    ("str", "text"),
    ("varchar", "text"),
    ("blob", "bytes"),
    ("binary", "bytes"),
    ("boolean", "bool"),
    ("int", "i64"),
    ("integer", "i64"),
    ("bigint", "i64"),
    ("number", "f64"),
    ("float", "f64"),
    ("double", "f64"),
    ("datetime", "timestamp"),
    ("time", "timestamp"),
    ("instant", "timestamp"),
    ("guid", "uuid"),
    ("object", "json"),
    ("map", "json"),
    ("i32", "i64"),
    ("u32", "u64"),
    ("list", "[text]"),
    ("char", "text"),
    ("path", "text.."),
];

/// Names from other systems that are no type here, and how it is said.
const OTHER_WAYS: [(&str, &str); 10] = [
    (
        "counter",
        "a counter is a collection: `value = \"counter\"`; a field that is added to is `i64 = 0`",
    ),
    ("window", "a window is a collection: `value = \"window\"`"),
    ("decimal", "money is a whole number of cents: `i64`"),
    ("numeric", "money is a whole number of cents: `i64`"),
    ("money", "money is a whole number of cents: `i64`"),
    (
        "point",
        "a place is two fields, `lat` and `lon`, each `f64`, and an index by `geohash` or `cell`",
    ),
    (
        "geo",
        "a place is two fields, `lat` and `lon`, each `f64`, and an index by `geohash` or `cell`",
    ),
    ("enum", "write its words with bars between them: `open|done`"),
    ("null", "what may be missing has a `?`: `date?`"),
    ("serial", "ids are made by `new`: `{id: uuid = new}`"),
];

/// Reads a type; on a problem, reports it and answers none.
pub fn read_type(cursor: &mut Cursor<'_>, problems: &mut Vec<Diagnostic>) -> Option<Spanned<Type>> {
    read_nested(cursor, problems, 0)
}

fn read_nested(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Diagnostic>,
    depth: usize,
) -> Option<Spanned<Type>> {
    cursor.skip_spaces();
    let start = cursor.position();
    if depth > EXPRESSION_DEPTH_MAX {
        let message = "this type is nested too deeply";
        problems.push(
            Diagnostic::new(&codes::UNKNOWN_TYPE, cursor.span_here(), message)
                .fix("use `json` for nested values"),
        );
        return None;
    }
    let mut found = if cursor.take("[") {
        let inner = read_nested(cursor, problems, depth + 1)?;
        cursor.skip_spaces();
        if !cursor.take("]") {
            let span = cursor.span_here();
            problems.push(
                Diagnostic::new(&codes::UNKNOWN_TYPE, span, "the list type has no closing `]`")
                    .fix("write a list as `[text]`"),
            );
            return None;
        }
        Type::List(Box::new(inner.value))
    } else {
        read_word(cursor, problems)?
    };
    if cursor.take("?") {
        found = Type::Optional(Box::new(found));
    }
    Some(Spanned::new(found, cursor.span_from(start)))
}

/// A simple type, a path or an enum.
fn read_word(cursor: &mut Cursor<'_>, problems: &mut Vec<Diagnostic>) -> Option<Type> {
    let start = cursor.position();
    let word = cursor.take_while(is_enum_character);
    if word == "text.." {
        return Some(Type::Path);
    }
    if cursor.peek() == Some('|') && !word.is_empty() {
        return read_enum(cursor, problems, start, word);
    }
    let simple = simple_type(word);
    if simple.is_none() {
        // `varchar(200)`: a length is no part of a type here, and goes with the name.
        if cursor.peek() == Some('(') && !word.is_empty() {
            cursor.take_while(|character| character != ')');
            cursor.take(")");
        }
        let span = if word.is_empty() { cursor.span_here() } else { cursor.span_from(start) };
        let rest = cursor.rest().trim_start();
        problems.push(match rest.strip_prefix('|').map(str::trim_start) {
            Some(next) if !word.is_empty() && next.starts_with(is_enum_character) => {
                let message = format!("there is no type `{word}`");
                Diagnostic::new(&codes::BAD_ENUM, span, message)
                    .fix("the words of an enum have no spaces between them: `open|done`")
            }
            _ => unknown_type(word, span),
        });
        return meant_type(word);
    }
    simple
}

/// The type that a word was probably meant to be, so that the rest of the file can be checked.
fn meant_type(word: &str) -> Option<Type> {
    let lower = word.to_ascii_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name);
    match other.or_else(|| nearest(word, SIMPLE_TYPES)) {
        Some("text..") => Some(Type::Path),
        Some("[text]") => Some(Type::List(Box::new(Type::Text))),
        name => name.and_then(simple_type),
    }
}

fn unknown_type(word: &str, span: crate::source::Span) -> Diagnostic {
    if word.is_empty() {
        return Diagnostic::new(&codes::UNKNOWN_TYPE, span, "a type is missing here").fix(TYPES);
    }
    let problem = Diagnostic::new(&codes::UNKNOWN_TYPE, span, format!("there is no type `{word}`"));
    let lower = word.to_ascii_lowercase();
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| *other == lower) {
        return problem.replace(format!("here it is called `{name}`"), span, *name);
    }
    if let Some((_, way)) = OTHER_WAYS.iter().find(|(other, _)| *other == lower) {
        return problem.fix(*way);
    }
    problem.suggest(span, word, SIMPLE_TYPES).fix(TYPES)
}

const TYPES: &str = "types are text, bytes, bool, i64, u64, f64, uuid, timeuuid, ulid, timestamp, \
                     date, json, lists such as `[text]`, enums such as `open|closed`, and \
                     paths, `text..`; a `?` makes one optional";

fn simple_type(word: &str) -> Option<Type> {
    Some(match word {
        "text" => Type::Text,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "i64" => Type::I64,
        "u64" => Type::U64,
        "f64" => Type::F64,
        "uuid" => Type::Uuid,
        "timeuuid" => Type::TimeUuid,
        "ulid" => Type::Ulid,
        "timestamp" => Type::Timestamp,
        "date" => Type::Date,
        "json" => Type::Json,
        "duration" => Type::Duration,
        _ => return None,
    })
}

fn read_enum(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Diagnostic>,
    start: usize,
    first: &str,
) -> Option<Type> {
    let mut words = vec![first.to_string()];
    while cursor.take("|") {
        let word_start = cursor.position();
        let word = cursor.take_while(is_enum_character);
        if word.is_empty() {
            problems.push(
                Diagnostic::new(&codes::BAD_ENUM, cursor.span_here(), "an enum's word is missing")
                    .fix("write the words without spaces: `open|closed`"),
            );
            return None;
        }
        if words.len() >= ENUM_WORDS_MAX {
            let message = format!("an enum has at most {ENUM_WORDS_MAX} words");
            problems.push(
                Diagnostic::new(&codes::BAD_ENUM, cursor.span_from(word_start), message)
                    .fix("use `text`, and keep the words in a collection"),
            );
            return None;
        }
        if words.iter().any(|known| known == word) {
            let span = cursor.span_from(word_start);
            let message = format!("`{word}` occurs twice in this enum");
            problems
                .push(Diagnostic::new(&codes::BAD_ENUM, span, message).fix("write each word once"));
        } else {
            words.push(word.to_string());
        }
    }
    if let Some(known) = words.iter().find(|word| simple_type(word).is_some()) {
        let message = format!("`{known}` is a type, not a word of an enum");
        problems.push(
            Diagnostic::new(&codes::BAD_ENUM, cursor.span_from(start), message)
                .fix("a value has one type; for one of several, use `json`"),
        );
    }
    Some(Type::Enum(words))
}

fn is_enum_character(character: char) -> bool {
    is_word(character) || character == '-' || character == '.'
}

/// Reads what stands after a `=`: a constant, or one of the words that fill a value.
pub fn read_default(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Spanned<DefaultValue>> {
    cursor.skip_spaces();
    let start = cursor.position();
    let value = match cursor.peek() {
        Some('\'') => match cursor.quoted() {
            Some(text) => DefaultValue::Text(text),
            None => {
                problems.push(unclosed_text(cursor, start));
                return None;
            }
        },
        Some('[') if cursor.take("[]") => DefaultValue::EmptyList,
        Some('{') if cursor.take("{}") => DefaultValue::EmptyObject,
        Some(first) if first.is_ascii_digit() || first == '-' || first == '+' => {
            DefaultValue::Number(read_number(cursor))
        }
        _ => read_default_word(cursor, problems, start)?,
    };
    Some(Spanned::new(value, cursor.span_from(start)))
}

/// The problem of a text that never ends.
pub fn unclosed_text(cursor: &Cursor<'_>, start: usize) -> Diagnostic {
    Diagnostic::new(&codes::BAD_EXPRESSION, cursor.span_from(start), "this text has no end")
        .fix("close it with a single quote; two single quotes mean one inside")
}

/// Reads a number as it is written: digits, `_`, a point, an exponent.
pub fn read_number(cursor: &mut Cursor<'_>) -> String {
    let mut text = String::new();
    if cursor.peek().is_some_and(|sign| sign == '-' || sign == '+') {
        text.extend(cursor.next().filter(|sign| *sign == '-'));
    }
    text.push_str(&cursor.take_while(|c| c.is_ascii_digit() || c == '_').replace('_', ""));
    let after = cursor.position();
    if cursor.take(".") {
        let digits = cursor.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            cursor.move_to(after);
        } else {
            text.push('.');
            text.push_str(digits);
        }
    }
    text
}

fn read_default_word(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Diagnostic>,
    start: usize,
) -> Option<DefaultValue> {
    const WORDS: [&str; 6] = ["new", "now", "touch", "caller", "true", "false"];
    let word = cursor.take_while(is_word);
    let value = match word {
        "new" if cursor.take("(") => {
            let prefix = cursor.quoted();
            let closed = cursor.take(")");
            if !closed {
                cursor.take_while(|character| character != ')' && character != '}');
                cursor.take(")");
            }
            match prefix.filter(|prefix| closed && is_prefix(prefix)) {
                Some(prefix) => DefaultValue::New(Some(prefix)),
                None => {
                    let message = "a prefix is a short text of letters, digits and `_`";
                    problems.push(
                        Diagnostic::new(&codes::BAD_DEFAULT, cursor.span_from(start), message)
                            .fix("write it as `new('note')`"),
                    );
                    return None;
                }
            }
        }
        "new" => DefaultValue::New(None),
        "now" => DefaultValue::Now,
        "touch" => DefaultValue::Touch,
        "caller" => DefaultValue::Caller,
        "true" => DefaultValue::Bool(true),
        "false" => DefaultValue::Bool(false),
        _ => {
            let span = if word.is_empty() { cursor.span_here() } else { cursor.span_from(start) };
            let message = if word.is_empty() {
                "a default is missing after `=`".to_string()
            } else {
                format!("`{word}` is no default")
            };
            problems.push(
                Diagnostic::new(&codes::BAD_DEFAULT, span, message)
                    .suggest(span, word, WORDS)
                    .fix("text and words of an enum are quoted: `= 'draft'`"),
            );
            return None;
        }
    };
    Some(value)
}

fn is_prefix(prefix: &str) -> bool {
    !prefix.is_empty() && prefix.len() <= 16 && prefix.chars().all(is_word)
}

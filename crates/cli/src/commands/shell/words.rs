//! A line of the shell: a command and what follows it, or a pattern and its arguments.
//!
//! ```text
//! write_note title="A text" tags=["a", "b"] note:=null picture=@'cat picture.png'
//! ```
//!
//! Unlike a shell of the system it knows JSON: a value that begins with a bracket, a brace or a
//! quote goes as far as the JSON does, spaces and all.

use crate::call::{Typed, TypedValue};
use crate::failure::Failure;
use serde_json::{Deserializer, Value};

/// The commands, with what follows them and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 11] = [
    ("patterns", "", "what can be called"),
    ("explain", "PATTERN", "how a pattern is answered, and what it costs"),
    ("next", "", "the next page of the last list"),
    ("as", "[USER]", "who calls from now on; nobody without USER"),
    ("tenant", "[TENANT]", "the tenant of the caller"),
    ("role", "[ROLE …]", "the roles of the caller"),
    ("store", "[URL]", "where the rows are; with URL, another store"),
    ("call", "PATTERN …", "calls a pattern that is named like a command"),
    ("help", "[PATTERN]", "this list, or the arguments of a pattern"),
    ("quit", "", "ends the shell, as Ctrl-D does"),
    ("exit", "", "the same"),
];

/// A line, taken apart.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing, or a remark.
    Blank,
    /// A command and the words after it.
    Command(&'static str, Vec<String>),
    /// A pattern and its arguments.
    Call(String, Vec<Typed>),
}

/// Takes a line apart.
pub(super) fn line(text: &str) -> Result<Line, Failure> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(Line::Blank);
    }
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let command = COMMANDS.iter().find(|(name, _, _)| *name == first);
    match command.map(|(name, _, _)| *name) {
        Some("call") => {
            let rest = rest.trim_start();
            let (pattern, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Ok(Line::Call(pattern.to_string(), arguments(rest)?))
        }
        Some(name) => Ok(Line::Command(name, words(rest)?)),
        None => Ok(Line::Call(first.to_string(), arguments(rest)?)),
    }
}

fn words(text: &str) -> Result<Vec<String>, Failure> {
    let mut rest = text.trim_start();
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (word, after) = quoted_or_word(rest)?;
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

fn arguments(text: &str) -> Result<Vec<Typed>, Failure> {
    let mut rest = text.trim_start();
    let mut arguments = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let Some(after) = after.strip_prefix('=') else {
            return Err(Typed::from_word(name).err().unwrap_or_default());
        };
        let (value, after) = match name.strip_suffix(':') {
            Some(name) => json(name, after)?,
            None => value(after)?,
        };
        let name = name.strip_suffix(':').unwrap_or(name).to_string();
        arguments.push(Typed { name, value });
        if !after.is_empty() && !after.starts_with(char::is_whitespace) {
            let shown: String = after.chars().take(20).collect();
            let problem = format!("there is something right after a value: {shown}");
            return Err(Failure::usage(problem, "put a space between two arguments"));
        }
        rest = after.trim_start();
    }
    Ok(arguments)
}

fn value(text: &str) -> Result<(TypedValue, &str), Failure> {
    if let Some(path) = text.strip_prefix('@') {
        let (path, rest) = quoted_or_word(path)?;
        return Ok((TypedValue::File(path), rest));
    }
    if text.starts_with(['[', '{'])
        && let Some((_, read)) = read_json(text)
        && let Some((json, rest)) = text.split_at_checked(read)
    {
        return Ok((TypedValue::Text(json.to_string()), rest));
    }
    let (text, rest) = quoted_or_word(text)?;
    Ok((TypedValue::Text(text), rest))
}

fn json<'t>(name: &str, text: &'t str) -> Result<(TypedValue, &'t str), Failure> {
    match read_json(text).and_then(|(value, read)| Some((value, text.get(read..)?))) {
        Some((value, rest)) => Ok((TypedValue::Json(value), rest)),
        None => {
            let problem = format!("what follows `{name}:=` is not JSON");
            Err(Failure::usage(problem, "write a text with `=` alone"))
        }
    }
}

/// The JSON a text begins with, and how long it is.
fn read_json(text: &str) -> Option<(Value, usize)> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

/// A text in quotes, double ones as in JSON, or a word.
fn quoted_or_word(text: &str) -> Result<(String, &str), Failure> {
    let open = |quote: &str| {
        Failure::usage(format!("a text that begins with {quote} has no end"), "close the quotes")
    };
    if text.starts_with('"') {
        let read = read_json(text).and_then(|(value, read)| Some((value, text.get(read..)?)));
        return match read {
            Some((Value::String(text), rest)) => Ok((text, rest)),
            _ => Err(open("\"")),
        };
    }
    if let Some(inside) = text.strip_prefix('\'') {
        let (quoted, rest) = inside.split_once('\'').ok_or_else(|| open("'"))?;
        return Ok((quoted.to_string(), rest));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Ok((word.to_string(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Vec<(String, TypedValue)> {
        match line(text).unwrap() {
            Line::Call(_, typed) => typed.into_iter().map(|one| (one.name, one.value)).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn text(value: &str) -> TypedValue {
        TypedValue::Text(value.to_string())
    }

    #[test]
    fn values_go_as_far_as_their_json_does() {
        let given = call("p a=1 b=[\"x y\", 2] c=\"d \\\" e\" f='g \" h' i:=null j={\"k\": [1]}");
        let expected = [
            ("a", text("1")),
            ("b", text("[\"x y\", 2]")),
            ("c", text("d \" e")),
            ("f", text("g \" h")),
            ("i", TypedValue::Json(Value::Null)),
            ("j", text("{\"k\": [1]}")),
        ];
        assert_eq!(given, expected.map(|(name, value)| (name.to_string(), value)));
        assert_eq!(call("p a=[draft] b=")[0].1, text("[draft]"));
        assert_eq!(call("p a=@'b c'")[0].1, TypedValue::File("b c".to_string()));
    }

    #[test]
    fn commands_come_before_patterns() {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        assert_eq!(line(" as 'ann b' ").unwrap(), Line::Command("as", words(&["ann b"])));
        assert_eq!(line("next").unwrap(), Line::Command("next", Vec::new()));
        assert_eq!(line("call next").unwrap(), Line::Call("next".to_string(), Vec::new()));
        assert_eq!(line("  # remark").unwrap(), Line::Blank);
    }

    #[test]
    fn what_is_not_closed_or_separated_is_refused() {
        for (text, words) in [
            ("p a", "`a` is no argument"),
            ("p a=\"b", "has no end"),
            ("p a='b", "has no end"),
            ("p a:=b", "is not JSON"),
            ("p a=\"b\"c=d", "right after a value: c=d"),
        ] {
            let failure = line(text).unwrap_err().text();
            assert!(failure.contains(words), "{text}: {failure}");
        }
    }
}

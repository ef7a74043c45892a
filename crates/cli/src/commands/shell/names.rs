//! What the shell completes: commands, patterns, arguments, and the words a value may be.

use super::words::COMMANDS;
use crate::call::signature;
use keyspace::model::{Keyspace, Type};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::borrow::Cow;

/// The names of a keyspace.
#[derive(Debug)]
pub(super) struct Names {
    patterns: Vec<PatternNames>,
    colour: bool,
}

#[derive(Debug)]
struct PatternNames {
    name: String,
    signature: String,
    arguments: Vec<(String, Vec<String>)>,
}

impl Names {
    /// The names of a keyspace.
    pub(super) fn new(keyspace: &Keyspace, colour: bool) -> Names {
        let patterns = keyspace.patterns.iter().map(|pattern| PatternNames {
            name: pattern.name.value.clone(),
            signature: signature(keyspace, pattern),
            arguments: pattern
                .arguments
                .iter()
                .map(|one| (keyspace.shown(&one.name), words_of(&one.argument_type)))
                .collect(),
        });
        Names { patterns: patterns.collect(), colour }
    }

    fn pattern(&self, name: &str) -> Option<&PatternNames> {
        self.patterns.iter().find(|pattern| pattern.name == name)
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..).unwrap_or_default();
        let mut earlier = before.get(..start).unwrap_or_default().split_whitespace();
        let first = earlier.next().map(|first| match first {
            "call" => earlier.next().unwrap_or("call"),
            other => other,
        });
        let patterns = || self.patterns.iter().map(|pattern| format!("{} ", pattern.name));
        let all: Vec<String> = match first {
            None => {
                COMMANDS.iter().map(|(name, _, _)| format!("{name} ")).chain(patterns()).collect()
            }
            Some("explain" | "help" | "call") => patterns().collect(),
            Some("store") => ["memory:", "engine:", "sqlite:"].map(str::to_string).to_vec(),
            Some(name) => return self.arguments(name, before, start),
        };
        (start, all.into_iter().filter(|one| one.starts_with(word)).collect())
    }

    fn arguments(&self, pattern: &str, before: &str, start: usize) -> (usize, Vec<String>) {
        let Some(pattern) = self.pattern(pattern) else { return (start, Vec::new()) };
        let word = before.get(start..).unwrap_or_default();
        if let Some((name, value)) = word.split_once('=') {
            let words = pattern.arguments.iter().find(|(known, _)| known == name);
            let words = words.into_iter().flat_map(|(_, words)| words);
            let fitting = words.filter(|one| one.starts_with(value)).map(|one| format!("{one} "));
            return (start + name.len() + 1, fitting.collect());
        }
        let given = before.get(..start).unwrap_or_default();
        let is_given = |name: &str| {
            let mut words = given.split_whitespace();
            words.any(|word| word.split(['=', ':']).next() == Some(name))
        };
        let names = pattern.arguments.iter().map(|(name, _)| name);
        let names = names.filter(|name| name.starts_with(word) && !is_given(name));
        (start, names.map(|name| format!("{name}=")).collect())
    }
}

fn words_of(of: &Type) -> Vec<String> {
    match of.required() {
        Type::Bool => vec!["true".to_string(), "false".to_string()],
        Type::Enum(words) => words.clone(),
        _ => Vec::new(),
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..position).unwrap_or(line)))
    }
}

/// Words that are shown behind the cursor and never taken into the line.
#[derive(Debug)]
pub(super) struct Remark(String);

impl Hint for Remark {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for Names {
    type Hint = Remark;

    /// The arguments of a pattern, once its name stands there alone.
    fn hint(&self, line: &str, position: usize, _: &Context<'_>) -> Option<Remark> {
        let name = line.strip_suffix(' ').filter(|_| position == line.len())?;
        let signature = &self.pattern(name)?.signature;
        signature.strip_prefix(name).map(|rest| Remark(rest.trim_start().to_string()))
    }
}

impl Highlighter for Names {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        match self.colour {
            true => Cow::Owned(format!("\x1b[2m{hint}\x1b[0m")),
            false => Cow::Borrowed(hint),
        }
    }
}

impl Validator for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(before: &str) -> (usize, Vec<String>) {
        let keyspace = keyspace::read(&keyspace::starter::starter("notes")).keyspace.unwrap();
        Names::new(&keyspace, false).candidates(before)
    }

    #[test]
    fn commands_patterns_arguments_and_words() {
        assert_eq!(completed("pat"), (0, vec!["patterns ".to_string()]));
        assert_eq!(completed("write"), (0, vec!["write_note ".to_string()]));
        assert_eq!(completed("explain my_t"), (8, vec!["my_trash ".to_string()]));
        assert_eq!(completed("write_note ti"), (11, vec!["title=".to_string()]));
        assert_eq!(completed("write_note title=a ti"), (19, Vec::new()));
        assert_eq!(completed("call write_note ti"), (16, vec!["title=".to_string()]));
        assert_eq!(completed("write_note state=d"), (17, vec!["done ".to_string()]));
        assert_eq!(completed("nothing x"), (8, Vec::new()));
        assert_eq!(completed("store m"), (6, vec!["memory:".to_string()]));
    }
}

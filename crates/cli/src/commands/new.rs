//! `keyway new`: begins a keyspace file. It never overwrites one.

use crate::answer::{Answer, Form};
use crate::arguments::New;
use crate::json;
use serde_json::json;
use std::fs::File;
use std::io::{self, Write};

/// Prints a starter file, or writes it where none is.
pub(crate) fn run(options: &New, form: Form) -> Answer {
    if !is_name(&options.name) {
        let problem = format!("`{}` cannot be the name of a keyspace", options.name);
        let fix = format!(
            "1 to 48 small letters, digits and `_`, a letter first: keyway new {}",
            near_name(&options.name)
        );
        return Answer::usage(&problem, &fix);
    }
    let text = keyspace::starter::starter(&options.name);
    let Some(path) = &options.output else {
        return Answer::done(if form.json { json::text(&json!({ "text": text })) } else { text });
    };
    match write_new(path, &text) {
        Ok(()) if form.json => Answer::done(json::text(&json!({ "written": path }))),
        Ok(()) => Answer::done(format!("{path} written; next: keyway check {path}\n")),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Answer::usage(&format!("{path} is there already"), "name another file with --output")
        }
        Err(error) => {
            let fix = "name a file in a directory that exists and can be written";
            Answer::usage(&format!("cannot write {path}: {error}"), fix)
        }
    }
}

fn write_new(path: &str, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    name.len() <= 48
        && characters.next().is_some_and(|first| first.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The name that was probably meant.
fn near_name(name: &str) -> String {
    let mut near: String = name
        .trim_start_matches(|character: char| !character.is_ascii_alphabetic())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(48)
        .collect();
    near.truncate(near.trim_end_matches('_').len());
    if near.is_empty() { "shop".to_string() } else { near }
}

#[cfg(test)]
mod tests {
    use super::{is_name, near_name};

    #[test]
    fn names() {
        for name in ["a", "shop", "my_app2"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "Shop", "2nd", "_a", "my-app", "é", "a b", &"a".repeat(49)] {
            assert!(!is_name(name), "{name}");
            assert!(is_name(&near_name(name)), "{name}");
        }
        assert_eq!(near_name("My-App"), "my_app");
    }
}

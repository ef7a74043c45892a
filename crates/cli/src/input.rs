//! Reads the file a command was given; `-` is standard input.
//!
//! What cannot be read is wrong usage; what can be read and is no text is a problem of the file.

use crate::answer::{Answer, Form};
use crate::json;
use keyspace::diagnostic::Diagnostic;
use keyspace::diagnostic::render::render;
use std::fs;
use std::io::{self, Read};

/// A keyspace file as it was read.
#[derive(Debug)]
pub(crate) struct Input {
    /// What to call it in messages.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Why there is no text of a file.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The file cannot be read.
    Unreadable(Answer),
    /// It is not UTF-8: what can be shown of it, and the problem.
    NotText(Input, Box<Diagnostic>),
}

impl Unread {
    /// The answer of a command that needs the text. The problem is not what was asked for.
    pub(crate) fn answer(self, form: Form) -> Answer {
        match self {
            Unread::Unreadable(answer) => answer,
            Unread::NotText(input, problem) if form.json => {
                Answer::problems(json::text(&json::Problems::in_file(&input, &[*problem])))
            }
            Unread::NotText(input, problem) => {
                let drawn = render(&problem, &input.name, &input.text, form.style);
                Answer::problems(drawn + "\n\n")
            }
        }
    }
}

/// The text of a file, or why it cannot be had.
pub(crate) fn read(path: &str) -> Result<Input, Unread> {
    let (name, bytes) = if path == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        ("<standard input>".to_string(), read.map(|_| bytes))
    } else {
        (path.to_string(), fs::read(path))
    };
    let bytes = bytes.map_err(|error| Unread::Unreadable(unreadable(&name, &error)))?;
    match keyspace::decode(&bytes) {
        Ok(text) => Ok(Input { name, text: text.to_string() }),
        Err(problem) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Err(Unread::NotText(Input { name, text }, Box::new(problem)))
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Answer {
    let fix = match error.kind() {
        io::ErrorKind::NotFound => {
            "give the path of a keyspace file, or begin one: keyway new NAME"
        }
        io::ErrorKind::IsADirectory => "give the file inside it, for example keyspace.toml",
        io::ErrorKind::PermissionDenied => "allow this user to read it",
        _ => "give the path of a keyspace file, or `-` for standard input",
    };
    Answer::usage(&format!("cannot read {name}: {error}"), fix)
}

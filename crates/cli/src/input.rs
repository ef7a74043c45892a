//! Reads the file a command was given; `-` is standard input.

use crate::answer::Answer;
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

/// The text of a file, or the answer that says why it cannot be had.
pub(crate) fn read(path: &str) -> Result<Input, Answer> {
    let (name, bytes) = if path == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        ("<standard input>".to_string(), read.map(|_| bytes))
    } else {
        (path.to_string(), fs::read(path))
    };
    let bytes = bytes.map_err(|error| unreadable(&name, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Input { name, text }),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let problem = format!("{name} is not UTF-8 text: byte {offset} begins no character");
            Err(Answer::usage(&problem, "save it as UTF-8, or name another file"))
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

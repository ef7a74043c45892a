//! What a command answers: two texts and an exit status.
//!
//! Commands that work for long, or as long as somebody types, write as they go, through the same
//! functions. A reader that closes the pipe early is no failure.

use crate::failure::{Failure, Status};
use crate::json;
use keyspace::diagnostic::render::Style;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// The form of an answer: an object for programs, or text for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// One JSON object instead of text.
    pub(crate) json: bool,
    /// How problems are drawn.
    pub(crate) style: Style,
}

/// What a command answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What was asked for.
    pub(crate) output: String,
    /// What is wrong with the file.
    pub(crate) complaint: String,
    /// Why the command could not be carried out.
    pub(crate) failures: Vec<Failure>,
    /// How it ended.
    pub(crate) status: Status,
}

impl Answer {
    /// Done, with this to print.
    pub(crate) fn done(output: impl Into<String>) -> Answer {
        Answer {
            output: output.into(),
            complaint: String::new(),
            failures: Vec::new(),
            status: Status::Done,
        }
    }

    /// The file has problems, described on standard error.
    pub(crate) fn problems(complaint: impl Into<String>) -> Answer {
        Answer { complaint: complaint.into(), status: Status::Problems, ..Answer::done("") }
    }

    /// It could not be done: what went wrong, and what to do about it.
    pub(crate) fn usage(problem: &str, fix: &str) -> Answer {
        Answer::failed(Failure::usage(problem, fix))
    }

    /// It was not done.
    pub(crate) fn failed(failure: Failure) -> Answer {
        Answer { status: failure.status, failures: vec![failure], ..Answer::done("") }
    }

    /// Writes both texts.
    pub(crate) fn write(mut self, form: Form) -> ExitCode {
        for failure in &self.failures {
            self.complaint.push_str(&match form.json {
                true => json::text(failure),
                false => failure.text(),
            });
        }
        let mut status = self.status;
        if let Err(error) = write_output(&self.output) {
            status = Status::Usage;
            let _ = writeln!(io::stderr(), "error: cannot write to standard output: {error}");
        }
        write_complaint(&self.complaint);
        ExitCode::from(status.number())
    }
}

/// Writes to standard output.
pub(crate) fn write_output(text: &str) -> io::Result<()> {
    write_all(io::stdout().lock(), text)
}

/// Writes to standard error. Nobody is left to tell if it is gone.
pub(crate) fn write_complaint(text: &str) {
    let _ = write_all(io::stderr().lock(), text);
}

fn write_all(mut stream: impl Write, text: &str) -> io::Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

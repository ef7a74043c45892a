//! What a command answers: two texts and an exit status.
//!
//! Statuses: 0 done, 1 the file has problems, 2 wrong usage, a file that cannot be read or written
//! among it. A reader that closes the pipe early is no failure.

use crate::json;
use keyspace::diagnostic::render::Style;
use serde::Serialize;
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

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// What was asked is done.
    Done,
    /// The file has problems.
    Problems,
    /// The command cannot be carried out as it was given.
    Usage,
}

impl Status {
    fn number(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Problems => 1,
            Status::Usage => 2,
        }
    }
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

/// Why a command could not be carried out, and what to do about it.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    error: String,
    fix: String,
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
        let failure = Failure { error: problem.to_string(), fix: fix.to_string() };
        Answer { failures: vec![failure], status: Status::Usage, ..Answer::done("") }
    }

    /// Writes both texts.
    pub(crate) fn write(mut self, form: Form) -> ExitCode {
        for failure in &self.failures {
            self.complaint.push_str(&match form.json {
                true => json::text(failure),
                false => format!("error: {}\n  fix: {}\n", failure.error, failure.fix),
            });
        }
        let mut status = self.status;
        if let Err(error) = write_all(io::stdout().lock(), &self.output) {
            status = Status::Usage;
            let _ = writeln!(io::stderr(), "error: cannot write to standard output: {error}");
        }
        // Nobody is left to tell if standard error is gone too.
        let _ = write_all(io::stderr().lock(), &self.complaint);
        ExitCode::from(status.number())
    }
}

fn write_all(mut stream: impl Write, text: &str) -> io::Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

//! What a command answers: two texts and an exit status.
//!
//! Statuses: 0 done, 1 the file has problems, 2 wrong usage, a file that cannot be read or written
//! among it. A reader that closes the pipe early is no failure.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

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
    /// What went wrong, and remarks.
    pub(crate) complaint: String,
    /// How it ended.
    pub(crate) status: Status,
}

impl Answer {
    /// Done, with this to print.
    pub(crate) fn done(output: impl Into<String>) -> Answer {
        Answer { output: output.into(), complaint: String::new(), status: Status::Done }
    }

    /// The file has problems, described on standard error.
    pub(crate) fn problems(complaint: impl Into<String>) -> Answer {
        let complaint = complaint.into();
        Answer { output: String::new(), complaint, status: Status::Problems }
    }

    /// It could not be done: what went wrong, and what to do about it.
    pub(crate) fn usage(problem: &str, fix: &str) -> Answer {
        let complaint = format!("error: {problem}\n  fix: {fix}\n");
        Answer { output: String::new(), complaint, status: Status::Usage }
    }

    /// Writes both texts.
    pub(crate) fn write(self) -> ExitCode {
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

//! Asking the server that has an engine open.

use super::way::Way;
use super::{Arrived, Ask, Said};
use crate::failure::{Failure, Status};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Asks whoever has the engine in a folder open, and tells how far it is until it has ended.
/// Nothing if nobody is there to be asked.
pub(crate) fn ask(
    folder: &Path,
    ask: &Ask,
    mut told: impl FnMut(String, u64),
) -> Option<Result<Arrived, Failure>> {
    let reached = Way::into(folder).and_then(|way| UnixStream::connect(&way.path));
    let stream = match reached {
        Ok(stream) => stream,
        // Nobody has offered it, or one who was killed.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            return None;
        }
        Err(error) => {
            let problem = format!("the server that has the store open cannot be asked: {error}");
            let fix = "run this as the user who runs the server";
            let mut failure = Failure::usage(problem, fix);
            failure.status = Status::Unreachable;
            return Some(Err(failure));
        }
    };
    let heard = converse(stream, ask, &mut told);
    Some(heard.unwrap_or_else(|_| Err(cut_off())))
}

fn converse(
    mut stream: UnixStream,
    ask: &Ask,
    told: &mut impl FnMut(String, u64),
) -> io::Result<Result<Arrived, Failure>> {
    let mut line = serde_json::to_string(ask)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    for line in BufReader::new(stream).lines() {
        // What is not known was added by a later version.
        let Ok(said) = serde_json::from_str::<Said>(&line?) else { continue };
        match said.end() {
            Ok(end) => return Ok(end),
            Err((name, rows)) => told(name, rows),
        }
    }
    Err(ErrorKind::UnexpectedEof.into())
}

fn cut_off() -> Failure {
    let problem = "the server went away before it said how the move ended";
    let fix = "start the server again: it tells where the keyspace is. If that has not moved, move \
               it with --again";
    let mut failure = Failure::usage(problem, fix);
    failure.status = Status::Unknown;
    failure
}

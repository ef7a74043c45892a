//! What Redis says becomes what the waist says.
//!
//! | Redis | here |
//! |---|---|
//! | the connection broke or could not be made, a reply took too long | `Unavailable` |
//! | `LOADING`, `BUSY`, `MASTERDOWN`, `READONLY`, `TRYAGAIN`, `CLUSTERDOWN` | `Unavailable`, worth waiting for |
//! | `OOM`, `MISCONF` | `Unavailable`, nothing was written |
//! | `WRONGTYPE` | `Mismatch`: another program's key |
//! | `NOAUTH`, `WRONGPASS`, `NOPERM` | `Denied` |
//! | a database that the server does not have | `Argument` |

use data::{Error, ErrorKind};
use redis::{ErrorKind as Kind, RedisError, ServerErrorKind};

/// What can be done after a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection is of no use any more; whether the request was done is not known.
    Lost,
    /// The server will take it later; it was not done.
    Later,
    /// The server does not know the script; it was not done.
    NoScript,
    /// Nothing helps; it was not done.
    Refused,
}

/// What a failure means.
pub(super) fn fault(error: &RedisError) -> Fault {
    match error.kind() {
        Kind::Server(ServerErrorKind::NoScript) => Fault::NoScript,
        Kind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask,
        ) => Fault::Later,
        Kind::Server(_) => Fault::Refused,
        Kind::Extension if error.code() == Some("BUSY") => Fault::Later,
        Kind::Extension | Kind::AuthenticationFailed | Kind::InvalidClientConfig => Fault::Refused,
        _ => Fault::Lost,
    }
}

/// The error of a failed request.
pub(super) fn failed(error: RedisError) -> Error {
    let code = error.code().unwrap_or_default().to_string();
    let (kind, message) = match (fault(&error), code.as_str()) {
        (Fault::Lost, _) => (ErrorKind::Unavailable, "the Redis server cannot be reached"),
        (_, "READONLY") => (
            ErrorKind::Unavailable,
            "the Redis server is a replica and takes no writes: give the address of its master",
        ),
        (_, "CLUSTERDOWN") => (
            ErrorKind::Unavailable,
            "no node of the Redis Cluster serves this row for now: look at CLUSTER INFO",
        ),
        (Fault::Later, _) => {
            (ErrorKind::Unavailable, "the Redis server is busy with something else for now")
        }
        (_, "OOM") => (
            ErrorKind::Unavailable,
            "the Redis server is out of memory and takes no writes: raise its maxmemory",
        ),
        (_, "MISCONF") => (
            ErrorKind::Unavailable,
            "the Redis server cannot write to its disk and takes no writes: look at its log",
        ),
        (_, "WRONGTYPE") => {
            (ErrorKind::Mismatch, "a key of another type lies where a row should be")
        }
        (_, "NOAUTH" | "WRONGPASS" | "NOPERM") => (
            ErrorKind::Denied,
            "the Redis server does not let this user do that: give another one in the URL",
        ),
        _ if error.kind() == Kind::AuthenticationFailed => (
            ErrorKind::Denied,
            "the Redis server does not know this user and password: give others in the URL",
        ),
        _ if error.detail().is_some_and(|detail| detail.contains(NO_DATABASE)) => (
            ErrorKind::Argument,
            "the Redis server has no database of this number: give a smaller one in the URL, or \
             start the server with more `databases`",
        ),
        _ => (ErrorKind::Internal, "the Redis server refused a request"),
    };
    // Only its text: below itself the driver's error says the same once more.
    let shown = Error::new(kind, message).caused_by(error.to_string());
    if code.is_empty() { shown } else { shown.with("code", code) }
}

/// What a server says to a number that is too large.
const NO_DATABASE: &str = "DB index is out of range";

/// A key of another type, by its name.
#[cold]
pub(super) fn foreign(name: &[u8], found: &str, expected: &str) -> Error {
    Error::new(
        ErrorKind::Mismatch,
        "a key of another type lies where a row should be: move it, or open the store with a \
         prefix",
    )
    .with("key", name.escape_ascii())
    .with("found", found)
    .with("expected", expected)
}

/// Something stored that Keyway did not write so.
#[cold]
pub(super) fn damaged(what: &'static str) -> Error {
    Error::new(ErrorKind::Corrupt, "what Redis holds was not written by Keyway").with("what", what)
}

/// An answer of another shape than the question has.
#[cold]
#[track_caller]
pub(super) fn unexpected() -> Error {
    Error::new(ErrorKind::Internal, "the Redis server answered something else than was asked")
        .with("line", std::panic::Location::caller())
}

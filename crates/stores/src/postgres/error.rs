//! What PostgreSQL's errors become at the waist.
//!
//! | what happened | what is done |
//! |---|---|
//! | the connection is gone, the server stops | tried again; a commit finds out what became of it |
//! | deadlock, lock or statement timeout, no memory | rolled back by the server, tried again |
//! | a table or column is not as the layout has it | `Mismatch` |
//! | the id of a batch is there already | its outcome is read |

use super::open;
use data::{Error, ErrorKind};
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;

/// What became of a statement that failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone: whatever was sent may have been done or not.
    Lost(Error),
    /// Nothing was done, and it may be tried again.
    Again(Error),
    /// A batch with this id was committed before.
    Repeated,
    /// Nothing was done, and trying again would not help.
    Refused(Error),
}

impl Fault {
    /// The error of a fault, for whoever does not try again.
    pub(super) fn into_error(self) -> Error {
        match self {
            Fault::Lost(error) | Fault::Again(error) | Fault::Refused(error) => error,
            Fault::Repeated => Error::new(ErrorKind::Internal, "a batch was met twice"),
        }
    }
}

/// The name of the table that remembers batches, as its unique index reports it.
const CALLS: &str = "keyway_calls";

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(report) = error.as_db_error() else {
            let is_lost = error.is_closed() || is_io(&error);
            return match is_lost {
                true => Fault::Lost(lost().caused_by(cause(&error))),
                false => Fault::Refused(
                    Error::new(ErrorKind::Internal, "a statement does not fit its values")
                        .caused_by(error),
                ),
            };
        };
        let code = report.code().clone();
        let is_calls = report.table().is_some_and(|table| table.ends_with(CALLS));
        let with = |kind: ErrorKind, message: &'static str| {
            Error::new(kind, message).with("code", code.code()).with("server", report.message())
        };
        match code.code() {
            "23505" if is_calls => Fault::Repeated,
            "40001" | "40P01" | "55P03" | "57014" | "53000" | "53100" | "53200" | "53300"
            | "25P02" | "25P03" | "55000" => {
                Fault::Again(with(ErrorKind::Unavailable, "PostgreSQL had no room or time for it"))
            }
            "54000" | "54001" | "54011" => Fault::Refused(with(
                ErrorKind::TooLarge,
                "PostgreSQL holds nothing so large, or no key so long",
            )),
            "25006" => Fault::Refused(with(
                ErrorKind::Unavailable,
                "this PostgreSQL server only reads; connect to the primary",
            )),
            "42501" => Fault::Refused(with(
                ErrorKind::Mismatch,
                "the user may not do this on the keyspace's schema; grant it to them",
            )),
            "XX001" | "XX002" => {
                Fault::Refused(with(ErrorKind::Corrupt, "what PostgreSQL has stored is damaged"))
            }
            code if code.starts_with("42") || code.starts_with("23") || code.starts_with("3F") => {
                Fault::Refused(with(
                    ErrorKind::Mismatch,
                    "a table is not as Keyway made it; `keyway layout --store postgres` prints it",
                ))
            }
            code if code.starts_with("57") || code.starts_with("08") || code.starts_with("58") => {
                Fault::Lost(with(ErrorKind::Unavailable, "PostgreSQL went away"))
            }
            _ => Fault::Refused(with(ErrorKind::Internal, "PostgreSQL refused a statement")),
        }
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// The innermost cause: those around it add nothing to our own sentences.
fn cause(error: &tokio_postgres::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// What a failed attempt to connect becomes.
pub(super) fn connecting(error: tokio_postgres::Error, config: &Config) -> Error {
    let user = config.get_user().unwrap_or_default();
    let Some(report) = error.as_db_error() else {
        let (kind, message) = match is_io(&error) || error.is_closed() {
            true => (ErrorKind::Unavailable, "PostgreSQL cannot be reached"),
            false => (ErrorKind::Argument, UNKNOWN_USER),
        };
        let error = Error::new(kind, message).caused_by(cause(&error));
        let error = if kind == ErrorKind::Argument { error.with("user", user) } else { error };
        return error.with("address", open::address(config));
    };
    let with = |kind: ErrorKind, message: &'static str| {
        Error::new(kind, message)
            .with("address", open::address(config))
            .with("code", report.code().code())
            .with("server", report.message())
    };
    match report.code() {
        code if *code == SqlState::INVALID_CATALOG_NAME => {
            with(ErrorKind::Argument, "there is no such database; create it, or name another")
        }
        code if code.code().starts_with("28") => {
            with(ErrorKind::Argument, UNKNOWN_USER).with("user", user)
        }
        _ => with(ErrorKind::Unavailable, "PostgreSQL takes no connection now"),
    }
}

const UNKNOWN_USER: &str = "PostgreSQL does not take this user with this password: give others in \
     the URL, `postgres://user:password@host/database`";

/// A connection that broke off.
pub(super) fn lost() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection to PostgreSQL was lost")
}

/// A server that does not answer in time.
pub(super) fn late() -> Error {
    Error::new(ErrorKind::Unavailable, "PostgreSQL did not answer in time")
}

/// A call to a store that was closed.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed; open it anew")
}

/// A call before the store was made ready for a keyspace.
pub(super) fn not_ready() -> Error {
    Error::new(ErrorKind::Internal, "the store is not ready for a keyspace yet")
}

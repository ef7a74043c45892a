//! The one error of the waist and the run time: what kind, whether to try again, where, with what.
//!
//! The message is constant for its kind of problem; whatever varies is in the context, so that
//! errors can be compared, counted and translated. An error never carries another caller's keys.

use std::error::Error as StdError;
use std::fmt;

/// What every fallible function here returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of problem it is: what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An argument is missing, unknown, or not of its type: mend the call.
    Argument,
    /// A cursor was not made for this caller, pattern and keyspace, or is too old.
    Cursor,
    /// The caller may not do this.
    Denied,
    /// The row is not there, or is another's.
    NotFound,
    /// The row is there, has another version, or does not fulfil the condition.
    Conflict,
    /// A unique value belongs to another row.
    Taken,
    /// A window is full: try again when it ends.
    Limited,
    /// A counter would leave the range of `i64`.
    Overflow,
    /// Other writers were faster, again and again.
    Busy,
    /// A key, value, batch or page is larger than its limit.
    TooLarge,
    /// The store does not answer; nothing was done.
    Unavailable,
    /// Whether the batch was committed is not known; asking again with the same id tells.
    Indeterminate,
    /// Another process has the store open.
    Locked,
    /// What is stored does not fit the keyspace file, or was written by another version.
    Mismatch,
    /// What is stored is damaged.
    Corrupt,
    /// A write failed in a way after which this process must not write again.
    Poisoned,
    /// The keyspace has moved to another store, and this one takes no more writes: nothing was
    /// done, and the same call may succeed there.
    Moved,
    /// The store, or this version, does not offer it.
    Unsupported,
    /// More was read or written than the plan allows: a mistake of Keyway.
    Bound,
    /// A mistake of Keyway.
    Internal,
}

impl ErrorKind {
    /// Its name, as it is shown and logged.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Argument => "argument",
            ErrorKind::Cursor => "cursor",
            ErrorKind::Denied => "denied",
            ErrorKind::NotFound => "not found",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Taken => "taken",
            ErrorKind::Limited => "limited",
            ErrorKind::Overflow => "overflow",
            ErrorKind::Busy => "busy",
            ErrorKind::TooLarge => "too large",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Indeterminate => "indeterminate",
            ErrorKind::Locked => "locked",
            ErrorKind::Mismatch => "mismatch",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Poisoned => "poisoned",
            ErrorKind::Moved => "moved",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Bound => "bound",
            ErrorKind::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later, unchanged.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            ErrorKind::Busy
                | ErrorKind::Limited
                | ErrorKind::Unavailable
                | ErrorKind::Indeterminate
                | ErrorKind::Locked
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A problem.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: &'static str,
    operation: Option<&'static str>,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A problem of a kind; the message is a sentence without its full stop.
    #[cold]
    pub fn new(kind: ErrorKind, message: &'static str) -> Self {
        let inner = Inner { kind, message, operation: None, context: Vec::new(), source: None };
        Error(Box::new(inner))
    }

    /// What varies: `name` is constant, the value is not.
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// What was being done; the innermost stays.
    pub fn during(mut self, operation: &'static str) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// What caused it.
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of problem it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The constant sentence.
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// What was being done.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// What varies, in the order it was added.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// A value of the context.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.context.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the same call may succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.message)?;
        for (number, (name, value)) in self.0.context.iter().enumerate() {
            let before = if number == 0 { " (" } else { ", " };
            write!(formatter, "{before}{name}: {value}")?;
        }
        if !self.0.context.is_empty() {
            formatter.write_str(")")?;
        }
        Ok(())
    }
}

/// As people read it, with its kind and its causes: a program whose `main` returns an error shows
/// it so.
impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self} [{}", self.0.kind)?;
        if let Some(operation) = self.0.operation {
            write!(formatter, ", during {operation}")?;
        }
        formatter.write_str("]")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(formatter, "\n  caused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<keyspace::key::Error> for Error {
    fn from(error: keyspace::key::Error) -> Self {
        let problem = match error.kind() {
            keyspace::key::ErrorKind::KeyTooLong => {
                Error::new(ErrorKind::TooLarge, "a key is longer than keys may be")
                    .with("bytes_max", keyspace::key::KEY_BYTES_MAX)
            }
            _ => Error::new(ErrorKind::Argument, "a key cannot be made of these values"),
        };
        problem.caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_well_where_main_returns_it() {
        let inner = Error::new(ErrorKind::Unavailable, "the disk is full");
        let error = Error::new(ErrorKind::Argument, "a value is too long")
            .with("argument", "title")
            .during("insert")
            .caused_by(inner);
        assert_eq!(
            format!("{error:?}"),
            "a value is too long (argument: title) [argument, during insert]\n  \
             caused by: the disk is full"
        );
    }
}

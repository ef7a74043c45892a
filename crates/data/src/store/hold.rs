//! A store that takes no more writes, for a moment or for good: its keyspace moves elsewhere.

use crate::error::{Error, ErrorKind, Result};

/// Whether a store takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It does.
    Open,
    /// Not at the moment. Forgotten when the store is closed.
    Paused,
    /// Never again: its keyspace is now there. Kept with what the store holds.
    Moved(String),
}

/// What a paused store says.
const PAUSED: &str = "the keyspace is being moved to another store, and writes wait for it";

impl Hold {
    /// What a commit is answered; nothing where it may go on.
    pub fn refusal(&self) -> Option<Error> {
        match self {
            Hold::Open => None,
            Hold::Paused => Some(Error::new(ErrorKind::Unavailable, PAUSED)),
            Hold::Moved(to) => {
                let message = "the keyspace has moved to another store, and is only read here";
                Some(Error::new(ErrorKind::Moved, message).with("to", to))
            }
        }
    }

    /// What it becomes. A keyspace that has moved does not come back.
    pub fn then(&self, next: Hold) -> Result<Hold> {
        match (self, self.refusal()) {
            (Hold::Moved(_), Some(refusal)) if *self != next => Err(refusal),
            _ => Ok(next),
        }
    }

    /// Whether an error is a paused store's.
    pub fn is_pause(error: &Error) -> bool {
        error.message() == PAUSED
    }
}

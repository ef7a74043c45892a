//! Where a list goes on, as an answer holds it: sealed when somebody looks.
//!
//! ```text
//! Answer ─▶ next: Cursor ─┬─▶ dropped: nothing was sealed
//!                         └─▶ its text ─▶ the same text from then on
//! ```
//!
//! Most pages are read by somebody who wants no further one, and sealing costs as much as reading
//! some rows. Nothing here may show the mark before it is sealed.

use super::cursor::{CursorKey, Mark};
use crate::clock::{Milliseconds, Random};
use crate::value::Value;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Where a list goes on: a text, to be given back as `cursor`.
#[derive(Clone)]
pub struct Cursor(Arc<Inner>);

struct Inner {
    text: OnceLock<String>,
    unsealed: Unsealed,
}

/// What a cursor is made of.
pub(super) struct Unsealed {
    /// What it is sealed with.
    pub key: CursorKey,
    /// Where its nonce comes from.
    pub random: Arc<dyn Random>,
    /// Who may use it, and for what.
    pub bound: Vec<u8>,
    /// Where the list goes on.
    pub mark: Mark,
    /// When the page was read: from then on it can be used for a while.
    pub now: Milliseconds,
}

impl Cursor {
    pub(super) fn new(unsealed: Unsealed) -> Self {
        Cursor(Arc::new(Inner { text: OnceLock::new(), unsealed }))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        let Inner { text, unsealed } = self.0.as_ref();
        text.get_or_init(|| {
            let Unsealed { key, random, bound, mark, now } = unsealed;
            // The cipher refuses only what is larger than any key; no text is no cursor.
            key.seal(bound, mark, *now, random.as_ref()).unwrap_or_default()
        })
    }
}

impl Deref for Cursor {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Cursor {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> String {
        cursor.as_str().to_string()
    }
}

impl From<Cursor> for Value {
    fn from(cursor: Cursor) -> Value {
        Value::Text(cursor.into())
    }
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Cursor({})", self.as_str())
    }
}

//! Who calls: tokens, the book they are kept in, and what operators did.
//!
//! ```text
//! Authorization: Bearer kw_… ─parse─▶ Token ─id─▶ kept row ─hash, constant time─▶ Principal
//! ```
//!
//! A token is shown once; the book keeps its keyed hash. A book is a keyspace of its own, on a
//! store of its own, so that an application's data and the keys to it never lie together. Whoever
//! has a valid token is looked up again after a while: a token that another program revoked is
//! worth nothing after [`KNOWN_FOR`].

mod book;
mod pepper;
mod rates;
mod secret;
mod sessions;

pub use book::{Book, Kept, NewToken, Noted};
pub use pepper::Peppers;
pub use rates::{Limited, Rates};
pub use secret::{Kind, Token};
pub use sessions::Sessions;

use data::Caller;
use std::sync::Arc;
use std::time::Duration;

/// How long a token that was found valid is not looked up again.
pub const KNOWN_FOR: Duration = Duration::from_secs(10);

/// Whoever makes a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Principal {
    /// The public part of the token; nothing for somebody without one.
    pub token: Option<Arc<str>>,
    /// Who calls, for patterns.
    pub caller: Arc<Caller>,
    /// Whether the server may be looked after.
    pub is_operator: bool,
}

impl Principal {
    /// Somebody without a token.
    pub fn nobody() -> Principal {
        Principal { token: None, caller: Arc::default(), is_operator: false }
    }

    /// What the audit calls them.
    pub fn name(&self) -> &str {
        self.token.as_deref().unwrap_or("nobody")
    }
}

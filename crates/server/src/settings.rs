//! What a server is told when it starts.

use std::num::NonZeroU32;
use std::time::Duration;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who is believed to be who.
    pub callers: Callers,
    /// Names under which the server may be asked, besides those of this machine; `*` is any. A page
    /// of another site that makes a browser ask here says its own name.
    pub hosts: Vec<String>,
    /// Sites whose pages may ask from a browser.
    pub origins: Vec<String>,
    /// Bytes of a request's body, at most.
    pub body_bytes_max: usize,
    /// Requests at once, at most; whoever comes then is told to come again.
    pub requests_max: usize,
    /// Streams of changes at once, at most.
    pub watchers_max: usize,
    /// Calls of one token a second; no limit without a number.
    pub calls_a_second: Option<NonZeroU32>,
    /// How long a request's head and body may take to arrive.
    pub arrives_within: Duration,
    /// How long requests under way may take when the server ends.
    pub ends_within: Duration,
    /// How often a stream looks by itself, where others may write to the store; half as often where
    /// rows and tokens only end.
    pub looks_every: Duration,
}

/// Who is believed to be who.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Whoever shows a token.
    Tokens,
    /// Whoever says so, in the headers `Keyway-User`, `Keyway-Tenant` and `Keyway-Roles`. For a
    /// machine of one's own only.
    Trusted,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            callers: Callers::Tokens,
            hosts: Vec::new(),
            origins: Vec::new(),
            body_bytes_max: 1 << 20,
            requests_max: 512,
            watchers_max: 10_000,
            calls_a_second: NonZeroU32::new(100),
            arrives_within: Duration::from_secs(30),
            ends_within: Duration::from_secs(10),
            looks_every: Duration::from_secs(5),
        }
    }
}
